"""Legalization rules, and their registry.

Rules are filed under TVM's names of three maps: `FTVMLegalize` (forms that a target has good code for),
`FTVMQnnLegalize` (quantized operators that a target has instructions for) and `FTVMQnnCanonicalize` (quantized operators as
integer arithmetic).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...diagnostics import IrError
from ...ir import Call, Expr, TensorType, Type
from ...ir.target import Target
from ..core.rule_table import RuleTable

LEGALIZE, QNN_LEGALIZE, QNN_CANONICALIZE = "FTVMLegalize", "FTVMQnnLegalize", "FTVMQnnCanonicalize"
MAPS = (LEGALIZE, QNN_LEGALIZE, QNN_CANONICALIZE)


@dataclass(frozen=True)
class LegalizationSite:
    """One call that may be replaced.

    Attributes:
        call: the call, over new arguments.
        types: the types of the arguments as they were before anything was replaced.
        type: the type of the result.
        target: the target of the code; None if unspecified.
        native: whether the target has code for what the map replaces for most targets, whatever its name says: products of 8-bit
            numbers, and gradients of convolutions by their weights.
        reads_bytes: whether the target widens single bytes as it reads them: one without vectors.
    """

    call: Call
    types: tuple[Type, ...]
    type: Type
    target: Target | None
    native: bool = False
    reads_bytes: bool = False

    @property
    def args(self) -> tuple[Expr, ...]:
        """The arguments."""
        return self.call.args

    @property
    def attrs(self) -> Any:
        """The attributes."""
        return self.call.attrs

    def tensor(self, index: int) -> TensorType:
        """The type of an argument, which must be a tensor."""
        t = self.types[index]
        if not isinstance(t, TensorType):
            raise IrError(f"argument {index} of {self.attrs.name} must be a tensor, not {t!r}", self.call.span)
        return t

    def shape(self, index: int) -> tuple[int, ...]:
        """The static shape of an argument. Raises IrError if it is not known."""
        t = self.tensor(index)
        if not t.is_static:
            raise IrError(f"{self.attrs.name} needs a static shape here, not {t!r}", self.call.span)
        return t.static_shape

    def extent(self, index: int, axis: int) -> int:
        """One extent of an argument. Raises IrError if it is not known."""
        t = self.tensor(index)
        extent = t.shape[axis]
        if not isinstance(extent, int):
            raise IrError(f"{self.attrs.name} needs the extent of axis {axis} here, not {t!r}", self.call.span)
        return extent


LegalizationRule = Callable[[LegalizationSite], "Expr | None"]
_RULES: RuleTable[tuple[str, str], LegalizationRule] = RuleTable(__package__, "the legalization")


def legalization(map_name: str, *operators: str) -> Callable[[LegalizationRule], LegalizationRule]:
    """Decorator: files a rule for operators. A rule returns the replacement of the call, or None to leave it."""
    return _RULES.file(*((map_name, name) for name in operators))


def find_rule(map_name: str, operator: str) -> LegalizationRule | None:
    """The rule of an operator in a map, or None."""
    return _RULES.find((map_name, operator))
