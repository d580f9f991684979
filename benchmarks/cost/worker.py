"""Measures candidates of the kernels of one network: `python -m benchmarks.cost.worker MODEL TABLE OFFERS SECONDS PRECISION [again]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import irtool
from irtool.backends.base import TimingConditions, TimingJob
from irtool.diagnostics import ToolError
from irtool.driver.options import Options, choose_options
from irtool.driver.parameters import bind_weights
from irtool.driver.precision import EXACT, lower_precision
from irtool.driver.prepare import prepare_entries
from irtool.driver.tuned_table import machine_name
from irtool.infer import require_types
from irtool.passes import run_passes
from irtool.tune.kernels import Offers, Tunable, find_tunables

from ..json_file import read_json, write_json
from .table import NEAR

_ENTRY = "main"
_TURNS = 3


def main(model: Path, path: Path, offers: int, seconds: float, precision: str, again: bool) -> None:
    """Measures the stages of a network; the table is written after each. `again`: those whose choice was wrong, once more."""
    options = choose_options("c", ({}, {"mcpu": "native"}), entries=(_ENTRY,), emit="c", precision=precision)
    target = options.backend.machine()
    tunables, weights = find_tunables(_prepared(model, options, precision), options, target)
    for t in tunables:
        conditions = TimingConditions(seconds / _TURNS, t.cold, weights)
        for stage in t.stages:
            table = read_json(path)
            stages = (
                table.setdefault("machines", {})
                .setdefault(machine_name(options.backend, target), {})
                .setdefault("stages", {})
            )
            entry = stages.setdefault(stage.key, {"kernel": t.kernel.name, "network": model.stem, "trials": {}})
            chosen, known = stage.labels[0], dict(entry["trials"])
            labels = [label for label in _some(stage.labels, offers) if label not in known]
            best = min(known, key=known.__getitem__, default="")
            doubtful = again and chosen in known and known[chosen] > NEAR * known[best]
            if known and (labels or doubtful):  # comparisons hold within one run
                labels = [*dict.fromkeys((chosen, best, *(known if doubtful else ()), *labels))]
            measured = _measure(t, stage, labels, options, target, conditions)
            if chosen not in measured and chosen not in known:
                del stages[stage.key]
                continue
            entry["trials"] = {k: min(v, measured.get(k, v)) for k, v in {**measured, **known}.items()}
            entry["untuned"] = chosen
            entry["untuned_microseconds"] = entry["trials"][chosen]
            entry["computes"] = list(t.kernel.calls)
            write_json(path, table)


def _measure(
    t: Tunable, stage: Offers, labels: Sequence[str], options: Options, target: Any, conditions: TimingConditions
) -> dict[str, float]:
    """Microseconds by label: the shortest of several turns. What does not compile is left out, and so is what takes no time: a compiler that
    sees a small kernel whole moves it out of the loop that is timed."""
    seconds: dict[str, float] = {}
    with ExitStack() as resources:
        runs = {}
        for label in labels:
            try:
                job = t.job(options.backend, target, {stage.key: label}, conditions)
                runs[label] = resources.enter_context(_by_processor_time(job).compiled())
            except ToolError as error:
                print(f"{t.kernel.name}, {label}: {error.diagnostics[0].message}", file=sys.stderr)
        for _ in range(_TURNS):
            for label, run in list(runs.items()):
                try:
                    seconds[label] = min(seconds.get(label, float("inf")), round(run(()) * 1e6, 3))
                except ToolError as error:
                    print(f"{t.kernel.name}, {label}: {error.diagnostics[0].message}", file=sys.stderr)
                    del runs[label]
    return {label: least for label, least in seconds.items() if least > 0}


def _by_processor_time(job: TimingJob) -> TimingJob:
    """The job with a clock that stands while the system runs other programs."""
    own = {n: c.replace(b"CLOCK_MONOTONIC", b"CLOCK_PROCESS_CPUTIME_ID") for n, c in job.files.items()}
    return replace(job, files=own)


def _some(labels: Sequence[str], count: int) -> list[str]:
    """The first label, and the first ones of each strategy in turn."""
    by_strategy: dict[str, list[str]] = {}
    for label in labels:
        by_strategy.setdefault(label.partition(":")[0], []).append(label)
    turns: Iterator[str] = (x for x in chain.from_iterable(zip_longest(*by_strategy.values())) if x is not None)
    return [*islice(turns, count)]


def _prepared(model: Path, options: Options, precision: str) -> irtool.Module:
    """The module of a file before it is lowered, with its weights bound."""
    params: dict[str, Any] = {}
    if model.suffix == ".onnx":
        import numpy as np

        shapes = {n: a.shape for n, a in np.load(model.with_suffix(".npz")).items()}
        module, params = irtool.from_onnx(model, shapes=shapes)
    else:
        module = irtool.parse(model.read_text("utf-8"), filename=str(model))
    source = require_types(bind_weights(module, params, options.entries), options.entries)
    if precision != EXACT:
        source = lower_precision(source, precision, options.entries, partial(run_passes, opt_level=3)).module
    return prepare_entries(source, options)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5], "again" in sys.argv[6:]
    )
