"""Products of matrices."""

from __future__ import annotations

import math
from typing import ClassVar

from ....deferred import np
from ...onnx.arithmetic import cast
from ...onnx.value import Value, apply
from ..activations import activated, activation_name
from ..operator import EIGHT_BITS, FLOATS, Operand, Result, TfliteOperator, tflite_operator
from ..quantities import (
    activation_range,
    number,
    offset,
    require_scalar,
    rescaled,
    rescaled_once,
    scale_of,
    stored,
    zero_of,
)
from ..wide import wide_rescaled
from .convolution import offset_weights, real_weights, sum_dtype


@tflite_operator("FULLY_CONNECTED")
class FullyConnected(TfliteOperator):
    """A dense layer with weights `(units, depth)`."""

    types: ClassVar[tuple[str, ...]] = (*FLOATS, *EIGHT_BITS, "int16")

    def convert(
        self,
        x: Operand,
        w: Operand,
        bias: Operand | None = None,
        *,
        fused_activation_function: int,
        weights_format: int = 0,
        keep_num_dims: bool = False,
        asymmetric_quantize_inputs: bool = False,
        quantized_bias_type: int = 0,
    ) -> Result:
        if weights_format:
            raise self.refuse(f"weights_format={weights_format}")
        if w.rank != 2 or not w.shape[1] or math.prod(x.shape) % w.shape[1]:
            raise self.damaged(f"data of the shape {x.shape} and weights of the shape {w.shape}")
        units, depth = w.shape
        rows = math.prod(x.shape) // depth
        flat = x.value if x.shape == (rows, depth) else x.call("reshape", newshape=[rows, depth])
        form = [*x.shape[:-1], units] if keep_num_dims else [rows, units]
        if x.q is None or not self.is_quantized:
            y = flat.call("nn.dense", real_weights(w), units=units)
            y = y if bias is None else y.call("nn.bias_add", bias.value, axis=1)
            y = activated(y, fused_activation_function)
            return y if form == [rows, units] else y.call("reshape", newshape=form)
        sums = self._sums(flat, x, w, sum_dtype(x, bias))
        if bias is not None:
            sums = apply("nn.bias_add", sums, cast(bias.value, sums.dtype), axis=1)
        factors = self._factors(x, w)
        dtype = self.outputs[0].dtype
        low, high = activation_range(activation_name(fused_activation_function), self.out_q, dtype)
        y = stored(rescaled_once(sums, factors, 1), self.out_q, dtype, low, high)
        return y if form == [rows, units] else y.call("reshape", newshape=form)

    def _factors(self, x: Operand, w: Operand) -> list[float]:
        """The factors of the units, in float64; the product of two single scales is rounded to float32 in between, as the kernels do."""
        assert w.q is not None
        own = require_scalar(x).scales[0]
        if w.q.is_scalar:
            return [float(np.float32(own * w.q.scales[0])) / scale_of(self.out_q)] * w.shape[0]
        return [float(own) * float(s) / scale_of(self.out_q) for s in w.q.scales]

    def _sums(self, flat: Value, x: Operand, w: Operand, dtype: str) -> Value:
        if w.q is None:
            raise self.damaged("its weights have no scale")
        if x.dtype == "int16":
            return apply("nn.dense", cast(flat, dtype), cast(w.value, dtype), units=w.shape[0], out_dtype=dtype)
        one = Value.constant(np.float32(1))
        zeros = number(zero_of(require_scalar(x))), number(int(w.q.zeros[0]))
        return apply("qnn.dense", flat, w.value, *zeros, one, one, units=w.shape[0], out_dtype="int32")


def centred(x: Operand, w: Operand) -> Value:
    """The sums of the products of rows with the rows of weights, without the zero point of the first, in int32."""
    one = Value.constant(np.float32(1))
    zeros = number(zero_of(require_scalar(x))), number(0)
    return apply("qnn.dense", x.value, w.value, *zeros, one, one, units=w.shape[0], out_dtype="int32")


@tflite_operator("BATCH_MATMUL")
class BatchMatMul(TfliteOperator):
    """Products of matrices, all axes but the last two broadcast."""

    types: ClassVar[tuple[str, ...]] = ("float32", *EIGHT_BITS, "int16")

    def convert(
        self,
        a: Operand,
        b: Operand,
        *,
        adj_x: bool = False,
        adj_y: bool = False,
        asymmetric_quantize_inputs: bool = False,
    ) -> Result:
        left, right = a.shape, b.shape
        if min(len(left), len(right)) < 2:
            raise self.damaged(f"operands of the shapes {left} and {right}")
        batch = tuple(np.broadcast_shapes(left[:-2], right[:-2]))
        quantized = a.q is not None and self.is_quantized
        wide = "int64" if a.dtype == "int16" else "int32"
        x = cast(offset(a), wide) if quantized else a.value
        y = cast(offset_weights(b), wide) if quantized else real_weights(b)
        out = _batched(x, y, batch, adj_x, adj_y, wide if quantized else "float32")
        rows, columns = left[-1 if adj_x else -2], right[-2 if adj_y else -1]
        out = out.call("reshape", newshape=[*batch, rows, columns])
        if not quantized:
            return out
        factor = float(require_scalar(a).scales[0] * require_scalar(b).scales[0] / self.out_q.scales[0])
        if wide == "int64":
            factor = scale_of(require_scalar(a)) * scale_of(require_scalar(b)) / scale_of(self.out_q)
            return stored(wide_rescaled(out, factor), self.out_q, self.outputs[0].dtype)
        return stored(rescaled(out, factor), self.out_q, self.outputs[0].dtype)


def _batched(x: Value, y: Value, batch: tuple[int, ...], adj_x: bool, adj_y: bool, dtype: str) -> Value:
    """The products of two stacks of matrices, one behind the other."""
    count = math.prod(batch)

    def three(v: Value, transposed: bool) -> Value:
        shape = v.extents("an operand of a product")
        target = (*batch, *shape[-2:])
        v = v if shape == target else v.call("broadcast_to", shape=target)
        v = v.call("reshape", newshape=[count, *shape[-2:]])
        return v.call("transpose", axes=[0, 2, 1]) if transposed else v

    return apply("nn.batch_matmul", three(x, adj_x), three(y, not adj_y), transpose_b=True, out_dtype=dtype)
