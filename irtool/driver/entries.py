"""Entry functions as plain data: everything needed to call them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tir.program import PARAM, RESULT, HostFunction, Slot


def describe_entry(f: HostFunction) -> dict[str, Any]:
    """Names, shapes, dtypes and structures of an entry's parameters and results, as JSON can hold them."""
    return {
        "name": f.name,
        "params": [[s.name, list(s.shape), s.dtype] for s in f.params],
        "results": [[s.name, list(s.shape), s.dtype] for s in f.results],
        "structure": f.structure,
        "param_names": f.param_names,
        "param_structures": f.param_structures,
        "model_inputs": f.model_inputs,
        "model_outputs": list(f.model_outputs),
    }


def read_entry(about: Mapping[str, Any]) -> HostFunction:
    """A callable function from the result of `describe_entry`. Raises KeyError, TypeError or ValueError for anything else."""
    params = [Slot(n, tuple(shape), dtype, PARAM) for n, shape, dtype in about["params"]]
    results = [Slot(n, tuple(shape), dtype, RESULT) for n, shape, dtype in about["results"]]
    return HostFunction(
        about["name"],
        params,
        results,
        [],
        about["structure"],
        param_names=list(about["param_names"]),
        param_structures=list(about["param_structures"]),
        model_inputs=dict(about.get("model_inputs", {})),
        model_outputs=list(about.get("model_outputs", [])),
    )
