"""`--calibrate` for all commands that have it: the samples from which ranges of 8 bits are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from . import param_types
from .mistakes import ClashingOptions
from .warning_flags import say_warning

RANDOM = "random"


def calibrate_option(argument: str, help: str = "") -> Any:
    """The option; the command gets its values as `argument`. `help` is put before its own help text."""
    return click.option(
        "--calibrate",
        argument,
        type=param_types.READ,
        multiple=True,
        metavar="FILE|random",
        help=help
        + "Arrays by input name, from .npz or .params: one sample each, or several along a further axis in front; or `random` "
        "inputs, whose ranges say nothing of real data. There is no default. Repeatable.",
    )


def check_calibrate(data: Sequence[str], asker: str) -> None:
    """Raises UsageError if nothing calibrates the request of the command line, `asker`, or if random inputs are given beside files."""
    from ..diagnostics import UsageError

    if not data:
        raise UsageError(
            f"{asker} needs --calibrate: ranges of 8 bits are found from samples of the inputs",
            help="--calibrate samples.npz has arrays by input name; --calibrate random takes random inputs, "
            "whose ranges say nothing of real data",
            code=ClashingOptions,
        )
    if RANDOM in data and len(data) > 1:
        raise UsageError("--calibrate random is given beside files", code=ClashingOptions)


def read_calibration(data: Sequence[str], names: Mapping[str, str]) -> Any:
    """The calibration data: `random`, or the arrays of each file, those of an ONNX model's inputs under their `names` as parameters."""
    from .source import read_arrays

    if is_random(data):
        return RANDOM
    return [dict(read_arrays(path).renamed(names)) for path in data]


def is_random(data: Sequence[str]) -> bool:
    """True where random inputs calibrate."""
    return tuple(data) == (RANDOM,)


def say_random_ranges(samples: int, seed: int) -> None:
    """Warns that ranges are from random inputs, the first of them with that seed."""
    from ..quantization.mistakes import RandomRanges

    seeds = f"seed {seed}" if samples == 1 else f"seeds {seed} to {seed + samples - 1}"
    say_warning(
        f"the ranges are from random inputs ({seeds}): ranges and errors say nothing of real data", RandomRanges
    )


__all__ = ["calibrate_option", "check_calibrate", "is_random", "read_calibration", "say_random_ranges"]
