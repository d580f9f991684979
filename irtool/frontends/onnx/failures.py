"""Messages about the nodes of a model that have no conversion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from ...diagnostics import Diagnostic, Span
from .mistakes import UnsupportedNode


class PlacedNode(Protocol):
    """A node of a model: the name of its operator, and its place."""

    @property
    def op_type(self) -> str: ...

    @property
    def place(self) -> Span | None: ...


N = TypeVar("N", bound=PlacedNode)


def collected(
    failures: Sequence[tuple[Diagnostic, N]], filename: str, noun: str, names_of: Callable[[Sequence[N]], str]
) -> list[Diagnostic]:
    """One message for each thing that failed, at its first node, with the number of nodes and their names.

    Args:
        noun: the model's word for several nodes.
        names_of: lists nodes.
    """
    groups: dict[tuple[str, str], list[tuple[Diagnostic, N]]] = {}
    for d, node in failures:
        groups.setdefault((node.op_type, d.message), []).append((d, node))
    diagnostics = []
    for (op_type, message), items in groups.items():
        d, first = items[0]
        notes = d.notes
        if len(items) > 1:
            notes = (*notes, f"so have {len(items)} {noun}: {names_of([node for _, node in items])}")
        diagnostics.append(
            Diagnostic(
                f"{op_type}: {message}" if op_type not in message else message,
                first.place if d.span is None or d.span.source.name != filename else d.span,
                d.level,
                notes,
                d.help,
                filename,
                d.code or UnsupportedNode,
                op_type,
            )
        )
    return diagnostics
