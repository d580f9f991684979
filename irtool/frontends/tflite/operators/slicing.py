"""Parts of tensors, and tensors in larger ones."""

from __future__ import annotations

from ....deferred import np
from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..quantities import zero_of
from ..room import require_room


@tflite_operator("SLICE")
class Slice(TfliteOperator):
    """A box of elements; a size of -1 stands for the rest."""

    def convert(self, x: Operand, begin: Operand, size: Operand) -> Result:
        sizes = size.ints("the size of SLICE")
        if len(sizes) != x.rank:
            raise self.damaged(f"{len(sizes)} sizes for {x.rank} axes")
        if begin.value.known is None:
            return self._at(x, begin, sizes)
        starts = begin.ints("the begin of SLICE")
        ends = [d if n == -1 else b + n for b, n, d in zip(starts, sizes, x.shape, strict=True)]
        if any(not 0 <= b <= e <= d for b, e, d in zip(starts, ends, x.shape, strict=True)):
            raise self.damaged(f"elements from {starts} to {tuple(ends)} of the shape {x.shape}")
        return x.call("strided_slice", begin=list(starts), end=ends, strides=[1] * x.rank, axes=list(range(x.rank)))

    def _at(self, x: Operand, begin: Operand, sizes: tuple[int, ...]) -> Value:
        """A box whose size is known, at a place that the run computes."""
        y = x.value
        for axis, n in enumerate(sizes):
            if n == -1:
                raise self.refuse("a size of -1 at a place that the run computes")
            if n == x.shape[axis]:
                continue
            require_room(n, what="the places of SLICE")
            start = begin.call("take", Value.constant(np.int32(axis)), axis=0, mode="fast")
            places = apply("add", Value.constant(np.arange(n, dtype=begin.dtype)), start)
            y = y.call("take", places, axis=axis)
        return y


@tflite_operator("STRIDED_SLICE")
class StridedSlice(TfliteOperator):
    """Elements from a begin to an end in steps, as Python's slices; bits of the masks stand for axes."""

    def convert(
        self,
        x: Operand,
        begin: Operand,
        end: Operand,
        strides: Operand,
        *,
        begin_mask: int = 0,
        end_mask: int = 0,
        ellipsis_mask: int = 0,
        new_axis_mask: int = 0,
        shrink_axis_mask: int = 0,
        offset: bool = False,
    ) -> Result:
        starts, ends, steps = (list(v.ints("a bound of STRIDED_SLICE")) for v in (begin, end, strides))
        if offset:
            ends = [b + e for b, e in zip(starts, ends, strict=True)]
        if not len(starts) == len(ends) == len(steps):
            raise self.damaged(f"{len(starts)} begins, {len(ends)} ends, {len(steps)} strides")
        own = len(starts) - bin(new_axis_mask & ((1 << len(starts)) - 1) & ~ellipsis_mask).count("1")
        slices: list[tuple[int, int, int]] = []
        form: list[int | None] = []
        axis = 0
        for i, (b, e, s) in enumerate(zip(starts, ends, steps, strict=True)):
            bit = 1 << i
            if ellipsis_mask & bit:
                for _ in range(x.rank - own + 1):
                    slices.append((0, x.shape[axis], 1))
                    form.append(axis)
                    axis += 1
                continue
            if new_axis_mask & bit:
                form.append(None)
                continue
            if axis >= x.rank:
                raise self.damaged(f"more bounds than the {x.rank} axes")
            if s == 0:
                raise self.damaged("a stride of 0")
            n = x.shape[axis]
            if shrink_axis_mask & bit:
                place = b + n if b < 0 else b
                if not 0 <= place < n:
                    raise self.damaged(f"the element {b} of {n}")
                slices.append((place, place + 1, 1))
            else:
                cut = slice(None if begin_mask & bit else b, None if end_mask & bit else e, s)
                slices.append(cut.indices(n))
                form.append(axis)
            axis += 1
        for a in range(axis, x.rank):
            slices.append((0, x.shape[a], 1))
            form.append(a)
        y = x.value
        lengths = [len(range(*s)) for s in slices]
        for a, (b, e, s) in enumerate(slices):
            if (b, s, lengths[a]) == (0, 1, x.shape[a]):
                continue
            if s > 0:
                y = y.call("strided_slice", begin=[b], end=[max(e, b)], strides=[s], axes=[a])
            else:
                require_room(lengths[a], what="the places of STRIDED_SLICE")
                places = Value.constant(np.arange(b, e, s, dtype=np.int32))
                y = y.call("take", places, axis=a, mode="fast")
        shape = [1 if a is None else lengths[a] for a in form]
        return y if shape == list(y.shape) else y.call("reshape", newshape=shape)


@tflite_operator("PAD", "PADV2")
class Pad(TfliteOperator):
    """Elements around a tensor: zeros, the zero point of a quantized tensor, or a given number."""

    def convert(self, x: Operand, widths: Operand, value: Operand | None = None) -> Result:
        pads = widths.array("the paddings of PAD").tolist()
        if len(pads) != x.rank or any(len(p) != 2 or min(p) < 0 for p in pads):
            raise self.damaged(f"paddings {pads} of a tensor of {x.rank} axes")
        if value is not None:
            fill = value.value if not value.rank else value.call("reshape", newshape=[])
        else:
            number = zero_of(self.out_q) if self.is_quantized and x.q is not None else 0
            fill = Value.constant(np.asarray(number).astype(x.dtype))
        return x.call("nn.pad", fill, pad_width=tuple(tuple(p) for p in pads))


@tflite_operator("MIRROR_PAD")
class MirrorPad(TfliteOperator):
    """Elements around a tensor that are its own, mirrored at the edge, with or without the edge itself."""

    def convert(self, x: Operand, widths: Operand, *, mode: int = 0) -> Result:
        pads = widths.array("the paddings of MIRROR_PAD").tolist()
        y = x.value
        for axis, (before, behind) in enumerate(pads):
            n = x.shape[axis]
            most = n if mode else n - 1
            if not (0 <= before <= most and 0 <= behind <= most):
                raise self.damaged(f"paddings {before} and {behind} of {n} elements")
            if before or behind:
                require_room(before + n + behind, what="the places of MIRROR_PAD")
                first = range(before, 0, -1) if not mode else range(before - 1, -1, -1)
                last = range(n - 2, n - 2 - behind, -1) if not mode else range(n - 1, n - 1 - behind, -1)
                places = np.array([*first, *range(n), *last], np.int32)
                y = y.call("take", Value.constant(places), axis=axis, mode="fast")
        return y


@tflite_operator("DYNAMIC_UPDATE_SLICE")
class DynamicUpdateSlice(TfliteOperator):
    """A tensor with a box of it replaced, at a place that the run may compute."""

    def convert(self, x: Operand, update: Operand, start: Operand) -> Result:
        if update.rank != x.rank or any(u > d for u, d in zip(update.shape, x.shape, strict=True)):
            raise self.damaged(f"a box of the shape {update.shape} in {x.shape}")
        require_room(x.rank, *update.shape, what="the places of DYNAMIC_UPDATE_SLICE")
        most = np.array([d - u for d, u in zip(x.shape, update.shape, strict=True)], start.dtype)
        begin = apply(
            "maximum", apply("minimum", start.value, Value.constant(most)), Value.constant(np.zeros_like(most))
        )
        count = int(np.prod(update.shape))
        box = np.indices(update.shape).reshape(x.rank, count).astype(start.dtype)
        places = apply("add", Value.constant(box), begin.call("reshape", newshape=[x.rank, 1]))
        flat = update.call("reshape", newshape=[count])
        return x.call("scatter_nd", places, flat, mode="update")
