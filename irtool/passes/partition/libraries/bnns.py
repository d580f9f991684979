"""Basic Neural Network Subroutines (BNNS) of Apple's Accelerate: float32, channels first. Their patterns are in a table."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import Call, Constant, Expr
from ....ops.base import operator_name
from ....ops.dtypes import dtype_of
from ..pattern_tables import read_table
from .library import Composite, Library, always, find_call, tensor


def _composites() -> Sequence[Composite]:
    return [(name, pattern, _dense_of if ".dense" in name else _conv2d_of) for name, pattern in read_table("bnns")]


def _conv2d_of(e: Expr) -> bool:
    while operator_name(e) != "nn.conv2d":
        if not isinstance(e, Call):
            return False  # the bias is the first operand
        if operator_name(e) in ("add", "nn.bias_add") and not _is_bias_of_channels(e):
            return False
        e = e.args[0]
    return _conv2d(find_call(e, "nn.conv2d"))


def _is_bias_of_channels(e: Call) -> bool:
    if not isinstance(e.args[1], Constant):
        return False
    if operator_name(e) == "nn.bias_add":
        return e.attrs.axis == 1
    shape = tensor(e.args[1]).shape
    return len(shape) in (3, 4) and shape[-2:] == (1, 1) and (len(shape) == 3 or shape[0] == 1)


def _conv2d(conv: Call) -> bool:
    data, weight = tensor(conv.args[0]), tensor(conv.args[1])
    if not isinstance(conv.args[1], Constant) or (data.dtype, weight.dtype) != ("float32", "float32"):
        return False
    is_plain = len(data.shape) == len(weight.shape) == 4 and conv.attrs.data_layout == "NCHW"
    return is_plain and conv.attrs.out_dtype in ("", "float32")


def _dense_of(e: Expr) -> bool:
    return _dense(find_call(e, "nn.dense"))


def _dense(dense: Call) -> bool:
    if not isinstance(dense.args[1], Constant) or dense.attrs.out_dtype not in ("", "float32"):
        return False
    return all(dtype_of(a) == "float32" for a in dense.args)


def _is_image(e: Expr) -> bool:
    t = tensor(e)
    return t.dtype == "float32" and len(t.shape) in (3, 4)


def _pool(pool: Call) -> bool:
    return _is_image(pool.args[0]) and pool.attrs.layout == "NCHW"


def _instance_norm(e: Call) -> bool:
    if not _is_image(e.args[0]) or not all(isinstance(a, Constant) for a in e.args[1:]):
        return False
    return e.attrs.axis == len(tensor(e.args[0]).shape) - 3


LIBRARY = Library(
    "bnns",
    _composites,
    {
        "nn.avg_pool2d": _pool,
        "nn.batch_matmul": always,
        "nn.conv2d": _conv2d,
        "nn.dense": _dense,
        "nn.global_avg_pool2d": _pool,
        "nn.global_max_pool2d": _pool,
        "nn.instance_norm": _instance_norm,
        "nn.max_pool2d": _pool,
    },
)
