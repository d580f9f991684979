"""Vectors of extents with some known elements: exporters compute them from a tensor's shape to reshape another.

Each extent that is not known is a symbol. A vector carries its elements for a few choices of numbers for the symbols; operators
that only move, add and multiply elements are evaluated on each. An element that is the same for all is known, since two different
polynomials rarely agree at large numbers chosen at random. The first choice is of small numbers: a slice of 30 rows has 30 at all large
ones, and fewer at small ones.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...deferred import np
from ...diagnostics import IrError
from ...infer.infer import infer_expr
from ...interp.evaluate import evaluate_expr
from ...ir import Constant, Expr, TensorType, Var, rewrite
from ...passes.core.constants import array_constant
from ...symbolic_int import symbols_of, value_at
from .value import Value

_CHOICES = 3
_SMALL = (2, 8)
"""The first choice is at least the first number, and less than the second one."""

_LARGEST = 64
"""Elements of a vector that is looked at."""

_EXACT = frozenset(
    ("Add", "Cast", "Concat", "Gather", "Identity", "Mul", "ReduceProd", "Reshape", "Slice", "Split", "Squeeze", "Sub")
    + ("Unsqueeze", "Where")
)
"""Operators whose results are elements of their inputs, or sums and products of these."""


Numbers = tuple[int, ...]
"""An extent, for each choice of numbers for the symbols."""


class Symbols:
    """Numbers that stand for extents which are not known, the same for each axis of a tensor wherever it is asked for."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Expr, int], Numbers] = {}
        self._named: dict[str, Numbers] = {}
        self._drawn = 0

    def of(self, e: Expr, axis: int) -> Numbers:
        """The numbers of an extent."""
        return self._numbers.setdefault((e, axis), ()) or self.put(e, axis, self._draw())

    def extents(self, value: Value) -> list[Numbers]:
        """The numbers of all extents of a tensor."""
        return [self._of_length(d) if isinstance(d, int) else self.of(value.expr, a) for a, d in enumerate(value.shape)]

    def _of_length(self, d: int) -> Numbers:
        """The numbers of an extent that is known, or a formula of lengths."""
        for s in symbols_of([d]):
            self._named[s.name] = self._named.get(s.name) or tuple(max(n * s.step, s.low) for n in self._draw())
        return tuple(int(value_at(d, {s: self._named[s.name][k] for s in symbols_of([d])})) for k in range(_CHOICES))

    def put(self, e: Expr, axis: int, numbers: Numbers) -> Numbers:
        """Sets the numbers of an extent."""
        self._numbers[e, axis] = numbers
        return numbers

    def name(self, e: Expr, axis: int, name: str) -> None:
        """Says that an extent is the one that has this name in the model, as others may be."""
        self._named[name] = self.put(e, axis, self._named.get(name) or self._draw())

    def follow(self, value: Value, inputs: Sequence[Value | None]) -> None:
        """Infers the numbers of a result's extents from those of the operands."""
        t = value.type
        if not isinstance(t, TensorType) or all(
            isinstance(d, int) or (value.expr, a) in self._numbers for a, d in enumerate(t.shape)
        ):
            return
        tensors = [
            i for i in inputs if i is not None and isinstance(i.type, TensorType) and not isinstance(i.expr, Constant)
        ]
        rows = [self.extents(i) for i in tensors]
        shapes: list[Sequence[Any]] = []
        for k in range(_CHOICES):
            types = [TensorType(tuple(n[k] for n in row), i.dtype) for i, row in zip(tensors, rows, strict=True)]
            instead: dict[Expr, Expr] = {
                i.expr: Var("x", tensor_type, None, tensor_type) for i, tensor_type in zip(tensors, types, strict=True)
            }
            try:
                inferred = infer_expr(rewrite(value.expr, lambda old, new: new, instead.get)).checked_type
            except IrError:
                if k == 0:  # too few elements, such as rows of a window: other numbers, of which nothing follows
                    drawn = self._draw()[0]
                    shapes.append([d if isinstance(d, int) else drawn + a for a, d in enumerate(t.shape)])
                    continue
                return  # extents that must be equal, and of which nothing says that they are
            if not isinstance(inferred, TensorType):
                return
            shapes.append(inferred.shape)
        for axis, numbers in enumerate(zip(*shapes, strict=True)):
            if not isinstance(t.shape[axis], int) and all(isinstance(n, int) for n in numbers):
                # Attributes may have formulas of lengths.
                self.put(value.expr, axis, tuple(self._of_length(n)[k] for k, n in enumerate(numbers)))

    def _draw(self) -> Numbers:
        draw = random.Random(self._drawn)
        self._drawn += 1
        large = [draw.randrange(1 << 18, 1 << 19) for _ in range(_CHOICES - 1)]
        return draw.randrange(*_SMALL), *large


def with_extents(shape: Value, of: Value, axes: Sequence[int], symbols: Symbols) -> Value:
    """The vector `shape`, the extents of some axes of a tensor, with their known numbers."""
    every = symbols.extents(of)
    rows = [every[a] for a in axes]
    return _settled(shape, [np.array([r[k] for r in rows], shape.dtype) for k in range(_CHOICES)])


def sampled(op_type: str, value: Value | None, inputs: Sequence[Value | None]) -> Value | None:
    """A result of an operator with known elements, if the inputs have partly known ones."""
    if value is None or value.known is not None or value.samples is not None:
        return value
    partly = [i for i in inputs if i is not None and i.samples is not None]
    if not partly or not _is_exact(op_type, inputs):
        return value
    t = value.type
    if not isinstance(t, TensorType) or not all(isinstance(d, int) for d in t.shape):
        return value
    if any(i is not None and (i.parameter or (i.known is None and i.samples is None)) for i in inputs):
        return value
    samples = []
    for k in range(_CHOICES):
        instead: dict[Expr, Constant] = {i.expr: array_constant(i.samples[k], i.dtype) for i in partly if i.samples}
        body = rewrite(value.expr, lambda old, new: new, instead.get)
        samples.append(np.asarray(evaluate_expr(infer_expr(body))))
    return _settled(value, samples) if samples[0].size <= _LARGEST else value


def _is_exact(op_type: str, inputs: Sequence[Value | None]) -> bool:
    if op_type == "Equal":  # an extent is never negative: so exporters ask for -1
        return all(i is not None and (i.samples is not None or _is_negative(i)) for i in inputs)
    return op_type in _EXACT


def _is_negative(v: Value) -> bool:
    return v.known is not None and bool((v.known < 0).all())


def _settled(value: Value, samples: list[np.ndarray]) -> Value:
    if all(np.array_equal(s, samples[0]) for s in samples):
        return Value.constant(samples[0], value.dtype)
    return replace(value, samples=tuple(samples))


def known_parts(shape: Value) -> list[int | None] | None:
    """The elements of a vector, None for those that are not known; None if nothing is known of it."""
    if shape.known is not None:
        return [int(x) for x in shape.known.ravel()]
    if shape.samples is None:
        return None
    first, *rest = (s.ravel() for s in shape.samples)
    return [int(x) if all(r[k] == x for r in rest) else None for k, x in enumerate(first)]


def refined(value: Value, parts: Sequence[int | None] | None) -> Value:
    """The value, whose extents are computed, with those in its type that are known."""
    if parts is None or len(parts) != value.rank or any(p is not None and p <= 0 for p in parts):
        return value
    if all(p is None or isinstance(d, int) for p, d in zip(parts, value.shape, strict=True)):
        return value
    return value.call("reshape", newshape=[0 if p is None else p for p in parts])
