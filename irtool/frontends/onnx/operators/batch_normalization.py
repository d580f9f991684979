"""Normalizations by statistics that are inputs."""

from __future__ import annotations

from ....diagnostics import IrError
from ....ir import TupleGetItem
from ..arithmetic import cast
from ..mistakes import UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply


@onnx_operator("BatchNormalization")
class BatchNormalization(OnnxOperator):
    """`(x - mean) / sqrt(variance + epsilon) * scale + b` along axis 1, with statistics of the training before."""

    @since(1, 6)
    def for_test(
        self,
        x: Value,
        scale: Value,
        b: Value,
        mean: Value,
        var: Value,
        *,
        consumed_inputs: tuple[int, ...] = (),
        epsilon: float = 1e-5,
        is_test: int = 0,
        momentum: float = 0.9,
        spatial: int = 1,
    ) -> Result:
        if not is_test:
            self._refuse()
        return self.by_channel(x, scale, b, mean, var, epsilon=epsilon, spatial=spatial)

    @since(7)
    def by_channel(
        self,
        x: Value,
        scale: Value,
        b: Value,
        mean: Value,
        var: Value,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        spatial: int = 1,
    ) -> Result:
        if not spatial:
            raise IrError("statistics of single places have no form in Relay", code=UnsupportedNode)
        return self.with_statistics(x, scale, b, mean, var, epsilon=epsilon, momentum=momentum)

    @since(9)
    def with_statistics(
        self, x: Value, scale: Value, b: Value, mean: Value, var: Value, *, epsilon: float = 1e-5, momentum: float = 0.9
    ) -> Result:
        if any(self.wants(i) for i in range(1, 5)):
            self._refuse()
        return normalize_batch(x, scale, b, mean, var, epsilon)

    @since(14, 15)
    def with_mode(
        self,
        x: Value,
        scale: Value,
        b: Value,
        input_mean: Value,
        input_var: Value,
        *,
        epsilon: float = 1e-5,
        momentum: float = 0.9,
        training_mode: int = 0,
    ) -> Result:
        if training_mode:
            self._refuse()
        return normalize_batch(x, scale, b, input_mean, input_var, epsilon)

    def _refuse(self) -> None:
        raise IrError(
            "batch normalization in training mode has no form in Relay",
            help="export the model for inference: model.eval() in PyTorch",
            code=UnsupportedNode,
        )


def normalize_batch(x: Value, scale: Value, b: Value, mean: Value, var: Value, epsilon: float) -> Value:
    """`nn.batch_norm`; parameters of another type than the data take that type."""
    parameters = [cast(p, x.dtype) for p in (scale, b, mean, var)]
    return Value.of(TupleGetItem(apply("nn.batch_norm", x, *parameters, axis=1, epsilon=epsilon).expr, 0))
