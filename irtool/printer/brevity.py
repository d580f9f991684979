"""Limits of a text: the share that its types may take, and the depth of its indentation.

A type says again what the nodes below say already: written out at every node, the types of tuples in tuples are quadratic in
their nesting, and exponential where the tuples are shared. So long types share an allowance that grows with the number of
nodes and edges; once it is used up they are left out, with a comment that says so. Reading the text finds them again by inference.
"""

from __future__ import annotations

from ..ir import TensorType, Type
from ..ir.types import type_children

_LONG = 1_000
_DEEP = 32
_PER_NODE = 4
_DEEPEST_COLUMN = 80
_COUNTABLE = 10**9


def deeper(indent: int, columns: int = 2) -> int:
    """The indent of inner lines, which stops growing 40 levels in."""
    return min(indent + columns, _DEEPEST_COLUMN)


class Brevity:
    """Says of each type whether it is written out.

    Attributes:
        allowance: how many parts the long types of the text may still have, all together.
    """

    def __init__(self) -> None:
        self.allowance = 0
        self._sizes: dict[int, tuple[Type, int, int]] = {}

    def grow(self, nodes: int) -> None:
        """The text has so many nodes, and edges between them, more."""
        self.allowance += _PER_NODE * nodes

    def admits(self, t: Type) -> bool:
        """True if `t` is to be written out; long types use up the allowance."""
        if t.__class__ is TensorType:
            return True
        parts, depth = self._size(t)
        if parts <= _LONG and depth <= _DEEP:
            return True
        if parts > self.allowance:
            return False
        self.allowance -= parts
        return True

    def is_blown_up(self, t: Type) -> bool:
        """True if `t` is long only because it holds the same types over and over."""
        if t.__class__ is TensorType:
            return False
        parts, _ = self._size(t)
        return parts > _LONG and parts > 16 * _distinct(t)

    def left_out(self, t: Type) -> str:
        """The comment in place of `t`."""
        parts, _ = self._size(t)
        return f"/* a type of {parts if parts <= _COUNTABLE else 'more than 10^9'} parts is left out */"

    def _size(self, root: Type) -> tuple[int, int]:
        """The number of types in the text of `root`, and the depth of their nesting. Shared types are looked at once."""
        sizes = self._sizes
        known = sizes.get(id(root))
        if known is not None:
            return known[1], known[2]
        stack = [root]
        while stack:
            t = stack[-1]
            if id(t) in sizes:
                stack.pop()
                continue
            kids = type_children(t)
            new = [k for k in kids if id(k) not in sizes]
            if new:
                stack += new
                continue
            stack.pop()
            parts, depth = 1, 0
            for k in kids:
                _, p, d = sizes[id(k)]
                parts += p
                depth = max(depth, d)
            sizes[id(t)] = t, min(parts, _COUNTABLE + 1), depth + 1
        return sizes[id(root)][1:]


def _distinct(root: Type) -> int:
    seen: set[int] = set()
    stack = [root]
    while stack:
        t = stack.pop()
        if id(t) not in seen:
            seen.add(id(t))
            stack += type_children(t)
    return len(seen)
