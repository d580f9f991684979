"""`irtool build`: compiles a module."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ..steps import recorded_by, timed
from . import param_types
from .build_options import (
    OutputChoice,
    ReportChoice,
    ScheduleChoice,
    flag_options,
    output_options,
    report_options,
    schedule_options,
)
from .cache_option import cache_option
from .compiler_options import level_option, missing_constants_option
from .cost import MEMORIES, footprint_record, list_footprint
from .mistakes import ClashingOptions, UnwritableFile
from .notes import conversions_as_notes, say_constants
from .optional_value import OptionalValues
from .param_facts import ARRAYS, ParamFacts, type_options
from .pass_options import PassChoice, pass_options, report_instruments
from .precision_option import PrecisionChoice, error_line, precision_options, say_calibrated
from .print_options import PrintChoice, print_options
from .progress import progress_bar, steps_shown
from .report import summarize, weight_sizes
from .state_option import state_option
from .tables import drawer
from .verbosity import is_verbose
from .warning_flags import current_flags, warn_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..diagnostics import Diagnostic
    from ..driver.cache import Key
    from ..driver.precision import Calibrated
    from ..driver.session import BuildInput
    from ..ir import Module
    from ..passes.instruments.dumping import Dumping
    from ..passes.instruments.time_trace import TimeTrace
    from .destination import Destination
    from .input_module import InputModule


@click.command(name="build", cls=OptionalValues, short_help="Compile a module to C, a library or a program.")
@click.argument("file", type=param_types.MODULE)
@click.option(
    "--target",
    type=param_types.BACKEND,
    metavar="BACKEND",
    default=None,
    show_default="the one that has the output of --emit; c if several do",
    help="The backend, optionally with flags: 'c{math=strict}', or in TVM's notation, 'c -mcpu=cortex-a72'. See "
    "`irtool backends`. The options below set the same flags.",
)
@output_options
@level_option
@pass_options("Passes to run before the build pipeline, on the module with its weights bound.")
@click.option(
    "--entry",
    "entries",
    type=param_types.FUNCTION,
    multiple=True,
    default=("main",),
    show_default=True,
    metavar="FUNCTION",
    help="The function that NAME_run calls. Repeatable: each further one becomes NAME_run_FUNCTION.",
)
@precision_options
@type_options(ARRAYS)
@state_option
@cache_option
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME",
    help="A runtime input (repeatable). If given, every other parameter must have a value in --params.",
)
@missing_constants_option
@flag_options
@click.option(
    "--cache/--no-cache", default=True, show_default=True, help="Reuse cached builds of the same input and options."
)
@schedule_options
@print_options("the module or scheduled program", "passes and stages")
@report_options
def command(
    file: str,
    target: str | None,
    output: OutputChoice,
    level: int,
    chosen: PassChoice,
    entries: tuple[str, ...],
    precision: PrecisionChoice,
    param_facts: ParamFacts,
    cache_dtype: str | None,
    inputs: tuple[str, ...],
    missing_constants: str,
    flags: Mapping[str, Any],
    cache: bool,
    schedules: ScheduleChoice,
    printed: PrintChoice,
    reports: ReportChoice,
) -> None:
    """Compile a module to NAME.h, NAME.c, a weights file if the weights are large, and the output of --emit.

    The environment variables CC and CFLAGS are honoured. Builds are cached in $XDG_CACHE_HOME/irtool.

    \b
    Examples:
      irtool build net.relay --params weights.npz -o out/
      irtool build --emit=exe --testbench --vector=none net.relay
      irtool build --cc=aarch64-linux-gnu-gcc --mcpu=cortex-a72 net.relay
      irtool build --emit=wasm net.relay -o web/
      irtool build --emit=tir net.relay -o net.tir
      irtool build --emit=isel --kernel=dense net.relay
      irtool build --print-after=ChooseLayouts,ScheduleKernels net.relay
    """
    from ..driver.options import choose_options, default_target
    from ..driver.session import Session
    from ..driver.tuned_table import with_table
    from .dependencies import begin_rule
    from .destination import find_destination
    from .input_module import read_input
    from .source import read_text

    target = target or default_target(output.emit)
    goal = find_destination(output, target, file, flags)
    rule = begin_rule(reports.depends, reports.dependency_file, goal, file)
    input_file = read_input(file)
    watching = _watching(chosen, printed, reports, output.only_kernel)
    dumping = _dumping(reports.dump_folder)
    watching += [dumping] if dumping is not None else []
    trace = _trace(reports.trace_file)
    watching += [trace] if trace is not None else []
    unfiled: list[str] = []
    messages: list[str] = []

    def texts(artifact: Any) -> dict[str, str]:
        current_flags().printed(artifact.report["warnings"][len(messages) :])
        paths_and_texts = reports.texts(artifact, entries[0])
        unfiled.extend(text for path, text in paths_and_texts if path == "-")
        if dumping is not None:
            paths_and_texts += _dumped(dumping, artifact, reports.dump_folder or "", goal.name)
        paths_and_texts += rule.texts(artifact.files, chosen.load)
        return {path: text for path, text in paths_and_texts if path != "-"}

    start = time.perf_counter()
    with conversions_as_notes(messages):
        options = choose_options(
            target,
            (flags,),
            opt_level=level,
            name=goal.name,
            entries=entries,
            emit=goal.emit,
            kernel=output.kernel_of(goal.emit),
            schedule=read_text(schedules.schedule_file)[0] if schedules.schedule_file else "",
            precision=precision.name,
            cache_dtype=cache_dtype or "",
            **chosen.context,
        )
        options, notes = with_table(options, schedules.tuned)
        # What is asked of the passes is not in the cache, and the digests that it keeps are of files that are not read again.
        cached = cache and not (reports.graph_file or watching or rule.path)
        source = _build_input(
            input_file, param_facts, entries[0], missing_constants, inputs, chosen.passes, precision, messages
        )
        session = Session(options, cached, watching, notes, not (reports.quiet or goal.is_printed), texts)
        # Instruments print their own output.
        with steps_shown("reading", reports.quiet or bool(watching)), _recording(trace), timed("step", "build"):
            artifact = session.build(source, goal.folder)
    seconds = time.perf_counter() - start
    for warning in current_flags().printed(artifact.report["warnings"][len(messages) :]):  # notes of the cached build
        click.echo(warning, err=True)
    _report(watching, trace, reports, unfiled)
    say_calibrated(calibrated_by(artifact.report))
    _tell(artifact, goal, reports, seconds, output.only_kernel)


def _report(watching: list[Any], trace: TimeTrace | None, reports: ReportChoice, unfiled: list[str]) -> None:
    """Prints the reports of instruments, writes the trace, and prints texts without a file."""
    from .output import write_text

    report_instruments(watching)
    if trace is not None:
        write_text(reports.trace_file, trace.to_json())
    for text in unfiled:
        write_text("-", text)


def calibrated_by(report: Mapping[str, Any]) -> Calibrated | None:
    """The calibration of a build, or None."""
    from ..driver.precision import Calibrated

    calibrated = (report.get("precision") or {}).get("calibrated")
    return None if calibrated is None else Calibrated(**calibrated)


def _trace(path: str | None) -> TimeTrace | None:
    """The instrument of `--time-trace`. Raises IrError for a file that cannot be written, before the build."""
    if path is None:
        return None
    from ..passes.instruments.time_trace import TimeTrace
    from .output import check_place

    if path != "-":
        check_place(path)
    return TimeTrace()


def _recording(trace: TimeTrace | None) -> AbstractContextManager[None]:
    """The context in which a trace, if there is one, gets the times of the parts of a build."""
    return nullcontext() if trace is None else recorded_by(trace.record)


def _dumping(folder: str | None) -> Dumping | None:
    """The instrument of `--dump-dir`. Raises UsageError for a folder with files, which would stand among those of this build, and for a file."""
    if folder is None:
        return None
    from ..diagnostics import UsageError
    from ..passes.instruments.dumping import Dumping

    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        what = "is not empty" if os.path.isdir(folder) else "is no folder"
        raise UsageError(f"--dump-dir={folder} {what}", help="name a new folder", code=ClashingOptions)
    return Dumping()


def _dumped(dumping: Dumping, emission: Any, folder: str, name: str) -> list[tuple[str, str]]:
    """The files of `--dump-dir`: those of passes and stages, then the sources that the backend wrote, further numbers in front."""
    from ..diagnostics import IrError
    from ..driver.outputs import chunks
    from ..passes.instruments.dumping import numbered

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise IrError(f"cannot write {folder}: {error.strerror or error}", code=UnwritableFile) from None
    files = dict(dumping.files)
    for file, content in emission.files.items():
        stem, _, ending = file.rpartition(".")
        if ending in ("c", "h", "ll", "tir", "isel") and stem.startswith(name):
            text = b"".join(bytes(part) for part in chunks(content)).decode()
            files[numbered(len(files), stem, ending)] = text
    return [(os.path.join(folder, file), text) for file, text in files.items()]


def _watching(
    chosen: PassChoice, printed: PrintChoice, reports: ReportChoice, only: re.Pattern[str] | None
) -> list[Any]:
    """The instruments of a command line; of programs, those that print show the kernels whose names match."""
    watching = list(chosen.instruments)
    if printed.prints:
        from ..driver.stages import STAGES

        watching += printed.instruments(stages=tuple(s.name for s in STAGES), kernel=only.pattern if only else "")
    if reports.time_passes:
        from ..passes.instruments.timing import Timing

        timing = Timing()
        timing.draw = drawer(sys.stderr)
        timing.import_all()
        watching.append(timing)
    return watching


def _build_input(
    input_file: InputModule,
    requested: ParamFacts,
    entry: str,
    missing_constants: str,
    inputs: Sequence[str],
    passes: Sequence[str],
    precision: PrecisionChoice,
    messages: list[str],
) -> BuildInput:
    """The input of the build; `messages` gets those of reading it."""
    from ..driver.session import BuildInput

    param_facts = requested

    def module() -> Module:
        nonlocal param_facts
        result, param_facts = module_to_build(input_file, requested, entry, missing_constants, messages)
        return result

    def weights() -> Mapping[str, Any]:
        return param_facts.weights if param_facts.params or input_file.has_weights else {}

    def calibration() -> Any:
        return precision.calibration(param_facts.names)

    def identify(key: Key) -> None:
        command_facts = (input_file.key(), requested.key(), missing_constants, precision.key())
        key.add(repr(command_facts).encode("utf-8", "surrogatepass"))

    return BuildInput(
        module,
        weights,
        identify,
        inputs or None,
        passes,
        messages,
        calibration if precision.files else None,
        lambda: progress_bar("calibrating"),
    )


def module_to_build(
    input_file: InputModule, param_facts: ParamFacts, entry: str, missing_constants: str, messages: list[str]
) -> tuple[Module, ParamFacts]:
    """The module to compile, constants filled in, and the known facts of its parameters; `messages` gets those of reading it."""
    from ..ir.odd_weights import odd_weights
    from ..passes.core.bind import fill_missing_constants
    from .input_module import module_of

    def say(diagnostic: Diagnostic) -> None:
        messages.extend(warn_of([diagnostic]))

    module, param_facts = module_of(input_file, param_facts, messages, is_settled=True)
    if missing_constants in ("error", "param"):  # as parameters they may be among what is given
        module = fill_missing_constants(module, missing_constants)
    for odd in odd_weights(module, param_facts.weights):
        say(odd)
    module = param_facts.specialize(module, entry, say)
    sentence = say_constants(module, missing_constants)
    messages += [f"note: {sentence}"] if sentence else []
    return fill_missing_constants(module, missing_constants), param_facts


def _tell(
    artifact: Any, goal: Destination, reports: ReportChoice, seconds: float, only: re.Pattern[str] | None
) -> None:
    """Prints the requested outputs: the explanation, the output itself, a summary."""
    if reports.explain:
        from .explaining import explain

        click.echo(explain(artifact.report, only), nl=False, err=goal.is_printed)
    if goal.is_printed:
        from .output import write_text

        path = next(f for f in artifact.files if f.endswith(f"{goal.name}.{goal.ending}"))
        with open(path, encoding="utf-8") as listing_file:
            write_text(None, listing_file.read())
    elif not reports.quiet:
        echo = partial(click.echo, err=reports.explain)  # the schedule alone, in a file, is one that --schedule reads
        _summary(artifact, seconds, echo)
        if is_verbose():
            echo(summarize(artifact.report))
            for line in list_footprint(footprint_record(artifact.report)):
                echo(line)
        if goal.is_source and "compile" in artifact.report:
            if "board" in artifact.report:
                echo(f"compile and run it with: make -C {shlex.quote(str(goal.folder))} run")
            else:
                echo(f"compile it, in {goal.folder}, with: {artifact.report['compile']}")


def _summary(artifact: Any, seconds: float, echo: Callable[[str], None]) -> None:
    report = artifact.report
    count = len(report["kernels"])
    for path in artifact.files:
        echo(f"wrote {path} ({os.path.getsize(path)} bytes)")
    echo(
        f"{count} {'kernel' if count == 1 else 'kernels'}, arena {artifact.arena_bytes} bytes "
        f"(lower bound {report['arena_lower_bound']}), "
        f"weights {weight_sizes(report)}, "
        f"{'from the cache' if artifact.cached else 'built'} in {seconds:.2f} s"
    )
    for kind, parts in footprint_record(report).get("footprint", {}).items():
        limit = parts["limit"]
        echo(f"{parts['bytes']} bytes of {MEMORIES[kind]}" + (f", of {limit}" if limit is not None else ""))
    caches = report.get("caches")
    if caches is not None and caches["error"] is not None:
        from ..driver.caches import cache_error_sentence
        from ..driver.precision import PrecisionError

        echo(cache_error_sentence(caches["dtype"], PrecisionError(**caches["error"])))
    reduced = report.get("precision")
    if reduced is not None and reduced["error"] is not None:
        from ..driver.precision import PrecisionError

        calibrated = calibrated_by(report)
        where = calibrated.measured_on if calibrated is not None else "random inputs"
        echo(error_line(reduced["dtype"], PrecisionError(**reduced["error"]), calibrated, where))
