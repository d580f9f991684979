"""The passes before quantization: weights become constants, batch normalisations go into convolutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import IrError
from ..ir import Function, Let, Module, post_order
from ..ops.base import is_call_to
from ..passes import run_passes
from ..passes.core.bind import bind_params
from ..passes.core.constants import has_data

_SCALES = ("BackwardFoldScaleAxis,FoldConstant", "ForwardFoldScaleAxis,FoldConstant")
"""Scales go into weights, unless these would be computed then: a gate by channel stays a multiplication."""

_AFTER = "FoldExplicitPadding,CanonicalizeQuantizable,FoldConstant"
"""A padded copy would be a tensor of its own; biases are followers of their layers."""


_WEIGHTED = ("nn.conv2d", "nn.conv2d_transpose", "nn.dense")


def prepare(module: Module, params: Mapping[str, Any] | None, entry: str) -> Module:
    """The module with its entry ready for `plan_quantization`.

    Raises IrError if there is no such function, and for weights that do not fit.
    """
    if not isinstance(module.functions.get(entry), Function):
        have = ", ".join("@" + n for n in module.functions) or "none"
        raise IrError(f"there is no function @{entry} to quantize (the module has {have})")
    if params:
        module = bind_params(module, params, entry)
    f = module.functions[entry]
    assert isinstance(f, Function)
    nodes = post_order(f.body)
    first = ["ToGraphNormalForm"] if any(isinstance(e, Let) for e in nodes) else []
    first += ["SimplifyInference"] if any(is_call_to(e, "nn.batch_norm") for e in nodes) else []
    module = run_passes(module, ",".join([*first, "FoldConstant"]), opt_level=3)
    for scales in _SCALES:
        folded = run_passes(module, scales, opt_level=3)
        module = folded if _constant_weights(folded, entry) >= _constant_weights(module, entry) else module
    return run_passes(module, _AFTER, opt_level=3)


def _constant_weights(module: Module, entry: str) -> int:
    """The number of convolutions and dense layers with constant weights."""
    body = module.functions[entry].body
    return sum(is_call_to(e, *_WEIGHTED) and has_data(e.args[1]) for e in post_order(body))
