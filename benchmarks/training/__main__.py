"""The time of a step of training, beside torch without and with its compiler.

Forward, loss, gradients and descent of the same network with the same weights and batch, each engine in a process of its own, in turns; the fastest
step counts. The losses of the first steps have to agree.
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
CLOSE = 1e-4
"""The largest difference of a loss from torch's, relative to the first loss."""

_HEAD = "| network | threads | irtool | torch | torch.compile | irtool / torch | irtool / torch.compile | workspace / torch's peak | losses apart |"


@dataclass
class Row:
    """A network with a number of threads: the seconds of the fastest step of each engine."""

    title: str
    threads: int
    best: dict[str, float]
    memory: float
    apart: float

    def line(self) -> str:
        """The row of the table."""
        own = [f"{1e3 * self.best[e]:.2f} ms" if e in self.best else "none" for e in ("irtool", *PEERS)]
        ratios = [f"{self.best['irtool'] / self.best[e]:.2f}" if e in self.best else "none" for e in PEERS]
        memory = f"{self.memory:.2f}" if self.memory else "none"
        return f"| {self.title} | {self.threads} | {' | '.join((*own, *ratios))} | {memory} | {self.apart:.0e} |"


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
        for e in engines:
            folder = Path(place) / e
            folder.mkdir()
            arguments = [e, name, str(threads), str(folder)]
            worker = PausedProcess("benchmarks.training.worker", arguments, folder, {"OMP_NUM_THREADS": str(threads)})
            if worker.about is None:
                print(f"{name}: {e}: {worker.failure()}", file=sys.stderr, flush=True)
            else:
                workers[e] = worker
        if "irtool" not in workers:
            return None
        best: dict[str, float] = {}
        for n in range(rounds):
            for e in workers if n % 2 == 0 else reversed(workers):
                times = workers[e].ask(str(steps)) or [math.inf]
                best[e] = min(best.get(e, math.inf), *times)
        about = {e: w.about for e, w in workers.items()}
        for w in workers.values():
            w.end()
    apart = max(
        (_apart(about["irtool"]["losses"], a["losses"]) for e, a in about.items() if e != "irtool"), default=0.0
    )
    if not apart <= CLOSE:
        print(f"{name}: the losses are {apart:.1e} apart: times of wrong steps say nothing", file=sys.stderr)
    peak = about.get("eager", {}).get("memory", 0)
    row = Row(NETWORKS[name].title, threads, best, about["irtool"]["memory"] / peak if peak else 0.0, apart)
    print(row.line(), file=sys.stderr, flush=True)
    return row


def _apart(ours: list[float], others: list[float]) -> float:
    return max(abs(a - b) for a, b in zip(ours, others, strict=True)) / abs(others[0])


def _page(rows: list[Row]) -> str:
    setting = benchmarks.setting(("torch",), Compiler().machine().vector_bytes)
    lines = [
        "# Training",
        "",
        f"`python -m benchmarks.training --write` wrote this page: {setting}.",
        "",
        "A step is the forward pass in training mode, cross entropy, all gradients, and descent. Times are those of the fastest step. The workspace is",
        "irtool's arena, beside the most bytes that torch's passes allocate at one time; weights and gradients that stay count for neither. *Losses apart*:",
        "the largest difference of the first ten losses from torch's, relative to the first.",
        "",
        _HEAD,
        "|" + " --- |" * (_HEAD.count("|") - 1),
        *(r.line() for r in rows),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
