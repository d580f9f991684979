"""CMSIS-NN: quantized networks in int8 on Cortex-M."""

from __future__ import annotations

from collections.abc import Sequence

from ....deferred import np
from ....ir import Call, Constant, Expr
from ....ops.base import operator_name
from ....ops.dtypes import dtype_of
from ....ops.nn.geometry import pad_amounts
from ...dataflow import DFPattern, is_constant, is_op, wildcard
from .library import Composite, Library, biased, find_call, tensor


def _composites() -> Sequence[Composite]:
    clip = is_op("clip")

    def constants(count: int) -> list[DFPattern]:
        return [is_constant() for _ in range(count)]

    def product(name: str, data: DFPattern) -> DFPattern:
        summed = is_op(name)(data, *constants(5))
        return is_op("qnn.requantize")(summed | biased(summed), *constants(4)).optional(clip)

    def binary(name: str) -> DFPattern:
        return is_op(name)(wildcard(), wildcard(), *constants(6)).optional(clip)

    pad = is_op("nn.pad")(wildcard(), is_constant())
    average = is_op("cast")(is_op("nn.avg_pool2d")(is_op("cast")(wildcard()))).optional(clip)
    softmax = is_op("nn.softmax")(is_op("qnn.dequantize")(wildcard(), *constants(2)))
    return [
        ("cmsis-nn.qnn_conv2d", product("qnn.conv2d", pad), lambda e: _conv2d(e) and _pad_can_be_fused(e)),
        ("cmsis-nn.qnn_conv2d", product("qnn.conv2d", wildcard()), _conv2d),
        ("cmsis-nn.qnn_fully_connected", product("qnn.dense", wildcard()), lambda e: _product(e, "qnn.dense")),
        ("cmsis-nn.qnn_avg_pool2d", average, _avg_pool2d),
        ("cmsis-nn.qnn_max_pool2d", is_op("nn.max_pool2d")(wildcard()).optional(clip), _max_pool2d),
        ("cmsis-nn.qnn_mul", binary("qnn.mul"), lambda e: _binary(find_call(e, "qnn.mul"))),
        ("cmsis-nn.qnn_add", binary("qnn.add"), lambda e: _binary(find_call(e, "qnn.add"))),
        ("cmsis-nn.qnn_softmax", is_op("qnn.quantize")(softmax, *constants(2)), _softmax),
    ]


def _bias(e: Call) -> Call | None:
    """The addition of a bias in front of the requantization."""
    summed = find_call(e, "qnn.requantize").args[0]
    return summed if isinstance(summed, Call) and operator_name(summed) == "nn.bias_add" else None


def _product(e: Call, name: str) -> bool:
    anchor, bias = find_call(e, name), _bias(e)
    dtypes = (dtype_of(anchor.args[0]), dtype_of(anchor.args[1]), anchor.attrs.out_dtype, dtype_of(e))
    if dtypes != ("int8", "int8", "int32", "int8") or (bias is not None and dtype_of(bias.args[1]) != "int32"):
        return False
    return not np.any(_value(anchor.args[3]))  # the weights' zero points


def _conv2d(e: Call) -> bool:
    conv = find_call(e, "qnn.conv2d")
    channels = tensor(conv.args[0]).shape[3]
    outer = tensor(conv.args[1]).shape[conv.attrs.kernel_layout.index("O")]
    is_depthwise = conv.attrs.groups == channels == outer
    return _product(e, "qnn.conv2d") and (not is_depthwise or _bias(e) is not None)


def _pad_can_be_fused(e: Call) -> bool:
    """True if there is at most one element more at the bottom and at the right than at the top and at the left."""
    conv = find_call(e, "qnn.conv2d")
    pad = conv.args[0]
    assert isinstance(pad, Call)
    (top, bottom), (left, right) = pad_amounts(conv.attrs.padding, 2)
    layout = conv.attrs.data_layout
    above, below = pad.attrs.pad_width[layout.index("H")]
    before, behind = pad.attrs.pad_width[layout.index("W")]
    return (bottom + below) - (top + above) in (0, 1) and (right + behind) - (left + before) in (0, 1)


def _pool(pool: Call, data: Expr, result: Expr) -> bool:
    return (
        pool.attrs.layout == "NHWC"
        and tensor(data).shape[0] == 1
        and (dtype_of(data), dtype_of(result)) == ("int8", "int8")
    )


def _avg_pool2d(e: Call) -> bool:
    pool = find_call(e, "nn.avg_pool2d")
    return _pool(pool, find_call(pool.args[0], "cast").args[0], e)


def _max_pool2d(e: Call) -> bool:
    pool = find_call(e, "nn.max_pool2d")
    return _pool(pool, pool.args[0], e)


def _binary(e: Call) -> bool:
    lhs, rhs = e.args[:2]
    scalars = all(isinstance(a, Constant) and not tensor(a).shape for a in (lhs, rhs))
    return (dtype_of(lhs), dtype_of(rhs)) == ("int8", "int8") and not scalars


def _softmax(e: Call) -> bool:
    """True if the result is scaled by 1 / 256 around -128, as in the library."""
    scale, zero = (_value(a) for a in e.args[1:])
    is_scaled = scale.size == zero.size == 1 and (scale.item(), zero.item()) == (1 / 256, -128)
    return is_scaled and e.attrs.out_dtype == "int8" and dtype_of(find_call(e, "qnn.dequantize").args[0]) == "int8"


def _value(e: Expr) -> np.ndarray:
    assert isinstance(e, Constant)
    return np.asarray(e.data)


LIBRARY = Library("cmsis-nn", _composites)
