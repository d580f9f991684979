"""The options of `irtool quantize` that say how."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from .grouped import grouped
from .mistakes import BadValue, ClashingOptions


def _options(**values: Any) -> Any:
    from ..quantization.options import QuantizeOptions

    return QuantizeOptions(**{**values, "via": values["via"] or ""})


affine_options = grouped(
    "affine",
    _options,
    click.option(
        "--method",
        type=click.Choice(["minmax", "percentile", "entropy", "mse"]),
        default="minmax",
        show_default=True,
        help="How ranges follow from the data.",
    ),
    click.option(
        "--percentile",
        type=click.FloatRange(0, 100, min_open=True),
        default=99.99,
        show_default=True,
        metavar="P",
        help="Of --method=percentile: per cent of values that a range holds.",
    ),
    click.option(
        "--activations",
        "dtype",
        type=click.Choice(["uint8", "int8", "float"]),
        default="uint8",
        show_default="uint8, float with --weights",
        help="Data type of activations; weights are int8. With --weights: float, or int8 in the blocks of the weights, for sums of integers.",
    ),
    click.option(
        "--keep",
        multiple=True,
        metavar="REGEX",
        help="Leave layers of that name in floating point: conv2d_3, or the node or weight in the model. Repeatable.",
    ),
    click.option(
        "--min-snr",
        type=float,
        default=None,
        metavar="DB",
        help="Leave layers in floating point whose own signal-to-noise ratio is lower.",
    ),
    click.option(
        "--form",
        "form",
        type=click.Choice(["qdq", "integer"]),
        default="qdq",
        show_default=True,
        help="Floating-point layers between qnn.dequantize and qnn.quantize, which builds compute in integers, or operators of qnn.",
    ),
    click.option(
        "--samples", type=click.IntRange(1), default=8, show_default=True, metavar="N", help="Random inputs, if any."
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of random inputs."),
    click.option(
        "--report/--no-report", default=True, show_default=True, help="Measure the errors of layers, and print them."
    ),
    click.option(
        "--report-samples",
        type=click.IntRange(1),
        default=4,
        show_default=True,
        metavar="N",
        help="Errors are measured on N samples at most, which no range is found from: every fifth of those given, or further random "
        "ones.",
    ),
    click.option(
        "--via",
        type=click.Choice(["c", "interp"]),
        default=None,
        show_default="interp for 8 samples and fewer, else c",
        help="What runs the network: compiled, or the interpreter.",
    ),
)
"""The options of the mode `affine`, as one `QuantizeOptions`, `affine`."""


def activations_of_blocks(ctx: click.Context, dtype: str) -> str:
    """The activations beside `--weights`: float, unless they are said to be int8. Raises UsageError for another type."""
    from ..diagnostics import UsageError

    if ctx.get_parameter_source("dtype") is ParameterSource.DEFAULT:
        return "float"
    if dtype == "uint8":
        raise UsageError("--activations are float or int8 beside --weights, not uint8", code=ClashingOptions)
    return dtype


def check_weight_options(mode: str, affine: Any) -> None:
    """Raises UsageError for options of calibrated activations beside `--weights`."""
    from dataclasses import fields

    from ..diagnostics import UsageError
    from ..quantization.options import QuantizeOptions

    if mode != "affine":
        raise UsageError(f"--mode={mode} calibrates activations, and --weights does not", code=ClashingOptions)
    names = {
        "method": "--method",
        "percentile": "--percentile",
        "min_snr": "--min-snr",
        "form": "--form",
    }
    defaults = {f.name: f.default for f in fields(QuantizeOptions)}
    for name, option in names.items():
        if getattr(affine, name) != defaults[name]:
            raise UsageError(
                f"{option} is for activations that are calibrated, beside --weights they are not", code=ClashingOptions
            )


def _qconfig(ctx: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, str]:
    from ..diagnostics import UsageError

    result: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"cannot read {item!r}", help="write --qconfig NAME=VALUE", code=BadValue)
        if name.strip() in result:
            raise UsageError(f"--qconfig is given twice for {name.strip()}", code=ClashingOptions)
        result[name.strip()] = value.strip()
    return result


qconfig_option = click.option(
    "--qconfig",
    multiple=True,
    callback=_qconfig,
    metavar="NAME=VALUE",
    help="Of --mode=tvm: an option of relay.quantize.qconfig, such as global_scale=4.0. Repeatable.",
)
"""`--qconfig`, a mapping of texts by name."""
