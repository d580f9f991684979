"""Two builds of a network that take turns in a process of their own, so that a build that crashes takes nothing with it."""

from __future__ import annotations

import math
import multiprocessing
import statistics
import time
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from irtool.driver.artifact import Artifact

from ..signals import emptiness
from .record import LIMIT

_LEAST, _TURN, _AGAIN = 7, 0.01, 4
"""Runs that a build has at least; seconds of a turn; how many times as long is measured where a difference shows."""


def compare(first: Artifact, second: Artifact, inputs: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Milliseconds of the fastest run `with` (of the first) and `without` (of the second), their `ratio` as `settled_ratio` has it,
    and the `difference` of the outputs relative to the largest one.

    `seconds` is what each build runs in sum; where the times differ, up to `_AGAIN` times as long, as other work on the
    machine may be the reason. Raises RuntimeError if the process ends without a result.
    """
    context = multiprocessing.get_context("fork")
    parent, child = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(child, first, second, inputs, seconds))
    process.start()
    child.close()
    try:
        result: dict[str, Any] = parent.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"the process that ran it ended with code {process.exitcode}") from None
    process.join()
    if "error" in result:
        raise RuntimeError(result["error"])
    return result


def _measure(pipe: Connection, first: Artifact, second: Artifact, inputs: Mapping[str, Any], seconds: float) -> None:
    try:
        pipe.send(_compared(first, second, inputs, seconds))
    except Exception as error:  # noqa: BLE001  # any failure is the result
        pipe.send({"error": f"{type(error).__name__}: {error}"[:400]})


def _compared(first: Artifact, second: Artifact, inputs: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    expected, actual = (_first_output(a.run(inputs)) for a in (first, second))
    if why := emptiness(expected):
        raise ValueError(f"{why}, so that agreement on it shows nothing")
    difference = float(np.abs(actual.astype("float64") - expected).max() / np.abs(expected).max())
    times: tuple[list[float], list[float]] = ([], [])
    best: tuple[list[float], list[float]] = ([], [])
    limit, turn = seconds, 0
    while min(map(len, times)) < _LEAST or min(map(sum, times)) < limit:
        for n in (0, 1) if turn % 2 == 0 else (1, 0):
            taken = _turn((first, second)[n], inputs)
            times[n].extend(taken)
            best[n].append(min(taken))
        turn += 1
        if min(map(sum, times)) >= limit and limit < _AGAIN * seconds and abs(settled_ratio(*best) - 1) > LIMIT / 2:
            limit += seconds / 2
    return {
        "with": 1e3 * min(best[0]),
        "without": 1e3 * min(best[1]),
        "ratio": settled_ratio(*best),
        "runs": min(map(len, times)),
        "difference": difference if np.isfinite(difference) else 1e9,
    }


def settled_ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The second time over the first one, of the fastest runs of turns: that of the fastest turns, or the median over pairs of turns,
    whichever is nearer to 1; 1 where one is above it and the other below.

    Other work on the machine disturbs the former where it leaves one build no quiet turn, and the latter where it changes its
    speed in the middle of pairs. Both are wrong in the same direction only seldom.
    """
    fastest = min(second) / min(first)
    paired = statistics.median(b / a for a, b in zip(first, second, strict=True))
    if (fastest - 1) * (paired - 1) <= 0:
        return 1.0
    return min(fastest, paired, key=lambda r: abs(math.log(r)))


def _turn(build: Artifact, inputs: Mapping[str, Any]) -> list[float]:
    """Seconds of each run of a turn, in which the processor was this thread's: what other processes take in between does not count."""
    taken: list[float] = []
    while sum(taken) < _TURN:
        start = time.thread_time()
        build.run(inputs)
        taken.append(time.thread_time() - start)
    return taken


def _first_output(result: Any) -> Any:
    while isinstance(result, tuple | list):
        result = result[0]
    return np.asarray(result)
