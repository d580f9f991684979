"""`irtool bench`: how long a network takes, and which kernels take it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .bench_text import show_changes, show_record
from .cache_option import cache_option, with_cache_dtype
from .compiler_options import (
    board_option,
    cc_option,
    cflags_option,
    level_option,
    math_option,
    mcpu_option,
    missing_constants_option,
    openmp_option,
    opt_option,
    runner_option,
    time_limit_option,
)
from .entry_module import read_entry_module
from .grouped import as_flags
from .measured_build import measured_build
from .mistakes import ClashingOptions
from .notes import say_random
from .output import write_text
from .param_facts import ARRAYS, ONE_ARRAY, ParamFacts, main_option, type_options
from .pass_options import loads_files
from .precision_option import PrecisionChoice, precision_options
from .progress import progress_bar
from .state_option import state_option
from .verbosity import is_quiet
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..benchmark.record import Record
    from ..driver.options import Options
    from ..ir import Module


@click.command(name="bench", cls=Command, short_help="Time a network and its kernels, beside the machine's peak.")
@click.argument("file", type=param_types.MODULE)
@click.option(
    "--target",
    type=param_types.BACKEND,
    metavar="BACKEND",
    default="c",
    show_default=True,
    help="As for `irtool build`.",
)
@level_option
@main_option("The entry.")
@precision_options
@type_options(ARRAYS, ONE_ARRAY)
@loads_files
@state_option
@cache_option
@missing_constants_option
@mcpu_option
@cc_option
@cflags_option
@math_option
@opt_option
@openmp_option
@click.option("--seed", default=0, show_default=True, help="Seed of random inputs and weights.")
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0.001, 600),
    default=0.3,
    show_default=True,
    metavar="SECONDS",
    help="How long a round of the network runs, and all rounds of a kernel.",
)
@click.option(
    "--rounds", type=click.IntRange(1, 100), default=3, show_default=True, help="Rounds, which show the noise."
)
@click.option("--interp/--no-interp", default=True, show_default=True, help="Time the interpreter too.")
@click.option("--kernels/--no-kernels", default=True, show_default=True, help="Time each kernel by itself.")
@runner_option("the measuring programs of kernels")
@board_option
@time_limit_option
@click.option(
    "--json",
    "output",
    type=param_types.WRITTEN,
    metavar="FILE",
    help="Write the record (`-`: print it, and nothing else).",
)
@click.option(
    "--compare",
    "earlier",
    type=param_types.READ,
    metavar="OLD.json",
    help="Compare with an earlier record; exit code 1 if the network is slower.",
)
@click.option(
    "--trace", type=param_types.WRITTEN, metavar="FILE.json", help="Write the kernels as a trace for Perfetto."
)
def command(
    file: str,
    target: str,
    level: int,
    entry: str,
    precision: PrecisionChoice,
    param_facts: ParamFacts,
    cache_dtype: str | None,
    missing_constants: str,
    seed: int,
    seconds: float,
    rounds: int,
    interp: bool,
    kernels: bool,
    runner: tuple[str, ...],
    board: str | None,
    time_limit: float | None,
    output: str | None,
    earlier: str | None,
    trace: str | None,
    **flags: Any,
) -> None:
    """Compile FILE, time runs of it and of each of its kernels, and print them beside the limits of the machine.

    Every time is the best of a round; the median of the rounds is printed. Kernels run singly, with their weights in memory as
    in the network, and count as often as a run executes them. Inputs and weights that nobody gives are random.

    With --board, count the instructions of a run and of its kernels instead, in the board's emulator.

    \b
    Examples:
      irtool bench net.onnx
      irtool bench net.relay --params weights.npz --json before.json
      irtool bench net.relay --params weights.npz --compare before.json --no-interp
      irtool bench net.tflite --board mps2-an386
      irtool bench net.onnx --trace trace.json                              open it at https://ui.perfetto.dev
    """
    from ..benchmark.compare import SLOWER, changes
    from ..benchmark.record import Record
    from ..benchmark.trace import to_trace
    from ..diagnostics import UsageError

    if board is None and time_limit is not None:
        raise UsageError("--time-limit goes with --board", code=ClashingOptions)
    if board is not None:
        _refuse_times()
        options = measured_build(target, level, entry, {**flags, "board": board})
        counted = _workload(file, param_facts, cache_dtype, missing_constants, seed, options, precision)
        _count(counted, options, time_limit, output)
        return
    if trace is not None and not kernels:
        raise UsageError("--trace is of kernels, which --no-kernels leaves out", code=ClashingOptions)
    if [output, trace].count("-") > 1:
        raise UsageError("--json and --trace cannot both be printed", code=ClashingOptions)
    before = Record.read(earlier) if earlier is not None else None
    options = measured_build(target, level, entry, flags)
    workload = _workload(file, param_facts, cache_dtype, missing_constants, seed, options, precision)
    options_used = {"target": target, "level": level, "precision": precision.name, **as_flags(**flags)}
    if cache_dtype:
        options_used["cache_dtype"] = cache_dtype
    record = Record(file, _machine(options), options_used)
    _measure_whole(record, workload, options, (seconds, rounds), interp)
    if kernels:
        _measure_kernels(record, workload, options, (seconds, rounds), runner)
    if output is not None:
        write_text(output, record.to_json())
    if trace is not None:
        write_text(trace, to_trace(record))
    quiet = "-" in (output, trace) or is_quiet()
    if not quiet:
        click.echo(show_record(record, sys.stdout))
    if before is not None:
        differences = list(changes(before, record))
        if not quiet:
            click.echo("\n" + show_changes(differences))
        if any(c.what == "the network" and c.verdict == SLOWER for c in differences):
            raise click.exceptions.Exit(1)


_OF_TIMES = {
    "seconds": "--time",
    "rounds": "--rounds",
    "interp": "--interp",
    "kernels": "--kernels",
    "runner": "--runner",
    "earlier": "--compare",
    "trace": "--trace",
}
"""The options that are about times, by parameter."""


def _refuse_times() -> None:
    """Raises UsageError for an option about times on a command line with --board, which counts instructions."""
    from ..diagnostics import UsageError

    context = click.get_current_context()
    for name, option in _OF_TIMES.items():
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(f"{option} is about times, and --board counts instructions", code=ClashingOptions)


def _count(workload: _Workload, options: Options, time_limit: float | None, output: str | None) -> None:
    """Counts the instructions on a board, and prints or writes them."""
    import json

    from ..driver.counting import count_instructions
    from ..ir import Function
    from ..ir.tensor_names import state_outputs
    from .board_counts import list_counts

    function = workload.module.functions[workload.entry]
    assert isinstance(function, Function)
    states = state_outputs(function)
    inputs = [v for p, v in zip(function.params, workload.values, strict=True) if p not in states]
    record = count_instructions(workload.module, options, inputs, time_limit).record()
    if output is not None:
        write_text(output, json.dumps(record, indent=1) + "\n")
    if output != "-" and not is_quiet():
        click.echo("\n".join(list_counts(record)))


@dataclass(frozen=True)
class _Workload:
    """A module with its weights bound, and the inputs of its entry."""

    module: Module
    entry: str
    values: list[Any]


def _workload(
    file: str,
    param_facts: ParamFacts,
    cache_dtype: str | None,
    missing_constants: str,
    seed: int,
    options: Options,
    precision: PrecisionChoice,
) -> _Workload:
    """The network in its precision. Raises IrError for a module without the entry, or with types that are not known."""
    from ..diagnostics import IrError
    from ..driver.mistakes import NoSuchEntry
    from ..ir import Function
    from .parameter_values import parameter_values

    (entry,) = options.entries
    read = read_entry_module(file, param_facts, entry, missing_constants, seed)
    context = {"opt_level": options.opt_level, "target": options.target}
    module = with_cache_dtype(read.module, entry, cache_dtype, **context)
    function = module.functions[entry]
    if not isinstance(function, Function):
        raise IrError(f"@{entry} in {file} has been lowered: it cannot be run by itself", code=NoSuchEntry)
    values, missing = parameter_values(function, module, entry, read.param_facts, seed, True, read.places)
    say_random(missing, max(len(read.places), len(function.params)), seed)
    machine = options.backend.machine()
    lowered = precision.lower(module, entry, read.param_facts.names, machine, **context)
    return _Workload(lowered.module, entry, values)


def _machine(options: Options) -> str:
    from ..driver.tuned_table import machine_name

    return machine_name(options.backend, options.backend.machine())


def _measure_whole(
    record: Record, workload: _Workload, options: Options, patience: tuple[float, int], interp: bool
) -> None:
    from ..benchmark.measure import measure_calls
    from ..benchmark.record import LengthTimes
    from ..driver.session import BuildInput, Session
    from ..infer.lengths import symbols_of_params
    from ..interp.cut_values import cut_values
    from ..interp.evaluate import evaluate
    from ..ir import Function
    from ..ir.tensor_names import state_outputs
    from .run_lengths import timed_lengths
    from .run_steps import rows_until_full, taking_steps

    seconds, rounds = patience
    artifact = Session(options, False).build(BuildInput(lambda: workload.module, dict, lambda key: None), None)
    function = workload.module.functions[workload.entry]
    assert isinstance(function, Function)
    states = state_outputs(function)
    inputs = [v for p, v in zip(function.params, workload.values, strict=True) if p not in states]
    steps = rows_until_full(function, workload.values)
    run = artifact.instance().step if states else artifact.run
    if steps:
        record.whole = measure_calls(taking_steps(artifact.instance(), steps), seconds, rounds)
    else:
        record.whole = measure_calls(lambda: run(inputs), seconds, rounds)
    for lengths in timed_lengths(symbols_of_params(function)) if not states else ():
        values = cut_values(function, workload.values, lengths)
        if values is not None:
            times = measure_calls(partial(artifact.run, values), seconds, rounds)
            named = {s.name: n for s, n in lengths.items()}
            record.by_length.append(LengthTimes(times.rounds, named))
    record.region_used = artifact.region_used
    if interp:
        record.interpreter = measure_calls(
            lambda: evaluate(workload.module, workload.values, entry=workload.entry), 0, 1
        )


def _measure_kernels(
    record: Record, workload: _Workload, options: Options, patience: tuple[float, int], runner: tuple[str, ...]
) -> None:
    from ..benchmark.machine import measure_peak
    from ..benchmark.measure import measure_kernels
    from ..driver.prepare import prepare_entries

    seconds, rounds = patience
    record.peak = measure_peak(options.backend)
    prepared = prepare_entries(workload.module, options, ())
    with progress_bar("measuring kernels") as progress:
        runs = measure_kernels(prepared, options, workload.values, seconds, rounds, runner, progress)
    record.kernels, record.sequence, record.repeats = runs.kernels, runs.sequence, runs.repeats
    record.skipped = runs.left_out
