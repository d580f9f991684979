"""`python -m tests.mutants`: changes one token of irtool at a time, and counts how many changes the tests notice.

The first run traces which tests run what (`.mutants/`), ten minutes on one core; later runs trace the files of tests that
have changed. 1 if a mutant survives.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.checkout import ROOT, copy_checkout
from tests.mutants.mapping import Lines
from tests.mutants.report import drawn, makes_no_difference, score, write_report
from tests.mutants.sites import Mutant, sample
from tests.mutants.trial import Result, Server, try_mutant

AT_ONCE = 10
"""How many files of tests are traced before what they ran is kept."""


def main() -> int:
    """Tries mutants; 1 if one survives."""
    options = _options()
    row = drawn(options.seed, options.only)
    chosen = [m for m in sample(ROOT, options.seed, options.count, options.only) if not makes_no_difference(m)]
    if options.rerun is not None:
        report = json.loads(options.rerun.read_text(encoding="utf-8"))[row]
        alive = {(r["line"], r["change"]) for r in report if r["outcome"] not in ("killed", "timed out")}
        chosen = [m for m in chosen if (m.text, m.change) in alive]
    if options.list:
        for m in chosen:
            print(f"{m.path}:{m.line}: {m.change}    in: {m.text}")
        return 0
    lines = Lines(options.store, near=options.only if options.near else "")
    if not options.as_traced:
        _trace(lines)
    results: list[Result] = []
    for r in _try_all(chosen, lines, options.jobs, options.most):
        results.append(r)
        m = r.mutant
        print(f"{r.outcome} {r.seconds} s {m.path}:{m.line}: {m.change}    in: {m.text}    {r.by}", flush=True)
    if options.report is not None:
        write_report(options.report, row, results)
    print(f"seed {row}: {score([r.record() for r in results])}")
    for r in results:
        if not r.noticed:
            print(f"{r.mutant.path}:{r.mutant.line}: {r.mutant.change}: {r.outcome}, {r.tests} tests")
    return 0 if all(r.noticed for r in results) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which mutants are drawn (default: 1)")
    parser.add_argument("--count", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--only", default="irtool", help="the beginning of paths: irtool/tir (default: irtool)")
    parser.add_argument("--near", action="store_true", help="with --only: no tests but those of its room, soon traced")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at a time (default: 1)")
    parser.add_argument("--most", type=float, default=30, help="seconds of tests for each mutant (default: 30)")
    parser.add_argument("--list", action="store_true", help="name the mutants, and try none")
    parser.add_argument("--rerun", type=Path, metavar="REPORT", help="only those of the seed that survived there")
    parser.add_argument("--report", type=Path, help="a JSON file of results by seed")
    parser.add_argument("--as-traced", action="store_true", help="trace nothing, even if tests have changed")
    parser.add_argument(
        "--store", type=Path, default=ROOT / ".mutants", help="where lines are kept (default: .mutants)"
    )
    return parser.parse_args()


def _trace(lines: Lines) -> None:
    files = lines.stale()
    if not files:
        return
    with tempfile.TemporaryDirectory() as folder:
        copy_checkout(Path(folder))
        files.sort(key=lambda f: f.startswith(("tests/backends/", "tests/driver/", "tests/faults/")))
        for n in range(0, len(files), AT_ONCE):
            print(f"tracing {len(files) - n} files of tests", file=sys.stderr, flush=True)
            lines.trace(files[n : n + AT_ONCE], Path(folder))


def _try_all(chosen: list[Mutant], lines: Lines, jobs: int, most: float) -> Iterator[Result]:
    """The results in the order of the mutants; each job has a copy of the checkout."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        servers: SimpleQueue[tuple[Path, Server]] = SimpleQueue()
        for n in range(jobs):
            copy = Path(folder, str(n), "irtool")
            copy_checkout(copy)
            servers.put((copy, Server(copy, lines.traced())))

        def attempt(m: Mutant) -> Result:
            copy, server = servers.get()
            try:
                return try_mutant(m, lines, copy, most, server=server)
            finally:
                servers.put((copy, server))

        yield from pool.map(attempt, chosen)
        while not servers.empty():
            servers.get()[1].close()


if __name__ == "__main__":
    sys.exit(main())
