"""The order in which graphs of expressions are walked, whatever their nodes are: children first, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

Node = TypeVar("Node")


def in_post_order(
    below: Mapping[type, Callable[[Any], tuple[Node, ...]]],
    roots: Sequence[Node],
    known: Iterable[Node] = (),
    enter: Callable[[Node], bool] | None = None,
) -> list[Node]:
    """Every node that is reachable from the roots, once, children before parents, left to right.

    Args:
        below: by the class of a node, what gives the nodes directly below it.
        known: nodes that are left out, with what is below them alone.
        enter: `enter(n)` returning False keeps the walk from going below `n` (`n` itself is listed).
    """
    seen: set[Node] = set(known)
    order: list[Node] = []
    stack: list[Any] = list(reversed(roots))  # None stands before a node that is done
    while stack:
        n = stack.pop()
        if n is None:
            order.append(stack.pop())
            continue
        if n in seen:
            continue
        seen.add(n)
        kids = below[n.__class__](n)
        if not kids or (enter is not None and not enter(n)):
            order.append(n)
            continue
        stack += (n, None, *kids[::-1])
    return order
