"""Rules of AlterOpLayout for calls of an operator, by the operator's name."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Call
from ...ir.target import Target
from ..core.rule_table import RuleTable

Alteration = Callable[[Call, Call, Target], "Call | None"]
"""`alteration(old, new, target)`: the replacement on the target of `new`, which is `old` over changed arguments; None to leave it."""

_ALTERATIONS: RuleTable[str, Alteration] = RuleTable(__package__, "the alteration of")


def alteration(*operators: str) -> Callable[[Alteration], Alteration]:
    """Decorator: files AlterOpLayout's replacement of calls of operators, on targets with the key `cpu`."""
    return _ALTERATIONS.file(*operators)


def altered(old: Call, new: Call, target: Target) -> Call | None:
    """The call as kernels of the target want it, or None if there is no rule or the rule leaves it."""
    rule = _ALTERATIONS.find(old.op_name)
    return None if rule is None else rule(old, new, target)


def has_libraries(target: Target, *names: str) -> bool:
    """True if the target's option `libs` names one of these libraries, whose kernels take plain layouts."""
    return any(name in target.option("libs").replace(",", " ").split() for name in names)


def largest_block(extent: int, most: int) -> int:
    """The largest divisor of the extent that is at most `most`."""
    return next(block for block in range(most, 0, -1) if extent % block == 0)
