"""Pooling, in the layout that ONNX has: other layouts are rearranged around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ....ir import Expr
from ....ops.base import call
from ....passes.legalization.rule import LegalizationSite
from ..dtypes import is_float
from ..form import Expansion, form, row
from ..graph import Value
from ..site import OnnxSite
from .conv import PLAIN, attributes, pads_of, relayout, spatial_rank, spread


def in_plain_layout(s: LegalizationSite) -> Expr | None:
    """A pool between rearrangements, or None if its layout is plain."""
    attrs = s.attrs
    plain = PLAIN[spatial_rank(attrs.layout)][0]
    out = attrs.out_layout or attrs.layout
    if attrs.layout == plain and out == plain:
        return None
    pooled = call(
        attrs.name,
        *(relayout(a, attrs.layout, plain) for a in s.args),
        span=s.call.span,
        **attributes(attrs, layout=plain, out_layout=""),
    )
    return relayout(pooled, plain, out)


@dataclass(frozen=True)
class Pool(Expansion):
    """The node of the same meaning."""

    node: str

    direct: ClassVar[bool] = True

    @property
    def becomes(self) -> str:
        return f"`{self.node}`; other layouts: `Transpose` around it"

    def expand(self, s: LegalizationSite) -> Expr | None:
        return in_plain_layout(s)

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        if x.dtype == "bool" and self.node == "MaxPool":
            s.inputs = (s.cast(x, "uint8"),)
            return s.cast(self.emit(s), "bool")
        if x.dtype == "uint64" and self.node == "MaxPool":
            s.refuse("ONNX Runtime has no MaxPool of uint64")
        if x.dtype == "bool":
            s.refuse("a mean of truth values is no number")
        attrs, rank = s.attrs, len(s.tensor(0).shape) - 2
        mean = self.node == "AveragePool"
        pads = pads_of(attrs.padding, rank)
        window, strides, dilations = (spread(v, rank) for v in (attrs.pool_size, attrs.strides, attrs.dilation))
        if not is_float(x.dtype) and (mean or x.dtype not in ("int8", "uint8")):
            return _by_taps(s, x, window, strides, dilations, pads, mean)
        if any(p >= w for p, w in zip(pads, [*window, *window], strict=True)):  # ONNX Runtime has no wider padding
            return _by_taps(s, x, window, strides, dilations, pads, mean)
        if mean and (x.dtype == "float64" or (any(d > 1 for d in dilations) and s.opset < 19)):
            return _by_taps(s, x, window, strides, dilations, pads, mean)
        if attrs.ceil_mode:
            pads = _reaching(s, pads, window, strides, dilations)
            if mean:
                return _by_taps(s, x, window, strides, dilations, pads_of(attrs.padding, rank), mean)
        return s.node(
            self.node,
            x,
            kernel_shape=window,
            strides=strides,
            pads=pads,
            dilations=dilations if any(d > 1 for d in dilations) else None,
            count_include_pad=1 if mean and attrs.count_include_pad else None,
        )


def _reaching(s: OnnxSite, pads: list[int], window: list[int], strides: list[int], dilations: list[int]) -> list[int]:
    """Padding that is as long as the last window of a result whose extent is rounded up needs it."""
    rank, shape, out = len(window), s.spatial(s.tensor(0)), s.spatial(s.out)
    result = list(pads)
    for i in range(rank):
        needed = (out[i] - 1) * strides[i] + (window[i] - 1) * dilations[i] + 1
        result[rank + i] = max(result[rank + i], needed - shape[i] - pads[i])
    return result


def _by_taps(
    s: OnnxSite, x: Value, window: list[int], strides: list[int], dilations: list[int], pads: list[int], mean: bool
) -> Value:
    """The maximum or the mean over the taps of shifted data: for integers, and where windows end beyond the padding."""
    import itertools

    attrs, rank, dtype = s.attrs, len(window), x.dtype
    shape, out = s.spatial(s.tensor(0)), s.spatial(s.out)
    wide = dtype if is_float(dtype) else "int64" if dtype in ("int64", "uint32", "uint64") else "int32"
    x = s.cast(x, wide)
    reach = _reaching(s, pads, window, strides, dilations)
    lowest = 0 if mean else (float("-inf") if is_float(dtype) else int(np.iinfo(dtype).min))
    x = s.node("Pad", x, s.ints(0, 0, *reach[:rank], 0, 0, *reach[rank:]), s.scalar(lowest, x))
    axes = list(range(2, 2 + rank))
    total = None
    for tap in itertools.product(*map(range, window)):
        first = [t * d for t, d in zip(tap, dilations, strict=True)]
        ends = [f + (p - 1) * v + 1 for f, p, v in zip(first, out, strides, strict=True)]
        part = s.slice(x, first, ends, axes, strides)
        total = part if total is None else s.node("Add" if mean else "Max", total, part)
    assert total is not None
    if not mean:
        return s.cast(total, dtype)
    count = np.ones((), "int64")
    for i in range(rank):
        counts = []
        low, high = (-pads[i], shape[i] + pads[rank + i]) if mean and attrs.count_include_pad else (0, shape[i])
        for p in range(out[i]):
            start = p * strides[i] - pads[i]
            counts.append(sum(low <= start + t * dilations[i] < high for t in range(window[i])))
        count = np.multiply.outer(count, np.maximum(np.array(counts, "int64"), 1))
    return s.cast(s.div(s.cast(s.cast(total, dtype), wide), s.constant(count, wide)), dtype)


for _rank in (1, 2, 3):
    row(Pool("MaxPool"), f"nn.max_pool{_rank}d")
    row(Pool("AveragePool"), f"nn.avg_pool{_rank}d")


@dataclass(frozen=True)
class GlobalPool(Expansion):
    """The node of the same meaning."""

    node: str

    direct: ClassVar[bool] = True

    @property
    def becomes(self) -> str:
        return f"`{self.node}`; other layouts: `Transpose` around it"

    def expand(self, s: LegalizationSite) -> Expr | None:
        return in_plain_layout(s)

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        if is_float(x.dtype):
            return s.node(self.node, x)
        if self.node == "GlobalMaxPool":
            return s.reduce("ReduceMax", x, [2, 3], True)
        return s.refuse(f"ONNX has {self.node} for floating point, not for {x.dtype}")


row(GlobalPool("GlobalAveragePool"), "nn.global_avg_pool2d")
row(GlobalPool("GlobalMaxPool"), "nn.global_max_pool2d")


@form(*(f"nn.adaptive_{kind}_pool{rank}d" for kind in ("avg", "max") for rank in (1, 2, 3)))
@dataclass(frozen=True)
class AdaptivePool(Expansion):
    """`AveragePool` or `MaxPool` if all windows are alike, else a reduction of each window, axis by axis, and `Concat`"""

    def expand(self, s: LegalizationSite) -> Expr | None:
        return in_plain_layout(s)

    def emit(self, s: OnnxSite) -> Any:
        (x,) = s.inputs
        kind = "Average" if "avg" in s.attrs.name else "Max"
        shape, out = s.spatial(s.tensor(0)), s.spatial(s.out)
        if not is_float(x.dtype):
            s.refuse(f"ONNX has {kind}Pool for floating point, not for {x.dtype}")
        if 0 not in out and all(n % m == 0 for n, m in zip(shape, out, strict=True)):
            window = [n // m for n, m in zip(shape, out, strict=True)]
            return s.node(f"{kind}Pool", x, kernel_shape=window, strides=window)
        reduction = "ReduceMean" if kind == "Average" else "ReduceMax"
        for axis, (n, m) in enumerate(zip(shape, out, strict=True), 2):
            bounds = [(p * n // m, -(-(p + 1) * n // m)) for p in range(m)]
            parts = [s.reduce(reduction, s.slice(x, [a], [b], [axis]), [axis], True) for a, b in bounds]
            x = s.concat(parts, axis)
        return x
