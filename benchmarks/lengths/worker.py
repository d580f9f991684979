"""One engine in a process of its own: `python -m benchmarks.lengths.worker ENGINE MODEL NETWORK THREADS FOLDER`.

Loads the model and says in a line of JSON how long that took and how large the build is; then reads lines `LENGTH RUNS` from standard
input, each answered by the times in a line of JSON. The first run of a length writes its output to `LENGTH.npy`. At the end of the
input it says how much memory it needed, and how much of that before it loaded the engine. Of the engine `pinned`, ENGINE is `pinned:LENGTH`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..compare.precisions import PRECISIONS
from ..compare.worker import ENGINES
from ..process_memory import peak_memory, resident_memory
from .networks import NETWORKS, OpenNetwork

Inputs = dict[str, np.ndarray]


def irtool(
    model: str, net: OpenNetwork, threads: int, folder: str, pinned: int | None
) -> tuple[Callable[[Inputs], Any], dict[str, Any]]:
    """One build for all lengths, or for the pinned one, in a process of its own: the memory of the compiler is not that of the network."""
    import irtool as ir

    extent = f"length={pinned}" if pinned is not None else net.bounds
    command = [
        sys.executable,
        "-m",
        "irtool",
        "build",
        "--no-cache",
        "--name",
        "net",
        "--dim",
        extent,
        model,
        "-o",
        folder,
    ]
    began = time.perf_counter()
    subprocess.run([*command, *(["--openmp"] if threads > 1 else [])], check=True, stdout=sys.stderr)
    about = {"seconds": time.perf_counter() - began, "bytes": (Path(folder) / "net.so").stat().st_size}
    return ir.load(folder).run, about


def peer(engine: str, model: str, inputs: Inputs, threads: int, folder: str) -> Callable[[Inputs], Any]:
    """ONNX Runtime or OpenVINO as in the side-by-side: both take other shapes in each run."""
    current = dict(inputs)
    run, _ = ENGINES[engine](model, current, threads, folder, PRECISIONS["float32"], "native")

    def run_with(inputs: Inputs) -> Any:
        current.update(inputs)
        return run()

    return run_with


def cut(inputs: Mapping[str, np.ndarray], axes: Sequence[int], length: int) -> Inputs:
    """The inputs at a length, as arrays of their own."""

    def part(a: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(a[tuple(slice(length if n in axes else None) for n in range(a.ndim))])

    return {n: part(a) for n, a in inputs.items()}


def main() -> None:
    """The life of a worker."""
    engine, model, name, threads, folder = sys.argv[1:6]
    net = NETWORKS[name]
    inputs = dict(np.load(Path(model).with_suffix(".npz")))
    kind, _, pinned = engine.partition(":")
    about: dict[str, Any] = {}
    before = resident_memory()
    if kind in ("irtool", "pinned"):
        run, about = irtool(model, net, int(threads), folder, int(pinned) if pinned else None)
    else:
        run = peer(kind, model, cut(inputs, net.axes, net.least), int(threads), folder)
    print(json.dumps(about), flush=True)
    for line in sys.stdin:
        length, runs = map(int, line.split())
        own = cut(inputs, net.axes, length)
        path = Path(folder) / f"{length}.npy"
        if not path.exists():
            outputs = run(own)
            np.save(path, np.asarray(outputs[0] if isinstance(outputs, list | tuple) else outputs))
        times = []
        for _ in range(runs):
            start = time.perf_counter()
            run(own)
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)
    print(json.dumps([peak_memory(), before]), flush=True)


if __name__ == "__main__":
    main()
