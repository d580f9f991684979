"""All rules, applied to a function in one go."""

from __future__ import annotations

from ....ir import Function
from ....passes.dataflow import rewrite_patterns
from .gelu import gelu
from .group_norm import group_norm
from .layer_norm import layer_norm, scaled_layer_norm, shifted_layer_norm
from .powers import reciprocal_root, small_power


def recognised(function: Function) -> Function:
    """The function with groups of operators replaced; the same object if it has none."""
    rules = [
        small_power(),
        reciprocal_root(),
        layer_norm(),
        scaled_layer_norm(),
        shifted_layer_norm(),
        group_norm(),
        gelu(),
    ]
    return rewrite_patterns(rules, function)
