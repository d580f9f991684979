"""`--precision`: the passes that lower a module's precision, and what that costs in exactness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..diagnostics import UsageError, nearest
from ..ir import Function, Module

EXACT = "float32"

PASSES: dict[str, tuple[tuple[str, str], ...]] = {
    EXACT: (),
    **{
        dtype: (
            ("SimplifyInference", "means and variances of normalisations become operators, which stay in float32"),
            ("FoldConstant", "… and the scales of batch normalisations constants"),
            ("FoldScaleAxis", "… that go into the weights before these are rounded"),
            ("FoldConstant", "scaled weights are computed, in float32"),
            (f'ReducePrecision{{dtype="{dtype}"}}', "operands of products are rounded"),
            ("FoldConstant", "rounded weights are computed: only these are stored"),
        )
        for dtype in ("bfloat16", "float16")
    },
}
"""What runs on a module, its weights bound, before the build pipeline: each pass with the reason for its place."""


def precision_passes(precision: str) -> tuple[str, ...]:
    """The passes for a precision. Raises UsageError for one that there is not."""
    if precision not in PASSES:
        raise UsageError(
            f"precision={precision!r} is not one of {', '.join(PASSES)}", help=nearest(precision, list(PASSES))
        )
    return tuple(text for text, _ in PASSES[precision])


@dataclass(frozen=True)
class PrecisionError:
    """How far results are from those in float32.

    Attributes:
        largest: the largest difference, relative to the largest magnitude of the output that it is in.
        snr: signal-to-noise ratio in dB, the least of the outputs; infinite where all are equal.
    """

    largest: float
    snr: float

    def __str__(self) -> str:
        if not self.largest:
            return "none"
        if not math.isfinite(self.largest):
            return "results that are not finite, or other ones than in float32"
        return f"{self.largest:.2g} of the largest output, signal-to-noise ratio {self.snr:.1f} dB"


def precision_error(exact: Any, reduced: Any) -> PrecisionError:
    """The error of outputs, of arrays or tuples of them. Integers (a class, tokens) count like other numbers."""
    import numpy as np

    from ..ir.values import value_leaves

    largest, snr = 0.0, math.inf
    for a, b in zip(value_leaves(exact), value_leaves(reduced), strict=True):
        x, y = (np.asarray(v).astype("float64") for v in (a, b))
        with np.errstate(all="ignore"):
            gap = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0.0, np.abs(x - y))
        if not gap.any():
            continue
        if not np.isfinite(gap).all():
            return PrecisionError(math.inf, -math.inf)
        x = np.where(np.isfinite(x), x, 0.0)
        largest = max(largest, float(gap.max() / max(np.abs(x).max(), np.finfo("float64").tiny)))
        signal, noise = float(np.sum(x * x)), float(np.sum(gap * gap))
        snr = min(snr, 10 * math.log10(signal / noise) if signal and noise else -math.inf)
    return PrecisionError(largest, snr)


def measure_error(exact: Module, reduced: Module, entry: str) -> PrecisionError:
    """The error of a module against the one that it was made from, both by the interpreter, on random inputs (seed 0)."""
    from ..interp import evaluate
    from ..interp.feeds import random_inputs

    function = exact[entry]
    assert isinstance(function, Function)
    values = random_inputs(function, module=exact)
    return precision_error(evaluate(exact, values, entry=entry), evaluate(reduced, values, entry=entry))
