"""Elementwise operators of one tensor. A new one is a call of `_row`.

Every one keeps shape and dtype, except the three questions about floating-point values, which give bool. Functions of
real numbers are computed in double precision on integer inputs and cut back to the integer type.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from .. import te
from ..deferred import late, np
from ..diagnostics import IrError
from ..ir import Type
from . import approximations
from .base import Operator, Pattern, Reporter, operator
from .conversion import convert
from .dtypes import is_float, is_half, is_integer, is_real, needs_bits
from .erf import erf
from .relations import compare, identity
from .typical import NearOne

Function = Callable[..., Any]


@dataclass(frozen=True)
class Unary(Operator):
    """Base of the family: a numpy function, a te function of one element, and a type rule."""

    reference: ClassVar[Function]
    expression: ClassVar[Function]
    rule: ClassVar[Callable[[Sequence[Type], Reporter], Type | None]]

    one_shape = ("data", "result")
    one_dtype = ("data", "result")

    @classmethod
    def explain_rule(cls) -> str:
        return inspect.getdoc(cls.rule) or ""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        return type(self).rule(types, reporter)

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        if self.name in _OF_POSITIVE:
            return (NearOne(),)
        return (hint,) if self.name == "copy" or (self.name == "negative" and not isinstance(hint, NearOne)) else ()

    def deduce_dtypes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        if type(self).rule is compare:
            return list(args), "bool"
        return super().deduce_dtypes(args, out)

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            try:
                return np.asarray(type(self).reference(x))
            except TypeError:
                raise IrError(f"{self.name} has no meaning on {x.dtype}") from None

    def compute(self, inputs: Sequence[Any], out_type: Type) -> Any:
        (x,) = inputs
        function = type(self).expression
        return te.compute(x.shape, lambda *i: function(x[i]), name=f"T_{self.name}", tag="elemwise")


_OF_POSITIVE = ("log", "log2", "log10", "rsqrt", "sqrt")
"""What is defined for positive numbers only."""


def _real(f: Function) -> Function:
    """`f` made fit for every dtype: computed in double precision of integers, in float32 of 16-bit floats, and rounded once."""

    def apply(x: np.ndarray) -> np.ndarray:
        wide = x.astype("float32") if is_half(x.dtype) else x if is_real(x.dtype) else x.astype("float64")
        return convert(f(wide), x.dtype)

    return apply


def _whole(f: Function) -> Function:
    """`f` for floats; integers are whole already."""
    return lambda x: f(x).astype(x.dtype) if is_real(x.dtype) else x


def _question(f: Function, of_integers: bool) -> Function:
    """A question about floats with one answer for all integers."""
    return lambda x: f(x).astype("bool") if is_real(x.dtype) else np.full(x.shape, of_integers)


def round_half_away(x: np.ndarray) -> np.ndarray:
    """The nearest whole number, halves away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x)


def _sign(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "bu":
        return (x > 0).astype(x.dtype)
    whole = ((x > 0) * x.dtype.type(1) - (x < 0)).astype(x.dtype)
    return np.where(x == x, whole, x) if is_real(x.dtype) else whole


def _sigmoid(x: np.ndarray) -> np.ndarray:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


def _negative(x: np.ndarray) -> np.ndarray:
    return x if x.dtype.kind == "b" else np.negative(x)


def _numpy_arithmetic(dtype: np.dtype) -> approximations.Arithmetic:
    return approximations.Arithmetic(
        const=dtype.type,
        smaller=np.minimum,
        larger=np.maximum,
        floor=np.floor,
        power_of_two=lambda n: ((n + np.float32(127)).astype("int32") << 23).view("float32"),
    )


def _te_arithmetic(dtype: str) -> approximations.Arithmetic:
    return approximations.Arithmetic(
        const=lambda value: te.const(value, dtype),
        smaller=te.min2,
        larger=te.max2,
        floor=te.floor,
        power_of_two=lambda n: te.reinterpret("float32", te.cast(n + te.const(127.0, dtype), "int32") << 23),
    )


def _fast(formula: Function, exact: Function) -> tuple[Function, Function]:
    """Reference and expression of an approximation that holds for float32; other dtypes take the exact function."""

    def reference(x: np.ndarray) -> np.ndarray:
        if x.dtype != np.float32:
            return _real(exact)(x)
        return formula(np.atleast_1d(x), _numpy_arithmetic(x.dtype)).reshape(x.shape)

    def expression(x: Any) -> Any:
        if x.dtype != "float32":
            return _te_real(formula.__name__.removeprefix("fast_"))(x)
        return formula(x, _te_arithmetic("float32"))

    return reference, expression


def _te_real(f: str) -> Function:
    """The te function of that name, made fit for every dtype as `_real` does."""

    def apply(x: Any) -> Any:
        function = getattr(te, f)
        return function(x) if is_float(x.dtype) else te.cast(function(te.cast(x, "float64")), x.dtype)

    return apply


def _te_round(x: Any) -> Any:
    return te.round(x) if is_float(x.dtype) else x


def _te_whole(f: str) -> Function:
    return lambda x: getattr(te, f)(x) if is_float(x.dtype) else x


def _te_question(f: str, of_integers: bool) -> Function:
    return lambda x: getattr(te, f)(x) if is_float(x.dtype) else te.const(of_integers, "bool")


def _te_sign(x: Any) -> Any:
    zero, one = te.const(0, x.dtype), te.const(1, x.dtype)
    if x.dtype == "bool" or x.dtype.startswith("uint"):
        return te.select(x > zero, one, zero)
    rest = te.select(x.equal(x), zero, x) if is_float(x.dtype) else zero
    return te.select(x > zero, one, te.select(x < zero, te.const(-1, x.dtype), rest))


def _te_not(x: Any) -> Any:
    return te.cast(x == te.const(0, x.dtype), x.dtype)


def _te_invert(x: Any) -> Any:
    return _te_not(x) if x.dtype == "bool" else ~x


def _te_negative(x: Any) -> Any:
    return x if x.dtype == "bool" else te.const(0, x.dtype) - x if is_integer(x.dtype) else -x


def _te_abs(x: Any) -> Any:
    return x if x.dtype == "bool" or x.dtype.startswith("uint") else te.abs(x)


_FAST_EXP = _fast(approximations.fast_exp, late.exp)
_FAST_TANH = _fast(approximations.fast_tanh, late.tanh)
_FAST_ERF = _fast(approximations.fast_erf, erf)


def _row(
    name: str,
    level: int,
    gives: str,
    reference: Function,
    expression: Function,
    rule: Function = identity,
    **facts: object,
) -> None:
    body = {
        "__doc__": f"Elementwise {gives}.",
        "__module__": __name__,
        "reference": staticmethod(reference),
        "expression": staticmethod(expression),
        "rule": staticmethod(rule),
        "differentiable": rule is not compare,
        **facts,
    }
    camel = "".join(part.capitalize() for part in name.split("_"))
    cls: type[Unary] = type(camel, (Unary,), body)
    operator(name, "data", pattern=Pattern.ELEMWISE, level=level)(cls)


# name, support level, meaning, numpy reference, tensor expression, and facts
_row("abs", 3, "absolute value", late.abs, _te_abs)
_row("acos", 1, "arc cosine, in radians", _real(late.arccos), _te_real("acos"))
_row("acosh", 1, "inverse hyperbolic cosine", _real(late.arccosh), _te_real("acosh"))
_row("asin", 1, "arc sine, in radians", _real(late.arcsin), _te_real("asin"))
_row("asinh", 1, "inverse hyperbolic sine", _real(late.arcsinh), _te_real("asinh"))
_row("atan", 1, "arc tangent, in radians", _real(late.arctan), _te_real("atan"))
_row("atanh", 1, "inverse hyperbolic tangent", _real(late.arctanh), _te_real("atanh"))
_row("bitwise_not", 4, "bitwise NOT", late.invert, needs_bits(_te_invert), differentiable=False)
_row("ceil", 3, "rounding up to an integer", _whole(late.ceil), _te_whole("ceil"))
_row("copy", 3, "copy", lambda x: x, lambda x: x, precision="follow")
_row("cos", 1, "cosine of an angle in radians", _real(late.cos), _te_real("cos"))
_row("cosh", 1, "hyperbolic cosine", _real(late.cosh), _te_real("cosh"))
_row("erf", 1, "error function", _real(erf), _te_real("erf"), precision="never", fast_form="fast_erf")
_row("exp", 1, "natural exponential", _real(late.exp), _te_real("exp"), precision="never", fast_form="fast_exp")
_row("fast_erf", 1, "error function, approximated for float32", *_FAST_ERF, precision="follow")
_row("fast_exp", 1, "natural exponential, approximated for float32", *_FAST_EXP, precision="follow")
_row("fast_tanh", 1, "hyperbolic tangent, approximated for float32", *_FAST_TANH, precision="follow")
_row("floor", 3, "rounding down to an integer", _whole(late.floor), _te_whole("floor"))
_row("log", 1, "natural logarithm", _real(late.log), _te_real("log"))
_row("log10", 1, "logarithm to base 10", _real(late.log10), _te_real("log10"))
_row("log2", 1, "logarithm to base 2", _real(late.log2), _te_real("log2"))
_row(
    "logical_not",
    4,
    "logical NOT: 1 for zero, 0 for other values",
    lambda x: (x == 0).astype(x.dtype),
    _te_not,
    differentiable=False,
)
_row("negative", 3, "negation", _negative, _te_negative)
_row("round", 3, "rounding to the nearest integer, halves away from zero", _whole(round_half_away), _te_round)
_row("rsqrt", 1, "reciprocal of the square root", _real(lambda x: x.dtype.type(1) / np.sqrt(x)), _te_real("rsqrt"))
_row("sigmoid", 1, "sigmoid, `1 / (1 + exp(-x))`", _real(_sigmoid), _te_real("sigmoid"), precision="follow")
_row("sign", 3, "sign: -1, 0 or 1 (NaN for NaN)", _sign, _te_sign)
_row("sin", 1, "sine of an angle in radians", _real(late.sin), _te_real("sin"))
_row("sinh", 1, "hyperbolic sine", _real(late.sinh), _te_real("sinh"))
_row("sqrt", 1, "square root", _real(late.sqrt), _te_real("sqrt"), precision="follow")
_row("tan", 1, "tangent of an angle in radians", _real(late.tan), _te_real("tan"))
_row("tanh", 1, "hyperbolic tangent", _real(late.tanh), _te_real("tanh"), precision="follow", fast_form="fast_tanh")
_row("trunc", 3, "rounding towards zero to an integer", _whole(late.trunc), _te_whole("trunc"))

# Those that give bool.
_row(
    "isfinite",
    3,
    "test for finite values (neither infinite nor NaN)",
    _question(late.isfinite, True),
    _te_question("isfinite", True),
    rule=compare,
)
_row("isinf", 3, "test for infinity", _question(late.isinf, False), _te_question("isinf", False), rule=compare)
_row("isnan", 3, "test for NaN", _question(late.isnan, False), _te_question("isnan", False), rule=compare)
