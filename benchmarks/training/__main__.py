"""The time of a step of training, beside torch without and with its compiler.

Forward, loss, gradients and descent of the same network with the same weights and batch, each engine in a process of its own, in turns; the fastest
step counts. The losses of the first steps have to agree with those of torch in float64, or be no farther from them than torch's in float32: steps
of networks with statistics of few numbers magnify roundings.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from irtool.backends.toolchain.compiler import Compiler

from .. import __main__ as benchmarks
from ..paused_process import PausedProcess
from .networks import NETWORKS

ROOT = Path(__file__).parents[2]
PEERS = {"eager": "torch", "compile": "torch.compile"}
REFERENCE = "double"
"""The engine whose losses count as exact: torch in float64."""
CLOSE = 1e-4
"""The largest error of a loss, relative to the first loss, that needs no comparison."""
FACTOR = 4.0
"""The largest error of a loss as a multiple of torch's own error in float32."""

_HEAD = (
    "| network | threads | irtool | torch | torch.compile | irtool / torch | irtool / torch.compile | workspace / torch's peak "
    "| error of losses | torch's |"
)


@dataclass
class Row:
    """A network with a number of threads: the seconds of the fastest step of each engine, and the errors of irtool's and torch's losses."""

    title: str
    threads: int
    best: dict[str, float]
    memory: float
    error: float
    error_of_torch: float

    def line(self) -> str:
        """The row of the table."""
        own = [f"{1e3 * self.best[e]:.2f} ms" if e in self.best else "none" for e in ("irtool", *PEERS)]
        ratios = [f"{self.best['irtool'] / self.best[e]:.2f}" if e in self.best else "none" for e in PEERS]
        memory = f"{self.memory:.2f}" if self.memory else "none"
        return f"| {self.title} | {self.threads} | {' | '.join((*own, *ratios))} | {memory} | {self.error:.0e} | {self.error_of_torch:.0e} |"


def main() -> None:
    """Measures, and prints the table; with --write into docs, too."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("--only", default="", help=f"networks, separated by commas: {', '.join(NETWORKS)}")
    parser.add_argument("--engines", default="irtool,eager,compile")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=6, help="turns of each engine")
    parser.add_argument("--steps", type=int, default=5, help="steps in a turn")
    parser.add_argument("--write", action="store_true", help="write docs/compare_training.md")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(NETWORKS)
    if unknown := [n for n in chosen if n not in NETWORKS]:
        parser.error(f"unknown network {unknown[0]}; there are {', '.join(NETWORKS)}")
    rows = [
        row
        for name in chosen
        for t in options.threads.split(",")
        if (row := _measured(name, int(t), options.engines.split(","), options.rounds, options.steps)) is not None
    ]
    text = _page(rows)
    print(text)
    if options.write:
        (ROOT / "docs" / "compare_training.md").write_text(text, encoding="utf-8")


def _measured(name: str, threads: int, engines: list[str], rounds: int, steps: int) -> Row | None:
    with tempfile.TemporaryDirectory() as place:
        workers: dict[str, PausedProcess] = {}
        for e in (*engines, REFERENCE):
            folder = Path(place) / e
            folder.mkdir()
            arguments = [e, name, str(threads), str(folder)]
            worker = PausedProcess("benchmarks.training.worker", arguments, folder, {"OMP_NUM_THREADS": str(threads)})
            if worker.about is None:
                print(f"{name}: {e}: {worker.failure()}", file=sys.stderr, flush=True)
            else:
                workers[e] = worker
        if not {"irtool", REFERENCE} <= {*workers}:
            return None
        about = {e: w.about for e, w in workers.items()}
        workers.pop(REFERENCE).end()
        best: dict[str, float] = {}
        for n in range(rounds):
            for e in workers if n % 2 == 0 else reversed(workers):
                times = workers[e].ask(str(steps)) or [math.inf]
                best[e] = min(best.get(e, math.inf), *times)
        for w in workers.values():
            w.end()
    exact = about[REFERENCE]["losses"]
    errors = {e: _error(a["losses"], exact) for e, a in about.items()}
    own, other = errors["irtool"], errors.get("eager", 0.0)
    if not own <= max(CLOSE, FACTOR * other):
        print(
            f"{name}: the losses are {own:.1e} from float64's, torch's {other:.1e}: times of wrong steps say nothing",
            file=sys.stderr,
        )
    peak = about.get("eager", {}).get("memory", 0)
    row = Row(NETWORKS[name].title, threads, best, about["irtool"]["memory"] / peak if peak else 0.0, own, other)
    print(row.line(), file=sys.stderr, flush=True)
    return row


def _error(losses: list[float], exact: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(losses, exact, strict=True)) / abs(exact[0])


def _page(rows: list[Row]) -> str:
    setting = benchmarks.setting(("torch",), Compiler().machine().vector_bytes)
    lines = [
        "# Training",
        "",
        f"`python -m benchmarks.training --write` wrote this page: {setting}.",
        "",
        "A step is the forward pass in training mode, cross entropy, all gradients, and descent. Times are those of the fastest step. The workspace is",
        "irtool's arena, beside the most bytes that torch's passes allocate at one time; weights and gradients that stay count for neither. *Error of losses*:",
        "the largest difference of the first ten losses from those of torch in float64, relative to the first; beside it, that of torch in float32. Steps",
        "of the two networks whose last layers normalise few numbers magnify roundings, of either engine.",
        "",
        _HEAD,
        "|" + " --- |" * (_HEAD.count("|") - 1),
        *(r.line() for r in rows),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
