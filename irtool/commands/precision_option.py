"""`--precision` and `--calibrate` for all commands that have them, and the line with the error of a precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from .calibrate_option import calibrate_option, check_calibrate, read_calibration, say_random_ranges
from .grouped import grouped
from .mistakes import ClashingOptions
from .notes import say
from .param_facts import digest

if TYPE_CHECKING:
    from ..driver.precision import Lowered
    from ..ir import Module
    from ..tir.vector_target import VectorTarget


@dataclass(frozen=True)
class PrecisionChoice:
    """A precision, and the files that calibrate it.

    Attributes:
        name: `float32`, `bfloat16`, `float16` or `int8`; behind those of 16 bits `{layers=all}`.
        files: with calibration data, or `random`; empty for another precision than `int8`.
    """

    name: str = "float32"
    files: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """True for float32."""
        return self.name == "float32"

    def calibration(self, names: Mapping[str, str]) -> Any:
        """The calibration data, None if nothing is to be calibrated; `names`: see `read_calibration`."""
        return read_calibration(self.files, names) if self.name == "int8" else None

    def lower(
        self, module: Module, entry: str, names: Mapping[str, str], machine: VectorTarget | None, **context: Any
    ) -> Lowered:
        """A typed module, its weights bound, in this precision; notes name its calibration, and the layers left in float32.

        `names`: see `read_calibration`; `machine`: see `lower_precision`; `context`: of the passes, as `run_passes` takes it.
        """
        from ..driver.precision import Lowered, lower_precision, unchanged_sentence

        if self.is_exact:
            return Lowered(module)
        from ..passes import run_passes
        from .progress import progress_bar

        def transform(m: Module, passes: Sequence[str]) -> Module:
            return run_passes(m, passes, **context)

        lowered = lower_precision(
            module,
            self.name,
            (entry,),
            transform,
            self.calibration(names),
            lambda: progress_bar("calibrating"),
            machine,
        )
        say_calibrated(lowered.calibrated)
        if lowered.unchanged[0]:
            say(unchanged_sentence(self.name, *lowered.unchanged))
        return lowered

    def key(self) -> object:
        """A key that is equal for equal calibration data."""
        return [file if file == "random" else digest(file) for file in self.files]


def machine_of(ways: Sequence[str], flags: Mapping[str, Any] = MappingProxyType({})) -> VectorTarget | None:
    """The processor of the first way of running that compiles; None if there is only the interpreter. `flags`: of C, further ones.

    Raises what choosing a backend raises.
    """
    from ..driver.options import choose_backend

    for way in ways:
        if way != "interp":
            backend_flags = {n: v for n, v in flags.items() if n != "emit"} if way.partition("{")[0] == "c" else {}
            return choose_backend(way, backend_flags)[0].machine()
    return None


def _choose(precision: str, calibrate: tuple[str, ...]) -> PrecisionChoice:
    from ..diagnostics import UsageError

    if calibrate and precision != "int8":
        raise UsageError(
            f"--calibrate is for --precision int8, not {precision}", help="add --precision=int8", code=ClashingOptions
        )
    if precision == "int8":
        check_calibrate(calibrate, "--precision int8")
    return PrecisionChoice(precision, calibrate)


precision_options = grouped(
    "precision",
    _choose,
    click.option(
        "--precision",
        type=click.Choice(["float32", "bfloat16", "float16", "int8", "bfloat16{layers=all}", "float16{layers=all}"]),
        metavar="float32|bfloat16|float16|int8",
        default="float32",
        show_default=True,
        help="Precision of the operands of products; sums, softmax, statistics of normalisations, inputs and results stay in "
        "float32, and so do layers that are no faster in 16 bits, unless {layers=all} stands behind. See docs/precision.md.",
    ),
    calibrate_option("calibrate", "Of --precision=int8, which needs it: the samples that ranges are found from. "),
)
"""`--precision` and `--calibrate`, as one `PrecisionChoice`, `precision`."""


def error_line(precision: str, error: object, calibrated: object = None, where: str = "") -> str:
    """A line on a lower precision: `error` is a `PrecisionError`, `calibrated` a `Calibrated` or None, `where` names the network or
    layer of the error, if it is to be printed."""
    by = f", calibrated on {calibrated}" if calibrated is not None else ""
    return f"{precision}: error against float32: {error}{f' ({where})' if where else ''}{by}"


def say_calibrated(calibrated: Any) -> None:
    """Warns where random inputs calibrated, or a single sample; says which layers stay in floating point; None is nothing."""
    if calibrated is None:
        return
    if calibrated.seed is not None:
        say_random_ranges(calibrated.samples, calibrated.seed)
    elif not calibrated.held_out:
        say("the ranges are from a single sample, so that the error has to be measured on it: give --calibrate more")
    left = [f"{name} stays in floating point: {reason}" for name, reason in calibrated.left.items()]
    for sentence in left[:_SHOWN]:
        say(sentence)
    if len(left) > _SHOWN:
        say(f"{len(left) - _SHOWN} further layers stay in floating point")


_SHOWN = 4
"""Layers that are named."""


__all__ = ["PrecisionChoice", "error_line", "machine_of", "precision_options", "say_calibrated"]
