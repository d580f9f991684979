"""Engines that take turns at each length."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


class Engine:
    """A worker, stopped (SIGSTOP) except in its turn.

    Attributes:
        about: the seconds from the file to the build, and the bytes of the build.
        best: the seconds of the fastest run at each length.
        memory: the largest resident memory, in bytes, once it has ended.
        error: the reason for an end before its time.
    """

    def __init__(self, name: str, model: Path, network: str, threads: int, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder, self.error, self.memory = folder, "", 0
        self.best: dict[int, float] = {}
        arguments = [name, str(model), network, str(threads), str(folder)]
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.lengths.worker", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), "PYTHONWARNINGS": "ignore"},
        )
        answer = self._answer()
        self.about: dict[str, Any] = answer or {}
        self._signal(signal.SIGSTOP)

    def turn(self, length: int, runs: int) -> list[float]:
        """The seconds of each run at a length."""
        if self.error:
            return []
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        self._process.stdin.write(f"{length} {runs}\n")
        self._process.stdin.flush()
        times = self._answer() or []
        self._signal(signal.SIGSTOP)
        if times:
            self.best[length] = min(self.best.get(length, float("inf")), *times)
        return times

    def output(self, length: int) -> np.ndarray:
        """The output at a length."""
        return np.load(self.folder / f"{length}.npy")

    def end(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        self._process.stdin.close()
        if not self.error:
            self.memory = int(self._answer() or 0)
        self._process.wait()
        self._log.close()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                return json.loads(line)
            except ValueError:
                continue
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        self.error = lines[-1] if lines else f"exit code {self._process.wait()}"
        return None

    def _signal(self, which: int) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, which)


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
