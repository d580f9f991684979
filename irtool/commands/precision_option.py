"""`--precision`, as every command has it, and the line that says what it costs."""

from __future__ import annotations

import click

precision_option = click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    show_default=True,
    help="Precision of the operands of products; sums, softmax, statistics of normalisations, the last layer, inputs and "
    "results stay in float32. See docs/precision.md.",
)


def error_line(precision: str, error: object) -> str:
    """What is said of a lower precision: `error` is a `PrecisionError`."""
    return f"{precision}: error against float32: {error}"


__all__ = ["error_line", "precision_option"]
