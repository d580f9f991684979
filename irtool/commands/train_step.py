"""`irtool train-step`: the module of one step of training."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .mistakes import ClashingOptions
from .param_facts import ARRAYS, ParamFacts, main_option, type_options
from .pass_options import loads_files
from .printing import types_option
from .text_and_weights import EMBEDDED, check_options, weights_options, write_with_weights
from .train_options import train_options
from .warning_flags import say_warning
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..ir import Module
    from ..training import TrainOptions
    from ..training.report import Report


@click.command(name="train-step", cls=Command, short_help="Make the module of one step of training.")
@click.argument("file", type=param_types.MODULE)
@weights_options
@train_options
@click.option(
    "--output", "loss_output", metavar="NAME", default=None, help="The output of the loss. Default: the first one."
)
@type_options(ARRAYS)
@main_option("The network.")
@loads_files
@types_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(
    file: str,
    output: str,
    params_format: str,
    params_out: str | None,
    options: TrainOptions,
    loss_output: str | None,
    param_facts: ParamFacts,
    entry: str,
    types: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make the module of one step: the network in training, the loss, gradients, and the updates of weights. See docs/training.md.

    FILE is Relay text with --params, a GGUF file, or an ONNX model, exported from torch with training=TrainingMode.TRAINING. The result is Relay text whose
    states are the weights and the states of the optimizer; their first values go to a file beside it.

    \b
    Examples:
      irtool train-step net.onnx --loss cross_entropy --dim batch=8 -o step.relay
      irtool train-step net.onnx --loss mse --optimizer adam --learning-rate input -o step.relay
      irtool train-step net.relay --params net.npz --loss cross_entropy --train-only 'fc.*' -o step.relay
      irtool train-step net.onnx --loss cross_entropy --dim batch=8 --ram-limit 64M -o step.relay
      irtool build step.relay --params step.npz --name step -o out/
    """
    from ..diagnostics import UsageError
    from ..passes.core.bind import bind_params
    from ..printer import to_text

    options.check()
    check_options(output, params_format, params_out)
    if output == "-" and as_json:
        raise UsageError("--json prints the report, and -o - the text", code=ClashingOptions)
    module, weights, report = _step(file, param_facts, entry, options, loss_output)
    memory = None if options.ram_limit is None else _planned_memory(module, weights)
    if params_format == EMBEDDED:
        module, weights = bind_params(module, weights, "main"), {}
    _warn(report)
    write_with_weights(output, to_text(module, types=types), params_format, params_out, weights, quiet or as_json)
    if as_json:
        click.echo(json.dumps({**report.as_dict(), **({} if memory is None else {"workspace": memory})}, indent=1))
    elif not quiet and output != "-":
        _show(report)
        if memory is not None:
            _show_memory(memory)


def _step(
    file: str, param_facts: ParamFacts, entry: str, options: TrainOptions, loss_output: str | None
) -> tuple[Module, Mapping[str, Any], Report]:
    """The module, first values, and the report."""
    from ..training import train_step
    from .gguf_input import GgufInput
    from .input_module import module_of, read_input
    from .onnx_input import OnnxInput

    input_file = read_input(file)
    if isinstance(input_file, OnnxInput | GgufInput):
        input_file = replace(input_file, training=True)
    module, param_facts = module_of(input_file, param_facts, is_settled=True)
    module = param_facts.specialize(module, entry)
    return train_step(module, param_facts.weights, options, entry=entry, output=loss_output or 0)


def _planned_memory(module: Module, weights: Mapping[str, Any]) -> dict[str, Any]:
    """The memory of a build for this processor: bytes, multiply-adds, and the values that are computed again.

    Raises IrError if it is larger than its limit.
    """
    from ..driver.build import build

    report = build(module, weights, name="step", target="c{mcpu=native}", emit="tir").report
    return {"bytes": report["arena_bytes"], "macs": report["macs"], "recomputed": report["recomputed"]}


def _show_memory(memory: Mapping[str, Any]) -> None:
    """Prints the plan."""
    again = memory["recomputed"]
    more = sum(r["macs"] for r in again)
    total = max(1, memory["macs"] - more)
    values = "no value is" if not again else "1 value is" if len(again) == 1 else f"{len(again)} values are"
    click.echo(
        f"{memory['bytes']} bytes of workspace; {values} computed again, which takes {more} multiply-adds more ({100 * more / total:.1f} %)"
    )
    for r in again:
        with_operands = f", with {', '.join(r['operands'])}" if r["operands"] else ""
        click.echo(
            f"{r['value']}: {r['bytes']} bytes, {r['macs']} multiply-adds: {', '.join(r['operators'])}{with_operands}"
        )


def _warn(report: Report) -> None:
    """Warns of weights that are trained apart, and of outputs that are left out."""
    from ..training.mistakes import DroppedOutputs

    if report.separated:
        names = [f"{new} (the model's {old})" for new, old in report.separated.items()]
        more = f", and {len(names) - 3} more" if len(names) > 3 else ""
        say_warning(
            f"{len(names)} weights of equal elements, each shared by several layers, are trained apart: {', '.join(names[:3])}{more}",
        )
    if report.dropped_outputs:
        say_warning(
            f"outputs without a part in the loss are left out: {', '.join(report.dropped_outputs)}", DroppedOutputs
        )


def _show(report: Report) -> None:
    """Prints the report."""
    elements = sum(report.trained.values())
    plural = "" if len(report.trained) == 1 else "s"
    click.echo(
        f"{len(report.trained)} weight{plural} of {elements} elements trained, {report.state_bytes} bytes of states"
        + (f", {len(report.statistics)} running statistics among them" if report.statistics else "")
    )
    for name, reason in report.unchanged.items():
        click.echo(f"{name} stays as it is: {reason}")
