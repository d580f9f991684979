"""Constants in a primfn: `constant(c: Pointer(global float32), float32, [2]), data = meta[relay.Constant][0], irmod_storage_idx = 0`."""

from __future__ import annotations

from collections.abc import Callable

from ...diagnostics import IrError
from ...ir import Constant, MissingData
from ...tir.stmt import AllocateConst, Buffer, Scope, Seq
from .header import read_dtype, read_pointer_type, read_shape
from .names import TakenNames
from .tokens import Words

ConstantOf = Callable[[int], Constant]
"""The constant of a number in the metadata section. Raises IrError where it is not there."""


def read_constant(words: Words, names: TakenNames, find: ConstantOf | None) -> tuple[str, AllocateConst]:
    """The name of the pointer and the constant, without the statements after it.

    Raises NotRead where the text does not have the data: TVM prints none.
    """
    first = words.at
    words.take()
    words.expect("(")
    pointer = words.name("a pointer")
    words.expect(":")
    read_pointer_type(words)
    words.expect(",")
    dtype = read_dtype(words)
    words.expect(",")
    shape = read_shape(words)
    words.expect(")")
    held: Constant | None = None
    number: int | None = None
    while words.skip(","):
        key = words.name("what is said of a constant")
        words.expect("=")
        if key == "data":
            held = _data(words, find)
        elif key == "irmod_storage_idx":
            number = words.integer("the number of a constant of the module")
        else:
            words.refuse(f"a constant has {key}", first)
    if held is None or isinstance(held.data, MissingData):
        words.refuse(f"the data of the constant {pointer} is not in the text", first)
    if held.dtype != dtype or tuple(held.data.shape) != tuple(shape):
        have = f"{held.dtype}{list(held.data.shape)}"
        raise words.wrong(f"the data of {pointer} is {have}, its buffer {dtype}{list(shape)}", first)
    size = 1
    for d in shape:
        size *= d
    buffer = Buffer(names.hint(pointer), (size,), dtype, Scope.PARAM)
    return pointer, AllocateConst(buffer, held.data, Seq(()), number)


def _data(words: Words, find: ConstantOf | None) -> Constant | None:
    """`meta[relay.Constant][3]`; None where there is no metadata section."""
    first = words.at
    if words.name("a reference into the metadata section") != "meta":
        raise words.unexpected("meta[relay.Constant][…]")
    words.expect("[")
    if words.name("the kind of metadata") != "relay.Constant":
        raise words.wrong("the data of a constant is a relay.Constant", first)
    words.expect("]")
    words.expect("[")
    index = words.integer("a number")
    words.expect("]")
    if find is None:
        return None
    try:
        return find(index)
    except IrError as error:
        raise words.wrong(error.diagnostics[0].message, first) from None
