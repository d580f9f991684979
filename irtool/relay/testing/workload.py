"""Random weights for a network, by the names of its parameters."""

from __future__ import annotations

import math
from typing import Any

from ...infer import infer_types
from ...ir import Expr, Function, Module, TensorType
from .. import analysis


def create_workload(net: Expr, seed: int = 0) -> tuple[Module, dict[str, Any]]:
    """A typed module of a network, and weights for all its parameters but `data`.

    Weights are uniform within `±sqrt(3 / fan)`, fan the mean of inputs and outputs (X. Glorot, Y. Bengio: Understanding the
    difficulty of training deep feedforward neural networks, 2010), biases and means are 0, scales and variances 1. Raises IrError
    where a type stays open.
    """
    import numpy as np

    function = net if isinstance(net, Function) else Function(tuple(analysis.free_vars(net)), net)
    module = infer_types(Module.from_expr(function))
    rng = np.random.default_rng(seed)
    params: dict[str, Any] = {}
    for p in module["main"].params:
        t = p.checked_type
        if p.name == "data" or not isinstance(t, TensorType):
            continue
        shape = t.static_shape
        if p.name.endswith(("gamma", "moving_var")):
            params[p.name] = np.ones(shape, t.dtype)
        elif len(shape) < 2:
            params[p.name] = np.zeros(shape, t.dtype)
        else:
            fan = math.prod(shape[2:]) * (shape[0] + shape[1]) / 2
            bound = math.sqrt(3 / fan)
            params[p.name] = rng.uniform(-bound, bound, shape).astype(t.dtype)
    return module, params
