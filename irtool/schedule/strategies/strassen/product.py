"""Reductions that are products of matrices with constant weights: dense layers, and convolutions with pixels for rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ....tir.expr import Expr, Load, Var
from ....tir.forms import AnyForm, Reduction
from ....tir.stmt import Buffer
from ...core.affine import moves
from ...core.forms import Loop
from ...core.products import sum_of_products


@dataclass(frozen=True)
class Product:
    """A reduction as a product.

    Attributes:
        form: the reduction. Its stores are the epilogue.
        data: the read of the data in a step.
        weights: the buffer of the weights.
        order: the axes of the weights in the order `filters`, `channel`, `taps`.
        filters: the axis of results that the weights depend on, with its extent.
        channel: the axis of the sum that is halved.
        taps: the other axes of the sum.
        rows: the other axes of results.
    """

    form: Reduction
    data: Load
    weights: Buffer
    order: tuple[int, ...]
    filters: Loop
    channel: Loop
    taps: tuple[Loop, ...]
    rows: tuple[Loop, ...]

    copies: ClassVar[int] = 0
    """No stage before the product becomes unused."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return math.prod(n for _, n in self.rows)

    @property
    def windows(self) -> int:
        """Steps of the sum for each channel."""
        return math.prod(n for _, n in self.taps)

    @property
    def updates(self) -> int:
        """Multiply-adds of the plain product."""
        return self.count * self.filters[1] * self.channel[1] * self.windows

    def with_rows(self, count: int) -> Product:
        """The product for estimates with a number of rows."""
        return replace(self, rows=((self.rows[0][0], count),)) if self.rows else self


def find_product(forms: Sequence[AnyForm], number: int, inputs: Sequence[Buffer]) -> Product | None:
    """The stage as a float32 product whose weights are among the kernel's inputs; None for other stages."""
    r = forms[number]
    product = sum_of_products(r)
    if (
        product is None
        or not isinstance(r, Reduction)
        or {r.acc.dtype, product.a.dtype, product.b.dtype} != {"float32"}
    ):
        return None
    return next((p for p in (_matched(r, *pair) for pair in product.with_weights(inputs)) if p is not None), None)


def _matched(r: Reduction, data: Load, weights: Load) -> Product | None:
    """The product of this data with these weights."""
    extents: dict[Expr, int] = dict((*r.loops, *r.inner))
    axes: dict[Var, int] = {}
    for n, i in enumerate(weights.indices):
        if isinstance(i, Var) and i not in axes and weights.source.shape[n] == extents.get(i):
            axes[i] = n
        elif weights.source.shape[n] != 1:
            return None
    filters = [x for x in r.loops if x[0] in axes]
    if len(filters) != 1 or len(axes) != 1 + len(r.inner) or moves(data, filters[0][0]):
        return None
    windows = {w.tap for w in r.windows}
    channel = max((x for x in r.inner if x[0] not in windows), key=lambda x: x[1], default=None)
    if channel is None or any(not moves(data, v) for v, _ in r.inner):
        return None
    taps = tuple(x for x in r.inner if x is not channel)
    rows = tuple(x for x in r.loops if x is not filters[0])
    order = tuple(axes[v] for v, _ in (filters[0], channel, *taps))
    return Product(r, data, weights.source, order, filters[0], channel, taps, rows)
