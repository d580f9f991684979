"""The Arm Compute Library: float32 and uint8, batches of one, channels last."""

from __future__ import annotations

from collections.abc import Sequence

from ....deferred import np
from ....ir import Call, Constant
from ....ops.dtypes import dtype_of
from ...dataflow import DFPattern, is_constant, is_expr, is_op, wildcard
from .library import Composite, Library, always, biased, find_call, is_depthwise, tensor


def _composites() -> Sequence[Composite]:
    relu = is_op("nn.relu")
    padded = is_op("nn.pad")(wildcard(), wildcard()) | wildcard()
    parameters = [is_constant() for _ in range(5)]

    conv2d = is_op("nn.conv2d")(padded, is_constant()).optional(biased).optional(relu)
    qnn_conv2d = _requantized(is_op("qnn.conv2d")(padded, *parameters).optional(biased).optional(relu))
    dense = is_op("nn.dense")(wildcard(), is_constant()).optional(biased)
    qnn_dense = _requantized(is_op("qnn.dense")(wildcard(), *parameters).optional(biased))
    wide = is_op("cast")(wildcard())
    average = is_op("cast")(is_op("nn.avg_pool2d")(wide) | is_op("nn.global_avg_pool2d")(wide))
    squares = is_op("power")(wildcard(), is_expr(Constant(np.array(2, "float32"))))
    l2_pool = is_op("sqrt")(is_op("nn.avg_pool2d")(squares))
    return [
        ("arm_compute_lib.conv2d", conv2d, lambda e: _conv2d(find_call(e, "nn.conv2d"))),
        ("arm_compute_lib.qnn_conv2d", qnn_conv2d, _qnn_conv2d),
        ("arm_compute_lib.dense", dense, lambda e: _dense(find_call(e, "nn.dense"))),
        ("arm_compute_lib.qnn_dense", qnn_dense, _qnn_dense),
        ("arm_compute_lib.avg_pool2d", average, _quantized_average),
        ("arm_compute_lib.l2_pool2d", l2_pool, lambda e: _avg_pool2d(e.args[0])),
    ]


def _requantized(y: DFPattern) -> DFPattern:
    return is_op("qnn.requantize")(y, wildcard(), wildcard(), is_constant(), is_constant())


def _convolution(conv: Call, kind: str, out_dtypes: Sequence[str]) -> bool:
    data, weight, attrs = tensor(conv.args[0]), tensor(conv.args[1]), conv.attrs
    if attrs.data_layout != "NHWC" or attrs.out_dtype not in out_dtypes or (data.dtype, weight.dtype) != (kind, kind):
        return False
    if len(data.shape) != 4 or data.shape[0] != 1 or len(weight.shape) != 4:
        return False
    if is_depthwise(conv):
        return tuple(weight.shape[:2]) in ((3, 3), (5, 5)) and tuple(attrs.strides) in ((1, 1), (2, 2))
    return attrs.groups == 1


def _conv2d(conv: Call) -> bool:
    return _convolution(conv, "float32", ("float32", ""))


def _qnn_conv2d(e: Call) -> bool:
    return e.attrs.out_dtype == "uint8" and _convolution(find_call(e, "qnn.conv2d"), "uint8", ("int32", ""))


def _dense(dense: Call) -> bool:
    return all(dtype_of(a) == "float32" for a in dense.args) and dense.attrs.out_dtype in ("float32", "")


def _qnn_dense(e: Call) -> bool:
    dense = find_call(e, "qnn.dense")
    dtypes = (dtype_of(dense.args[0]), dtype_of(dense.args[1]), dense.attrs.out_dtype, e.attrs.out_dtype)
    return dtypes == ("uint8", "uint8", "int32", "uint8")


def _is_dense_window(pool: Call) -> bool:
    return pool.attrs.layout == "NHWC" and tuple(getattr(pool.attrs, "dilation", (1, 1))) == (1, 1)


def _avg_pool2d(pool: Call, kind: str = "float32") -> bool:
    return dtype_of(pool.args[0]) == kind and _is_dense_window(pool)


def _quantized_average(e: Call) -> bool:
    pool = e.args[0]
    assert isinstance(pool, Call)
    return e.attrs.dtype == "uint8" and _avg_pool2d(pool, "int32")


def _max_pool2d(pool: Call) -> bool:
    return dtype_of(pool.args[0]) in ("float32", "uint8") and _is_dense_window(pool)


def _floats(e: Call) -> bool:
    return all(dtype_of(a) == "float32" for a in e.args)


LIBRARY = Library(
    "arm_compute_lib",
    _composites,
    {
        "add": _floats,
        "maximum": _floats,
        "nn.avg_pool2d": _avg_pool2d,
        "nn.conv2d": _conv2d,
        "nn.dense": _dense,
        "nn.global_avg_pool2d": _avg_pool2d,
        "nn.global_max_pool2d": _max_pool2d,
        "nn.max_pool2d": _max_pool2d,
        "qnn.add": lambda e: all(dtype_of(a) == "uint8" for a in e.args[:2]),
        "reshape": always,
    },
    'ConvertLayout{desired_layouts={"nn.conv2d": ["NHWC", "OHWI"], "qnn.conv2d": ["NHWC", "OHWI"]}},FoldConstant',
)
