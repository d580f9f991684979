"""Element types of ONNX that have fewer bits than those of Relay: their values are held in wider ones.

An int4 is held as int8, a float8 as float32: every value of the narrow type is one of the wide type, so that what moves, compares
or widens elements needs nothing else. What makes elements of a narrow type rounds, wraps or limits them to its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...deferred import np


@dataclass(frozen=True)
class Narrow:
    """A narrow element type.

    Attributes:
        name: ONNX's name of it.
        storage_dtype: the dtype that holds its values.
        bits: its width.
        mantissa: of floats, the bits behind the point; None for integers.
        least: of floats, the exponent of the smallest normal number.
        largest: the largest finite value.
        beyond: of floats, the result of numbers above the largest value that are not limited to it.
        signed_zero: of floats, whether there is a -0.
    """

    name: str
    storage_dtype: str
    bits: int
    mantissa: int | None = None
    least: int = 0
    largest: float = 0
    beyond: float = float("nan")
    signed_zero: bool = True

    @property
    def is_float(self) -> bool:
        """True for floating point."""
        return self.mantissa is not None

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest of integers."""
        if self.storage_dtype == "uint8":
            return 0, (1 << self.bits) - 1
        return -(1 << self.bits - 1), (1 << self.bits - 1) - 1


NARROW = {
    17: Narrow("float8e4m3fn", "float32", 8, 3, -6, 448.0),
    18: Narrow("float8e4m3fnuz", "float32", 8, 3, -7, 240.0, signed_zero=False),
    19: Narrow("float8e5m2", "float32", 8, 2, -14, 57344.0, float("inf")),
    20: Narrow("float8e5m2fnuz", "float32", 8, 2, -15, 57344.0, signed_zero=False),
    21: Narrow("uint4", "uint8", 4),
    22: Narrow("int4", "int8", 4),
    23: Narrow("float4e2m1", "float32", 4, 1, 0, 6.0),
    24: Narrow("float8e8m0", "float32", 8, 0, -127, 2.0**127),
    25: Narrow("uint2", "uint8", 2),
    26: Narrow("int2", "int8", 2),
}
"""The narrow types by their number in TensorProto.DataType."""


BY_NAME = {n.name: n for n in NARROW.values()}


def decoded(raw: Any, narrow: Narrow, count: int) -> np.ndarray:
    """The first elements of packed ones, the lowest bits of each byte first, in the type that holds them."""
    codes = np.frombuffer(raw, "uint8")
    if narrow.bits < 8:
        shifts = np.arange(0, 8, narrow.bits, dtype="uint8")
        codes = ((codes[:, None] >> shifts) & ((1 << narrow.bits) - 1)).reshape(-1)
    return _values(narrow)[codes[:count]]


def _values(narrow: Narrow) -> np.ndarray:
    """The value of each code."""
    codes = np.arange(1 << narrow.bits)
    if narrow.mantissa is None:
        return np.where(codes > narrow.range[1], codes - len(codes), codes).astype(narrow.storage_dtype)
    if narrow.mantissa == 0:
        return np.where(codes == len(codes) - 1, np.nan, 2.0 ** (codes + narrow.least)).astype(narrow.storage_dtype)
    sign, size = codes >> narrow.bits - 1, codes & (len(codes) // 2 - 1)
    exponent, fraction = size >> narrow.mantissa, size & (1 << narrow.mantissa) - 1
    normal = (1 + fraction / (1 << narrow.mantissa)) * 2.0 ** (exponent - 1 + narrow.least)
    table = np.where(exponent == 0, fraction * 2.0 ** (narrow.least - narrow.mantissa), normal)
    table = np.where(table > narrow.largest, np.where(fraction == 0, narrow.beyond, np.nan), table)
    table = np.where(sign == 1, -table, table)
    if not narrow.signed_zero:
        table[len(codes) // 2] = np.nan
    return table.astype(narrow.storage_dtype)


def with_element_types(schema: Any, inputs: Sequence[Any], results: list[Any]) -> list[Any]:
    """The outputs of a node, marked as of a narrow type where the schema gives them the type of an input that is."""
    if schema is None or not any(v is not None and v.narrow for v in inputs):
        return results
    narrow_types = {
        schema.inputs[min(i, len(schema.inputs) - 1)].type_str: v.narrow
        for i, v in enumerate(inputs)
        if v is not None and v.narrow
    }
    types = [schema.outputs[min(i, len(schema.outputs) - 1)].type_str for i in range(len(results))]
    return [
        replace(v, narrow=narrow_types[t])
        if v is not None and t in narrow_types and v.dtype == narrow_types[t].storage_dtype
        else v
        for v, t in zip(results, types, strict=True)
    ]
