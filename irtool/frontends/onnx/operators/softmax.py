"""Softmax and its relatives: along an axis, or, before opset 13, over all axes from `axis` on as one."""

from __future__ import annotations

import math

from ..arithmetic import scalar
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value


@onnx_operator("Softmax", "LogSoftmax", "Hardmax")
class Softmax(OnnxOperator):
    """Softmax, its logarithm, or 1 where the first largest element is."""

    @since(1, 11)
    def over_all(self, x: Value, *, axis: int = 1) -> Result:
        axis = axis if axis == x.rank else x.axis(axis)
        if axis == x.rank - 1:
            return self._along(x, axis)
        if axis == 0:
            flat = x.call("reshape", newshape=[1, -1])
        else:
            count = [x.extent(a, "the data of a softmax over several axes") for a in range(axis, x.rank)]
            flat = x.call("reshape", newshape=[-1, math.prod(count)])
        return self._along(flat, 1).call("reshape_like", x)

    @since(13)
    def along_axis(self, x: Value, *, axis: int = -1) -> Result:
        return self._along(x, x.axis(axis))

    def _along(self, x: Value, axis: int) -> Value:
        if self.node.key.op_type != "Hardmax":
            return x.call("nn.softmax" if self.node.key.op_type == "Softmax" else "nn.log_softmax", axis=axis)
        if 0 in x.shape:
            return x
        largest = x.call("argmax", axis=[axis])
        one, zero = scalar(1, x.dtype), scalar(0, x.dtype)
        depth = x.extent(axis, "the data of Hardmax")
        return largest.call("one_hot", one, zero, depth=depth, axis=axis, dtype=x.dtype)
