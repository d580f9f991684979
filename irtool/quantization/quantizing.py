"""`quantize`: from a network in float32 to one whose convolutions and matrix products are in 8 bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..deferred import np
from ..diagnostics import IrError
from ..driver.precision import INT8, Calibration, Progress, check_calibration
from ..ir import Constant, Expr, Function, Module
from ..passes import run_passes
from ..passes.qdq_insertion.insertion import Insertion, Range
from ..passes.qdq_insertion.operator_roles import PRODUCTS
from ..passes.qdq_insertion.plan import Plan, plan_quantization
from .calibrators import calibrate
from .errors import INTEGERS, measure
from .histogram import Histogram
from .mistakes import NotFinite, NothingToQuantize
from .naming import lift_constants
from .options import QuantizeOptions
from .prepare import prepare
from .report import Report
from .running import runner, with_results
from .samples import held_out, samples_of
from .scalar_zero_points import with_single_zeros


class Quantized(NamedTuple):
    """The result of `quantize`: a module, its weights by parameter name, and a report."""

    module: Module
    params: dict[str, Any]
    report: Report


def quantize(
    module: Module,
    params: Mapping[str, Any] | None = None,
    calibration: Calibration | None = None,
    options: QuantizeOptions | None = None,
    *,
    entry: str = "main",
    progress: Progress | None = None,
) -> Quantized:
    """Quantizes a function of a module after training.

    Weights are int8, symmetric, with a scale for each output channel; activations are 8-bit with one scale and zero point for
    a tensor, from what the network computes for calibration data. docs/quantization.md has the rules.

    Args:
        params: weights by name of a parameter; the other parameters are inputs.
        calibration: arrays by name of an input, each one sample or several along a further axis in front; a list of such; or
            `random`, whose ranges say nothing of real data. There is no default. Errors are measured on samples that no range is
            found from, if there are two or more: every fifth.
        options: see `QuantizeOptions`.
        progress: called with the number of steps that are done and of all.

    Returns the module, its weights (parameters of the entry, in place of `params`), and a report.

    Raises:
        IrError: calibration data that do not fit, nothing to quantize, a layer whose sums may overflow int32, values that are
            not finite.
        UsageError: a wrong option, or no calibration data.
    """
    check_calibration(INT8, calibration)
    assert calibration is not None
    options = options or QuantizeOptions()
    options.check()
    prepared = prepare(module, params, entry)
    function = prepared.functions[entry]
    assert isinstance(function, Function)
    measures = options.report or options.min_snr is not None
    split = split_samples(function, prepared, calibration, options, measures)
    samples, checked = split.ranges, split.checked if measures else []
    plan = plan_quantization(function, options.keep)
    _require_layers(plan, ())
    steps = _Steps(progress, len(samples) + len(checked))
    ranges = find_ranges(prepared, entry, plan, samples, options, steps.next)
    unquantized: tuple[str, ...] = ()
    while True:
        insertion = Insertion(function, plan, [ranges[e] for e in plan.observed], options.dtype)
        report = replace(
            Report.of(plan, insertion, options, len(samples), unquantized), held_out=split.held_out if checked else 0
        )
        if not checked:
            break
        report = report.with_errors(measure(prepared, entry, insertion, checked, options.via, steps.next, options.form))
        worse = report.below(options.min_snr)
        if not worse:
            break
        unquantized += worse
        plan = plan_quantization(function, (*options.keep, *map(re.escape, unquantized)))
        _require_layers(plan, unquantized)
    return Quantized(*finish(prepared, entry, insertion.function, options.form), report)


class Split(NamedTuple):
    """Samples that ranges are found from, those that errors are measured on, and how many of these gave no range."""

    ranges: list[list[Any]]
    checked: list[list[Any]]
    held_out: int


def split_samples(
    function: Function, module: Module, calibration: Calibration, options: QuantizeOptions, measures: bool = True
) -> Split:
    """The samples of both kinds. Random ones that measure have the next seeds; a single given sample does both.

    Without `measures` every sample gives ranges. Raises IrError as `samples_of` does.
    """
    is_random = isinstance(calibration, str)
    more = options.report_samples if is_random and measures else 0
    samples = samples_of(function, module, calibration, options.samples + more, options.seed)
    if not measures:
        return Split(samples, [], 0)
    out = range(options.samples, len(samples)) if is_random else held_out(len(samples), options.report_samples)
    if not out:
        return Split(samples, samples, 0)
    ranges = [s for n, s in enumerate(samples) if n not in out]
    return Split(ranges, [samples[n] for n in out], len(out))


def find_ranges(
    module: Module,
    entry: str,
    plan: Plan,
    samples: Sequence[Sequence[Any]],
    options: QuantizeOptions,
    step: Callable[[], None],
) -> dict[Expr, Range]:
    """The range of every point that is no constant, from one run of each sample. Raises IrError for NaN and infinity."""
    function = module.functions[entry]
    assert isinstance(function, Function)
    observed = plan.observed
    histograms = [Histogram() for _ in observed]
    run = runner(with_results(module, entry, function, observed), entry, options.via, len(samples))
    for inputs in samples:
        for e, h, values in zip(observed, histograms, run(inputs)):
            if not np.isfinite(values).all():
                raise _not_finite(plan, e)
            h.add(values)
        step()
    ranges = [calibrate(h, options.method, options.percentile, options.dtype) for h in histograms]
    of_root = dict(zip(observed, ranges))
    return {e: of_root[plan.root(e)] for e in plan.points if not isinstance(plan.root(e), Constant)}


def _not_finite(plan: Plan, e: Expr) -> IrError:
    layer_name = next((layer.name for layer in plan.layers if layer.end is e), "")
    takes = next((layer.name for layer in plan.layers if e in layer.operands), "")
    what = f"the result of {layer_name}" if layer_name else f"the operand of {takes}"
    return IrError(f"{what} is NaN or infinite for the calibration data", e.span, code=NotFinite)


def finish(module: Module, entry: str, function: Function, form: str) -> tuple[Module, dict[str, Any]]:
    """The module with the rounded function in integers, or as it is for the form `qdq`, and its weights."""
    result = run_passes(module.with_function(entry, function), "InferType")
    if form == "integer":
        result = run_passes(result, INTEGERS, opt_level=3)
        integers = result.functions[entry]
        assert isinstance(integers, Function)
        result = run_passes(result.with_function(entry, with_single_zeros(integers)), "InferType")
    return lift_constants(result, entry)


def _require_layers(plan: Plan, unquantized: Sequence[str]) -> None:
    """Raises IrError if nothing is quantized."""
    if any(layer.op in PRODUCTS for layer in plan.layers):
        return
    reasons = {n: "its own error is too large" if n in unquantized else r for n, r in plan.left.items()}
    notes = tuple(f"{name} stays in floating point: {reason}" for name, reason in list(reasons.items())[:8])
    message = "there is no layer to quantize: no convolution or matrix product"
    if plan.left:
        message = f"there is no layer to quantize: all {len(plan.left)} convolutions and matrix products stay in floating point"
    raise IrError(message, notes=notes, code=NothingToQuantize)


class _Steps:
    """Counts finished steps."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress = progress
        self.done, self.total = 0, total

    def next(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)
