"""Dropout, which does nothing outside of training."""

from __future__ import annotations

from ....diagnostics import IrError
from ....ir import TupleGetItem
from ..memory_limit import filled
from ..mistakes import UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply


@onnx_operator("Dropout")
class Dropout(OnnxOperator):
    """The data itself, and a mask of kept elements: all of them."""

    @since(7)
    def by_attribute(self, x: Value, *, ratio: float = 0.5) -> Result:
        return self._of_training(x, ratio) or [x, x.call("ones_like")]

    @since(10)
    def with_mask(self, x: Value, *, ratio: float = 0.5) -> Result:
        return self._of_training(x, ratio) or [x, self._mask(x)]

    @since(12, 13, 22)
    def by_input(
        self, x: Value, ratio: Value | None = None, training_mode: Value | None = None, *, seed: int = 0
    ) -> Result:
        if self.graph.functions.training:
            rate = 0.5 if ratio is None else float(ratio.array("the ratio of Dropout"))
            return self._of_training(x, rate) or [x, self._mask(x)]
        if training_mode is not None and training_mode.array("the training_mode of Dropout").any():
            drops = ratio is None or ratio.array("the ratio of Dropout").any()
            if drops:
                raise IrError(
                    "dropout in training mode has no form in Relay",
                    help="export the model for inference: model.eval() in PyTorch",
                    code=UnsupportedNode,
                )
        return [x, self._mask(x)]

    def _of_training(self, x: Value, rate: float) -> list[Value | None] | None:
        """`nn.dropout`, if the model is imported for training and elements are left out.

        Raises IrError for a mask, which training draws.
        """
        if not self.graph.functions.training or not rate:
            return None
        if self.wants(1):
            raise IrError("the mask of a dropout in training is no output", code=UnsupportedNode)
        return [Value.of(TupleGetItem(apply("nn.dropout", x, rate=rate).expr, 0)), None]

    def _mask(self, x: Value) -> Value | None:
        if not self.wants(1):
            return None
        if all(isinstance(d, int) for d in x.shape):
            return Value.constant(filled(x.extents("the data of Dropout"), True, "the mask of Dropout", "bool"))
        return x.call("ones_like").call("cast", dtype="bool")
