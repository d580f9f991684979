"""The pipeline shrinks: passes go, named pipelines become lists, first passes run beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...diagnostics import IrError
from ..case import Case, runs_others
from ..search import Search
from .recording import Recording


def drop_passes(search: Search) -> None:
    """Passes go."""
    case = search.best

    def without(chosen: Sequence[int]) -> Case:
        return replace(case, passes=tuple(p for n, p in enumerate(case.passes) if n not in chosen))

    search.keep_most(range(len(case.passes)), without)


def flatten_pipeline(search: Search) -> None:
    """`default<O3>` becomes the passes that it runs, each by itself."""
    case = search.best
    if not any(map(runs_others, case.passes)) or any(p.startswith("func(") for p in case.passes):
        return
    ran = _recorded(case)
    if search.attempt(replace(case, passes=tuple(ran))):
        drop_passes(search)


def _recorded(case: Case) -> list[str]:
    """The passes that run, one after the other, up to the one that fails."""
    recording = Recording()
    try:
        case.run([recording])
    except Exception:  # noqa: BLE001 - the search looks for failures
        return recording.ran
    return recording.ran


def advance_pipeline(search: Search) -> None:
    """The first passes run now, as many as possible: their result is the module."""
    case = search.best
    first, last = 0, len(case.passes) - 1
    while first < last:
        middle = (first + last + 1) // 2
        if search.attempt(_after(case, middle)):
            first = middle
        else:
            last = middle - 1


def _after(case: Case, count: int) -> Case | None:
    try:
        module = replace(case, passes=case.passes[:count]).run()
    except IrError:
        return None
    return replace(case, module=module, passes=case.passes[count:])


def plain_passes(search: Search) -> None:
    """Passes lose their options."""
    case = search.best
    sites = [n for n, p in enumerate(case.passes) if "{" in p and not p.startswith("func(")]

    def plain(chosen: Sequence[int]) -> Case:
        return replace(case, passes=tuple(p.partition("{")[0] if n in chosen else p for n, p in enumerate(case.passes)))

    search.keep_most(sites, plain)
