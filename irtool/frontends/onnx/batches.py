"""The rule for models of which only the first extent is open: it is the number of samples, and 1 where nobody says another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...diagnostics import Diagnostic
from .inputs import graph_inputs, is_open, is_open_extent, is_unsaid
from .model import Model


def batch_of_one(
    model: Model,
    shapes: Mapping[str, Sequence[int]],
    dims: Mapping[str, int],
    values: Iterable[str],
    say: Callable[[Diagnostic], None],
) -> dict[str, tuple[int, ...]]:
    """Shapes with a first extent of 1 for inputs without a shape; none unless all their other extents are numbers.

    Inputs that are wholly known, or have a value, do not count; `say` gets each assumption.
    """
    known = {*shapes, *values}
    inputs = {n: i for n, i in graph_inputs(model).items() if n not in known and is_open(i)}
    rows = {n: list(i.type.tensor_type.shape.dim) for n, i in inputs.items()}
    if not all(i.type.tensor_type.HasField("shape") for i in inputs.values()):
        return {}
    names = {d.dim_param for row in rows.values() for d in row[:1] if is_unsaid(d, dims) and d.dim_param}
    result: dict[str, tuple[int, ...]] = {}
    for name, row in rows.items():
        unsaid = [k for k, d in enumerate(row) if is_unsaid(d, dims)]
        if any(k > 0 and row[k].dim_param not in names for k in unsaid):
            return {}
        if unsaid:
            result[name] = tuple(1 if k in unsaid else _extent(d, dims) for k, d in enumerate(row))
    if not result or not all(is_unsaid(rows[name][0], dims) for name in result):
        return {}
    shown = next(iter(names)) if len(names) == 1 else "the first extent of each input"
    option = f"--dim {shown}=…" if len(names) == 1 else f"--shape {next(iter(result))}=…"
    say(Diagnostic(f"{shown} is open: 1 is taken", level="note", help=f"{option} says another", filename=model.name))
    return result


def _extent(d: Any, dims: Mapping[str, int]) -> int:
    return int(dims[d.dim_param]) if is_open_extent(d) else int(d.dim_value)
