"""`irtool test`: runs golden files."""

from __future__ import annotations

import click

from . import kinds
from .mistakes import ClashingOptions
from .pass_options import loads_files
from .wrong_usage import Command, WrongUsage


@click.command(name="test", cls=Command, short_help="Run golden files (// RUN: lines and expected output).")
@click.argument("paths", type=kinds.READ, nargs=-1)
@click.option("--update", is_flag=True, help="Overwrite the expected output with the current one.")
@click.option("-v", "--verbose", is_flag=True, help="Also list passing files.")
@click.option(
    "-k", "words", metavar="TEXT", multiple=True, help="Only files with TEXT in their path. Repeatable: any of them."
)
@click.option("--list", "lists", is_flag=True, help="Run nothing; print the files.")
@click.option(
    "--junit", type=kinds.WRITTEN, metavar="FILE", default=None, help="Also write the results as JUnit XML, for CI."
)
@loads_files
def command(
    paths: tuple[str, ...], update: bool, verbose: bool, words: tuple[str, ...], lists: bool, junit: str | None
) -> None:
    """Run the `// RUN:` lines of each .relay file in PATHS and compare their output with FILE.relay.expected. PATHS
    are files and folders (default: the current folder).

    \b
    // RUN: irtool opt --passes=FoldConstant %s        must succeed; %s is the file itself
    // RUN: not irtool opt --passes=Foo %s             must fail; its messages count as output
    // RUN: irtool opt -p A %s | irtool check -        pipes; every command must succeed (pipefail)
    // RUN: irtool check %s 2>&1                       messages count as output

    \b
    irtool test -k conv --list tests/golden         which files those are
    irtool test --junit results.xml tests/golden    a report for CI

    %t is a temporary folder for the file, %% a percent sign. The only command is `irtool`; after `not`, anywhere in a
    pipe, it must fail.
    """
    import os
    import sys
    import time

    paths = paths or (".",)
    if lists and (update or junit):
        raise WrongUsage("--list runs nothing, so it goes with neither --update nor --junit", ClashingOptions)
    from ..diagnostics import IrError
    from .colour import is_coloured, paint_diff
    from .goldens import Outcome, find_goldens, run_golden
    from .progress import progress_bar

    for path in paths:
        if not os.path.exists(path):
            raise IrError(f"cannot read {path}: no such file or folder")
    files = [f for p in paths for f in find_goldens(p)]
    if not files:
        raise IrError(f"no file with a `// RUN:` line in {', '.join(paths)}")
    if words:
        files = [f for f in files if any(w in f for w in words)]
        if not files:
            raise IrError(f"no golden file in {', '.join(paths)} has {' or '.join(words)} in its path")
    if lists:
        click.echo("\n".join(files))
        return
    failed = updated = 0
    results: list[tuple[Outcome, float]] = []
    with progress_bar("golden files") as step:
        for n, path in enumerate(files, 1):
            begin = time.perf_counter()
            outcome = run_golden(path, update)
            results.append((outcome, time.perf_counter() - begin))
            updated += outcome.updated
            if not outcome.passed:
                failed += 1
                message = paint_diff(outcome.message) if is_coloured(sys.stdout) else outcome.message
                click.echo(f"FAIL {path}\n{message}", color=True)
            elif outcome.updated:
                click.echo(f"updated {path}")
            elif verbose:
                click.echo(f"ok   {path}")
            if step is not None:
                step(n, len(files))
    if junit is not None:
        from .junit import junit_xml
        from .output import write_text

        write_text(junit, junit_xml(results))
    click.echo(f"{len(files) - failed} passed, {failed} failed" + (f", {updated} updated" if updated else ""))
    if failed:
        raise click.exceptions.Exit(1)
