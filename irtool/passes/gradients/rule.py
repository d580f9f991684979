"""Gradient rules, and their registry.

A rule gets a `GradientSite`: a call of its operator in the program that is differentiated, and the gradient of the loss with
respect to the call's result. It returns the gradients with respect to the arguments, one for each.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from ...diagnostics import IrError
from ...ir import Call, Expr, Op, TensorType, Tuple, TupleGetItem, TupleType, Type
from ...ops.base import call
from ...trampoline import trampoline
from ..core.mistakes import NoGradient
from ..core.rule_table import RuleTable


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
        sources: the arguments in the program, for the known facts of their values.
    """

    args: tuple[Expr, ...]
    types: tuple[Type, ...]
    attrs: Any
    out: Call
    type: Type
    grad: Expr
    sources: tuple[Expr, ...] = ()

    @property
    def dtype(self) -> str:
        """The first argument's element type."""
        first = self.types[0]
        assert isinstance(first, TensorType)
        return first.dtype

    @property
    def result_dtype(self) -> str:
        """The element type of the result."""
        assert isinstance(self.type, TensorType)
        return self.type.dtype

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the result. Raises IrError if it is not known."""
        if not isinstance(self.type, TensorType) or not self.type.is_static:
            raise self.refuse(f"needs a result of static shape, not {self.type!r}")
        return self.type.static_shape

    def again(self, *args: Expr) -> Call:
        """The call with other arguments."""
        return Call(self.out.op, args, self.attrs)

    def refuse(self, reason: str) -> IrError:
        """The error of a call that the rule does not hold for: `the gradient of OPERATOR` and the reason, at the call."""
        return IrError(f"the gradient of {self.attrs.name} {reason}", self.out.span, code=NoGradient)

    def shape(self, index: int = 0) -> tuple[int, ...]:
        """The shape of an argument. Raises IrError if it is not known."""
        t = self.types[index]
        if not isinstance(t, TensorType) or not t.is_static:
            raise self.refuse(f"needs a static shape, not {t!r}")
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


def no_gradient(e: Call) -> IrError:
    """The error of a call of an operator without a rule."""
    assert isinstance(e.op, Op)
    return IrError(
        f"operator {e.op.name} has no gradient", e.span, help=e.op.operator.no_gradient or None, code=NoGradient
    )


def rule_of(e: Call) -> GradientRule | None:
    """The rule for a typed call of an operator, or None.

    An operator without a rule whose results are truth values, integers or shapes is flat: its arguments have gradients of zero.
    """
    assert isinstance(e.op, Op)
    rule = find_rule(e.op.name)
    if rule is None and not e.op.operator.differentiable and not e.op.operator.stateful and _holds_no_reals(e):
        return flat
    return rule


def _holds_no_reals(e: Call) -> bool:
    t = e.checked_type
    return isinstance(t, TensorType) and t.dtype.startswith(("bool", "int", "uint"))


def flat(s: GradientSite) -> list[Expr]:
    """Zeros of the types of the arguments."""
    return [trampoline(_zeros(t, a)) for t, a in zip(s.types, s.args, strict=True)]


def _zeros(t: Type, e: Expr) -> Generator[Any, Any, Expr]:
    if not isinstance(t, TupleType):
        return zeros_like(e)
    fields = []
    for i, f in enumerate(t.fields):
        fields.append((yield _zeros(f, TupleGetItem(e, i))))
    return Tuple(tuple(fields))


def zeros_like(e: Expr) -> Expr:
    """Zeros of the type of `e`."""
    return call("zeros_like", e)


def ones_like(e: Expr) -> Expr:
    """Ones of the type of `e`."""
    return call("ones_like", e)


def sum_like(grad: Expr, argument: Expr) -> Expr:
    """`grad` summed over the axes along which `argument` was broadcast."""
    return call("collapse_sum_like", grad, argument)
