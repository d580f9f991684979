"""Changes of shape, and shapes as values."""

from __future__ import annotations

import math

from ....deferred import np
from ....ir import Tuple
from ...onnx.value import Value, apply
from ..activations import activated
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..quantities import require_scalar, rounded, zero_of


@tflite_operator("RESHAPE")
class Reshape(TfliteOperator):
    """The elements in another shape, from the second input, the attribute, or the type of the output."""

    def convert(self, x: Operand, shape: Operand | None = None, *, new_shape: tuple[int, ...] = ()) -> Result:
        if shape is not None and shape.value.known is not None:
            extents = tuple(int(d) for d in shape.array("the shape of RESHAPE").ravel())
        elif shape is not None:
            raise self.refuse("a shape that the run computes")
        else:
            extents = tuple(new_shape) or self.outputs[0].shape
        if extents == (0,) and math.prod(x.shape) == 1:
            extents = ()
        return x.call("reshape", newshape=resolved(self, x.shape, extents))


def resolved(operator: TfliteOperator, shape: tuple[int, ...], extents: tuple[int, ...]) -> list[int]:
    """The extents with a number in the place of -1. Raises IrError for another number of elements."""
    count, known = math.prod(shape), math.prod(d for d in extents if d != -1)
    if extents.count(-1) > 1 or any(d < -1 for d in extents) or (-1 in extents and (not known or count % known)):
        raise operator.damaged(f"{shape} in the shape {extents}")
    result = [count // known if d == -1 else d for d in extents]
    if math.prod(result) != count:
        raise operator.damaged(f"{shape} in the shape {extents}")
    return result


@tflite_operator("SQUEEZE")
class Squeeze(TfliteOperator):
    """The tensor without axes of one element."""

    def convert(self, x: Operand, *, squeeze_dims: tuple[int, ...] = ()) -> Result:
        axes = x.value.axes(squeeze_dims, "squeeze_dims") if squeeze_dims else range(x.rank)
        removed = {a for a in axes if x.shape[a] == 1 or squeeze_dims}
        if any(x.shape[a] != 1 for a in removed):
            raise self.damaged(f"axes {squeeze_dims} of the shape {x.shape} have more than one element")
        return x.call("reshape", newshape=[d for a, d in enumerate(x.shape) if a not in removed])


@tflite_operator("EXPAND_DIMS")
class ExpandDims(TfliteOperator):
    """The tensor with an axis of one element."""

    def convert(self, x: Operand, axis: Operand) -> Result:
        place = axis.value.number("the axis of EXPAND_DIMS")
        return x.call("expand_dims", axis=x.value.axis(place, rank=x.rank + 1))


@tflite_operator("SHAPE", "RANK")
class Shape(TfliteOperator):
    """The extents, or their number, as a constant."""

    def convert(self, x: Operand, *, out_type: int = 0) -> Result:
        dtype = self.outputs[0].dtype
        return Value.constant(np.array(x.shape if self.node.op_type == "SHAPE" else x.rank, dtype))


@tflite_operator("TRANSPOSE")
class Transpose(TfliteOperator):
    """The axes in another order."""

    def convert(self, x: Operand, order: Operand) -> Result:
        axes = x.value.axes(order.ints("the order of TRANSPOSE"), "the order of axes")
        if len(axes) != x.rank:
            raise self.damaged(f"an order of {len(axes)} axes for a tensor of {x.rank}")
        return x.call("transpose", axes=list(axes))


@tflite_operator("CONCATENATION")
class Concatenation(TfliteOperator):
    """Tensors behind each other; bytes of other scales in steps of the output."""

    def convert(self, *inputs: Operand, axis: int, fused_activation_function: int = 0) -> Result:
        if not inputs:
            raise self.damaged("it has no inputs")
        place = inputs[0].value.axis(axis)
        parts = [self._in_steps(x) for x in inputs]
        joined = parts[0] if len(parts) == 1 else apply("concatenate", Tuple(tuple(p.expr for p in parts)), axis=place)
        if fused_activation_function and self.is_quantized:
            raise self.refuse(f"fused_activation_function={fused_activation_function} and scales")
        return activated(joined, fused_activation_function)

    def _in_steps(self, x: Operand) -> Value:
        if x.q is None or not self.is_quantized or x.q == self.out_q:
            return x.value
        if x.dtype != "uint8":
            raise self.damaged(f"{x.dtype} of other scales than the output")
        from ..quantities import by_table

        own, out = require_scalar(x), self.out_q
        scale = own.scales[0] * (np.float32(1) / out.scales[0])
        bias = np.float32(-zero_of(own)) * scale

        def element(i: np.ndarray) -> np.ndarray:
            with np.errstate(all="ignore"):
                steps = np.nan_to_num(rounded(i.astype(np.float32) * scale + bias)).astype(np.int64)
            return np.clip(steps + zero_of(out), 0, 255)

        return by_table(x, x.dtype, element)


@tflite_operator("PACK")
class Pack(TfliteOperator):
    """Tensors along a new axis."""

    def convert(self, *inputs: Operand, values_count: int = 0, axis: int = 0) -> Result:
        if not inputs:
            raise self.damaged("it has no inputs")
        place = inputs[0].value.axis(axis, rank=inputs[0].rank + 1)
        return apply("stack", Tuple(tuple(x.value.expr for x in inputs)), axis=place)


@tflite_operator("UNPACK")
class Unpack(TfliteOperator):
    """The slices along an axis, each a tensor without it."""

    def convert(self, x: Operand, *, num: int = 0, axis: int = 0) -> Result:
        place = x.value.axis(axis)
        if x.shape[place] != len(self.outputs):
            raise self.damaged(f"{x.shape[place]} slices and {len(self.outputs)} outputs")
        return [x.call("take", Value.constant(np.int32(i)), axis=place, mode="fast") for i in range(x.shape[place])]


@tflite_operator("SPLIT")
class Split(TfliteOperator):
    """Equal parts along an axis."""

    def convert(self, axis: Operand, x: Operand, *, num_splits: int = 0) -> Result:
        place = x.value.axis(axis.value.number("the axis of SPLIT"))
        count = num_splits or len(self.outputs)
        if count != len(self.outputs) or not count or x.shape[place] % count:
            raise self.damaged(f"{x.shape[place]} elements in {count} equal parts")
        return parts_of(x, [x.shape[place] // count] * count, place)


@tflite_operator("SPLIT_V")
class SplitV(TfliteOperator):
    """Parts of given sizes along an axis; a size of -1 stands for the rest."""

    def convert(self, x: Operand, sizes: Operand, axis: Operand, *, num_splits: int = 0) -> Result:
        place = x.value.axis(axis.value.number("the axis of SPLIT_V"))
        lengths = list(sizes.ints("the sizes of SPLIT_V"))
        if lengths.count(-1) == 1:
            lengths[lengths.index(-1)] = x.shape[place] - sum(lengths) - 1
        if sum(lengths) != x.shape[place] or any(n < 0 for n in lengths):
            raise self.damaged(f"{x.shape[place]} elements in parts of {lengths}")
        return parts_of(x, lengths, place)


def parts_of(x: Operand, lengths: list[int], axis: int) -> list[Value]:
    """The parts of a tensor along an axis."""
    result, start = [], 0
    for n in lengths:
        result.append(x.call("strided_slice", begin=[start], end=[start + n], strides=[1], axes=[axis]))
        start += n
    return result


@tflite_operator("TILE")
class Tile(TfliteOperator):
    """The tensor repeated along its axes."""

    def convert(self, x: Operand, counts: Operand) -> Result:
        repeats = counts.ints("the multiples of TILE")
        if len(repeats) != x.rank or any(n < 0 for n in repeats):
            raise self.damaged(f"multiples {repeats} of a tensor of {x.rank} axes")
        if 0 in repeats:
            return apply("zeros", shape=[d * n for d, n in zip(x.shape, repeats, strict=True)], dtype=x.dtype)
        return x.call("tile", reps=list(repeats))


@tflite_operator("BROADCAST_TO")
class BroadcastTo(TfliteOperator):
    """The tensor in a larger shape."""

    def convert(self, x: Operand, shape: Operand) -> Result:
        return x.call("broadcast_to", shape=list(shape.ints("the shape of BROADCAST_TO")))


@tflite_operator("BROADCAST_ARGS")
class BroadcastArgs(TfliteOperator):
    """The shape that two shapes broadcast to."""

    def convert(self, a: Operand, b: Operand) -> Result:
        shape = np.broadcast_shapes(a.ints("a shape"), b.ints("a shape"))
        return Value.constant(np.array(shape, self.outputs[0].dtype))


@tflite_operator("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
class DepthToSpace(TfliteOperator):
    """Channels as blocks of rows and columns, or the other way."""

    def convert(self, x: Operand, *, block_size: int = 0) -> Result:
        if x.rank != 4 or block_size < 1:
            raise self.damaged(f"blocks of {block_size} in a tensor of the shape {x.shape}")
        n, h, w, c = x.shape
        b = block_size
        if self.node.op_type == "DEPTH_TO_SPACE":
            if c % (b * b):
                raise self.damaged(f"blocks of {b} in {c} channels")
            apart = x.call("reshape", newshape=[n, h, w, b, b, c // (b * b)])
            return apart.call("transpose", axes=[0, 1, 3, 2, 4, 5]).call(
                "reshape", newshape=[n, h * b, w * b, c // (b * b)]
            )
        if h % b or w % b:
            raise self.damaged(f"blocks of {b} in {h} rows and {w} columns")
        apart = x.call("reshape", newshape=[n, h // b, b, w // b, b, c])
        return apart.call("transpose", axes=[0, 1, 3, 2, 4, 5]).call("reshape", newshape=[n, h // b, w // b, b * b * c])


@tflite_operator("SPACE_TO_BATCH_ND")
class SpaceToBatch(TfliteOperator):
    """Blocks of spatial axes as batches, with zeros around; of quantized tensors the zero point."""

    def convert(self, x: Operand, blocks: Operand, pads: Operand) -> Result:
        sizes = list(blocks.ints("the block shape"))
        widths = pads.array("the paddings").tolist()
        fill = float(zero_of(self.out_q)) if self.is_quantized else 0.0
        return x.call("nn.space_to_batch_nd", block_shape=sizes, paddings=widths, pad_value=fill)


@tflite_operator("BATCH_TO_SPACE_ND")
class BatchToSpace(TfliteOperator):
    """Batches as blocks of spatial axes, cut at their edges."""

    def convert(self, x: Operand, blocks: Operand, crops: Operand) -> Result:
        sizes = list(blocks.ints("the block shape"))
        return x.call("nn.batch_to_space_nd", block_shape=sizes, crops=crops.array("the crops").tolist())


@tflite_operator("REVERSE_V2")
class Reverse(TfliteOperator):
    """Axes in the opposite direction."""

    def convert(self, x: Operand, axes: Operand) -> Result:
        y = x.value
        for axis in x.value.axes(axes.ints("the axes of REVERSE_V2")):
            y = y.call("reverse", axis=axis)
        return y


@tflite_operator("REVERSE_SEQUENCE")
class ReverseSequence(TfliteOperator):
    """The first elements of each row in the opposite direction, as many as its length says."""

    def convert(self, x: Operand, lengths: Operand, *, seq_dim: int = 0, batch_dim: int = 0) -> Result:
        return x.call("reverse_sequence", lengths.value, seq_axis=seq_dim, batch_axis=batch_dim)
