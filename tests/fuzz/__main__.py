"""`python -m tests.fuzz`: random modules through random passes, for as long as you like."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from pathlib import Path

from tests.fuzz.failures import write_failure
from tests.fuzz.trial import Outcome, run_trial

BATCH = 50


def main() -> int:
    """Runs trials until the time is over; 1 if one failed."""
    options = _options()
    end = time.monotonic() + options.seconds
    kinds: Counter[str] = Counter()
    failed = 0
    for outcome in _trials(options.seed, options.jobs, end, options.count):
        kinds[outcome.kind] += 1
        if outcome.kind == "failed":
            failed += 1
            path = write_failure(outcome, options.failures)
            print(f"{path}: {','.join(outcome.pipeline)}: {outcome.message.strip()[:400]}", flush=True)
    done = ", ".join(f"{n:,} {kind}" for kind, n in sorted(kinds.items()))
    print(f"seeds from {options.seed}: {sum(kinds.values()):,} modules: {done or 'none'}")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=_positive(float), default=600, help="how long (default: 600)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed; each module takes the next (default: 1)")
    parser.add_argument("--jobs", type=_positive(int), default=1, help="processes (default: 1)")
    parser.add_argument("--count", type=_positive(int), help="at most so many modules")
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


def run_batch(first: int, size: int) -> list[Outcome]:
    """The trials of the seeds from `first` on."""
    return [run_trial(seed) for seed in range(first, first + size)]


def _trials(seed: int, jobs: int, end: float, most: int | None) -> Iterator[Outcome]:
    sizes = ((first, BATCH if most is None else min(BATCH, seed + most - first)) for first in count(seed, BATCH))
    batches = ((first, size) for first, size in sizes)
    if jobs == 1:
        for first, size in batches:
            for s in range(first, first + max(0, size)):
                if time.monotonic() > end:
                    return
                yield run_trial(s)
            if size < BATCH:
                return
        return
    with ProcessPoolExecutor(jobs) as pool:
        while time.monotonic() < end:
            now = [b for b in islice(batches, 2 * jobs) if b[1] > 0]
            if not now:
                return
            for outcomes in [pool.submit(run_batch, *b) for b in now]:
                yield from outcomes.result()


if __name__ == "__main__":
    sys.exit(main())
