"""The choice of tensors that get channels.

Tensors between which channels are kept are a web: all of them get channels, or none. A web begins with the layers that make its
channels. It is worth it if these, or layers that read it, compute much, and if what is copied of it for others is little beside that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...ir import Call, Expr, Function, Tuple, post_order
from ...ir.scope import users_of
from ...symbolic_int import estimate
from ..core.extents import extents_of, known_extents
from .calls import adds_channels, fields_of, is_layer, largest_added
from .channels import whole_channels

_LEAST_UPDATES = 1 << 20
"""Multiply-adds of the layers that make or read a web, at least."""

_COPY = 256
"""Multiply-adds for each element that is copied, at least: it takes as long as some 20, and whole vectors save a part of the time."""

_FEW = 3
"""Channels of an image."""

_MOST = 1e6
"""The largest number in an added channel: weights of zero make zeros of numbers, but NaN of infinite ones."""


@dataclass(eq=False)
class _Web:
    """Tensors that have their channels from `layers`: the multiply-adds of those that make channels or read them, and the elements that
    are copied for others."""

    layers: list[Expr] = field(default_factory=list)
    tensors: list[Expr] = field(default_factory=list)
    updates: int = 0
    copied: int = 0

    @property
    @estimate
    def is_worth_it(self) -> bool:
        """True if channels are to be added; of concatenations with other layers these would lie in different places."""
        alike = len(self.layers) == 1 or not any(fields_of(e) for e in self.layers)
        return alike and self.updates >= _LEAST_UPDATES and self.copied * _COPY <= self.updates


def choose_tensors(function: Function, lanes: int) -> set[Expr]:
    """The calls whose results get channels."""
    nodes = [e for e in post_order(function.body) if isinstance(e, Call) and len(extents_of(e) or ()) > 1]
    users = users_of(function)
    left: set[Expr] = set()
    while True:
        webs = _Webs(lanes, users, left)
        for e in nodes:
            webs.add(e)
        candidates = webs.counted()
        bad = [w for w in candidates if not w.is_worth_it]
        if not bad:
            return {e for w in candidates for e in w.tensors}
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
            added, web = max((self.added.get(x, 0.0) for x in fields), default=0.0), self._web_of(e)
        else:
            return
        self.of[e], self.added[e] = web, added
        web.tensors.append(e)

    def _gets_channels(self, e: Expr, fields: Sequence[Expr]) -> bool:
        if not fields and not is_layer(e) and not adds_channels(e):
            return False
        return self._leaves_vectors(e) or any(x in self.of for x in fields)

    def _web_of(self, layer: Call) -> _Web:
        """A web that begins. A layer with few results has its vectors along the reduction axis, without added channels."""
        gains = is_layer(layer) and known_extents(layer)[1] > _FEW and self._leaves_vectors(layer)
        return _Web([layer], updates=_updates(layer) if gains else 0)

    def _leaves_vectors(self, e: Expr) -> bool:
        """True if the channels of a call fill no vectors."""
        channels = known_extents(e)[1]
        return whole_channels(channels, self.lanes) != channels

    def _merge(self, web: _Web, other: _Web) -> None:
        if web is not other:
            web.layers += other.layers
            web.tensors += other.tensors
            web.updates += other.updates
            self.of.update(dict.fromkeys(other.tensors, web))

    def counted(self) -> list[_Web]:
        """The webs, with the multiply-adds of their readers and the copies of other users."""
        for e, web in self.of.items():
            for user, _ in self.users[e]:
                if isinstance(user, Tuple) and all(u in self.of for u, _ in self.users[user]):
                    web.updates += _LEAST_UPDATES  # readers of the concatenation count there
                elif is_layer(user) and isinstance(user, Call) and user.args[0] is e:
                    web.updates += _updates(user)
                elif user not in self.of and not adds_channels(user):
                    web.copied += _size(e)
        return list(dict.fromkeys(self.of.values()))


def _updates(layer: Expr) -> int:
    """Multiply-adds of a convolution."""
    assert isinstance(layer, Call)
    return _size(layer) * _size(layer.args[1]) // known_extents(layer)[1]


def _size(e: Expr) -> int:
    return math.prod(known_extents(e))
