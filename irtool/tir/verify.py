"""The rules that every loop nest keeps, checked.

1. A variable is used only below the loop or `Let` that binds it, and is bound once.
2. A buffer is read and written only if it is a parameter or inside its `Allocate`; inputs and constants are never written.
3. Operands have the dtypes that the operation wants: those of arithmetic and comparisons are equal, conditions are bool,
   indices are integers, what is stored has the buffer's dtype.
4. An access has one index per axis. Where no guard is around it, no index is outside its axis as far as ranges can tell:
   of a sum of loop variables all values are checked, of anything else that some may be right. The place of a prefetch may be
   anywhere; the reads in its indices are checked.
5. An index of a read that comes from data is within its axis as far as ranges can tell, or where they cannot, below a
   condition that compares what it is made of with something (`te.clip_index`, `te.wrap_index`, `te.if_then_else`). A loop
   that runs as often as data says counts up to that (`last_iteration`). What a kernel computed itself in memory of its own
   counts as data only where it was copied from there.
6. Loops have a known kind, and those that are vectorized or unrolled a constant extent.
7. A loop nest holds no `Reduce`: reductions are loops.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..diagnostics import InternalError
from ..symbolic_int import holds
from . import dtypes
from .expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Load,
    Not,
    Reduce,
    Select,
    Var,
    always_evaluated,
    children,
    post_order,
)
from .last_iteration import at_last_iteration
from .simplify import Simplifier
from .stmt import (
    PARALLEL,
    SERIAL,
    TILED,
    UNROLLED,
    VECTORIZED,
    Allocate,
    AllocateConst,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    Prefetch,
    PrimFunc,
    Scope,
    Stmt,
    Store,
    While,
    expressions,
)
from .stmt import children as substatements

_COMPARISONS = frozenset(["<", "<=", "==", "!="])
_LOGICAL = frozenset(["and", "or"])
_KINDS = frozenset([SERIAL, PARALLEL, VECTORIZED, UNROLLED, TILED])
_SCOPES = frozenset([Scope.GLOBAL, Scope.THREAD, Scope.LOCAL, Scope.REGISTER])


_Conditions = tuple[Any, ...] | None
"""A linked list of expressions: `()`, or one and the rest."""


def verify(f: PrimFunc) -> None:
    """Raises InternalError with every rule that the function breaks."""
    problems = list(dict.fromkeys(find_problems(f)))
    if problems:
        raise InternalError(f"the loop nest {f.name} is not well formed: " + "; ".join(problems))


def find_problems(f: PrimFunc) -> Iterator[str]:
    """Every rule that the function breaks, as a sentence."""
    return (m.message for m in find_mistakes(f))


@dataclass(frozen=True)
class Mistake:
    """A rule that is broken, as a sentence; the statement that breaks it, if it is one; whether it is rule 5, which an index
    breaks that comes from data."""

    message: str
    at: Stmt | None = None
    comes_from_data: bool = False


def find_mistakes(f: PrimFunc) -> Iterator[Mistake]:
    """Every rule that the function breaks, and where."""
    if not 0 <= f.num_outputs <= len(f.params):
        yield Mistake(f"{f.num_outputs} outputs, but {len(f.params)} parameters")
        return
    if len(set(f.params)) != len(f.params):
        yield Mistake("a buffer is a parameter twice")
    verifier = _Verifier(f)
    for message in verifier.run():
        yield Mistake(message, verifier.at, verifier.comes_from_data)
        verifier.comes_from_data = False


_HELD_AS = {"bfloat16": "uint16"}
"""What arrays are of that hold numbers for which numpy has no type."""


class _Verifier:
    def __init__(self, f: PrimFunc) -> None:
        self.function = f
        self.inputs = set(f.inputs)
        self.buffers: set[Buffer] = set(f.params)
        self.bound: set[Expr] = set()
        self.ever_bound: set[Expr] = set()
        self.loops: set[Expr] = set()
        self.simplify = Simplifier()
        self.typed: set[Expr] = set()
        self.data: dict[Expr, frozenset[Buffer | Expr]] = {}
        self.foreign = _foreign(f)
        self.extents: dict[Var, Expr] = {}
        """Of loops whose number of iterations is computed from inputs."""
        self.conditions: _Conditions = ()
        self.at: Stmt | None = None
        self.comes_from_data = False

    def run(self) -> Iterator[str]:
        # Each entry is a statement to enter, with whether a guard is around it, or what its end takes out of scope.
        # Then the conditions that hold there, innermost first; None if nothing is ever done.
        stack: list[tuple[Stmt | None, bool, Expr | Buffer | None, _Conditions]] = [
            (self.function.body, False, None, ())
        ]
        while stack:
            s, guarded, over, self.conditions = stack.pop()
            if s is None:
                if isinstance(over, Buffer):
                    self.buffers.discard(over)
                else:
                    self.bound.discard(over)
                continue
            self.at = s
            for e in s.place.indices if isinstance(s, Prefetch) else expressions(s):
                yield from self.expression(e, guarded or isinstance(s, While))
            inner = guarded or isinstance(s, If | While)
            below = self.conditions
            if isinstance(s, Store):
                yield from self.store(s, guarded)
            elif isinstance(s, Prefetch):
                yield from self.prefetch(s.place)
            elif isinstance(s, If | While):
                if s.cond.dtype != "bool":
                    yield f"the condition {s.cond!r} is {s.cond.dtype}"
                below = None if below is None else (s.cond, below)
            elif isinstance(s, For | Let):
                yield from self.bind(s)
                stack.append((None, False, s.var, ()))
                if isinstance(s, For) and isinstance(s.extent, Const) and holds(operator.le, s.extent.value, 0):
                    below = None
                inner = inner or (isinstance(s, For) and not _runs(s))
            elif isinstance(s, Allocate):
                yield from self.allocate(s.buffer)
                stack.append((None, False, s.buffer, ()))
            elif isinstance(s, AllocateConst):
                yield from self.constant(s)
                stack.append((None, False, s.buffer, ()))
            elif isinstance(s, Annotate) and s.buffer not in self.buffers:
                yield f"an annotation of {s.buffer.name}, which is not declared there"
            stack.extend((k, inner, None, below) for k in reversed(substatements(s)))

    def bind(self, s: For | Let) -> Iterator[str]:
        if s.var in self.bound:
            yield f"{s.var.name} is bound again below its own binding"
        self.bound.add(s.var)
        self.ever_bound.add(s.var)
        if isinstance(s, Let):
            if s.var.dtype != s.value.dtype:
                yield f"{s.var.name} is {s.var.dtype}, its value {s.value.dtype}"
            buffers = self.sources(s.value)
            self.data[s.var] = buffers | {s.var} if buffers else buffers
            if not dtypes.is_float(s.value.dtype):
                self.simplify.bind(s.var, *self.simplify.range(s.value))
            return
        constant = isinstance(s.extent, Const)
        if s.kind not in _KINDS:
            yield f"the loop of {s.var.name} is {s.kind!r}"
        elif s.kind in (VECTORIZED, UNROLLED) and not constant:
            yield f"the loop of {s.var.name} is marked {s.kind} and has no constant extent"
        if not dtypes.is_int(s.var.dtype) or not dtypes.is_int(s.extent.dtype):
            yield f"the loop of {s.var.name} counts in {s.var.dtype} to a {s.extent.dtype}"
        if isinstance(s.extent, Const):
            self.simplify.bind(s.var, 0, s.last)
            self.loops.add(s.var)
        elif dtypes.is_int(s.extent.dtype):
            self.simplify.bind(s.var, 0, max(self.simplify.range(s.extent)[1] - 1, 0))
            if all(x.source in self.inputs for x in post_order(s.extent) if isinstance(x, Load)):
                self.extents[s.var] = s.extent

    def allocate(self, buffer: Buffer) -> Iterator[str]:
        if buffer in self.buffers:
            yield f"the buffer {buffer.name} is allocated twice"
        if buffer.scope not in _SCOPES:
            yield f"the buffer {buffer.name} is allocated in the scope {buffer.scope}"
        self.buffers.add(buffer)

    def constant(self, s: AllocateConst) -> Iterator[str]:
        if s.buffer in self.buffers:
            yield f"the buffer {s.buffer.name} is allocated twice"
        if s.data.size != s.buffer.size or str(s.data.dtype) != _HELD_AS.get(s.buffer.dtype, s.buffer.dtype):
            size = f"{s.data.size} elements of {s.data.dtype}"
            yield f"the constant {s.buffer.name} holds {size}, and its buffer {s.buffer.size} of {s.buffer.dtype}"
        self.buffers.add(s.buffer)
        self.inputs.add(s.buffer)

    def store(self, s: Store, guarded: bool) -> Iterator[str]:
        if s.buffer not in self.buffers:
            yield f"a store to {s.buffer.name}, which is not declared there"
        if s.buffer in self.inputs:
            yield f"a store to {s.buffer.name}, which is an input"
        if s.value.dtype != s.buffer.dtype:
            yield f"{s.value.dtype} is stored in {s.buffer.name}, which is {s.buffer.dtype}"
        yield from self.place(s.buffer, s.indices, guarded)

    def prefetch(self, place: Load) -> Iterator[str]:
        """Problems of an address that is prefetched: it may be beyond its buffer, as nothing is read there."""
        buffer = place.source
        if buffer not in self.buffers:
            yield f"a prefetch from {buffer.name}, which is not declared there"
        if len(place.indices) != buffer.ndim:
            yield f"{buffer.name} has {buffer.ndim} axes, but {len(place.indices)} indices"
        for index in place.indices:
            if not dtypes.is_int(index.dtype):
                yield f"the index {index!r} of {buffer.name} is {index.dtype}"

    def expression(self, root: Expr, guarded: bool) -> Iterator[str]:
        always = always_evaluated(root)
        around = self.conditions
        lazy: _Conditions = around
        for e in post_order(root):
            if isinstance(e, Select) and e.lazy and lazy is not None:
                lazy = (e.cond, lazy)
        for e in post_order(root):
            if isinstance(e, Var) and e not in self.bound:
                where = "used outside of its binding" if e in self.ever_bound else "not bound"
                yield f"the variable {e.name} is {where}"
            if isinstance(e, Load):
                if not isinstance(e.source, Buffer) or e.source not in self.buffers:
                    yield f"a load from {e.source.name}, which is not declared there"
                else:
                    self.conditions = around if e in always else lazy
                    yield from self.place(e.source, e.indices, guarded or e not in always)
                    self.conditions = around
            if e not in self.typed:
                self.typed.add(e)
                yield from _type_problems(e)

    def place(self, buffer: Buffer, indices: tuple[Expr, ...], guarded: bool) -> Iterator[str]:
        if len(indices) != len(buffer.shape):
            yield f"{buffer.name} has {len(buffer.shape)} axes, but {len(indices)} indices"
            return
        for axis, (index, extent) in enumerate(zip(indices, buffer.shape)):
            if not dtypes.is_int(index.dtype):
                yield f"the index {index!r} of {buffer.name} is {index.dtype}"
            if self.conditions is not None and not self.is_kept_within(index, extent):
                self.comes_from_data = True
                yield f"index {axis} of {buffer.name}, {index!r}, comes from data, and nothing keeps it below {extent}"
            if guarded or not self.is_ranged(index):
                continue
            low, high = self.simplify.range(self.simplify(index))
            terms, _ = self.simplify.linear(index)
            exact = all(t in self.loops for t in terms)
            if low >= extent or high < 0 or (exact and (low < 0 or high >= extent)):
                yield f"index {axis} of {buffer.name}, {index!r}, runs from {low} to {high} of {extent}"

    def is_kept_within(self, index: Expr, extent: int) -> bool:
        """False if an index comes from data, has no bounds, and no condition around compares its operands."""
        sources = self.sources(index)
        if not sources:
            return True
        low, high = self.simplify.range(index)
        if low >= 0 and (high < extent or self.simplify.range(self.largest(index))[1] < extent):
            return True
        conditions = self.conditions
        while conditions:
            cond, conditions = conditions
            for e in post_order(cond):
                if isinstance(e, Binary) and e.op in ("<", "<=") and not sources.isdisjoint(self.sources(e)):
                    return True
        return False

    def largest(self, index: Expr) -> Expr:
        """An upper bound of an index, where loops around it run as often as data says."""
        return at_last_iteration(index, self.extents, self.simplify)

    def sources(self, e: Expr) -> frozenset[Buffer | Expr]:
        """The buffers that an expression's value is read from, and the variables that hold such values.

        What decides between two values is not among them, nor what decides which element of a buffer is read.
        """
        sources: set[Buffer | Expr] = set()
        seen: set[Expr] = set()
        stack = [e]
        while stack:
            x = stack.pop()
            if x in seen:
                continue
            seen.add(x)
            if isinstance(x, Load):
                sources |= {x.source} & self.foreign
                continue
            stack.extend(children(x)[1:] if isinstance(x, Select) else children(x))
            if isinstance(x, Var):
                sources |= self.data.get(x, frozenset())
        return frozenset(sources)

    def is_ranged(self, index: Expr) -> bool:
        """True if the ranges of all variables in an index are known: those of loops with a constant extent."""
        return all(e in self.loops for e in post_order(index) if isinstance(e, Var))


def _foreign(f: PrimFunc) -> set[Any]:
    """The inputs, and the buffers filled with values read from them, without comparisons on the way."""
    flows: dict[Any, list[Any]] = {}
    stack: list[Stmt] = [f.body]
    while stack:
        s = stack.pop()
        stack.extend(substatements(s))
        if isinstance(s, Store | Let):
            for source in _copied(s.value):
                flows.setdefault(source, []).append(s.buffer if isinstance(s, Store) else s.var)
    result: set[Any] = set()
    reached: list[Any] = list(f.inputs)
    while reached:
        x = reached.pop()
        if x not in result:
            result.add(x)
            reached.extend(flows.get(x, ()))
    return result


def _copied(value: Expr) -> set[Any]:
    """The buffers and variables whose values a value is made of: not those in its conditions and indices."""
    seen: set[Any] = set()
    stack = [value]
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if isinstance(e, Load):
            seen.add(e.source)
        elif not (isinstance(e, Binary) and e.dtype == "bool"):
            stack.extend(children(e)[1:] if isinstance(e, Select) else children(e))
    return seen


def _runs(s: For) -> bool:
    """True if the loop surely has an iteration."""
    return isinstance(s.extent, Const) and holds(operator.gt, s.extent.value, 0)


def _type_problems(e: Expr) -> Iterator[str]:
    """Errors in the dtypes of one node."""
    if isinstance(e, Binary):
        if e.op in _LOGICAL:
            expected: tuple[str, ...] = ("bool", "bool", "bool")
        elif e.op in _COMPARISONS:
            expected = (e.a.dtype, e.a.dtype, "bool")
        else:
            expected = (e.dtype, e.dtype, e.dtype)
        if (e.a.dtype, e.b.dtype, e.dtype) != expected:
            yield f"{e!r} is {e.dtype} of {e.a.dtype} and {e.b.dtype}"
    elif isinstance(e, Not):
        if e.value.dtype != "bool":
            yield f"{e!r} negates a {e.value.dtype}"
    elif isinstance(e, Select):
        if e.cond.dtype != "bool" or e.then.dtype != e.other.dtype:
            yield f"{e!r} selects from {e.then.dtype} and {e.other.dtype} by a {e.cond.dtype}"
    elif isinstance(e, Const):
        if dtypes.is_int(e.dtype) and not dtypes.int_range(e.dtype)[0] <= e.value <= dtypes.int_range(e.dtype)[1]:
            yield f"the constant {e.value} is no {e.dtype}"
    elif isinstance(e, Reduce):
        yield "a Reduce is left in the nest"
    elif not isinstance(e, Call | Cast | Load | Var):
        yield f"{type(e).__name__} is no expression of a loop nest"
