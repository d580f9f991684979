"""Single operators with weights given at run time, compiled, beside torch and the interpreter: one thread, float32.

`python -m benchmarks.operators` prints the time of each in milliseconds and its ratio to torch's and to the interpreter's; without torch
its column is empty. Names given as arguments choose operators that contain them. Exit code 1 if any takes longer than the interpreter, those
apart for which numpy returns a view.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import irtool
from irtool.benchmark.measure import measure_calls
from irtool.ir import Module

_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ROUNDS = 5
"""Measurements of an engine, in turn with the others; the least one counts."""


@dataclass(frozen=True)
class Single:
    """One operator.

    Attributes:
        shapes: of its arguments, named %a, %b, … in `body`.
        torch: the same from torch, its `nn.functional` and tensors; None where it has no such operator.
        view: whether numpy returns a view, which takes no time.
        gradient: the gradients by all arguments are computed too.
    """

    name: str
    shapes: tuple[tuple[int, ...], ...]
    body: str
    torch: Callable[..., Any] | None = None
    view: bool = False
    gradient: bool = False

    def module(self) -> Module:
        """The module, typed."""
        types = [f"Tensor[({', '.join(map(str, s))}{',' * (len(s) == 1)}), float32]" for s in self.shapes]
        head = ", ".join(f"%{name}: {t}" for name, t in zip("abc", types))
        module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({head}) {{ {self.body} }}\n'))
        return irtool.infer_types(irtool.run_passes(module, "FirstOrderGradient")) if self.gradient else module


_IMAGE, _WINDOW = (8, 32, 32, 32), (64, 32, 3, 3)
_BACKWARD = 'nn.conv2d_backward_weight(%a, %b, kernel_size=[{0}, {0}], padding=[{1}, {1}], kernel_layout="NCHW", out_layout="OIHW")'

OPERATORS = (
    Single("conv2d", (_IMAGE, _WINDOW), "nn.conv2d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv2d(a, b, padding=1)),
    Single("conv2d 1x1", ((8, 64, 28, 28), (64, 64, 1, 1)), "nn.conv2d(%a, %b)", lambda t, f, a, b: f.conv2d(a, b)),
    Single("conv2d strided", (_IMAGE, _WINDOW), "nn.conv2d(%a, %b, padding=[1, 1], strides=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, padding=1, stride=2)),
    Single("conv2d groups", (_IMAGE, (32, 8, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=4)", lambda t, f, a, b: f.conv2d(a, b, padding=1, groups=4)),
    Single("conv2d_transpose", (_IMAGE, (32, 64, 3, 3)), 'nn.conv2d_transpose(%a, %b, padding=[1, 1], strides=[2, 2], output_padding=[1, 1], channels=64, kernel_size=[3, 3], kernel_layout="IOHW")', lambda t, f, a, b: f.conv_transpose2d(a, b, padding=1, stride=2, output_padding=1)),
    Single("conv2d_backward_weight", ((8, 64, 32, 32), _IMAGE), _BACKWARD.format(3, 1), lambda t, f, a, b: t.nn.grad.conv2d_weight(b, _WINDOW, a, padding=1)),
    Single("conv2d_backward_weight 1x1", ((8, 64, 28, 28), (8, 64, 28, 28)), _BACKWARD.format(1, 0), lambda t, f, a, b: t.nn.grad.conv2d_weight(b, (64, 64, 1, 1), a)),
    Single("dense", ((64, 768), (768, 768)), "nn.dense(%a, %b, units=768)", lambda t, f, a, b: f.linear(a, b)),
    Single("batch_matmul", ((12, 128, 64), (12, 128, 64)), "nn.batch_matmul(%a, %b, transpose_b=True)", lambda t, f, a, b: t.bmm(a, b.transpose(1, 2))),
    Single("softmax", ((512, 1000),), "nn.softmax(%a)", lambda t, f, a: f.softmax(a, -1)),
    Single("layer_norm", ((512, 768), (768,), (768,)), "nn.layer_norm(%a, %b, %c)", lambda t, f, a, b, c: f.layer_norm(a, (768,), b, c)),
    Single("max_pool2d", (_IMAGE,), "nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])", lambda t, f, a: f.max_pool2d(a, 3, 2, 1)),
    Single("grid_sample", ((4, 16, 32, 32), (4, 2, 32, 32)), "image.grid_sample(%a, %b)", lambda t, f, a, b: f.grid_sample(a, b.permute(0, 2, 3, 1), align_corners=True)),
    Single("resize linear", ((4, 16, 32, 32),), "image.resize2d(%a, size=[64, 64], roi=[0f, 0f, 0f, 0f])", lambda t, f, a: f.interpolate(a, (64, 64), mode="bilinear")),
    Single("tile", ((64, 64, 64),), "tile(%a, reps=[1, 2, 2])", lambda t, f, a: a.repeat(1, 2, 2)),
    Single("repeat", ((64, 64, 64),), "repeat(%a, repeats=2, axis=1)", lambda t, f, a: a.repeat_interleave(2, 1)),
    Single("cumsum rows", ((1024, 1024),), "cumsum(%a, axis=1)", lambda t, f, a: a.cumsum(1)),
    Single("cumsum columns", ((1024, 1024),), "cumsum(%a, axis=0)", lambda t, f, a: a.cumsum(0)),
    Single("transpose", ((1024, 1024),), "transpose(%a, axes=[1, 0])", lambda t, f, a: a.t().contiguous(), view=True),
    Single("reverse", ((1024, 1024),), "reverse(%a, axis=1)", lambda t, f, a: a.flip(1), view=True),
    Single("sum axis 0", ((1024, 1024),), "sum(%a, axis=[0])", lambda t, f, a: a.sum(0)),
    Single("gradient of conv2d", (_IMAGE, _WINDOW), "nn.conv2d(%a, %b, padding=[1, 1])", gradient=True),
    Single("gradient of strided conv2d", (_IMAGE, _WINDOW), "nn.relu(nn.conv2d(%a, %b, padding=[1, 1], strides=[2, 2]))", gradient=True),
    Single("gradient of conv2d groups", (_IMAGE, (32, 8, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=4)", gradient=True),
    Single("gradient of max_pool2d", (_IMAGE,), "nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])", gradient=True),
    Single("gradient of avg_pool2d", (_IMAGE,), "nn.avg_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])", gradient=True),
    Single("gradient of softmax", ((512, 1000),), "nn.softmax(%a)", gradient=True),
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """Seconds of one operator; NaN for torch where it is not there."""

    single: Single
    compiled: float
    interpreter: float
    torch: float

    @property
    def is_slow(self) -> bool:
        """True if it takes longer than the interpreter, which computes something."""
        return self.compiled > self.interpreter and not self.single.view

    def __str__(self) -> str:
        ratios = f"{self.compiled / self.torch:7.2f} {self.compiled / self.interpreter:12.2f}"
        times = f"{self.compiled * 1e3:9.3f} {self.torch * 1e3:9.3f} {self.interpreter * 1e3:11.3f}"
        return f"{self.single.name:28} {times} {ratios}{'  slower than the interpreter' if self.is_slow else ''}"


def measure(single: Single, seconds: float = 0.02) -> Row:
    """Measures an operator in every engine, in turn, each for `seconds` a round."""
    module = single.module()
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s).astype("float32") for s in single.shapes]
    artifact = irtool.build(module, target="c{mcpu=native}")
    engines: dict[str, Callable[[], object]] = {
        "compiled": lambda: artifact.run(values),
        "interpreter": lambda: irtool.evaluate(module, values),
    }
    if single.torch is not None and (other := _in_torch(single.torch, values)) is not None:
        engines["torch"] = other
    best = dict.fromkeys(("compiled", "interpreter", "torch"), math.nan)
    for _ in range(ROUNDS):
        for name, run in engines.items():
            best[name] = float(np.fmin(best[name], min(measure_calls(run, seconds, 1).rounds)))
    return Row(single, **best)


def _in_torch(call: Callable[..., Any], values: Sequence[np.ndarray]) -> Callable[[], object] | None:
    """The call in torch, with one thread; None where torch is not installed."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    tensors = [torch.from_numpy(v) for v in values]

    def run() -> object:
        with torch.no_grad():
            return call(torch, torch.nn.functional, *tensors)

    return run


def main() -> None:
    """Measures and prints the chosen operators, then the geometric mean of the ratios to torch."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names of operators")
    options = parser.parse_args()
    if not _THREADS.items() <= os.environ.items():  # numpy's library reads it when it is loaded
        command = [sys.executable, "-m", "benchmarks.operators", *options.names]
        sys.exit(subprocess.run(command, env={**os.environ, **_THREADS}, check=False).returncode)
    print(f"{'milliseconds':28} {'C':>9} {'torch':>9} {'interpreter':>11} {'/torch':>7} {'/interpreter':>12}")
    rows = []
    for single in OPERATORS:
        if not options.names or any(part in single.name for part in options.names):
            rows.append(measure(single))
            print(rows[-1], flush=True)
    ratios = [math.log(r.compiled / r.torch) for r in rows if not math.isnan(r.torch)]
    if ratios:
        print(f"geometric mean of the ratios to torch: {math.exp(sum(ratios) / len(ratios)):.2f}")
    sys.exit(any(r.is_slow for r in rows))


if __name__ == "__main__":
    main()
