"""Quantization as floating-point arithmetic: TVM's quantizer inserts it before it has chosen integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, Type
from .base import Operator, Pattern, RelationError, Reporter, operator
from .conversion import convert
from .extremes import limited, limited_expression
from .shapes import tensor
from .unary import round_half_away

_IDENTITY = 0
"""The `kind` of an edge that is left as it is."""


@operator(
    "relay.op.annotation.simulated_quantize",
    "data",
    "dom_scale",
    "clip_min",
    "clip_max",
    pattern=Pattern.ELEMWISE,
    attrs="SimulatedQuantizeAttrs",
    level=11,
)
@dataclass(frozen=True)
class SimulatedQuantize(Operator):
    """`data / dom_scale`, clipped, rounded and multiplied back: simulates the error of quantization.

    A `kind` of 0 leaves the data as they are. Only signed types and rounding to the nearest are defined.
    """

    no_gradient = "it rounds: the slope is zero between steps"

    layout_rule = ""

    kind: int
    sign: bool = True
    rounding: str = "round"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data, which has one axis at least; scale, low and high are scalars of float32."""
        x = tensor(types[0], "data")
        if x is None:
            return None
        if not x.shape:
            raise RelationError("data must not be a scalar")
        for i in (1, 2, 3):
            reporter.assign(i, TensorType((), "float32"))
        return x

    def _check(self) -> None:
        if not self.sign or self.rounding != "round":
            raise IrError(f"simulated quantization with sign={self.sign} and rounding={self.rounding} is not defined")

    def evaluate(self, x: np.ndarray, scale: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        self._check()
        if self.kind == _IDENTITY:
            return x
        clipped = limited(x / scale, low, high)
        return convert(round_half_away(clipped) * scale, x.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        self._check()
        x, scale, low, high = inputs
        if self.kind == _IDENTITY:
            return te.compute(x.shape, lambda *i: x[i], tag="elemwise")

        def element(*i: Any) -> Any:
            clipped = limited_expression(x[i] / scale[()], low[()], high[()])
            return te.cast(te.round(clipped) * scale[()], x.dtype)

        return te.compute(x.shape, element, name="simulated_quantize", tag="elemwise")
