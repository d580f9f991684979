"""Times of one operator in every engine, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import irtool
from irtool.benchmark.measure import measure_calls
from irtool.ir.values import value_leaves

from .table import Single

ROUNDS = 5
"""Measurements of an engine, in turn with the others; the least one counts."""
TOLERANCE = 1e-3
"""Difference from torch, relative to the largest element, that is an error."""


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
    def is_slow(self) -> bool:
        """True if it takes longer than the interpreter, which computes something."""
        return self.compiled > self.interpreter and not self.single.view

    @property
    def is_wrong(self) -> bool:
        """True if the result is not torch's."""
        return self.difference > TOLERANCE

    def __str__(self) -> str:
        ratios = f"{self.compiled / self.torch:7.2f} {self.compiled / self.interpreter:12.2f}"
        times = f"{self.compiled * 1e3:9.3f} {self.torch * 1e3:9.3f} {self.interpreter * 1e3:11.3f}"
        slow = "  slower than the interpreter" if self.is_slow else ""
        wrong = f"  differs from torch by {self.difference:.0e}" if self.is_wrong else ""
        return f"{self.single.name:28} {times} {ratios}{slow}{wrong}"


def measure(single: Single, seconds: float = 0.02) -> Row:
    """Measures an operator in every engine, in turn, each for `seconds` a round."""
    module = single.module()
    inputs = single.inputs()
    artifact = irtool.build(module, target="c{mcpu=native}")
    engines: dict[str, Callable[[], object]] = {
        "compiled": lambda: artifact.run(inputs),
        "interpreter": lambda: irtool.evaluate(module, inputs),
    }
    difference = math.nan
    if (other := _in_torch(single, inputs)) is not None:
        engines["torch"] = other
        difference = _difference(engines["compiled"](), other())
    best = dict.fromkeys(("compiled", "interpreter", "torch"), math.nan)
    for _ in range(ROUNDS):
        for name, run in engines.items():
            best[name] = float(np.fmin(best[name], min(measure_calls(run, seconds, 1).rounds)))
    return Row(single, **best, difference=difference)


def _in_torch(single: Single, inputs: Sequence[np.ndarray]) -> Callable[[], object] | None:
    """The call in torch with one thread, with its gradients by all arguments for a gradient; None without torch."""
    call = single.torch
    try:
        import torch
    except ImportError:
        return None
    if call is None:
        return None
    torch.set_num_threads(1)
    tensors = [torch.from_numpy(v).requires_grad_(single.gradient) for v in inputs]

    def run() -> object:
        if not single.gradient:
            with torch.no_grad():
                return call(torch, torch.nn.functional, *tensors)
        result = call(torch, torch.nn.functional, *tensors)
        return (result.detach(), torch.autograd.grad(result, tensors, torch.ones_like(result)))

    return run


def _difference(actual: object, expected: object) -> float:
    """The largest difference over all tensors of a result, relative to the largest element of each."""
    worst = 0.0
    results = ([np.asarray(leaf) for leaf in value_leaves(result)] for result in (actual, expected))
    for ours, reference in zip(*results, strict=True):
        if ours.shape != reference.shape:
            return math.inf
        apart = np.abs(ours.astype("float64") - reference)
        worst = max(worst, float(apart.max() / max(np.abs(reference).max(), 1e-6)))
    return worst
