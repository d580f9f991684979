"""The header of a primfn: its parameters, and the buffers that they point to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...tir import dtypes
from ...tir.stmt import Buffer, Scope
from .attributes import read_attributes
from .names import TakenNames
from .tokens import Words


@dataclass
class Header:
    """The parameters of a primfn, in order, as its body sees them; their shapes before they became flat, if these are
    given; its attributes; and the buffers by name and by pointer."""

    params: list[Buffer] = field(default_factory=list)
    preflattened: list[Buffer] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    buffers: dict[str, Buffer] = field(default_factory=dict)
    pointers: dict[str, Buffer] = field(default_factory=dict)


@dataclass(frozen=True)
class Declared:
    """The fields of `Buffer(pointer: Pointer(dtype), dtype, [shape], [strides], …)`."""

    pointer: str
    dtype: str
    shape: tuple[int, ...]


def read_header(words: Words, names: TakenNames) -> Header:
    """From `primfn(` to the brace that opens the body, which is left behind."""
    words.expect("primfn")
    words.expect("(")
    handles = words.list_of(lambda: _parameter(words), ")")
    words.expect("->")
    words.expect("(")
    words.expect(")")
    result = Header()
    declared: dict[str, tuple[Buffer, Declared]] = {}
    mapped: dict[str, str] = {}
    before: dict[str, tuple[str, Declared]] = {}
    while not words.skip("{"):
        first = words.at
        part = words.name("the part of a header")
        words.expect("=")
        if part == "attr":
            result.attrs = read_attributes(words)
            continue
        words.expect("{")
        if part == "buffers":
            for name, d in words.list_of(lambda: _buffer(words), "}"):
                if name in declared:
                    raise words.wrong(f"the buffer {name} is declared twice", first)
                declared[name] = Buffer(names.hint(name), d.shape, d.dtype, Scope.PARAM), d
        elif part == "buffer_map":
            mapped |= words.list_of(lambda: _pair(words), "}")
        elif part == "preflattened_buffer_map":
            before |= words.list_of(lambda: _before(words), "}")
        else:
            words.refuse(f"the header has a part {part}", first)
    for h in handles:
        names.hint(h)
    for _, d in declared.values():
        names.hint(d.pointer)
    for h, (name, d) in before.items():
        names.hint(name)
        if h not in mapped:  # the body sees it as it was
            declared[name] = Buffer(name, d.shape, d.dtype, Scope.PARAM), d
            mapped[h] = name
    for h in handles:
        known = declared.get(mapped.get(h, ""))
        if known is None:
            words.refuse(f"no buffer is told for the parameter {h}", 0)
        buffer, d = known
        if mapped[h] in result.buffers:
            words.refuse(f"the buffer of {h} is that of another parameter, too", 0)
        result.params.append(buffer)
        result.buffers[mapped[h]] = buffer
        result.pointers[d.pointer] = buffer
        was = before[h][1] if h in before else d
        result.preflattened.append(Buffer(buffer.name, was.shape, was.dtype, Scope.PARAM))
    if not before:
        result.preflattened = []
    return result


def _parameter(words: Words) -> str:
    first = words.at
    name = words.name("a parameter")
    words.expect(":")
    if words.name("the type of a parameter") != "handle":
        words.refuse(f"the parameter {name} is a number, not a tensor", first)
    return name


def _pair(words: Words) -> tuple[str, str]:
    handle = words.name("a parameter")
    words.expect(":")
    return handle, words.name("a buffer")


def _before(words: Words) -> tuple[str, tuple[str, Declared]]:
    handle = words.name("a parameter")
    words.expect(":")
    return handle, _buffer(words)


def _buffer(words: Words) -> tuple[str, Declared]:
    name = words.name("a buffer")
    words.expect(":")
    return name, read_declaration(words)


def read_declaration(words: Words) -> Declared:
    """`Buffer(pointer: Pointer(scope dtype), dtype, [shape], [strides], scope=Scope.LOCAL, align=4)`, of a static shape, row-major."""
    first = words.at
    words.expect("Buffer")
    words.expect("(")
    pointer = words.name("a pointer")
    if words.skip(":"):
        read_pointer_type(words)
    words.expect(",")
    dtype = read_dtype(words)
    words.expect(",")
    shape = read_shape(words)
    words.expect(",")
    words.expect("[")
    if not words.skip("]"):
        words.refuse("a buffer has strides", first)
    while words.skip(","):
        key = words.name("what is said of a buffer")
        words.expect("=")
        if key == "index_map":
            words.refuse("a buffer is laid out by an index map", first)
        if key not in ("scope", "align"):
            words.refuse(f"a buffer has {key}", first)
        words.take()
    words.expect(")")
    return Declared(pointer, dtype, shape)


def read_pointer_type(words: Words) -> str:
    """The scope that `Pointer(scope dtype)` names; `global` where it names none."""
    words.expect("Pointer")
    words.expect("(")
    scope = words.name("a dtype or a scope")
    if words.kind == "name":
        words.take()
    else:
        scope = "global"
    words.expect(")")
    return scope


def read_dtype(words: Words) -> str:
    """The dtype of scalars."""
    first = words.at
    dtype = words.name("a dtype")
    try:
        dtypes.parts(dtype)
    except TypeError:
        words.refuse(f"{dtype} is not a dtype of scalars", first)
    return "bool" if dtype == "uint1" else dtype


def read_shape(words: Words) -> tuple[int, ...]:
    """`[2, 3]`."""
    words.expect("[")

    def extent() -> int:
        if words.kind != "number":
            words.refuse("a shape is not static")
        return words.integer("an extent")

    return tuple(words.list_of(extent, "]"))
