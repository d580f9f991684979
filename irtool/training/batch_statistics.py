"""Batch normalizations in training: by the mean and the variance of the batch, which the running ones follow.

See S. Ioffe and C. Szegedy, Batch Normalization, 2015, for the gradient:

::

    y = c * r * gamma + beta      c = x - mean(x), r = 1 / sqrt(mean(c * c) + epsilon)
    dx = gamma * r * (dy - mean(dy) - c * r * mean(dy * c * r))
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..ir import Call, Expr, Function, TensorType, TupleGetItem, Type, Var, post_order, rewrite
from ..ops.base import call, is_call_to
from ..passes.core.arithmetic import add, divide, multiply, subtract
from ..passes.core.axes import expand_to_axis
from ..passes.core.constants import scalar_constant
from ..passes.gradients.rule import GradientSite, zeros_like

NAME = "nn.batch_norm"


@dataclass(frozen=True)
class _Batch:
    """The terms of a normalization of `data` by its own statistics.

    Attributes:
        axes: those that the statistics are taken over.
        centred: the data less their mean.
        scale: the reciprocal of the standard deviation, which broadcasts against the data.
    """

    data: Expr
    type: TensorType
    axis: int
    epsilon: float

    @property
    def axes(self) -> list[int]:
        return [a for a in range(len(self.type.shape)) if a != self.axis]

    @property
    def count(self) -> int:
        """The elements that each statistic is taken over."""
        return prod(self.type.static_shape[a] for a in self.axes)

    def mean(self, e: Expr) -> Expr:
        return call("mean", e, axis=self.axes, keepdims=True, exclude=False)

    def vector(self, e: Expr) -> Expr:
        """A statistic as a vector."""
        return call("squeeze", e, axis=self.axes)

    @property
    def centred(self) -> Expr:
        return subtract(self.data, self.mean(self.data))

    @property
    def variance(self) -> Expr:
        return self.mean(multiply(self.centred, self.centred))

    @property
    def scale(self) -> Expr:
        deviation = call("sqrt", add(self.variance, self.number(self.epsilon)))
        return divide(self.number(1.0), deviation)

    @property
    def normalized(self) -> Expr:
        return multiply(self.centred, self.scale)

    def number(self, value: float) -> Expr:
        return scalar_constant(value, self.type.dtype)

    def along(self, e: Expr) -> Expr:
        """A vector of the axis, which broadcasts against the data."""
        return expand_to_axis(e, len(self.type.shape), [self.axis])


def _batch_of(data: Expr, t: Type, e: Call) -> _Batch:
    assert isinstance(t, TensorType)
    return _Batch(data, t, e.attrs.axis % len(t.shape), e.attrs.epsilon)


def gradient(s: GradientSite) -> list[Expr]:
    """The gradient of a batch normalization in training; the running statistics have none."""
    x, gamma, _, *running = s.args
    batch = _batch_of(x, s.types[0], s.out)
    grad = TupleGetItem(s.grad, 0)
    normalized = batch.normalized
    shared = call("sum", grad, axis=batch.axes, keepdims=False, exclude=False)
    of_gamma = call("sum", multiply(grad, normalized), axis=batch.axes, keepdims=False, exclude=False)
    share = batch.number(1.0 / max(1, batch.count))
    inner = subtract(grad, batch.along(multiply(shared, share)))
    inner = subtract(inner, multiply(normalized, batch.along(multiply(of_gamma, share))))
    factor = multiply(batch.along(gamma), batch.scale) if s.attrs.scale else batch.scale
    return [
        multiply(inner, factor),
        of_gamma if s.attrs.scale else zeros_like(gamma),
        shared if s.attrs.center else zeros_like(s.args[2]),
        *map(zeros_like, running),
    ]


def normalized_by_batch(root: Expr) -> Expr:
    """The typed expression in which each batch normalization is one by the statistics of its batch."""

    def leave(old: Expr, new: Expr) -> Expr:
        if not (isinstance(old, TupleGetItem) and old.index == 0 and isinstance(new, TupleGetItem)):
            return new
        if not (is_call_to(old.tuple, NAME) and is_call_to(new.tuple, NAME)):
            return new
        data, gamma, beta, *_ = new.tuple.args
        batch = _batch_of(data, old.tuple.args[0].known_type, new.tuple)
        result = batch.normalized
        if new.tuple.attrs.scale:
            result = multiply(result, batch.along(gamma))
        return add(result, batch.along(beta)) if new.tuple.attrs.center else result

    return rewrite(root, leave)


def running_statistics(function: Function, momentum: float) -> dict[Var, Expr]:
    """The next values of the parameters of a typed function that are running statistics, as torch has them: with unbiased variances.

    A parameter of several normalizations follows each of them in turn.
    """
    following: dict[Var, Expr] = {}
    for e in post_order(function.body):
        if not is_call_to(e, NAME):
            continue
        batch = _batch_of(e.args[0], e.args[0].known_type, e)
        unbiased = batch.number(batch.count / max(1, batch.count - 1))
        statistics = batch.vector(batch.mean(batch.data)), multiply(batch.vector(batch.variance), unbiased)
        for p, value in zip(e.args[3:], statistics, strict=True):
            if isinstance(p, Var) and p in function.params:
                former = multiply(following.get(p, p), batch.number(1 - momentum))
                following[p] = add(former, multiply(value, batch.number(momentum)))
    return following
