"""Moving scales backward, from a multiplication up into the weights of what produced its operand.

First, from the inputs to the result, producers tell which scales they could take up, as long as nothing else uses what
lies between; then each multiplication that finds such a producer gives its scale away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, overload

from ...ir import Call, Expr, Function, Op, post_order, rewrite, use_counts
from ...ops.base import call
from ...trampoline import trampoline
from ..axes import broadcasts_on_axes, expand_to_axis, squeeze
from ..constants import never_negative
from .message import Message, conv_axes, operand_types, reshape_to_axes, to_axes


@overload
def fold_backward(root: Function) -> Function: ...
@overload
def fold_backward(root: Expr) -> Expr: ...
def fold_backward(root: Expr) -> Expr:
    """`root` with the scales behind convolutions and dense layers moved into their weights."""
    messages = _offer(root)
    if not messages:
        return root
    return _Backward(messages).run(root)


def _offer(root: Expr) -> dict[Expr, Message]:
    """For each node, the scale that could be moved into it."""
    uses = use_counts(root)
    messages: dict[Expr, Message] = {}
    for e in post_order(root):
        if not isinstance(e, Call) or not isinstance(e.op, Op) or uses[e] != 1:
            continue
        rule = _PREPARE.get(e.op.name)
        message = rule(e, [messages.get(a) for a in e.args]) if rule else None
        if message is not None:
            messages[e] = message
    return messages


Steps = Generator[Any, Any, Any]


class _Backward:
    def __init__(self, messages: dict[Expr, Message]) -> None:
        self.messages = messages
        self.memo: dict[Expr, Expr] = {}

    def run(self, root: Expr) -> Expr:
        return rewrite(root, self.leave, memo=self.memo)

    def leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(old, Call) and isinstance(old.op, Op) and old.op.name == "multiply":
            return self.multiply(old, new)  # type: ignore[arg-type]
        return new

    def multiply(self, old: Call, new: Call) -> Expr:
        types = operand_types(old)
        at = next((i for i in range(2) if old.args[i] in self.messages), None)
        if at is None:
            return new
        message = self.messages[old.args[at]]
        squeezed = broadcasts_on_axes(types[at], types[1 - at], message.axes)
        if squeezed is None:
            return new
        scale = squeeze(old.args[1 - at], squeezed)
        if message.require_positive and not never_negative(scale):
            return new
        return trampoline(self.push(old.args[at], message, scale))  # type: ignore[arg-type]

    def push(self, e: Call, message: Message, scale: Expr) -> Steps:
        """`e` with `scale` multiplied into it along the message's axes."""
        made = yield _PUSH[e.op.name](self, e, message, scale)  # type: ignore[attr-defined]  # the callee is an operator
        self.memo[e] = made
        return made

    def plain(self, e: Call) -> Call:
        """`e` over its rewritten operands."""
        return Call(e.op, tuple(self.memo[a] for a in e.args), e.attrs, e.type_args, e.span)

    def scaled(self, e: Call, message: Message, scale: Expr) -> Expr:
        """`e` with the multiplication right behind it."""
        wide = to_axes(scale, e.checked_type.shape, message.axes)  # type: ignore[union-attr]  # types have been inferred
        return call("multiply", self.plain(e), scale if wide is None else wide)

    def relu(self, e: Call, message: Message, scale: Expr) -> Steps:
        data = yield self.push(e.args[0], message, scale)  # type: ignore[arg-type]
        return Call(e.op, (data,), e.attrs, e.type_args)

    def add(self, e: Call, message: Message, scale: Expr) -> Steps:
        messages = [self.messages.get(a) for a in e.args]
        operands: list[Expr] = []
        for at, arg in enumerate(e.args):
            if messages[at] is not None:
                operands.append((yield self.push(arg, message, scale)))  # type: ignore[arg-type]
                continue
            wide = to_axes(scale, operand_types(e)[1 - at].shape, message.axes)
            if wide is None:
                return self.scaled(e, message, scale)
            operands.append(call("multiply", self.memo[arg], wide))
        return Call(e.op, tuple(operands), e.attrs, e.type_args)

    def bias_add(self, e: Call, message: Message, scale: Expr) -> Steps:
        data = yield self.push(e.args[0], message, scale)  # type: ignore[arg-type]
        return Call(e.op, (data, call("multiply", self.memo[e.args[1]], scale)), e.attrs, e.type_args)

    def conv(self, e: Call, message: Message, scale: Expr) -> Steps:
        axes = conv_axes(e, e.attrs.out_layout or e.attrs.data_layout)
        assert axes is not None
        wide: Expr | None
        if axes.is_blocked:
            wide = reshape_to_axes(scale, operand_types(e)[1].shape, (axes.outputs, axes.inner_outputs))
        else:
            wide = expand_to_axis(scale, axes.rank, [axes.outputs])
        if wide is None:
            return self.scaled(e, message, scale)
        return self.weighted(e, wide)
        yield

    def dense(self, e: Call, message: Message, scale: Expr) -> Steps:
        return self.weighted(e, expand_to_axis(scale, 2, [0]))
        yield

    def weighted(self, e: Call, scale: Expr) -> Call:
        data, weight = (self.memo[a] for a in e.args)
        return Call(e.op, (data, call("multiply", weight, scale)), e.attrs, e.type_args)


Offers = list[Message | None]


def _offer_of_relu(e: Call, offers: Offers) -> Message | None:
    return offers[0] and Message(offers[0].axes, True)


def _offer_of_add(e: Call, offers: Offers) -> Message | None:
    (left, right), (a, b) = operand_types(e), offers
    if a is not None and broadcasts_on_axes(left, right, a.axes) is not None:
        return a
    if b is not None and broadcasts_on_axes(right, left, b.axes) is not None:
        return b
    if a is not None and b is not None and a.axes == b.axes and left.shape == right.shape:
        return a
    return None


def _offer_of_bias_add(e: Call, offers: Offers) -> Message | None:
    data = offers[0]
    return data if data is not None and data.axes == (e.attrs.axis,) else None


def _offer_of_conv(e: Call, offers: Offers) -> Message | None:
    axes = conv_axes(e, e.attrs.out_layout or e.attrs.data_layout)
    return None if axes is None else axes.message


def _offer_of_dense(e: Call, offers: Offers) -> Message | None:
    return Message((1,))


_PREPARE: dict[str, Callable[[Call, Offers], Message | None]] = {
    "nn.relu": _offer_of_relu,
    "nn.leaky_relu": _offer_of_relu,
    "add": _offer_of_add,
    "subtract": _offer_of_add,
    "nn.bias_add": _offer_of_bias_add,
    "nn.conv2d": _offer_of_conv,
    "nn.conv3d": _offer_of_conv,
    "nn.dense": _offer_of_dense,
}

_PUSH: dict[str, Any] = {
    "nn.relu": _Backward.relu,
    "nn.leaky_relu": _Backward.relu,
    "add": _Backward.add,
    "subtract": _Backward.add,
    "nn.bias_add": _Backward.bias_add,
    "nn.conv2d": _Backward.conv,
    "nn.conv3d": _Backward.conv,
    "nn.dense": _Backward.dense,
}
