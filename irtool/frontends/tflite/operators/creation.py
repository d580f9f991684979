"""Tensors from numbers."""

from __future__ import annotations

import math

from ....deferred import np
from ...onnx.value import Value, apply
from ..operator import Operand, Result, TfliteOperator, tflite_operator


@tflite_operator("FILL")
class Fill(TfliteOperator):
    """One number in a shape."""

    def convert(self, shape: Operand, value: Operand) -> Result:
        extents = list(shape.ints("the shape of FILL"))
        fill = value.value if not value.rank else value.call("reshape", newshape=[])
        return apply("full", fill, shape=extents, dtype=value.dtype)


@tflite_operator("RANGE")
class Range(TfliteOperator):
    """Numbers from a start to a limit in steps."""

    def convert(self, start: Operand, limit: Operand, delta: Operand) -> Result:
        a, b, s = (v.array("a bound of RANGE").reshape(()) for v in (start, limit, delta))
        if s == 0 or not math.isfinite(float(a) + float(b) + float(s)):
            raise self.damaged(f"numbers from {a} to {b} in steps of {s}")
        count = max(math.ceil(abs(float(b) - float(a)) / abs(float(s))), 0) if (b > a) == (s > 0) else 0
        if count > 1 << 26:
            raise self.damaged(f"{count} numbers")
        values = np.empty(count, a.dtype)
        if a.dtype.kind == "f":
            step = a
            for i in range(count):
                values[i] = step
                step = a.dtype.type(step + s)
        else:
            values[:] = int(a) + np.arange(count) * int(s)
        return Value.constant(values)
