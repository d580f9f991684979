"""`--precision` and `--calibrate`, as every command has them, and the line that says what a precision costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from .calibrate_option import calibrate_option, check_calibrate, read_calibration, say_random_ranges
from .grouped import grouped
from .known_types import digest
from .mistakes import ClashingOptions
from .notes import say

if TYPE_CHECKING:
    from ..driver.precision import Calibrated
    from ..ir import Module


@dataclass(frozen=True)
class PrecisionChoice:
    """A precision, and the files that calibrate it.

    Attributes:
        name: `float32`, `bfloat16`, `float16` or `int8`.
        files: with calibration data; empty or `random`: random inputs.
    """

    name: str = "float32"
    files: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """True for float32."""
        return self.name == "float32"

    def calibration(self, names: Mapping[str, str]) -> Any:
        """The calibration data, None where nothing is to be calibrated; `names`: see `read_calibration`."""
        return read_calibration(self.files, names) if self.name == "int8" else None

    def lower(
        self, module: Module, entry: str, names: Mapping[str, str], **context: Any
    ) -> tuple[Module, Calibrated | None]:
        """A typed module, its weights bound, in this precision, and what calibrated it, which is said; None where nothing did.

        `names`: see `read_calibration`; `context`: of the passes, as `run_passes` takes it.
        """
        if self.is_exact:
            return module, None
        from ..driver.precision import lower_precision
        from ..passes import run_passes
        from .progress import progress_bar

        def transform(m: Module, passes: Sequence[str]) -> Module:
            return run_passes(m, passes, **context)

        made, calibrated = lower_precision(
            module, self.name, (entry,), transform, self.calibration(names), lambda: progress_bar("calibrating")
        )
        say_calibrated(calibrated)
        return made, calibrated

    def key(self) -> object:
        """What tells its data from others."""
        return [file if file == "random" else digest(file) for file in self.files]


def _choose(precision: str, calibrate: tuple[str, ...]) -> PrecisionChoice:
    from ..diagnostics import UsageError

    if calibrate and precision != "int8":
        raise UsageError(
            f"--calibrate is for --precision int8, not {precision}", help="add --precision=int8", code=ClashingOptions
        )
    check_calibrate(calibrate)
    return PrecisionChoice(precision, calibrate)


precision_options = grouped(
    "precision",
    _choose,
    click.option(
        "--precision",
        type=click.Choice(["float32", "bfloat16", "float16", "int8"]),
        default="float32",
        show_default=True,
        help="Precision of the operands of products; sums, softmax, statistics of normalisations, inputs and results stay in "
        "float32. See docs/precision.md.",
    ),
    calibrate_option("calibrate", "Of --precision=int8, what ranges are found from. "),
)
"""`--precision` and `--calibrate`, as one `PrecisionChoice`, `precision`."""


def error_line(precision: str, error: object, calibrated: object = None) -> str:
    """What is said of a lower precision: `error` is a `PrecisionError`, `calibrated` a `Calibrated` where something was."""
    by = f", calibrated on {calibrated}" if calibrated is not None else ""
    return f"{precision}: error against float32: {error}{by}"


def say_calibrated(calibrated: Any) -> None:
    """Says so where random inputs calibrated, and which layers stay in floating point; None is nothing."""
    if calibrated is None:
        return
    if calibrated.seed is not None:
        say_random_ranges(calibrated.samples, calibrated.seed)
    left = [f"{name} stays in floating point: {reason}" for name, reason in calibrated.left.items()]
    for sentence in left[:_SHOWN]:
        say(sentence)
    if len(left) > _SHOWN:
        say(f"{len(left) - _SHOWN} further layers stay in floating point")


_SHOWN = 4
"""Layers that are named."""


__all__ = ["PrecisionChoice", "error_line", "precision_options", "say_calibrated"]
