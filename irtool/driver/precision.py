"""`--precision`: passes that lower a module's precision, and the error that results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import UsageError, nearest
from ..hooks import Hook
from ..ir import Constant, Function, Module, post_order
from ..tir.vector_target import VectorTarget

EXACT = "float32"
INT8 = "int8"
EVERYWHERE = "{layers=all}"
"""Behind a precision of 16 bits: layers that do not get faster are rounded, too."""

Calibration = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""What ranges of 8 bits are found from: `random`; arrays by name of an input; or several such."""

RANDOM = "random"

Progress = Callable[[int, int], None]
"""Called with the number of steps that are done and of all."""

Watched = Callable[[], AbstractContextManager[Progress | None]]
"""What shows progress, from when it is entered until it is left; None: nobody watches."""

_HALVES = ("bfloat16", "float16")

PASSES: dict[str, tuple[tuple[str, str], ...]] = {
    EXACT: (),
    **{
        dtype + layers: (
            ("SimplifyInference", "means and variances of normalisations become operators, which stay in float32"),
            ("FoldConstant", "… and the scales of batch normalisations constants"),
            (
                "BackwardFoldScaleAxis",
                "… that go into the weights before these are rounded; forwards, scales that are computed would: of weights that "
                "are rounded when the program runs no words are made",
            ),
            ("FoldConstant", "scaled weights are computed, in float32"),
            ("SimplifyExpr", "what cancels out is not to be parted by roundings"),
            ("CanonicalizeOps", "biases are added like other things"),
            ("FoldExplicitPadding", "padding is part of a convolution before a rounding comes between"),
            ("ComposeLinear", "… and so are linear layers without anything between them"),
            (f'ReducePrecision{{dtype="{dtype}"}}', "operands of products are rounded"),
            ("FoldConstant", "rounded weights are computed: only these are stored"),
        )
        for dtype in _HALVES
        for layers in ("", EVERYWHERE)
    },
    INT8: (),
}
"""What runs on a module, its weights bound, before the build pipeline: each pass with the reason for its place.

For int8 that is a quantization, which runs passes of its own.
"""


def precision_passes(precision: str, most_uses: float = 0.0) -> tuple[str, ...]:
    """The passes for a precision; `most_uses`: see `ReducePrecision`. Raises UsageError for an unknown precision."""
    if precision not in PASSES:
        raise UsageError(
            f"precision={precision!r} is not one of {', '.join(PASSES)}", help=nearest(precision, list(PASSES))
        )
    chosen = f", most_uses={most_uses!r}}}" if most_uses else "}"
    return tuple(text[:-1] + chosen if text.startswith(_ROUNDS) else text for text, _ in PASSES[precision])


_ROUNDS = "ReducePrecision{"
"""Beginning of the text of the pass that rounds."""


def dtype_of_precision(precision: str) -> str:
    """`bfloat16` of `bfloat16{layers=all}`."""
    return precision.removesuffix(EVERYWHERE)


def most_uses(precision: str, machine: VectorTarget, weight_bytes: int) -> float:
    """The most uses of a weight with which a layer is faster in a precision than in float32; 0: all layers are, or are to be rounded.

    A processor with instructions for sums of products of bfloat16 numbers makes more of them than of float32. Others widen each
    number first: they gain where weights, of which half of the bytes are left, take longer to be read than to be multiplied. `weight_bytes`:
    of all weights in float32, which go by between two uses of one.
    """
    has_products = max(machine.paired_products, machine.pair_tiles) > 1 and dtype_of_precision(precision) == "bfloat16"
    if precision.endswith(EVERYWHERE) or has_products:
        return 0.0
    from ..schedule.cost.gemm_cost import weight_cycles

    a_cycle = machine.lanes(4) * machine.multiply_adds
    weights = max(1, weight_bytes // 4)
    return round(a_cycle * weight_cycles(4 * weights, machine) / weights, 3)


RANDOM_HELP = "'random' calibrates on random inputs, and their ranges say nothing of real data"


def check_calibration(precision: str, calibration: object) -> None:
    """Raises UsageError for calibration data where nothing is calibrated, and for none where ranges are to be found."""
    if calibration is not None and precision != INT8:
        raise UsageError(f"calibration data are for precision {INT8!r}, not {precision!r}")
    if calibration is None and precision == INT8:
        raise UsageError(
            f"precision {INT8!r} needs calibration data, which its ranges are found from",
            help=f"calibration={{'x': samples}} gives samples of the input %x; {RANDOM_HELP}",
        )


@dataclass(frozen=True)
class Calibrated:
    """The samples from which ranges were found, and the tensors without a range.

    Attributes:
        samples: how many sets of inputs.
        seed: of the first of them, where they are random; they are numbered. None: they were given.
        left: names of convolutions and products that stay in floating point, each with the reason.
        held_out: how many given samples were kept for measuring the error, and gave no range; 0 if they were random, or
            where there was one only.
    """

    samples: int
    seed: int | None = None
    left: Mapping[str, str] = field(default_factory=dict)
    held_out: int = 0

    @property
    def measured_on(self) -> str:
        """The inputs on which the error of a build is measured."""
        if self.seed is not None:
            return "random inputs"
        if not self.held_out:
            return "the sample that calibrated"
        return f"{self.held_out} held-out sample{'' if self.held_out == 1 else 's'}"

    def __str__(self) -> str:
        few = "" if self.samples == 1 else "s"
        if self.seed is None:
            return f"{self.samples} sample{few}"
        return f"{self.samples} random sample{few}"


@dataclass(frozen=True)
class Lowered:
    """A module in a lower precision.

    Attributes:
        calibrated: its calibration, if any.
        samples: inputs that its error is measured on: those that no range was found from, or the only one. Empty: random ones.
        worst: the error from rounding each layer by itself, the name and the ratio in dB, the least first.
        unchanged: how many layers stay in float32 because 16 bits make them no faster, and how many layers there are.
    """

    module: Module
    calibrated: Calibrated | None = None
    samples: Sequence[Sequence[Any]] = ()
    worst: Callable[[], Sequence[tuple[str, float]]] = tuple
    unchanged: tuple[int, int] = (0, 0)


_lower_to_int8: Hook[[Module, Sequence[str], Any, Progress | None], Lowered] = Hook("driver.lower_to_int8")


def lower_precision(
    module: Module,
    precision: str,
    entries: Sequence[str],
    transform: Callable[[Module, Sequence[str]], Module],
    calibration: Calibration | None = None,
    watched: Watched = nullcontext,
    machine: VectorTarget | None = None,
) -> Lowered:
    """A typed module, its weights bound, in a precision. In 16 bits, layers that `machine` would not compute faster stay in float32; None:
    it is not known where the module runs, and all are rounded.

    `transform` runs passes; calibration is `watched`. Raises what these raise, and of int8 UsageError if there are no
    calibration data, IrError for data that do not fit and for a network without a layer to quantize.
    """
    check_calibration(precision, calibration)
    if precision != INT8:
        return _rounded(module, precision, entries, transform, machine)
    with watched() as step:
        return _lower_to_int8(module, entries, calibration, step)


def _rounded(
    module: Module,
    precision: str,
    entries: Sequence[str],
    transform: Callable[[Module, Sequence[str]], Module],
    machine: VectorTarget | None,
) -> Lowered:
    """A module in 16 bits: the given one where no layer is faster."""
    from ..passes.reduce_precision import layers_without_gain

    limit = 0.0 if machine is None else most_uses(precision, machine, _weight_bytes(module))
    passes = precision_passes(precision, limit)
    position = next((n for n, text in enumerate(passes) if text.startswith(_ROUNDS)), 0)
    before = transform(module, passes[:position]) if position else module
    counts = [layers_without_gain(f, limit) for f in before.relay_functions.values()]
    stay, layers = (sum(n[i] for n in counts) for i in (0, 1))
    if stay and stay == layers:
        return Lowered(module, unchanged=(stay, layers))
    return Lowered(transform(before, passes[position:]), unchanged=(stay, layers))


def _weight_bytes(module: Module) -> int:
    """Bytes of all constants."""
    from ..passes.core.constants import has_data, to_array

    constants = {e for f in module.relay_functions.values() for e in post_order(f) if isinstance(e, Constant)}
    return sum(to_array(e).nbytes for e in constants if has_data(e))


def unchanged_sentence(precision: str, stay: int, layers: int) -> str:
    """The sentence on layers that stay in float32."""
    dtype = dtype_of_precision(precision)
    many = "1 layer stays" if stay == 1 else f"{stay} of {layers} layers stay"
    return (
        f"{many} in float32: this processor multiplies {dtype} numbers no faster, and the time of these layers is not that of reading weights; "
        f"--precision '{dtype}{EVERYWHERE}' rounds all, for smaller weights"
    )


LEAST_RATIO = 20.0
"""dB: a network whose signal-to-noise ratio is lower gets a warning. A tenth of the magnitude is noise there."""


def is_too_low(snr: float) -> bool:
    """True for a ratio that a warning is given for; not where nothing is known (NaN)."""
    return snr < LEAST_RATIO


def low_ratio_sentence(snr: float, worst: Sequence[tuple[str, float]]) -> str:
    """The sentence of the warning; `worst`: names of layers and their own ratios, the least first."""
    named = ", ".join(f"{name} ({ratio:.1f} dB)" for name, ratio in worst[:3])
    layers = f"; the worst layers are {named}" if named else ""
    return f"the signal-to-noise ratio of {snr:.1f} dB is below {LEAST_RATIO:g} dB: results may be useless{layers}"


@dataclass(frozen=True)
class PrecisionError:
    """The difference of results from those in float32.

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


def measure_error(exact: Module, reduced: Module, entry: str, samples: Sequence[Sequence[Any]] = ()) -> PrecisionError:
    """The error of a module against the one that it was made from, both by the interpreter, on samples of its inputs: without
    any, on random ones (seed 0)."""
    from ..interp.evaluate import evaluate
    from ..interp.random_inputs import random_inputs

    function = exact[entry]
    assert isinstance(function, Function)
    runs = [list(s) for s in samples] or [random_inputs(function, module=exact)]
    exact_results, reached = ([evaluate(m, values, entry=entry) for values in runs] for m in (exact, reduced))
    return precision_error(stacked(exact_results), stacked(reached))


def stacked(results: Sequence[Any]) -> tuple[Any, ...]:
    """Each output of several runs as one array, the runs along a further axis in front."""
    import numpy as np

    from ..ir.values import value_leaves

    return tuple(np.stack([np.asarray(x) for x in leaves]) for leaves in zip(*map(value_leaves, results), strict=True))
