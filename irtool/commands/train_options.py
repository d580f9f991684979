"""The options of `irtool train-step` that say how."""

from __future__ import annotations

from typing import Any

import click

from .byte_counts import byte_count
from .grouped import grouped
from .mistakes import BadValue


def _options(**values: Any) -> Any:
    from ..training.options import TrainOptions

    return TrainOptions(**{**values, "betas": tuple(values["betas"])})


def _rate(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    """A number, or `input`. Raises UsageError."""
    if value is None or value == "input":
        return value
    try:
        return float(value)
    except ValueError:
        from ..diagnostics import UsageError

        raise UsageError(f"--learning-rate takes a number or input, not {value!r}", code=BadValue) from None


train_options = grouped(
    "options",
    _options,
    click.option(
        "--loss",
        type=click.Choice(["cross_entropy", "mse"]),
        required=True,
        help="Cross entropy of scores with numbers of classes (int64), or the mean of squared differences.",
    ),
    click.option(
        "--class-axis",
        type=int,
        default=1,
        show_default=True,
        metavar="AXIS",
        help="Of --loss=cross_entropy: the axis of the classes; -1 for words of a text.",
    ),
    click.option(
        "--optimizer",
        type=click.Choice(["sgd", "momentum", "adam", "adamw"]),
        default="sgd",
        show_default=True,
        help="How weights follow from gradients, with the formulas of torch.optim.",
    ),
    click.option(
        "--learning-rate",
        callback=_rate,
        default=None,
        metavar="RATE",
        help="A number, or `input`: each step is given one. Default: 0.01; 0.001 for adam and adamw.",
    ),
    click.option(
        "--momentum",
        type=float,
        default=0.9,
        show_default=True,
        help="Of --optimizer=momentum: the share of the last velocity.",
    ),
    click.option(
        "--betas",
        nargs=2,
        type=float,
        default=(0.9, 0.999),
        show_default=True,
        metavar="B1 B2",
        help="Of adam and adamw: the shares of the last averages of gradients and of their squares.",
    ),
    click.option(
        "--epsilon",
        type=float,
        default=1e-8,
        show_default=True,
        help="Of adam and adamw: added to the root of squares.",
    ),
    click.option(
        "--weight-decay",
        type=float,
        default=None,
        metavar="FACTOR",
        help="Share of the weights in their gradients; of adamw taken off the weights. Default: 0; 0.01 for adamw.",
    ),
    click.option(
        "--train-only",
        metavar="REGEX",
        default=None,
        help="Train the weights whose whole name matches; the others stay.",
    ),
    click.option(
        "--statistics-momentum",
        type=float,
        default=0.1,
        show_default=True,
        metavar="SHARE",
        help="The share of a batch's statistics in the running ones of batch normalizations.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the elements that dropouts leave out."
    ),
    click.option(
        "--ram-limit",
        callback=byte_count,
        default=None,
        metavar="BYTES",
        help="Most bytes of workspace, such as 64M: builds compute values again to that end, and the plan for this processor is printed.",
    ),
)
"""Adds the options; the command gets `options`, a `TrainOptions`."""
