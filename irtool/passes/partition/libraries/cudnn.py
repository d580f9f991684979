"""cuDNN: convolutions and softmax in floating point."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import Call
from ....ops.dtypes import dtype_of
from ....ops.nn.geometry import pad_amounts
from ...dataflow import is_op, wildcard
from .library import Composite, Library, always, tensor

_FLOATS = ("float16", "float32", "float64")


def _composites() -> Sequence[Composite]:
    conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    return [
        ("cudnn.softmax", is_op("nn.softmax")(wildcard()), lambda e: dtype_of(e.args[0]) in _FLOATS),
        ("cudnn.log_softmax", is_op("nn.log_softmax")(wildcard()), _log_softmax),
        ("cudnn.conv2d_bias_act", is_op("nn.bias_add")(conv2d, wildcard()).optional(is_op("nn.relu")), always),
        ("cudnn.conv2d", conv2d, _conv2d),
    ]


def _log_softmax(e: Call) -> bool:
    data = tensor(e.args[0])
    return data.dtype in _FLOATS and len(data.shape) == 2 and e.attrs.axis in (1, -1)


def _conv2d(e: Call) -> bool:
    (top, bottom), (left, right) = pad_amounts(e.attrs.padding, 2)
    layouts = (e.attrs.data_layout, e.attrs.kernel_layout)
    return dtype_of(e.args[0]) in _FLOATS and layouts == ("NCHW", "OIHW") and (top, left) == (bottom, right)


LIBRARY = Library("cudnn", _composites)
