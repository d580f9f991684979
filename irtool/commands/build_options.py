"""The options of `irtool build` that are about one thing each: flags of the backend, the output, the schedule, reports."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import click

from . import param_types
from .compiler_options import board_option, cc_option, cflags_option, math_option, openmp_option, opt_option
from .grouped import as_flags, grouped
from .regular_expression import pattern


@dataclass(frozen=True)
class OutputChoice:
    """The output options of a command line: `-o`, `--name`, `--emit`, `--kernel`, `--only-kernel`; empty or None if not given."""

    path: str | None = None
    name: str | None = None
    emit: str = ""
    kernel: re.Pattern[str] | None = None
    only_kernel: re.Pattern[str] | None = None

    def kernel_of(self, emit: str) -> str:
        """The regular expression of the kernels in an output that is text; empty for all."""
        from ..driver.options import TEXTS

        chosen = self.kernel or (self.only_kernel if emit in TEXTS else None)
        return chosen.pattern if chosen is not None else ""


@dataclass(frozen=True)
class ScheduleChoice:
    """Files that schedules come from: one made by hand, and a table of measurements."""

    schedule_file: str | None = None
    tuned: str | None = None


@dataclass(frozen=True)
class ReportChoice:
    """The reports of a build beside its files."""

    explain: bool = False
    report_file: str | None = None
    graph_file: str | None = None
    time_passes: bool = False
    trace_file: str | None = None
    dump_folder: str | None = None
    depends: bool = False
    dependency_file: str | None = None
    quiet: bool = False

    def texts(self, artifact: Any, entry: str) -> list[tuple[str, str]]:
        """The graph and the report of an emission, each with its path, as far as they are asked for."""
        result: list[tuple[str, str]] = []
        if self.graph_file:
            from ..driver import graph_json

            result.append((self.graph_file, graph_json(artifact.prepared, entry)))
        if self.report_file:
            result.append((self.report_file, json.dumps(artifact.report, indent=1) + "\n"))
        return result


output_options = grouped(
    "output",
    OutputChoice,
    click.option(
        "-o",
        "path",
        type=param_types.BUILD,
        metavar="PATH",
        default=None,
        help="Output folder, or the file of --emit, such as out/net.so or net.tir: other files go next to it. - prints NAME.tir, "
        "NAME.isel, NAME.c or NAME.s. Default: NAME.out in the current folder.",
    ),
    click.option("--name", default=None, metavar="NAME", help="Prefix of files and C names. Default: the file's name."),
    click.option(
        "--emit",
        type=param_types.OUTPUT,
        metavar="tir|isel|c|asm|obj|so|exe|wheel|mlf|arduino|zephyr|…",
        default="",
        show_default="so",
        help="Output kind: scheduled loop nests, the nests after instruction selection, sources, assembly, object files, shared library, program, "
        "Python package, model library format, or a library in the layout of another build system. Kinds depend on the backend.",
    ),
    click.option(
        "--kernel",
        callback=pattern,
        metavar="REGEX",
        default=None,
        help="With --emit=tir or isel: only kernels whose name has a match of REGEX.",
    ),
    click.option(
        "--only-kernel",
        callback=pattern,
        metavar="REGEX",
        default=None,
        help="Print only kernels whose name has a match of REGEX: in --explain, in --print-before and --print-after of stages, and in texts "
        "of --emit. The build itself is of all kernels.",
    ),
)
"""`-o`, `--name`, `--emit`, `--kernel` and `--only-kernel`, as one `OutputChoice`, `output`."""

flag_options = grouped(
    "flags",
    as_flags,
    click.option(
        "--weights",
        type=click.Choice(["auto", "inline", "split", "file"]),
        default=None,
        show_default="auto",
        help="Where to keep weights: in NAME.c, in NAME_weights.c, or in the memory-mapped file NAME.bin.",
    ),
    click.option(
        "--verify-weights/--no-verify-weights",
        default=None,
        show_default="verify",
        help="Verify the digest of NAME.bin on loading (about 0.2 s per gigabyte).",
    ),
    click.option(
        "--mcpu",
        default=None,
        show_default="native; with --emit=c and wheel, portable",
        metavar="CPU",
        help="Target processor: native, x86-64-v3, cortex-a72, …; `none` for the compiler's default; several levels, such as "
        "x86-64-v2,x86-64-v3,x86-64-v4, or `portable`: code for each, chosen at run time.",
    ),
    board_option,
    cc_option,
    cflags_option,
    click.option(
        "--sanitize",
        default=None,
        metavar="WHAT,…",
        help="Sanitizers: address, undefined, leak, thread, memory. All but undefined require --emit=exe.",
    ),
    click.option(
        "--build-file",
        multiple=True,
        type=click.Choice(["cmake", "make", "meson", "pkg-config"]),
        help="Also write NAME.cmake, NAME.mk, meson.build or NAME.pc for inclusion in other builds. Repeatable.",
    ),
    click.option(
        "--bindings",
        default=None,
        metavar="hpp,f90,rs",
        help="Also write wrappers of the functions for C++, Fortran and Rust: NAME.hpp, NAME.f90, NAME.rs.",
    ),
    click.option(
        "--vector",
        type=click.Choice(["auto", "none"]),
        default=None,
        show_default="auto",
        help="Vectorize with the compiler's vector types, or write scalar code only.",
    ),
    click.option("--no-vector", "vector", flag_value="none", help="The same as --vector=none."),
    click.option(
        "--workspace-pools",
        default=None,
        metavar="NAME,…",
        help="Parts of memory that temporaries lie in, such as sram,dram: each temporary in the first that has room. Default: one arena.",
    ),
    click.option(
        "--workspace-pools-size-hint-bytes",
        default=None,
        metavar="NAME:BYTES,…",
        help="Sizes of workspace pools, such as sram:65536. A pool without a size is as large as it has to be.",
    ),
    click.option(
        "--constant-pools",
        default=None,
        metavar="NAME,…",
        help="Parts of memory that weights lie in, such as flash,ospi: each in the first that has room. The weights are in the C then.",
    ),
    click.option(
        "--constant-pools-size-hint-bytes", default=None, metavar="NAME:BYTES,…", help="Sizes of constant pools."
    ),
    click.option(
        "--profile",
        type=click.Choice(["optimised", "certifiable"]),
        default=None,
        show_default="optimised",
        help="Fast code, or C for certification: scalar, by MISRA C:2012, with static bounds, flow facts (NAME.ffx) and a traceability "
        "matrix (NAME_trace.json).",
    ),
    click.option(
        "--ram-limit",
        default=None,
        metavar="BYTES",
        help="Refuse a network that takes more RAM, such as 64K: its arena, states, inputs, outputs and stack. With a board: its RAM.",
    ),
    click.option(
        "--flash-limit",
        default=None,
        metavar="BYTES",
        help="Refuse a network with more code and constants, such as 256K. With a board: its flash.",
    ),
    click.option(
        "--region-size",
        default=None,
        metavar="BYTES",
        help="Memory for the data and the recursion of a run. Default: 262144, or 64 of the largest object if these are more.",
    ),
    math_option,
    opt_option,
    openmp_option,
    click.option(
        "--api",
        type=click.Choice(["flat", "tvm", "tvm-ffi"]),
        default=None,
        show_default="flat",
        help="C interface: NAME_run(x, out), or TVM's tvmgen_NAME_run(inputs, outputs) as well, or functions for apache-tvm-ffi.",
    ),
    click.option(
        "--hooks/--no-hooks",
        default=None,
        show_default="hooks",
        help="Write hooks that time kernels, for `irtool profile`; they are in programs compiled with -DNAME_PROFILE alone.",
    ),
    click.option(
        "--line-directives/--no-line-directives",
        default=None,
        show_default="no-line-directives",
        help="Write #line directives, so that debuggers and profilers show lines of the source, or nodes of a model, in place of the C.",
    ),
    click.option(
        "--testbench",
        is_flag=True,
        default=None,
        help="Also write NAME_test.c, which compares the outputs with the interpreter's.",
    ),
)
"""The flags of the backend that have options of their own, as a mapping, `flags`."""

schedule_options = grouped(
    "schedules",
    ScheduleChoice,
    click.option(
        "--schedule",
        "schedule_file",
        type=param_types.READ,
        metavar="FILE",
        default=None,
        help="Read hand-written schedules, in the syntax of --explain; see docs/schedules.md.",
    ),
    click.option(
        "--tuned",
        type=param_types.READ,
        metavar="FILE.json",
        default=None,
        help="Use the measurements of `irtool tune`, if it has any for this machine; `shipped`: the table that comes with irtool.",
    ),
)
"""`--schedule` and `--tuned`, as one `ScheduleChoice`, `schedules`."""

report_options = grouped(
    "reports",
    ReportChoice,
    click.option(
        "--explain",
        "explain",
        is_flag=True,
        help="Print the strategy, reason and primitives of every stage, in the syntax of --schedule.",
    ),
    click.option(
        "--report",
        "report_file",
        type=param_types.WRITTEN,
        metavar="FILE.json",
        default=None,
        help="Write the build report.",
    ),
    click.option(
        "--graph",
        "graph_file",
        type=param_types.WRITTEN,
        metavar="FILE.json",
        default=None,
        help="Write the graph as JSON for TVM's graph executor.",
    ),
    click.option(
        "--time-passes", is_flag=True, help="Report the time and operator counts of each pass on standard error."
    ),
    click.option(
        "--time-trace",
        "trace_file",
        type=param_types.WRITTEN,
        metavar="FILE.json",
        default=None,
        help="Write when each pass, stage and compiler began and ended, as a trace for https://ui.perfetto.dev or chrome://tracing.",
    ),
    click.option(
        "--dump-dir",
        "dump_folder",
        type=param_types.FOLDER,
        metavar="FOLDER",
        default=None,
        help="Write the module after each pass that changes it, the program after each stage, and the sources, as numbered files into a new or "
        "empty folder.",
    ),
    click.option(
        "-MD",
        "depends",
        is_flag=True,
        help="Also write NAME.d, a rule of make: the files of the build depend on the files that it has read.",
    ),
    click.option(
        "-MF",
        "dependency_file",
        type=param_types.WRITTEN,
        metavar="FILE",
        default=None,
        help="The file of that rule, in place of NAME.d.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing on success."),
)
"""The options that have something told of a build, as one `ReportChoice`, `reports`."""
