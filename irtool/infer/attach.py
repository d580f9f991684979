"""The second half of inference: the same expressions again, with the types that were found on them.

New nodes take the place of those without types; typed ones stay the same objects. A variable becomes one new object for
its binder and all its uses. Annotations that were missing are filled in: of variables, of a function's result, and the
type arguments of calls of polymorphic functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
    IncompleteType,
    Let,
    Match,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    Type,
    Var,
    binders,
    children,
)
from ..trampoline import trampoline
from .constraints import Constraints
from .open_types import has_unknowns


def attach(inferred: Constraints, *roots: Expr, keep_unknown: bool = True) -> list[Expr]:
    """The roots with a `checked_type` on every node below them.

    With `keep_unknown` False, nodes whose type is not wholly known get none, and nodes above such nodes neither: a node
    that is typed says that all below it is.
    """
    attached = _Attach(inferred)
    for e in inferred.order:
        if e not in attached.new:
            new = attached.new[e] = _MAKE[e.__class__](attached, e)
            if not keep_unknown and new.checked_type is not None and _is_undecided(new):
                object.__setattr__(new, "checked_type", None)
    return [attached.get(r) for r in roots]


def _is_undecided(e: Expr) -> bool:
    """True if the type of a node is open, or that of a node below it was left out."""
    if e.__class__ is Constructor or e.__class__ is Op:
        return False
    assert e.checked_type is not None
    if has_unknowns(e.checked_type):
        return True
    return any(k.checked_type is None and k.__class__ is not Op for k in (*children(e), *binders(e)))


class _Attach:
    def __init__(self, inferred: Constraints) -> None:
        self.inferred = inferred
        self.resolve = inferred.solver.resolve
        self.new: dict[Expr, Expr] = {}

    def get(self, e: Expr) -> Any:
        """The typed twin of `e`: itself, if it was typed before."""
        new = self.new.get(e)
        if new is None:
            if e.__class__ is Var:
                # A binder is reached by what it binds before it is reached itself only if nothing uses it.
                new = self.new[e] = self.variable(e) if e in self.inferred.types else e
            else:
                new = e
        return new

    def type_of(self, e: Expr) -> Type:
        return self.resolve(self.inferred.types[e])

    def variable(self, e: Var) -> Var:
        if e.checked_type is not None and not self.inferred.fresh:
            return e
        t = self.type_of(e)
        annotation = e.type_annotation
        if annotation is None:
            annotation = _written(t)
        elif annotation.__class__ is not TensorType:
            # That of a tensor stands as it was written: it may be one object with a part of another annotation, and what is
            # joined with that part has nothing to do with this variable.
            annotation = self.resolve(annotation)
        return Var(e.name, annotation, e.span, t, e.virtual_device)

    def global_var(self, e: GlobalVar) -> GlobalVar:
        return GlobalVar(e.name, e.span, self.type_of(e))

    def constant(self, e: Constant) -> Constant:
        return Constant(e.data, e.dtype, e.type_annotation, e.span, self.type_of(e))

    def same(self, e: Expr) -> Expr:
        return e

    def constructor(self, e: Constructor) -> Constructor:
        # One object per declaration: its type is a property of the declaration, noted on it when first needed.
        if e.checked_type is None:
            object.__setattr__(e, "checked_type", self.inferred.types[e])
        return e

    def tuple(self, e: Tuple) -> Tuple:
        return Tuple(tuple([self.get(f) for f in e.fields]), e.span, self.type_of(e))

    def get_item(self, e: TupleGetItem) -> TupleGetItem:
        return TupleGetItem(self.get(e.tuple), e.index, e.span, self.type_of(e))

    def call(self, e: Call) -> Call:
        type_args: Sequence[Type] = self.inferred.type_args.get(e, e.type_args)
        if type_args:
            type_args = tuple([self.resolve(t) for t in type_args])
        get = self.get
        return Call(get(e.op), tuple([get(a) for a in e.args]), e.attrs, type_args, e.span, self.type_of(e))  # type: ignore[arg-type]  # what nodes have of type arguments is a tuple

    def function(self, e: Function) -> Function:
        t = self.type_of(e)
        assert isinstance(t, FuncType)
        ret_type: Type | None
        if e.ret_type is not None:
            ret_type = self.resolve(e.ret_type)
        else:
            ret_type = None if has_unknowns(t.ret_type) else t.ret_type
        params = tuple([self.get(p) for p in e.params])
        return Function(params, self.get(e.body), ret_type, e.type_params, e.attrs, e.span, t, e.virtual_device)

    def let(self, e: Let) -> Let:
        return Let(self.get(e.var), self.get(e.value), self.get(e.body), e.span, self.type_of(e))

    def conditional(self, e: If) -> If:
        get = self.get
        return If(get(e.cond), get(e.true_branch), get(e.false_branch), e.span, self.type_of(e))

    def match(self, e: Match) -> Match:
        clauses = tuple(Clause(self.pattern(c.pattern), self.get(c.body), c.span) for c in e.clauses)
        return Match(self.get(e.data), clauses, e.complete, e.span, self.type_of(e))

    def pattern(self, root: Pattern) -> Pattern:
        return trampoline(self._pattern(root))

    def _pattern(self, p: Pattern) -> Any:
        if isinstance(p, PatternVar):
            return PatternVar(self.get(p.var), p.span)
        if not isinstance(p, PatternConstructor | PatternTuple):
            return p
        parts = []
        for q in p.patterns:
            parts.append((yield self._pattern(q)))
        if isinstance(p, PatternTuple):
            return PatternTuple(tuple(parts), p.span)
        return PatternConstructor(p.constructor, tuple(parts), p.span)

    def ref_create(self, e: RefCreate) -> RefCreate:
        return RefCreate(self.get(e.value), e.span, self.type_of(e))

    def ref_read(self, e: RefRead) -> RefRead:
        return RefRead(self.get(e.ref), e.span, self.type_of(e))

    def ref_write(self, e: RefWrite) -> RefWrite:
        return RefWrite(self.get(e.ref), self.get(e.value), e.span, self.type_of(e))


def _written(t: Type) -> Type | None:
    """The annotation for an inferred type: None for an unknown one."""
    return None if isinstance(t, IncompleteType) else t


_MAKE: dict[type, Callable[[_Attach, Any], Expr]] = {
    Var: _Attach.variable,
    GlobalVar: _Attach.global_var,
    Constant: _Attach.constant,
    Op: _Attach.same,
    Constructor: _Attach.constructor,
    Tuple: _Attach.tuple,
    TupleGetItem: _Attach.get_item,
    Call: _Attach.call,
    Function: _Attach.function,
    Let: _Attach.let,
    If: _Attach.conditional,
    Match: _Attach.match,
    RefCreate: _Attach.ref_create,
    RefRead: _Attach.ref_read,
    RefWrite: _Attach.ref_write,
}
