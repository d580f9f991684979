"""CLML, the machine learning operators of Adreno's OpenCL: channels first."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir import Expr
from ....ops.base import operator_name
from ...dataflow import DFPattern, is_constant, is_op, is_tuple, is_tuple_get_item, wildcard
from .library import Composite, Library, always, biased, find_call, is_depthwise


def _composites() -> Sequence[Composite]:
    conv2d = is_op("nn.conv2d")(wildcard(), is_constant()).optional(biased).optional(_shifted).optional(_normalized)
    conv2d = conv2d.optional(is_tuple_get_item).optional(is_op("nn.relu")).optional(is_op("clip"))
    dense = is_op("nn.dense")(wildcard(), is_constant()).optional(_shifted).optional(biased)
    return [
        ("clml.conv2d", conv2d, _conv2d),
        ("clml.dense", dense, always),
        ("clml.pad", is_op("nn.pad")(wildcard(), wildcard()), always),
        ("clml.concat", is_op("concatenate")(is_tuple()), always),
        ("clml.batch_norm", is_tuple_get_item(_normalized(wildcard())), always),
    ]


def _shifted(y: DFPattern) -> DFPattern:
    return is_op("add")(y, is_constant())


def _normalized(y: DFPattern) -> DFPattern:
    return is_op("nn.batch_norm")(y, *[is_constant() for _ in range(4)])


def _conv2d(e: Expr) -> bool:
    if operator_name(e) == "clip" and (e.attrs.a_min, e.attrs.a_max) != (0, 6):  # type: ignore[attr-defined]  # attributes of the operator that was asked for
        return False
    conv = find_call(e, "nn.conv2d")
    return conv.attrs.data_layout == "NCHW" and (conv.attrs.groups == 1 or is_depthwise(conv))


_ALONE = [
    "add",
    "clip",
    "maximum",
    "minimum",
    "multiply",
    "nn.avg_pool2d",
    "nn.global_avg_pool2d",
    "nn.global_max_pool2d",
    "nn.max_pool2d",
    "nn.relu",
    "nn.softmax",
    "reshape",
    "subtract",
]
LIBRARY = Library(
    "clml",
    _composites,
    dict.fromkeys(_ALONE, always),
    'ConvertLayout{desired_layouts={"nn.conv2d": ["NCHW", "OIHW"]}},FoldConstant',
)
