"""How time and memory grow with the input: the exponent of each stage over each shape of module, fitted over three sizes."""

from __future__ import annotations

import gc
import math
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import irtool
from irtool.parser import parse

V = '#[version = "0.0.5"]\n'
_T = "Tensor[(4), float32]"
SIZES = (1_000, 10_000, 100_000)
_PATIENCE = 30.0
"""Seconds: a stage that took longer is not tried with the next size."""


def chain(n: int) -> str:
    """Calls, each of the one before."""
    body = "".join(f"  %{i + 1} = tanh(%{i});\n" for i in range(n))
    return f"{V}def @main(%x: {_T}) {{\n  %0 = tanh(%x);\n{body}  %{n}\n}}\n"


def lets(n: int) -> str:
    """`let`s, each of the one before."""
    body = "".join(f"  let %y{i + 1} = tanh(%y{i});\n" for i in range(n))
    return f"{V}def @main(%y0: {_T}) {{\n{body}  %y{n}\n}}\n"


def nests(n: int) -> str:
    """Function literals in function literals."""
    return V + "def @main() {\n  " + "fn () {" * n + "1" + "}" * n + "\n}\n"


def functions(n: int) -> str:
    """Functions, each calling the one before."""
    defs = "".join(f"def @f{i + 1}(%x: {_T}) -> {_T} {{ tanh(@f{i}(%x)) }}\n" for i in range(n))
    return f"{V}def @f0(%x: {_T}) -> {_T} {{ tanh(%x) }}\n{defs}def @main(%x: {_T}) -> {_T} {{ @f{n}(%x) }}\n"


def tuples(n: int) -> str:
    """Tuples in tuples, each holding the one before twice."""
    body = "".join(f"  %{i + 1} = (%{i}, %{i});\n" for i in range(n))
    return f"{V}def @main(%x: {_T}) {{\n  %0 = (%x, %x);\n{body}  %{n}\n}}\n"


def branches(n: int) -> str:
    """`if` in `if`."""
    return f"{V}def @main(%x: {_T}, %c: bool) {{\n  " + "if (%c) { " * n + "%x" + " } else { %x }" * n + "\n}\n"


SHAPES: tuple[Callable[[int], str], ...] = (chain, lets, nests, functions, tuples, branches)
BUILT = (chain, lets, functions, branches)
"""Shapes whose results C has."""


def stages(shape: Callable[[int], str], n: int) -> dict[str, Callable[[], Any]]:
    """What is done with a module of that shape and size, each stage ready to run."""
    text = shape(n)
    module = irtool.infer_types(parse(text))
    found: dict[str, Callable[[], Any]] = {
        "parse": lambda: parse(text),
        "infer": lambda: irtool.infer_types(parse(text)),
        "print": lambda: irtool.to_text(module),
        "passes": lambda: irtool.run_passes(module, "SimplifyInference,FoldConstant,FuseOps,LabelOps"),
    }
    if shape in BUILT:
        found["build"] = lambda: _build(module)
    return found


def _build(module: Any) -> None:
    with tempfile.TemporaryDirectory(prefix="irtool-bench-") as folder:
        irtool.build(module, emit="c", out_dir=folder, cache=False)


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The slope of log(cost) over log(size), by least squares: 1 is linear, 2 quadratic."""
    xs, ys = [math.log(s) for s in sizes], [math.log(max(c, 1e-9)) for c in costs]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum((x - mx) ** 2 for x in xs)


def run() -> None:
    """Prints the table. Memory is what Python allocates at its peak, measured on the two smaller sizes (it takes long)."""
    print(f"growth: exponents of time and memory, sizes up to {SIZES[-1]}")
    for shape in SHAPES:
        times: dict[str, list[float]] = {}
        peaks: dict[str, list[float]] = {}
        given_up: set[str] = set()
        for size in SIZES:
            for stage, action in stages(shape, size).items():
                if stage in given_up:
                    continue
                gc.collect()
                start = time.process_time()
                action()
                times.setdefault(stage, []).append(time.process_time() - start)
                if times[stage][-1] > _PATIENCE:
                    given_up.add(stage)
                if size < SIZES[-1]:
                    peaks.setdefault(stage, []).append(_peak(action))
        for stage, took in times.items():
            line = f"  {shape.__name__:10s} {stage:7s} time {_fit(took)} memory {_fit(peaks[stage])}"
            print(f"{line}   {took[-1]:8.2f} s and at {SIZES[len(peaks[stage]) - 1]} {peaks[stage][-1] / 1e6:8.1f} MB")


def _fit(costs: list[float]) -> str:
    return f"{exponent(SIZES[: len(costs)], costs):5.2f}" if len(costs) > 1 else "    -"


def _peak(action: Callable[[], Any]) -> float:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
