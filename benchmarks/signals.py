"""Networks with random weights whose outputs say something: every layer gives values of about one.

Untrained, the signal of a deep network dies away: what engines then agree on is noise, denormal numbers or a constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

SMALLEST = 1e-3
"""Of an output: its largest element, and the spread of its elements, relative to that."""

ENOUGH = 64
"""Elements of a channel from which its mean and variance are taken."""


def emptiness(output: Any) -> str:
    """Why agreement on an output shows nothing, as a clause; empty where it shows something."""
    values = np.asarray(output).astype("float64").ravel()
    if not values.size:
        return "the output has no elements"
    if not np.isfinite(values).all():
        return "the output is not finite"
    largest = float(np.abs(values).max())
    if largest < SMALLEST:
        return f"no element of the output is larger than {largest:.1e}"
    if values.size > 1 and float(np.ptp(values)) < SMALLEST * largest:
        return "all elements of the output are equal"
    return ""


def enliven(model: Any, run: Callable[[], Any]) -> None:
    """Gives a torch module weights with which the output of each layer has a mean square of one, on the inputs of `run`.

    Layers are scaled in the order in which they work, by what they give on these inputs (layer-sequential unit variance, Mishkin
    and Matas 2015), in one run, since each layer already sees scaled data. Batch normalizations take their statistics from the same
    run. Parameters without any randomness, the factors and summands of normalizations and scales of layers, are drawn.
    """
    import torch

    with torch.no_grad():
        for p in model.parameters():
            _draw(p)
        handles = [hook for layer in model.modules() for hook in _hooks(layer)]
        try:
            run()
        finally:
            for h in handles:
                h.remove()


def _draw(p: Any) -> None:
    """Draws a parameter that is the same number everywhere: about zero where it is that, else about one."""
    import torch

    if p.is_floating_point() and p.numel() > 1 and bool((p == p.ravel()[0]).all()):
        p.copy_(0.1 * torch.randn_like(p) + float(p.ravel()[0] != 0))


def _hooks(layer: Any) -> list[Any]:
    import torch

    if isinstance(layer, torch.nn.modules.batchnorm._BatchNorm):
        return [layer.register_forward_pre_hook(_settle)]
    own = dict(layer.named_parameters(recurse=False))
    weight = own.get("weight")
    if weight is None or weight.ndim < 2 or isinstance(layer, torch.nn.Embedding) or any(layer.children()):
        return []
    return [layer.register_forward_hook(_Scaling(list(own.values())))]


def _settle(layer: Any, inputs: tuple[Any, ...]) -> None:
    """The statistics of a batch normalization from its input, where each channel has elements enough.

    Of a few that are nearly equal the variance is next to nothing: dividing by it would blow up rounding errors, layer by layer, until
    engines agree on nothing.
    """
    x = inputs[0]
    axes = [a for a in range(x.ndim) if a != 1]
    if x.numel() >= ENOUGH * x.shape[1] and layer.running_mean is not None:
        layer.running_mean.copy_(x.mean(axes))
        layer.running_var.copy_(x.var(axes, correction=0))


class _Scaling:
    """Scales the parameters of a layer, and its result, when it works for the first time."""

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = parameters
        self.done = False

    def __call__(self, layer: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        size = float(output.square().mean().sqrt()) if hasattr(output, "square") else 0.0
        if self.done or not 0 < size < float("inf"):
            return output
        self.done = True
        for p in self.parameters:
            p.div_(size)
        return output / size
