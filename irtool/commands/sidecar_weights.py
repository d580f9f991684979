"""Weights that lie beside a text, under its name, and were not given: whoever forgets them is told."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from ..diagnostics import Diagnostic
from ..files import open_file
from .param_facts import ParamFacts

if TYPE_CHECKING:
    from ..ir import Module

_PARAMS_MAGIC = 0xF7E58D4F05049CB7
"""First bytes of a file of parameters of TVM (`kTVMNDArrayListMagic` in its src/runtime/file_utils.h)."""
_MOST_NAMES = 1 << 20
_LONGEST_HEADER = 1 << 26
"""Bounds for damaged files: names, and bytes."""


def sidecar_weights(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The files of weights that lie beside a text, as `import` and `quantize` write them, each with the names in it.

    Values are not read. A file that cannot be read, or is damaged, is left out: nobody has asked for it.
    """
    stem, _ = os.path.splitext(text)
    for ending, names_in in ((".npz", _of_npz), (".params", _of_params), (".safetensors", _of_safetensors)):
        path = stem + ending
        try:
            if os.path.isfile(path):
                with open_file(path) as file:
                    yield path, tuple(names_in(file))
        except (OSError, ValueError, EOFError, RecursionError):
            continue


def forgotten_weights(module: Module, text: str, param_facts: ParamFacts) -> list[Diagnostic]:
    """A note for each file beside the text that has values of parameters of `@main`, the only function, which nothing gives."""
    functions = module.relay_functions
    if "main" not in functions and len(functions) != 1:
        return []
    function = functions["main"] if "main" in functions else next(iter(functions.values()))
    notes = []
    for path, names in sidecar_weights(text):
        without = [p.name for p in function.params if p.name in names]
        without = [n for n in without if n not in param_facts.weights and n not in param_facts.values]
        if without:
            what = f"%{without[0]} has no value" if len(without) == 1 else f"{len(without)} parameters have no values"
            them = "it" if len(without) == 1 else "them"
            message = f"{what}; {os.path.basename(path)} beside the text has {them}"
            notes.append(Diagnostic(message, level="note", help=f"--params {shlex.quote(path)}", filename=text))
    return notes


def _of_npz(file: BinaryIO) -> Iterator[str]:
    import zipfile  # slow to import, and most texts have no weights beside them

    try:
        with zipfile.ZipFile(file) as archive:
            yield from (name.removesuffix(".npy") for name in archive.namelist())
    except zipfile.BadZipFile as error:
        raise ValueError from error


def _of_params(file: BinaryIO) -> Iterator[str]:
    """Names as TVM writes them: magic number, 8 bytes without a meaning, their count, and each behind its length."""
    if _number(file) != _PARAMS_MAGIC:
        return
    _number(file)
    for _ in range(min(_number(file), _MOST_NAMES)):
        yield _bytes(file, _number(file)).decode("utf-8")


def _of_safetensors(file: BinaryIO) -> Iterator[str]:
    """Keys of the JSON at the beginning of the file, behind its length; one of them is no tensor."""
    import json

    header = json.loads(_bytes(file, _number(file)))
    if isinstance(header, dict):
        yield from (name for name in header if name != "__metadata__")


def _number(file: BinaryIO) -> int:
    return int.from_bytes(_bytes(file, 8), "little")


def _bytes(file: BinaryIO, count: int) -> bytes:
    if count > _LONGEST_HEADER:
        raise ValueError("a length that no file of weights has")
    read = file.read(count)
    if len(read) < count:
        raise EOFError
    return read
