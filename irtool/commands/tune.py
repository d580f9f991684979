"""`irtool tune`: measures alternative schedules of the kernels of a module."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .compiler_options import (
    cc_option,
    cflags_option,
    level_option,
    math_option,
    mcpu_option,
    missing_constants_option,
    openmp_option,
    opt_option,
    runner_option,
)
from .measured_build import measured_build
from .mistakes import ClashingOptions, UnwritableFile
from .notes import conversions_as_notes
from .param_facts import ARRAYS, ParamFacts, main_option, type_options
from .precision_option import PrecisionChoice, precision_options
from .progress import progress_bar
from .wrong_usage import Command

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..driver.tuned_table import Table
    from ..tune import Outcome

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(ctx: click.Context, option: click.Parameter, value: str | None) -> float:
    if value is None:
        return float("inf")
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smh]?)", value.strip())
    if match is None or not float(match[1]):
        raise click.BadParameter(f"{value!r} is no time such as 90s, 5m or 1h", ctx, option)
    return float(match[1]) * _UNITS[match[2]]


@click.command(name="tune", cls=Command, short_help="Measure schedules of a module's kernels for `build --tuned`.")
@click.argument("file", type=param_types.MODULE)
@click.option(
    "-o",
    "output",
    type=param_types.WRITTEN,
    metavar="FILE.json",
    required=True,
    help="The table. What it has already is kept, and not measured again.",
)
@click.option(
    "--trials", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="Measurements at most."
)
@click.option(
    "--time",
    "limit",
    callback=_seconds,
    metavar="TIME",
    default=None,
    help="Stop after 90s, 5m, 1h. Default: no limit.",
)
@click.option(
    "--each",
    type=click.FloatRange(0.001, 60),
    default=0.1,
    show_default=True,
    metavar="SECONDS",
    help="How long a kernel runs in one measurement.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=None,
    metavar="N",
    help="Measurements at once. Default: half of the processors, one with --openmp, one per worker with --scheduler.",
)
@runner_option("the measuring programs")
@click.option(
    "--scheduler",
    default=None,
    metavar="ADDRESS",
    help="Measure on the workers of a Dask scheduler, tcp://host:8786. They need irtool, the compiler and one kind of processor.",
)
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
@type_options(ARRAYS)
@missing_constants_option
@mcpu_option
@cc_option
@cflags_option
@math_option
@opt_option
@openmp_option
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(
    file: str,
    output: str,
    trials: int,
    limit: float,
    each: float,
    jobs: int | None,
    runner: tuple[str, ...],
    scheduler: str | None,
    target: str,
    level: int,
    entry: str,
    precision: PrecisionChoice,
    param_facts: ParamFacts,
    missing_constants: str,
    quiet: bool,
    **flags: Any,
) -> None:
    """Measure the choices that schedules offer for each distinct kernel, and keep the fastest of each in a table.

    The kernels that take the most time come first. A later run goes on where this one stopped, or was
    interrupted. `irtool build --tuned FILE.json` uses the table; its options must be those of the build. Weights matter:
    give the --params that the build gets.

    \b
    Examples:
      irtool tune net.relay --params weights.npz -o tuned.json --time 5m
      irtool build net.relay --params weights.npz --tuned tuned.json
      irtool tune net.relay -o tuned.json --cc aarch64-linux-gnu-gcc --mcpu cortex-a72 --runner 'qemu-aarch64 -L /usr/aarch64-linux-gnu'
    """
    from ..diagnostics import UsageError
    from ..driver.parameters import bind_weights
    from ..driver.prepare import prepare_entries
    from ..driver.tuned_table import Table
    from ..infer import require_types
    from ..tune import Budget, tune
    from .build import module_to_build
    from .input_module import read_input

    options = measured_build(target, level, entry, flags, precision.name)
    if output == "-":
        raise UsageError("-o names a file: the table is read and written", code=ClashingOptions)
    table = Table.read(output) if os.path.exists(output) else Table()
    notes: list[str] = []
    with conversions_as_notes(notes):
        module, param_facts = module_to_build(read_input(file), param_facts, entry, missing_constants, notes)
        source = bind_weights(
            module, param_facts.weights if param_facts.params or param_facts.bound is not None else {}, (entry,), None
        )
        source = require_types(source, (entry,))
        machine = options.backend.machine().resized(dict(options.sizes))
        source = precision.lower(
            source, entry, param_facts.names, machine, opt_level=level, target=options.target
        ).module
        prepared = prepare_entries(source, options, ())
    _write(table, output)  # an unwritable file is an error before any measurement
    alone = bool(getattr(options.backend, "openmp", False))
    with _executor(scheduler, jobs, alone) as (executor, count), progress_bar("measuring") as progress:
        outcome = tune(
            prepared,
            options,
            table,
            executor,
            count,
            Budget(trials, limit, each),
            runner,
            progress,
            lambda t: _write(t, output),
        )
    if not quiet:
        _summary(outcome, output)


def _write(table: Table, path: str) -> None:
    """Raises IrError if the table cannot be written."""
    from ..diagnostics import IrError

    try:
        table.write(path)
    except OSError as error:
        raise IrError(f"cannot write {path}: {error.strerror or error}", code=UnwritableFile) from None


@contextmanager
def _executor(scheduler: str | None, jobs: int | None, alone: bool) -> Iterator[tuple[Executor, int]]:
    """The executor of measurements, and their number at once."""
    if scheduler is not None:
        from ..tune.workers import workers

        with workers(scheduler) as (executor, count):
            yield executor, jobs or count
        return
    from concurrent.futures import ThreadPoolExecutor

    count = jobs or (1 if alone else max(1, (os.cpu_count() or 1) // 2))
    pool = ThreadPoolExecutor(count)
    try:
        yield pool, count
    finally:
        pool.shutdown(cancel_futures=True)


def _summary(outcome: Outcome, output: str) -> None:
    for failure in outcome.failures[:3]:
        print(f"warning: not measured: {failure}", file=sys.stderr)
    if len(outcome.failures) > 3:
        print(f"warning: {len(outcome.failures) - 3} further measurements failed", file=sys.stderr)
    known = f", {outcome.known} known from before" if outcome.known else ""
    click.echo(f"{outcome.machine}: {outcome.measured} measurements{known}, {outcome.improved} better choices")
    if outcome.before:
        percent = 100 * (1 - outcome.after / outcome.before)
        click.echo(
            f"the measured kernels take {outcome.after * 1e3:.3f} ms of a run in place of {outcome.before * 1e3:.3f} "
            f"({percent:.1f} % less)"
        )
    click.echo(f"wrote {output}")
