"""Linear models."""

from __future__ import annotations

from .....deferred import np
from .....diagnostics import IrError
from ...arithmetic import add, scalar
from ...mistakes import DamagedModel
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...scores import chosen, column, either, labels_of, rows_of, second_class, transformed
from ...value import Value


def linear(x: Value, coefficients: tuple[float, ...], intercepts: tuple[float, ...], targets: int) -> Value:
    """`x @ coefficients.T + intercepts`, `(rows, targets)`."""
    if targets < 1 or len(coefficients) % targets or len(intercepts) not in (0, targets):
        raise IrError(
            f"{len(coefficients)} coefficients and {len(intercepts)} intercepts fit no {targets} targets",
            code=DamagedModel,
        )
    weights = np.asarray(coefficients, "float32").reshape(targets, -1)
    if x.extent(1, "the data") != weights.shape[1]:
        raise IrError(f"there are {weights.shape[1]} coefficients for the features of {x.tensor}", code=DamagedModel)
    scores = x.call("nn.dense", Value.constant(weights), units=targets)
    return add(scores, Value.constant(np.asarray(intercepts, "float32"))) if any(intercepts) else scores


@onnx_operator("ai.onnx.ml.LinearRegressor")
class LinearRegressor(OnnxOperator):
    """Sums of weighted features, transformed."""

    @since(1)
    def regress(
        self,
        x: Value,
        *,
        coefficients: tuple[float, ...] = (),
        intercepts: tuple[float, ...] = (),
        post_transform: str = "NONE",
        targets: int = 1,
    ) -> Result:
        return transformed(linear(rows_of(x, "the data"), coefficients, intercepts, targets), post_transform)


@onnx_operator("ai.onnx.ml.LinearClassifier")
class LinearClassifier(OnnxOperator):
    """The class of the largest sum of weighted features, or of two classes by the sign of one sum; and the scores."""

    @since(1)
    def classify(
        self,
        x: Value,
        *,
        coefficients: tuple[float, ...],
        intercepts: tuple[float, ...] = (),
        classlabels_ints: tuple[int, ...] = (),
        classlabels_strings: tuple[str, ...] = (),
        multi_class: int = 0,
        post_transform: str = "NONE",
    ) -> Result:
        labels = labels_of(self, classlabels_ints, classlabels_strings)
        x = rows_of(x, "the data")
        scores = linear(x, coefficients, intercepts, len(intercepts))
        if len(intercepts) == 1 and len(labels) == 2:
            label = either(column(scores, 0).call("greater", scalar(0, "float32")), labels[1], labels[0])
            return [label, second_class(scores, post_transform, True)]
        if len(labels) != len(intercepts) or len(labels) < 2:
            raise IrError(f"there are {len(labels)} labels for {len(intercepts)} scores", code=DamagedModel)
        label = chosen(labels, scores.call("argmax", axis=[1]))
        return [label, transformed(scores, post_transform)]
