"""Kernels that differ in constants only, replaced by one that reads them.

    y[i] = uint8(x[i] * 0.031 + 12)                              y[i] = uint8(x[i] * numbers[0] + integers[0])
    y[i] = uint8(x[i] * 0.048 + 12)  …                     ⇒     run with [0.031], [0.048], …

The layers of a quantized network have different scales and zero points, and are equal otherwise. So the code of a network with
twelve equal layers is that of one, as in floating point, and is scheduled, written and compiled once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ...tir.expr import Axis, Binary, Call, Const, Expr, Load, Select, children, const, post_order
from ...tir.forms import AnyForm, Map, Reduction, TupleReduction
from ...tir.kernel import Kernel
from ...tir.program import CONSTANT, Program, Slot
from ...tir.stmt import Buffer, Store
from ...tir.vector_target import VectorTarget
from ...tir.walk import rebuild
from ..core.program_rewriter import ProgramRewriter
from ..cost.machine import SHARED_KERNELS

_NUMBERS = {"float32": "numbers", "int32": "integers"}
"""The dtypes of numbers that are read, with the names of their buffers."""

_OPERATIONS = {
    "float32": ("+", "-", "*", "/", "min", "max", "minimum", "maximum"),
    "int32": ("+", "-", "*", "min", "max"),
}
"""The operations whose operands may be read from memory: they vectorize as well for any number."""

Place = tuple[int, int]
"""An operand: the number of an operation, and 0 or 1."""


def share_kernels(program: Program, target: VectorTarget) -> None:
    """Replaces kernels that differ in numbers only by one kernel."""
    groups: dict[Hashable, list[tuple[Kernel, _Skeleton]]] = {}
    for kernel in program.kernels:
        if not kernel.finished and kernel.copies is None and _has_loops(kernel):
            skeleton = _Skeleton(kernel)
            groups.setdefault(skeleton.key, []).append((kernel, skeleton))
    with ProgramRewriter(program) as rewriter:
        for group in groups.values():
            if len(group) >= SHARED_KERNELS:
                _share(group, rewriter)


def _has_loops(kernel: Kernel) -> bool:
    return all(isinstance(f, Map | Reduction | TupleReduction) for f in kernel.stages)


def _share(group: Sequence[tuple[Kernel, _Skeleton]], rewriter: ProgramRewriter) -> None:
    """Runs the first kernel of a group in place of all, with the numbers of each as constants."""
    first, skeleton = group[0]
    different: dict[str, list[Place]] = {d: [] for d in _NUMBERS}
    for place, c in skeleton.numbers.items():
        if len({_exact(s.numbers[place]) for _, s in group}) > 1:
            different[c.dtype].append(place)
    read = {d: positions_of for d, positions_of in different.items() if positions_of}
    buffers = {d: Buffer(_NUMBERS[d], (len(positions_of),), d, finite=True) for d, positions_of in read.items()}
    shared = _reading(first, skeleton, read, buffers).replace(calls=_calls([k.calls for k, _ in group]))
    for kernel, own in group:
        slots = [_constant(buffers[d], [own.numbers[p] for p in positions_of]) for d, positions_of in read.items()]
        added = [rewriter.add(c) for c in slots]
        for s in rewriter.calls[kernel]:
            s.inputs = [*s.inputs, *added]
        rewriter.replace(rewriter.calls[kernel], shared)


def _constant(b: Buffer, numbers: Sequence[Const]) -> Slot:
    import numpy as np

    return Slot(b.name, b.shape, b.dtype, CONSTANT, np.array([c.value for c in numbers], b.dtype))


def _exact(c: Const) -> Hashable:
    """A key that is equal for equal numbers only, with zeros of either sign distinguished."""
    return c.dtype, repr(c.value)


def _calls(several: Sequence[Sequence[str]]) -> list[str]:
    """The operator calls of the kernels as text, without attributes that differ."""
    texts_of = []
    for texts in zip(*several, strict=True):
        parts = [t.split(", ") for t in texts]
        if len({len(w) for w in parts}) > 1:
            texts_of.append(texts[0])
            continue
        same = (set(w) for w in zip(*parts, strict=True))
        texts_of.append(", ".join(w.pop() if len(w) == 1 else f"{w.pop().split('=')[0]}=..." for w in same))
    return texts_of


class _Skeleton:
    """A kernel without its numbers.

    Attributes:
        key: equal for kernels that differ in numbers only.
        numbers: the numbers, by place.
        operations: the number of each operation with such an operand.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.numbers: dict[Place, Const] = {}
        self.operations: dict[Expr, int] = {}
        self._known: dict[Any, int] = {}
        facts = (kernel.num_outputs, kernel.operators, kernel.in_place, kernel.macs)
        facts_of = [self._words(b) for b in (*kernel.params, *kernel.temporaries)]
        self.key: Hashable = (facts, tuple(facts_of), tuple(self._form(f) for f in kernel.stages))

    def _form(self, form: AnyForm) -> Hashable:
        facts: list[Hashable] = [type(form).__name__]
        for f in fields(form):
            value = getattr(form, f.name)
            facts.append(tuple(self._store(s) for s in value) if f.name == "stores" else self._words(value))
        return tuple(facts)

    def _store(self, s: Store) -> Hashable:
        return self._words(s.buffer), self._words(s.indices), self._expression(s.value, _open(s.value))

    def _words(self, x: Any) -> Hashable:
        """A key for any value in a form."""
        if isinstance(x, Expr):
            return self._expression(x, set())
        if isinstance(x, Buffer):
            return self._number(x, lambda: x.facts)
        if isinstance(x, tuple | list):
            return tuple(self._words(k) for k in x)
        if hasattr(x, "__dataclass_fields__"):
            return type(x).__name__, *(self._words(getattr(x, f.name)) for f in fields(x))
        return x

    def _number(self, x: Any, facts: Any) -> Hashable:
        """The number of a known object, or a new number with the object's facts."""
        if x in self._known:
            return "known", self._known[x]
        self._known[x] = len(self._known)
        return "new", facts()

    def _expression(self, root: Expr, opened: set[Expr]) -> Hashable:
        return tuple(self._node(e, e in opened) for e in post_order(root) if not isinstance(e, Const) or e is root)

    def _node(self, e: Expr, is_open: bool) -> Hashable:
        if e in self._known:
            return "known", self._known[e]
        kids = tuple(self._operand(e, n, k, is_open) for n, k in enumerate(children(e)))
        number = self._known[e] = len(self._known)
        if any(k == "number" for k in kids):
            self.operations[e] = number
        return type(e).__name__, e.dtype, self._facts(e), kids

    def _operand(self, e: Expr, n: int, k: Expr, is_open: bool) -> Hashable:
        if not isinstance(k, Const):
            return self._known[k]
        if is_open and isinstance(e, Binary) and e.op in _OPERATIONS.get(k.dtype, ()):
            self.numbers[len(self._known), n] = k
            return "number"
        return _exact(k)

    def _facts(self, e: Expr) -> Hashable:
        """The facts that distinguish a node from others over the same operands."""
        if isinstance(e, Const):
            return _exact(e)
        if isinstance(e, Load):
            return self._words(e.source)
        if isinstance(e, Axis):
            return e.begin, e.extent
        if isinstance(e, Select):
            return e.lazy
        return e.op if isinstance(e, Binary) else e.name if isinstance(e, Call) else None


def _open(root: Expr) -> set[Expr]:
    """The nodes of a value whose operands may be read from memory: not in an index or a condition, and not shared with one."""
    closed = set(post_order(*_closed(root)))
    return {e for e in post_order(root) if e not in closed}


def _closed(root: Expr) -> Iterator[Expr]:
    for e in post_order(root):
        if isinstance(e, Load):
            yield from e.indices
        elif isinstance(e, Select):
            yield e.cond


@dataclass(frozen=True)
class _Reader:
    """A rewriter that reads the numbers at some places from buffers."""

    skeleton: _Skeleton
    replacements: dict[Place, Expr]

    def __call__(self, root: Expr) -> Expr:
        rebuilt: dict[Expr, Expr] = {}
        for e in post_order(root):
            number = self.skeleton.operations.get(e, -1)
            kids = [self.replacements.get((number, n), rebuilt[k]) for n, k in enumerate(children(e))]
            rebuilt[e] = rebuild(e, kids)
        return rebuilt[root]


def _reading(kernel: Kernel, skeleton: _Skeleton, read: dict[str, list[Place]], buffers: dict[str, Buffer]) -> Kernel:
    """The kernel with the numbers at these places read from additional inputs."""
    if not buffers:
        return kernel
    reader = _Reader(
        skeleton, {p: buffers[d][const(n)] for d, positions_of in read.items() for n, p in enumerate(positions_of)}
    )

    def change(form: AnyForm) -> AnyForm:
        assert isinstance(form, Map | Reduction | TupleReduction)
        return replace(form, stores=tuple(Store(s.buffer, s.indices, reader(s.value)) for s in form.stores))

    params = [*kernel.inputs, *buffers.values(), *kernel.outputs]
    return kernel.replace(params=params, stages=[change(f) for f in kernel.stages])
