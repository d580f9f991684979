"""Imports, builds, runs and compares a file: `python -m benchmarks.architectures.check FILE.onnx` prints a line of JSON."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..signals import emptiness


def main() -> None:
    """What was reached, how long it took, and the difference relative to the largest element of the output."""
    path = Path(sys.argv[1])
    result: dict[str, Any] = {}
    try:
        _check(path, result)
    except Exception as error:  # noqa: BLE001  # any failure is the result
        message = " ".join(str(error).replace(f"{path.parent}/", "").split())
        result["error"] = f"{type(error).__name__}: {message[:400]}"
    print(json.dumps(result))


def _check(path: Path, record: dict[str, Any]) -> None:
    import onnxruntime

    import irtool

    warnings.filterwarnings("ignore")
    record["stage"] = "ONNX Runtime"
    inputs = dict(np.load(path.with_suffix(".npz")))
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected = session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})[0]
    if why := emptiness(expected):
        record["stage"] = "compare"
        raise ValueError(f"{why} by ONNX Runtime, so that agreement on it shows nothing")
    record["stage"] = "import"
    start = perf_counter()
    module, params = irtool.from_onnx(path)
    record["import"] = perf_counter() - start
    names = [p.name for p in module["main"].params if p.name not in params]
    record["static"] = "?" not in str(module["main"].checked_type)
    record["stage"] = "build"
    start = perf_counter()
    artifact = irtool.build(module, params, opt_level=3, cflags="-O1")
    record["build"] = perf_counter() - start
    record["stage"] = "run"
    result = np.asarray(artifact.run({n: inputs[n] for n in names}))
    record["stage"] = "compare"
    if result.shape != expected.shape or result.dtype != expected.dtype:
        raise ValueError(f"{result.dtype}{list(result.shape)}, not {expected.dtype}{list(expected.shape)}")
    record["difference"] = float(np.abs(result - expected).max() / max(np.abs(expected).max(), 1e-30))
    record["stage"] = "done"


if __name__ == "__main__":
    main()
