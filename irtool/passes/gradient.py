"""Gradient: reverse-mode differentiation of whole programs, with control flow, closures and references.

After Pearlmutter and Siskind, "Reverse-mode AD in a functional framework" (2008): every tensor becomes a pair of its value
and a reference to its gradient, and a reference holds the *back-propagator*, a function that grows with each operator
that runs and carries gradients from results to arguments when it is called at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from ..diagnostics import IrError, Span, placing
from ..ir import (
    UNIT,
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    Op,
    PatternConstructor,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    binders,
    bound_variables,
    children,
    free_variables,
    global_names,
    patterns_in,
    post_order,
    rebuild,
    refresh,
    rewrite,
    with_binders,
)
from ..ir.types import distinct_leaves, rebuild_type, require_few_leaves, type_children
from ..ops.base import call, is_call_to
from ..trampoline import trampoline
from .core.base import ModulePass, is_optimizable, register_pass
from .core.context import PassContext
from .core.let_binding import FreshVars, LetList, bind
from .core.mistakes import NoGradient
from .core.sharing import require_tree
from .first_order_gradient import differentiate, gradient_type
from .gradients.rule import GradientSite, no_gradient, rule_of

Steps = Generator[Any, Any, Any]
BACK_PROPAGATOR = RefType(FuncType((), UNIT))


@register_pass("Gradient", level=0, required=("InferType",))
@dataclass(frozen=True)
class Gradient(ModulePass):
    """Makes each function return its result and the gradients with respect to its parameters.

    ::

        def @main(%x: T) -> T { exp(%x) }
            ⇒  def @main(%x: T) -> (T, (T,)) {
                 let %bp = ref(fn () { () });
                 let %arg = (%x, ref(zeros_like(%x)));
                 let %out = (fn (%x, %bp) { … exp …, and %bp is extended by its gradient })(%arg, %bp);
                 ref_write(%out.1, ones_like(%out.0)); ref_read(%bp)();
                 (%out.0, (ref_read(%arg.1),))
               }

    `mode` is `higher_order` (`let`, `if`, closures, calls of global functions; the result can be differentiated again after
    PartialEvaluate) or `first_order` (see FirstOrderGradient). The higher-order mode needs programs without sharing: run
    ToANormalForm first. The results use references and closures at run time; PartialEvaluate and DeadCodeElimination
    remove them.
    """

    changes: ClassVar[str] = "derivative"

    mode: str = "higher_order"

    @property
    def adds_up_results(self) -> bool:
        """True if it is the sum over all tensors of the result that is differentiated, or that over the first."""
        return self.mode == "first_order"

    def transform(self, module: Module, context: PassContext) -> Module:
        from ..diagnostics import UsageError

        if self.mode not in ("higher_order", "first_order"):
            raise UsageError(f"Gradient has no mode {self.mode}: it is higher_order or first_order")
        functions = dict(module.functions)
        added: dict[str, Function] = {}
        for name, f in module.functions.items():
            if not is_optimizable(f):
                continue
            with placing(f.span):
                if self.mode == "first_order":
                    functions[name] = differentiate(f)
                elif f.type_params or not all(isinstance(p.checked_type, TensorType) for p in f.params):
                    if name == "main":
                        raise IrError(
                            "gradients are defined for functions of tensors without type parameters",
                            f.span,
                            code=NoGradient,
                        )
                else:
                    functions[name] = _higher_order(f, module, added)
        changed = {name for name, f in functions.items() if f is not module.functions[name]}
        others = {name: f for name, f in functions.items() if name not in changed and isinstance(f, Function)}
        return module.with_functions({**functions, **added, **_calling_values(module, others, changed)})


def _calling_values(module: Module, others: Mapping[str, Function], changed: Set[str]) -> dict[str, Function]:
    """The functions without gradients, calling functions that are as these were before, under the names `NAME_value`."""
    names: dict[str, str] = {}
    result: dict[str, Function] = {}
    waiting = [(name, f) for name, f in others.items() if not changed.isdisjoint(global_names(f))]
    while waiting:
        name, f = waiting.pop()
        for called in global_names(f):
            if called in changed and called not in names:
                names[called] = module.fresh_name(f"{called}_value")
                waiting.append((names[called], cast(Function, refresh(module.functions[called]))))
        result[name] = cast(Function, rewrite(f, lambda e, rebuilt: _renamed(rebuilt, names)))
    return result


def _renamed(e: Expr, names: Mapping[str, str]) -> Expr:
    return GlobalVar(names[e.name], e.span) if isinstance(e, GlobalVar) and e.name in names else e


def reverse_type(t: Type) -> Type:
    """`t` with each tensor paired with a reference to its gradient, and each function taking a back-propagator as well."""

    def convert(t: Type) -> Steps:
        if isinstance(t, TensorType):
            return TupleType((t, RefType(t)))
        kids = []
        for k in type_children(t):
            kids.append((yield convert(k)))
        result = rebuild_type(t, kids)
        if isinstance(result, FuncType):
            return FuncType((*result.arg_types, BACK_PROPAGATOR), result.ret_type, result.type_params)
        return result

    return trampoline(convert(t))


def _require_generic(constructor: Constructor, span: Span | None) -> None:
    """Raises IrError if the definition of a data type names tensors or functions: pairs do not fit in their places."""
    for t in constructor.inputs:
        if reverse_type(t) != t:
            raise IrError(
                f"data type {constructor.belong_to.name} has no gradient: its constructor {constructor.name} holds {t!r}",
                span,
                help="give the data type a type parameter in place of that type",
                code=NoGradient,
            )


def _lift(make: Callable[[Expr], Expr], t: Type, e: Expr, lets: LetList) -> Expr:
    """`make` applied to each tensor of a value of type `t`, the structure kept; the results are named."""

    def lift(t: Type, e: Expr) -> Steps:
        if isinstance(t, TensorType):
            return lets.push(make(e))
        if not isinstance(t, TupleType):
            raise IrError(
                f"gradients are defined for tensors and tuples of tensors, not {t!r}", e.span, code=NoGradient
            )
        fields = []
        for i, f in enumerate(t.fields):
            fields.append((yield lift(f, lets.push(TupleGetItem(e, i)))))
        return lets.push(Tuple(tuple(fields)))

    require_few_leaves(t)
    return trampoline(lift(t, e))


def _paired(t: Type, e: Expr, lets: LetList) -> Expr:
    """A value with gradients of zero."""
    return _lift(lambda x: Tuple((x, RefCreate(call("zeros_like", x)))), t, e, lets)


def _value(t: Type, e: Expr, lets: LetList) -> Expr:
    """The value of a pair."""
    return _lift(lambda x: TupleGetItem(x, 0), t, e, lets)


def _gradient(t: Type, e: Expr, lets: LetList) -> Expr:
    """The gradient that a pair holds now."""
    return _lift(lambda x: RefRead(TupleGetItem(x, 1)), t, e, lets)


def _accumulate(t: Type, pair: Expr, grad: Expr, lets: LetList) -> None:
    """Adds a gradient to the one that a pair holds."""

    def accumulate(t: Type, pair: Expr, grad: Expr) -> Steps:
        if isinstance(t, TensorType):
            total = call("add", RefRead(TupleGetItem(pair, 1)), grad)
            lets.push(RefWrite(TupleGetItem(pair, 1), total))
            return
        if not isinstance(t, TupleType):
            raise IrError(f"gradients are defined for tensors and tuples of tensors, not {t!r}", code=NoGradient)
        for i, f in enumerate(t.fields):
            part_grad, part = lets.push(TupleGetItem(grad, i)), lets.push(TupleGetItem(pair, i))
            yield accumulate(f, part, part_grad)

    trampoline(accumulate(t, pair, grad))


def _transfer(t: Type, source: Expr, target: Expr, lets: LetList) -> None:
    """Copies the gradients of one pair to another."""

    def transfer(t: Type, source: Expr, target: Expr) -> Steps:
        if isinstance(t, TensorType):
            lets.push(RefWrite(TupleGetItem(target, 1), RefRead(TupleGetItem(source, 1))))
            return
        assert isinstance(t, TupleType)
        for i, f in enumerate(t.fields):
            to = lets.push(TupleGetItem(target, i))
            yield transfer(f, lets.push(TupleGetItem(source, i)), to)

    trampoline(transfer(t, source, target))


def _empty_propagator() -> Expr:
    return RefCreate(Function((), Tuple(()), UNIT))


def _type(e: Expr) -> Type:
    assert e.checked_type is not None
    return e.checked_type


class _Reverse:
    """Rewrites code on tensors into code on pairs.

    `bp` is the variable that holds the back-propagator's reference. `named_constants` are the constants to which `let` gives a name: the
    rules of some operators need the values of arguments.
    """

    def __init__(
        self,
        module: Module,
        added: dict[str, Function],
        names: FreshVars,
        bp: Var,
        variables: dict[Var, Var],
        named_constants: Mapping[Expr, Constant],
    ) -> None:
        self.module = module
        self.added = added
        self.names = names
        self.bp = bp
        self.variables = variables
        self.named_constants = named_constants
        self.memo: dict[Expr, Expr] = {}

    def variable(self, v: Var) -> Var:
        new = self.variables.get(v)
        if new is None:
            t = v.type_annotation
            new = self.variables[v] = v if t is None else Var(v.name, reverse_type(t), v.span, None, v.virtual_device)
        return new

    def visit(self, e: Expr) -> Steps:
        if isinstance(e, Var):
            return self.variable(e)
        done = self.memo.get(e)
        if done is None:
            done = self.memo[e] = yield self.dispatch(e)
        return done

    def dispatch(self, e: Expr) -> Steps:
        if isinstance(e, Call):
            if is_call_to(e, "annotation.checkpoint"):
                return self.checkpoint(e)
            if isinstance(e.op, Op):
                return self.operator(e, e.op)
            return self.construction(e, e.op) if isinstance(e.op, Constructor) else self.application(e)
        if isinstance(e, Function):
            return self.function(e)
        if isinstance(e, GlobalVar):
            return self.global_var(e)
        if isinstance(e, Constant):
            return self.constant(e)
        if isinstance(e, If):
            return self.if_(e)
        if isinstance(e, Op | Constructor):
            what = "operator" if isinstance(e, Op) else "constructor"
            raise IrError(f"{what} {e.name} must be called to have a gradient", e.span, code=NoGradient)
        if isinstance(e, Match):
            for clause in e.clauses:
                for p in patterns_in(clause.pattern):
                    if isinstance(p, PatternConstructor):
                        _require_generic(p.constructor, p.span)
        return self.structure(e)

    def structure(self, e: Expr) -> Steps:
        """A node that means the same on pairs: its children are rewritten."""
        kids = []
        for k in children(e):
            kids.append((yield self.visit(k)))
        renamed = {v: self.variable(v) for v in binders(e)}
        return with_binders(rebuild(e, kids), renamed)

    def construction(self, e: Call, constructor: Constructor) -> Steps:
        _require_generic(constructor, e.span)
        arguments = []
        for a in e.args:
            arguments.append((yield self.visit(a)))
        return Call(constructor, tuple(arguments), e.attrs, tuple(map(reverse_type, e.type_args)), e.span)

    def constant(self, e: Constant) -> Steps:
        lets = LetList(self.names)
        name = lets.push(e)
        return lets.wrap(Tuple((name, RefCreate(call("zeros_like", name)))))
        yield

    def if_(self, e: If) -> Steps:
        cond = TupleGetItem((yield self.visit(e.cond)), 0)
        true = yield self.visit(e.true_branch)
        false = yield self.visit(e.false_branch)
        return If(cond, true, false, e.span)

    def function(self, e: Function) -> Steps:
        params = tuple(self.variable(p) for p in e.params)
        bp = Var("bp", BACK_PROPAGATOR)
        inner = _Reverse(self.module, self.added, self.names, bp, self.variables, self.named_constants)
        body = yield inner.visit(e.body)
        ret = None if e.ret_type is None else reverse_type(e.ret_type)
        return Function((*params, bp), body, ret, e.type_params, e.attrs, e.span, None, e.virtual_device)

    def global_var(self, e: GlobalVar) -> Steps:
        name = self.module.fresh_name(f"{e.name}_grad")
        if name not in self.added:
            f = self.module.functions.get(e.name)
            if not isinstance(f, Function):
                raise IrError(f"@{e.name} has no body to differentiate", e.span, code=NoGradient)
            self.added[name] = f  # a recursive function meets its own name while its body is rewritten
            self.added[name] = yield _Reverse(
                self.module, self.added, self.names, self.bp, {}, _named_constants(f)
            ).function(f)
        return GlobalVar(name, e.span)

    def application(self, e: Call) -> Steps:
        arguments = []
        for a in e.args:
            arguments.append((yield self.visit(a)))
        function = yield self.visit(e.op)
        return Call(function, (*arguments, self.bp), None, (), e.span)

    def operator(self, e: Call, op: Op) -> Steps:
        rule = rule_of(e)
        if rule is None:
            raise no_gradient(e)
        lets = LetList(self.names)
        value_pairs = []
        for a in e.args:
            value_pairs.append(lets.push((yield self.visit(a))))
        types = tuple(_type(a) for a in e.args)
        plain = tuple(_value(t, p, lets) for t, p in zip(types, value_pairs, strict=True))
        result = lets.push(_paired(_type(e), lets.push(Call(op, plain, e.attrs, e.type_args, e.span)), lets))
        before = lets.push(RefRead(self.bp))
        inner = LetList(self.names)
        # A node of its own: the rule's expression is computed again when gradients arrive, and no closure keeps it.
        out = Call(op, plain, e.attrs, e.type_args, e.span)
        sources = tuple(self.named_constants.get(a, a) for a in e.args)
        site = GradientSite(plain, types, e.attrs, out, _type(e), _gradient(_type(e), result, inner), sources)
        for t, pair, grad in zip(types, value_pairs, rule(site), strict=True):
            _accumulate(t, pair, grad, inner)
        after = Function((), inner.wrap(Call(before, ())), UNIT)
        lets.push(RefWrite(self.bp, bind(after, self.names, every=True)))
        return lets.wrap(result)

    def checkpoint(self, e: Call) -> Steps:
        """Runs the argument without keeping its intermediate values, and once more, with them, when gradients arrive."""
        x = e.args[0]
        lets = LetList(self.names)
        value = lets.push(self.on_values(x))
        result = lets.push(_paired(_type(e), value, lets))
        before = lets.push(RefRead(self.bp))
        inner = LetList(self.names)
        bp = inner.push(_empty_propagator())
        again = _Reverse(self.module, self.added, self.names, bp, self.variables, self.named_constants)
        copy = inner.push((yield again.visit(_typed_copy(x))))
        _transfer(_type(e), result, copy, inner)
        inner.push(Call(RefRead(bp), ()))
        after = Function((), inner.wrap(Call(before, ())), UNIT)
        lets.push(RefWrite(self.bp, after))
        return lets.wrap(result)

    def on_values(self, e: Expr) -> Expr:
        """`e` as it was, on the values of the pairs that its variables have become."""
        lets = LetList(self.names)
        free = set(free_variables(e))

        def leave(old: Expr, new: Expr) -> Expr:
            if isinstance(old, Var) and old in free:
                return _value(_type(old), self.variable(old), lets)
            return new

        return lets.wrap(rewrite(e, leave))


def _typed_copy(e: Expr) -> Expr:
    """A copy with fresh bound variables; where it binds none, the typed original serves."""
    if not bound_variables(e):
        return e
    from ..infer import infer_expr

    return infer_expr(refresh(e))


def _named_constants(f: Function) -> dict[Expr, Constant]:
    return {e.var: e.value for e in post_order(f) if isinstance(e, Let) and isinstance(e.value, Constant)}


def _check_operators(f: Function) -> None:
    for e in post_order(f):
        if not isinstance(e, Call) or not isinstance(e.op, Op) or e.op.name == "annotation.checkpoint":
            continue
        if rule_of(e) is None:
            raise no_gradient(e)


def _higher_order(f: Function, module: Module, added: dict[str, Function]) -> Function:
    require_tree(f, "Gradient")
    _check_operators(f)
    for leaf in distinct_leaves(_type(f.body)):
        if not isinstance(leaf, TensorType):
            raise IrError(f"gradients are defined for tensors and tuples of tensors, not {leaf!r}", f.body.span)
    names = FreshVars()
    lets = LetList(names)
    bp = lets.push(_empty_propagator(), Var(names.fresh().name, BACK_PROPAGATOR))
    reverse = trampoline(_Reverse(module, added, names, bp, {}, _named_constants(f)).visit(f))
    param_pairs = [lets.push(Tuple((p, RefCreate(call("zeros_like", p))))) for p in f.params]
    out = lets.push(Call(reverse, (*param_pairs, bp)))
    result_type = _type(f.body)
    _seed(out, result_type, lets)
    lets.push(Call(RefRead(bp), ()))
    gradients = Tuple(tuple(RefRead(TupleGetItem(p, 1)) for p in param_pairs))
    final = _final(out, result_type, lets)
    body = lets.wrap(Tuple((final, gradients)))
    return Function(f.params, body, gradient_type(f), (), f.attrs, f.span, None, f.virtual_device)


def _seed(out: Expr, t: Type, lets: LetList) -> None:
    """Sets the gradient of the result (of its first tensor) to one."""
    while isinstance(t, TupleType):
        if not t.fields:
            raise IrError("gradients of a function without result are not defined", code=NoGradient)
        out, t = lets.push(TupleGetItem(out, 0)), t.fields[0]
    lets.push(RefWrite(TupleGetItem(out, 1), call("ones_like", TupleGetItem(out, 0))))


def _final(out: Expr, t: Type, lets: LetList) -> Expr:
    """The values of a result of pairs."""

    def final(out: Expr, t: Type) -> Steps:
        if not isinstance(t, TupleType):
            return TupleGetItem(out, 0)
        fields = []
        for i, f in enumerate(t.fields):
            fields.append((yield final(lets.push(TupleGetItem(out, i)), f)))
        return Tuple(tuple(fields))

    return trampoline(final(out, t))
