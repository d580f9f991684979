"""Weights in a form with more elements, for speed: the growth of the stored bytes, and the option that avoids it."""

from __future__ import annotations

from ..backends.base import Sources
from ..tir.program import Program, Slot

_LEAST_FACTOR = 1.25
_LEAST_BYTES = 1 << 18
"""Less is not worth a note."""

_FORMS = ("transformed", "halved")
"""The names that begin the derivations of such forms: Winograd's and Strassen's."""


def plain_weight_bytes(program: Program) -> int:
    """Bytes of the weights that would be stored without the forms of `_FORMS`."""
    derived = {c: d for c in program.constants if (d := _derivation(c))}
    sources = {source for source, _ in derived.values()}
    return sum(c.nbytes for c in {*program.constants, *sources} - derived.keys())


def notes_on_size(program: Program, sources: Sources) -> tuple[str, ...]:
    """A note where such forms make the stored weights noticeably larger."""
    plain = plain_weight_bytes(program)
    stored = sources.report.get("stored_weight_bytes", sum(c.nbytes for c in program.constants))
    if stored < _LEAST_FACTOR * plain or stored - plain < _LEAST_BYTES:
        return ()
    note = f"note: weights take {stored} bytes, {stored / plain:.1f} times the {plain} of plain ones, as they are stored transformed, for speed"
    if "opt" not in sources.report:
        return (note,)
    if sources.weights:
        return (f"{note}; --opt=balanced stores them plain, and transforms them when they are loaded",)
    return (f"{note}; --opt=size does not transform them",)


def _derivation(c: Slot) -> tuple[Slot, str] | None:
    """The constant that was transformed, and the name of the form; None for one in the form that it came in."""
    d = c.derivation
    while d is not None:
        if isinstance(d.how, tuple) and d.how and d.how[0] in _FORMS:
            return d.source, str(d.how[0])
        d = d.source.derivation
    return None
