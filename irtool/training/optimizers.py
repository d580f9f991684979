"""Optimizers: the next value of a weight, and of the states that go with it. Formulas are those of torch.optim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir import Expr, TensorType, Var
from ..ops.base import call
from ..passes.core.arithmetic import add, divide, multiply, subtract
from ..passes.core.constants import scalar_constant
from .options import INPUT, TrainOptions

STATES: Mapping[str, tuple[str, ...]] = {
    "sgd": (),
    "momentum": ("velocity",),
    "adam": ("mean", "square"),
    "adamw": ("mean", "square"),
}
"""The states of a weight: tensors of its type."""

COUNTING = ("adam", "adamw")
"""The optimizers that need the number of the step."""


@dataclass(frozen=True)
class Rates:
    """The numbers of a step that all weights share, scalars of float32.

    Attributes:
        rate: the learning rate.
        corrections: of `adam` and `adamw`: `1 - beta ** step` for both.
    """

    rate: Expr
    corrections: tuple[Expr, ...] = ()


def rates_of(options: TrainOptions, rate: Var | None, step: Expr | None) -> Rates:
    """The shared numbers.

    Args:
        rate: the parameter of the learning rate, if each step is given one.
        step: the number of this step as float32, from 1 on, if the optimizer needs it.
    """
    if options.rate != INPUT:
        assert isinstance(options.rate, int | float)
        value: Expr = scalar_constant(options.rate, "float32")
    else:
        assert rate is not None
        value = rate
    if step is None:
        return Rates(value)
    # In float64, as torch computes them: 1 - 0.999 ** 1 has three digits less in float32.
    exponent = call("cast", step, dtype="float64")
    powers = [call("power", scalar_constant(beta, "float64"), exponent) for beta in options.betas]
    one = scalar_constant(1.0, "float64")
    return Rates(value, tuple(call("cast", subtract(one, p), dtype="float32") for p in powers))


def updated(
    weight: Var, gradient: Expr, states: tuple[Var, ...], rates: Rates, options: TrainOptions
) -> tuple[Expr, tuple[Expr, ...]]:
    """The next value of a weight, and those of its states."""
    t = weight.type_annotation
    assert isinstance(t, TensorType)
    dtype = t.dtype

    def number(value: float) -> Expr:
        return scalar_constant(value, dtype)

    def shared(value: Expr) -> Expr:
        return value if dtype == "float32" else call("cast", value, dtype=dtype)

    rate, decay = shared(rates.rate), options.decay
    if decay and options.optimizer != "adamw":
        gradient = add(gradient, multiply(weight, number(decay)))
    if options.optimizer == "sgd":
        return subtract(weight, multiply(gradient, rate)), ()
    if options.optimizer == "momentum":
        (velocity,) = states
        next_velocity = add(multiply(velocity, number(options.momentum)), gradient)
        return subtract(weight, multiply(next_velocity, rate)), (next_velocity,)
    mean, square = states
    first, second = options.betas
    next_mean = add(multiply(mean, number(first)), multiply(gradient, number(1 - first)))
    next_square = add(multiply(square, number(second)), multiply(multiply(gradient, gradient), number(1 - second)))
    of_mean, of_square = (shared(c) for c in rates.corrections)
    root = add(divide(call("sqrt", next_square), call("sqrt", of_square)), number(options.epsilon))
    decayed: Expr = weight
    if decay and options.optimizer == "adamw":
        decayed = subtract(weight, multiply(weight, multiply(rate, number(decay))))
    step = multiply(divide(next_mean, root), divide(rate, of_mean))
    return subtract(decayed, step), (next_mean, next_square)
