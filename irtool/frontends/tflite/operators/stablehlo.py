"""Operators of StableHLO that the schema of TensorFlow Lite has."""

from __future__ import annotations

from typing import ClassVar

from ....deferred import np
from ....ir import Tuple
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..room import require_room

_BINARY = {
    "STABLEHLO_ADD": "add",
    "STABLEHLO_SUBTRACT": "subtract",
    "STABLEHLO_MULTIPLY": "multiply",
    "STABLEHLO_MAXIMUM": "maximum",
    "STABLEHLO_MINIMUM": "minimum",
    "STABLEHLO_POWER": "power",
    "STABLEHLO_SHIFT_LEFT": "left_shift",
}
_UNARY = {
    "STABLEHLO_LOGISTIC": "sigmoid",
    "STABLEHLO_ABS": "abs",
    "STABLEHLO_COSINE": "cos",
    "STABLEHLO_EXPONENTIAL": "exp",
    "STABLEHLO_FLOOR": "floor",
    "STABLEHLO_LOG": "log",
    "STABLEHLO_NEGATE": "negative",
    "STABLEHLO_RSQRT": "rsqrt",
    "STABLEHLO_TANH": "tanh",
}


class _Plain(TfliteOperator):
    """Base of operators without a form for quantized tensors."""

    def _check(self, inputs: object) -> None:
        super()._check(inputs)  # type: ignore[arg-type]  # a sequence of operands
        if self.outputs and self.is_quantized and self.outputs[0].dtype != "int32":
            raise self.refuse(f"elements of {self.outputs[0].dtype} with scales")


@tflite_operator(
    "STABLEHLO_ADD",
    "STABLEHLO_SUBTRACT",
    "STABLEHLO_MULTIPLY",
    "STABLEHLO_MAXIMUM",
    "STABLEHLO_MINIMUM",
    "STABLEHLO_POWER",
    "STABLEHLO_SHIFT_LEFT",
)
class Binary(_Plain):
    """Arithmetic of two tensors of one shape."""

    def convert(self, a: Operand, b: Operand) -> Result:
        return apply(_BINARY[self.node.op_type], a.value, b.value)


@tflite_operator("STABLEHLO_DIVIDE", "STABLEHLO_REMAINDER")
class Quotient(_Plain):
    """Quotients, and remainders with the sign of the dividend; of integers rounded towards zero."""

    def convert(self, a: Operand, b: Operand) -> Result:
        if self.node.op_type == "STABLEHLO_REMAINDER":
            return apply("trunc_mod" if "int" in a.dtype else "mod", a.value, b.value)
        return apply("trunc_divide" if "int" in a.dtype else "divide", a.value, b.value)


@tflite_operator("STABLEHLO_AND", "STABLEHLO_OR")
class Logic(TfliteOperator):
    """Both, or one of both: of truth values or of bits."""

    def convert(self, a: Operand, b: Operand) -> Result:
        word = self.node.op_type.removeprefix("STABLEHLO_").lower()
        return apply(f"{'logical' if a.dtype == 'bool' else 'bitwise'}_{word}", a.value, b.value)


@tflite_operator(
    "STABLEHLO_LOGISTIC",
    "STABLEHLO_ABS",
    "STABLEHLO_COSINE",
    "STABLEHLO_EXPONENTIAL",
    "STABLEHLO_FLOOR",
    "STABLEHLO_LOG",
    "STABLEHLO_NEGATE",
    "STABLEHLO_RSQRT",
    "STABLEHLO_TANH",
)
class Unary(_Plain):
    """A function of each element."""

    def convert(self, x: Operand) -> Result:
        return x.call(_UNARY[self.node.op_type])


@tflite_operator("STABLEHLO_CBRT")
class CubeRoot(_Plain):
    """The cube root, of negative numbers too."""

    types: ClassVar[tuple[str, ...]] = ("float32",)

    def convert(self, x: Operand) -> Result:
        root = x.call("abs").call("power", Value.constant(np.float32(1 / 3)))
        return apply("multiply", x.call("sign"), root)


@tflite_operator("STABLEHLO_SELECT")
class Select(TfliteOperator):
    """One of two elements."""

    def convert(self, condition: Operand, a: Operand, b: Operand) -> Result:
        return apply("where", condition.value, a.value, b.value)


@tflite_operator("STABLEHLO_CLAMP")
class Clamp(TfliteOperator):
    """Elements limited from below and from above."""

    def convert(self, low: Operand, x: Operand, high: Operand) -> Result:
        return apply("minimum", apply("maximum", x.value, low.value), high.value)


@tflite_operator("STABLEHLO_COMPARE")
class Compare(TfliteOperator):
    """A comparison of elements."""

    def convert(self, a: Operand, b: Operand, *, comparison_direction: int = 0, compare_type: int = 0) -> Result:
        names = ("equal", "not_equal", "greater_equal", "greater", "less_equal", "less")
        if not 0 <= comparison_direction < len(names):
            raise self.damaged(f"comparison_direction={comparison_direction}")
        return apply(names[comparison_direction], a.value, b.value)


@tflite_operator("STABLEHLO_CONVERT")
class Convert(TfliteOperator):
    """The elements as another type."""

    def convert(self, x: Operand) -> Result:
        return cast(x.value, self.outputs[0].dtype)


@tflite_operator("STABLEHLO_RESHAPE")
class Reshape(TfliteOperator):
    """The elements in the shape of the output."""

    def convert(self, x: Operand) -> Result:
        return x.call("reshape", newshape=list(self.outputs[0].shape))


@tflite_operator("STABLEHLO_TRANSPOSE")
class Transpose(TfliteOperator):
    """The axes in another order."""

    def convert(self, x: Operand, *, permutation: tuple[int, ...] = ()) -> Result:
        return x.call("transpose", axes=list(x.value.axes(permutation, "permutation")))


@tflite_operator("STABLEHLO_BROADCAST_IN_DIM")
class BroadcastInDim(TfliteOperator):
    """The tensor in a larger shape, its axes at named places."""

    def convert(self, x: Operand, *, broadcast_dimensions: tuple[int, ...] = ()) -> Result:
        shape = list(self.outputs[0].shape)
        if len(broadcast_dimensions) != x.rank or any(not 0 <= a < len(shape) for a in broadcast_dimensions):
            raise self.damaged(f"broadcast_dimensions={broadcast_dimensions} of {x.rank} axes in {len(shape)}")
        spread = [1] * len(shape)
        for axis, d in zip(broadcast_dimensions, x.shape, strict=True):
            spread[axis] = d
        return x.call("reshape", newshape=spread).call("broadcast_to", shape=shape)


@tflite_operator("STABLEHLO_CONCATENATE")
class Concatenate(TfliteOperator):
    """Tensors behind each other."""

    def convert(self, *inputs: Operand, dimension: int = 0) -> Result:
        if not inputs:
            raise self.damaged("it has no inputs")
        return apply("concatenate", Tuple(tuple(x.value.expr for x in inputs)), axis=inputs[0].value.axis(dimension))


@tflite_operator("STABLEHLO_SLICE")
class Slice(TfliteOperator):
    """Elements from a begin to an end in steps."""

    def convert(
        self,
        x: Operand,
        *,
        start_indices: tuple[int, ...] = (),
        limit_indices: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> Result:
        steps = list(strides) or [1] * x.rank
        axes = list(range(x.rank))
        return x.call("strided_slice", begin=list(start_indices), end=list(limit_indices), strides=steps, axes=axes)


@tflite_operator("STABLEHLO_PAD", "DILATE")
class Pad(TfliteOperator):
    """Elements around a tensor, and between those that it has; a negative number cuts some off."""

    def convert(
        self,
        x: Operand,
        first: Operand,
        second: Operand | None = None,
        *,
        edge_padding_low: tuple[int, ...] = (),
        edge_padding_high: tuple[int, ...] = (),
        interior_padding: tuple[int, ...] = (),
    ) -> Result:
        if self.node.op_type == "DILATE":
            if second is None:
                raise self.damaged("it needs a value")
            steps, fill = list(first.ints("the dilations of DILATE")), second
            low = high = [0] * x.rank
        else:
            steps, fill = [n + 1 for n in interior_padding] or [1] * x.rank, first
            low, high = list(edge_padding_low) or [0] * x.rank, list(edge_padding_high) or [0] * x.rank
        if not len(steps) == len(low) == len(high) == x.rank or min(steps, default=1) < 1:
            raise self.damaged(f"paddings {low}, {high}, {steps} of {x.rank} axes")
        value = fill.value if not fill.rank else fill.call("reshape", newshape=[])
        y = x.value
        for axis, step in enumerate(steps):
            y = _apart(y, axis, step, value)
        widths = tuple((max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True))
        y = y.call("nn.pad", value, pad_width=widths) if any(map(any, widths)) else y
        shape = y.extents("a padded tensor")
        begin = [max(-a, 0) for a in low]
        end = [d - max(-b, 0) for d, b in zip(shape, high, strict=True)]
        if any(begin) or end != list(shape):
            y = y.call("strided_slice", begin=begin, end=end, strides=[1] * x.rank, axes=list(range(x.rank)))
        return y


def _apart(x: Value, axis: int, step: int, value: Value) -> Value:
    """The elements of an axis `step` places apart, a number between them."""
    shape = x.extents("a dilated tensor")
    if step == 1 or shape[axis] < 2:
        return x
    wide = [*shape[: axis + 1], 1, *shape[axis + 1 :]]
    pads = tuple((0, step - 1 if i == axis + 1 else 0) for i in range(len(wide)))
    apart = x.call("reshape", newshape=wide).call("nn.pad", value, pad_width=pads)
    flat = apart.call("reshape", newshape=[*shape[:axis], shape[axis] * step, *shape[axis + 1 :]])
    return flat.call("strided_slice", begin=[0], end=[(shape[axis] - 1) * step + 1], strides=[1], axes=[axis])


@tflite_operator("STABLEHLO_IOTA")
class Iota(TfliteOperator):
    """The place of each element along an axis."""

    def convert(self, *, iota_dimension: int = 0) -> Result:
        shape = self.outputs[0].shape
        if not 0 <= iota_dimension < len(shape) or np.prod(shape) > 1 << 26:
            raise self.damaged(f"iota_dimension={iota_dimension} of the shape {shape}")
        row = [1] * len(shape)
        row[iota_dimension] = -1
        places = np.arange(shape[iota_dimension]).astype(self.outputs[0].dtype).reshape(row)
        return Value.constant(np.broadcast_to(places, shape).copy())


@tflite_operator("STABLEHLO_DYNAMIC_SLICE")
class DynamicSlice(TfliteOperator):
    """A box of known size at a place that the run may compute, moved inside of the tensor."""

    def convert(self, x: Operand, *starts: Operand, slice_sizes: tuple[int, ...] = ()) -> Result:
        if len(starts) != x.rank or len(slice_sizes) != x.rank:
            raise self.damaged(f"{len(starts)} begins and {len(slice_sizes)} sizes for {x.rank} axes")
        y = x.value
        for axis, (start, n) in enumerate(zip(starts, slice_sizes, strict=True)):
            require_room(n, what="the places of STABLEHLO_DYNAMIC_SLICE")
            first = start.value if not start.rank else start.call("reshape", newshape=[])
            most, least = (Value.constant(np.asarray(v, start.dtype)) for v in (x.shape[axis] - n, 0))
            first = apply("maximum", apply("minimum", first, most), least)
            places = apply("add", Value.constant(np.arange(n, dtype=start.dtype)), first)
            y = y.call("take", places, axis=axis)
        return y


@tflite_operator("STABLEHLO_COMPOSITE")
class Composite(TfliteOperator):
    """A function with a name, given by its decomposition: a subgraph."""

    folds: ClassVar[bool] = False

    def convert(
        self,
        *inputs: Operand,
        name: bytes | None = None,
        decomposition_subgraph_index: int = 0,
        composite_attributes: tuple[int, ...] = (),
        composite_attributes_format: int = 0,
        version: int = 0,
    ) -> Result:
        return self.graph.converted(decomposition_subgraph_index, [x.value for x in inputs], self.node.place)


@tflite_operator("REDUCE_WINDOW")
class ReduceWindow(TfliteOperator):
    """Sums, products and extremes of windows, without padding."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int32", "int64", "int8", "uint8", "int16", "bool")
    most: ClassVar[int] = 1 << 12
    """Elements of a window."""

    def convert(
        self,
        x: Operand,
        start: Operand,
        window: Operand,
        strides: Operand,
        dilations: Operand,
        *,
        reduce_function: int = 0,
    ) -> Result:
        names = {1: "add", 2: "multiply", 3: "minimum", 4: "maximum", 5: "logical_and", 6: "logical_or"}
        if reduce_function not in names:
            raise self.damaged(f"reduce_function={reduce_function}")
        sizes, steps, gaps = (v.ints("a parameter of REDUCE_WINDOW") for v in (window, strides, dilations))
        if not len(sizes) == len(steps) == len(gaps) == x.rank or min(*sizes, *steps, *gaps) < 1:
            raise self.damaged(f"windows {sizes}, strides {steps}, dilations {gaps} of {x.rank} axes")
        spans = [(k - 1) * g + 1 for k, g in zip(sizes, gaps, strict=True)]
        if any(s > d for s, d in zip(spans, x.shape, strict=True)) or np.prod(sizes) > self.most:
            raise self.damaged(f"windows {sizes} of the shape {x.shape}")
        total = start.value if not start.rank else start.call("reshape", newshape=[])
        axes = list(range(x.rank))
        for place in np.ndindex(*sizes):
            begin = [p * g for p, g in zip(place, gaps, strict=True)]
            end = [d - s + b + 1 for d, s, b in zip(x.shape, spans, begin, strict=True)]
            part = x.call("strided_slice", begin=begin, end=end, strides=list(steps), axes=axes)
            total = apply(names[reduce_function], part, total)
        return total


@tflite_operator(
    "STABLEHLO_CONVOLUTION",
    "STABLEHLO_CUSTOM_CALL",
    "STABLEHLO_REDUCE",
    "STABLEHLO_REDUCE_WINDOW",
    "STABLEHLO_SCATTER",
    "STABLEHLO_GATHER",
    "STABLEHLO_SORT",
    "STABLEHLO_WHILE",
    "STABLEHLO_DOT_GENERAL",
    "STABLEHLO_DYNAMIC_UPDATE_SLICE",
)
class WithoutForm(TfliteOperator):
    """General operators of StableHLO."""

    refusal: ClassVar[str] = (
        "converters write it for delegates only: convert the model with the builtin operators of TensorFlow Lite"
    )
