"""Products with weights of a few bits, packed into bytes."""

from __future__ import annotations

from ....deferred import np
from ....diagnostics import IrError
from ....ir import Tuple
from ....passes.core.constants import to_array
from ..counts import require_count
from ..mistakes import DamagedModel, UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..packed_weights import SCALES, stored, stored_bytes, unpacked_numbers
from ..value import Value, apply


@onnx_operator("com.microsoft.MatMulNBits")
class MatMulNBits(OnnxOperator):
    """`A @ W` with weights of 2, 4 or 8 bits, packed with the first in the low bits, and a scale for each block of a column.

    Known weights stay as small as they are (those of 2 bits take 4): without zero points they are signed numbers.
    """

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
        matrix = self._packed(b, scales, zero_points, K, bits, block_size)
        if matrix is None:
            matrix = self._computed(b, scales, zero_points, K, bits, block_size)
        flat = a if a.rank == 2 else a.call("reshape", newshape=[-1, K])
        out = apply("nn.dense", flat, matrix, units=N)
        if bias is not None:
            out = apply("nn.bias_add", out, bias, axis=1)
        if a.rank == 2:
            return out
        return out.call("reshape", newshape=[*a.extents("the data of MatMulNBits")[:-1], N])

    def _packed(self, b: Value, scales: Value, zeros: Value | None, k: int, bits: int, size: int) -> Value | None:
        """The weights `(N, K)` as they are stored; None if they, or zero points, are computed, or zero points are fractions."""
        if b.known is None or b.dtype != "uint8" or scales.dtype not in SCALES or size * bits % 8:
            return None
        columns, blocks, _ = b.extents("B", 3)
        numbers = unpacked_numbers(b.known, bits).reshape(columns, blocks * size)[:, :k]
        points = _zero_points(zeros, columns, blocks, bits) if zeros is not None else None
        if zeros is not None and points is None:
            return None
        data, zero = stored_bytes(b, numbers, zeros, points, bits)
        scale = scales
        if tuple(scales.shape) != (columns, blocks):
            if scales.known is not None and scales.known.size == columns * blocks:
                scale = stored(scales, scales.known.reshape(columns, blocks), scales.dtype)
            else:
                scale = scales.call("reshape", newshape=[columns, blocks])
        return apply("qnn.dequantize_blocks", data, scale, zero, axis=1, block_size=size, out_dtype=scales.dtype)

    def _computed(self, b: Value, scales: Value, zeros: Value | None, k: int, bits: int, size: int) -> Value:
        """The weights `(N, K)` of bytes that the program computes."""
        columns, blocks, _ = b.extents("B", 3)
        dtype = scales.dtype
        weights = unpacked(b, bits).call("cast", dtype=dtype)
        weights = apply("subtract", weights, self._zeros(zeros, columns, blocks, bits, dtype))
        scaled = apply("multiply", weights, scales.call("reshape", newshape=[columns, blocks, 1]))
        matrix = scaled.call("reshape", newshape=[columns, blocks * size])
        if blocks * size == k:
            return matrix
        return matrix.call("strided_slice", begin=[0, 0], end=[columns, k], strides=[1, 1], axes=None)

    def _zeros(self, zeros: Value | None, columns: int, blocks: int, bits: int, dtype: str) -> Value:
        if zeros is None:
            return Value.constant(np.asarray(1 << (bits - 1), dtype))
        if zeros.dtype == "uint8":
            rows = zeros.call("reshape", newshape=[columns, -1])
            zeros = unpacked(rows, bits).call(
                "strided_slice", begin=[0, 0], end=[columns, blocks], strides=[1, 1], axes=None
            )
        return zeros.call("reshape", newshape=[columns, blocks, 1]).call("cast", dtype=dtype)


def _zero_points(zeros: Value, columns: int, blocks: int, bits: int) -> np.ndarray | None:
    """Known zero points as unsigned numbers of so many bits, `(columns, blocks)`; None for others."""
    if zeros.known is None:
        return None
    if zeros.dtype == "uint8":
        rows = zeros.known.reshape(-1)
        if rows.size != columns * -(-blocks * bits // 8):
            raise IrError(
                f"zero_points has the shape {zeros.shape}, for {columns} x {blocks} blocks", code=DamagedModel
            )
        return unpacked_numbers(rows.reshape(columns, -1), bits)[:, :blocks]
    points = np.asarray(to_array(zeros.as_constant().expr), "float64")  # type: ignore[arg-type]  # its elements are known
    is_number = (points >= 0) & (points < 1 << bits) & (points == np.floor(points))
    if points.size != columns * blocks or not is_number.all():
        return None
    return points.reshape(columns, blocks).astype(np.uint8)


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
