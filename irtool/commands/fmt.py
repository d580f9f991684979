"""`irtool fmt`: Relay text in canonical layout."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from . import param_types
from .mistakes import ClashingOptions
from .pass_options import loads_files
from .verbosity import is_quiet
from .wrong_usage import Command, WrongUsage

_ENDING = ".relay"


@click.command(name="fmt", cls=Command, short_help="Lay out Relay text: indents, blanks, lines; comments stay.")
@click.argument("paths", type=param_types.MODULE, nargs=-1)
@click.option(
    "--check", is_flag=True, help="Write nothing; list the files that would change, and exit with 1 if any would."
)
@click.option("--diff", is_flag=True, help="Write nothing; print the changes as a unified diff.")
@click.option("-v", "--verbose", is_flag=True, help="Also list the files that are kept as they are, and why.")
@loads_files
def command(paths: tuple[str, ...], check: bool, diff: bool, verbose: bool) -> None:
    """Write Relay text in canonical layout: PATHS in place (of folders, all .relay files), standard input (`-`, or no
    path) to standard output.

    \b
    Examples:
      irtool fmt net.relay                    rewrite the file
      irtool fmt --check --diff samples/      show what would change; exit code 1 if anything would
      irtool fmt < net.relay                  print

    Names, bindings, attributes and comments stay. A text is read again before it is written: its meaning is the same. In a
    file with the comment `// irtool fmt: off` nothing changes; nor does a golden file (`// RUN:`) with errors in its text, or
    whose expected output depends on its layout.
    """
    from ..diagnostics import Diagnostic, IrError

    if not paths and sys.stdin.isatty():
        raise click.MissingParameter(
            ctx=click.get_current_context(), param=click.get_current_context().command.params[0]
        )
    paths = paths or ("-",)
    if "-" in paths and len(paths) > 1:
        raise WrongUsage("standard input (-) is formatted alone", ClashingOptions)
    changed = unchanged = 0
    wrong: list[Diagnostic] = []
    for path in dict.fromkeys(f for p in paths for f in _files(p)):
        try:
            is_other = _format(path, check, diff, verbose)
        except IrError as error:
            if error.exit_code != 1:
                raise
            wrong += error.diagnostics
            continue
        changed += is_other
        unchanged += not is_other
    if wrong:
        raise IrError(wrong)
    if paths != ("-",) and not is_quiet():
        would = "would be " if check or diff else ""
        click.echo(f"{changed} {would}changed, {unchanged} unchanged", err=diff)
    if check and changed:
        raise click.exceptions.Exit(1)


def _files(path: str) -> Iterator[str]:
    """The file, or the texts in the folder and its folders, sorted, without links. Raises IrError for a folder without any."""
    from ..diagnostics import IrError
    from .mistakes import UnreadableFile

    if not os.path.isdir(path):
        yield path
        return
    none = True
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(files):
            if name.endswith(_ENDING) and not os.path.islink(os.path.join(folder, name)):
                none = False
                yield os.path.join(folder, name)
    if none:
        raise IrError(f"there is no {_ENDING} file in {path}", code=UnreadableFile)


def _format(path: str, check: bool, diff: bool, verbose: bool) -> bool:
    """Formats one file; True if its layout is another one."""
    from .golden_layout import laid_out
    from .output import write_text
    from .source import read_text

    text, name = read_text(path)
    layout, reason = laid_out(path, text, name)
    if reason and verbose:
        click.echo(f"kept {name}: {reason}", err=True)
    if diff:
        _print_diff(text, layout, name)
    elif not check and (path == "-" or layout != text):
        write_text(path, layout)
        if path != "-" and not is_quiet():
            click.echo(f"formatted {path}")
    if check and layout != text:
        click.echo(f"would change {name}", err=diff)
    return layout != text


def _print_diff(text: str, layout: str, name: str) -> None:
    import difflib

    from .colour import is_coloured, paint_diff

    lines = difflib.unified_diff(text.split("\n"), layout.split("\n"), name, f"{name} in canonical layout", lineterm="")
    if shown := "\n".join(lines):
        click.echo(paint_diff(shown) if is_coloured(sys.stdout) else shown, color=True)
