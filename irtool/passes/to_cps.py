"""Continuation-passing style, and back.

The conversion is the higher-order one: it walks the expression with a *meta-continuation*, a Python function from the
code of a value to the code of the rest. A meta-continuation is applied once, since it holds code; where two branches
continue in the same way, it is made a function of the program first (`reify`). Both the walk and the meta-continuations
are generators run by `trampoline`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..diagnostics import IrError
from ..ir import (
    Call,
    Clause,
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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Type,
    TypeVar,
    Var,
    binders,
    post_order,
    with_binders,
    with_function,
)
from ..ir.types import free_type_vars, rebuild_type, rewrite_type, type_children
from ..trampoline import trampoline
from .core.base import ModulePass, is_optimizable, register_pass
from .core.context import PassContext
from .core.functions_in_data import holder_of_functions
from .core.let_binding import FreshVars
from .core.sharing import is_tree, require_tree

Steps = Generator[Any, Any, Any]
Continue = Callable[[Expr], Steps]


@register_pass("ToCPS", level=1)
@dataclass(frozen=True)
class ToCPS(ModulePass):
    """Converts functions to continuation-passing style: instead of returning, they call a continuation.

    ::

        def @main(%x: T) -> U { nn.relu(%x) }
            ⇒  def @main[answer](%x: T, %k: fn (U) -> answer) -> answer { let %x_0 = nn.relu(%x); %k(%x_0) }
        if (%c) { a } else { b }, then …   ⇒  let %f = fn (%arg) { … }; if (%c) { %f(a) } else { %f(b) }

    Every call of a function becomes a tail call. @main is converted (every function, in a module without one); a global
    function `@f` that it calls gets a twin `@f_cps` and stays callable as it was. The input must not share nodes (run ToANormalForm first) nor hold primitive functions.
    """

    changes: ClassVar[str] = "interface"

    def transform(self, module: Module, context: PassContext) -> Module:
        functions = dict(module.functions)
        added: dict[str, Function] = {}
        entries = context.exported or ({"main"} if "main" in module.functions else module.functions.keys())
        for name, f in module.functions.items():
            if name in entries and is_optimizable(f):
                functions[name] = trampoline(_Conversion(module, added).top(f))
        return module.with_functions({**functions, **added})


@register_pass("UnCPS", level=1)
@dataclass(frozen=True)
class UnCPS(ModulePass):
    """Wraps functions in continuation-passing style in direct style, with the identity as continuation.

    ::

        def @f[answer](%x: T, %k: fn (U) -> answer) -> answer { e }
            ⇒  def @f(%x: T) -> U { (fn [answer](%x: T, %k: fn (U) -> answer) -> answer { e })(%x, fn (%x: U) { %x }) }

    Functions in direct style stay as they are, and so do those that others call and pass continuations to, and those whose
    value is itself a function in continuation-passing style.
    """

    changes: ClassVar[str] = "interface"

    def transform(self, module: Module, context: PassContext) -> Module:
        functions = dict(module.functions)
        called = {
            e.name
            for f in functions.values()
            if isinstance(f, Function)
            for e in post_order(f)
            if isinstance(e, GlobalVar)
        }
        for name, f in module.functions.items():
            if is_optimizable(f) and name not in called and _takes_continuation(f):
                functions[name] = _in_direct_style(f)
        return module.with_functions(functions)


def _takes_continuation(f: Function) -> bool:
    """True if the last parameter goes on with one value to the answer that the function is polymorphic in."""
    if not f.params or not f.type_params:
        return False
    k, answer = f.params[-1].checked_type or f.params[-1].type_annotation, f.type_params[-1]
    if not isinstance(k, FuncType) or len(k.arg_types) != 1 or not k.ret_type == answer == f.ret_type:
        return False
    return answer not in free_type_vars(k.arg_types[0])  # else the answer would be the reference that holds the answer


def _in_direct_style(f: Function) -> Function:
    # The function goes inside with its type parameters, so the one around it has its own.
    *inner, answer = f.type_params
    type_params = tuple(TypeVar(t.name, t.kind) for t in inner)
    own: dict[Type, Type] = dict(zip(inner, type_params, strict=True))

    def outside(t: Type) -> Type:
        return rewrite_type(t, lambda leaf: own.get(leaf, leaf))

    *types, k = [p.checked_type or p.type_annotation for p in f.params]
    assert isinstance(k, FuncType)
    own[answer] = outside(k.arg_types[0])
    params = tuple(Var(p.name, outside(t)) for p, t in zip(f.params, types, strict=False) if t is not None)
    result = outside(k.arg_types[0])
    x = Var("x", result)
    identity = Function((x,), x, result)
    body = Call(f, (*params, identity), None, (*type_params, result))
    return Function(params, body, result, type_params, f.attrs, f.span)


def cps_type(t: Type, answer: TypeVar, known: dict[int, tuple[Type, Type]] | None = None) -> Type:
    """`t` with every function type `(A) -> B` in it made `(A, fn (B) -> answer) -> answer`.

    `known` has types, by identity, and their conversions: types share their parts.
    """
    memo = {} if known is None else known

    def convert(t: Type) -> Steps:
        entry = memo.get(id(t))
        if entry is not None:
            return entry[1]
        kids = []
        for k in type_children(t):
            kids.append((yield convert(k)))
        result = rebuild_type(t, kids)
        if isinstance(result, FuncType):
            after = FuncType((result.ret_type,), answer)
            result = FuncType((*result.arg_types, after), answer, result.type_params)
        memo[id(t)] = t, result
        return result

    return trampoline(convert(t))


def _require_convertible_data(f: Function) -> None:
    """Refuses a function over data whose type declares that it holds functions.

    Those would be in continuation-passing style, and the declaration, which the whole module shares, says otherwise.
    """
    holder = holder_of_functions(f)
    if holder is not None:
        constructor, where = holder
        raise IrError(
            f"ToCPS cannot convert the functions that {constructor.belong_to.name}.{constructor.name} holds", where.span
        )


class _Conversion:
    """Converts one function of a module, and the global functions that it calls."""

    def __init__(self, module: Module, added: dict[str, Function]) -> None:
        self.module = module
        self.added = added
        self.names = FreshVars()
        self.global_names: dict[str, str] = {}
        self.vars: dict[Var, Var] = {}
        self.answer = TypeVar("answer")
        self.types: dict[int, tuple[Type, Type]] = {}
        self.around: Function | None = None
        """The innermost function that is being converted."""

    def top(self, f: Function) -> Steps:
        """A function of the module: it gets its own `answer`."""
        require_tree(f, "ToCPS")
        _require_convertible_data(f)
        outer = self.vars, self.answer, self.types
        self.vars, self.answer, self.types = {}, TypeVar("answer"), {}
        for e in post_order(f):
            for v in (*binders(e), *((e,) if isinstance(e, Var) else ())):
                if v not in self.vars:
                    ty = v.checked_type or v.type_annotation
                    self.vars[v] = Var(v.name, None if ty is None else cps_type(ty, self.answer, self.types), v.span)
        result = yield self.function(f)
        result = with_function(result, type_params=(*result.type_params, self.answer))
        self.vars, self.answer, self.types = outer
        return result

    def function(self, f: Function) -> Steps:
        ty = f.checked_type
        result = ty.ret_type if isinstance(ty, FuncType) else f.ret_type
        assert result is not None
        k = Var("k", FuncType((cps_type(result, self.answer, self.types),), self.answer))

        def after(value: Expr) -> Steps:
            return Call(k, (value,))
            yield

        outer, self.around = self.around, f
        body = yield self.visit(f.body, after)
        self.around = outer
        params = tuple(self.vars.get(p, p) for p in f.params)
        return with_function(f, params=(*params, k), body=body, ret_type=self.answer)

    def visit(self, e: Expr, k: Continue) -> Steps:
        # A generator, so that what a handler only hands on to its operand does not nest on Python's stack.
        return (yield _VISIT[e.__class__](self, e, k))

    def let_bind(self, value: Expr, k: Continue) -> Steps:
        """Names a value that has an effect or may be used often, and goes on with the name."""
        name = self.names.fresh()
        body = yield k(name)
        return Let(name, value, body)

    def reify(self, k: Continue) -> Steps:
        """The meta-continuation as a function of the program."""
        arg = Var("arg")
        body = yield k(arg)
        return Function((arg,), body)

    def visit_all(self, items: tuple[Expr, ...], k: Callable[[tuple[Expr, ...]], Steps]) -> Steps:
        done: list[Expr] = []

        def step(value: Expr) -> Steps:
            done.append(value)
            return (yield following())

        def following() -> Steps:
            if len(done) == len(items):
                return (yield k(tuple(done)))
            return (yield self.visit(items[len(done)], step))

        return following()

    def atom(self, e: Expr, k: Continue) -> Steps:
        return k(e)

    def returning(self, e: Op | Constructor, k: Continue) -> Steps:
        within = self.around.span if self.around is not None else None
        place = e.span if isinstance(e, Constructor) else within
        raise IrError(f"ToCPS cannot convert {e.name}, which is used as a value: calls of it return", place)
        yield

    def var(self, e: Var, k: Continue) -> Steps:
        return k(self.vars.get(e, e))

    def global_var(self, e: GlobalVar, k: Continue) -> Steps:
        name = self.global_names.get(e.name)
        if name is None:
            callee = self.module.functions.get(e.name)
            if not isinstance(callee, Function) or self.returns(e):
                raise IrError(f"ToCPS cannot convert @{e.name}, which is used as a value", e.span)
            name = self.global_names[e.name] = self.module.fresh_name(f"{e.name}_cps")
            if name not in self.added:
                self.added[name] = yield self.top(callee)
        return (yield k(GlobalVar(name, e.span)))

    def returns(self, e: Expr) -> bool:
        """True if calls of `e` return: operators, constructors, and finished global functions that share nodes."""
        if not isinstance(e, GlobalVar):
            return isinstance(e, Op | Constructor)
        f = self.module.functions.get(e.name)
        return not isinstance(f, Function) or not (is_optimizable(f) or is_tree(f.body))

    def nested(self, e: Function, k: Continue) -> Steps:
        if e.attrs.get("Primitive"):
            raise IrError("ToCPS cannot convert a primitive function", e.span, help="run DefuseOps first")
        function = yield self.function(e)
        return (yield k(function))

    def let(self, e: Let, k: Continue) -> Steps:
        def after(value: Expr) -> Steps:
            body = yield self.visit(e.body, k)
            return Let(self.vars.get(e.var, e.var), value, body, e.span)

        return self.visit(e.value, after)

    def if_(self, e: If, k: Continue) -> Steps:
        join = yield self.reify(k)

        def branches(f: Expr) -> Steps:
            def call(value: Expr) -> Steps:
                return Call(f, (value,))
                yield

            def after(cond: Expr) -> Steps:
                true = yield self.visit(e.true_branch, call)
                false = yield self.visit(e.false_branch, call)
                return If(cond, true, false, e.span)

            return self.visit(e.cond, after)

        return (yield self.let_bind(join, branches))

    def match(self, e: Match, k: Continue) -> Steps:
        join = yield self.reify(k)

        def branches(f: Expr) -> Steps:
            def call(value: Expr) -> Steps:
                return Call(f, (value,))
                yield

            def after(data: Expr) -> Steps:
                clauses = []
                for c in e.clauses:
                    clauses.append(Clause(c.pattern, (yield self.visit(c.body, call)), c.span))
                return with_binders(Match(data, tuple(clauses), e.complete, e.span), self.vars)

            return self.visit(e.data, after)

        return (yield self.let_bind(join, branches))

    def tuple(self, e: Tuple, k: Continue) -> Steps:
        return self.visit_all(e.fields, lambda fields: k(Tuple(fields, e.span)))

    def tuple_get_item(self, e: TupleGetItem, k: Continue) -> Steps:
        def project(t: Expr) -> Steps:
            return (yield k(TupleGetItem(t, e.index, e.span)))

        return self.visit(e.tuple, project)

    def ref_create(self, e: RefCreate, k: Continue) -> Steps:
        def create(value: Expr) -> Steps:
            return (yield k(RefCreate(value, e.span)))

        return self.visit(e.value, create)

    def ref_read(self, e: RefRead, k: Continue) -> Steps:
        return self.visit(e.ref, lambda r: self.let_bind(RefRead(r, e.span), k))

    def ref_write(self, e: RefWrite, k: Continue) -> Steps:
        return self.visit_all((e.ref, e.value), lambda rv: self.let_bind(RefWrite(rv[0], rv[1], e.span), k))

    def type_arguments(self, e: Call) -> Sequence[Type]:
        """The type arguments of a call, with function types in the new style; a global function has one more, the answer."""
        converted = tuple(cps_type(t, self.answer, self.types) for t in e.type_args)
        return (
            (*converted, self.answer)
            if converted and isinstance(e.op, GlobalVar) and not self.returns(e.op)
            else converted
        )

    def call(self, e: Call, k: Continue) -> Steps:
        if self.returns(e.op):
            # A function that an operator is given stays in direct style: the operator calls it, and it returns.
            is_function_arg = [isinstance(e.op, Op) and isinstance(a, GlobalVar) for a in e.args]

            def finish(visited: tuple[Expr, ...]) -> Steps:
                following = iter(visited)
                args = tuple(a if g else next(following) for a, g in zip(e.args, is_function_arg, strict=True))
                return self.let_bind(Call(e.op, args, e.attrs, tuple(self.type_arguments(e)), e.span), k)

            return self.visit_all(tuple(a for a, g in zip(e.args, is_function_arg, strict=True) if not g), finish)

        def apply(parts: tuple[Expr, ...]) -> Steps:
            after = yield self.reify(k)
            return Call(parts[0], (*parts[1:], after), e.attrs, tuple(self.type_arguments(e)), e.span)

        return self.visit_all((e.op, *e.args), apply)


_VISIT: dict[type, Any] = {
    Call: _Conversion.call,
    Constant: _Conversion.atom,
    Constructor: _Conversion.returning,
    Function: _Conversion.nested,
    GlobalVar: _Conversion.global_var,
    If: _Conversion.if_,
    Let: _Conversion.let,
    Match: _Conversion.match,
    Op: _Conversion.returning,
    RefCreate: _Conversion.ref_create,
    RefRead: _Conversion.ref_read,
    RefWrite: _Conversion.ref_write,
    Tuple: _Conversion.tuple,
    TupleGetItem: _Conversion.tuple_get_item,
    Var: _Conversion.var,
}
