"""Reproducers: a Relay file with the command that shows a bug in its first line, and beside it whatever else that takes."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from typing import Any

import click

from .. import __version__
from ..diagnostics import InternalError, IrError
from ..files import Draft
from .goldens.directives import silenced
from .reproducer_command import ReproducerCommand

_SUBJECT = "\0"
"""Stands for the file itself in a command line until it is written."""


def write_reproducer(
    error: BaseException,
    group: click.Group,
    command: Sequence[str] = (),
    texts: Sequence[tuple[str, str]] = (),
    further: Sequence[str] = (),
    path: str | None = None,
) -> str:
    """Writes a reproducer of a bug in one of the commands of `group`; returns the path of its Relay file, empty if it cannot be written.

    Where a pass failed, that is the module that it was given and `irtool opt` with the pass, what the context said, and
    `further` options. Otherwise it is the command line `command` and, of the `texts` that it has read (paths and contents), the
    one that it read last or first. Files that the command reads are put beside, those that it writes go to `%t`; so the file runs anywhere, by
    `irtool test`.
    """
    failing = _failing_module(error)
    if not failing and not command:
        return ""
    try:
        if path is None:
            path = os.path.join(tempfile.mkdtemp(prefix="irtool-"), "reproducer.relay")
        rewriter = ReproducerCommand(os.path.dirname(os.path.abspath(path)), group)
        if failing:
            parts = ["opt", f"--passes={error.failed.text()}", *_of_context(error), *further, _SUBJECT]  # type: ignore[attr-defined]  # a pass that failed is noted on its error
            text = failing
            parts = rewriter.rewrite(parts, _SUBJECT)
        else:
            input_file, text = _input_file(command, texts, rewriter)
            parts = rewriter.rewrite(command, input_file)
            rewriter.bring_constants(input_file, text)
        message = error.diagnostics[0].message if isinstance(error, IrError) else f"{type(error).__name__}: {error}"
        shorter = _reduction(parts, os.path.basename(path), bool(failing)) if is_bug(error) else ""
        head = f"// RUN: irtool {shlex.join(parts)}\n// irtool {__version__} said: {message.partition(chr(10))[0]}\n{shorter}"
        with Draft(path) as draft:
            draft.out.write((head + silenced(text)).encode("utf-8", "surrogatepass"))
    except OSError:
        return ""
    return path


def _failing_module(error: Any) -> str:
    """The text of the module that a failing pass was given; empty if none failed, or the module cannot be printed."""
    module = getattr(error, "module", None)
    if module is None or getattr(error, "failed", None) is None:
        return ""
    from ..printer import to_text

    try:
        return to_text(module)
    except Exception:  # noqa: BLE001 - one bug must not hide another: then the input is what there is to show
        return ""


def is_bug(error: BaseException) -> bool:
    """True for the bugs that `irtool reduce --expect-crash` looks for."""
    return not isinstance(error, IrError) or error.exit_code == InternalError.exit_code or hasattr(error, "failed")


def _reduction(arguments: Sequence[str], name: str, of_pass: bool) -> str:
    """The line with the command that makes the module of the reproducer `name` small.

    Where a pass failed, `reduce` runs it itself; any other command judges each candidate.
    """
    if "%s" not in arguments:
        return ""
    if of_pass and not any(w.startswith(_NOT_OF_REDUCE) for w in arguments):
        rest = [w.replace("%%", "%") for w in arguments[1:] if w != "%s"]
        line = ["irtool", "reduce", name, "--expect-crash", *rest]
    else:
        rest = [w.replace("%t/", "{}.").replace("%s", "{}").replace("%%", "%") for w in arguments]
        line = ["irtool", "reduce", name, "--expect-crash", "--", "irtool", *rest]
    return f"// To make it smaller: {shlex.join(line)}\n"


_NOT_OF_REDUCE = ("--check-values",)
"""Options of `opt` that `reduce` has not."""


def _of_context(error: Any) -> list[str]:
    """Options of `irtool opt` for the context of a failed pass, and for the loaded files."""
    from ..passes.core.option_text import show_value
    from ..plugin.loading import loaded_files

    options = [f"--load={path}" for path in loaded_files()]
    context = error.context
    if context is None:
        return options
    options += [f"--require-pass={name}" for name in sorted(context.required_pass)]
    options += [f"--disable-pass={name}" for name in sorted(context.disabled_pass)]
    options += [f"--pass-config={key}={show_value(value)}" for key, value in context.config.items()]
    options += [f"--target={context.target}"] if context.target is not None else []
    return [*options, f"--opt-level={context.opt_level}"]


def _input_file(
    arguments: Sequence[str], texts: Sequence[tuple[str, str]], rewriter: ReproducerCommand
) -> tuple[str, str]:
    """The file of a command line that the reproducer replaces, and its text; both empty for a line without one.

    Of many files of equal standing that is the one that was read last; else the first.
    """
    named, are_alike = rewriter.modules(arguments)
    if texts:
        return texts[-1 if are_alike else 0]
    for path in named:
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as source:
                return path, source.read()
    return "", ""
