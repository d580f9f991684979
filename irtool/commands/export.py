"""`irtool export`: writes a module in another format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .mistakes import BadValue, ClashingOptions
from .output import write_parts, write_text
from .param_facts import ARRAYS, ParamFacts, entry_of, entry_option, type_options
from .pass_options import loads_files
from .source import file_or_stdin
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..exports import Export


@click.command(name="export", cls=Command, short_help="Write a module in another format: ONNX, Relax.")
@click.argument("file", type=param_types.MODULE, required=False, callback=file_or_stdin)
@click.option(
    "--to",
    "format_text",
    type=param_types.FORMAT,
    metavar="FORMAT",
    default=None,
    help="The format, optionally with options: 'onnx{opset=20}'. Default: the one that the ending of -o names.",
)
@click.option(
    "-o",
    "output",
    type=param_types.WRITTEN,
    metavar="FILE",
    required=True,
    help="The file to write; others may appear beside it, named after it. - prints text that is a single file.",
)
@click.option(
    "--opset", type=int, default=None, metavar="N", help="Version of ONNX's operators: 18 or later. Default: 20."
)
@click.option(
    "--external-data",
    is_flag=True,
    default=None,
    help="Keep weights of more than 1 KB of an ONNX model in a file beside it.",
)
@click.option(
    "--quantized",
    type=click.Choice(["exact", "qdq"]),
    default=None,
    help="Operators of qnn in ONNX: exact integer nodes (default), or floats between QuantizeLinear and DequantizeLinear.",
)
@type_options(ARRAYS)
@entry_option
@loads_files
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(
    file: str,
    format_text: str | None,
    output: str,
    param_facts: ParamFacts,
    entry: str | None,
    quiet: bool,
    **options: Any,
) -> None:
    """Write a module in another format. What the format has no counterpart for is reported, all of it, and nothing is written.

    \b
    Examples:
      irtool export net.relay --params weights.npz -o net.onnx
      irtool export net.relay --opset=18 --external-data -o net.onnx
      irtool export --to=relax net.relay -o net.py
    """
    from ..diagnostics import UsageError
    from ..exports import Request, parse_export
    from ..exports.weights import fit_weights
    from ..infer import infer_types
    from .input_module import read_module

    form = _with_options(parse_export(format_text or _format_of(output)), options)
    module, param_facts = read_module(file, param_facts)
    name = entry_of(module, entry)
    module = infer_types(param_facts.specialize(module, name))
    stem = file if file != "-" else "module"
    main = os.path.basename(stem).split(".")[0] + form.ending if output == "-" else os.path.basename(output)
    files = form.write(module, Request(main, name, fit_weights(module, name, param_facts.weights)))
    if output != "-":
        for written in files:
            path = os.path.join(os.path.dirname(output), written.name)
            write_parts(path, written.parts, follow=written.name == os.path.basename(output))
            if not quiet:
                click.echo(f"wrote {path} ({os.path.getsize(path)} bytes)")
    elif len(files) > 1 or not files[0].is_text:
        what = f"{len(files)} files" if len(files) > 1 else "a file that is no text"
        raise UsageError(f"{form.name} makes {what}: name one with -o", code=ClashingOptions)
    else:
        write_text(None, b"".join(files[0].parts).decode())


def _with_options(form: Export, options: Mapping[str, Any]) -> Export:
    """The format with the options that were given on their own. Raises UsageError for one that it does not have."""
    from ..diagnostics import UsageError

    chosen = {name: value for name, value in options.items() if value is not None}
    for name in chosen:
        if name not in {f.name for f in form.fields()}:
            raise UsageError(f"the format {form.name} has no option --{name.replace('_', '-')}", code=ClashingOptions)
    return type(form)(**{**{f.name: getattr(form, f.name) for f in form.fields()}, **chosen})


def _format_of(output: str) -> str:
    """The format whose files end as `output` does. Raises UsageError if that tells none."""
    from ..diagnostics import UsageError
    from ..exports import exports

    endings = {cls.ending: cls.name for cls in exports}
    ending = os.path.splitext(output)[1]
    if ending not in endings:
        known = ", ".join(f"{e} ({n})" for e, n in endings.items())
        raise UsageError(
            f"the ending of {output} names no format", help=f"known endings: {known}; or say --to=FORMAT", code=BadValue
        )
    return endings[ending]
