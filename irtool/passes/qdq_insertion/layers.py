"""Layers: calls that are quantized together, and their names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...ir import Call, Constant, Expr, post_order
from ...ops.base import operator_name
from ..core.constants import has_data


@dataclass(eq=False)
class Layer:
    """A head with followers.

    Attributes:
        name: the operator and its number among those of its kind, `conv2d_3`.
        head: the call that begins it.
        end: the last call of it, whose value is that of the layer.
        operands: the tensors that are quantized for it, constants among them.
        weight: its constant factor, quantized by channel; None if there is none.
        bias: the constant that a follower adds.
        moves: True for one that moves elements: its result has the scale of its operand.
        aliases: further names, those that the model gives: of its node, of its weight.
    """

    name: str
    head: Call
    end: Expr
    operands: tuple[Expr, ...]
    weight: Constant | None = None
    bias: Constant | None = None
    moves: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def op(self) -> str:
        """The operator of the head."""
        return operator_name(self.head)


def name_calls(order: Sequence[Expr]) -> dict[Expr, str]:
    """Names for calls of operators: numbers count the calls of each operator, quantized or not, from 0."""
    counts: Counter[str] = Counter()
    names: dict[Expr, str] = {}
    for e in order:
        short = operator_name(e).rpartition(".")[2]
        if short:
            names[e] = f"{short}_{counts[short]}"
            counts[short] += 1
    return names


def aliases_of(e: Call) -> tuple[str, ...]:
    """The names of a call in the model it is from: of its node, and of its constants where they were parameters."""
    names = [e.span.node] if e.span is not None and e.span.node else []
    below = (x for a in e.args for x in (a, *([] if has_data(a) else ())))
    names += [c.span.name for c in below if isinstance(c, Constant) and c.span is not None and c.span.name]
    return tuple(dict.fromkeys(names))


def matches(patterns: Iterable[str], name: str, aliases: Sequence[str]) -> bool:
    """True if a regular expression matches one of the names as a whole."""
    return any(re.fullmatch(p, n) for p in patterns for n in (name, *aliases))


def top_level(body: Expr) -> list[Expr]:
    """The nodes that are evaluated whenever the function is, in post-order: nothing inside branches, matches or functions."""
    from ...ir import Function, If, Let, Match

    return post_order(body, enter=lambda e: not isinstance(e, Function | If | Let | Match))
