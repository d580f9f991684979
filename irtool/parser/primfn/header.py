"""The header of a primfn: its parameters, and the buffers that they point to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...tir import dtypes
from ...tir.stmt import Buffer, Scope
from .attributes import read_attributes
from .names import TakenNames
from .tokens import Tokens


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


def read_header(tokens: Tokens, names: TakenNames) -> Header:
    """From `primfn(` to the brace that opens the body, which is left behind."""
    tokens.expect("primfn")
    tokens.expect("(")
    handles = tokens.list_of(lambda: _parameter(tokens), ")")
    tokens.expect("->")
    tokens.expect("(")
    tokens.expect(")")
    result = Header()
    declared: dict[str, tuple[Buffer, Declared]] = {}
    mapped: dict[str, str] = {}
    before: dict[str, tuple[str, Declared]] = {}
    while not tokens.skip("{"):
        first = tokens.at
        part = tokens.name("the part of a header")
        tokens.expect("=")
        if part == "attr":
            result.attrs = read_attributes(tokens)
            continue
        tokens.expect("{")
        if part == "buffers":
            for name, d in tokens.list_of(lambda: _buffer(tokens), "}"):
                if name in declared:
                    raise tokens.wrong(f"the buffer {name} is declared twice", first)
                declared[name] = Buffer(names.hint(name), d.shape, d.dtype, Scope.PARAM), d
        elif part == "buffer_map":
            mapped |= tokens.list_of(lambda: _pair(tokens), "}")
        elif part == "preflattened_buffer_map":
            before |= tokens.list_of(lambda: _before(tokens), "}")
        else:
            tokens.refuse(f"the header has a part {part}", first)
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
            tokens.refuse(f"no buffer is told for the parameter {h}", 0)
        buffer, d = known
        if mapped[h] in result.buffers:
            tokens.refuse(f"the buffer of {h} is that of another parameter, too", 0)
        result.params.append(buffer)
        result.buffers[mapped[h]] = buffer
        result.pointers[d.pointer] = buffer
        was = before[h][1] if h in before else d
        result.preflattened.append(Buffer(buffer.name, was.shape, was.dtype, Scope.PARAM))
    if not before:
        result.preflattened = []
    return result


def _parameter(tokens: Tokens) -> str:
    first = tokens.at
    name = tokens.name("a parameter")
    tokens.expect(":")
    if tokens.name("the type of a parameter") != "handle":
        tokens.refuse(f"the parameter {name} is a number, not a tensor", first)
    return name


def _pair(tokens: Tokens) -> tuple[str, str]:
    handle = tokens.name("a parameter")
    tokens.expect(":")
    return handle, tokens.name("a buffer")


def _before(tokens: Tokens) -> tuple[str, tuple[str, Declared]]:
    handle = tokens.name("a parameter")
    tokens.expect(":")
    return handle, _buffer(tokens)


def _buffer(tokens: Tokens) -> tuple[str, Declared]:
    name = tokens.name("a buffer")
    tokens.expect(":")
    return name, read_declaration(tokens)


def read_declaration(tokens: Tokens) -> Declared:
    """`Buffer(pointer: Pointer(scope dtype), dtype, [shape], [strides], scope=Scope.LOCAL, align=4)`, of a static shape, row-major."""
    first = tokens.at
    tokens.expect("Buffer")
    tokens.expect("(")
    pointer = tokens.name("a pointer")
    if tokens.skip(":"):
        read_pointer_type(tokens)
    tokens.expect(",")
    dtype = read_dtype(tokens)
    tokens.expect(",")
    shape = read_shape(tokens)
    tokens.expect(",")
    tokens.expect("[")
    if not tokens.skip("]"):
        tokens.refuse("a buffer has strides", first)
    while tokens.skip(","):
        key = tokens.name("what is said of a buffer")
        tokens.expect("=")
        if key == "index_map":
            tokens.refuse("a buffer is laid out by an index map", first)
        if key not in ("scope", "align"):
            tokens.refuse(f"a buffer has {key}", first)
        tokens.take()
    tokens.expect(")")
    return Declared(pointer, dtype, shape)


def read_pointer_type(tokens: Tokens) -> str:
    """The scope that `Pointer(scope dtype)` names; `global` where it names none."""
    tokens.expect("Pointer")
    tokens.expect("(")
    scope = tokens.name("a dtype or a scope")
    if tokens.kind == "name":
        tokens.take()
    else:
        scope = "global"
    tokens.expect(")")
    return scope


def read_dtype(tokens: Tokens) -> str:
    """The dtype of scalars."""
    first = tokens.at
    dtype = tokens.name("a dtype")
    try:
        dtypes.parts(dtype)
    except TypeError:
        tokens.refuse(f"{dtype} is not a dtype of scalars", first)
    return "bool" if dtype == "uint1" else dtype


def read_shape(rest: Tokens) -> tuple[int, ...]:
    """`[2, 3]`."""
    rest.expect("[")

    def extent() -> int:
        if rest.kind != "number":
            rest.refuse("a shape is not static")
        return rest.integer("an extent")

    return tuple(rest.list_of(extent, "]"))
