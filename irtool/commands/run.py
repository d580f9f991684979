"""`irtool run`: runs a module on the interpreter or through a backend, and compares two ways."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .cache_option import cache_option, with_cache_dtype
from .comparing import evaluate_in_double, report_comparison
from .compiler_options import (
    board_option,
    cc_option,
    cflags_option,
    mcpu_option,
    missing_constants_option,
    opt_option,
    runner_option,
    time_limit_option,
)
from .earlier_build import EarlierBuild, RandomValues, find_earlier, keep_build, key_of_run
from .engines import check_way
from .entry_module import read_entry_module
from .images import ImageRule, image_options
from .mistakes import ClashingOptions
from .output_checks import OutputChecks, output_check_options
from .param_facts import ParamFacts, main_option, type_options
from .parameter_values import parameter_values
from .pass_options import PassChoice, pass_options, report_instruments
from .precision_option import PrecisionChoice, error_line, machine_of, precision_options
from .run_steps import Keep, Rows, evaluate_rows, names_without_states, run_rows, step_values
from .saved_outputs import SavedStates, save_outputs
from .state_option import state_option
from .tables import drawer
from .warning_flags import current_flags, say_warning, warn
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..driver.precision import Lowered
    from ..driver.session import Session
    from ..ir import Function, Module


def _ways(ctx: click.Context, option: click.Parameter, value: str) -> list[str]:
    ways = [w.strip() for w in re.split(r",(?![^{]*\})", value) if w.strip()]
    for w in ways:
        check_way(ctx, option, w)
    if value and len(ways) < 2:
        raise click.BadParameter("two ways are needed: interp,c", ctx, option)
    return ways


@click.command(name="run", cls=Command, short_help="Run a module on the interpreter or through a backend, or compare.")
@click.argument("file", type=param_types.MODULE)
@click.option(
    "--via",
    type=param_types.WAY,
    default="interp",
    show_default=True,
    callback=check_way,
    metavar="interp|BACKEND",
    help="Execution: the interpreter, or a backend such as c or 'c{math=strict}' (see `irtool backends`).",
)
@click.option(
    "--compare",
    type=param_types.WAYS,
    default="",
    callback=_ways,
    metavar="interp,c",
    help="Run both ways (values of --via) and compare the outputs; exit code 1 if they differ.",
)
@main_option("The function to run.")
@type_options(
    "Parameter values by name, from .npz, .params, or a folder of ONNX test data (input_0.pb, …); random for missing ones.",
    "One parameter, from a .npy file, the array of that name in an .npz (of another name: FILE.npz:NAME), or an image.",
)
@image_options
@state_option
@cache_option
@click.option(
    "--steps",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Steps of a network with states; outputs are those of all of them, along a further axis in front. Random inputs differ from step "
    "to step, and an array with such an axis has the values of each.",
)
@click.option(
    "--seed",
    default=0,
    show_default=True,
    help="Seed of random values. They depend on a parameter's type and position, not on its name.",
)
@click.option(
    "--random/--no-random",
    default=True,
    show_default=True,
    help="Generate random values for parameters without one, or fail.",
)
@click.option(
    "-O",
    "level",
    type=click.IntRange(0, 4),
    default=3,
    show_default=True,
    help="Level of the build pipeline (through a backend).",
)
@pass_options("Passes to run on the module before execution.")
@cc_option
@mcpu_option
@opt_option
@cflags_option
@click.option(
    "--sanitize",
    default="",
    metavar="WHAT,…",
    help="Sanitizers of the compiled program: address, undefined, leak, thread, memory.",
)
@runner_option("the compiled program")
@board_option
@time_limit_option
@missing_constants_option
@precision_options
@click.option(
    "--tolerance",
    type=float,
    default=None,
    show_default="0.001; 0.05 with a lower --precision",
    help="Maximum difference, relative to the largest output.",
)
@click.option(
    "--per-layer",
    is_flag=True,
    help="With --compare: first compare the values of all layers, and print the first one that differs, with its place.",
)
@click.option(
    "--repeat", default=1, show_default=True, type=click.IntRange(1), help="Number of runs; the fastest is reported."
)
@click.option(
    "--cache/--no-cache",
    default=True,
    show_default=True,
    help="Of --via=BACKEND: reuse cached builds of the same module and options.",
)
@click.option(
    "-o",
    "output",
    type=param_types.WRITTEN,
    metavar="FILE.npz",
    default=None,
    help="Write the outputs as out0, out1, …; the only one as FILE.npy, too.",
)
@click.option(
    "--save-states",
    "states_file",
    type=param_types.WRITTEN,
    metavar="FILE.npz",
    default=None,
    help="Write the states of a network after the last step by name, such as trained weights; --params takes the file.",
)
@click.option("--by-name", is_flag=True, help="With -o: write the outputs by the names that they have in the model.")
@output_check_options
@click.option("-v", "--verbose", is_flag=True, help="Also report passes, kernels, memory and time.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the result of the comparison.")
def command(
    file: str,
    via: str,
    compare: list[str],
    entry: str,
    param_facts: ParamFacts,
    image: ImageRule,
    cache_dtype: str | None,
    steps: int,
    seed: int,
    random: bool,
    level: int,
    chosen: PassChoice,
    missing_constants: str,
    precision: PrecisionChoice,
    tolerance: float | None,
    per_layer: bool,
    repeat: int,
    cache: bool,
    output: str | None,
    states_file: str | None,
    by_name: bool,
    checks: OutputChecks,
    verbose: bool,
    quiet: bool,
    cc: str | None,
    mcpu: str | None,
    opt: str | None,
    cflags: str,
    sanitize: str,
    runner: tuple[str, ...],
    board: str | None,
    time_limit: float | None,
) -> None:
    """Run a module on given or random inputs and print its outputs.

    \b
    Examples:
      irtool run net.relay --inputs weights.npz --input data=image.npy -o out.npz
      irtool run net.relay --compare interp,c --verbose
      irtool run net.relay --compare interp,c --per-layer
      irtool run net.relay --via=c --input data=image.npy --expect out.npz
      irtool run net.onnx --input data=cat.png --resize 256 --crop 224 --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --top 5
      irtool run net.relay --compare interp,c --cc aarch64-linux-gnu-gcc --runner 'qemu-aarch64 -L /usr/aarch64-linux-gnu'
      irtool run net.tflite --compare interp,c --board mps2-an386
    """
    from ..diagnostics import IrError
    from ..ir import Function
    from ..ir.tensor_names import output_names
    from ..ir.values import value_leaves

    _check_options(missing_constants, random, output, by_name)
    flags = {"cc": cc, "mcpu": mcpu, "opt": opt, "cflags": cflags, "sanitize": sanitize, "board": board}
    compiling = _compiling(compare or [via], flags, runner, time_limit)
    checks.check()
    image.check(param_facts.single)
    param_facts = replace(param_facts, image=image)
    key = ""
    if cache and via != "interp" and not (compare or verbose or chosen.instruments):
        session = _session(via, entry, level, chosen, (), compiling, is_cached=True)
        compiling = replace(compiling, session=session)
        if precision.is_exact and not (cache_dtype or steps > 1 or states_file or checks.dump_values):
            key = key_of_run(session, file, param_facts, entry, missing_constants, seed, random, chosen.passes)
        if (earlier := find_earlier(session, key, param_facts)) is not None:
            return _run_earlier(earlier, repeat, quiet, output, by_name, checks)
    read = read_entry_module(file, param_facts, entry, missing_constants, seed)
    before = read.module
    own_caches = _transformed(before, entry, chosen, level)
    module = exact = with_cache_dtype(own_caches, entry, cache_dtype, opt_level=level, **chosen.context)
    machine = machine_of(compare or [via], compiling.options)
    lowered = precision.lower(module, entry, read.param_facts.names, machine, opt_level=level, **chosen.context)
    module = lowered.module
    function = module.functions[entry]
    if not isinstance(function, Function):
        raise IrError(f"@{entry} has been lowered: it cannot be run by itself", help="run the function that calls it")

    def values_of(facts: ParamFacts, seed: int) -> tuple[list[Any], list[str]]:
        return parameter_values(function, before, entry, facts, seed, random, read.places)

    rows, values, missing = step_values(function, read.param_facts, seed, steps, values_of)
    tolerance = (1e-3 if precision.is_exact else 5e-2) if tolerance is None else tolerance
    if per_layer:
        _compare_layers(function, module, rows, compare, tolerance, (level, chosen, compiling))
    names, saved = names_without_states(function, output_names(before[entry])), SavedStates(states_file, function)
    drawn = RandomValues.of(function.params, values, missing, len(read.places), seed)
    results: dict[str, Any] = {}
    facts: list[str] = []
    for way in compare or [via]:
        results[way], build_key = _run(
            module, entry, rows, way, level, chosen, repeat, verbose, compiling, facts, bool(compare), saved.keep
        )
        keep_build(key, build_key, read.param_facts.names, names, read.messages, drawn)
    report_instruments(chosen.instruments)
    drawn.say()
    first = next(iter(results.values()))
    _give(first, names, quiet, output, by_name)
    saved.write()
    checks.dump(module, entry, values)
    leaves = value_leaves(first)
    checks.rank(leaves)
    _show_cache_error("" if quiet else cache_dtype, own_caches, exact, entry)
    if not precision.is_exact and not quiet:
        _show_error(precision, lowered, evaluate_rows(exact, rows, entry), first, bool(missing))
    if compare:
        report_comparison(results, tolerance, quiet, lambda: evaluate_in_double(module, rows, entry), facts)
    checks.compare(leaves, names)


def _check_options(missing_constants: str, random: bool, output: str | None, by_name: bool) -> None:
    """Raises UsageError for options that exclude each other."""
    from ..diagnostics import UsageError

    if missing_constants == "random" and not random:
        raise UsageError("--missing-constants=random makes values, and --no-random refuses them", code=ClashingOptions)
    if by_name and (output is None or output.lower().endswith(".npy")):
        raise UsageError("--by-name names the arrays of a .npz file", help="add -o FILE.npz", code=ClashingOptions)


def _compare_layers(
    function: Function,
    module: Module,
    rows: Rows,
    ways: Sequence[str],
    tolerance: float,
    building: tuple[int, PassChoice, _Compiling],
) -> None:
    """Compares the values of all layers; see `layer_comparison`."""
    from .layer_comparison import check_layers, compare_layers

    level, chosen, compiling = building
    (entry,) = [name for name, f in module.functions.items() if f is function]
    compiling = replace(compiling, session=None)  # that of the network as it is
    check_layers(function, ways)

    def run(every: Module, way: str) -> Any:
        return _run(every, entry, rows, way, level, chosen, 1, False, compiling, [], True)[0]

    compare_layers(module, entry, rows, ways, run, tolerance)


def _show_error(precision: PrecisionChoice, lowered: Lowered, exact: Any, result: Any, is_random: bool) -> None:
    """Prints the error of a lower precision, and a warning if it is too large."""
    from ..driver.mistakes import LowRatio
    from ..driver.precision import is_too_low, low_ratio_sentence, precision_error

    error = precision_error(exact, result)
    click.echo(error_line(precision.name, error, lowered.calibrated, "random inputs" if is_random else ""))
    if is_too_low(error.snr):
        say_warning(low_ratio_sentence(error.snr, lowered.worst()), LowRatio)


def _show_cache_error(dtype: str | None, exact: Module, module: Module, entry: str) -> None:
    """Prints the error of caches in another dtype, and a warning if it is too large; nothing without a dtype."""
    if not dtype:
        return
    from ..driver.caches import cache_error_sentence, measure_cache_error
    from ..driver.mistakes import LowRatio
    from ..driver.precision import is_too_low, low_ratio_sentence

    error = measure_cache_error(exact, module, entry)
    click.echo(cache_error_sentence(dtype, error))
    if is_too_low(error.snr):
        say_warning(low_ratio_sentence(error.snr, ()), LowRatio)


def _compiling(
    ways: Sequence[str], flags: Mapping[str, str | None], runner: tuple[str, ...], time_limit: float | None
) -> _Compiling:
    """Options for compiling and running C. Raises UsageError if none of the ways of running is C, or there is no program."""
    from ..diagnostics import UsageError

    options = {name: value for name, value in flags.items() if value}
    if (options or runner) and not any(w.partition("{")[0] == "c" for w in ways):
        *most, last = [f"--{name}" for name in (*options, *(["runner"] if runner else []))]
        raise UsageError(
            f"{', '.join(most)} and {last} are for compiled C" if most else f"{last} is for compiled C",
            help="run with --via=c or --compare=interp,c",
            code=ClashingOptions,
        )
    is_program = bool(runner) or "sanitize" in options or "board" in options
    if time_limit is not None and not is_program:
        raise UsageError(
            "--time-limit is for programs: use it with --board, --runner or --sanitize", code=ClashingOptions
        )
    return _Compiling({**options, "emit": "exe" if is_program else ""}, runner, time_limit)


@dataclass(frozen=True)
class _Compiling:
    """The options of a build of C by name, the words that its program is run with, the time limit of a run in seconds, and the session
    of a build with the cache."""

    options: Mapping[str, Any]
    runner: tuple[str, ...]
    time_limit: float | None = None
    session: Session | None = None


def _transformed(module: Module, entry: str, chosen: PassChoice, level: int) -> Module:
    """The module after `--passes`, if there are any, in which the entry must still be."""
    if not chosen.passes:
        return module
    from ..diagnostics import IrError
    from ..driver.mistakes import NoSuchEntry
    from ..passes import run_passes

    module = run_passes(
        module,
        chosen.passes,
        opt_level=level,
        instruments=chosen.instruments,
        warn=warn,
        **chosen.context,
    )
    if entry not in module.functions:
        raise IrError(f"there is no function @{entry} any more after {','.join(chosen.passes)}", code=NoSuchEntry)
    return module


def _run(
    module: Module,
    entry: str,
    rows: Rows,
    way: str,
    level: int,
    chosen: PassChoice,
    repeat: int,
    verbose: bool,
    compiling: _Compiling,
    facts: list[str],
    compares: bool = False,
    keep: Keep | None = None,
) -> tuple[Any, str]:
    """The outputs by one way of running, and the key of the build in the cache, empty if it is not there; facts for the final line are
    added to `facts`."""
    if way == "interp":
        result, seconds = _timed(lambda: evaluate_rows(module, rows, entry, keep), repeat)
        if verbose:
            click.echo(f"interpreter: {seconds * 1e3:.2f} ms")
        return result, ""
    from ..driver.session import BuildInput
    from ..passes.instruments.timing import Timing

    timing = Timing()
    watched = [*chosen.instruments]
    if verbose:
        timing.draw = drawer(sys.stdout)
        timing.import_all()
        watched.append(timing)
    start = time.perf_counter()
    session = compiling.session or _session(way, entry, level, chosen, watched, compiling)
    artifact = session.build(BuildInput.of(module))
    key = artifact.key
    runner = compiling.runner if way.partition("{")[0] == "c" else ()
    special = artifact.specialized(rows[0])
    if special.baked:
        if special.refusal is not None and compares and not (special.inputs and special.artifact.report["kernels"]):
            raise special.refusal  # nothing is left to compile: a comparison would say nothing of compiled code
        _say_baked(special.baked)
        facts.append(f"{', '.join('%' + n for n in special.baked)} baked in")
    artifact, rows = special.artifact, [special.inputs, *rows[1:]]
    artifact.time_limit = compiling.time_limit
    built = time.perf_counter() - start
    result, seconds = _timed(lambda: run_rows(artifact, rows, runner, keep), repeat)
    count = len(artifact.report["kernels"])
    facts += [f"{count} kernel{'' if count == 1 else 's'}", f"{seconds * 1e3:.3g} ms"]
    if artifact.region_used:
        facts.append(f"{artifact.region_used} of {artifact.report['region_bytes']} bytes of the region")
    if verbose:
        click.echo(timing.table())
        from .report import summarize

        click.echo(summarize(artifact.report))
        click.echo(f"built in {built:.2f} s, runs in {seconds * 1e3:.3f} ms")
    return result, key


def _session(
    way: str,
    entry: str,
    level: int,
    chosen: PassChoice,
    watched: Sequence[Any],
    compiling: _Compiling,
    is_cached: bool = False,
) -> Session:
    """The build of a way of running that compiles. Raises UsageError for wrong options."""
    from ..driver.build_options import BuildOptions
    from ..driver.session import Session

    flags = compiling.options if way.partition("{")[0] == "c" else {}
    options, notes = BuildOptions(None, way, level, entry=entry, **flags, **chosen.context).checked()
    return Session(options, is_cached, tuple(watched), notes, in_place=is_cached)


def _run_earlier(
    earlier: EarlierBuild, repeat: int, quiet: bool, output: str | None, by_name: bool, checks: OutputChecks
) -> None:
    """Runs an earlier build, and prints, writes and checks its outputs."""
    from ..ir.values import value_leaves

    for message in current_flags().printed(earlier.messages):
        click.echo(message, err=True)
    result, _ = _timed(lambda: earlier.artifact.run(earlier.values), repeat)
    earlier.random.say()
    _give(result, earlier.names, quiet, output, by_name)
    leaves = value_leaves(result)
    checks.rank(leaves)
    checks.compare(leaves, earlier.names)


def _say_baked(baked: Sequence[str]) -> None:
    """Warns that values of inputs are constants of the compiled code."""
    from ..diagnostics import Diagnostic
    from ..driver.mistakes import BakedInputs
    from ..driver.specialize import said_of

    note = "irtool build, whose code takes any values, refuses this network"
    warn(Diagnostic(said_of(baked), level="warning", notes=(note,), code=BakedInputs))


def _timed(function: Any, repeat: int) -> tuple[Any, float]:
    best, result = float("inf"), None
    for _ in range(repeat):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return result, best


def _give(result: Any, names: Sequence[str], quiet: bool, output: str | None, by_name: bool) -> None:
    """Prints the outputs, unless `quiet`, and writes them to the file `output`, if there is one."""
    if not quiet:
        _show(result, names)
    if output is not None:
        save_outputs(output, result, names if by_name else None)


def _show(value: Any, names: Sequence[str]) -> None:
    """Prints outputs, with the names that they have in the model that the module was made from."""
    import numpy as np

    from ..ir.values import value_leaves

    for i, leaf in enumerate(value_leaves(value)):
        name = f" ({names[i]})" if i < len(names) else ""
        if not isinstance(leaf, np.ndarray):
            click.echo(f"out{i}{name}: {leaf!r}")
            continue
        head = " ".join(f"{x:.6g}" if leaf.dtype.kind in "fV" else str(x) for x in leaf.ravel()[:8].tolist())
        more = " …" if leaf.size > 8 else ""
        click.echo(f"out{i}{name}: {leaf.dtype}{list(leaf.shape)}  {head}{more}")
