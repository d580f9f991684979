"""`irtool quantize`: a network in float32 as one in 8 bits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .calibrate_option import RANDOM, calibrate_option, check_calibrate, is_random, read_calibration, say_random_ranges
from .mistakes import ClashingOptions
from .notes import conversions_as_notes
from .param_facts import ARRAYS, ParamFacts, main_option, type_options
from .pass_options import loads_files
from .printing import types_option
from .quantize_options import activations_of_blocks, affine_options, check_weight_options, qconfig_option
from .text_and_weights import EMBEDDED, check_options, weights_options, write_with_weights
from .warning_flags import say_warning
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
@click.option(
    "--weights",
    type=click.Choice(["int4", "int8", "packed"]),
    default=None,
    help="Round weights of products and tables, with a scale for each block, or leave them in the blocks that they have; activations stay in "
    "floating point, or are int8 in the same blocks (--activations).",
)
@click.option(
    "--block",
    type=click.IntRange(1),
    default=None,
    metavar="N",
    help="Of --weights: weights that share a scale. Default: 32.",
)
@affine_options
@qconfig_option
@type_options(ARRAYS)
@main_option("The network.")
@loads_files
@types_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
@click.pass_context
def command(
    ctx: click.Context,
    file: str,
    output: str,
    params_format: str,
    params_out: str | None,
    data: tuple[str, ...],
    mode: str,
    weights: str | None,
    block: int | None,
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
      irtool quantize model.onnx --weights int4 --block 32 --keep 'lm_head.*' -o model4.relay
      irtool quantize model4.onnx --weights packed --activations int8 -o model48.relay
      irtool quantize model.onnx --calibrate random --mode=tvm --qconfig global_scale=4.0 -o model8.relay
    """
    from ..diagnostics import UsageError
    from ..driver.mistakes import LowRatio
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
    if weights in (None, "packed") and block is not None:
        raise UsageError("--block is for --weights int4 or int8", code=ClashingOptions)
    activations = "float"
    if weights is not None:
        check_weight_options(mode, affine)
        activations = activations_of_blocks(ctx, affine.dtype)
    if weights == "packed" and activations == "float":
        raise UsageError("--weights packed is for --activations int8: nothing else changes", code=ClashingOptions)
    if weights is None or data:
        check_calibrate(data, "a quantization")
    with conversions_as_notes():
        if weights is not None:
            dtype = "" if weights == "packed" else weights
            module, arrays, report = _with_weights(
                file, param_facts, entry, data, dtype, block or 32, activations, affine
            )
        else:
            module, arrays, report = _quantized(file, param_facts, entry, data, mode, affine, qconfig)
    if params_format == EMBEDDED:
        module, arrays = bind_params(module, arrays, entry), {}
    if report.snr is not None and is_too_low(report.snr):
        worst = [(r.name, float(r.own_snr or 0.0)) for r in report.worst_first]
        say_warning(low_ratio_sentence(report.snr, worst), LowRatio)
    write_with_weights(output, to_text(module, types=types), params_format, params_out, arrays, quiet or as_json)
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=1))
    elif not quiet and output != "-":
        _show_weights(report) if weights is not None else _show(report)


def _with_weights(
    file: str,
    param_facts: ParamFacts,
    entry: str,
    data: tuple[str, ...],
    dtype: str,
    block: int,
    activations: str,
    affine: QuantizeOptions,
) -> tuple[Module, dict[str, Any], Report]:
    """The module with weights in blocks, its arrays, and the report."""
    from ..quantization.weight_blocks import WeightOptions, quantize_weights
    from .input_module import read_module
    from .progress import progress_bar

    module, param_facts = read_module(file, param_facts, is_settled=True)
    module = param_facts.bind(module, entry) if param_facts else module
    samples = read_calibration(data or (RANDOM,), param_facts.names)
    options = WeightOptions(
        dtype, block, activations, affine.keep, affine.report_samples, affine.seed, affine.report, affine.via
    )
    with progress_bar("measuring") as step:
        return quantize_weights(module, None, samples, options, entry=entry, progress=step)


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


def _show_weights(report: Report) -> None:
    """Prints the report of rounded weights."""
    from .tables import show_table

    titles = ("layer", "weights dB", "result dB", "network dB", "in the model")
    rows = [
        (r.name, _decibels(r.weights_snr), _decibels(r.own_snr), _decibels(r.snr), r.model_name or "-")
        for r in (report.worst_first or report.layers)
    ]
    click.echo(show_table([titles, *rows], [max(len(r[0]) for r in (titles, *rows)), 10, 9, 10]))
    for name, reason in report.left.items():
        click.echo(f"{name} stays in floating point: {reason}")
    total = (
        f"; outputs {_decibels(report.snr).strip()} dB on {report.samples} samples" if report.snr is not None else ""
    )
    click.echo(
        f"{len(report.layers)} layers with weights of {report.method}, {len(report.left)} in floating point{total}"
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
