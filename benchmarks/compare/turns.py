"""Workers that take turns, so that the machine's moods meet all engines alike."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import handover
from ..paused_process import PausedProcess
from ..signals import emptiness
from . import older
from .quantized import output_step
from .values import literal_output


@dataclass
class Measured:
    """What one engine needed for one network.

    Attributes:
        times: seconds of each run.
        turns: those with several threads: the seconds that one processor waited for another one, and the seconds of each run.
        handover: the middle of the former, of the turns that count.
        first_seconds: from the file to the first result; for irtool that includes compiling.
        opened_seconds: from the build to the first result, irtool only.
        bytes: on disk: of the build, or of the model file that the engine reads.
        memory: largest resident memory of the process, in bytes.
        error: why there is nothing of the above.
        outputs: how many values the output has.
        empty: why agreement on its output would show nothing, as a clause.
        difference: largest difference of the output from the reference's, relative to the largest output; None if that shows nothing.
        equal: of an output of quantized values, the share of those that are the reference's; None of others.
        steps: how many steps the others are away at most.
        alike: as `equal`, beside ONNX Runtime's output instead of the reference's.
        apart: as `steps`, beside ONNX Runtime's output.
    """

    times: list[float] = field(default_factory=list)
    turns: list[tuple[float, list[float]]] = field(default_factory=list)
    handover: float = 0.0
    first_seconds: float = 0.0
    opened_seconds: float = 0.0
    bytes: int = 0
    memory: int = 0
    error: str = ""
    outputs: int = 0
    empty: str = ""
    difference: float | None = None
    equal: float | None = None
    steps: int | None = None
    alike: float | None = None
    apart: int | None = None

    @property
    def best(self) -> float:
        """Seconds of the fastest run."""
        return min(self.times)

    @property
    def median(self) -> float:
        """Seconds of the run in the middle."""
        return statistics.median(self.times)


class Worker:
    """A process with one engine; stopped (SIGSTOP) except in its turn, so that waiting threads take no time from others."""

    def __init__(self, engine: str, model: Path, threads: int, folder: Path, precision: str, mcpu: str) -> None:
        self.measured = Measured()
        self.folder = folder
        environment = {"OMP_NUM_THREADS": str(threads)}
        if engine != "irtool":
            environment |= older.environment(mcpu)
        arguments = [engine, str(model), str(threads), str(folder), precision, mcpu]
        self._process = PausedProcess("benchmarks.compare.worker", arguments, folder, environment)
        if self._process.about is None:
            self.measured.error = self._process.failure()
            return
        for name, value in self._process.about.items():
            setattr(self.measured, name, value)

    def turn(self, runs: int, together: bool = False) -> None:
        """Runs the model so often, and stops again. `together`: measures how long processors wait for each other, before and after."""
        if self.measured.error:
            return
        before = handover.seconds() if together else 0.0
        times = self._process.ask(str(runs))
        if times is None:
            self.measured.error = self._process.failure()
            return
        times = times[1:] if len(times) > 2 else times  # the first finds cold caches
        self.measured.times += times
        if together:
            self.measured.turns.append((max(before, handover.seconds()), times))

    def end(self) -> Measured:
        """Ends the process, and returns its measurements."""
        self.measured.memory = int(self._process.end() or 0)
        return self.measured


def measure(
    model: Path, engines: list[str], threads: int, seconds: float, precision: str = "float32", mcpu: str = "native"
) -> dict[str, Measured]:
    """What each engine needs for a model: `seconds` of runs for each engine, in turns of about a fifth of a second. With several
    threads it takes up to three times as long, to meet processors that have a cache in common."""
    with tempfile.TemporaryDirectory() as place:
        workers = {}
        for engine in engines:
            folder = Path(place) / engine
            folder.mkdir()
            workers[engine] = Worker(engine, model, threads, folder, precision, mcpu)
        for w in workers.values():
            w.turn(3)
        working = [w for w in workers.values() if not w.measured.error]
        slowest = max((w.measured.median for w in working), default=1.0)
        runs = max(3, min(200, int(0.2 / slowest)))
        rounds = max(5, int(seconds / max(runs * slowest, 1e-3)))
        together = threads > 1 and (os.cpu_count() or 1) > 1
        for n in range(3 * rounds):
            for w in working if n % 2 == 0 else reversed(working):
                w.turn(runs, together)
            near = near_turns([w.measured for w in working])
            if n + 1 >= rounds and (not together or 2 * min(map(len, near), default=rounds) >= rounds):
                break
        measured = {engine: w.end() for engine, w in workers.items()}
        settle([m for m in measured.values() if not m.error])
        step = output_step(model)
        compare_outputs(measured, Path(place), step, literal_output(model) if step is not None else None)
        return measured


_NEAR = 2.0
"""Processors that wait so many times as long as they ever do are apart."""


def near_turns(measured: Sequence[Measured]) -> list[list[tuple[float, list[float]]]]:
    """The turns of each engine in which processors waited as short as they can: those of a virtual machine may move apart, from one
    second to the next, which takes a network up to twice the time."""
    least = min((waited for m in measured for waited, _ in m.turns), default=0.0)
    return [[t for t in m.turns if t[0] <= _NEAR * least] for m in measured]


def settle(measured: Sequence[Measured]) -> None:
    """Keeps the times of such turns, if every engine has two or more of them, so that all are measured alike."""
    near = near_turns(measured)
    alike = min(map(len, near), default=0) >= 2
    for m, turns in zip(measured, near):
        turns = turns if alike else m.turns
        if turns:
            m.times = [t for _, times in turns for t in times]
            m.handover = statistics.median(waited for waited, _ in turns)


def compare_outputs(
    measured: dict[str, Measured], place: Path, step: float | None = None, reference: Any | None = None
) -> None:
    """Sets the difference of each from the reference, out of the folders of the engines, and says which are empty. `step`:
    between neighbours of the quantized values that the output has. `reference`: the output to compare with, if it is not
    that of ONNX Runtime."""
    outputs = {e: np.load(p) for e in measured if (p := place / e / "output.npy").exists()}
    for engine, output in outputs.items():
        measured[engine].empty, measured[engine].outputs = emptiness(output), output.size
    peer = outputs.get("onnxruntime")
    expected = peer if reference is None else reference
    if expected is None or emptiness(expected):
        return
    for engine, output in outputs.items():
        own = measured[engine]
        own.difference = float(np.abs(output.astype("float64") - expected).max() / np.abs(expected).max())
        if step is not None:
            own.equal, own.steps = _in_steps(output, expected, step)
            if peer is not None:
                own.alike, own.apart = _in_steps(output, peer, step)


def _in_steps(output: Any, expected: Any, step: float) -> tuple[float, int]:
    """The share of equal quantized values, and how many steps the others are away at most."""
    steps = np.rint(np.abs(output.astype("float64") - expected) / step)
    return float((steps == 0).mean()), int(steps.max())
