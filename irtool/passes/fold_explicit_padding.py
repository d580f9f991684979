"""FoldExplicitPadding: padding in front of convolutions and pools becomes their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import or_
from typing import Any

from ..deferred import np
from ..ir import Call, Constant, Expr, Function, Module
from ..ops.base import operators
from .core.base import FunctionPass, register_pass
from .core.constants import same_scalar, single_value
from .core.context import PassContext
from .core.rule_table import RuleTable
from .dataflow import PatternMatch, RewriteRule, is_op, rewrite_patterns, wildcard


@register_pass("FoldExplicitPadding", level=0, required=("InferType",))
@dataclass(frozen=True)
class FoldExplicitPadding(FunctionPass):
    """Folds `nn.pad` into the convolution or pool that reads its result.

    ::

        nn.conv2d(nn.pad(%x, 0, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w)   ⇒   nn.conv2d(%x, %w, padding=[1, 1, 1, 1])

    The padding must be along spatial axes only, with the operator's own padding value: zero for convolutions and average
    pools, the least number for max pools, the input's zero point for quantized convolutions. An average pool with padding of
    its own that it does not count is left alone.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite_patterns((_rule(tuple(_ABSORBED.keys())),), function, module)


Absorb = Callable[[Call, Call], Any]
"""`absorb(call, pad)`: the attributes of a call of what `pad` makes, with its padding added to their own; None if they do not
go together. The value that `pad` pads with is a constant of one element."""

_ABSORBED: RuleTable[str, Absorb] = RuleTable(__name__, "the padding absorbed by")


def absorbs_padding(*names: str) -> Callable[[Absorb], Absorb]:
    """Decorator: files how calls of operators take over the padding of their first argument."""
    return _ABSORBED.file(*names)


@lru_cache(maxsize=1)
def _rule(names: tuple[str, ...]) -> RewriteRule:
    """Calls of these operators on a result of `nn.pad`."""
    x = wildcard()
    pad = is_op("nn.pad")(x, wildcard())

    def replace_padding(before: Expr, after: Expr, match: PatternMatch) -> Expr:
        assert isinstance(after, Call)
        padding = match[pad]
        assert isinstance(padding, Call)
        folded = _folded(after, padding)
        return (
            after
            if folded is None
            else Call(after.op, (match[x], *after.args[1:]), folded, after.type_args, after.span)
        )

    users = (is_op(n)(pad, *(wildcard() for _ in range(operators.get(n).arity - 1))) for n in names)
    return RewriteRule(reduce(or_, users), replace_padding)


def _folded(e: Call, pad: Call) -> Any:
    absorb = _ABSORBED.find(e.op_name)
    assert absorb is not None
    return absorb(e, pad) if single_value(pad.args[1]) is not None else None


def _pads_with(pad: Call, value: float) -> bool:
    return pad.attrs.pad_mode == "constant" and single_value(pad.args[1]) == value


@absorbs_padding("nn.conv1d", "nn.conv2d", "nn.conv3d")
def _into_convolution(e: Call, pad: Call) -> Any:
    return _with_padding(e, pad, e.attrs.data_layout) if _pads_with(pad, 0) else None


@absorbs_padding("qnn.conv2d")
def _into_quantized_convolution(e: Call, pad: Call) -> Any:
    return _with_padding(e, pad, e.attrs.data_layout) if same_scalar(e.args[2], pad.args[1]) else None


@absorbs_padding("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def _into_max_pool(e: Call, pad: Call) -> Any:
    fill = pad.args[1]
    assert isinstance(fill, Constant)
    return _with_padding(e, pad, e.attrs.layout) if _pads_with(pad, _least(fill.dtype)) else None


@absorbs_padding("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def _into_average_pool(e: Call, pad: Call) -> Any:
    if not _pads_with(pad, 0) or (not e.attrs.count_include_pad and any(p != 0 for p in e.attrs.padding)):
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
