"""`irtool test`: runs golden files."""

from __future__ import annotations

import click

from . import kinds
from .pass_options import loads_files
from .wrong_usage import Command


@click.command(name="test", cls=Command, short_help="Run golden files (// RUN: lines and expected output).")
@click.argument("paths", type=kinds.READ, nargs=-1)
@click.option("--update", is_flag=True, help="Overwrite the expected output with the current one.")
@click.option("-v", "--verbose", is_flag=True, help="Also list passing files.")
@loads_files
def command(paths: tuple[str, ...], update: bool, verbose: bool) -> None:
    """Run the `// RUN:` lines of each .relay file in PATHS and compare their output with FILE.relay.expected. PATHS
    are files and folders (default: the current folder).

    \b
    // RUN: irtool opt --passes=FoldConstant %s        must succeed; %s is the file itself
    // RUN: not irtool opt --passes=Foo %s             must fail; its messages count as output
    // RUN: irtool opt -p A %s | irtool check -        pipes; every command must succeed (pipefail)
    // RUN: irtool check %s 2>&1                       messages count as output

    %t is a temporary folder for the file, %% a percent sign. The only command is `irtool`; after `not`, anywhere in a
    pipe, it must fail.
    """
    import os
    import sys

    paths = paths or (".",)
    from ..diagnostics import IrError
    from .colour import is_coloured, paint_diff
    from .goldens import find_goldens, run_golden

    for path in paths:
        if not os.path.exists(path):
            raise IrError(f"cannot read {path}: no such file or folder")
    files = [f for p in paths for f in find_goldens(p)]
    if not files:
        raise IrError(f"no file with a `// RUN:` line in {', '.join(paths)}")
    failed = updated = 0
    for path in files:
        outcome = run_golden(path, update)
        updated += outcome.updated
        if not outcome.passed:
            failed += 1
            message = paint_diff(outcome.message) if is_coloured(sys.stdout) else outcome.message
            click.echo(f"FAIL {path}\n{message}", color=True)
        elif outcome.updated:
            click.echo(f"updated {path}")
        elif verbose:
            click.echo(f"ok   {path}")
    click.echo(f"{len(files) - failed} passed, {failed} failed" + (f", {updated} updated" if updated else ""))
    if failed:
        raise click.exceptions.Exit(1)
