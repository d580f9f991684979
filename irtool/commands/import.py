"""`irtool import`: writes a model of another format as Relay text, and its weights beside it."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from . import kinds
from .known_types import Given, shape_options
from .mistakes import BadValue, ClashingOptions, UnwritableFile
from .output import write_text
from .printing import types_option
from .source import file_or_stdin
from .wrong_usage import Command

if TYPE_CHECKING:
    from collections.abc import Mapping

_EMBEDDED = "embedded"


def _values(ctx: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, str]:
    from ..diagnostics import UsageError

    found: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not value.strip():
            raise UsageError(
                f"cannot read the value {item!r}", help="write NAME=5, NAME=1,2 or NAME=FILE.npy", code=BadValue
            )
        if name.strip() in found:
            raise UsageError(f"--value is given twice for {name.strip()}", code=ClashingOptions)
        found[name.strip()] = value.strip()
    return found


@click.command(name="import", cls=Command, short_help="Write an ONNX model as Relay text and its weights.")
@click.argument("file", type=kinds.MODULE, required=False, callback=file_or_stdin)
@click.option(
    "-o", "output", type=kinds.WRITTEN, metavar="FILE.relay", required=True, help="The text to write; - prints it."
)
@click.option(
    "--params-format",
    "form",
    type=click.Choice(["npz", "params", "safetensors", _EMBEDDED]),
    default="npz",
    show_default=True,
    help="Where weights go: to a file of this format beside the text, for --params; or into the text, as constants.",
)
@click.option(
    "--params-out",
    type=kinds.WRITTEN,
    metavar="FILE",
    default=None,
    help="The file for the weights. Default: the text's name with the ending of the format.",
)
@shape_options
@click.option(
    "--value",
    "values",
    type=kinds.NAMED,
    multiple=True,
    callback=_values,
    metavar="NAME=VALUE",
    help="Make an input a constant: a number, numbers with commas between them, or an .npy or .npz file. Repeatable.",
)
@types_option
@click.option("--spans", is_flag=True, help="Print which node of the model each expression is from.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(
    file: str,
    output: str,
    form: str,
    params_out: str | None,
    given: Given,
    values: Mapping[str, str],
    types: str,
    spans: bool,
    quiet: bool,
) -> None:
    """Write an ONNX model as Relay text, with its weights as parameters of @main. Both files are written, or neither.

    FILE is a model, binary or in the syntax of onnx.parser; `-` is standard input. Commands that take Relay text take
    models, too: this one is for looking at the text, or changing it.

    \b
    irtool import model.onnx --dim batch=1 -o model.relay
    irtool build model.relay --params model.npz -o out/
    """
    from ..diagnostics import UsageError
    from ..frontends.onnx import from_onnx
    from ..printer import to_text
    from .known_types import warn
    from .onnx_subject import OnnxSubject
    from .progress import progress_bar
    from .subject import read_subject

    if params_out is not None and form == _EMBEDDED:
        raise UsageError("--params-out names a file, and embedded weights are in the text", code=ClashingOptions)
    subject = read_subject(file)
    if not isinstance(subject, OnnxSubject):
        raise UsageError(f"{subject.name} is Relay text already: import reads ONNX models", code=BadValue)
    with progress_bar("importing") as step:
        module, weights = from_onnx(
            subject.load(),
            given.shapes,
            given.dims,
            constants=form == _EMBEDDED,
            values={name: _value(name, text) for name, text in values.items()},
            progress=step,
            say=warn,
        )
    beside = _params_path(output, form, params_out) if weights else ""
    text = to_text(module, types=types, spans=spans)
    if output == "-" and not beside:
        write_text(None, text)
        return
    _write(output, text, beside, form, weights)
    if output == "-":
        write_text(None, text)
    elif not quiet:
        for path in filter(None, (output, beside)):
            click.echo(f"wrote {path} ({os.path.getsize(path)} bytes)")


def _value(name: str, text: str) -> Any:
    """What `--value` says: numbers, or the array of a file. Raises IrError."""
    from .source import read_array

    number = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
    if re.fullmatch(rf"{number}", text):
        return _number(text)
    if re.fullmatch(rf"\[?\s*{number}(\s*,\s*{number})*\s*,?\s*\]?", text):
        return [_number(p) for p in text.strip("[]").split(",") if p.strip()]
    return read_array(text, name)


def _number(text: str) -> float:
    return float(text) if re.search(r"[.eE]", text) else int(text)


def _params_path(output: str, form: str, named: str | None) -> str:
    """Where the weights go. Raises UsageError where the command line leaves no place for them."""
    from ..diagnostics import UsageError

    if form == _EMBEDDED:
        return ""
    if named is None and output == "-":
        raise UsageError(
            "the model has weights, and only its text is printed",
            help=f"--params-out=FILE.{form} names a file for them; --params-format={_EMBEDDED} puts them into the text",
            code=ClashingOptions,
        )
    path = named or f"{os.path.splitext(output)[0]}.{form}"
    if os.path.abspath(path) == os.path.abspath(output):
        raise UsageError(
            f"text and weights would both go to {path}", help="--params-out=FILE names another", code=ClashingOptions
        )
    return path


def _write(output: str, text: str, beside: str, form: str, weights: Mapping[str, Any]) -> None:
    """Writes both files, or neither. Raises IrError."""
    from ..diagnostics import IrError
    from ..files import Draft, is_stream
    from ..parser.params import write_draft

    path = ""
    try:
        with ExitStack() as drafts:
            if beside:
                path = beside
                write_draft(drafts.enter_context(Draft(path)), weights, f".{form}")
            if output != "-" and not is_stream(output):
                path = output
                drafts.enter_context(Draft(path)).out.write(text.encode("utf-8"))
    except OSError as error:
        raise IrError(f"cannot write {path}: {error.strerror or error}", code=UnwritableFile) from None
    if output != "-" and is_stream(output):
        write_text(output, text)
