"""Rounding errors: the signal-to-noise ratio of each layer, alone and in the full network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..deferred import np
from ..ir import Expr, Function, Module
from ..passes import run_passes
from .running import runner, with_results

INTEGERS = "FakeQuantizationToInteger{use_qat=True},FoldConstant{fold_qnn=True}"
"""From rounded real numbers to integers."""


@dataclass
class Noise:
    """Sums of squares over all elements: of a signal, and of the difference from it."""

    signal: float = 0.0
    noise: float = 0.0

    def add(self, exact: Any, rounded: Any) -> None:
        x, y = np.asarray(exact, np.float64), np.asarray(rounded, np.float64)
        self.signal += float((x * x).sum())
        self.noise += float(((x - y) ** 2).sum())

    @property
    def decibels(self) -> float:
        """`10 log10(signal / noise)`; infinite where nothing differs."""
        if not self.noise:
            return math.inf
        return 10 * math.log10(self.signal / self.noise) if self.signal else -math.inf


@dataclass(frozen=True)
class LayerError:
    """Signal-to-noise ratios in dB of a layer's result: `own` with this layer alone quantized, `total` with all of them."""

    own: float
    total: float


class RoundedPlan(Protocol):
    """The layers that are rounded, in the order of evaluation: each has a `name`, and its result as `end`."""

    @property
    def layers(self) -> Sequence[Any]: ...


class Rounded(Protocol):
    """A function with rounded layers: the expression in the place of each, and of a layer of exact data."""

    @property
    def plan(self) -> RoundedPlan: ...
    @property
    def rewritten(self) -> Mapping[Expr, Expr]: ...
    def alone(self, layer: Any) -> Expr: ...


def measure(
    module: Module,
    entry: str,
    insertion: Rounded,
    samples: Sequence[Sequence[Any]],
    via: str,
    step: Callable[[], None],
    form: str = "integer",
) -> Mapping[str, LayerError]:
    """The errors of the layers of `insertion`, by name, and those of the function's result under the empty name.

    Everything is computed in the form that is asked for, see `QuantizeOptions.form`.
    """
    function = module.functions[entry]
    assert isinstance(function, Function)
    layers = insertion.plan.layers
    exact: list[Expr] = [layer.end for layer in layers]
    alone = [insertion.alone(layer) for layer in layers]
    together = [insertion.rewritten[layer.end] for layer in layers]
    outputs = _float_parts(function.body)
    results = [*exact, *outputs, *alone, *together, *(insertion.rewritten[e] for e in outputs)]
    whole = run_passes(
        with_results(module, entry, function, results),
        f"InferType,{INTEGERS}" if form == "integer" else "InferType",
        opt_level=3,
    )
    run = runner(whole, entry, via, len(samples))
    count, rest = len(layers), len(outputs)
    own, total = [Noise() for _ in layers], [Noise() for _ in range(count + rest)]
    for inputs in samples:
        values = run(inputs)
        real, one, all_ = values[: count + rest], values[count + rest : 2 * count + rest], values[2 * count + rest :]
        for noise, x, y in zip(own, real, one):
            noise.add(x, y)
        for noise, x, y in zip(total, real, all_):
            noise.add(x, y)
        step()
    errors = {layer.name: LayerError(a.decibels, b.decibels) for layer, a, b in zip(layers, own, total)}
    result = Noise(sum(n.signal for n in total[count:]), sum(n.noise for n in total[count:]))
    return {**errors, "": LayerError(math.nan, result.decibels)}


def _float_parts(body: Expr) -> list[Expr]:
    """The floating-point tensors of a function's result."""
    from ..ir import Tuple
    from ..ops.dtypes import dtype_of

    fields = body.fields if isinstance(body, Tuple) else (body,)
    return [e for e in fields if dtype_of(e).startswith("float")]
