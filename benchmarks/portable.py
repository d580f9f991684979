"""Sources for any machine, compiled as everybody compiles C, beside the library that is made for this one."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import irtool
from irtool.backends.library import Library

from .native import weights_of
from .networks.mobilenet import mobilenet
from .networks.resnet import resnet

_ROUNDS = 9
_NETWORKS = (("ResNet-18", lambda: resnet(18)), ("MobileNet", mobilenet))
_LINE = "-O2 -fPIC -shared"
"""What is said to the compiler beside the names of the files."""


def run() -> None:
    """Prints a line for each network: the times of both, and their ratio."""
    print(f"sources with emit=c, compiled by cc {_LINE}, beside the library for this machine: one inference")
    for title, text in _NETWORKS:
        with tempfile.TemporaryDirectory(prefix="irtool-bench-") as folder:
            print(f"  {title:12s} {_compared(text(), Path(folder))}")


def _compared(text: str, folder: Path) -> str:
    module = irtool.infer_types(irtool.parse(text))
    weights = weights_of(module, ("data",))
    native = irtool.build(module, params=weights, name="net", out_dir=folder / "native")
    plain = irtool.build(module, params=weights, name="net", out_dir=folder / "plain", emit="c")
    cc = shlex.split(os.environ.get("CC", "cc"))
    began = time.perf_counter()
    subprocess.run([*cc, *_LINE.split(), "-o", "plain.so", "net.c", "-lm"], cwd=folder / "plain", check=True)
    compiled = time.perf_counter() - began
    libraries = [
        Library(folder / "native" / "net.so", "net", folder / "native" / "net.bin"),
        Library(folder / "plain" / "plain.so", "net", folder / "plain" / "net.bin"),
    ]
    inputs = [np.random.default_rng(0).random(t["shape"], "float32") for t in native.inputs]
    outputs = [[np.empty(t["shape"], "float32") for t in native.outputs] for _ in libraries]
    best = [float("inf")] * len(libraries)
    for _ in range(_ROUNDS):
        for n, library in enumerate(libraries):
            began = time.perf_counter()
            library.run(inputs, outputs[n])
            best[n] = min(best[n], time.perf_counter() - began)
    for a, b in zip(*outputs):
        assert np.abs(a - b).max() <= 2e-3 * np.abs(a).max()
    return (
        f"{best[1] * 1e3:8.2f} ms, native {best[0] * 1e3:8.2f} ms: {best[1] / best[0]:.2f} times "
        f"(sources of {plain.report['weight_bytes'] >> 20} MB of weights, compiled in {compiled:.1f} s)"
    )
