"""Samples of entries with values of data types and references among their inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..backends.base import Sample, SampleValues
from ..tir.program import HostFunction
from .nested import flat
from .value_memory import ValueMemory


def sample_of_values(function: HostFunction, inputs: Sequence[Any], run: Callable[[Sequence[Any]], Any]) -> Sample:
    """These inputs of an entry with the outputs of `run`, as they lie in memory before and after it."""
    import numpy as np

    values = function.values
    assert values is not None
    before, after = ValueMemory(values.types), ValueMemory(values.types)
    types = [values.numbers.get(s) for s in function.params]
    leaves = flat(function.param_structures, inputs)
    handles = [
        np.asarray(x) if n is None else np.array(before.put(x, n, "an input"), np.int64)
        for x, n in zip(leaves, types, strict=True)
    ]
    memory = before.image()
    result = run(inputs)
    seen = {k: after.put(x, n, "an input") for k, (x, n) in enumerate(zip(leaves, types)) if n is not None}
    outputs = []
    for x, slot in zip(flat([function.structure], [result]), function.results):
        n = values.numbers.get(slot)
        array = np.asarray(x) if n is None else np.array(after.put(x, n, "an output"), np.int64)
        half = array.dtype.itemsize == 2 and array.dtype.kind not in "iu"
        outputs.append(array.astype("float32") if half else array)
    return Sample(handles, outputs, values=SampleValues(memory, after.image(), seen))
