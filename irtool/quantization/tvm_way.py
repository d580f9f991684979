"""Quantization as TVM's `relay.quantize.quantize` does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from ..deferred import np
from ..diagnostics import IrError
from ..driver.precision import INT8, Calibration, Progress, check_calibration
from ..ir import Expr, Function, Module, Var, rewrite, with_function, without_return_type
from ..ir.walk import free_variables
from ..ops.base import is_call_to
from ..passes import run_passes
from ..passes.auto_quantization.annotation import SIMULATED
from ..passes.auto_quantization.scales import rounded_data
from ..passes.core.bind import bind_params
from .errors import Noise
from .mistakes import NotFinite, NothingToQuantize
from .naming import lift_constants
from .options import QuantizeOptions
from .qconfig import QConfig
from .quantizing import Quantized, split_samples
from .report import Report
from .running import runner, with_results
from .tvm_scales import Divergence, Largest

PREREQUISITES = "SimplifyInference,FoldConstant,FoldScaleAxis,CanonicalizeOps,FoldConstant"
"""What `relay.quantize.quantize` runs first, all of it only under `PassContext(opt_level=3)`."""


def quantize_as_tvm(
    module: Module,
    params: Mapping[str, Any] | None = None,
    calibration: Calibration | None = None,
    qconfig: QConfig | None = None,
    *,
    samples: int = 8,
    seed: int = 0,
    via: str = "",
    progress: Progress | None = None,
) -> Quantized:
    """Quantizes `@main` with TVM's passes: `QuantizePartition`, `QuantizeAnnotate`, `QuantizeCalibrate`, `QuantizeRealize`.

    One scale for a tensor, no zero points; where the scales of data come from, `qconfig.calibrate_mode` says. Arguments and
    errors are those of `quantize`; `samples` and `seed` are those of random inputs. The report has the error of the whole network.
    """
    check_calibration(INT8, calibration)
    assert calibration is not None
    q = qconfig or QConfig()
    if params:
        module = bind_params(module, params, "main")
    before = run_passes(module, PREREQUISITES, opt_level=3)
    split = split_samples(_main(before), before, calibration, QuantizeOptions(samples=samples, seed=seed))
    inputs = split.ranges
    annotated = run_passes(
        before,
        [
            ("QuantizePartition", q.options("dtype_input")),
            ("QuantizeAnnotate", q.options("skip_dense_layer", "skip_conv_layers", "debug_enabled_ops")),
        ],
        opt_level=3,
    )
    rounded = rounded_data(_main(annotated))
    if not rounded:
        raise IrError(
            "there is no layer to quantize: no convolution, or all of them are skipped",
            help="skip_conv_layers is [0] and skip_dense_layer True unless --qconfig says otherwise",
            code=NothingToQuantize,
        )
    scales = (
        ()
        if q.calibrate_mode == "global_scale"
        else _scales(annotated, rounded, inputs, q.calibrate_mode, via, progress)
    )
    names = ("nbit_input", "nbit_weight", "nbit_activation", "calibrate_mode", "global_scale", "weight_scale")
    passes: list[tuple[str, dict[str, Any]]] = [("QuantizeCalibrate", {**q.options(*names), "scales": scales})]
    if not q.do_simulation:
        option_names = ("dtype_input", "dtype_weight", "dtype_activation", "nbit_activation", "global_scale")
        passes.append(("QuantizeRealize", q.options(*option_names, "round_for_shift", "rounding")))
    result = run_passes(annotated, [*passes, ("FoldConstant", {})], opt_level=3)
    error = _error(before, result, split.checked[:4])
    report = Report((), {}, len(inputs), q.calibrate_mode, error, split.held_out)
    return Quantized(*lift_constants(result, "main"), report)


def _main(module: Module) -> Function:
    result = module.functions.get("main")
    if not isinstance(result, Function):
        raise IrError("there is no function @main to quantize")
    return result


def _scales(
    module: Module,
    rounded: Sequence[Expr],
    samples: Sequence[Sequence[Any]],
    mode: str,
    via: str,
    progress: Progress | None,
) -> tuple[float, ...]:
    """The scale of each rounded tensor, from the values that it has without rounding."""
    memo: dict[Expr, Expr] = {}
    rewrite(_main(module).body, _unrounded, memo=memo)
    results = [memo[e] for e in rounded]
    used = set(free_variables(*results))
    function = with_function(_main(module), params=tuple(p for p in _main(module).params if p in used or _is_input(p)))
    run = runner(with_results(module, "main", without_return_type(function), results), "main", via, len(samples))
    total, done = len(samples) * (2 if mode == "kl_divergence" else 1), 0

    def values_of_each(take: Callable[[int, np.ndarray], None]) -> None:
        nonlocal done
        for inputs in samples:
            for n, values in enumerate(run(inputs)):
                if not np.isfinite(values).all():
                    raise IrError(
                        "a rounded tensor is NaN or infinite for the calibration data", rounded[n].span, code=NotFinite
                    )
                take(n, np.asarray(values))
            done += 1
            if progress is not None:
                progress(done, total)

    if mode == "percentile":
        sizes = [prod(e.known_type.static_shape) for e in rounded]  # type: ignore[attr-defined]  # tensors
        above = [Largest(len(samples) * size) for size in sizes]
        values_of_each(lambda n, x: above[n].add(x))
        return tuple(a.scale for a in above)
    peaks = [0.0] * len(rounded)

    def widen(n: int, x: np.ndarray) -> None:
        peaks[n] = max(peaks[n], float(np.abs(x).max(initial=0)))

    values_of_each(widen)
    histograms = [Divergence(p) for p in peaks]
    values_of_each(lambda n, x: histograms[n].add(x))
    return tuple(h.scale for h in histograms)


def _is_input(p: Var) -> bool:
    return p.name not in ("dom_scale", "clip_min", "clip_max")


def _unrounded(old: Expr, new: Expr) -> Expr:
    return new.args[0] if is_call_to(new, SIMULATED) else new


def _error(before: Module, after: Module, samples: Sequence[Sequence[Any]]) -> float:
    """The signal-to-noise ratio of the result, dB."""
    from ..interp.evaluate import evaluate
    from ..ir.values import value_leaves

    noise = Noise()
    for inputs in samples:
        for x, y in zip(value_leaves(evaluate(before, list(inputs))), value_leaves(evaluate(after, list(inputs)))):
            noise.add(x, y)
    return noise.decibels
