"""`irtool import`: writes a model of another format as Relay text, and its weights beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from . import kinds
from .known_types import Given, shape_options
from .mistakes import BadValue, ClashingOptions
from .printing import types_option
from .source import file_or_stdin
from .text_and_weights import EMBEDDED, check_options, weights_options, write_with_weights
from .wrong_usage import Command

if TYPE_CHECKING:
    from collections.abc import Mapping


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
@weights_options
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
    params_format: str,
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
    Examples:
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

    check_options(output, params_format, params_out)
    subject = read_subject(file)
    if not isinstance(subject, OnnxSubject):
        raise UsageError(f"{subject.name} is Relay text already: import reads ONNX models", code=BadValue)
    with progress_bar("importing") as step:
        module, weights = from_onnx(
            subject.load(),
            given.shapes,
            given.dims,
            constants=params_format == EMBEDDED,
            values={name: _value(name, text) for name, text in values.items()},
            progress=step,
            say=warn,
        )
    write_with_weights(output, to_text(module, types=types, spans=spans), params_format, params_out, weights, quiet)


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
