"""Affine types, the parameters of quantized tensors, and functions for rules on the quantization of arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass

from ...deferred import np
from ...ir import Call, Constant, Expr, MissingData
from ...ir.structural import structural_equal
from ...ops.base import Operator
from ..core.rule_table import RuleTable
from ..fold_constant import fold_constants


class NotSupported(Exception):
    """A region cannot be turned into integers: it is left as it is, or is an error with `hard_fail`."""


@dataclass(frozen=True, eq=False)
class Affine:
    """A tensor that stands for `scale * (q - zero_point)`; `axis` where scale and zero point are vectors."""

    scale: Expr
    zero_point: Expr
    dtype: str
    axis: int

    def same_as(self, other: Affine) -> bool:
        """Equal in everything, scales and zero points as expressions."""
        if self is other:
            return True
        return (
            self.dtype == other.dtype
            and self.axis == other.axis
            and structural_equal(self.scale, other.scale)
            and structural_equal(self.zero_point, other.zero_point)
        )

    def looks_like(self, other: Affine) -> bool:
        """Nearly the same scale and zero point and the same dtype."""
        return (
            nearly_equal(self.scale, other.scale)
            and nearly_equal(self.zero_point, other.zero_point)
            and self.dtype == other.dtype
        )


@dataclass(frozen=True, eq=False)
class AffineTuple:
    """A tuple of quantized tensors."""

    fields: tuple[Affine, ...]


AnyAffine = Affine | AffineTuple
Types = MutableMapping[Expr, AnyAffine]


def fold(e: Expr) -> Expr:
    """`e` with its constant parts evaluated."""
    return fold_constants(e)


def nearly_equal(a: Expr, b: Expr) -> bool:
    """True if two expressions are constants of about the same value, or the same expression."""
    a, b = fold(a), fold(b)
    if isinstance(a, Constant) and isinstance(b, Constant):
        if not isinstance(a.data, MissingData) and not isinstance(b.data, MissingData):
            try:
                return bool(np.allclose(a.data, b.data))
            except ValueError:
                return False
    return structural_equal(a, b)


AffineRule = Callable[[Call, Types], tuple[Expr, AnyAffine]]
"""`rule(call, types)`: the integer form of a call whose arguments are integer already, and how its result is quantized.

`types` knows how arguments are quantized; of the call itself it says how the region's result is.
"""

_RULES: RuleTable[str, AffineRule] = RuleTable(__package__, "the integer form of")
_ALONE: RuleTable[str, AffineRule] = RuleTable(__package__, "the integer form, alone, of")
_STATED: RuleTable[str, AffineRule] = RuleTable(__package__, "the integer form named")


def rule(*operators: str, alone: bool = False) -> Callable[[AffineRule], AffineRule]:
    """Decorator: files a rule for operators.

    With `alone`, calls become integer outside of regions, too, where all of their inputs are dequantized.
    """

    def file(affine_rule: AffineRule) -> AffineRule:
        if alone:
            _ALONE.file(*operators)(affine_rule)
        return _RULES.file(*operators)(affine_rule)

    return file


def stated_form(name: str) -> Callable[[AffineRule], AffineRule]:
    """Decorator: files the rule of operators that state this `Operator.integer_form`. They become integer alone, too."""
    return _STATED.file(name)


_OPTIONAL: RuleTable[str, AffineRule] = RuleTable(__package__, "the optional integer form of")


def optional_rule(*operators: str) -> Callable[[AffineRule], AffineRule]:
    """Decorator: files a rule that is followed only where it is asked for by the operator's name."""
    return _OPTIONAL.file(*operators)


def optional_rules() -> list[str]:
    """The operators that have an optional rule."""
    return sorted(_OPTIONAL.keys())


def find_rule(operator: type[Operator], optional: Collection[str] = ()) -> AffineRule | None:
    """The rule of an operator, or None: its own, that of the form that it states, or its optional one if it is named."""
    own = _RULES.find(operator.name)
    if own is None and operator.integer_form:
        own = _STATED.find(operator.integer_form)
    return own or (_OPTIONAL.find(operator.name) if operator.name in optional else None)


def is_quantized_alone(operator: type[Operator]) -> bool:
    """True if calls become integer outside of regions, too (in networks trained with quantization in mind, whose last
    region has no quantize)."""
    return bool(operator.integer_form) or _ALONE.find(operator.name) is not None


def tensor_type(types: Types, e: Expr) -> Affine:
    """The affine type of a tensor. Raises NotSupported if it is not quantized."""
    result = types.get(e)
    if not isinstance(result, Affine):
        raise NotSupported("an argument is not quantized")
    return result
