"""Support vector machines."""

from __future__ import annotations

from itertools import accumulate, combinations
from typing import Any

from .....deferred import np
from .....diagnostics import IrError
from .....infer.infer import infer_expr
from .....ir import If, TensorType, Var
from ...arithmetic import add, cast, divide, multiply, scalar, subtract
from ...memory_limit import filled, require_steps
from ...mistakes import DamagedModel
from ...operator import OnnxOperator, Result, onnx_operator, since
from ...program import Functions, call_function
from ...scores import chosen, column, labels_of, rows_of, second_class, transformed
from ...tuples import concatenate
from ...value import Value, apply

_ROUNDS = 100
"""Rounds of the iteration to probabilities at most, as in libsvm."""


def kernel(x: Value, vectors: Any, kind: str, parameters: tuple[float, ...], offset: float = 0.0) -> Value:
    """The kernel of each row with each vector, `(rows, vectors)`; parameters are gamma, coef0 and degree."""
    gamma, coef0, degree = parameters or (0.0, 0.0, 0.0)
    if x.extent(1, "the data") != vectors.shape[1]:
        raise IrError(f"vectors have {vectors.shape[1]} numbers, and the data are {x.tensor}", code=DamagedModel)
    product = x.call("nn.dense", Value.constant(vectors), units=len(vectors))
    if kind == "LINEAR":
        return add(product, offset) if offset else product
    if kind == "POLY":
        return _power(add(multiply(product, gamma), coef0), degree)
    if kind == "SIGMOID":
        return add(multiply(product, gamma), coef0).call("tanh")
    if kind != "RBF":
        raise IrError(f"the kernel is {kind!r}; there are LINEAR, POLY, RBF and SIGMOID", code=DamagedModel)
    # differences, not squares minus twice the product: these lose digits where both are large
    apart = subtract(x.call("expand_dims", axis=1), Value.constant(vectors))
    return multiply(multiply(apart, apart).call("sum", axis=[2]), -gamma).call("exp")


def _power(x: Value, degree: float) -> Value:
    """A whole power by products, another one by `power`."""
    if degree not in range(1, 9):
        return apply("power", x, scalar(degree, x.dtype))
    result = x
    for _ in range(int(degree) - 1):
        result = multiply(result, x)
    return result


def _matrix(numbers: tuple[float, ...], rows: int, what: str) -> Any:
    if rows < 1 or len(numbers) % rows or not numbers:
        raise IrError(f"{len(numbers)} {what} are no {rows} rows", code=DamagedModel)
    return np.asarray(numbers, "float32").reshape(rows, -1)


@onnx_operator("ai.onnx.ml.SVMRegressor")
class SVMRegressor(OnnxOperator):
    """The weighted sum of kernels with the support vectors; with `one_class` its sign, -1 for 0."""

    @since(1)
    def regress(
        self,
        x: Value,
        *,
        coefficients: tuple[float, ...] = (),
        kernel_params: tuple[float, ...] = (),
        kernel_type: str = "LINEAR",
        n_supports: int = 0,
        one_class: int = 0,
        post_transform: str = "NONE",
        rho: tuple[float, ...] = (),
        support_vectors: tuple[float, ...] = (),
    ) -> Result:
        if post_transform != "NONE" or len(rho) != 1 or len(kernel_params) not in (0, 3):
            raise IrError(
                "a regression has one rho, kernels three parameters, and no post_transform", code=DamagedModel
            )
        x = rows_of(x, "the data")
        if n_supports:
            vectors = _matrix(support_vectors, n_supports, "numbers of support vectors")
            values = kernel(x, vectors, kernel_type, kernel_params)
            weights = _matrix(coefficients, 1, "coefficients")
            if weights.shape[1] != n_supports:
                raise IrError(f"{weights.shape[1]} coefficients for {n_supports} vectors", code=DamagedModel)
            y = add(values.call("nn.dense", Value.constant(weights), units=1), rho[0])
        else:
            y = kernel(x, _matrix(coefficients, 1, "coefficients"), "LINEAR", (), rho[0])
        if one_class:
            inside = y.call("greater", scalar(0, "float32"))
            y = apply("where", inside, scalar(1, "float32"), scalar(-1, "float32"))
        return y


@onnx_operator("ai.onnx.ml.SVMClassifier")
class SVMClassifier(OnnxOperator):
    """The class with the most votes of the decisions between two classes each; and decisions, or probabilities."""

    @since(1)
    def classify(
        self,
        x: Value,
        *,
        classlabels_ints: tuple[int, ...] = (),
        classlabels_strings: tuple[str, ...] = (),
        coefficients: tuple[float, ...] = (),
        kernel_params: tuple[float, ...] = (),
        kernel_type: str = "LINEAR",
        post_transform: str = "NONE",
        prob_a: tuple[float, ...] = (),
        prob_b: tuple[float, ...] = (),
        rho: tuple[float, ...] = (),
        support_vectors: tuple[float, ...] = (),
        vectors_per_class: tuple[int, ...] = (),
    ) -> Result:
        labels = labels_of(self, classlabels_ints, classlabels_strings)
        classes, pair_count = len(labels), len(labels) * (len(labels) - 1) // 2
        x = rows_of(x, "the data")
        if not sum(vectors_per_class):
            scores = kernel(x, _matrix(coefficients, classes, "coefficients"), "LINEAR", (), (rho or (0.0,))[0])
            return [_linear_label(scores, labels, min(coefficients) >= 0), transformed(scores, post_transform)]
        fits = len(vectors_per_class) == classes and len(rho) >= pair_count and len(prob_a) == len(prob_b)
        if not fits or classes < 2 or len(prob_a) not in (0, pair_count) or len(kernel_params) not in (0, 3):
            raise IrError("vectors, classes and decisions of a support vector machine do not fit", code=DamagedModel)
        count = sum(vectors_per_class)
        vectors = _matrix(support_vectors, count, "numbers of support vectors")
        weights = _matrix(coefficients, classes - 1, "coefficients")
        if weights.shape[1] != count:
            raise IrError(f"{weights.shape[1]} coefficients for {count} vectors", code=DamagedModel)
        values = kernel(x, vectors, kernel_type, kernel_params)
        table = _decision_weights(weights, vectors_per_class)
        decisions = add(
            values.call("nn.dense", Value.constant(table), units=pair_count),
            Value.constant(np.asarray(rho[:pair_count], "float32")),
        )
        label = chosen(labels, _votes(decisions, classes).call("argmax", axis=[1]))
        if prob_a:
            class_scores = probabilities(self.graph.functions, decisions, prob_a, prob_b, classes)
            return [label, transformed(class_scores, post_transform)]
        if classes > 2:
            return [label, transformed(decisions, post_transform)]
        return [label, second_class(decisions, post_transform, post_transform != "NONE")]


def _decision_weights(weights: Any, counts: tuple[int, ...]) -> Any:
    """The weights of the kernels in each decision, `(pairs, vectors)`: those of the vectors of both classes, 0 for others."""
    ends, classes = list(accumulate(counts)), len(counts)
    parts = [slice(e - n, e) for e, n in zip(ends, counts, strict=True)]
    shape = (classes * (classes - 1) // 2, weights.shape[1])
    table = filled(shape, 0, "the weights of the decisions between classes", "float32")
    for row, (i, j) in zip(table, combinations(range(classes), 2), strict=True):
        row[parts[i]] = weights[j - 1, parts[i]]
        row[parts[j]] = weights[i, parts[j]]
    return table


def _votes(decisions: Value, classes: int) -> Value:
    """The number of decisions that each class won, `(rows, classes)`."""
    shape = (2, classes, classes * (classes - 1) // 2)
    first, second = filled(shape, 0, "the votes of the decisions between classes", "float32")
    for k, (i, j) in enumerate(combinations(range(classes), 2)):
        first[i, k] = second[j, k] = 1
    won = cast(decisions.call("greater", scalar(0, "float32")), "float32")
    mine = won.call("nn.dense", Value.constant(first), units=classes)
    return add(mine, subtract(1, won).call("nn.dense", Value.constant(second), units=classes))


def _linear_label(scores: Value, labels: list[int], positive: bool) -> Value:
    """The label of the largest score. Of two classes the second one where that is positive, or at least a half of weights of
    which none is negative: so ONNX Runtime has it.
    """
    best = chosen(labels, scores.call("argmax", axis=[1]))
    if len(labels) != 2:
        return best
    largest = scores.call("max", axis=[1])
    second = largest.call("greater_equal" if positive else "greater", scalar(0.5 if positive else 0, "float32"))
    return apply("where", second, Value.constant(np.int64(labels[1])), best)


def probabilities(
    functions: Functions, decisions: Value, a: tuple[float, ...], b: tuple[float, ...], classes: int
) -> Value:
    """Probabilities of the classes, `(rows, classes)`, from those of pairs, which are sigmoids of the decisions.

    T.-F. Wu, C.-J. Lin and R. C. Weng, "Probability estimates for multi-class classification by pairwise coupling", Journal of
    Machine Learning Research 5, 2004, algorithm 2: p minimizes the sum over pairs of (r_ji p_i - r_ij p_j)^2. It ends for each
    row as soon as its gradient is even to 0.005 / classes, so that the number of rounds is part of the result.
    """
    require_steps(classes * classes, "the decisions between classes")
    slope, offset = (Value.constant(np.asarray(v, "float32")) for v in (a, b))
    first = subtract(1, add(multiply(decisions, slope), offset).call("sigmoid"))
    first = first.call("clip", a_min=1e-7, a_max=1 - 1e-7)
    second = subtract(1, first)
    numbers = {pair: k for k, pair in enumerate(combinations(range(classes), 2))}
    # q[i][i] is the sum of the squares of r_ji over j, q[i][j] is -r_ji r_ij
    rows = []
    for i in range(classes):
        own = [
            column(second, numbers[i, j]) if i < j else column(first, numbers[j, i]) for j in range(classes) if j != i
        ]
        line = own[:1] * classes
        for n, j in enumerate(j for j in range(classes) if j != i):
            other = column(first, numbers[i, j]) if i < j else column(second, numbers[j, i])
            line[j] = multiply(own[n], other).call("negative")
        line[i] = _total([multiply(r, r) for r in own])
        rows.append(concatenate([v.call("expand_dims", axis=1) for v in line], 1).call("expand_dims", axis=1))
    return _coupled(functions, concatenate(rows, 1), classes)


def _total(values: list[Value]) -> Value:
    total = values[0]
    for v in values[1:]:
        total = add(total, v)
    return total


def _coupled(functions: Functions, matrix: Value, classes: int) -> Value:
    """The iteration as a function that calls itself as long as a row is not done."""
    count = matrix.shape[0]
    types = (TensorType((), "int32"), matrix.tensor, TensorType((count, classes), "float32"))
    name = functions.reserve(types, types[2])
    variables = [Var(n, t, None, t) for n, t in zip(("round", "q", "p"), types, strict=True)]
    step, q, p = (Value(v) for v in variables)
    product = multiply(q, p.call("expand_dims", axis=1)).call("sum", axis=[2])
    whole = multiply(p, product).call("sum", axis=[1], keepdims=True)
    uneven = subtract(product, whole).call("abs").call("max", axis=[1], keepdims=True)
    goes_on = scalar(0.005 / classes, "float32").call("less_equal", uneven)
    after = apply("where", goes_on, _round(q, p, product, whole, classes), p)
    again = call_function(name, (add(step, 1).expr, q.expr, after.expr))
    more = step.call("less", scalar(_ROUNDS, "int32")).call("logical_and", goes_on.call("any", axis=[0, 1]))
    functions.define(name, variables, infer_expr(If(more.expr, again, p.expr)), types[2])
    share = np.float32(1) / np.float32(classes)
    even = Value.constant(filled((1, classes), share, "the probabilities of the classes", "float32"))
    start = add(multiply(matrix.call("sum", axis=[2]), 0), even)
    return Value.of(call_function(name, (scalar(0, "int32").expr, matrix.expr, start.expr)))


def _round(q: Value, p: Value, product: Value, whole: Value, classes: int) -> Value:
    """One round: each probability in turn is moved to where the gradient is even, and all are divided by their sum."""
    for i in range(classes):
        line = q.call("take", Value.constant(np.int32(i)), axis=1)
        own = column(line, i).call("expand_dims", axis=1)
        here = column(product, i).call("expand_dims", axis=1)
        move = divide(subtract(whole, here), own)
        grown = add(move, 1)
        unit = filled((1, classes), 0, "the probabilities of the classes", "float32")
        unit[0, i] = 1
        p = divide(add(p, multiply(move, Value.constant(unit))), grown)
        sum_of_both = add(multiply(move, own), multiply(here, 2))
        whole = divide(divide(add(whole, multiply(move, sum_of_both)), grown), grown)
        product = divide(add(product, multiply(move, line)), grown)
    return p
