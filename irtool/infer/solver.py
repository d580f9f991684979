"""Unification of types and dimensions, and the queue of type rules that wait for a type to become known.

An `IncompleteType` is an unknown; `Solver` records what each has been bound to. Two known types unify when they agree,
where `?` agrees with every dimension and wins over it: after that *both* stand for the type with `?` (TVM's join).
Types are therefore followed by identity: `resolve` says what an object that was once given for a type stands for now.

A `TypeRelation` is a call of an operator whose result is not decided yet. It is tried again whenever an unknown in one of its
types is bound, so work is linear in the number of bindings; nothing is tried twice for no reason.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

from ..diagnostics import Diagnostic, IrError
from ..ir import (
    ANY,
    DimVar,
    Expr,
    FuncType,
    GlobalVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    Var,
    rebuild_type,
    rewrite_type,
    type_children,
    type_leaves,
)
from ..ir.dims import Dim, is_dimension
from ..ir.dtypes import is_dtype
from ..ir.show import show_expr
from ..ops.base import Operator, RelationError, operator_of
from ..ops.elements import require
from ..ops.relations import show_shape
from ..symbolic_int import Undecided, uncertain_equalities
from ..trampoline import trampoline
from .advice import advice
from .mistakes import OperatorRefuses
from .symbolic import symbolic_attribute

_Pairs = dict[tuple[int, int], tuple[Type, Type, Type]]
"""By identity of two types (kept alive here): the one that both are."""


class TypeRelation:
    """A call of an operator (or another node that waits for a type) and the types of its arguments and result, as first given."""

    __slots__ = ("arguments", "attrs", "call", "done", "operator", "out", "queued", "types")

    def __init__(
        self, call: Expr, operator: type[Operator], attrs: Operator, types: Sequence[Type], arguments: Sequence[Expr]
    ) -> None:
        self.call = call
        self.operator = operator
        self.attrs = attrs
        self.types = types
        self.arguments = arguments
        self.out: Type | None = None
        self.done = False
        self.queued = False


def require_tensors(t: Type) -> None:
    """Raises RelationError for an impossible tensor: without a dtype, with a malformed dimension, or with more than 2^63 - 1 elements."""
    for part in t.fields if isinstance(t, TupleType) else (t,):
        if isinstance(part, TensorType):
            if not is_dtype(part.dtype):
                what = f"{part.dtype} is not a dtype" if part.dtype else "the result has no dtype"
                raise RelationError(f'{what}: say which, as dtype="float32" does')
            wrong = [d for d in part.shape if not is_dimension(d)]
            if wrong:
                raise RelationError(
                    f"the result would have the shape {show_shape(part.shape)}: {wrong[0]} is no dimension"
                )
            count = math.prod([d for d in part.shape if isinstance(d, int)])
            if count >= 1 << 63:
                raise RelationError(f"the result {part} has {count} elements: more than 2^63 - 1")


class Solver:
    """The unknowns of one function (or of a group of functions that call each other) and their known types."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.pending: dict[TypeRelation, None] = {}
        self.poisoned: set[IncompleteType] = set()
        """Unknowns that are unknown because of an error already reported."""
        self.is_patient = False
        """True: a rule that refuses while types of its arguments are open is not decided yet."""
        self.on_bind: Callable[[IncompleteType, Type], None] | None = None
        """Called with each unknown and the type that it is bound to."""
        self._bound: dict[IncompleteType, Type] = {}
        self._joined: dict[int, tuple[Type, Type]] = {}
        """By identity of a known type (kept alive here): the type that it was joined into."""
        self._settled: dict[int, tuple[Type, Type]] = {}
        """By identity of a type (kept alive here): the type without unknowns that it stands for, while no more is joined."""
        self._settled_after = 0
        self._dims: dict[DimVar, Dim] = {}
        self._waiting: dict[IncompleteType, list[TypeRelation]] = {}
        self._queue: deque[TypeRelation] = deque()

    # What is known

    def find(self, t: Type) -> Type:
        """The type that `t` itself is bound to; unknowns inside it are left as they are."""
        if t.__class__ is IncompleteType:
            bound = self._bound
            seen: list[IncompleteType] = []
            while t.__class__ is IncompleteType:
                known = bound.get(t)
                if known is None:
                    break
                seen.append(t)
                t = known
            for s in seen[:-1]:
                bound[s] = t
        joined = self._joined
        if joined:
            entry = joined.get(id(t))
            if entry is not None:
                passed = [t]
                t = entry[1]
                while (entry := joined.get(id(t))) is not None:
                    passed.append(t)
                    t = entry[1]
                for p in passed[:-1]:  # all of them, not the first alone: a chain of `let`s is one chain of joins
                    joined[id(p)] = (p, t)
        return t

    def resolve(self, t: Type) -> Type:
        """`t` with all unknowns in it replaced by their types."""
        if not self._joined:
            if not t.is_open:
                return t
            if t.__class__ is IncompleteType:
                t = self.find(t)
                if t.__class__ is IncompleteType or not t.is_open:
                    return t
        return self._resolve_deep(t)

    def _resolve_deep(self, root: Type) -> Type:
        """Follows the types of unknowns, into them, with a stack of its own; an occurs check keeps that finite.

        What leaves nothing open is noted: the types of functions nested in functions lie inside each other.
        """
        root = self.find(root)
        settled = self._settled
        if self._settled_after != len(self._joined):
            settled.clear()
            self._settled_after = len(self._joined)
        done: dict[int, Type] = {}
        stack: list[tuple[Type, Type | None]] = [(root, None)]
        while stack:
            t, known = stack.pop()
            if id(t) in done:
                continue
            kids = type_children(t)
            if known is None:
                known = (
                    self.find(t) if not kids or t.__class__ is FuncType else t
                )  # of what has parts, functions are joined whole
                if known is t and not kids:
                    done[id(t)] = t
                elif known is not t and not type_children(known):
                    done[id(t)] = known
                elif kids and not t.is_open and not self._joined:
                    done[id(t)] = t
                elif id(t) in settled:
                    done[id(t)] = settled[id(t)][1]
                else:
                    stack.append((t, known))
                    stack.extend((k, None) for k in (kids if known is t else (known,)))
            else:
                whole = done[id(t)] = rebuild_type(t, [done[id(k)] for k in kids]) if known is t else done[id(known)]
                if not whole.is_open:
                    settled[id(t)] = (t, whole)
        return done[id(root)]

    # Unification

    def unify(self, a: Type, b: Type, keep_a: bool = False, keep_b: bool = False) -> Type:
        """The one type that both are. RelationError, naming the axis, if they cannot be.

        `keep_a` / `keep_b`: that side, if known, goes on standing for itself though the other has a `?` where it has none.
        """
        a, b = self.find(a), self.find(b)
        if a is b:
            return a
        if a.__class__ is IncompleteType:
            return self._bind(a, b)
        if b.__class__ is IncompleteType:
            return self._bind(b, a)
        if a.__class__ is TensorType and b.__class__ is TensorType:
            joined: Type = self._join(a, b)
        elif not a.is_open and a.__class__ is not TupleType and a == b:
            return a  # of tuples, the fields are joined one by one, so that what follows one follows the other
        else:
            joined = trampoline(self._unify_parts(a, b, {}))
            if not (isinstance(joined, FuncType) and (a.type_params or b.type_params)):  # type: ignore[attr-defined]  # what joins to a function was two
                return joined  # the parts have been joined one by one
        if not keep_a:
            self._move(a, joined)
        if not keep_b:
            self._move(b, joined)
        return joined

    def _bind(self, unknown: IncompleteType, t: Type) -> Type:
        if t.is_open and t.__class__ is not IncompleteType and unknown in set(type_leaves(self._resolve_deep(t))):
            raise RelationError(f"the type would contain itself: _ = {self.resolve(t)}")
        self._bound[unknown] = t
        if self.on_bind is not None:
            self.on_bind(unknown, t)
        if t.__class__ is IncompleteType and unknown in self.poisoned:
            self.poisoned.add(t)
        waiting = self._waiting.pop(unknown, None)
        if waiting:
            if t.__class__ is IncompleteType:
                self._waiting.setdefault(t, []).extend(waiting)
            else:
                self._enqueue(waiting)
        return t

    def _move(self, t: Type, joined: Type) -> None:
        if t is not joined:
            self._joined[id(t)] = (t, joined)

    def _join(self, a: TensorType, b: TensorType) -> TensorType:
        if a.shape == b.shape and a.dtype == b.dtype:
            return a
        if a.dtype != b.dtype:
            raise RelationError(f"{a} and {b} differ: the data types are {a.dtype} and {b.dtype}")
        if len(a.shape) != len(b.shape):
            raise RelationError(f"{a} and {b} differ: the ranks are {len(a.shape)} and {len(b.shape)}")
        shape = tuple(self._unify_dims(i, x, y, a, b) for i, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)))
        return TensorType(shape, a.dtype)

    def _unify_dims(self, axis: int, x: Dim, y: Dim, a: TensorType, b: TensorType) -> Dim:
        while isinstance(x, DimVar) and x in self._dims:
            x = self._dims[x]
        while isinstance(y, DimVar) and y in self._dims:
            y = self._dims[y]
        if x is y:
            return x
        if x is ANY or y is ANY:
            return ANY
        if isinstance(x, DimVar) and isinstance(y, int):
            self._dims[x] = y
            return y
        if isinstance(y, DimVar) and isinstance(x, int):
            self._dims[y] = x
            return x
        if isinstance(x, int) and isinstance(y, int) and x == y:
            return x
        raise RelationError(f"{a} and {b} differ: axis {axis} is {x} and {y}")

    def _unify_parts(self, a: Type, b: Type, done: _Pairs) -> Generator[Any, Any, Type]:
        """`unify` of two types that hold others, written as if recursive (see `trampoline`).

        `done` has the pairs unified so far: what is shared inside both is unified once, and stays shared.
        """
        if isinstance(a, TupleType) and isinstance(b, TupleType):
            if len(a.fields) != len(b.fields):
                raise RelationError(f"{a} and {b} differ: tuples of {len(a.fields)} and {len(b.fields)} fields")
            return TupleType((yield self._unify_all(a.fields, b.fields, done)))
        if isinstance(a, RefType) and isinstance(b, RefType):
            (value,) = yield self._unify_all((a.value,), (b.value,), done)
            return RefType(value)
        if isinstance(a, TypeCall) and isinstance(b, TypeCall) and len(a.args) == len(b.args):
            func, *args = yield self._unify_all((a.func, *a.args), (b.func, *b.args), done)
            return TypeCall(func, tuple(args))
        if isinstance(a, FuncType) and isinstance(b, FuncType):
            return (yield self._unify_functions(a, b, done))
        if a == b:
            return a
        raise RelationError(f"{self.resolve(a)} and {self.resolve(b)} differ")

    def _unify_all(self, xs: Sequence[Type], ys: Sequence[Type], done: _Pairs) -> Generator[Any, Any, tuple[Type, ...]]:
        parts = []
        for x, y in zip(xs, ys, strict=True):
            x, y = self.find(x), self.find(y)
            known = IncompleteType not in (x.__class__, y.__class__)
            if x is y or not known or (x.__class__ is TensorType and y.__class__ is TensorType):
                parts.append(self.unify(x, y))
                continue
            before = done.get((id(x), id(y)))
            if before is not None:
                parts.append(before[2])
                continue
            joined = yield self._unify_parts(x, y, done)
            done[id(x), id(y)] = x, y, joined
            if isinstance(joined, FuncType):
                self._move(x, joined)
                self._move(y, joined)
            parts.append(joined)
        return tuple(parts)

    def _unify_functions(self, a: FuncType, b: FuncType, done: _Pairs) -> Generator[Any, Any, Type]:
        if _is_operators(a, b):
            return a
        if _is_operators(b, a):
            return b
        if len(a.arg_types) != len(b.arg_types) or operator_of(a) is not operator_of(b):
            raise RelationError(f"{self.resolve(a)} and {self.resolve(b)} differ")
        if operator_of(a) is not None:
            return a
        if len(a.type_params) < len(b.type_params):
            a, b = b, a
        # The parameters of the side that has fewer stand for as many of the other's; what is left over is unknown.
        renamed: dict[Type, Type] = dict(zip(a.type_params, b.type_params, strict=False))
        for extra in a.type_params[len(b.type_params) :]:
            renamed[extra] = IncompleteType()
        ours = substitute_type(FuncType(a.arg_types, a.ret_type), renamed)
        assert isinstance(ours, FuncType)
        ret, *args = yield self._unify_all((ours.ret_type, *ours.arg_types), (b.ret_type, *b.arg_types), done)
        return FuncType(tuple(args), ret, b.type_params)

    # Type rules

    def add(self, rule: TypeRelation) -> Type:
        """Tries the rule; returns the type of its result, or the unknown that stands for it."""
        self._try(rule)
        if self._queue:
            self.run()
        assert rule.out is not None
        return rule.out

    def run(self) -> None:
        """Tries every rule that has news, until none has."""
        while self._queue:
            rule = self._queue.popleft()
            rule.queued = False
            if not rule.done:
                self._try(rule)

    def _enqueue(self, rules: Sequence[TypeRelation]) -> None:
        for rule in rules:
            if not rule.done and not rule.queued:
                rule.queued = True
                self._queue.append(rule)

    def retry(self, rules: Sequence[TypeRelation]) -> None:
        """Tries these rules again, in this order."""
        self._enqueue(rules)
        self.run()

    def _try(self, rule: TypeRelation) -> None:
        reporter = RuleReporter(self, rule)
        try:
            result = rule.attrs.relate([self.resolve(t) for t in rule.types], reporter)
            if result is not None:
                if not any(result is t for t in rule.types):
                    require_tensors(result)
                if rule.out is None:
                    rule.out = result
                else:
                    rule.out = self.unify(rule.out, result)
        except RelationError as error:
            if not (self.is_patient and any(self.resolve(t).is_open for t in rule.types)):
                self.refuse(rule, str(error))
                return
            result = None
        except IrError as error:
            self.diagnostics.extend(error.diagnostics)
            self._poison(rule)
            return
        except Undecided as error:
            self.refuse(rule, f"the answer depends on lengths that only the run knows: {error}")
            return
        except (MemoryError, OverflowError):
            self.refuse(rule, "the type of the result does not fit the memory")
            return
        except (TypeError, ValueError, AttributeError):
            name = symbolic_attribute(rule.attrs)
            if not name:
                raise
            self.refuse(rule, f"the attribute {name} has to be known as a number")
            return
        # A type that is as unknown as an argument's says that both are one, and not yet that the operator takes it.
        if result is not None and self.find(result).__class__ is not IncompleteType:
            rule.done = True
            self.pending.pop(rule, None)
            return
        if rule.out is None:
            rule.out = IncompleteType()
        self.pending[rule] = None
        for t in (*rule.types, rule.out):
            t = self.resolve(t)
            if t.is_open:
                for leaf in type_leaves(t):
                    if leaf.__class__ is IncompleteType:
                        self._waiting.setdefault(leaf, []).append(rule)

    def refuse(self, rule: TypeRelation, reason: str) -> None:
        """Reports that a rule does not hold."""
        lengths = uncertain_equalities()
        types = [self.resolve(t) for t in rule.types]
        names = rule.operator.names_of_arguments(len(types))
        shown = [f"{names[i]} is {t}" if names else f"argument {i} is {t}" for i, t in enumerate(types)]
        title = (rule.operator.manual().splitlines() or [""])[0]
        notes = ["; ".join(shown)] if shown else []
        if title:
            notes.append(f"{rule.operator.name}: {title}")
        what = show_application(rule.operator.name, rule.arguments)
        help = advice(rule.operator, rule.attrs, rule.arguments, types, reason)
        self.diagnostics.append(
            Diagnostic(
                f"{what}: {reason}",
                rule.call.span,
                notes=tuple(notes),
                help=help,
                code=OperatorRefuses,
                lengths=lengths,
            )
        )
        self._poison(rule)

    def _poison(self, rule: TypeRelation) -> None:
        rule.done = True
        self.pending.pop(rule, None)
        if rule.out is None:
            rule.out = IncompleteType()
        for t in (*rule.types, rule.out):
            for leaf in type_leaves(self.resolve(t)):
                if leaf.__class__ is IncompleteType:
                    self.poisoned.add(leaf)


class RuleReporter:
    """The reporter of a type rule: see `ops.base.Reporter`."""

    __slots__ = ("_rule", "_solver")

    def __init__(self, solver: Solver, rule: TypeRelation) -> None:
        self._solver = solver
        self._rule = rule

    def assign(self, index: int, type: Type) -> None:
        """Unifies the type of argument `index` with `type`, and with nothing else that has this type."""
        if type.__class__ is TensorType:
            # Joins follow the object: a rule may give one object to several arguments and as the result, or keep it for good.
            type = TensorType(type.shape, type.dtype, type.span)  # type: ignore[attr-defined]  # by the class, which mypy does not follow
        self._solver.unify(self._rule.types[index], type)

    def unify(self, a: Type, b: Type) -> Type:
        """Unifies two types; RelationError if they differ."""
        return self._solver.unify(a, b)

    def argument(self, index: int) -> Expr | None:
        """The expression of argument `index`, where the call has one."""
        return self._rule.arguments[index] if index < len(self._rule.arguments) else None

    @property
    def out(self) -> Type:
        """The known part of the type of the result."""
        if self._rule.out is None:
            self._rule.out = IncompleteType()
        return self._solver.resolve(self._rule.out)

    def require_elements(self, extents: Sequence[Dim], results: Sequence[Dim], message: str, least: int = 1) -> None:
        """RelationError if an axis surely has too few elements."""
        require(extents, results, message, least)


def _is_operators(a: FuncType, b: FuncType) -> bool:
    """True if `a` is the type of an operator and `b` the type that texts have for it."""
    if operator_of(a) is None or operator_of(b) is not None or len(a.type_params) != len(b.type_params):
        return False
    renamed: dict[Type, Type] = dict(zip(b.type_params, a.type_params, strict=True))
    return substitute_type(FuncType(b.arg_types, b.ret_type), renamed) == FuncType(a.arg_types, a.ret_type)


def show_application(name: str, arguments: Sequence[Expr]) -> str:
    """A call, short: `add(%x, …)`."""
    shown = [show_expr(a) if isinstance(a, Var | GlobalVar) else "…" for a in arguments[:4]]
    return f"{name}({', '.join(shown + ['…'] * (len(arguments) > 4))})"


def substitute_type(t: Type, values: dict[Type, Type]) -> Type:
    """`t` with type variables replaced; a function type inside `t` keeps its own parameters."""
    if not values:
        return t
    return rewrite_type(t, lambda leaf: values.get(leaf, leaf) if leaf.__class__ is TypeVar else leaf)
