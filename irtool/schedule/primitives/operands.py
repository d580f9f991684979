"""Operands of a block by name: `x`, or `x[1]` for the second of several reads of `x`."""

from __future__ import annotations

from ...diagnostics import UsageError
from ...tir.expr import Load
from ..core.affine import loads
from ..core.forms import Map, Reduction


def operand_name(form: Map | Reduction, operand: Load) -> str:
    """The name of an operand."""
    name = operand.source.name
    same = {e: n for n, e in enumerate(e for e in _reads(form) if e.source.name == name)}
    return f"{name}[{same[operand]}]" if len(same) > 1 and operand in same else name


def find_operand(form: Map | Reduction, name: str) -> Load:
    """The operand of that name. Raises UsageError unless exactly one read has the name."""
    every = {operand_name(form, e): e for e in _reads(form)}
    if name not in every:
        count = sum(1 for e in every.values() if e.source.name == name)
        known = ", ".join(every) or "none"
        raise UsageError(f"{name} is read at {count} places, and must be read at one", help=f"operands: {known}")
    return every[name]


def _reads(form: Map | Reduction) -> list[Load]:
    """The reads of operands, in order."""
    update = (form.update,) if isinstance(form, Reduction) else ()
    every = dict.fromkeys(loads(*update, *(s.value for s in form.stores)))
    return [e for e in every if not isinstance(form, Reduction) or e.source is not form.acc]
