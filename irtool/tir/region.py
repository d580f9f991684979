"""Values in the region of a run, and the steps that make them and take them apart.

A region is memory at the end of the workspace: objects are put into it from its beginning upwards, frames of recursion from its end
downwards. A value of a data type, a function that is a value and a reference are each a handle, an int64: the offset of an object from
the beginning of the region, or `-1 - tag` for a constructor without fields, which needs no memory.

::

    object   int64 tag | number of its layout << 32, fields, each at a multiple of 8 bytes
    frame    int64 number of the body to go on with, values, each at a multiple of 8 bytes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ..symbolic_int import bound
from . import dtypes

ALIGNMENT = 8
"""Bytes. Objects, frames and what is in them begin at multiples of it."""

HEADER = 64
"""Bytes at the beginning of a region that say how much of it is in use."""


def padded(size: int) -> int:
    """`size` rounded up to the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Field:
    """A tensor, or a handle, in an object or a frame: its offset in bytes, its shape and dtype."""

    offset: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def nbytes(self) -> int:
        """Bytes, at the upper bounds of lengths that a run decides."""
        return bound(prod(self.shape)) * dtypes.itemsize(self.dtype)


@dataclass(frozen=True)
class Layout:
    """An object: its number among those of its type, its name, its fields, and its number among all objects of the program, from 1."""

    tag: int
    name: str
    fields: tuple[Field, ...]
    number: int = 0

    @property
    def size(self) -> int:
        """Bytes, the number of the layout included."""
        last = self.fields[-1] if self.fields else None
        return padded(last.offset + last.nbytes) if last else ALIGNMENT


def lay_out(tensors: Sequence[tuple[Sequence[int], str]]) -> tuple[Field, ...]:
    """The fields of an object or a frame with tensors of these shapes and dtypes."""
    fields: list[Field] = []
    offset = ALIGNMENT
    for shape, dtype in tensors:
        fields.append(Field(offset, tuple(shape), dtype))
        offset = padded(offset + fields[-1].nbytes)
    return tuple(fields)


@dataclass(frozen=True)
class Decision:
    """A choice by the tag of the object that a path of handles leads to.

    Attributes:
        root: the number of an input.
        path: offsets of fields.
        cases: tags, each with the number of the next decision, or `-1 - n` for the answer n.
        other: the same for all other tags.
    """

    root: int
    path: tuple[int, ...]
    cases: tuple[tuple[int, int], ...]
    other: int


class Invocation:
    """A step that hands slots to something: it reads the inputs and writes the outputs."""

    inputs: list[Any]
    outputs: list[Any]

    @property
    def reads(self) -> Sequence[Any]:
        return self.inputs

    @property
    def writes(self) -> Sequence[Any]:
        return self.outputs


@dataclass(eq=False)
class MakeObject(Invocation):
    """Puts an object with the inputs as its fields into the region; its handle is the output."""

    inputs: list[Any]
    outputs: list[Any]
    layout: Layout


@dataclass(eq=False)
class ReadObject(Invocation):
    """Copies fields of the object that a path leads to from the input, a handle. `path` are offsets of handles in objects."""

    inputs: list[Any]
    outputs: list[Any]
    path: tuple[int, ...]
    fields: tuple[Field, ...]


@dataclass(eq=False)
class WriteObject(Invocation):
    """Replaces the fields of the object whose handle is the first input by the others."""

    inputs: list[Any]
    fields: tuple[Field, ...]
    outputs: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Decide(Invocation):
    """The output, an int32, is the answer that decisions lead to, beginning with the first."""

    inputs: list[Any]
    outputs: list[Any]
    decisions: tuple[Decision, ...]


@dataclass(eq=False)
class Collect(Invocation):
    """Takes back the objects made since the function began that no handle among the inputs leads to, if they take half of the free memory.
    The others move together; the outputs, the same slots, have their new handles."""

    inputs: list[Any]
    outputs: list[Any]


@dataclass(eq=False)
class Push(Invocation):
    """Puts a frame with the inputs onto the stack; `body` is the body of the loop to go on with after the call."""

    inputs: list[Any]
    body: int
    outputs: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Pop(Invocation):
    """Takes the last frame, with the outputs in it, from the stack."""

    outputs: list[Any]
    inputs: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Resume(Invocation):
    """`continue` with the body of the enclosing loop that the last frame names."""

    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)


@dataclass(eq=False)
class Give(Invocation):
    """Adds the objects of the inputs, handles, to the memory of the caller's values; the outputs are their handles there. Ends the run with
    error `VALUES_FULL_ERROR` if there is no room. If references of the caller may be `written`, their values are copied back."""

    inputs: list[Any]
    outputs: list[Any]
    written: bool


RegionStep = MakeObject | ReadObject | WriteObject | Decide | Collect | Push | Pop | Resume | Give
"""A step that works on the region."""


def frame_fields(slots: Sequence[Any]) -> tuple[Field, ...]:
    """The fields of the frame that holds these slots."""
    return lay_out([(s.shape, s.dtype) for s in slots])


def frame_bytes(slots: Sequence[Any]) -> int:
    """The size of that frame."""
    return Layout(0, "", frame_fields(slots)).size
