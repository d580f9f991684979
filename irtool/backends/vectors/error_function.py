"""1 + erf(x), and c + c · erf(x), as GELU has it: one function, which takes less than erf does."""

from __future__ import annotations

from dataclasses import dataclass

from .ir import Apply, Arithmetic, Value, constant_of

ONE_PLUS_ERF = "one_plus_erf"
"""The vector function (`formulas.vector_exponentials`)."""


@dataclass(frozen=True)
class OnePlusErf:
    """A sum that is a multiple of 1 + erf: the call of erf, what the function is multiplied by, None if by 1, and the steps that nobody
    else reads."""

    erf: Apply
    factor: Value | None
    steps: tuple[Value, ...]


def find_one_plus_erf(a: Value, b: Value) -> OnePlusErf | None:
    """The sum of these numbers as such a multiple; None if it is none, or if others read erf."""
    for one, other in ((a, b), (b, a)):
        constant, erf = constant_of(one), _erf(other)
        if constant == 1 and erf is not None:
            return OnePlusErf(erf, None, (erf,))
        if constant is None or other.named or not isinstance(other, Arithmetic) or other.op != "*":
            continue
        for factor, called in ((other.a, _erf(other.b)), (other.b, _erf(other.a))):
            if called is not None and constant_of(factor) == constant:
                return OnePlusErf(called, factor, (other, called))
    return None


def _erf(v: Value) -> Apply | None:
    return v if isinstance(v, Apply) and v.function[0] == "erf" and not v.named else None
