"""What a gradient rule is, and where rules are found.

A rule gets a `GradientSite`: a call of its operator in the program that is differentiated, and the gradient of the loss with
respect to the call's result. It returns the gradients with respect to the arguments, one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir import Call, Expr, TensorType, Type
from ...ops.base import call
from ..mistakes import NoGradient
from ..rule_table import RuleTable


@dataclass(frozen=True)
class GradientSite:
    """One call whose gradient is asked for.

    Attributes:
        args: the arguments, expressions that may be used any number of times.
        types: their types.
        attrs: the operator's attributes.
        out: the call itself, over `args`.
        type: its type.
        grad: the gradient with respect to the result; of the same type as `out`.
    """

    args: tuple[Expr, ...]
    types: tuple[Type, ...]
    attrs: Any
    out: Call
    type: Type
    grad: Expr

    @property
    def dtype(self) -> str:
        """The first argument's element type."""
        first = self.types[0]
        assert isinstance(first, TensorType)
        return first.dtype

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of an argument. Raises IrError where it is not known."""
        from ...diagnostics import IrError

        t = self.types[index]
        if not isinstance(t, TensorType) or not t.is_static:
            raise IrError(
                f"the gradient of {self.attrs.name} needs a static shape, not {t!r}", self.out.span, code=NoGradient
            )
        return t.static_shape


GradientRule = Callable[[GradientSite], Sequence[Expr]]
_RULES: RuleTable[str, GradientRule] = RuleTable(__package__, "the gradient of")


def gradient(*names: str) -> Callable[[GradientRule], GradientRule]:
    """Decorator: files a rule under the names of its operators."""
    return _RULES.file(*names)


def find_rule(name: str) -> GradientRule | None:
    """The rule of an operator, or None."""
    return _RULES.find(name)


def differentiable() -> list[str]:
    """The operators that have a rule, sorted."""
    return sorted(_RULES.keys())


def zeros_like(e: Expr) -> Expr:
    """Zeros of the type of `e`."""
    return call("zeros_like", e)


def ones_like(e: Expr) -> Expr:
    """Ones of the type of `e`."""
    return call("ones_like", e)


def sum_like(grad: Expr, argument: Expr) -> Expr:
    """`grad` summed over the axes along which `argument` was broadcast."""
    return call("collapse_sum_like", grad, argument)
