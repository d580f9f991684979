"""Moving scales forward: from a multiplication down into the weights of the layer that consumes it.

First, from the result to the inputs, consumers tell which scales they could take up; then, from the inputs to the
result, multiplications that were asked for one give their scale away and it travels to the consumer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import overload

from ...ir import Call, Expr, Function, Op, TensorType, Tuple, TupleGetItem, children, post_order, rewrite
from ...ops.base import Operator, call, is_call_to
from ..core.axes import broadcasts_on_axes, expand_to_axis, squeeze
from ..core.constants import may_divide, never_negative
from ..core.rule_table import RuleTable
from ..effects.purity import Effects
from .message import Message, conv_axes, intersect, operand_types, reshape_to_axes, to_axes


@dataclass(frozen=True, eq=False)
class Scaled:
    """A value that is still to be multiplied with `scale` along `axes`."""

    value: Expr
    axes: tuple[int, ...]
    scale: Expr


Operand = Expr | Scaled


@overload
def fold_forward(root: Function) -> Function: ...
@overload
def fold_forward(root: Expr) -> Expr: ...
def fold_forward(root: Expr) -> Expr:
    """`root` with the scales in front of convolutions and dense layers moved into their weights."""
    messages = _ask(root)
    if all(m is None for m in messages.values()):
        return root
    return _Forward(messages).run(root)


def _ask(root: Expr) -> dict[Expr, Message | None]:
    """For each node, the scale that all its users could take from it."""
    messages: dict[Expr, Message | None] = {root: None}

    def tell(e: Expr, message: Message | None) -> None:
        messages[e] = intersect(messages[e], message) if e in messages else message

    nodes = post_order(root)
    shared = _read_elsewhere(nodes)
    for e in reversed(nodes):
        kids = children(e)
        rule = _find_question(e.op.operator) if isinstance(e, Call) and isinstance(e.op, Op) else None
        if rule is not None:
            assert isinstance(e, Call)
            asked = [None, None] if is_call_to(e, *_LAYERS) and e.args[1] in shared else rule(e, messages.get(e))
            for arg, message in zip(e.args, asked, strict=True):
                tell(arg, message)
        else:
            for kid in kids:
                tell(kid, None)
    return messages


_LAYERS = ("nn.conv2d", "nn.conv3d", "nn.dense")
"""Operators whose second operand takes scales up."""


def _read_elsewhere(nodes: Sequence[Expr]) -> set[Expr]:
    """The weights of layers that are something else for another reader, such as a table from which rows are taken: scaled, they would be there
    twice."""
    weights: set[Expr] = set()
    others: set[Expr] = set()
    for e in nodes:
        is_layer = is_call_to(e, *_LAYERS)
        for place, kid in enumerate(e.args if isinstance(e, Call) else children(e)):
            (weights if is_layer and place == 1 else others).add(kid)
    return weights & others


class _Forward:
    def __init__(self, messages: dict[Expr, Message | None]) -> None:
        self.messages = messages
        self.scaled: dict[Expr, Scaled] = {}
        self.effects = Effects()

    def run(self, root: Expr) -> Expr:
        return rewrite(root, self.leave)

    def leave(self, old: Expr, new: Expr) -> Expr:
        if (
            isinstance(old, TupleGetItem)
            and isinstance(old.tuple, Tuple)
            and self.effects.only_field(old.tuple, old.index)
        ):
            assert isinstance(new, TupleGetItem) and isinstance(new.tuple, Tuple)
            return new.tuple.fields[new.index]
        if not isinstance(old, Call) or not isinstance(old.op, Op):
            return new
        rule = _find_way(old.op.operator)
        if rule is None:
            return new
        args: list[Operand] = [self.scaled.get(a, n) for a, n in zip(old.args, new.args, strict=True)]  # type: ignore[attr-defined]  # `new` is `old` over its new children
        result = rule(old, args, self.messages.get(old))
        if isinstance(result, Scaled):
            self.scaled[old] = result
            return result.value
        if result is not None:
            return result
        if any(isinstance(a, Scaled) for a in args):
            done = tuple(_realized(a, was) for a, was in zip(args, old.args, strict=True))
            return Call(old.op, done, old.attrs, old.type_args, old.span)
        return new


def _realized(a: Operand, was: Expr) -> Expr:
    """The value with its scale multiplied in after all."""
    if not isinstance(a, Scaled):
        return a
    scale = to_axes(a.scale, was.checked_type.shape, a.axes)  # type: ignore[union-attr]  # types have been inferred
    return was if scale is None else call("multiply", a.value, scale)


Asked = list[Message | None]
Question = Callable[[Call, "Message | None"], Asked]
"""`question(call, message)`: the scales that a call could take from its arguments, given the scales that its users could take from it."""
Way = Callable[[Call, list[Operand], "Message | None"], "Operand | None"]
"""`way(call, args, message)`: the call over arguments that are scaled, without their scales; None if it cannot be."""

_QUESTIONS: RuleTable[str, Question] = RuleTable(__package__, "what scales are asked for by")
_WAYS: RuleTable[str, Way] = RuleTable(__package__, "the way of scales through")


def asks_for(*operators: str) -> Callable[[Question], Question]:
    """Decorator: files which scales calls of operators could take from their arguments."""
    return _QUESTIONS.file(*operators)


def passes_on(*operators: str) -> Callable[[Way], Way]:
    """Decorator: files the rule for calls of operators on scaled arguments."""
    return _WAYS.file(*operators)


def _find_question(operator: type[Operator]) -> Question | None:
    return _QUESTIONS.find(operator.name) or (_ask_through_homogeneous if operator.homogeneous else None)


def _find_way(operator: type[Operator]) -> Way | None:
    return _WAYS.find(operator.name) or (_through_homogeneous if operator.homogeneous else None)


def _ask_through_homogeneous(e: Call, message: Message | None) -> Asked:
    return [None if message is None else Message(message.axes, True)]


@asks_for("add", "subtract")
def _ask_through_add(e: Call, message: Message | None) -> Asked:
    if message is not None:
        left, right = operand_types(e)
        if broadcasts_on_axes(left, right, message.axes) is not None:
            return [message, None]
        if broadcasts_on_axes(right, left, message.axes) is not None:
            return [None, message]
    return [None, None]


@asks_for("nn.conv2d", "nn.conv3d")
def _ask_for_conv(e: Call, message: Message | None) -> Asked:
    axes = conv_axes(e, e.attrs.data_layout)
    return [None if axes is None or not _weight_takes_scale(e) else axes.message, None]


@asks_for("nn.dense")
def _ask_for_dense(e: Call, message: Message | None) -> Asked:
    features = len(operand_types(e)[0].shape) - 1
    return [Message((features,)) if _weight_takes_scale(e) else None, None]


def _weight_takes_scale(e: Call) -> bool:
    """True if the data's scale may go into the weight: it has the weight's dtype, and integers do not wrap before wider sums."""
    data, weight = operand_types(e)
    result = e.checked_type
    wraps = "int" in weight.dtype and isinstance(result, TensorType) and result.dtype != weight.dtype
    return data.dtype == weight.dtype and not wraps


def _through_homogeneous(e: Call, args: list[Operand], message: Message | None) -> Operand | None:
    data = args[0]
    if not isinstance(data, Scaled):
        return None
    return Scaled(Call(e.op, (data.value,), e.attrs, e.type_args), data.axes, data.scale)


@passes_on("add", "subtract")
def _through_add(e: Call, args: list[Operand], message: Message | None) -> Operand | None:
    operand = next((i for i, a in enumerate(args) if isinstance(a, Scaled)), None)
    if operand is None:
        return None
    data, other = args[operand], args[1 - operand]
    if not isinstance(data, Scaled) or isinstance(other, Scaled):
        return None
    scale = to_axes(data.scale, operand_types(e)[operand].shape, data.axes)
    if scale is None or not may_divide(data.scale):
        return None
    pair = [data.value, data.value]
    pair[1 - operand] = call("divide", other, scale)
    return Scaled(Call(e.op, tuple(pair), e.attrs, e.type_args), data.axes, data.scale)


@passes_on("multiply")
def _from_multiply(e: Call, args: list[Operand], message: Message | None) -> Operand | None:
    """Gives one operand away as the scale of the other."""
    if message is None or not message.axes:
        return None
    types = operand_types(e)
    for operand in range(2):
        value, scale = args[operand], args[1 - operand]
        if isinstance(value, Scaled) or isinstance(scale, Scaled):
            return None
        squeezed = broadcasts_on_axes(types[operand], types[1 - operand], message.axes)
        if squeezed is None:
            continue
        flat = squeeze(scale, squeezed)
        if not message.require_positive or never_negative(flat):
            return Scaled(value, message.axes, flat)
    return None


@passes_on("nn.conv2d", "nn.conv3d")
def _into_conv(e: Call, args: list[Operand], message: Message | None) -> Operand | None:
    data, weight = args
    axes = conv_axes(e, e.attrs.data_layout)
    if not isinstance(data, Scaled) or isinstance(weight, Scaled) or axes is None:
        return None
    outer, inner = (axes.outputs, axes.inner_outputs) if axes.depthwise else (axes.inputs, axes.inner_inputs)
    scale: Expr | None
    if axes.is_blocked:
        scale = reshape_to_axes(data.scale, operand_types(e)[1].shape, (outer, inner))
    else:
        scale = expand_to_axis(data.scale, axes.rank, [outer])
    if scale is None:
        return None
    return Call(e.op, (data.value, call("multiply", weight, scale)), e.attrs, e.type_args)


@passes_on("nn.dense")
def _into_dense(e: Call, args: list[Operand], message: Message | None) -> Operand | None:
    data, weight = args
    if not isinstance(data, Scaled) or isinstance(weight, Scaled):
        return None
    return Call(e.op, (data.value, call("multiply", weight, data.scale)), e.attrs, e.type_args)
