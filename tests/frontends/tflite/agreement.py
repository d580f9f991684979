"""Models of TensorFlow Lite by irtool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import irtool


def outputs_of(model: bytes, inputs: Sequence[np.ndarray], compiled: bool = False) -> list[np.ndarray]:
    """The outputs by the interpreter, or by compiled C."""
    module, params = irtool.from_tflite(model)
    named = {p.name: a for p, a in zip(module["main"].params, inputs, strict=False)}
    if compiled:
        outputs = irtool.build(module, params, opt_level=3, cflags="-O1").run(named)
    else:
        outputs = irtool.evaluate(module, {**named, **params})
    return list(outputs) if isinstance(outputs, tuple | list) else [outputs]


def difference(results: Sequence[Any], expected: Sequence[np.ndarray], exact: bool) -> str:
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
        if not exact and not np.allclose(r, e, rtol=1e-5, atol=1e-5, equal_nan=True):
            return f"real numbers differ by {np.abs(r.astype('float64') - e).max():.3g}"
    return ""
