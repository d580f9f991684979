"""Models of TensorFlow Lite by irtool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import irtool
from irtool.ir.tensor_names import state_outputs


def outputs_of(model: bytes, inputs: Sequence[np.ndarray], compiled: bool = False) -> list[np.ndarray]:
    """The outputs by the interpreter, or by compiled C; of a model with states those of the first call, without the states."""
    module, params = irtool.from_tflite(model)
    main = module["main"]
    states = {p.name: np.zeros(p.type_annotation.shape, p.type_annotation.dtype) for p in state_outputs(main)}
    named = {p.name: a for p, a in zip(main.params, inputs, strict=False)}
    if compiled:
        artifact = irtool.build(module, params, opt_level=3, cflags="-O1")
        outputs = artifact.instance().step(named) if states else artifact.run(named)
    else:
        outputs = irtool.evaluate(module, {**named, **states, **params})
    results = list(outputs) if isinstance(outputs, tuple | list) else [outputs]
    return results[: len(results) - (0 if compiled else len(states))]


def difference(results: Sequence[Any], expected: Sequence[np.ndarray], exact: bool, tolerance: float = 1e-5) -> str:
    """The first way in which results differ from those expected; empty if they agree."""
    if len(results) != len(expected):
        return f"{len(results)} outputs, not {len(expected)}"
    for r, e in zip(results, expected, strict=True):
        r = np.asarray(r)
        if (r.dtype, r.shape) != (e.dtype, e.shape):
            return f"{r.dtype}{list(r.shape)}, not {e.dtype}{list(e.shape)}"
        if exact and r.tobytes() != e.tobytes():
            place = tuple(np.argwhere((r != e) & ~((r != r) & (e != e)))[0])
            return f"{(r != e).sum()} of {r.size} elements differ, the first of them {r[place]}, not {e[place]}"
        if not exact and not np.allclose(r, e, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"real numbers differ by {np.abs(r.astype('float64') - e).max():.3g}"
    return ""
