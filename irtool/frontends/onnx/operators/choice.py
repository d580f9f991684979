"""Elements chosen by a condition, and limited to a range."""

from __future__ import annotations

from ....ir import Constant
from ....passes.core.constants import to_array
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply


@onnx_operator("Where")
class Where(OnnxOperator):
    """Elements of one tensor where the condition holds, and of another elsewhere."""

    @since(9, 16)
    def choose(self, condition: Value, x: Value, y: Value) -> Result:
        return apply("where", condition, x, y)


@onnx_operator("Clip")
class Clip(OnnxOperator):
    """Elements limited to a range; where its ends are in the wrong order, all are the upper one."""

    @since(6)
    def by_attribute(self, x: Value, *, min: float | None = None, max: float | None = None) -> Result:
        low, high = (None if n is None else Value.constant(n, x.dtype) for n in (min, max))
        return self.by_input(x, low, high)

    @since(11, 12, 13)
    def by_input(self, x: Value, min: Value | None = None, max: Value | None = None) -> Result:
        low, high = (None if v is None else _scalar(v) for v in (min, max))
        if low is not None and high is not None:
            a_min, a_max = constant_number(low), constant_number(high)
            if a_min is not None and a_max is not None and a_min <= a_max and _is_exact(a_min) and _is_exact(a_max):
                return x.call("clip", a_min=a_min, a_max=a_max)
        if low is not None:
            x = x.call("maximum", low)
        return x if high is None else x.call("minimum", high)


def _scalar(x: Value) -> Value:
    return x.call("reshape", newshape=[]) if x.shape else x


def constant_number(x: Value) -> float | int | None:
    """The one element of a constant; None if it is not known, or may be another one when the program runs."""
    if x.known is None or x.parameter or x.known.size != 1:
        return None
    constant = x.as_constant().expr
    assert isinstance(constant, Constant)
    return to_array(constant).reshape(()).item()


def _is_exact(number: float) -> bool:
    """True if the number is unchanged as a float, the type of attributes."""
    return isinstance(number, float) or abs(number) <= 1 << 53
