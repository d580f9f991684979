"""Rows of tables that are quantized in blocks."""

from __future__ import annotations

from .....deferred import np
from .....diagnostics import IrError
from ...blocks import in_blocks, out_of_blocks
from ...mistakes import DamagedModel, UnsupportedNode
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...packed_weights import SCALES, dequantized_blocks, stored_bytes, unpacked_numbers
from ...quantities import Quantities
from ...value import Value, apply
from ..gathering import gathered
from ..matmul_n_bits import unpacked


@onnx_operator("com.microsoft.GatherBlockQuantized")
class GatherBlockQuantized(OnnxOperator):
    """`Gather` of `(data - zero_points) * scales`, both of which hold for blocks along another axis.

    What is gathered is dequantized, not the whole table, which stays as small as it is if it is known. Bytes hold 2, 4 or 8 bits for each element, along the last axis, the first in
    the low bits; their zero points are packed in the same way, and the middle of the range if there are none.
    """

    @since(1)
    def rows(
        self,
        data: Value,
        indices: Value,
        scales: Value,
        zero_points: Value | None = None,
        *,
        bits: int = 4,
        block_size: int = 128,
        gather_axis: int = 0,
        quantize_axis: int = 1,
    ) -> Result:
        if block_size < 16 or block_size & (block_size - 1):
            raise IrError(f"block_size is {block_size}: it is a power of 2, 16 at least", code=DamagedModel)
        along, blocked = data.axis(gather_axis, "gather_axis"), data.axis(quantize_axis, "quantize_axis")
        if scales.rank != data.rank:
            raise IrError(f"scales of {scales.tensor} are not those of blocks of {data.tensor}", code=DamagedModel)
        is_known = data.known is not None and (zero_points is None or zero_points.known is not None)
        is_stored = is_known and scales.dtype in SCALES
        if data.dtype == "uint8" and data.narrow is None:
            self._require_bytes(bits, along, blocked, data.rank)
            if is_stored:
                data, zero_points = self._stored(data, scales, zero_points, bits)
            else:
                data, zero_points = self._bytes(data, scales, zero_points, bits)
        if is_stored:
            table = dequantized_blocks(data, scales, zero_points, blocked, block_size, scales.dtype)
            return gathered(table, indices, along)
        zeros = zero_points if zero_points is not None else Value.constant(np.uint8(0))
        parts = [data, scales, zeros]
        is_apart = along != blocked
        if is_apart:
            parts = [gathered(v, indices, along) if v.rank else v for v in parts]
            blocked += indices.rank - 1 if blocked > along else 0
        x, scale, zero = parts
        split, q = in_blocks(x, Quantities(scale, zero.call("cast", dtype="int32")), blocked, block_size)
        whole = apply("subtract", split.call("cast", dtype="int32"), q.zero).call("cast", dtype=scales.dtype)
        out = out_of_blocks(apply("multiply", whole, q.scale), blocked, x.extents("the rows")[blocked])
        return out if is_apart else gathered(out, indices, along)

    def _require_bytes(self, bits: int, along: int, blocked: int, rank: int) -> None:
        """Raises IrError unless bytes may hold the elements of a table."""
        if bits not in (2, 4, 8):
            raise IrError(f"elements of {bits} bits have no form in Relay", code=UnsupportedNode)
        if along != 0 or blocked != rank - 1:
            raise IrError("bytes are gathered along the first axis and in blocks along the last one", code=DamagedModel)

    def _stored(self, data: Value, scales: Value, zeros: Value | None, bits: int) -> tuple[Value, Value]:
        """The known elements that bytes hold, and their zero points, as they are stored."""
        numbers = unpacked_numbers(data.array("data"), bits)
        points = None
        if zeros is not None:
            points = unpacked_numbers(zeros.array("zero_points"), bits)[..., : scales.extents("the scales")[-1]]
        return stored_bytes(data, numbers, zeros, points, bits)

    def _bytes(self, data: Value, scales: Value, zeros: Value | None, bits: int) -> tuple[Value, Value]:
        """The elements that bytes hold, and their zero points."""
        if zeros is None:
            return unpacked(data, bits), Value.constant(np.uint8(1 << (bits - 1)))
        blocks = scales.extents("the scales")[-1]
        zeros = unpacked(zeros, bits)
        if zeros.shape[-1] != blocks:
            zeros = zeros.call("strided_slice", begin=[0], end=[blocks], strides=[1], axes=[zeros.rank - 1])
        return unpacked(data, bits), zeros
