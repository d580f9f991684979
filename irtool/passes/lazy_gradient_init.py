"""LazyGradientInit: tensors of ones and zeros are made only when their elements are needed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

from ..ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    Var,
    binders,
    children,
    post_order,
    rebuild,
    rewrite,
    with_binders,
    with_function,
)
from ..ir.types import GlobalTypeVar, distinct_leaves, require_few_leaves, rewrite_type, type_leaves
from ..trampoline import trampoline
from .core.base import ModulePass, is_optimizable, register_pass
from .core.context import PassContext
from .core.functions_in_data import constructors_in
from .core.let_binding import FreshVars, LetList
from .gradients.grad_cell import grad_cell_module, with_grad_cell

Steps = Generator[Any, Any, Any]


@register_pass("LazyGradientInit", level=2)
@dataclass(frozen=True)
class LazyGradientInit(ModulePass):
    """Computes on `GradCell`s instead of tensors, so that `ones`, `zeros` and their `_like` forms are materialized on use only.

    ::

        def @main(%x: T) -> T { add(%x, zeros_like(%x)) }
            ⇒  def @main(%x: T) -> T {
                 let %y = fn (%x: GradCell[T]) -> GradCell[T] {
                   @AddGradCell(fn (%lhs, %rhs) { add(%lhs, %rhs) }, %x, Zero(fn () { zeros_like(@FromGradCell(%x)) }))
                 }(Raw(%x));
                 @FromGradCell(%y)
               }

    The types of the function itself do not change. Meant to run after a gradient pass, whose results are full of ones and
    zeros. A function stays as it is where its tensors are out of reach: in a list, a reference or a closure that it is
    given, returns or passes on, or in a data type that declares them; and where it computes on cells already.
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        extended = with_grad_cell(module)
        functions = dict(extended.functions)
        library = grad_cell_module().functions
        for name, f in module.functions.items():
            if is_optimizable(f) and name not in library and _is_in_reach(f):
                functions[name] = _Lazy(extended).function(f)
        return extended.with_functions(functions)


def _is_in_reach(f: Function) -> bool:
    """True if `f` can compute on cells: every tensor that comes from elsewhere or goes there can be put in or taken out."""
    if f.type_params:
        return False
    exprs: list[Expr] = []
    crossing: list[Expr] = [*f.params, f.body]
    for e in post_order(f):
        if any(_holds_tensors(t) for c in constructors_in(e) for t in c.inputs):
            return False
        if isinstance(e, _GIVEN):
            continue
        exprs += [e, *binders(e)]
        kids = children(e)
        if isinstance(e, Call) and isinstance(e.op, _GIVEN):
            kids = e.args
            if not isinstance(e.op, Constructor):
                crossing += [e, *e.args]
        if any(isinstance(k, _GIVEN) for k in kids):
            return False
    if any(isinstance(t, GlobalTypeVar) and t.name == "GradCell" for t in type_leaves(_types(exprs))):
        return False
    return not any(_holds_tensors(t) for t in distinct_leaves(_types(crossing)) if not isinstance(t, TensorType))


_GIVEN = (Op, GlobalVar, Constructor)
"""What is called as it is defined elsewhere: on tensors."""


def _types(values: Iterable[Expr]) -> TupleType:
    """The different types of some values."""
    return TupleType(tuple(dict.fromkeys(v.checked_type for v in values if v.checked_type is not None)))


def _holds_tensors(t: Type) -> bool:
    return any(isinstance(leaf, TensorType) for leaf in type_leaves(t))


class _Lazy:
    def __init__(self, module: Module) -> None:
        self.header = module.type_definitions["GradCell"].header
        self.constructors = module.constructors
        self.names = FreshVars()

    def cell_type(self, t: Type) -> Type:
        """`t` with every tensor type in it in a cell."""
        return rewrite_type(t, lambda leaf: TypeCall(self.header, (leaf,)) if isinstance(leaf, TensorType) else leaf)

    def raw(self, e: Expr, t: Type) -> Expr:
        return Call(self.constructors["Raw"], (e,), None, (t,))

    def plain(self, e: Expr, t: Type) -> Expr:
        return Call(GlobalVar("FromGradCell"), (e,), None, (t,))

    def function(self, f: Function) -> Function:
        """The function over tensors that wraps the one over cells; `f` itself if it handles no tensors."""
        renamed = {}
        for e in post_order(f):
            for v in binders(e):
                old = v.type_annotation or v.checked_type
                new = None if old is None else self.cell_type(old)
                if new is not old or e is f:  # parameters are those of the function around it, too
                    renamed[v] = Var(v.name, new, v.span, None, v.virtual_device)
        memo: dict[Expr, Expr] = dict(renamed.items())

        def leave(old: Expr, new: Expr) -> Expr:
            # Each use of a constant gets a cell of its own: cells are cheap, and sharing them would make a graph of a tree.
            kids = [self.raw(k, o.known_type) if isinstance(k, Constant) else k for k, o in self._pairs(old, new)]
            new = with_binders(rebuild(new, kids), renamed)
            if isinstance(new, If) and isinstance(old, If):
                cond = self.unwrapped(new.cond, old.cond.known_type)
                return If(cond, new.true_branch, new.false_branch, new.span)
            if isinstance(new, Function) and new.ret_type is not None:
                return with_function(new, ret_type=self.cell_type(new.ret_type))
            return self.call(old, new) if isinstance(old, Call) and isinstance(new, Call) else new

        inner = rewrite(f, leave, memo=memo)
        assert isinstance(inner, Function)
        if inner.ret_type == f.ret_type and all(new.type_annotation == v.type_annotation for v, new in renamed.items()):
            return f
        return self.wrap(f, inner)

    @staticmethod
    def _pairs(old: Expr, new: Expr) -> list[tuple[Expr, Expr]]:
        return list(zip(children(new), children(old), strict=True))

    def call(self, old: Call, new: Call) -> Expr:
        result = old.checked_type
        assert result is not None
        types = [a.known_type for a in old.args]
        if isinstance(new.op, GlobalVar):
            arguments = [self.unwrapped(a, t) for a, t in zip(new.args, types, strict=True)]
            return self.wrapped(Call(new.op, tuple(arguments), new.attrs, new.type_args, new.span), result)
        if not isinstance(new.op, Op):
            return Call(new.op, new.args, new.attrs, tuple(map(self.cell_type, new.type_args)), new.span)
        name = new.op.name
        if name in ("add", "multiply") and types[0] == types[1]:
            overload = GlobalVar("AddGradCell" if name == "add" else "MultiplyGradCell")
            lhs, rhs = Var("lhs", types[0]), Var("rhs", types[0])
            fallback = Function((lhs, rhs), Call(new.op, (lhs, rhs), new.attrs), types[0])
            return Call(overload, (fallback, *new.args), None, (types[0],))
        plain = tuple(self.unwrapped(a, t) for a, t in zip(new.args, types, strict=True))
        value = Call(new.op, plain, new.attrs, (), new.span)
        known = {"ones": "One", "ones_like": "One", "zeros": "Zero", "zeros_like": "Zero"}.get(name)
        if known is not None:
            return Call(self.constructors[known], (Function((), value, result),), None, (result,))
        return self.wrapped(value, result)

    def wrapped(self, e: Expr, t: Type) -> Expr:
        """`e` of type `t` with its tensors in cells."""
        return _each(e, t, self.raw)

    def unwrapped(self, e: Expr, t: Type) -> Expr:
        """`e` with its tensors, which are of type `t`, out of their cells."""
        return _each(e, t, self.plain)

    def wrap(self, f: Function, inner: Function) -> Function:
        lets = LetList(self.names)
        arguments = tuple(
            _each(p, p.checked_type or p.type_annotation or p.known_type, self.raw, lets.push) for p in f.params
        )
        result = lets.push(Call(inner, arguments))
        assert f.ret_type is not None
        body = lets.wrap(_each(result, f.ret_type, self.plain, lets.push))
        return Function(f.params, body, f.ret_type, (), {}, f.span)


def _each(
    e: Expr, t: Type, leaf: Callable[[Expr, Type], Expr], part: Callable[[Expr], Expr] = lambda projection: projection
) -> Expr:
    """`e` of type `t` with `leaf` applied to each tensor in it; `part` may name the projections that lead to them."""

    def visit(e: Expr, t: Type) -> Steps:
        if isinstance(t, TensorType):
            return leaf(e, t)
        if not isinstance(t, TupleType):
            return e
        fields = []
        for i, f in enumerate(t.fields):
            fields.append((yield visit(part(TupleGetItem(e, i)), f)))
        return Tuple(tuple(fields))

    require_few_leaves(t)
    return trampoline(visit(e, t))
