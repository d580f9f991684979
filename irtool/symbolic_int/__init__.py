"""Extents that are known when a network runs: integers with a formula over symbols.

An extent such as `2 * seq + 1` is an `int` that carries its formula, a polynomial of symbols, quotients and minimums. Arithmetic on extents yields
formulas, so that code written for constant extents computes formulas without change. A comparison is decided if it has one outcome for all
values of the symbols. If it has both, the mode decides:

- strict (the default): `<`, `<=`, `>` and `>=` raise `Undecided`; the caller has no answer for some lengths.
- `@estimate`: the greatest value of a formula stands for it; two formulas are compared at the upper bounds of the symbols. For costs, which
  choose among candidates that are all correct.
- `@proof`: the comparison is False. For functions that return more for a comparison that holds, and are correct without.

Equality is always a proof: `n == 8` is False, and `n % 8 == 0` is True only if it is for all lengths.
"""

from __future__ import annotations

from .arithmetic import SymbolicInt, extent_of, minimum, symbolic
from .declarations import declaration, declared
from .doubts import uncertain_equalities, uncertain_equalities_kept
from .estimates import as_integer, samples
from .extremes import ascending, clamp, greatest, greatest_common_divisor, holds, larger, least, maximum, smaller, upper
from .formulas import (
    Atom,
    Minimum,
    Quotient,
    alone,
    at_typical,
    is_known,
    is_open,
    shifted,
    symbol_of,
    symbols_of,
    value_at,
    whole_lengths,
)
from .intervals import interval
from .modes import Undecided, estimate, none_if_undecided, proof, strict
from .signs import MOST_POINTS, bound, nominal, planned, signs
from .symbols import LARGEST, Symbol, choice_of

__all__ = [
    "LARGEST",
    "MOST_POINTS",
    "Atom",
    "Minimum",
    "Quotient",
    "Symbol",
    "SymbolicInt",
    "Undecided",
    "alone",
    "as_integer",
    "ascending",
    "at_typical",
    "bound",
    "choice_of",
    "clamp",
    "declaration",
    "declared",
    "estimate",
    "extent_of",
    "greatest",
    "greatest_common_divisor",
    "holds",
    "interval",
    "is_known",
    "is_open",
    "larger",
    "least",
    "maximum",
    "minimum",
    "nominal",
    "none_if_undecided",
    "planned",
    "proof",
    "samples",
    "shifted",
    "signs",
    "smaller",
    "strict",
    "symbol_of",
    "symbolic",
    "symbols_of",
    "uncertain_equalities",
    "uncertain_equalities_kept",
    "upper",
    "value_at",
    "whole_lengths",
]
