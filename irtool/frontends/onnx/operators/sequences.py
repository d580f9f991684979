"""Sequences of tensors: lists that are there while a model is imported, of which none is left in Relay.

Exporters write them where a program has a list: parts of a tensor of which some are used, results of a loop that are joined behind
it. How many tensors a sequence has must be known; a loop that makes one longer is unrolled.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....diagnostics import IrError
from ....ir import Tuple
from ..memory_limit import require_steps
from ..mistakes import DamagedModel, UnknownExtent
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tuples import concatenate
from ..value import Value, apply
from .movement import parts_of


def items_of(sequence: Value) -> tuple[Value, ...]:
    """The tensors of a sequence. Raises IrError for a tensor."""
    if sequence.items is None:
        raise IrError(f"a sequence is expected, not {sequence.type}", code=DamagedModel)
    return sequence.items


def place_in(count: int, position: Value, what: str) -> int:
    """The index of a position among `count`, from the end if it is negative. Raises IrError if it is out of range."""
    index = position.number(what)
    if not -count <= index < count:
        raise IrError(f"{what} is {index}, and there are {count}", code=DamagedModel)
    return index % count


@onnx_operator("SequenceConstruct")
class SequenceConstruct(OnnxOperator):
    """The sequence of its inputs."""

    @since(11)
    def construct(self, *inputs: Value) -> Result:
        return [Value.sequence(inputs)]


@onnx_operator("SequenceEmpty")
class SequenceEmpty(OnnxOperator):
    """A sequence without tensors."""

    @since(11)
    def empty(self, *, dtype: int = 1) -> Result:
        return [Value.sequence(())]


@onnx_operator("SequenceInsert")
class SequenceInsert(OnnxOperator):
    """A sequence with one more tensor, at its end or before another."""

    @since(11)
    def insert(self, sequence: Value, tensor: Value, position: Value | None = None) -> Result:
        items = items_of(sequence)
        index = len(items)
        if position is not None:
            index = position.number("the position in a sequence")
            if not -len(items) <= index <= len(items):
                raise IrError(f"the position in a sequence of {len(items)} tensors is {index}", code=DamagedModel)
        index = index + len(items) if index < 0 else index
        return [Value.sequence((*items[:index], tensor, *items[index:]))]


@onnx_operator("SequenceErase")
class SequenceErase(OnnxOperator):
    """A sequence without one of its tensors: the last, or that at a position."""

    @since(11)
    def erase(self, sequence: Value, position: Value | None = None) -> Result:
        items = items_of(sequence)
        if not items:
            raise IrError("a sequence without tensors has none to erase", code=DamagedModel)
        index = len(items) - 1 if position is None else place_in(len(items), position, "the position in a sequence")
        return [Value.sequence((*items[:index], *items[index + 1 :]))]


@onnx_operator("SequenceAt")
class SequenceAt(OnnxOperator):
    """The tensor at a position; a slice of all of them stacked where the program computes the position."""

    @since(11)
    def at(self, sequence: Value, position: Value) -> Result:
        items = items_of(sequence)
        if position.known is not None and not position.parameter:
            return [items[place_in(len(items), position, "the position in a sequence")]]
        if not items or any(i.tensor != items[0].tensor for i in items):
            raise IrError(
                "the position in a sequence of different tensors is computed while the program runs: it must be known before",
                code=UnknownExtent,
            )
        count = Value.constant(len(items), position.dtype)
        negative = position.call("less", Value.constant(0, position.dtype))
        place = negative.call("where", position.call("add", count), position)
        place = place.call("reshape", newshape=[]) if place.rank else place
        return stacked(items, 0).call("take", place, axis=0)


@onnx_operator("SequenceLength")
class SequenceLength(OnnxOperator):
    """The number of tensors of a sequence."""

    @since(11)
    def length(self, sequence: Value) -> Result:
        return Value.constant(len(items_of(sequence)), "int64")


@onnx_operator("ConcatFromSequence")
class ConcatFromSequence(OnnxOperator):
    """The tensors joined along an axis, which is new with `new_axis`."""

    @since(11)
    def join(self, sequence: Value, *, axis: int, new_axis: int = 0) -> Result:
        items = items_of(sequence)
        if not items:
            raise IrError("a sequence without tensors cannot be joined", code=DamagedModel)
        if new_axis:
            return stacked(items, items[0].axis(axis, rank=items[0].rank + 1))
        return concatenate(items, items[0].axis(axis))


def stacked(items: Sequence[Value], axis: int) -> Value:
    """The tensors along a new axis."""
    return apply("stack", Tuple(tuple(i.expr for i in items)), axis=axis)


@onnx_operator("SplitToSequence")
class SplitToSequence(OnnxOperator):
    """The parts of a tensor along an axis: of given extents, of one extent but for the last, or of extent 1."""

    @since(11, 24)
    def split(self, x: Value, split: Value | None = None, *, axis: int = 0, keepdims: int = 1) -> Result:
        positive_axis = x.axis(axis)
        if split is not None and split.rank:
            extents = split.ints("the extents of SplitToSequence")
        else:
            each = 1 if split is None else split.number("the extent of each part")
            whole = x.extent(positive_axis, "the tensor that is split")
            if each < 1:
                raise IrError(f"parts of {each} elements are none", code=DamagedModel)
            require_steps(-(-whole // each), "the parts")
            extents = tuple(min(each, whole - b) for b in range(0, whole, each))
        if not extents:
            return [Value.sequence(())]
        parts = [p if isinstance(p, Value) else Value.of(p) for p in parts_of(x, positive_axis, extents, len(extents))]
        if split is None and not keepdims:
            parts = [p.call("squeeze", axis=[positive_axis]) for p in parts]
        return [Value.sequence(parts)]
