"""`--precision int8`: the entry of a build in 8 bits, its weights constants again."""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnostics import UsageError
from ..driver.precision import Calibrated, Calibration, Progress
from ..infer import infer_types
from ..ir import Module
from ..passes.bind import bind_params
from .mistakes import WrongQuantization
from .options import QuantizeOptions
from .quantizing import quantize

OPTIONS = QuantizeOptions(report=False, seed=1)
"""Random inputs begin at seed 1: the error is measured on that of seed 0, which calibrates nothing."""


def lower_to_int8(
    module: Module, entries: Sequence[str], calibration: Calibration, progress: Progress | None = None
) -> tuple[Module, Calibrated]:
    """A module, its weights bound, with its entry in the form `qdq`, and what calibrated it.

    Raises what `quantize` raises, and UsageError for several entries: calibration data are of one.
    """
    if len(entries) != 1:
        listed = ", ".join("@" + e for e in entries)
        raise UsageError(f"precision int8 is for one entry, and there are {listed}", code=WrongQuantization)
    made = quantize(module, None, calibration, OPTIONS, entry=entries[0], progress=progress)
    whole = infer_types(bind_params(made.module, made.params, entries[0]))
    seed = OPTIONS.seed if isinstance(calibration, str) else None
    return whole, Calibrated(made.report.samples, seed, dict(made.report.left))
