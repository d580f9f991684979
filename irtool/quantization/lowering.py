"""`--precision int8`: the entry of a build in 8 bits, its weights constants again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..diagnostics import UsageError
from ..driver.precision import Calibrated, Calibration, Lowered, Progress
from ..infer import infer_types
from ..ir import Function, Module
from ..passes.core.bind import bind_params
from .mistakes import WrongQuantization
from .options import QuantizeOptions
from .prepare import prepare
from .quantizing import quantize, split_samples

OPTIONS = QuantizeOptions(report=False, seed=1)
"""Random inputs begin at seed 1: the error is measured on that of seed 0, which calibrates nothing."""


def lower_to_int8(
    module: Module, entries: Sequence[str], calibration: Calibration, progress: Progress | None = None
) -> Lowered:
    """A module, its weights bound, with its entry in the form `qdq`, its calibration, and the samples for its error.

    A part of the given samples finds no range, so that it can measure. Raises what `quantize` raises, and UsageError for
    several entries: calibration data are of one.
    """
    if len(entries) != 1:
        listed = ", ".join("@" + e for e in entries)
        raise UsageError(f"precision int8 is for one entry, and there are {listed}", code=WrongQuantization)
    (entry,) = entries
    data: Calibration = calibration
    checked: Sequence[Sequence[Any]] = ()
    held_out = 0
    if not isinstance(calibration, str):
        prepared = prepare(module, None, entry)
        function = prepared.functions[entry]
        assert isinstance(function, Function)
        split = split_samples(function, prepared, calibration, OPTIONS)
        names = [p.name for p in function.params]
        data = [dict(zip(names, values, strict=True)) for values in split.ranges]
        checked, held_out = split.checked, split.held_out
    quantized = quantize(module, None, data, OPTIONS, entry=entry, progress=progress)
    whole = infer_types(bind_params(quantized.module, quantized.params, entry))
    seed = OPTIONS.seed if isinstance(calibration, str) else None
    calibrated = Calibrated(quantized.report.samples, seed, dict(quantized.report.left), held_out)

    def worst() -> list[tuple[str, float]]:
        """The layers' own ratios on the calibration samples: each layer's error is that of its own rounding."""
        report = quantize(module, None, data, replace(OPTIONS, report=True), entry=entry).report
        return [(row.name, float(row.own_snr or 0.0)) for row in report.worst_first]

    return Lowered(whole, calibrated, checked, worst)
