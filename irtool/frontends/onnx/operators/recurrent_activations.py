"""The activation functions that LSTM, GRU and RNN name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ....deferred import np
from ....diagnostics import IrError, nearest
from ..exponentials import exp_minus_one, log_of_one_plus
from ..mistakes import DamagedModel, UnsupportedNode
from ..value import Value

Activation = Callable[[Value], Value]


def _like(x: Value, number: float) -> Value:
    return Value.constant(np.array(number, x.dtype))


def _affine(x: Value, alpha: float, beta: float) -> Value:
    return x.call("multiply", _like(x, alpha)).call("add", _like(x, beta))


def _elu(x: Value, alpha: float, beta: float) -> Value:
    below = exp_minus_one(x.call("minimum", _like(x, 0))).call("multiply", _like(x, alpha))
    return x.call("less", _like(x, 0)).call("where", below, x)


def _hard_sigmoid(x: Value, alpha: float, beta: float) -> Value:
    return _affine(x, alpha, beta).call("clip", a_min=0.0, a_max=1.0)


def _leaky_relu(x: Value, alpha: float, beta: float) -> Value:
    return x.call("nn.leaky_relu", alpha=alpha)


def _scaled_tanh(x: Value, alpha: float, beta: float) -> Value:
    return x.call("multiply", _like(x, beta)).call("tanh").call("multiply", _like(x, alpha))


def _softplus(x: Value, alpha: float, beta: float) -> Value:
    """log(1 + exp(x)), in a form that does not overflow."""
    small = log_of_one_plus(x.call("abs").call("negative").call("exp"))
    return x.call("nn.relu").call("add", small)


def _softsign(x: Value, alpha: float, beta: float) -> Value:
    return x.call("divide", x.call("abs").call("add", _like(x, 1)))


def _thresholded_relu(x: Value, alpha: float, beta: float) -> Value:
    return x.call("greater", _like(x, alpha)).call("where", x, _like(x, 0))


_FUNCTIONS: dict[str, tuple[Callable[[Value, float, float], Value], float | None, float | None]] = {
    "Affine": (_affine, 1.0, 0.0),
    "Elu": (_elu, 1.0, None),
    "HardSigmoid": (_hard_sigmoid, 0.2, 0.5),
    "LeakyRelu": (_leaky_relu, 0.01, None),
    "Relu": (lambda x, alpha, beta: x.call("nn.relu"), None, None),
    "ScaledTanh": (_scaled_tanh, math.nan, math.nan),
    "Sigmoid": (lambda x, alpha, beta: x.call("sigmoid"), None, None),
    "Softplus": (_softplus, None, None),
    "Softsign": (_softsign, None, None),
    "Tanh": (lambda x, alpha, beta: x.call("tanh"), None, None),
    "ThresholdedRelu": (_thresholded_relu, 1.0, None),
}
"""The functions, with the defaults of alpha and beta where they have these; not a number where ONNX gives none."""


def activations(names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]) -> list[Activation]:
    """The functions of these names, in any case. Those that have an alpha, or a beta, take the next one of the list, as far as
    it goes.

    Raises IrError for an unknown name.
    """
    known = {name.lower(): name for name in _FUNCTIONS}
    left_alphas, left_betas = list(alphas), list(betas)
    result: list[Activation] = []
    for name in names:
        if name.lower() not in known:
            raise IrError(f"the activation {name} is not known", help=nearest(name, _FUNCTIONS), code=UnsupportedNode)
        function, alpha, beta = _FUNCTIONS[known[name.lower()]]
        if alpha is not None and left_alphas:
            alpha = left_alphas.pop(0)
        if beta is not None and left_betas:
            beta = left_betas.pop(0)
        if math.isnan(alpha or 0.0) or math.isnan(beta or 0.0):
            raise IrError(
                f"the activation {name} needs an alpha and a beta: ONNX has no defaults for these", code=DamagedModel
            )
        result.append(_bound(function, alpha or 0.0, beta or 0.0))
    return result


def _bound(function: Callable[[Value, float, float], Value], alpha: float, beta: float) -> Activation:
    return lambda x: function(x, alpha, beta)
