"""One engine in a process of its own: `python -m benchmarks.compare.worker ENGINE MODEL THREADS FOLDER PRECISION MCPU`.

Loads the model, runs it once, and says in a line of JSON how long that took; then reads commands from standard input: a
number is how often to run, answered by the times in a line of JSON. At the end of the input it says what memory it needed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..process_memory import peak_memory
from .precisions import PRECISIONS, Precision

Run = Callable[[], Any]


def irtool(
    model: str, inputs: dict[str, Any], threads: int, folder: str, precision: Precision, mcpu: str
) -> tuple[Run, dict[str, Any]]:
    """Imports, builds and loads; `opened_seconds` is the time to the first result of what was built."""
    import irtool as ir

    module, params = ir.from_onnx(model, shapes={n: a.shape for n, a in inputs.items()})
    artifact = ir.build(module, params, out_dir=folder, openmp=threads > 1, mcpu=mcpu, **precision.build)
    size = sum(p.stat().st_size for p in Path(folder).iterdir() if p.suffix in (".so", ".bin", ".weights"))
    began = time.perf_counter()
    opened = ir.load(folder)
    names = [p.name for p in module["main"].params if p.name not in params]
    values = dict(zip(names, inputs.values(), strict=True))
    opened.run(values)
    opened_seconds = time.perf_counter() - began
    del artifact
    return lambda: opened.run(values), {"opened_seconds": opened_seconds, "bytes": size}


def onnxruntime(
    model: str, inputs: dict[str, Any], threads: int, folder: str, precision: Precision, mcpu: str
) -> tuple[Run, dict[str, Any]]:
    """A session on the CPU, all optimizations on, as many threads as asked for; `older.environment` sets the processor."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs), {"bytes": os.path.getsize(model)}


def openvino(
    model: str, inputs: dict[str, Any], threads: int, folder: str, precision: Precision, mcpu: str
) -> tuple[Run, dict[str, Any]]:
    """A compiled model for the CPU, for latency; `older.environment` sets the processor."""
    import openvino as ov

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", **precision.openvino}
    compiled = ov.Core().compile_model(model, "CPU", settings)
    request = compiled.create_infer_request()

    def run() -> Any:
        results = request.infer(inputs)
        return [results[o] for o in compiled.outputs]

    return run, {"bytes": os.path.getsize(model)}


ENGINES = {"irtool": irtool, "onnxruntime": onnxruntime, "openvino": openvino}


def main() -> None:
    """The life of a worker."""
    engine, model, threads, folder, precision, mcpu = sys.argv[1:7]
    inputs = dict(np.load(Path(model).with_suffix(".npz")))
    began = time.perf_counter()
    run, about = ENGINES[engine](model, inputs, int(threads), folder, PRECISIONS[precision], mcpu)
    outputs = run()
    first = time.perf_counter() - began
    outputs = outputs if isinstance(outputs, tuple | list) else [outputs]
    np.save(Path(folder) / "output.npy", np.asarray(outputs[0]))
    _say({"first_seconds": first, **about})
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        _say(times)
    _say(peak_memory())


def _say(what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
