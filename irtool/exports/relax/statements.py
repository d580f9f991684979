"""The body of a Relax function: statements, and dataflow blocks around those that only compute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Bind:
    """`name: annotation = text`. `uses` are the names in the text; `is_dataflow` is False for calls of functions."""

    name: str
    text: str
    uses: frozenset[str]
    annotation: str = ""
    is_dataflow: bool = True


@dataclass
class Branch:
    """`if cond: … else: …`; both end in binding the same name."""

    cond: str
    then: list[Statement] = field(default_factory=list)
    other: list[Statement] = field(default_factory=list)


@dataclass
class Return:
    """`return text`."""

    text: str
    uses: frozenset[str]


Statement = Bind | Branch | Return
Run = list[Bind]
"""Statements of one dataflow block."""


def lines_of(body: list[Statement], depth: int) -> list[tuple[int, str]]:
    """The lines of a body, each with its depth."""
    runs, outside = _runs(body)
    out: list[tuple[int, str]] = []
    stack: list[tuple[int, object]] = [(depth, body)]
    while stack:
        level, item = stack.pop()
        if isinstance(item, str):
            out.append((level, item))
        elif isinstance(item, Branch):
            branches: list[tuple[int, Any]] = [
                (level, f"if {item.cond}:"),
                (level + 1, item.then),
                (level, "else:"),
                (level + 1, item.other),
            ]
            stack.extend(reversed(branches))
        else:
            assert isinstance(item, list)
            parts: list[tuple[int, Any]] = []
            for s in item:
                if isinstance(s, Bind) and s.is_dataflow:
                    run = runs[id(s)]
                    if run[0] is s:
                        out_of_run = [b.name for b in run if b.name in outside] or [run[-1].name]
                        parts.append((level, "with R.dataflow():"))
                        parts += [(level + 1, _bound(b)) for b in run]
                        parts.append((level + 1, f"R.output({', '.join(out_of_run)})"))
                else:
                    parts.append((level, s if isinstance(s, Branch) else _bound(s)))
            stack.extend(reversed(parts))
    return out


def _bound(s: Bind | Return) -> str:
    if isinstance(s, Return):
        return f"return {s.text}"
    return f"{s.name}: {s.annotation} = {s.text}" if s.annotation else f"{s.name} = {s.text}"


def _blocks(body: list[Statement]) -> Iterator[list[Statement]]:
    """Every list of statements, outer ones first."""
    stack = [body]
    while stack:
        block = stack.pop()
        yield block
        for s in block:
            if isinstance(s, Branch):
                stack += [s.other, s.then]


def _runs(body: list[Statement]) -> tuple[dict[int, Run], set[str]]:
    """For each statement that only computes, those next to it that do too; and the names used outside of their run."""
    runs: dict[int, Run] = {}
    homes: dict[str, Run] = {}
    uses_of_names: list[tuple[Run | None, str]] = []
    for block in _blocks(body):
        current: Run = []
        for s in block:
            if isinstance(s, Bind) and s.is_dataflow:
                current.append(s)
                runs[id(s)] = homes[s.name] = current
                uses_of_names += [(current, name) for name in s.uses]
                continue
            current = []
            uses_of_names += [(None, name) for name in ([s.cond] if isinstance(s, Branch) else s.uses)]
    return runs, {name for run, name in uses_of_names if name in homes and homes[name] is not run}
