"""Extents as users write them: sums of products of lengths, such as `2*h`, `past+seq` and `4*h+1`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..diagnostics import UsageError
from ..symbolic_int import signs

NAME = r"[A-Za-z_][\w.]*"
_FACTOR = rf"(?:\d+|{NAME})"
_PRODUCT = rf"{_FACTOR}(?:\s*\*\s*{_FACTOR})*"
_SUM = re.compile(rf"{_PRODUCT}(?:\s*[+-]\s*{_PRODUCT})*", re.ASCII)
_SIGNED_PRODUCT = re.compile(rf"([+-]?)\s*({_PRODUCT})", re.ASCII)


@dataclass(frozen=True)
class Formula:
    """A sum: the coefficient and the names of each term."""

    terms: tuple[tuple[int, tuple[str, ...]], ...]

    @property
    def names(self) -> list[str]:
        """The lengths, in the order in which they appear."""
        return list(dict.fromkeys(n for _, names in self.terms for n in names))

    @property
    def multiple(self) -> tuple[int, str] | None:
        """The factor and the name of `4*h`; None for other formulas."""
        (k, names), *others = self.terms
        return (k, names[0]) if not others and len(names) == 1 and k > 0 else None

    def at(self, extents: Mapping[str, int]) -> int:
        """The extent for these of the names. Raises UsageError for one that may be negative."""
        value = sum(k * math.prod(extents[n] for n in names) for k, names in self.terms)
        if -1 in signs(value):
            raise UsageError(f"the extent {self} is negative for some lengths", help="give a least length: 2<=seq<=512")
        return value

    def __str__(self) -> str:
        texts = ["*".join([*([str(abs(k))] if abs(k) != 1 or not names else []), *names]) for k, names in self.terms]
        signs = ["-" if k < 0 else "+" for k, _ in self.terms]
        return "".join(f"{s}{t}" for s, t in zip(signs, texts, strict=True)).removeprefix("+")


def read_formula(text: str) -> Formula | None:
    """The formula of a text; None for another text, and for a number."""
    text = text.strip()
    if not _SUM.fullmatch(text):
        return None
    terms = []
    for sign, product in _SIGNED_PRODUCT.findall(text):
        factors = [f.strip() for f in product.split("*")]
        k = math.prod(int(f) for f in factors if f.isdecimal())
        terms.append((-k if sign == "-" else k, tuple(f for f in factors if not f.isdecimal())))
    return Formula(tuple(terms)) if any(names for _, names in terms) else None
