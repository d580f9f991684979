"""Reading of a command's input: a file or standard input, as text, as a module, as arrays."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, IrError, nearest
from ..files import open_file
from .foreign import refuse_foreign_bytes, refuse_foreign_text
from .mistakes import MissingConstantsFile, UnreadableFile

if TYPE_CHECKING:
    import click

    from ..ir import Module
    from ..parser.params import ParameterFile


def read_text(path: str) -> tuple[str, str]:
    """The text of a file (`-`: standard input) and the name it goes by in messages.

    Raises IrError if it is unreadable, or larger than `irtool --max-size` allows.
    """
    data, name = read_data(path)
    assert data is not None
    return decode_text(data, name, path)


def read_data(path: str, is_left: Callable[[bytes], bool] = lambda head: False) -> tuple[bytes | None, str]:
    """The bytes of a file (`-`: standard input) and the name it goes by in messages.

    Of a file on disk whose first bytes `is_left` says yes to, nothing more is read: the bytes are None.
    Raises IrError as `read_text` does.
    """
    most = _max_size()
    name = "<stdin>" if path == "-" else path
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if path == "-" else open_file(path, streams=True) as source:
            head = source.read(_HEAD if most is None else min(_HEAD, most + 1))
            if path != "-" and stat.S_ISREG(_mode(path)) and is_left(head):
                size, data = os.path.getsize(path), None
            else:
                data = head + source.read(-1 if most is None else most + 1 - len(head))
                size = len(data)
    except OSError as error:
        what = "standard input" if path == "-" else path
        why = "it is closed" if path == "-" and error.errno == errno.EBADF else error.strerror or error
        pipe = stat.S_ISFIFO(_mode(path)) if path != "-" else False
        raise IrError(
            f"cannot read {what}: {why}",
            help=f"read it as standard input: - < {path}" if pipe else "",
            code=UnreadableFile,
        ) from None
    if most is not None and size > most:
        raise IrError(f"{name} has more than {most} bytes, which --max-size allows", code=UnreadableFile)
    return data, name


_HEAD = 1 << 16
"""Bytes by which a file is recognised."""


def decode_text(data: bytes, name: str, path: str) -> tuple[str, str]:
    """The text in the bytes of a file, and the file's name. Raises IrError for bytes that are no text."""
    refuse_foreign_bytes(data, name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"byte {error.start} is 0x{data[error.start]:02x}"
        raise IrError(f"the file is not UTF-8 text ({place})", filename=name, code=UnreadableFile) from None
    if not text.strip():
        raise IrError("the file is empty", filename=name, code=UnreadableFile)
    _remember(path, text)
    refuse_foreign_text(text, name)
    return text, name


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def _remember(path: str, text: str) -> None:
    """Notes a text that a command has read, so that a reproducer can contain it."""
    import click

    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta.setdefault(READ, []).append((path, text))


READ = "irtool.read"
"""Under which the context of a command keeps the texts that were read, with their paths."""


def _max_size() -> int | None:
    """The limit that the command line sets, in bytes, or None."""
    import click

    context = click.get_current_context(silent=True)
    return context.find_root().params.get("max_size") if context is not None else None


def file_or_stdin(ctx: click.Context, argument: click.Parameter, value: str | None) -> str:
    """A FILE that may be left out where standard input is no terminal: then that is read."""
    import click

    if value is None and not ctx.resilient_parsing and sys.stdin.isatty():
        raise click.MissingParameter(ctx=ctx, param=argument)
    return "-" if value is None else value


def examine_text(text: str, name: str) -> tuple[Module | None, list[Diagnostic]]:
    """The module of a text, None if there are errors, and all that is said about it.

    Constants that were written beside the text (`--constants=external`) are read from there, if they still are.
    """
    from ..parser import read_with_diagnostics
    from ..parser.mistakes import MissingMetadata
    from ..printer.external import read_constants, with_constants

    module, problems = read_with_diagnostics(text, name)
    path = constants_beside(text, name)
    if module is None or not path:
        return module, problems
    problems = [d for d in problems if d.code is not MissingMetadata]
    try:
        return with_constants(module, read_constants(path)), problems
    except FileNotFoundError:
        message = f"the constants are in {path}, which is not there: they are unknown"
        return module, [*problems, Diagnostic(message, level="warning", filename=name, code=MissingConstantsFile)]
    except OSError as error:
        raise IrError(f"cannot read {path}: {error.strerror or error}", code=UnreadableFile) from None


def constants_beside(text: str, name: str) -> str:
    """The path of the file with the constants of a text that comes from the file `name`; empty if they are in the text."""
    from ..printer.external import named_file

    constants_name = named_file(text)
    return os.path.join(os.path.dirname(name), constants_name) if constants_name else ""


def read_arrays(*paths: str, role: str = "") -> ParameterFile:
    """Named arrays from `.npz` and `.params` files; with a role, `input` or `output`, also such tensors from folders of test data.

    Raises IrError for a name that two files have.
    """
    from ..parser.params import ParameterFile, read_params
    from .onnx_test_data import read_test_data

    files = []
    for path in paths:
        try:
            params = (
                ParameterFile(path, read_test_data(path, role)) if role and os.path.isdir(path) else read_params(path)
            )
        except OSError as error:
            raise IrError(f"cannot read {path}: {error.strerror or error}", code=UnreadableFile) from None
        if not params:
            raise IrError("the file has no arrays", filename=path)
        files.append(params)
    return ParameterFile.merged(files)


def read_array(path: str, name: str) -> Any:
    """The array of an `.npy` file, or the one of that name in an `.npz` or `.params` file; `FILE.npz:OTHER` names another."""
    from ..parser.arrays import read_npy
    from ..parser.params import holds_names

    file, member = path, ""
    if not os.path.exists(path) and ":" in path and os.path.exists(path.rpartition(":")[0]):
        file, _, member = path.rpartition(":")
    try:
        if not holds_names(file):
            if member:
                raise IrError(f"there is one array in the file, and none is called {member}", filename=file)
            return read_npy(file)
    except OSError as error:
        raise IrError(f"cannot read {file}: {error.strerror or error}", code=UnreadableFile) from None
    arrays = read_arrays(file)
    if (member or name) not in arrays:
        have = ", ".join(list(arrays)[:_SHOWN]) + (" …" if len(arrays) > _SHOWN else "")
        other = nearest(member or name, arrays) if len(arrays) > 1 else ""
        raise IrError(
            f"the file has no array {member or name}; it has {have}",
            filename=file,
            help=other or f"--input {name}={file}:{next(iter(arrays))} takes that one",
        )
    return arrays[member or name]


_SHOWN = 8
"""Names of arrays that a message lists."""
