"""How time and memory grow with the input: the exponent of each stage over each shape of module, fitted over its sizes.

`python -m benchmarks growth --json FILE` writes the numbers as well; `--sizes`, `--shapes` and `--stages` choose.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import signal
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import irtool
from benchmarks.shapes import SHAPES, Shape
from irtool.diagnostics import IrError
from irtool.ir import Module
from irtool.parser import parse
from tests.passes.test_every_pass import ALL, TARGET, pipelines

SIZES = (1_000, 10_000, 100_000)
PATIENCE = 2.0
"""Seconds that a stage may take, by what it took before, at the next size; `--patience` says another number."""

BUDGET = 1800.0
"""Seconds for all shapes together, shared out evenly; `--budget` says another number."""

_TIMES = 10
"""A stage is stopped when it takes so many times its patience, as exponential growth would never end."""

_MEASURED = 4_000
"""Up to this size memory is measured: that takes several times as long."""

Action = Callable[[], Any]


def work_of(shape: Shape, n: int) -> dict[str, Callable[[], Action]]:
    """What is done with a module of that shape and size. Each entry makes a stage ready to run, and may be refused."""
    text = shape(n)
    module = irtool.infer_types(parse(text))
    actions: dict[str, Callable[[], Action]] = {
        "parse": lambda: lambda: parse(text),
        "infer": lambda: _inference(text),
        "print": lambda: lambda: irtool.to_text(module),
        "compare": lambda: _comparison(module, text),
        "build": lambda: lambda: build(module),
        "default<O3>": lambda: lambda: _run(module, "default<O3>"),
    }
    for name in ALL:
        actions[name] = lambda name=name: _pass(module, name)  # type: ignore[misc]
    return actions


def _inference(text: str) -> Action:
    module = parse(text)
    return lambda: irtool.infer_types(module)


def _comparison(module: Module, text: str) -> Action:
    other = parse(text)
    return lambda: irtool.structural_equal(module, other)


def build(module: Module) -> None:
    """The C of a module, in a folder that goes again."""
    with tempfile.TemporaryDirectory(prefix="irtool-bench-") as folder:
        irtool.build(module, emit="c", out_dir=folder, cache=False)


def _run(module: Module, pipeline: str) -> Module:
    return irtool.run_passes(module, pipeline, opt_level=4, target=TARGET)


def _pass(module: Module, name: str) -> Action:
    """A pass, after its prerequisites."""
    pipeline = pipelines([name])[0]
    before = pipeline[: pipeline.index(name)] if not pipeline.startswith(name) else ""
    ready = _run(module, before.rstrip(",")) if before else module
    return lambda: _run(ready, pipeline[len(before) :])


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The slope of log(cost) over log(size), by least squares: 1 is linear, 2 quadratic."""
    xs, ys = [math.log(s) for s in sizes], [math.log(max(c, 1e-9)) for c in costs]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum((x - mx) ** 2 for x in xs)


class _Late(BaseException):
    """A measurement takes too long. No Exception, so that irtool's own handlers do not catch it."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raises _Late in the main thread when so many seconds have passed by the clock; does nothing if there are no timers."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, stop)
    # Again and again: what is raised while something is collected is lost.
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001), 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measure(
    shape: Shape, sizes: Sequence[int], stages: Sequence[str], patience: float, budget: float = math.inf
) -> Iterator[dict[str, Any]]:
    """For each stage: `sizes`, `seconds` and `bytes` (the peak of what Python allocates, at small sizes), the exponents of
    both (None for a single size), or why it is `refused`. `left_out` are the sizes that would have taken longer than
    `patience`, or that the `budget` of seconds for the whole shape did not reach, with the reason."""
    entries: dict[str, dict[str, Any]] = {}
    end = time.monotonic() + budget
    for size in sizes:
        left = end - time.monotonic()
        try:
            with at_most(min(left, _TIMES * patience)):
                ready_by_stage = work_of(shape, size)
        except _Late:
            short = left < _TIMES * patience
            for entry in entries.values():
                _leave_out(entry, size, "the budget is used up" if short else "the module itself takes too long")
            continue
        for stage, ready in ready_by_stage.items():
            if stages and stage not in stages:
                continue
            entry = entries.setdefault(
                stage,
                {"shape": shape.__name__, "stage": stage, "sizes": [], "seconds": [], "bytes": [], "left_out": {}},
            )
            if "refused" in entry or not _is_worth(entry, size, patience):
                continue
            left = end - time.monotonic()
            if left <= 0:
                _leave_out(entry, size, "the budget is used up")
                continue
            limit = min(left, _TIMES * patience)
            try:
                with at_most(limit):
                    action = ready()
                gc.collect()  # Not within the limit: Python swallows what is raised while it collects.
                with at_most(limit):
                    _measure_once(entry, action, size)
            except _Late:
                if size not in entry["sizes"]:
                    _leave_out(entry, size, f"stopped after {limit:.0f} s")
            except IrError as error:
                entry["refused"] = error.diagnostics[0].message
    for entry in entries.values():
        entry["time"] = _fit(entry["sizes"], entry["seconds"])
        entry["memory"] = _fit(entry["sizes"], entry["bytes"])
        yield entry


def _measure_once(entry: dict[str, Any], action: Action, size: int) -> None:
    start = time.process_time()
    action()
    entry["seconds"].append(round(time.process_time() - start, 4))
    entry["sizes"].append(size)
    if size <= _MEASURED:
        entry["bytes"].append(_peak(action))


def _is_worth(entry: dict[str, Any], size: int, patience: float) -> bool:
    """Whether a stage that grows as its input does would be done in time; one that was left out once stays out."""
    if entry["left_out"]:
        _leave_out(entry, size, "a smaller size was left out")
    elif entry["sizes"]:
        expected = entry["seconds"][-1] * size / entry["sizes"][-1]
        if expected > patience:
            _leave_out(entry, size, f"would take {expected:.1f} s or more")
    return not entry["left_out"]


def _leave_out(entry: dict[str, Any], size: int, reason: str) -> None:
    entry["left_out"][size] = reason


def _fit(sizes: Sequence[int], costs: Sequence[float]) -> float | None:
    return round(exponent(sizes[: len(costs)], costs), 2) if len(costs) > 1 else None


def _peak(action: Action) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def run(arguments: Sequence[str] = ()) -> None:
    """Prints the table; `--json` writes the rows of it as a list, see `measure`."""
    names = [s.__name__ for s in SHAPES]
    options = argparse.ArgumentParser(prog="python -m benchmarks growth")
    options.add_argument("--json", type=Path, help="a file for the rows")
    options.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of nodes")
    options.add_argument("--shapes", default=",".join(names), help=f"some of {', '.join(names)}")
    options.add_argument("--stages", default="", help="parse, print, infer, compare, build, default<O3>, and passes")
    options.add_argument("--patience", type=float, default=PATIENCE, help="seconds that a stage may take")
    options.add_argument("--budget", type=float, default=BUDGET, help="seconds for all of it; shapes share them evenly")
    chosen = options.parse_args(list(arguments))
    shape_names = chosen.shapes.split(",")
    if unknown := [n for n in shape_names if n not in names]:
        options.error(f"there is no shape {unknown[0]}; there are {', '.join(names)}")
    sizes = [int(s) for s in chosen.sizes.split(",")]
    stages = [s for s in chosen.stages.split(",") if s]
    rows: list[dict[str, Any]] = []
    print(
        f"growth: exponents of time and memory, at up to {sizes[-1]} nodes, as far as a stage takes {chosen.patience} s"
    )
    for shape in SHAPES:
        if shape.__name__ not in shape_names:
            continue
        for entry in measure(shape, sizes, stages, chosen.patience, chosen.budget / len(shape_names)):
            rows.append(entry)
            print(f"  {shape.__name__:22s} {entry['stage']:24s} {_shown(entry)}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _shown(entry: dict[str, Any]) -> str:
    if "refused" in entry:
        return f"refused: {entry['refused'][:70]}"
    left_out = "".join(f"; {size} left out: {why}" for size, why in list(entry["left_out"].items())[:1])
    if not entry["sizes"]:
        return left_out.removeprefix("; ")
    time_, memory = ("   - " if x is None else f"{x:5.2f}" for x in (entry["time"], entry["memory"]))
    peak = f"{entry['bytes'][-1] / 1e6:8.1f} MB" if entry["bytes"] else ""
    return f"time {time_} memory {memory}   {entry['seconds'][-1]:8.2f} s at {entry['sizes'][-1]} {peak}{left_out}"
