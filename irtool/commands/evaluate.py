"""`irtool evaluate`: how good a network is on a set of data, with labels and beside another one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .compiler_options import missing_constants_option
from .engines import check_way
from .entry_module import read_entry_module
from .mistakes import ClashingOptions
from .param_facts import ParamFacts, main_option, type_options
from .pass_options import PassChoice, pass_options, report_instruments
from .precision_option import PrecisionChoice, machine_of, precision_options
from .warning_flags import say_warning
from .wrong_usage import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..ir import Function, Module

FLOAT = "float"


@click.command(name="evaluate", cls=Command, short_help="Measure a network on a set of data: top-1, top-5, errors.")
@click.argument("file", type=param_types.MODULE)
@type_options(
    "The set: arrays by input name, from .npz or .params, with samples along a further axis in front, or as a multiple of the "
    "first extent. Repeatable.",
    "The same for one input, from a .npy file, or the array of that name in an .npz (of another name: FILE.npz:NAME).",
)
@click.option(
    "--labels",
    type=param_types.READ,
    metavar="FILE",
    default=None,
    help="What is right: an .npy for the only output, or an .npz by name (out0, out1, … or an output's own). Integers are "
    "classes: top-1 and top-5 are counted. Floats of the output's shape are values: errors are measured.",
)
@click.option(
    "--against",
    type=param_types.READ,
    metavar="float|FILE.npz",
    default=None,
    help="What the outputs are compared with: `float`, the network as it is in FILE, without --passes and in float32; or given "
    "outputs of each sample by name.",
)
@click.option(
    "--via",
    type=param_types.WAY,
    default="interp",
    show_default=True,
    callback=check_way,
    metavar="interp|BACKEND",
    help="What runs both: the interpreter, or a backend such as c.",
)
@main_option("The function to run.")
@click.option(
    "-O",
    "level",
    type=click.IntRange(0, 4),
    default=3,
    show_default=True,
    help="Level of the build pipeline (through a backend).",
)
@pass_options("Passes to run on the module before it is measured.")
@missing_constants_option
@precision_options
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def command(
    file: str,
    param_facts: ParamFacts,
    labels: str | None,
    against: str | None,
    via: str,
    entry: str,
    level: int,
    chosen: PassChoice,
    missing_constants: str,
    precision: PrecisionChoice,
    as_json: bool,
) -> None:
    """Run a network on each sample of a set, and say how good its outputs are.

    With --labels: the share of right classes (top-1, top-5), or errors of values. With --against: the signal-to-noise ratio in dB,
    the largest difference, and the share of rows whose largest element is the same.

    \b
    Examples:
      irtool evaluate net.onnx --inputs set.npz --labels y.npy
      irtool evaluate net.onnx --inputs set.npz --labels y.npy --precision int8 --calibrate images.npz --against float --via=c
      irtool evaluate net.relay --params weights.npz --inputs set.npz --against outputs.npz --json
    """
    from ..diagnostics import IrError, UsageError
    from ..ir import Function
    from ..ir.tensor_names import output_names
    from ..passes import run_passes
    from ..quantization.mistakes import CalibratedOnItself
    from .scoring import Scoring

    if not param_facts.inputs and not param_facts.single:
        raise UsageError("there is nothing to run: --inputs set.npz gives samples by input name", code=ClashingOptions)
    if labels is None and against is None:
        raise UsageError("there is nothing to measure: give --labels, --against, or both", code=ClashingOptions)
    read = read_entry_module(file, _one_sample(param_facts), entry, missing_constants, 0)
    exact = module = read.module
    function = module.functions[entry]
    if not isinstance(function, Function):
        raise IrError(f"@{entry} has been lowered: it cannot be run by itself", help="run the function that calls it")
    samples = _samples(function, param_facts, read.param_facts.names)
    scoring = Scoring.read(labels, None if against == FLOAT else against, output_names(exact[entry]), len(samples))
    if chosen.passes:
        module = run_passes(module, chosen.passes, opt_level=level, instruments=chosen.instruments, **chosen.context)
    if _is_calibrated_on(precision, param_facts):
        say_warning("the set also calibrates: its errors are smaller than those on other data", CalibratedOnItself)
    machine = machine_of([via])
    module = precision.lower(module, entry, read.param_facts.names, machine, opt_level=level, **chosen.context).module
    outputs = _outputs(_runner(module, entry, via, level, chosen), samples)
    report_instruments(chosen.instruments)
    exact_outputs = None
    if against == FLOAT:
        changes = bool(chosen.passes) or not precision.is_exact
        exact_outputs = _outputs(_runner(exact, entry, via, level, chosen), samples) if changes else outputs
    rows = scoring.rows(outputs, exact_outputs)
    if as_json:
        click.echo(json.dumps({"samples": len(samples), "outputs": [r.as_dict() for r in rows]}, indent=1))
    else:
        _show(rows, len(samples))


def _one_sample(param_facts: ParamFacts) -> ParamFacts:
    """Known facts of parameters without the arrays of the set, which have the shapes of many samples."""
    from dataclasses import replace

    return replace(param_facts, inputs=(), single={})


def _samples(function: Function, param_facts: ParamFacts, names: Mapping[str, str]) -> list[list[Any]]:
    """The inputs of each sample. Raises IrError for those that do not fit, and that are missing."""
    from dataclasses import replace

    from ..quantization.samples import samples_in

    return samples_in(function, dict(replace(param_facts, names=names, bound=None).values), "the data of --inputs")


def _is_calibrated_on(precision: PrecisionChoice, param_facts: ParamFacts) -> bool:
    from .param_facts import digest

    files = {digest(path) for path in (*param_facts.inputs, *param_facts.single.values())}
    return any(key in files for key in precision.key())  # type: ignore[attr-defined]  # a list


def _runner(module: Module, entry: str, via: str, level: int, chosen: PassChoice) -> Callable[[Sequence[Any]], Any]:
    """A function from the inputs of one sample to its outputs."""
    if via == "interp":
        from ..interp.evaluate import evaluate

        return lambda inputs: evaluate(module, list(inputs), entry=entry)
    from ..driver.build import build

    artifact = build(module, None, via, level, entry=entry, **chosen.context)
    return lambda inputs: artifact.run(list(inputs))


def _outputs(run: Callable[[Sequence[Any]], Any], samples: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """Each output, samples along a further axis in front."""
    from ..driver.precision import stacked
    from .progress import progress_bar

    results = []
    with progress_bar("evaluating") as step:
        for n, inputs in enumerate(samples):
            results.append(run(inputs))
            if step is not None:
                step(n + 1, len(samples))
    return stacked(results)


def _show(rows: Sequence[Any], count: int) -> None:
    for row in rows:
        click.echo(f"{row.title}: {row.sentence}")
    click.echo(f"{count} sample{'' if count == 1 else 's'}")
