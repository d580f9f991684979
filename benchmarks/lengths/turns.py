"""Engines that take turns at each length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..paused_process import PausedProcess


class Engine:
    """A worker, stopped (SIGSTOP) except in its turn.

    Attributes:
        about: the seconds from the file to the build, and the bytes of the build.
        best: the seconds of the fastest run at each length.
        memory: the largest resident memory, in bytes, once it has ended.
        own_memory: the part of it that the engine added to the worker.
        error: the reason for an end before its time.
    """

    def __init__(self, name: str, model: Path, network: str, threads: int, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder, self.error, self.memory, self.own_memory = folder, "", 0, 0
        self.best: dict[int, float] = {}
        arguments = [name, str(model), network, str(threads), str(folder)]
        environment = {"OMP_NUM_THREADS": str(threads)}
        self._process = PausedProcess("benchmarks.lengths.worker", arguments, folder, environment)
        self.about: dict[str, Any] = self._process.about or {}
        if self._process.about is None:
            self.error = self._process.failure()

    def turn(self, length: int, runs: int) -> list[float]:
        """The seconds of each run at a length."""
        if self.error:
            return []
        times: list[float] | None = self._process.ask(f"{length} {runs}")
        if times is None:
            self.error = self._process.failure()
            return []
        if times:
            self.best[length] = min(self.best.get(length, float("inf")), *times)
        return times

    def output(self, length: int) -> np.ndarray:
        """The output at a length."""
        return np.load(self.folder / f"{length}.npy")

    def end(self) -> None:
        """Ends the process."""
        self.memory, before = self._process.end() or (0, 0)
        self.own_memory = self.memory - before


def sweep(engines: Sequence[Engine], lengths: Sequence[int], seconds: float) -> None:
    """Runs all engines at all lengths, in turns; `seconds` of runs for each engine in all."""
    each = seconds / len(lengths)
    for n, length in enumerate(lengths):
        order = engines if n % 2 == 0 else list(reversed(engines))
        slowest = max((min(e.turn(length, 2) or [0.0]) for e in order), default=0.0)
        runs = max(2, min(100, int(each / max(slowest, 1e-6) / 2)))
        for _ in range(2):
            for e in order:
                e.turn(length, runs)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of two outputs, relative to the largest element; infinite for different shapes."""
    if a.shape != b.shape:
        return float("inf")
    return float(np.abs(a.astype("float64") - b).max() / max(np.abs(b).max(), 1e-30))
