"""`irtool convert`: tensors from one kind of file to another, and in and out of Relay text."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import click

from . import param_types
from .mistakes import BadValue, ClashingOptions, MissingWord, UnreadableFile, UnwritableFile
from .pass_options import loads_files
from .regular_expression import pattern
from .verbosity import is_quiet
from .wrong_usage import Command, WrongUsage

_TEXT = (".relay", ".txt", ".onnx", ".onnxtxt", ".tflite")
_ENDINGS = (".npz", ".params", ".safetensors")


@click.command(
    name="convert", cls=Command, short_help="Convert parameters between formats, and in and out of Relay text."
)
@click.argument("sources", type=param_types.MODULE, nargs=-1, required=True)
@click.option(
    "-o",
    "output",
    type=param_types.WRITTEN,
    metavar="PATH",
    required=True,
    help="What to write: .npz, .params or .safetensors, a folder of .npy files, or Relay text (.relay; - prints it).",
)
@click.option(
    "--params-out",
    type=param_types.WRITTEN,
    metavar="PATH",
    default=None,
    help="Make parameters of the constants in the text, and write their values there, in any of these formats.",
)
@click.option(
    "--entry",
    type=param_types.FUNCTION,
    default="main",
    show_default=True,
    help="The function whose parameters are meant.",
)
@click.option(
    "--only",
    callback=pattern,
    metavar="REGEX",
    default=None,
    help="Take only tensors whose whole name matches.",
)
@loads_files
def command(
    sources: tuple[str, ...], output: str, params_out: str | None, entry: str, only: re.Pattern[str] | None
) -> None:
    """Convert tensors by name. SOURCES are .npz, .params, .safetensors and .gguf files and folders of .npy files, whose tensors are
    put together, and at most one Relay text, which comes first.

    \b
    Examples:
      irtool convert net.params -o net.safetensors                           another format
      irtool convert weights/ more.npz -o all.params                         a folder of .npy files, and more
      irtool convert trained.npz -o net.npz --only '(?!.*_velocity).*'       some of the tensors
      irtool convert net.relay -o bare.relay --params-out weights.npz        constants become parameters
      irtool convert bare.relay weights.npz -o net.relay                     parameters become constants

    The format of a source is told by its contents, that of an output by its name; a name without an ending is a folder. bfloat16
    stays bfloat16 in every format.
    """
    text = sources[0] if _is_text(sources[0]) else None
    weights = sources[1:] if text is not None else sources
    for path in weights:
        if _is_text(path):
            raise WrongUsage(f"{path} is a second module, or does not come first", ClashingOptions)
    if text is None:
        if params_out is not None:
            raise WrongUsage("--params-out goes with Relay text", ClashingOptions)
        _write_tensors(output, _read_tensors(weights, only))
        return
    if only is not None and not weights:
        raise WrongUsage("--only chooses among the tensors of files, and no file is named", ClashingOptions)
    if output != "-" and _is_tensors(output):
        raise WrongUsage(
            f"-o names the text, and {output} is no place for one",
            ClashingOptions,
            hint=f"-o FILE.relay --params-out {output} writes both",
        )
    values = _read_tensors(weights, only) if weights else None
    _convert_text(text, values, output, params_out, entry)


def _convert_text(
    text: str, weights: Mapping[str, Any] | None, output: str, params_out: str | None, entry: str
) -> None:
    from ..passes.core.bind import bind_params
    from ..passes.core.externalize import constants_as_params
    from ..printer import to_text
    from .input_module import read_whole
    from .output import write_text

    if weights is None and params_out is None:
        raise WrongUsage("name the values of the parameters, or --params-out for those of the constants", MissingWord)
    module = read_whole(text)
    if weights is not None:
        module = bind_params(module, weights, entry)
    if params_out is not None:
        _check_place(params_out)
        if os.path.abspath(params_out) == os.path.abspath(output):
            raise WrongUsage(f"text and tensors would both go to {output}", ClashingOptions)
        module, values = constants_as_params(module, entry)
        if not values:
            from ..diagnostics import IrError

            raise IrError("the text has no constants that could be parameters", filename=text)
        _write_tensors(params_out, values, is_printed=output == "-")
    write_text(output, to_text(module, types="none"))
    if output != "-" and not is_quiet():
        click.echo(f"wrote {output} ({os.path.getsize(output)} bytes)")


def _is_text(path: str) -> bool:
    return path == "-" or path.endswith(_TEXT)


def _is_tensors(path: str) -> bool:
    return not path.endswith(".relay") and (path.endswith((*_ENDINGS, "/")) or os.path.isdir(path))


def _check_place(path: str) -> None:
    """Raises WrongUsage for a name that tells no format."""
    ending = os.path.splitext(path.rstrip("/"))[1]
    if path == "-" or (ending and ending not in _ENDINGS and not path.endswith("/") and not os.path.isdir(path)):
        raise WrongUsage(
            f"{path} does not tell a format: end it with {', '.join(_ENDINGS)}, or with / for a folder of .npy files",
            BadValue,
        )


def _read_tensors(paths: tuple[str, ...], only: re.Pattern[str] | None) -> Any:
    """The tensors of files and folders whose names match. Raises IrError, also for a name that two of them have, and if no name matches."""
    from ..diagnostics import IrError
    from ..parser.array_folder import read_folder
    from ..parser.params import ParameterFile
    from .source import read_arrays

    files = []
    for path in paths:
        if not os.path.isdir(path):
            files.append(read_arrays(path))
            continue
        try:
            files.append(ParameterFile(path, read_folder(path)))
        except OSError as error:
            where = error.filename or path
            raise IrError(f"cannot read {where}: {error.strerror or error}", code=UnreadableFile) from None
    tensors = ParameterFile.merged(files)
    if only is None:
        return tensors
    chosen = {name: a for name, a in tensors.items() if only.fullmatch(name)}
    if not chosen:
        raise IrError(
            f"no tensor has a name that matches {only.pattern}",
            help=f"the first of {len(tensors)} is {next(iter(tensors))}" if tensors else "",
        )
    return chosen


def _unpacked(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors as arrays: those in blocks, which the formats that are written lack, in float32."""
    import numpy as np

    from ..ir.block_tensor import BlockTensor
    from .notes import say

    packed = [n for n, a in tensors.items() if isinstance(a, BlockTensor)]
    if packed:
        more = f" and {len(packed) - 4} more" if len(packed) > 4 else ""
        verb = "is" if len(packed) == 1 else "are"
        say(
            f"{', '.join(packed[:4])}{more} {verb} unpacked to float32: no format that is written has weights in blocks"
        )
    return {n: np.asarray(a) if isinstance(a, BlockTensor) else a for n, a in tensors.items()}


def _write_tensors(path: str, tensors: Mapping[str, Any], is_printed: bool = False) -> None:
    """Writes tensors in the format that the path tells. Raises IrError."""
    from ..diagnostics import IrError
    from ..ir.conversion import dtype_name
    from ..parser.array_folder import write_folder
    from ..parser.params import write_params

    _check_place(path)
    tensors = _unpacked(tensors)
    is_folder = not path.endswith(_ENDINGS)
    if is_folder or path.endswith(".npz"):  # numpy's name for bfloat16 is that of two bytes
        tensors = {n: a.view("V2") if dtype_name(a) == "bfloat16" else a for n, a in tensors.items()}
    try:
        if is_folder:
            write_folder(path.rstrip("/"), tensors)
        else:
            write_params(path, tensors)
    except OSError as error:
        raise IrError(f"cannot write {path}: {error.strerror or error}", code=UnwritableFile) from None
    if not is_printed and not is_quiet():
        total = sum(a.nbytes for a in tensors.values())
        count = len(tensors)
        click.echo(f"wrote {path} ({count} tensor{'s' if count != 1 else ''}, {total} bytes)")
