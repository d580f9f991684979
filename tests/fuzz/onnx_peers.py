"""What others make of a model: the evaluator of the `onnx` package and ONNX Runtime, where they are and take it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

LISTED = Path(__file__).parent / "onnx_peers.txt"
"""What others compute otherwise than the specification says, or where it says nothing: `peer operator [attribute]: reason`.

With an attribute, of nodes that give it a value. The list may only get shorter.
"""

Results = Sequence[np.ndarray]


@functools.cache
def listed() -> frozenset[tuple[str, ...]]:
    """Peers, operators, and attributes where only nodes with one are meant."""
    lines = (line for line in LISTED.read_text().splitlines() if line and not line.startswith("#"))
    return frozenset(tuple(line.partition(": ")[0].split()) for line in lines)


def is_listed(peer: str, operator: str, attributes: Mapping[str, Any]) -> bool:
    """Whether a peer is known to differ."""
    return any((peer, operator, *more) in listed() for more in ((), *((a,) for a in attributes)))


def by_reference(model: Any, tensors: Mapping[str, np.ndarray]) -> Results | None:
    """The results of the evaluator of the `onnx` package; None where it takes no such model."""
    from onnx.reference import ReferenceEvaluator

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return [np.asarray(r) for r in ReferenceEvaluator(model).run(None, dict(tensors))]
    except Exception:  # noqa: BLE001 - whatever it raises, it has no result
        return None


def by_runtime(model: Any, tensors: Mapping[str, np.ndarray]) -> Results | None:
    """The results of ONNX Runtime; None where it is not installed, or takes no such model."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return [np.asarray(r) for r in session.run(None, dict(tensors))]
    except Exception:  # noqa: BLE001 - whatever it raises, it has no result
        return None


PEERS = {"reference": by_reference, "runtime": by_runtime}


def distance(got: Results, want: Results, near: float) -> str:
    """Where results differ; empty where they do not."""
    for n, (g, w) in enumerate(zip(got, want, strict=False)):
        if g.shape != w.shape:
            return f"result {n} has the shape {list(g.shape)}, not {list(w.shape)}"
        if g.dtype != w.dtype:
            return f"result {n} is {g.dtype}, not {w.dtype}"
        if w.dtype.kind == "f":
            scale = 30 * near if w.dtype == np.float16 else near
            a, b = g.astype("float64"), w.astype("float64")
            ok = np.isclose(
                a, b, scale, scale * max(1.0, np.max(np.abs(b), initial=0, where=np.isfinite(b))) * 0.1, equal_nan=True
            )
        else:
            # Of sums that are quantized, the last unit hangs on their order.
            ok = (g == w) if near < 0.5 else np.abs(g.astype("int64") - w.astype("int64")) <= 1
        if not ok.all():
            indices = tuple(int(i) for i in np.argwhere(~ok)[0]) if ok.ndim else ()
            return f"result {n} differs at {list(indices)}: {g[indices]} is not {w[indices]}"
    return ""
