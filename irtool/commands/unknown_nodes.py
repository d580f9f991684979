"""Unknown types after partial inference, as `irtool check --partial` lists them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Diagnostic
from ..infer import infer_partial
from ..ir import Module
from .param_facts import ParamFacts, entry_of


@dataclass(frozen=True)
class Unknown(Diagnostic):
    """A notice with further fields for readers of JSON."""

    details: dict[str, Any] = field(default_factory=dict, hash=False)


def find_unknown(module: Module, name: str, param_facts: ParamFacts, entry: str | None) -> list[Unknown]:
    """The counts of unknown types in the file of that name, and then each expression with a partly unknown type."""
    chosen = entry_of(module, entry) if param_facts or entry else "main"
    arrays = {**param_facts.values, **param_facts.weights}
    result = infer_partial(module, param_facts.shapes, param_facts.dtypes, arrays, chosen)
    counts = {
        "shape_num_unknown_nodes": result.shape_num_unknown_nodes,
        "dtype_num_unknown_nodes": result.dtype_num_unknown_nodes,
        "sweeps": result.sweeps,
    }
    message = " ".join(f"{k}={v}" for k, v in counts.items() if k != "sweeps")
    unknown_nodes = [Unknown(message, level="notice", filename=name, details=counts)]
    for node in result.unknown:
        node_facts = {"function": node.function, "node": node.text, "shape": node.shape, "dtype": node.dtype}
        unknown = {"shape_unknown": node.shape_unknown, "dtype_unknown": node.dtype_unknown}
        message = f"{node.text} of @{node.function}: shape {node.shape}, dtype {node.dtype}"
        unknown_nodes.append(Unknown(message, node.span, "notice", filename=name, details={**node_facts, **unknown}))
    return unknown_nodes


def show_unknown(name: str, unknown: Sequence[Unknown]) -> str:
    """The same as text: a line for the file, one for each expression."""
    counts, *nodes = unknown
    lines = [f"{name}: {counts.message}"]
    for d in nodes:
        place = ""
        if d.span is not None:
            line, column = d.span.source.position(d.span.start)
            place = f"{line}:{column}: "
        lines.append(f"  {place}{d.message}")
    return "\n".join(lines)
