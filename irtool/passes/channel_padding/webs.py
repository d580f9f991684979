"""Where channels are added.

Tensors between which channels are kept are a web: all of them get channels, or none. A web begins with the layers that make its
channels. It is worth it if other layers read it that compute much, and hardly anything else does, for which it would be copied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...ir import Call, Expr, Function, Tuple, post_order
from ...ir.scope import users_of
from ..extents import extents_of, known_extents
from .calls import FEW, fields_of, is_layer, largest_added
from .channels import whole_channels

_LEAST_UPDATES = 1 << 20
"""Multiply-adds of the layers that read a web, at least."""

_MOST = 1e6
"""The largest number in an added channel: weights of zero make zeros of numbers, but NaN of infinite ones."""


@dataclass(eq=False)
class _Web:
    """Tensors that have their channels from `layers`: the multiply-adds of those that read them, the elements that are copied for others,
    and how many the largest of them has."""

    layers: list[Expr] = field(default_factory=list)
    tensors: list[Expr] = field(default_factory=list)
    updates: int = 0
    copied: int = 0
    largest: int = 0

    @property
    def is_worth_it(self) -> bool:
        """True if channels are to be added; of concatenations with other layers these would lie in different places."""
        alike = len(self.layers) == 1 or not any(fields_of(e) for e in self.layers)
        return alike and self.updates >= _LEAST_UPDATES and self.copied * FEW <= self.largest


def choose_tensors(function: Function, lanes: int) -> set[Expr]:
    """The calls whose results get channels."""
    nodes = [e for e in post_order(function.body) if isinstance(e, Call) and len(extents_of(e) or ()) > 1]
    users = users_of(function)
    left: set[Expr] = set()
    while True:
        webs = _Webs(lanes, users, left)
        for e in nodes:
            webs.add(e)
        found = webs.counted()
        bad = [w for w in found if not w.is_worth_it]
        if not bad:
            return {e for w in found for e in w.tensors}
        left.update(e for w in bad for e in w.layers)


class _Webs:
    """The webs of a function, of all layers but those that are `left`."""

    def __init__(self, lanes: int, users: Mapping[Expr, Sequence[tuple[Expr, int]]], left: set[Expr]) -> None:
        self.lanes = lanes
        self.users = users
        self.left = left
        self.of: dict[Expr, _Web] = {}
        self.added: dict[Expr, float] = {}

    def add(self, e: Call) -> None:
        """Finds the web of a call, whose operands have theirs."""
        fields = fields_of(e)
        added = largest_added(e, self.added)
        if added <= _MOST:
            first, *others = [x for x in e.args if x in self.of]
            web = self.of[first]
            for x in others:
                self._merge(web, self.of[x])
        elif e not in self.left and self._gets_channels(e, fields):
            added, web = max((self.added.get(x, 0.0) for x in fields), default=0.0), _Web([e])
        else:
            return
        self.of[e], self.added[e] = web, added
        web.tensors.append(e)
        web.largest = max(web.largest, _size(e))

    def _gets_channels(self, e: Expr, fields: Sequence[Expr]) -> bool:
        if not fields and not is_layer(e):
            return False
        channels = known_extents(e)[1]
        return whole_channels(channels, self.lanes) != channels or any(x in self.of for x in fields)

    def _merge(self, web: _Web, other: _Web) -> None:
        if web is not other:
            web.layers += other.layers
            web.tensors += other.tensors
            web.largest = max(web.largest, other.largest)
            self.of.update(dict.fromkeys(other.tensors, web))

    def counted(self) -> list[_Web]:
        """The webs, with what their readers compute and copy."""
        for e, web in self.of.items():
            for user, _ in self.users[e]:
                if isinstance(user, Tuple) and all(u in self.of for u, _ in self.users[user]):
                    web.updates += _LEAST_UPDATES  # what reads the concatenation counts there
                elif is_layer(user) and isinstance(user, Call) and user.args[0] is e:
                    web.updates += _size(user) * _size(user.args[1]) // known_extents(user)[1]
                elif user not in self.of:
                    web.copied += _size(e)
        return list(dict.fromkeys(self.of.values()))


def _size(e: Expr) -> int:
    return math.prod(known_extents(e))
