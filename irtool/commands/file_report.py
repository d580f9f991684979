"""The report of `-v` on the files of a command line."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from . import param_types
from .notes import say


def tell_files(ctx: click.Context, seconds: float) -> None:
    """Says which files of the command line have been read and written, and how long it took."""
    for parameter in ctx.command.params:
        kind = parameter.type
        if not isinstance(kind, param_types.Path):
            continue
        done = "read" if kind.reads else "wrote"
        for path in _paths(ctx.params.get(parameter.name or "")):
            if os.path.isfile(path):
                say(f"{done} {path} ({os.path.getsize(path)} bytes)")
            elif os.path.isdir(path):
                say(f"{done} {path}{os.sep}")
    say(f"took {seconds:.2f} s")


def _paths(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (v for v in value.values() if isinstance(v, str))
    elif isinstance(value, tuple | list):
        yield from (v for v in value if isinstance(v, str))
