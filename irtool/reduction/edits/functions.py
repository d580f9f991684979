"""Whole functions and type definitions go."""

from __future__ import annotations

import re

from ...printer import to_text
from ..case import Case
from ..search import Search


def drop_functions(search: Search) -> None:
    """Functions go; calls of missing ones are not well typed, so callers go with them or keep them."""
    case = search.best
    names = list(case.module.functions)

    def without(chosen: list[str] | tuple[str, ...]) -> Case | None:
        removed = set(chosen)
        if len(removed) == len(names):
            return None
        return case.with_module(
            case.module.with_functions({n: f for n, f in case.module.functions.items() if n not in removed})
        )

    if len(names) > 1:
        search.keep_most(names, lambda chosen: without(list(chosen)))


def drop_type_definitions(search: Search) -> None:
    """Type definitions that no text mentions go."""
    case = search.best
    definitions = case.module.type_definitions
    if not definitions:
        return

    def without(chosen: list[str]) -> Case | None:
        module = case.module.with_types({n: t for n, t in definitions.items() if n not in chosen})
        text = to_text(module, metadata=False)
        type_names = {n for c in chosen for n in (c, *(k.name for k in definitions[c].constructors))}
        if type_names & set(re.findall(r"[\w.]+", text)):
            return None
        return case.with_module(module)

    search.keep_most(list(definitions), lambda chosen: without(list(chosen)))
