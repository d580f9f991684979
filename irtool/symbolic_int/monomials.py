"""Products of atoms that contain others."""

from __future__ import annotations

from collections.abc import Iterable

from .formulas import Atom, Monomial


def contains(m: Monomial, divisor: Monomial) -> bool:
    """True if the divisor divides the product."""
    return all(m.count(a) >= divisor.count(a) for a in divisor)


def without(m: Monomial, divisor: Monomial) -> Monomial:
    """The quotient of a product and its divisor."""
    rest = [*m]
    for a in divisor:
        rest.remove(a)
    return tuple(rest)


def common_atoms(monomials: Iterable[Monomial]) -> list[Atom]:
    """The atoms that are factors of all of them; a power as often as it is one."""
    first, *others = monomials
    common = list(first)
    for m in others:
        common = [a for n, a in enumerate(common) if common[: n + 1].count(a) <= m.count(a)]
    return common
