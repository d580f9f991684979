"""All plug-ins of a kind, with a sentence on each, for those who only list them: irtool's own are not imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .index import indexed
from .loading import load_installed
from .registry import Registry


def listed(kind: str) -> dict[str, str]:
    """A sentence on each plug-in of a kind, by name, in alphabetical order; see `indexed` for the kinds."""
    summaries = {name: summary for name, (_, summary) in indexed(kind).items()}
    summaries |= {name: cls.summary() for name, cls in from_outside(kind)}
    return dict(sorted(summaries.items()))


def from_outside(kind: str) -> Iterator[tuple[str, Any]]:
    """Names and classes of plug-ins from files and from installed distributions."""
    load_installed()
    for registry in Registry.every:
        if registry.kind == kind:
            yield from registry.outside().items()
