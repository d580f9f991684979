"""One engine in a process of its own: `python -m benchmarks.training.worker ENGINE NETWORK THREADS FOLDER`.

ENGINE is `irtool`, `eager` or `compile` (torch without and with its compiler), or `double` (torch in float64). Says in a line of JSON the losses of the first steps, the seconds of
the build, and bytes of memory; then reads numbers of steps from standard input, each answered by the seconds of each step in a line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .networks import NETWORKS

CHECKED = 10
"""Steps whose losses are compared."""
RATE = 0.01


def irtool(network: Any, x: Any, y: Any, threads: int, folder: Path) -> tuple[Callable[[], float], dict[str, Any]]:
    """A step of a build of the exported network, and the bytes of its workspace."""
    import numpy as np
    import torch

    import irtool as ir

    path = folder / "net.onnx"
    with contextlib.redirect_stdout(sys.stderr):
        torch.onnx.export(
            network,
            (x,),
            str(path),
            dynamo=False,
            training=torch.onnx.TrainingMode.TRAINING,
            do_constant_folding=False,
            input_names=["x"],
            output_names=["scores"],
        )
    module, weights = ir.from_onnx(str(path), training=True)
    step = ir.train_step(module, weights, ir.TrainOptions(learning_rate=RATE))
    target = f"c{{mcpu=native{',openmp=true' if threads > 1 else ''}}}"
    began = time.perf_counter()
    artifact = ir.build(step.module, step.params, name="net", target=target, cache=False)
    about = {"build": time.perf_counter() - began, "memory": artifact.report["arena_bytes"]}
    instance, arrays = artifact.instance(), [x.numpy(), y.numpy()]
    return lambda: float(np.asarray(instance.step(arrays))), about


def torch_step(
    network: Any, x: Any, y: Any, threads: int, compiled: bool
) -> tuple[Callable[[], float], dict[str, Any]]:
    """A step of torch."""
    import torch

    torch.set_num_threads(threads)
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if compiled else step
    return lambda: float(run().detach()), {"memory": 0 if compiled else _peak(network, x, y)}


def _peak(network: Any, x: Any, y: Any) -> int:
    """The most bytes that a forward and a backward pass of torch allocate beside the weights, at one time."""
    import copy

    import torch
    from torch.profiler import ProfilerActivity, profile

    other = copy.deepcopy(network)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        torch.nn.functional.cross_entropy(other(x), y).backward()
    current = most = 0
    for e in profiler.profiler.kineto_results.events():
        if e.name() == "[memory]":
            current += e.nbytes()
            most = max(most, current)
    return most


def main() -> None:
    """The life of a worker."""
    import torch

    warnings.simplefilter("ignore")
    engine, name, threads, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    torch.manual_seed(0)
    network, x, y = NETWORKS[name].make()
    network.train()
    if engine == "irtool":
        step, about = irtool(network, x, y, threads, folder)
    else:
        if engine == "double":
            network, x = network.double(), x.double() if x.is_floating_point() else x
        step, about = torch_step(network, x, y, threads, engine == "compile")
    print(json.dumps({"losses": [step() for _ in range(CHECKED)], **about}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
