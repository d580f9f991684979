"""Constants in a primfn: `constant(c: Pointer(global float32), float32, [2]), data = meta[relay.Constant][0], irmod_storage_idx = 0`."""

from __future__ import annotations

from collections.abc import Callable

from ...diagnostics import IrError
from ...ir import Constant, MissingData
from ...tir.stmt import AllocateConst, Buffer, Scope, Seq
from .header import read_dtype, read_pointer_type, read_shape
from .names import TakenNames
from .tokens import Tokens

ConstantOf = Callable[[int], Constant]
"""The constant of a number in the metadata section. Raises IrError if it is not there."""


def read_constant(tokens: Tokens, names: TakenNames, find: ConstantOf | None) -> tuple[str, AllocateConst]:
    """The name of the pointer and the constant, without the statements after it.

    Raises NotRead if the text does not have the data: TVM prints none.
    """
    first = tokens.at
    tokens.take()
    tokens.expect("(")
    pointer = tokens.name("a pointer")
    tokens.expect(":")
    read_pointer_type(tokens)
    tokens.expect(",")
    dtype = read_dtype(tokens)
    tokens.expect(",")
    shape = read_shape(tokens)
    tokens.expect(")")
    constant: Constant | None = None
    number: int | None = None
    while tokens.skip(","):
        key = tokens.name("what is said of a constant")
        tokens.expect("=")
        if key == "data":
            constant = _data(tokens, find)
        elif key == "irmod_storage_idx":
            number = tokens.integer("the number of a constant of the module")
        else:
            tokens.refuse(f"a constant has {key}", first)
    if constant is None or isinstance(constant.data, MissingData):
        tokens.refuse(f"the data of the constant {pointer} is not in the text", first)
    if constant.dtype != dtype or tuple(constant.data.shape) != tuple(shape):
        have = f"{constant.dtype}{list(constant.data.shape)}"
        raise tokens.wrong(f"the data of {pointer} is {have}, its buffer {dtype}{list(shape)}", first)
    size = 1
    for d in shape:
        size *= d
    buffer = Buffer(names.hint(pointer), (size,), dtype, Scope.PARAM)
    return pointer, AllocateConst(buffer, constant.data, Seq(()), number)


def _data(tokens: Tokens, find: ConstantOf | None) -> Constant | None:
    """`meta[relay.Constant][3]`; None if there is no metadata section."""
    first = tokens.at
    if tokens.name("a reference into the metadata section") != "meta":
        raise tokens.unexpected("meta[relay.Constant][…]")
    tokens.expect("[")
    if tokens.name("the kind of metadata") != "relay.Constant":
        raise tokens.wrong("the data of a constant is a relay.Constant", first)
    tokens.expect("]")
    tokens.expect("[")
    index = tokens.integer("a number")
    tokens.expect("]")
    if find is None:
        return None
    try:
        return find(index)
    except IrError as error:
        raise tokens.wrong(error.diagnostics[0].message, first) from None
