"""Scores of classifiers and regressors of ai.onnx.ml, and the names of classes.

ONNX says little about scores of two classes that come from one; what is here is what ONNX Runtime does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...deferred import np
from ...diagnostics import IrError
from .arithmetic import add, cast, divide, multiply, scalar, subtract
from .mistakes import DamagedModel
from .operator import OnnxOperator
from .tuples import concatenate
from .value import Value, apply

TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")
"""The transforms, in the order of the numbers by which ONNX Runtime takes those of TreeEnsemble; ONNX's text has SOFTMAX first."""


def rows_of(x: Value, what: str, dtype: str = "float32") -> Value:
    """Data as rows of features; a vector is one row. Numbers that are no floating point are converted to `dtype`."""
    x = x if x.dtype in ("float32", "float64") and dtype != "float32" else cast(x, dtype)
    if x.rank == 1:
        return x.call("expand_dims", axis=0)
    x.require_rank(2, what)
    return x


def transformed(scores: Value, kind: str) -> Value:
    """The transform of scores `(rows, targets)`; of one target, only PROBIT does something."""
    if kind not in TRANSFORMS:
        raise IrError(f"the post_transform is {kind!r}; there are {', '.join(TRANSFORMS)}", code=DamagedModel)
    if kind == "PROBIT":
        return _probit(scores)
    if kind == "NONE" or scores.extent(1, "the scores") < 2:
        return scores
    if kind == "LOGISTIC":
        return scores.call("sigmoid")
    return scores.call("nn.softmax", axis=1) if kind == "SOFTMAX" else _softmax_zero(scores)


def _probit(p: Value) -> Value:
    """The inverse of the normal distribution by Winitzki's approximation of the inverse of erf, with a = 0.147 and pi = 3.14159."""
    x = subtract(multiply(p, 2), 1)
    log = multiply(subtract(1, x), add(x, 1)).call("log")
    v = add(multiply(log, 0.5), 2 / (3.14159 * 0.147))
    root = subtract(multiply(v, v), multiply(log, 1 / 0.147)).call("sqrt")
    return multiply(multiply(subtract(root, v).call("sqrt"), x.call("sign")), math.sqrt(2))


def _softmax_zero(scores: Value) -> Value:
    """Softmax that leaves scores of (nearly) 0 at 0."""
    largest = scores.call("max", axis=[1], keepdims=True)
    grown = subtract(scores, largest).call("exp")
    factor = multiply(scores, largest.call("negative").call("exp"))
    tiny = scalar(1e-7, scores.dtype).call("less", scores.call("abs"))
    parts = apply("where", tiny, grown, factor)
    return divide(parts, apply("where", tiny, grown, scalar(0, scores.dtype)).call("sum", axis=[1], keepdims=True))


def second_class(score: Value, kind: str, positive_weights: bool) -> Value:
    """Scores of two classes from the one of the second, `(rows, 1)`.

    Where no weight is negative it is taken for a probability.
    """
    if kind == "PROBIT":
        raise IrError("PROBIT of one score for two classes has no form in Relay", code=DamagedModel)
    if kind == "LOGISTIC":
        return concatenate([score.call("negative").call("sigmoid"), score.call("sigmoid")], 1)
    if positive_weights:
        return concatenate([subtract(1, score), score], 1)
    return concatenate([score.call("negative"), score], 1)


def labels_of(operator: OnnxOperator, ints: Sequence[int], strings: Sequence[str]) -> list[int]:
    """The labels of classes as integers. Strings, which Relay does not have, are replaced by their places, with a warning."""
    if ints and strings:
        raise IrError("classes have either integers or strings as labels", code=DamagedModel)
    if strings:
        operator.graph.functions.numbered.setdefault(operator.node, tuple(strings))
        return list(range(len(strings)))
    if not ints:
        raise IrError("the classes have no labels", code=DamagedModel)
    return list(ints)


def chosen(labels: Sequence[int], place: Value) -> Value:
    """The labels at these places, `(rows)`."""
    if list(labels) == list(range(len(labels))):
        return cast(place, "int64")
    return Value.constant(np.asarray(labels, "int64")).call("take", place, axis=0)


def either(condition: Value, yes: int, no: int) -> Value:
    """One label where a condition holds for the row, the other elsewhere."""
    return apply("where", condition, Value.constant(np.int64(yes)), Value.constant(np.int64(no)))


def column(x: Value, k: int) -> Value:
    """One column of a matrix, as a vector."""
    return x.call("take", Value.constant(np.int32(k)), axis=1)
