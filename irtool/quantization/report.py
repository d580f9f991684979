"""The report of a quantization: layers that were quantized, their errors, and layers that were not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..passes.qdq_insertion.insertion import Insertion
from ..passes.qdq_insertion.operator_roles import PRODUCTS
from ..passes.qdq_insertion.plan import Plan
from .errors import LayerError
from .options import QuantizeOptions


@dataclass(frozen=True)
class LayerReport:
    """One layer.

    Attributes:
        name, op: of the layer.
        model_name: that of its node or weight in the model; empty where it has none.
        own_snr, snr: dB; of the layer alone, and in the quantized network. None if they were not measured.
        output: how its result is rounded, `uint8 * 0.02 - 3`; empty where it stays a real number.
        weights_snr: of the weights alone, dB, where these are rounded and nothing else is.
    """

    name: str
    op: str
    model_name: str
    output: str
    own_snr: float | None = None
    snr: float | None = None
    weights_snr: float | None = None
    moves: bool = False
    """True for one that only moves elements."""


@dataclass(frozen=True)
class Report:
    """The report of `quantize`.

    Attributes:
        layers: those that are quantized, in the order of evaluation.
        left: products that stay in floating point, each with the reason.
        snr: of the function's floating-point results, dB; None if it was not measured.
        samples: how many sets of inputs were run.
        method: how ranges follow from them.
        held_out: how many samples the errors were measured on that gave no range; 0: those that ranges are from, or nothing
            was measured.
    """

    layers: tuple[LayerReport, ...]
    left: Mapping[str, str]
    samples: int
    method: str
    snr: float | None = None
    held_out: int = 0

    @staticmethod
    def of(plan: Plan, insertion: Insertion, options: QuantizeOptions, samples: int, below: tuple[str, ...]) -> Report:
        """The report of a plan. `below`: layers that were left for their errors."""
        rows = []
        for layer in plan.layers:
            q = insertion.quantities.get(layer.end)
            shown = f"{q.dtype} * {q.scale:.4g}" + (f", zero {q.zero_point}" if q.zero_point else "") if q else ""
            rows.append(LayerReport(layer.name, layer.op, (*layer.aliases, "")[0], shown, moves=layer.moves))
        left = {
            n: f"its own error is above --min-snr {options.min_snr:g}" if n in below else r
            for n, r in plan.left.items()
        }
        return Report(tuple(rows), left, samples, options.method)

    def with_errors(self, errors: Mapping[str, LayerError]) -> Report:
        """The report with measured errors, by name of a layer."""
        rows = tuple(replace(r, own_snr=errors[r.name].own, snr=errors[r.name].total) for r in self.layers)
        return replace(self, layers=rows, snr=errors[""].total)

    def below(self, limit: float | None) -> tuple[str, ...]:
        """The names of layers whose own ratio is less than the limit."""
        if limit is None:
            return ()
        return tuple(r.name for r in self.layers if r.own_snr is not None and r.own_snr < limit and not r.moves)

    @property
    def worst_first(self) -> list[LayerReport]:
        """The layers, those with the least ratio of their own first; those that only move elements are left out."""
        shown = [r for r in self.layers if r.own_snr is not None and not r.moves]
        return sorted(shown, key=lambda r: (r.own_snr, r.name))

    @property
    def products(self) -> int:
        """The number of quantized convolutions and matrix products."""
        return sum(r.op in PRODUCTS for r in self.layers)

    def as_dict(self) -> dict[str, Any]:
        """The report for JSON; infinite ratios are null."""
        return {
            "snr": _finite(self.snr),
            "samples": self.samples,
            "held_out": self.held_out,
            "method": self.method,
            "layers": [
                {
                    "name": r.name,
                    "op": r.op,
                    "model_name": r.model_name,
                    "output": r.output,
                    "own_snr": _finite(r.own_snr),
                    "snr": _finite(r.snr),
                    **({"weights_snr": _finite(r.weights_snr)} if r.weights_snr is not None else {}),
                }
                for r in (self.worst_first or self.layers)
            ],
            "float": dict(self.left),
        }


def _finite(x: float | None) -> float | None:
    return round(x, 2) if x is not None and math.isfinite(x) else None
