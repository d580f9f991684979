"""Weights that are stored in a form with more elements, for speed: the growth of a build, and the option that switches it off."""

from __future__ import annotations

from ..tir.program import Program, Slot

_LEAST_FACTOR = 1.25
_LEAST_BYTES = 1 << 18
"""Less is not worth a note."""

_FLAGS = {"transformed": "winograd=off", "halved": "strassen=off"}
"""The flag that turns a form off, by the name that begins its derivation."""


def plain_weight_bytes(program: Program) -> int:
    """Bytes of the weights that would be stored without the forms of `_FLAGS`."""
    derived = {c: d for c in program.constants if (d := _derivation(c))}
    sources = {source for source, _ in derived.values()}
    return sum(c.nbytes for c in {*program.constants, *sources} - derived.keys())


def notes_on_size(program: Program, backend: str) -> tuple[str, ...]:
    """A note where such forms make weights noticeably larger."""
    stored, plain = sum(c.nbytes for c in program.constants), plain_weight_bytes(program)
    if stored < _LEAST_FACTOR * plain or stored - plain < _LEAST_BYTES:
        return ()
    forms = {d[1] for c in program.constants if (d := _derivation(c))}
    flags = ",".join(_FLAGS[form] for form in sorted(forms))
    return (
        f"note: weights take {stored} bytes, {stored / plain:.1f} times the {plain} of plain ones, as they are stored transformed, for speed; "
        f"--target='{backend}{{{flags}}}' stores them plain",
    )


def _derivation(c: Slot) -> tuple[Slot, str] | None:
    """The constant that was transformed, and the name of the form; None for one in the form that it came in."""
    d = c.derivation
    while d is not None:
        if isinstance(d.how, tuple) and d.how and d.how[0] in _FLAGS:
            return d.source, str(d.how[0])
        d = d.source.derivation
    return None
