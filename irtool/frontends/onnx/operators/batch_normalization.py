"""Normalizations by statistics that are inputs."""

from __future__ import annotations

from ....diagnostics import IrError
from ....ir import TupleGetItem
from ..arithmetic import add, cast, multiply, subtract
from ..mistakes import UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value, apply


@onnx_operator("BatchNormalization")
class BatchNormalization(OnnxOperator):
    """`(x - mean) / sqrt(variance + epsilon) * scale + b` along axis 1, with statistics of the training before.

    With `training_mode` (from opset 14 on), by the statistics of the batch itself.
    """

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
        if training_mode and self.graph.functions.training:
            return [normalize_batch(x, scale, b, input_mean, input_var, epsilon), input_mean, input_var]
        if training_mode:
            return _by_own_statistics(x, scale, b, input_mean, input_var, epsilon, momentum)
        return normalize_batch(x, scale, b, input_mean, input_var, epsilon)

    def _refuse(self) -> None:
        raise IrError(
            "batch normalization in the training mode of opsets below 14 has no form in Relay",
            help="export the model for inference: model.eval() in PyTorch",
            code=UnsupportedNode,
        )


def _by_own_statistics(
    x: Value, scale: Value, b: Value, mean: Value, var: Value, epsilon: float, momentum: float
) -> list[Value]:
    """Normalized by the statistics of this batch; and the running ones, `running * momentum + current * (1 - momentum)`."""
    axes = [a for a in range(x.rank) if a != 1]
    # Squares of float16 leave its range: statistics are in the type of their running values, in float32 at least.
    wide = "float64" if "float64" in (x.dtype, mean.dtype, var.dtype) else "float32"
    data = cast(x, wide)
    centred = subtract(data, data.call("mean", axis=axes, keepdims=True))
    current = [data.call("mean", axis=axes), multiply(centred, centred).call("mean", axis=axes)]
    normalized = normalize_batch(data, scale, b, current[0], current[1], epsilon)
    running = [
        cast(add(multiply(cast(old, wide), momentum), multiply(new, 1 - momentum)), old.dtype)
        for old, new in zip((mean, var), current, strict=True)
    ]
    return [cast(normalized, x.dtype), *running]


def normalize_batch(x: Value, scale: Value, b: Value, mean: Value, var: Value, epsilon: float) -> Value:
    """`nn.batch_norm`; parameters of another type than the data take that type."""
    parameters = [cast(p, x.dtype) for p in (scale, b, mean, var)]
    return Value.of(TupleGetItem(apply("nn.batch_norm", x, *parameters, axis=1, epsilon=epsilon).expr, 0))
