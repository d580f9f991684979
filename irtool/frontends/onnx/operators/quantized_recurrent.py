"""The LSTM of quantized weights, whose inputs and states are quantized while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....diagnostics import IrError
from ..integer_products import dynamic_product
from ..mistakes import DamagedModel
from ..operator import Result, onnx_operator, since
from ..recurrence import Weights, part
from ..value import Value
from .recurrent import Lstm


@dataclass(frozen=True, eq=False)
class IntegerWeights(Weights):
    """Weights of 8 bits: depth x gates, with a scale and a zero point, or those of each gate."""

    matrix: Value
    scale: Value
    zero: Value

    def product(self, x: Value) -> Value:
        return dynamic_product(x, self.matrix, self.scale, self.zero)


@onnx_operator("com.microsoft.DynamicQuantizeLSTM")
class DynamicQuantizeLstm(Lstm):
    """LSTM with weights of 8 bits. All inputs are quantized with one scale, states of each step with one of their own."""

    gates_last = True

    @classmethod
    def versions(cls) -> dict:
        return {1: cls.quantized}

    @since(1)
    def quantized(
        self,
        x: Value,
        w: Value,
        r: Value,
        b: Value | None,
        sequence_lens: Value | None,
        initial_h: Value | None,
        initial_c: Value | None,
        p: Value | None,
        w_scale: Value,
        w_zero_point: Value,
        r_scale: Value,
        r_zero_point: Value,
        *,
        activations: Sequence[str] | None = None,
        activation_alpha: Sequence[float] = (),
        activation_beta: Sequence[float] = (),
        clip: float | None = None,
        direction: str = "forward",
        hidden_size: int | None = None,
        input_forget: int = 0,
    ) -> Result:
        self.quantities = ((w_scale, w_zero_point), (r_scale, r_zero_point))
        return self.run(
            (x, w, r, b, sequence_lens),
            [initial_h, initial_c],
            p,
            direction=direction,
            hidden_size=hidden_size,
            layout=0,
            names=activations,
            alphas=activation_alpha,
            betas=activation_beta,
            clip=clip,
            input_forget=input_forget,
        )

    def weights(self, w: Value, r: Value, direction: int) -> tuple[Any, Any]:
        return tuple(  # type: ignore[return-value]  # there are two
            IntegerWeights(matrix, *(self._part(q, matrix, direction) for q in quantities))
            for matrix, quantities in zip((w, r), self.quantities, strict=True)
        )

    def _part(self, quantity: Value, matrix: Value, direction: int) -> Value:
        """The scale or zero point of a direction's weights."""
        value = part(quantity, direction) if quantity.rank and direction < (quantity.extents("a scale")[0]) else None
        if value is None or value.shape not in ((), (1,), matrix.shape[1:]):
            raise IrError(
                f"a scale or zero point of {self.node.op_type} is {quantity.tensor}: there is one for each direction, or for each"
                " of its gates",
                code=DamagedModel,
            )
        return value
