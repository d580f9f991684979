"""Times of one operator in every engine, and whether they agree."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import irtool
from irtool.benchmark.measure import measure_calls
from irtool.ir.values import value_leaves

from .single import SEED, Single

ROUNDS = 5
"""Measurements of an engine, in turn with the others; the least one counts."""
QUANTILES = np.linspace(0.02, 0.98, 25)
"""The places at which distributions of random numbers are compared."""


@dataclass(frozen=True)
class Row:
    """Seconds of one operator, NaN for torch if it is not installed or lacks the operator.

    Attributes:
        difference: of the result from torch's, relative to the largest element of the latter; NaN without torch.
    """

    single: Single
    compiled: float
    interpreter: float
    torch: float
    difference: float = math.nan

    @property
    def is_compared(self) -> bool:
        """True if torch was measured too."""
        return not math.isnan(self.torch)

    @property
    def ratio(self) -> float:
        """The time over torch's."""
        return self.compiled / self.torch

    @property
    def is_slow(self) -> bool:
        """True if it takes longer than the interpreter, which computes something."""
        return self.compiled > self.interpreter and not self.single.view

    @property
    def is_wrong(self) -> bool:
        """True if the result is not torch's."""
        return self.difference > self.single.tolerance

    def __str__(self) -> str:
        ratios = f"{self.ratio:7.2f} {self.compiled / self.interpreter:12.2f}"
        times = f"{self.compiled * 1e3:9.3f} {self.torch * 1e3:9.3f} {self.interpreter * 1e3:11.3f}"
        slow = "  slower than the interpreter" if self.is_slow else ""
        wrong = f"  differs from torch by {self.difference:.0e}" if self.is_wrong else ""
        return f"{self.single.name:32} {times} {ratios}{slow}{wrong}"


def measure(single: Single, seconds: float = 0.02) -> Row:
    """Measures an operator in every engine, in turn, each for `seconds` a round. A wrong one is not timed."""
    module = single.module()
    inputs = single.inputs()
    artifact = irtool.build(module, target="c{mcpu=native}")
    engines: dict[str, Callable[[], object]] = {
        "compiled": lambda: artifact.run(inputs),
        "interpreter": lambda: irtool.evaluate(module, inputs),
    }
    difference = math.nan
    best = dict.fromkeys(("compiled", "interpreter", "torch"), math.nan)
    if (other := _in_torch(single, inputs)) is not None:
        engines["torch"] = other
        difference = difference_of(single, engines["compiled"](), other())
        if difference > single.tolerance:
            return Row(single, **best, difference=difference)
    for _ in range(ROUNDS):
        for name, run in engines.items():
            best[name] = float(np.fmin(best[name], min(measure_calls(run, seconds, 1).rounds)))
    return Row(single, **best, difference=difference)


def _in_torch(single: Single, inputs: Sequence[np.ndarray]) -> Callable[[], object] | None:
    """The call in torch with one thread, with its gradients by all floats for a gradient; None without torch."""
    call = single.torch
    try:
        import torch
    except ImportError:
        return None
    if call is None:
        return None
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    warnings.filterwarnings("ignore", module="benchmarks.operators")  # quantized and sparse tensors of torch may change
    tensors = [torch.from_numpy(np.asarray(v)) for v in inputs]
    floats = [x.requires_grad_() for x in tensors if single.gradient and x.is_floating_point()]

    def run() -> object:
        if not single.gradient:
            with torch.no_grad():
                return call(torch, torch.nn.functional, *tensors)
        result = call(torch, torch.nn.functional, *tensors)
        return (result.detach(), torch.autograd.grad(result, floats, torch.ones_like(result)))

    return run


def difference_of(single: Single, actual: object, expected: object) -> float:
    """The largest difference over all tensors of a result, relative to the largest element of each.

    Gradients by arguments that hold no floats, which torch does not have, are left out.
    """
    worst = 0.0
    actual_leaves, expected_leaves = (
        [np.asarray(leaf) for leaf in value_leaves(result)] for result in (actual, expected)
    )
    if single.gradient:
        actual_leaves = [v for v in actual_leaves if v.dtype.kind == "f"]
    for value, reference in zip(actual_leaves, expected_leaves, strict=True):
        if value.shape != reference.shape:
            return math.inf
        value, reference = (v.astype("float64") for v in (value, reference))
        if single.random:
            value, reference = (np.quantile(v, QUANTILES) for v in (value, reference))
        finite = np.isfinite(value) & np.isfinite(reference)
        if not np.array_equal(value[~finite], reference[~finite], equal_nan=True):
            return math.inf
        apart, sizes = np.abs(value[finite] - reference[finite]), np.abs(reference[finite])
        worst = max(worst, float(apart.max(initial=0) / max(sizes.max(initial=0), 1e-6)))
    return worst
