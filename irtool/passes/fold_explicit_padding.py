"""FoldExplicitPadding: padding in front of convolutions and pools becomes their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..deferred import np
from ..ir import Call, Constant, Expr, Function, Module
from .base import FunctionPass, register_pass
from .constants import same_scalar, single_value
from .context import PassContext
from .dataflow import DFPattern, Match, Rule, is_op, rewrite_patterns, wildcard


@register_pass("FoldExplicitPadding", level=0, required=("InferType",))
@dataclass(frozen=True)
class FoldExplicitPadding(FunctionPass):
    """Folds `nn.pad` into the convolution or pool behind it.

    ::

        nn.conv2d(nn.pad(%x, 0, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w)   ⇒   nn.conv2d(%x, %w, padding=[1, 1, 1, 1])

    The padding must be along spatial axes only, with the value that the operator pads with itself: zero for convolutions
    and average pools, the least number for max pools, the input's zero point for quantized convolutions. An average pool
    that pads itself, but does not count its own padding, is left alone.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite_patterns((_rule(),), function, module)


_CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
_MAX_POOLS = ("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
_AVG_POOLS = ("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")


@lru_cache(maxsize=1)
def _rule() -> Rule:
    x, weight, pad_value = wildcard(), wildcard(), wildcard()
    pad = is_op("nn.pad")(x, pad_value)
    parameters = tuple(wildcard() for _ in range(4))
    conv = _any_of(_CONVOLUTIONS)(pad, weight)
    quantized = is_op("qnn.conv2d")(pad, weight, *parameters)
    pool = _any_of(_MAX_POOLS + _AVG_POOLS)(pad)

    def replace_padding(before: Expr, after: Expr, match: Match) -> Expr:
        assert isinstance(after, Call)
        padding = match[pad]
        assert isinstance(padding, Call)
        folded = _folded(after, padding)
        return (
            after
            if folded is None
            else Call(after.op, (match[x], *after.args[1:]), folded, after.type_args, after.span)
        )

    return Rule(conv | quantized | pool, replace_padding)


def _any_of(names: tuple[str, ...]) -> DFPattern:
    pattern = is_op(names[0])
    for name in names[1:]:
        pattern = pattern | is_op(name)
    return pattern


def _folded(e: Call, pad: Call) -> Any:
    """The attributes of `e` with the padding of `pad` added to its own; None if they do not go together."""
    name = e.op.name  # type: ignore[attr-defined]  # the callee is an operator
    fill = pad.args[1]
    value = single_value(fill)
    if value is None or not isinstance(fill, Constant):
        return None
    if name == "qnn.conv2d":
        return _with_padding(e, pad, e.attrs.data_layout) if same_scalar(e.args[2], fill) else None
    if pad.attrs.pad_mode != "constant":
        return None
    if name in _CONVOLUTIONS:
        return _with_padding(e, pad, e.attrs.data_layout) if value == 0 else None
    if name in _MAX_POOLS:
        return _with_padding(e, pad, e.attrs.layout) if value == _least(fill.dtype) else None
    if value != 0 or (not e.attrs.count_include_pad and any(p != 0 for p in e.attrs.padding)):
        return None
    folded = _with_padding(e, pad, e.attrs.layout)
    return None if folded is None else replace(folded, count_include_pad=True)


def _with_padding(e: Call, pad: Call, layout: str) -> Any:
    widths = pad.attrs.pad_width
    if len(layout) != len(widths):
        return None
    spatial = [w for axis, w in zip(layout, widths, strict=True) if axis in "DHW"]
    if any(n != 0 for axis, w in zip(layout, widths, strict=True) if axis not in "DHW" for n in w):
        return None
    explicit = [w[side] for side in range(2) for w in spatial]
    if len(explicit) != len(e.attrs.padding):
        return None
    return replace(e.attrs, padding=tuple(a + b for a, b in zip(explicit, e.attrs.padding, strict=True)))


def _least(dtype: str) -> float | int:
    """The least finite number of that type."""
    if dtype == "bfloat16":
        return -float.fromhex("0x1.fep+127")
    kind = np.dtype(dtype)
    return 0 if kind.kind == "b" else np.finfo(kind).min.item() if kind.kind == "f" else int(np.iinfo(kind).min)
