"""Constants beside the text: an `.npz` file whose entries are named as the text refers to them, `relay.Constant[3]`.

The text names the file in a comment (`mark`), which `named_file` finds again; the file is looked for in the folder of the text,
so that the two can be moved together, and a text never makes anyone read files elsewhere. Tensors of bfloat16, which numpy does not have, are stored as their bits under `relay.Constant[3]:bfloat16`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from ..diagnostics import IrError
from ..ir import Constant, Expr, Function, MissingData, Module, TensorType, rewrite

_KEY = "relay.Constant"
_NAME = re.compile(r"relay\.Constant\[(\d+)\](?::(\w+))?")
_MARK = "/* The values of the constants are in "

Node = TypeVar("Node", Module, Expr)


def mark(path: str | os.PathLike[str]) -> str:
    """The comment that names the file, by the last part of its path. Raises IrError for a name that no comment can hold."""
    name = os.path.basename(path)
    if "*/" in name or "/*" in name or not name.isprintable():
        raise IrError(f"{name!r} cannot be named in a comment of the text")
    return f"{_MARK}{name}. */"


def named_file(text: str) -> str:
    """The name of the file with the constants of a text, the empty string if it names none."""
    offset = text.rfind(_MARK)
    if offset < 0:
        return ""
    begin = offset + len(_MARK)
    end = text.find(". */", begin)
    name = text[begin:end]
    return name if end >= 0 and name == os.path.basename(name) else ""


def write_constants(path: str | os.PathLike[str], constants: Sequence[Constant | None]) -> None:
    """Writes the constants to an `.npz` file; the file appears only when it is whole."""
    from ..parser.params import write_params

    arrays = {}
    for index, c in enumerate(constants):
        if c is not None and not isinstance(c.data, MissingData):
            suffix = "" if c.dtype == str(c.data.dtype) else f":{c.dtype}"
            arrays[f"{_KEY}[{index}]{suffix}"] = c.data
    write_params(path, arrays, follow=False)


def read_constants(path: str | os.PathLike[str]) -> dict[int, Constant]:
    """The constants in such a file, by index. Raises IrError for another file, or a damaged one."""
    from ..parser.params import read_params

    result = {}
    for name, array in read_params(path).items():
        match = _NAME.fullmatch(name)
        if match is None:
            raise IrError(f"{name} is not the name of a constant", filename=os.fspath(path))
        result[int(match[1])] = Constant(array, match[2] or "")
    return result


def with_constants(node: Node, constants: dict[int, Constant]) -> Node:
    """`node` with every constant whose data is missing replaced by the one of its index; the others stay missing.

    Raises IrError if a constant is not of the type that the text says.
    """
    if isinstance(node, Module):
        functions = {
            n: with_constants(f, constants) if isinstance(f, Function) else f for n, f in node.functions.items()
        }
        return node.with_functions(functions)

    def fill(old: Expr, new: Expr) -> Any:
        if isinstance(new, Constant) and isinstance(new.data, MissingData) and new.data.key == _KEY:
            constant = constants.get(new.data.index)
            if constant is not None:
                _check_type(new, constant)
                return Constant(constant.data, constant.dtype, None, new.span)
        return new

    return rewrite(node, fill)


def _check_type(missing: Constant, constant: Constant) -> None:
    declared = missing.type_annotation
    if not isinstance(declared, TensorType) or isinstance(constant.data, MissingData):
        return
    shape = constant.data.shape
    if constant.dtype != declared.dtype or (declared.is_static and tuple(declared.shape) != shape):
        assert isinstance(missing.data, MissingData)
        message = (
            f"{_KEY}[{missing.data.index}] is {declared!r} here, but {constant.dtype}{list(shape)} in the .npz file"
        )
        raise IrError(message, missing.span)
