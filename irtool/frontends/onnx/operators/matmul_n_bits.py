"""Products with weights of a few bits, packed into bytes."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ....ir import Tuple
from ..counts import require_count
from ..mistakes import DamagedModel, UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply


@onnx_operator("com.microsoft.MatMulNBits")
class MatMulNBits(OnnxOperator):
    """`A @ W` with weights of 2, 4 or 8 bits, packed with the first in the low bits, and a scale for each block of a column."""

    @since(1)
    def product(
        self,
        a: Value,
        b: Value,
        scales: Value,
        zero_points: Value | None = None,
        g_idx: Value | None = None,
        bias: Value | None = None,
        *,
        K: int,
        N: int,
        bits: int = 4,
        block_size: int,
        accuracy_level: int = 0,
        weight_prepacked: int = 0,
    ) -> Result:
        if bits not in (2, 4, 8):
            raise IrError(f"weights of {bits} bits have no form in Relay", code=UnsupportedNode)
        if g_idx is not None or weight_prepacked:
            what = "g_idx" if g_idx is not None else "weights that are packed for a processor"
            raise IrError(f"{what} has no form in Relay", code=UnsupportedNode)
        for number, name in ((K, "K"), (N, "N"), (block_size, "block_size")):
            require_count(number, name)
        a.require_rank(1, "the data of MatMulNBits", or_more=True)
        blocks = -(-K // block_size)
        if b.shape != (N, blocks, block_size * bits // 8):
            raise IrError(f"B has the shape {b.shape}, not {(N, blocks, block_size * bits // 8)}", code=DamagedModel)
        dtype = scales.dtype
        weights = unpacked(b, bits).call("cast", dtype=dtype)
        weights = apply("subtract", weights, self._zeros(zero_points, N, blocks, bits, dtype))
        scaled = apply("multiply", weights, scales.call("reshape", newshape=[N, blocks, 1]))
        matrix = scaled.call("reshape", newshape=[N, blocks * block_size])
        if blocks * block_size != K:
            matrix = matrix.call("strided_slice", begin=[0, 0], end=[N, K], strides=[1, 1], axes=None)
        flat = a if a.rank == 2 else a.call("reshape", newshape=[-1, K])
        out = apply("nn.dense", flat, matrix, units=N)
        if bias is not None:
            out = apply("nn.bias_add", out, bias, axis=1)
        if a.rank == 2:
            return out
        return out.call("reshape", newshape=[*a.extents("the data of MatMulNBits")[:-1], N])

    def _zeros(self, zeros: Value | None, columns: int, blocks: int, bits: int, dtype: str) -> Value:
        if zeros is None:
            return Value.constant(np.asarray(1 << (bits - 1), dtype))
        if zeros.dtype == "uint8":
            rows = zeros.call("reshape", newshape=[columns, -1])
            zeros = unpacked(rows, bits).call(
                "strided_slice", begin=[0, 0], end=[columns, blocks], strides=[1, 1], axes=None
            )
        return zeros.call("reshape", newshape=[columns, blocks, 1]).call("cast", dtype=dtype)


def unpacked(x: Value, bits: int) -> Value:
    """Bytes as the numbers of fewer bits that they hold, along the last axis; the first is in the low bits."""
    if bits == 8:
        return x

    def number(value: int) -> Value:
        return Value.constant(np.uint8(value))

    parts = [
        apply("bitwise_and", apply("right_shift", x, number(shift)), number((1 << bits) - 1)).expr
        for shift in range(0, 8, bits)
    ]
    stacked = apply("stack", Tuple(tuple(parts)), axis=x.rank)
    return stacked.call("reshape", newshape=[*x.shape[:-1], -1])
