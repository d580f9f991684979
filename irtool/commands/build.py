"""`irtool build`: compiles a module."""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any

import click


@click.command(name="build", short_help="Compile a module to C, a library or a program.")
@click.argument("file")
@click.option("--target", default="c", show_default=True, help="What to make code for.")
@click.option(
    "-o", "out_dir", metavar="DIR", default=None, help="Folder for the output. Default: NAME.out in this folder."
)
@click.option("--name", default=None, metavar="NAME", help="Prefix of files and C names. Default: the file's name.")
@click.option(
    "--emit",
    type=click.Choice(["c", "obj", "so", "exe", "mlf"]),
    default="so",
    show_default=True,
    help="How far to go: sources, object files, shared library, program, model library format.",
)
@click.option(
    "-O", "level", type=click.IntRange(0, 4), default=3, show_default=True, help="Level of the build pipeline."
)
@click.option("--entry", default="main", show_default=True, help="The function that NAME_run calls.")
@click.option("--params", metavar="FILE", default=None, help="Weights by parameter name, from .npz or .params.")
@click.option(
    "--shape", "shapes", multiple=True, metavar="NAME=1,3,224,224", help="Pin the dynamic shape of a parameter."
)
@click.option(
    "--missing-constants",
    type=click.Choice(["error", "zeros", "random"]),
    default="error",
    show_default=True,
    help="What stands for constants whose metadata was cut off.",
)
@click.option(
    "--mcpu",
    default="native",
    show_default=True,
    metavar="CPU",
    help="Processor: native, x86-64-v3, x86-64-v4, cortex-a72, …; `none` leaves it to the compiler.",
)
@click.option(
    "--vector/--no-vector",
    default=True,
    show_default=True,
    help="Vector types where the compiler has them, or scalar code only.",
)
@click.option(
    "--math",
    type=click.Choice(["fast", "strict"]),
    default="fast",
    show_default=True,
    help="Own vectorized exp, tanh, erf … (4 ULP), or those of libm.",
)
@click.option("--openmp/--no-openmp", default=False, show_default=True, help="Compile with OpenMP threads.")
@click.option(
    "--api",
    type=click.Choice(["flat", "tvm"]),
    default="flat",
    show_default=True,
    help="NAME_run(x, out), or the peer's structs of inputs and outputs.",
)
@click.option("--explain", is_flag=True, help="Say which strategy each kernel got, and why.")
@click.option("--report", "report_file", metavar="FILE.json", default=None, help="Write the build report.")
@click.option(
    "--graph",
    "graph_file",
    metavar="FILE.json",
    default=None,
    help="Write the graph in the peer's graph-executor JSON.",
)
@click.option("--time-passes", is_flag=True, help="Report time and operator counts of each pass on standard error.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on success.")
def command(
    file: str,
    target: str,
    out_dir: str | None,
    name: str | None,
    emit: str,
    level: int,
    entry: str,
    params: str | None,
    shapes: tuple[str, ...],
    missing_constants: str,
    time_passes: bool,
    explain: bool,
    report_file: str | None,
    graph_file: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Compile a module: NAME.c, NAME.h, a weights file where weights are many, and what --emit asks for.

    The environment variables CC and CFLAGS are honoured.

    \b
    irtool build --target=c net.relay --params weights.npz -o out/
    irtool build --emit=exe --no-vector net.relay
    """
    from ..driver import build
    from ..infer import infer_types
    from ..ir.target import Target
    from ..passes.bind import fill_missing_constants, pin_shapes
    from ..passes.instruments.timing import Timing
    from .output import write_text
    from .source import read_arrays, read_module

    Target.parse(target)
    module = read_module(file)
    if shapes:
        module = pin_shapes(module, shapes, entry)
    module = infer_types(fill_missing_constants(module, missing_constants))
    name = name or _name_of(file)
    folder = out_dir or f"{name}.out"
    timing = Timing()
    start = time.perf_counter()
    artifact = build(
        module,
        params=read_arrays(params) if params else None,
        target=target,
        opt_level=level,
        out_dir=folder,
        name=name,
        entry=entry,
        emit=emit,
        instruments=(timing,),
        **options,
    )
    seconds = time.perf_counter() - start
    if time_passes:
        click.echo(timing.table(), err=True)
    if report_file:
        write_text(report_file, json.dumps(artifact.report, indent=1) + "\n")
    if graph_file:
        write_text(graph_file, artifact.graph_json())
    if explain:
        for kernel in artifact.report["kernels"]:
            click.echo(f"{kernel['name']}: {kernel.get('strategy', '')} — {kernel.get('reason', '')}")
    if not quiet:
        _summary(artifact, folder, seconds)


def _name_of(file: str) -> str:
    stem = os.path.basename(file).split(".")[0] if file != "-" else "module"
    return re.sub(r"\W", "_", stem) or "module"


def _summary(artifact: Any, folder: str, seconds: float) -> None:
    report = artifact.report
    for path in artifact.files:
        click.echo(f"wrote {path} ({os.path.getsize(path)} bytes)")
    click.echo(
        f"{len(report['kernels'])} kernels, arena {artifact.arena_bytes} bytes, "
        f"weights {report.get('weight_bytes', 0)} bytes, built in {seconds:.2f} s"
    )
