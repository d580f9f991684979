"""Shapes as values, and tensors in other shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....deferred import np
from ....diagnostics import IrError
from ....ir import Dim, Tuple
from ....ir.dims import is_number
from ..length_values import settled
from ..lengths import elements_of
from ..memory_limit import filled
from ..mistakes import DamagedModel, UnknownExtent
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..partial import known_parts, refined, with_extents
from ..reshaping import newshape, resolved
from ..value import Value, apply


@onnx_operator("Identity")
class Identity(OnnxOperator):
    """The value itself, which may be a sequence."""

    @since(1, 13, 14, 16, 19, 21, 23, 24, 25)
    def same(self, x: Value) -> Result:
        return [x]


@onnx_operator("Shape")
class Shape(OnnxOperator):
    """The extents of a tensor, from axis `start` to `end`; a constant where they are known."""

    @since(1, 13, 15, 19, 21, 23, 24, 25, added={"end": 15, "start": 15})
    def part(self, x: Value, *, start: int = 0, end: int | None = None) -> Result:
        if all(map(is_number, x.shape)):
            return Value.constant(np.array(x.shape, "int64")[start:end])
        axes = range(x.rank)[start:end]
        whole = x.call("shape_of", dtype="int64")
        if len(axes) < x.rank:
            bounds = {"begin": [axes.start], "end": [max(axes.start, axes.stop)], "strides": [1], "axes": [0]}
            whole = whole.call("strided_slice", **bounds)
        extents = [d for d in (x.shape[a] for a in axes) if isinstance(d, int)]
        if len(extents) == len(axes):
            return settled(whole, elements_of(extents))
        return with_extents(whole, x, axes, self.graph.functions.symbols)


@onnx_operator("Reshape")
class Reshape(OnnxOperator):
    """The same elements in another shape; -1 stands for the remaining extent, 0 for the extent of the input."""

    @since(1)
    def by_attribute(self, x: Value, *, shape: tuple[int, ...]) -> Result:
        return x.call("reshape", newshape=_newshape(shape))

    @since(5, 13, 14, 19, 21, 23, 24, 25, added={"allowzero": 14})
    def by_input(self, x: Value, shape: Value, *, allowzero: int = 0) -> Result:
        if not shape.is_determined("the shape of Reshape"):
            return self._partly_known(x, shape)
        newshape = _newshape(shape.ints("the shape of Reshape"))
        if allowzero and 0 in newshape:
            if -1 in newshape:
                raise IrError("a shape with 0 as an extent and -1 as the remaining one is ambiguous", code=DamagedModel)
            return x.call("reshape", newshape=newshape, allowzero=True)
        return x.call("reshape", newshape=newshape)

    def _partly_known(self, x: Value, shape: Value) -> Value:
        """Copied, joined, split or remaining extents; the shape is computed for any other."""
        symbols = self.graph.functions.symbols
        if shape.samples is not None:
            have = symbols.extents(x)
            extents = resolved(have, list(zip(*(tuple(int(n) for n in s) for s in shape.samples), strict=True)))
            codes = None if extents is None else newshape(have, extents)
            if extents is not None and codes is not None:
                value = x.call("reshape", newshape=codes)
                for axis, numbers in enumerate(extents):
                    symbols.put(value.expr, axis, numbers)
                return value
        return refined(x.call("dyn.reshape", shape, newshape=[]), known_parts(shape))


def _newshape(extents: Sequence[int]) -> list[int]:
    """The shape for Relay, whose further codes for parts of shapes, from -2 down, must not occur in it."""
    if any(n < -1 for n in extents) or extents.count(-1) > 1:
        raise IrError(
            f"the shape of Reshape is {list(extents)}: no extent is below 0 but one that is left open by -1",
            code=DamagedModel,
        )
    return list(extents)


@onnx_operator("Size")
class Size(OnnxOperator):
    """The number of elements."""

    @since(1, 13, 19, 21, 23, 24, 25)
    def count(self, x: Value) -> Result:
        if all(map(is_number, x.shape)):
            return Value.constant(np.array(math.prod(x.extents("the data")), "int64"))
        count = x.call("ndarray_size", dtype="int64")
        if not all(isinstance(d, int) for d in x.shape):
            return count
        return settled(count, elements_of([math.prod(x.extents("the data"))]).reshape(()))


@onnx_operator("Flatten")
class Flatten(OnnxOperator):
    """A matrix: the axes before `axis` as its rows, the others as its columns."""

    @since(1, 9, 11, 13, 21, 23, 24, 25)
    def matrix(self, x: Value, *, axis: int = 1) -> Result:
        if not -x.rank <= axis <= x.rank:
            raise IrError(f"axis is {axis}, and the tensor has {x.rank} axes")
        positive_axis = axis + x.rank if axis < 0 else axis
        if all(isinstance(d, int) for d in x.shape):
            extents = x.extents("the data")
            return x.call(
                "reshape",
                newshape=[math.prod(extents[:positive_axis]), math.prod(extents[positive_axis:])],
                allowzero=True,
            )
        before, after = (_product(part) for part in (x.shape[:positive_axis], x.shape[positive_axis:]))
        if before is not None or after is not None:
            return x.call("reshape", newshape=[-1 if n is None else n for n in (before, after)])
        while positive_axis > 1:
            x, positive_axis = x.call("reshape", newshape=[-3, *(0 for _ in x.shape[2:])]), positive_axis - 1
        return x.call("reshape", newshape=[0, -1])


def _product(extents: Sequence[Dim]) -> int | None:
    """The number of elements; None if it is not known."""
    known = [d for d in extents if isinstance(d, int)]
    return math.prod(known) if len(known) == len(extents) else None


@onnx_operator("Squeeze")
class Squeeze(OnnxOperator):
    """The tensor without axes of extent 1: those named, or all."""

    @since(1, 11)
    def by_attribute(self, x: Value, *, axes: tuple[int, ...] | None = None) -> Result:
        if axes is not None:
            return x.call("squeeze", axis=list(x.axes(axes))) if axes else x
        if not all(isinstance(d, int) for d in x.shape):
            raise IrError(f"which axes of {x.tensor} are of extent 1 must be known", code=UnknownExtent)
        ones = [i for i, d in enumerate(x.shape) if d == 1]
        return x.call("squeeze", axis=ones) if ones else x

    @since(13, 21, 23, 24, 25)
    def by_input(self, x: Value, axes: Value | None = None) -> Result:
        return self.by_attribute(x, axes=None if axes is None else axes.ints("the axes of Squeeze"))


@onnx_operator("Unsqueeze")
class Unsqueeze(OnnxOperator):
    """The tensor with new axes of extent 1, at these places of the result."""

    @since(1, 11)
    def by_attribute(self, x: Value, *, axes: tuple[int, ...]) -> Result:
        inserted = sorted(x.axes(axes, rank=x.rank + len(axes)))
        begin = 0
        while begin < len(inserted):
            run = 1
            while begin + run < len(inserted) and inserted[begin + run] == inserted[begin] + run:
                run += 1
            x = x.call("expand_dims", axis=inserted[begin], num_newaxis=run)
            begin += run
        return x

    @since(13, 21, 23, 24, 25)
    def by_input(self, x: Value, axes: Value) -> Result:
        return self.by_attribute(x, axes=axes.ints("the axes of Unsqueeze"))


@onnx_operator("Expand")
class Expand(OnnxOperator):
    """The tensor broadcast against a shape."""

    @since(8, 13)
    def broadcast(self, x: Value, shape: Value) -> Result:
        if not shape.is_determined("the shape of Expand"):
            return self._computed(x, shape)
        target = list(shape.ints("the shape of Expand"))
        target = [1] * (x.rank - len(target)) + target
        have: list[Dim] = [1] * (len(target) - x.rank) + list(x.shape)
        if all(w in (1, h) for w, h in zip(target, have, strict=True)):
            return x if len(have) == x.rank else x.call("expand_dims", axis=0, num_newaxis=len(have) - x.rank)
        if all(isinstance(h, int) for h in have):
            extents = [h if w == 1 else w for w, h in zip(target, have, strict=True)]
            return x.call("broadcast_to", shape=extents)
        ones = Value.constant(1, x.dtype).call("full", shape=target, dtype=x.dtype)
        return x.call("multiply" if x.dtype != "bool" else "logical_and", ones)

    def _computed(self, x: Value, shape: Value) -> Value:
        """Only the extents that the tensor has, and those of the shape that are not 1, count."""
        (count,) = shape.extents("the shape of Expand", rank=1)
        if count < x.rank:
            ones = Value.constant(filled(x.rank - count, 1, "a shape", "int64"))
            shape = apply("concatenate", Tuple((ones.expr, shape.call("cast", dtype="int64").expr)), axis=0)
        elif count > x.rank:
            x = x.call("expand_dims", axis=0, num_newaxis=count - x.rank)
        target, have = shape.call("cast", dtype="int64"), x.call("shape_of", dtype="int64")
        # Not the larger one: beside 1, 0 counts.
        wide = apply("where", target.call("equal", Value.constant(1, "int64")), have, target)
        broadcast = x.call("dyn.broadcast_to", wide, shape=None)
        return refined(broadcast, _broadcast(x.shape, known_parts(shape)))


def _broadcast(have: Sequence[Dim], parts: Sequence[int | None] | None) -> list[int | None] | None:
    """The extents of a tensor broadcast against partly known ones; None for those that are not known."""
    if parts is None or len(parts) != len(have):
        return None
    result: list[int | None] = []
    for h, p in zip(have, parts, strict=True):
        if isinstance(h, int) and h != 1:
            result.append(h)
        else:
            result.append(p if p is not None and (p > 1 or h == 1) else None)
    return result


@onnx_operator("Transpose")
class Transpose(OnnxOperator):
    """The axes in another order, by default in reverse."""

    @since(1, 13, 21, 23, 24, 25)
    def permute(self, x: Value, *, perm: tuple[int, ...] | None = None) -> Result:
        order = tuple(reversed(range(x.rank))) if perm is None else perm
        if sorted(order) != list(range(x.rank)):
            raise IrError(f"perm {list(order)} is no order of {x.rank} axes", code=DamagedModel)
        return x.call("transpose", axes=list(order)) if x.rank else x
