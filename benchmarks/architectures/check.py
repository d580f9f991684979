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
    found: dict[str, Any] = {}
    try:
        _check(path, found)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is the result
        said = " ".join(str(error).replace(f"{path.parent}/", "").split())
        found["error"] = f"{type(error).__name__}: {said[:400]}"
    print(json.dumps(found))


def _check(path: Path, found: dict[str, Any]) -> None:
    import onnxruntime

    import irtool

    warnings.filterwarnings("ignore")
    found["stage"] = "ONNX Runtime"
    inputs = dict(np.load(path.with_suffix(".npz")))
    onnxruntime.set_default_logger_severity(3)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {i.name: inputs[i.name] for i in session.get_inputs()})[0]
    if why := emptiness(wanted):
        found["stage"] = "compare"
        raise ValueError(f"{why} by ONNX Runtime, so that agreement on it shows nothing")
    found["stage"] = "import"
    start = perf_counter()
    module, params = irtool.from_onnx(path)
    found["import"] = perf_counter() - start
    names = [p.name for p in module["main"].params if p.name not in params]
    found["static"] = "?" not in str(module["main"].checked_type)
    found["stage"] = "build"
    start = perf_counter()
    artifact = irtool.build(module, params, opt_level=3, cflags="-O1")
    found["build"] = perf_counter() - start
    found["stage"] = "run"
    result = np.asarray(artifact.run({n: inputs[n] for n in names}))
    found["stage"] = "compare"
    if result.shape != wanted.shape or result.dtype != wanted.dtype:
        raise ValueError(f"{result.dtype}{list(result.shape)}, not {wanted.dtype}{list(wanted.shape)}")
    found["difference"] = float(np.abs(result - wanted).max() / max(np.abs(wanted).max(), 1e-30))
    found["stage"] = "done"


if __name__ == "__main__":
    main()
