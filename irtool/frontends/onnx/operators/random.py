"""Random numbers, which have no form in Relay: a program gives the same result for the same inputs."""

from __future__ import annotations

from ....diagnostics import IrError
from ..mistakes import UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value


@onnx_operator("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
class Random(OnnxOperator):
    """Refused: ONNX does not say which numbers a seed stands for."""

    folds = False
    refusal = "it gives random numbers, which have no form in Relay"

    @since(1, 7, 15, 22)
    def numbers(
        self,
        x: Value | None = None,
        *,
        dtype: int = 1,
        high: float = 1.0,
        low: float = 0.0,
        mean: float = 0.0,
        sample_size: int = 1,
        scale: float = 1.0,
        seed: float | None = None,
        shape: tuple[int, ...] = (),
    ) -> Result:
        raise IrError(self.refusal, code=UnsupportedNode)
