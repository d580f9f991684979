"""A module as text, with its weights in a file beside it: both are written, or neither."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from typing import Any

import click

from . import param_types
from .mistakes import ClashingOptions, UnwritableFile

EMBEDDED = "embedded"
"""The form of weights that are in the text, as constants."""


def weights_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `-o`, which is required, `--params-format` and `--params-out`."""
    return _weights_options(required=True, help="The text to write; - prints it.")(function)


def optional_weights_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same with `-o` optional: `output` is None without it."""
    return _weights_options(required=False, help="The text to write. Default: it is printed, without the weights.")(
        function
    )


def _weights_options(required: bool, help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    out = click.option("-o", "output", type=param_types.WRITTEN, metavar="FILE.relay", required=required, help=help)
    form = click.option(
        "--params-format",
        type=click.Choice(["npz", "params", "safetensors", EMBEDDED]),
        default="npz",
        show_default=True,
        help="Where weights go: to a file of this format beside the text, for --params; or into the text, as constants.",
    )
    params_option = click.option(
        "--params-out",
        type=param_types.WRITTEN,
        metavar="FILE",
        default=None,
        help="The file for the weights. Default: the text's name with the ending of the format.",
    )
    return lambda function: out(form(params_option(function)))


def check_options(output: str | None, form: str, params_out: str | None) -> None:
    """Raises UsageError for a file for weights that are in the text, and IrError for one that cannot be written, before the work."""
    from ..diagnostics import UsageError
    from .output import check_place

    if params_out is not None and form == EMBEDDED:
        raise UsageError("--params-out names a file, and embedded weights are in the text", code=ClashingOptions)
    for path in (output, params_out):
        if path is not None and path != "-":
            check_place(path)


def print_text(text: str, weights: Mapping[str, Any], quiet: bool) -> None:
    """Prints the text, and names on standard error the weights that are not in it. Raises IrError."""
    from ..diagnostics import Diagnostic
    from .output import write_text
    from .warning_flags import warn

    write_text(None, text)
    if weights and not quiet:
        count = "1 weight is" if len(weights) == 1 else f"{len(weights)} weights are"
        help = f"-o FILE.relay writes them to FILE.npz; --params-format={EMBEDDED} puts them into the text"
        warn(Diagnostic(f"{count} not printed", level="note", help=help))


def write_with_weights(
    output: str, text: str, form: str, params_out: str | None, weights: Mapping[str, Any], quiet: bool
) -> None:
    """Writes the text and, if there are any, the weights, and says so. Raises IrError, and nothing is written then."""
    from .output import write_text

    weights_path = _params_path(output, form, params_out) if weights else ""
    if output == "-" and not weights_path:
        write_text(None, text)
        return
    _write(output, text, weights_path, form, weights, {output, params_out})
    if output == "-":
        write_text(None, text)
    elif not quiet:
        for path in filter(None, (output, weights_path)):
            click.echo(f"wrote {path} ({os.path.getsize(path)} bytes)")


def _params_path(output: str, form: str, named: str | None) -> str:
    """The path for the weights. Raises UsageError if the command line has none."""
    from ..diagnostics import UsageError

    if form == EMBEDDED:
        return ""
    if named is None and output == "-":
        raise UsageError(
            "the model has weights, and only its text is printed",
            help=f"--params-out=FILE.{form} names a file for them; --params-format={EMBEDDED} puts them into the text",
            code=ClashingOptions,
        )
    path = named or f"{os.path.splitext(output)[0]}.{form}"
    if os.path.abspath(path) == os.path.abspath(output):
        raise UsageError(
            f"text and weights would both go to {path}", help="--params-out=FILE names another", code=ClashingOptions
        )
    return path


def _write(
    output: str, text: str, weights_path: str, form: str, weights: Mapping[str, Any], named: Collection[str | None]
) -> None:
    """Writes both files, or neither; links are followed under `named` paths alone. Raises IrError."""
    from ..diagnostics import IrError
    from ..files import Draft, is_stream
    from ..parser.params import write_draft

    files: list[tuple[str, Callable[[Draft], object]]] = []
    if weights_path:
        files.append((weights_path, lambda draft: write_draft(draft, weights, f".{form}")))
    if output != "-":
        files.append((output, lambda draft: draft.out.write(text.encode("utf-8"))))
    path = ""
    try:
        with ExitStack() as drafts:
            # The last one gets its bytes first. Where that fails, the others are not there: so it is the device, or the pipe.
            for path, fill in sorted(files, key=lambda f: is_stream(f[0], f[0] in named)):
                fill(drafts.enter_context(Draft(path, path in named)))
    except OSError as error:
        raise IrError(f"cannot write {path}: {error.strerror or error}", code=UnwritableFile) from None
