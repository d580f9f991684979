"""`python -m benchmarks.sizes.worker build MODEL OPT FOLDER` builds a network; `… run MODEL OPT FOLDER` loads the build and runs it.

A build says in a line of JSON how many bytes it left, and what memory it needed. A run says how long the first result took; then it reads
numbers of runs from standard input, and answers each with the times. At the end of the input it says what memory it needed.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from ..process_memory import peak_memory

_INPUTS = "inputs.npz"


def main() -> None:
    """The life of a worker."""
    task, model, opt, folder = sys.argv[1:5]
    if task == "build":
        _build(Path(model), opt, Path(folder))
    else:
        _run(Path(folder))


def _build(model: Path, opt: str, folder: Path) -> None:
    import irtool

    inputs = dict(np.load(model.with_suffix(".npz")))
    module, params = irtool.from_onnx(str(model), shapes={n: a.shape for n, a in inputs.items()})
    irtool.build(module, params, out_dir=folder, opt=opt)
    size = sum(p.stat().st_size for p in folder.iterdir() if p.suffix in (".so", ".bin"))
    names = [p.name for p in module["main"].params if p.name not in params]
    np.savez(folder / _INPUTS, **dict(zip(names, inputs.values(), strict=True)))
    print(json.dumps({"bytes": size, "memory": peak_memory()}), flush=True)


def _run(folder: Path) -> None:
    import irtool

    inputs = dict(np.load(folder / _INPUTS))
    began = time.perf_counter()
    network = irtool.load(folder)
    network.run(inputs)
    print(json.dumps({"first_seconds": time.perf_counter() - began}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            network.run(inputs)
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)
    print(json.dumps(peak_memory()), flush=True)


if __name__ == "__main__":
    main()
