"""The passes that somebody names: by pipeline texts, names with options, or themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...diagnostics import UsageError
from ...ir.module import describe
from .base import Pass, passes
from .context import PassInfo
from .pipeline import parse_pipeline

PassLike = str | tuple[str, Mapping[str, Any]] | Pass


def resolve(items: str | Pass | Sequence[PassLike]) -> list[Pass]:
    """The passes that a pipeline text or list names.

    Raises UsageError for an unknown pass or option, and for a pass whose prerequisites form a cycle.
    """
    result = [p for item in listed(items) for p in _resolved(item)]
    for p in result:
        check_prerequisites(p.info)
    return result


def listed(items: str | Pass | Sequence[PassLike]) -> Sequence[PassLike]:
    """The items one by one. Raises UsageError unless they are a text, a pass, or a list of these."""
    if isinstance(items, str | Pass):
        return [items]
    if not isinstance(items, list | tuple):
        raise UsageError(f"passes are a pipeline text or a list, not {describe(items)}")
    return items


def _resolved(item: Any) -> list[Pass]:
    if isinstance(item, Pass):
        return [item]
    if isinstance(item, str):
        return parse_pipeline(item)
    if isinstance(item, type) and issubclass(item, Pass):
        raise UsageError(
            f"{item.__name__} is a class of passes: write {item.__name__}(…), with its options if it has any"
        )
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
        return [passes.get(item[0]).make(item[1])]
    raise UsageError(f"a pass, its name, or a pair of name and options is expected, not {describe(item)}")


def check_prerequisites(info: PassInfo) -> None:
    """Raises UsageError if a pass is, by way of others, among its own prerequisites."""
    settled: set[str] = set()
    path: dict[str, None] = {}
    stack = [(info.name, False)]
    while stack:
        name, is_done = stack.pop()
        if is_done:
            del path[name]
            settled.add(name)
        elif name in path:
            names = list(path)
            cycle = " → ".join([*names[names.index(name) :], name])
            raise UsageError(f"the prerequisites of pass {info.name} form a cycle: {cycle}")
        elif name not in settled:
            path[name] = None
            stack.append((name, True))
            stack.extend((r, False) for r in (info.required if name == info.name else _required(name)))


def _required(name: str) -> Sequence[str]:
    """The prerequisites of the pass of that name; none if there is no such pass."""
    cls = passes.find(name)
    return cls.required if cls is not None else ()
