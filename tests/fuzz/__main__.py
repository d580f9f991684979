"""`python -m tests.fuzz`: random inputs of every kind, for as long as you like.

Modules go through random passes and keep types and values, and compiled to C they give what the interpreter gives; so do
operators that are worth a schedule, and imported models, for processors of all sizes and levels; calls of every operator are
accepted or refused by all; texts, mutated from the project's and from those of a corpus beside it, are read, printed, typed,
transformed and built.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

from tests.fuzz.kinds import KINDS


def main() -> int:
    """Runs trials until the time is over; 1 if one failed."""
    options = _options()
    end = time.monotonic() + options.seconds
    counts_of: dict[str, Counter[str]] = {name: Counter() for name in options.kinds}
    failed = 0
    for name, outcome in _trials(options, end):
        counts_of[name][outcome.kind] += 1
        if outcome.kind == "failed":
            failed += 1
            path = KINDS[name].write(outcome, options.failures)
            print(f"{path}: {','.join(outcome.pipeline)}: {outcome.message.strip()[:400]}", flush=True)
    for name, counts in counts_of.items():
        done = ", ".join(f"{n:,} {kind}" for kind, n in sorted(counts.items()))
        print(f"seeds from {options.seed}: {counts.total():,} {name}: {done or 'none'}")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=_positive(float), default=600, help="how long (default: 600)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; each input takes the next (default: 1)")
    parser.add_argument("--jobs", type=_positive(int), default=1, help="processes (default: 1)")
    parser.add_argument("--count", type=_positive(int), help="at most so many inputs of each kind")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS], help="what to draw (default: all)")
    parser.add_argument(
        "--failures",
        type=Path,
        default=Path("fuzz-failures"),
        help="the folder for goldens of failures (default: fuzz-failures)",
    )
    return parser.parse_args()


def _positive(kind: type) -> object:
    def convert(text: str) -> float:
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text} is not positive")
        return value  # type: ignore[no-any-return]

    convert.__name__ = kind.__name__
    return convert


def run_batch(name: str, first: int, size: int) -> tuple[list[Any], float]:
    """The trials of the seeds from `first` on, and the seconds they took."""
    start = time.monotonic()
    return list(KINDS[name].run(range(first, first + size))), time.monotonic() - start


def _trials(options: argparse.Namespace, end: float) -> Iterator[tuple[str, Any]]:
    """Outcomes of all kinds, each of which gets about the same share of the time."""
    spent = dict.fromkeys(options.kinds, 0.0)
    following = dict.fromkeys(options.kinds, options.seed)
    last = None if options.count is None else options.seed + options.count

    def next_batch() -> tuple[str, int, int] | None:
        open_kinds = [n for n in spent if last is None or following[n] < last]
        if not open_kinds or time.monotonic() > end:
            return None
        name = min(open_kinds, key=lambda n: spent[n])
        first = following[name]
        size = KINDS[name].batch if last is None else min(KINDS[name].batch, last - first)
        following[name] += size
        return name, first, size

    if options.jobs == 1:
        while (batch := next_batch()) is not None:
            name, first, size = batch
            start = time.monotonic()
            for outcome in KINDS[name].run(range(first, first + size)):
                yield name, outcome
                if time.monotonic() > end:
                    return
            spent[name] += time.monotonic() - start
        return
    with ProcessPoolExecutor(options.jobs) as pool:
        running: dict[Future[Any], str] = {}
        while True:
            while len(running) < 2 * options.jobs and (batch := next_batch()) is not None:
                running[pool.submit(run_batch, *batch)] = batch[0]
                spent[batch[0]] += 1e-6  # so that the first batches are of every kind
            if not running:
                return
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                outcomes, seconds = done.result()
                name = running.pop(done)
                spent[name] += seconds
                yield from ((name, o) for o in outcomes)


if __name__ == "__main__":
    sys.exit(main())
