"""Moving scales backward: from a multiplication up into the weights of the layer that produced its operand.

First, from the inputs to the result, producers tell which scales they could take up, as long as nothing else uses what
lies between; then each multiplication that finds such a producer gives its scale away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, overload

from ...ir import Call, Expr, Function, Op, TensorType, post_order, rewrite, use_counts
from ...ops.base import Operator, call
from ...plugin.mistakes import refuse
from ...trampoline import trampoline
from ..core.axes import broadcasts_on_axes, expand_to_axis, squeeze
from ..core.constants import never_negative
from ..core.rule_table import RuleTable
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
    return Backward(messages).run(root)


def _offer(root: Expr) -> dict[Expr, Message]:
    """For each node, the scale that could be moved into it."""
    counts = use_counts(root)
    messages: dict[Expr, Message] = {}
    for e in post_order(root):
        if not isinstance(e, Call) or not isinstance(e.op, Op) or counts[e] != 1:
            continue
        rule = _find_offer(e.op.operator)
        message = rule(e, [messages.get(a) for a in e.args]) if rule else None
        if message is not None:
            messages[e] = message
    return messages


Steps = Generator[Any, Any, Any]


class Backward:
    """Gives the scales of multiplications away, to producers that have offered to take them up.

    Attributes:
        messages: the offers.
        memo: the replacement of each node.
    """

    def __init__(self, messages: dict[Expr, Message]) -> None:
        self.messages = messages
        self.memo: dict[Expr, Expr] = {}

    def run(self, root: Expr) -> Expr:
        return rewrite(root, self.leave, memo=self.memo)

    def leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(old, Call) and isinstance(old.op, Op) and old.op.name == "multiply":
            assert isinstance(new, Call)
            return self.multiply(old, new)
        return new

    def multiply(self, old: Call, new: Call) -> Expr:
        types = operand_types(old)
        operand = next((i for i in range(2) if old.args[i] in self.messages), None)
        if operand is None:
            return new
        message = self.messages[old.args[operand]]
        squeezed = broadcasts_on_axes(types[operand], types[1 - operand], message.axes)
        if squeezed is None:
            return new
        scale = squeeze(old.args[1 - operand], squeezed)
        if message.require_positive and not never_negative(scale):
            return new
        return trampoline(self.push(old.args[operand], message, scale))

    def push(self, e: Expr, message: Message, scale: Expr) -> Steps:
        """The call `e`, which has made an offer, with `scale` multiplied into it along the message's axes."""
        assert isinstance(e, Call) and isinstance(e.op, Op)
        take = _find_taker(e.op.operator)
        if take is None:
            raise refuse(e.op.operator, "a rule offers to take up scales, and no rule (@takes_up) does it")
        result = yield take(self, e, message, scale)
        self.memo[e] = result
        return result

    def plain(self, e: Call) -> Call:
        """`e` over its rewritten operands."""
        return Call(e.op, tuple(self.memo[a] for a in e.args), e.attrs, e.type_args, e.span)

    def scaled(self, e: Call, message: Message, scale: Expr) -> Expr:
        """`e` with the multiplication right behind it."""
        wide = to_axes(scale, e.checked_type.shape, message.axes)  # type: ignore[union-attr]  # types have been inferred
        return call("multiply", self.plain(e), scale if wide is None else wide)


Offers = list[Message | None]
Offer = Callable[[Call, Offers], "Message | None"]
"""`offer(call, offers)`: the scale that a call could absorb, given the scales that its arguments could."""
Taker = Callable[[Backward, Call, Message, Expr], Steps]
"""`take(run, call, message, scale)`: a generator that returns the call with the scale multiplied into it."""

_OFFERS: RuleTable[str, Offer] = RuleTable(__package__, "what scales are taken up by")
_TAKERS: RuleTable[str, Taker] = RuleTable(__package__, "how scales are taken up by")


def offers(*operators: str) -> Callable[[Offer], Offer]:
    """Decorator: files which scales calls of operators could take up from behind them."""
    return _OFFERS.file(*operators)


def takes_up(*operators: str) -> Callable[[Taker], Taker]:
    """Decorator: files how calls of operators that have offered it take a scale up."""
    return _TAKERS.file(*operators)


def _find_offer(operator: type[Operator]) -> Offer | None:
    return _OFFERS.find(operator.name) or (_offer_of_homogeneous if operator.homogeneous else None)


def _find_taker(operator: type[Operator]) -> Taker | None:
    return _TAKERS.find(operator.name) or (_take_up_in_homogeneous if operator.homogeneous else None)


def _offer_of_homogeneous(e: Call, offers: Offers) -> Message | None:
    return offers[0] and Message(offers[0].axes, True)


@offers("add", "subtract")
def _offer_of_add(e: Call, offers: Offers) -> Message | None:
    (left, right), (a, b) = operand_types(e), offers
    if a is not None and broadcasts_on_axes(left, right, a.axes) is not None:
        return a
    if b is not None and broadcasts_on_axes(right, left, b.axes) is not None:
        return b
    if a is not None and b is not None and a.axes == b.axes and left.shape == right.shape:
        return a
    return None


@offers("nn.bias_add")
def _offer_of_bias_add(e: Call, offers: Offers) -> Message | None:
    data = offers[0]
    return data if data is not None and data.axes == (e.attrs.axis,) else None


@offers("nn.conv2d", "nn.conv3d")
def _offer_of_conv(e: Call, offers: Offers) -> Message | None:
    axes = conv_axes(e, e.attrs.out_layout or e.attrs.data_layout)
    return None if axes is None or _sums_are_wider(e) else axes.message


@offers("nn.dense")
def _offer_of_dense(e: Call, offers: Offers) -> Message | None:
    return None if _sums_are_wider(e) else Message((len(operand_types(e)[0].shape) - 1,))


def _sums_are_wider(e: Call) -> bool:
    """True if `out_dtype` gives results another dtype than the weight has: a scale of that dtype does not fit the weight."""
    result = e.checked_type
    return isinstance(result, TensorType) and result.dtype != operand_types(e)[1].dtype


def _take_up_in_homogeneous(run: Backward, e: Call, message: Message, scale: Expr) -> Steps:
    data = yield run.push(e.args[0], message, scale)
    return Call(e.op, (data,), e.attrs, e.type_args)


@takes_up("add", "subtract")
def _take_up_in_add(run: Backward, e: Call, message: Message, scale: Expr) -> Steps:
    messages = [run.messages.get(a) for a in e.args]
    operands: list[Expr] = []
    for operand, arg in enumerate(e.args):
        if messages[operand] is not None:
            operands.append((yield run.push(arg, message, scale)))
            continue
        wide = to_axes(scale, operand_types(e)[1 - operand].shape, message.axes)
        if wide is None:
            return run.scaled(e, message, scale)
        operands.append(call("multiply", run.memo[arg], wide))
    return Call(e.op, tuple(operands), e.attrs, e.type_args)


@takes_up("nn.bias_add")
def _take_up_in_bias_add(run: Backward, e: Call, message: Message, scale: Expr) -> Steps:
    data = yield run.push(e.args[0], message, scale)
    return Call(e.op, (data, call("multiply", run.memo[e.args[1]], scale)), e.attrs, e.type_args)


@takes_up("nn.conv2d", "nn.conv3d")
def _take_up_in_conv(run: Backward, e: Call, message: Message, scale: Expr) -> Steps:
    axes = conv_axes(e, e.attrs.out_layout or e.attrs.data_layout)
    assert axes is not None
    wide: Expr | None
    if axes.is_blocked:
        wide = reshape_to_axes(scale, operand_types(e)[1].shape, (axes.outputs, axes.inner_outputs))
    else:
        wide = expand_to_axis(scale, axes.rank, [axes.outputs])
    if wide is None:
        return run.scaled(e, message, scale)
    return _weighted(run, e, wide)
    yield


@takes_up("nn.dense")
def _take_up_in_dense(run: Backward, e: Call, message: Message, scale: Expr) -> Steps:
    return _weighted(run, e, expand_to_axis(scale, 2, [0]))
    yield


def _weighted(run: Backward, e: Call, scale: Expr) -> Call:
    data, weight = (run.memo[a] for a in e.args)
    return Call(e.op, (data, call("multiply", weight, scale)), e.attrs, e.type_args)
