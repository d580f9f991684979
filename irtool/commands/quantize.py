"""`irtool quantize`: a network in float32 as one in 8 bits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .calibrate_option import calibrate_option, check_calibrate, is_random, read_calibration, say_random_ranges
from .mistakes import ClashingOptions
from .notes import conversions_as_notes, say_warning
from .param_facts import ARRAYS, ParamFacts, main_option, type_options
from .printing import types_option
from .quantize_options import affine_options, qconfig_option
from .text_and_weights import EMBEDDED, check_options, weights_options, write_with_weights
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..ir import Module
    from ..quantization import QuantizeOptions
    from ..quantization.report import Report


@click.command(name="quantize", cls=Command, short_help="Quantize a network to 8 bits after training.")
@click.argument("file", type=param_types.MODULE)
@weights_options
@calibrate_option("data")
@click.option(
    "--mode",
    type=click.Choice(["affine", "tvm"]),
    default="affine",
    show_default=True,
    help="By channel with zero points, or as TVM's relay.quantize does it.",
)
@affine_options
@qconfig_option
@type_options(ARRAYS)
@main_option("The network.")
@types_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(
    file: str,
    output: str,
    params_format: str,
    params_out: str | None,
    data: tuple[str, ...],
    mode: str,
    affine: QuantizeOptions,
    qconfig: Mapping[str, Any],
    param_facts: ParamFacts,
    entry: str,
    types: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compute convolutions and matrix products in 8 bits, with ranges from calibration data. See docs/quantization.md.

    FILE is Relay text or an ONNX model. The result is Relay text, its weights go to a file beside it; both are written, or
    neither.

    \b
    Examples:
      irtool quantize net.relay --params weights.npz --calibrate images.npz -o net8.relay
      irtool quantize model.onnx --calibrate images.npz --method=entropy --keep 'dense_.*' -o model8.relay
      irtool quantize model.onnx --calibrate images.npz --min-snr 25 --json -o model8.relay > report.json
      irtool quantize model.onnx --calibrate random --mode=tvm --qconfig global_scale=4.0 -o model8.relay
    """
    from ..diagnostics import UsageError
    from ..driver.precision import is_too_low, low_ratio_sentence
    from ..passes.core.bind import bind_params
    from ..printer import to_text

    check_options(output, params_format, params_out)
    if qconfig and mode != "tvm":
        raise UsageError("--qconfig is for --mode=tvm", code=ClashingOptions)
    if mode == "tvm" and entry != "main":
        raise UsageError("--mode=tvm quantizes @main", code=ClashingOptions)
    if output == "-" and as_json:
        raise UsageError("--json prints the report, and -o - the text", code=ClashingOptions)
    check_calibrate(data, "a quantization")
    with conversions_as_notes():
        module, weights, report = _quantized(file, param_facts, entry, data, mode, affine, qconfig)
    if params_format == EMBEDDED:
        module, weights = bind_params(module, weights, entry), {}
    write_with_weights(output, to_text(module, types=types), params_format, params_out, weights, quiet or as_json)
    if report.snr is not None and is_too_low(report.snr):
        worst = [(r.name, float(r.own_snr or 0.0)) for r in report.worst_first]
        say_warning(low_ratio_sentence(report.snr, worst))
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=1))
    elif not quiet and output != "-":
        _show(report)


def _quantized(
    file: str,
    param_facts: ParamFacts,
    entry: str,
    data: tuple[str, ...],
    mode: str,
    affine: QuantizeOptions,
    qconfig: Mapping[str, Any],
) -> tuple[Module, dict[str, Any], Report]:
    """The quantized module, its weights, and the report."""
    from ..quantization import quantize
    from .input_module import read_module
    from .progress import progress_bar

    module, param_facts = read_module(file, param_facts, is_settled=True)
    module = param_facts.bind(module, entry) if param_facts else module
    calibration = read_calibration(data, param_facts.names)
    if is_random(data):
        say_random_ranges(affine.samples, affine.seed)
    with progress_bar("calibrating") as step:
        if mode == "affine":
            return quantize(module, None, calibration, affine, entry=entry, progress=step)
        from ..quantization.qconfig import QConfig
        from ..quantization.tvm_way import quantize_as_tvm

        return quantize_as_tvm(
            module,
            None,
            calibration,
            QConfig.of(qconfig),
            samples=affine.samples,
            seed=affine.seed,
            via=affine.via,
            progress=step,
        )


def _show(report: Report) -> None:
    """Prints the report."""
    from .tables import show_table

    titles = ("layer", "own dB", "network dB", "in the model")
    rows = [(r.name, _decibels(r.own_snr), _decibels(r.snr), f"{r.model_name}" or "-") for r in report.worst_first]
    if rows:
        click.echo(show_table([titles, *rows], [max(len(r[0]) for r in rows), 8, 10]))
    for name, reason in report.left.items():
        click.echo(f"{name} stays in floating point: {reason}")
    total = f", {_decibels(report.snr).strip()} dB" if report.snr is not None else ""
    few = "" if report.samples == 1 else "s"
    done = (
        f"{report.products} convolutions and products in 8 bits, {len(report.left)} in floating point; " if rows else ""
    )
    where = ""
    if report.snr is not None:
        others = f"{report.held_out} other sample{'' if report.held_out == 1 else 's'}"
        where = f" on {others if report.held_out else 'the sample that the ranges are from, there is no other'}"
    click.echo(f"{done}{report.method} over {report.samples} sample{few}{total}{where}")


def _decibels(x: float | None) -> str:
    return "" if x is None else f"{x:.1f}"
