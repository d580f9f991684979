"""`irtool build`: compiles a module."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from . import kinds
from .compiler_options import (
    cc_option,
    cflags_option,
    level_option,
    math_option,
    missing_constants_option,
    openmp_option,
)
from .known_types import ARRAYS, Given, type_options, warn
from .mistakes import ClashingOptions
from .notes import conversions_as_notes, say_constants
from .optional_value import OptionalValues
from .pass_options import PassChoice, pass_options, report_instruments
from .print_options import PrintChoice, print_options
from .tables import drawer

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Module
    from .subject import Subject


@click.command(name="build", cls=OptionalValues, short_help="Compile a module to C, a library or a program.")
@click.argument("file", type=kinds.MODULE)
@click.option(
    "--target",
    type=kinds.BACKEND,
    metavar="BACKEND",
    default="c",
    show_default=True,
    help="The backend, optionally with flags: 'c{math=strict}', or in TVM's notation, 'c -mcpu=cortex-a72'. See "
    "`irtool backends`. The options below set the same flags.",
)
@click.option(
    "-o",
    "out_dir",
    type=kinds.BUILD,
    metavar="DIR",
    default=None,
    help="Output folder; - prints NAME.tir or NAME.c instead. Default: NAME.out in the current folder.",
)
@click.option("--name", default=None, metavar="NAME", help="Prefix of files and C names. Default: the file's name.")
@click.option(
    "--emit",
    type=kinds.OUTPUT,
    metavar="tir|c|obj|so|exe|mlf",
    default="",
    show_default="so",
    help="Output kind: scheduled loop nests, sources, object files, shared library, program, or model "
    "library format. Kinds depend on the backend.",
)
@level_option
@pass_options("Passes to run before the build pipeline, on the module with its weights bound.")
@click.option(
    "--entry",
    "entries",
    type=kinds.FUNCTION,
    multiple=True,
    default=("main",),
    show_default=True,
    metavar="FUNCTION",
    help="The function that NAME_run calls. Repeatable: each further one becomes NAME_run_FUNCTION.",
)
@type_options(ARRAYS)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME",
    help="A runtime input (repeatable). If given, every other parameter must have a value in --params.",
)
@click.option(
    "--weights",
    type=click.Choice(["auto", "inline", "split", "file"]),
    default=None,
    show_default="auto",
    help="Where to keep weights: in NAME.c, in NAME_weights.c, or in the memory-mapped file NAME.bin.",
)
@click.option(
    "--verify-weights/--no-verify-weights",
    default=None,
    show_default="verify",
    help="Verify the digest of NAME.bin on loading (about 0.2 s per gigabyte).",
)
@missing_constants_option
@click.option(
    "--mcpu",
    default=None,
    show_default="native; with --emit=c, portable",
    metavar="CPU",
    help="Target processor: native, x86-64-v3, cortex-a72, …; `none` for the compiler's default; several levels, such as "
    "x86-64-v2,x86-64-v3,x86-64-v4, or `portable`: code for each, chosen at run time.",
)
@cc_option
@cflags_option
@click.option(
    "--sanitize",
    default=None,
    metavar="WHAT,…",
    help="Sanitizers: address, undefined, leak, thread, memory. All but undefined require --emit=exe.",
)
@click.option(
    "--build-file",
    multiple=True,
    type=click.Choice(["cmake", "make"]),
    help="Also write NAME.cmake or NAME.mk for inclusion in other builds. Repeatable.",
)
@click.option(
    "--vector",
    type=click.Choice(["auto", "none"]),
    default=None,
    show_default="auto",
    help="Vectorize with the compiler's vector types, or write scalar code only.",
)
@click.option("--no-vector", "vector", flag_value="none", help="The same as --vector=none.")
@math_option
@openmp_option
@click.option(
    "--api",
    type=click.Choice(["flat", "tvm"]),
    default=None,
    show_default="flat",
    help="C interface: NAME_run(x, out), or TVM's tvmgen_NAME_run(inputs, outputs) as well.",
)
@click.option(
    "--testbench",
    is_flag=True,
    default=None,
    help="Also write NAME_test.c, which compares the outputs with the interpreter's.",
)
@click.option(
    "--cache/--no-cache", default=True, show_default=True, help="Reuse cached builds of the same input and options."
)
@click.option(
    "--explain",
    "explain_schedule",
    is_flag=True,
    help="Print the strategy, reason and primitives of every stage, in the syntax of --schedule.",
)
@click.option(
    "--schedule",
    "schedule_file",
    type=kinds.READ,
    metavar="FILE",
    default=None,
    help="Read hand-written schedules, in the syntax of --explain; see docs/schedules.md.",
)
@click.option(
    "--tuned",
    type=kinds.READ,
    metavar="FILE.json",
    default=None,
    help="Use the measurements of `irtool tune`, where there are any for this machine.",
)
@click.option(
    "--report", "report_file", type=kinds.WRITTEN, metavar="FILE.json", default=None, help="Write the build report."
)
@click.option(
    "--graph",
    "graph_file",
    type=kinds.WRITTEN,
    metavar="FILE.json",
    default=None,
    help="Write the graph as JSON for TVM's graph executor.",
)
@print_options("the module or scheduled program", "passes and stages")
@click.option("--time-passes", is_flag=True, help="Report the time and operator counts of each pass on standard error.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(
    file: str,
    target: str,
    out_dir: str | None,
    name: str | None,
    level: int,
    chosen: PassChoice,
    entries: tuple[str, ...],
    given: Given,
    inputs: tuple[str, ...],
    missing_constants: str,
    printed: PrintChoice,
    time_passes: bool,
    explain_schedule: bool,
    schedule_file: str | None,
    report_file: str | None,
    graph_file: str | None,
    cache: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compile a module to NAME.h, NAME.c, a weights file if the weights are large, and the output of --emit.

    The environment variables CC and CFLAGS are honoured. Builds are cached in $XDG_CACHE_HOME/irtool.

    \b
    irtool build net.relay --params weights.npz -o out/
    irtool build --emit=exe --testbench --vector=none net.relay
    irtool build --cc=aarch64-linux-gnu-gcc --mcpu=cortex-a72 net.relay
    irtool build --emit=tir net.relay
    irtool build --print-after=ChooseLayouts,ScheduleKernels net.relay
    """
    from ..diagnostics import UsageError
    from ..driver import build, graph_json
    from ..driver.options import choose_backend, default_emit
    from ..driver.stages import STAGES
    from ..passes.instruments.timing import Timing
    from .explaining import explain
    from .output import write_text
    from .source import read_text
    from .subject import read_subject

    backend, *_ = choose_backend(target, {})
    subject = read_subject(file)
    asked = given
    name = name or backend.fit_name(_stem(file))
    printed_kinds = ("tir", backend.emits[0])
    to_output = out_dir == "-" or (options["emit"] == "tir" and out_dir is None)
    if to_output and options["emit"] not in printed_kinds:
        raise UsageError(
            f"--emit={options['emit'] or default_emit(backend)} writes files; -o - prints {' and '.join(printed_kinds)} only",
            help="name a folder: -o out/",
            code=ClashingOptions,
        )
    folder = None if to_output else out_dir or f"{name}.out"
    watching = [*chosen.instruments, *printed.instruments(stages=tuple(s.name for s in STAGES))]
    if time_passes:
        timing = Timing()
        timing.draw = drawer(sys.stderr)
        timing.import_all()
        watching.append(timing)
    unfiled: list[str] = []
    said: list[str] = []

    def texts(made: Any) -> dict[str, str]:
        found = []
        if graph_file:
            found.append((graph_file, graph_json(made.prepared, entries[0])))
        if report_file:
            found.append((report_file, json.dumps(made.report, indent=1) + "\n"))
        unfiled.extend(text for path, text in found if path == "-")
        return {path: text for path, text in found if path != "-"}

    def module() -> Any:
        nonlocal given
        found, given = module_to_build(subject, asked, entries[0], missing_constants, said)
        return found

    start = time.perf_counter()
    with conversions_as_notes(said):
        artifact = build(
            module,
            params=(lambda: given.weights) if given.params or subject.has_weights else None,
            target=target,
            opt_level=level,
            out_dir=folder,
            name=name,
            entry=entries,
            inputs=inputs or None,
            # What is asked of the passes is not in the cache.
            cache=cache and not (graph_file or watching),
            content=repr((subject.key(), asked.key(), missing_constants)).encode("utf-8", "surrogatepass"),
            passes=chosen.passes,
            schedule=read_text(schedule_file)[0] if schedule_file else "",
            instruments=watching,
            also=texts,
            warnings=said,
            **chosen.context,
            **{n: v for n, v in options.items() if v not in ((), "")},
        )
    seconds = time.perf_counter() - start
    for warning in artifact.report["warnings"][len(said) :]:  # what an earlier build, from the cache, had to say
        click.echo(warning, err=True)
    report_instruments(watching)
    for text in unfiled:
        write_text("-", text)
    if explain_schedule:
        click.echo(explain(artifact.report["kernels"]), nl=False, err=to_output)
    if to_output:
        printed_file = next(f for f in artifact.files if f.endswith(f"{name}.{options['emit']}"))
        with open(printed_file, encoding="utf-8") as printed_program:
            write_text(None, printed_program.read())
    elif not quiet:
        _summary(artifact, seconds)
        if options["emit"] == backend.emits[0] and "compile" in artifact.report:
            click.echo(f"compile it, in {folder}, with: {artifact.report['compile']}")


def module_to_build(
    subject: Subject, given: Given, entry: str, missing_constants: str, said: list[str]
) -> tuple[Module, Given]:
    """The module as it is compiled, constants filled in, and what is known of its parameters; `said` gets what was said."""
    from ..diagnostics import render
    from ..passes.bind import fill_missing_constants
    from .subject import module_of

    def say(found: Diagnostic) -> None:
        warn(found)
        said.append(render([found]))

    module, given = module_of(subject, given, said, is_settled=True)
    if missing_constants in ("error", "param"):  # as parameters they may be among what is given
        module = fill_missing_constants(module, missing_constants)
    module = given.specialize(module, entry, say)
    sentence = say_constants(module, missing_constants)
    said += [f"note: {sentence}"] if sentence else []
    return fill_missing_constants(module, missing_constants), given


def _stem(file: str) -> str:
    """The file's name without folder and ending."""
    return os.path.basename(file).split(".")[0] if file != "-" else "module"


def _summary(artifact: Any, seconds: float) -> None:
    report = artifact.report
    for path in artifact.files:
        click.echo(f"wrote {path} ({os.path.getsize(path)} bytes)")
    click.echo(
        f"{len(report['kernels'])} kernels, arena {artifact.arena_bytes} bytes "
        f"(lower bound {report['arena_lower_bound']}), "
        f"weights {report.get('weight_bytes', 0)} bytes, "
        f"{'from the cache' if artifact.cached else 'built'} in {seconds:.2f} s"
    )
