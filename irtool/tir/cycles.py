"""Functions that call each other in a ring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def components(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The names in groups that reach each other, groups that are reached before those that reach them.

    Tarjan's algorithm, with a stack of its own: linear in names and edges.
    """
    result: list[list[str]] = []
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    done: set[str] = set()
    for root in edges:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_names.append(root)
        stack: list[tuple[str, Iterator[str]]] = [(root, iter(edges[root]))]
        while stack:
            name, left = stack[-1]
            for other in left:
                if other not in number:
                    number[other] = low[other] = len(number)
                    open_names.append(other)
                    stack.append((other, iter(edges[other])))
                    break
                if other not in done:
                    low[name] = min(low[name], number[other])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[name])
                if low[name] == number[name]:
                    group: list[str] = []
                    while name not in group[-1:]:
                        group.append(open_names.pop())
                    done.update(group)
                    result.append(group[::-1])
    return result


def rings(edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """For each name that reaches itself, its group."""
    return {n: group for group in components(edges) for n in group if len(group) > 1 or n in edges[n]}
