"""Time, memory and size with lengths that the run decides, beside ONNX Runtime, OpenVINO, and builds pinned to one length.

The same ONNX file goes to all engines. Each length of the sweep is run by all of them in turns; the sum over the lengths of the fastest run
is what is compared.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from irtool.backends.toolchain.compiler import Compiler

from .. import __main__ as benchmarks
from ..compare.export import export
from ..compare.tables import draw_ratios
from ..json_file import read_json, write_json
from .networks import NETWORKS, OpenNetwork
from .turns import Engine, difference, sweep

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "build" / "compare" / "lengths"
PEERS = ("onnxruntime", "openvino")
CLOSE = 1e-3
"""The largest difference of an output from that of ONNX Runtime."""

_HEAD = "| network | threads | irtool | ONNX Runtime | OpenVINO | irtool / better peer | memory / ONNX Runtime's: process, engine | pinned: speed, least | code, build time / pinned |"


@dataclass
class Row:
    """A network with a number of threads: totals in seconds, memory of processes and engines in bytes; relative numbers of pinned builds."""

    title: str
    threads: int
    totals: dict[str, float]
    memory: dict[str, tuple[int, int]]
    speeds: list[float]
    code: float
    build: float

    @property
    def ratio(self) -> float:
        """irtool's time over that of the better peer."""
        peers = [self.totals[e] for e in PEERS if e in self.totals]
        return self.totals["irtool"] / min(peers) if peers else math.nan

    def line(self) -> str:
        """The row of the table."""
        own = [f"{1e3 * self.totals[e]:.1f} ms" if e in self.totals else "none" for e in ("irtool", *PEERS)]
        pairs = zip(self.memory["irtool"], self.memory.get("onnxruntime", ()))
        memory = ", ".join(f"{irtool / peer:.2f}" for irtool, peer in pairs) or "none"
        mean = math.exp(sum(map(math.log, self.speeds)) / len(self.speeds)) if self.speeds else math.nan
        pinned = f"{mean:.2f}, {min(self.speeds):.2f}" if self.speeds else "none"
        size = f"{self.code:.2f}, {self.build:.2f}" if self.speeds else "none"
        ratio = "none" if math.isnan(self.ratio) else f"{self.ratio:.2f}"
        return f"| {self.title} | {self.threads} | {' | '.join(own)} | {ratio} | {memory} | {pinned} | {size} |"


def main() -> None:
    """Exports missing networks, measures, and prints the table; with --write into docs, too."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lengths", description=__doc__)
    parser.add_argument("--only", default="", help=f"networks, separated by commas: {', '.join(NETWORKS)}")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=30.0, help="of runs for each engine, network and thread count")
    parser.add_argument(
        "--pinned", type=int, default=4, help="lengths at which a build pinned to the length is compared"
    )
    parser.add_argument(
        "--rows",
        type=Path,
        help="a file of rows: those in it are not measured again and in the table, too, and others are added",
    )
    parser.add_argument("--write", action="store_true", help="write docs/compare_dynamic.md and its chart")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(NETWORKS)
    if unknown := [n for n in chosen if n not in NETWORKS]:
        parser.error(f"unknown network {unknown[0]}; there are {', '.join(NETWORKS)}")
    measured = read_json(options.rows) if options.rows else {}
    for name, threads in product(chosen, map(int, options.threads.split(","))):
        key = f"{name}, {threads}"
        if key not in measured:
            row = _measured(name, NETWORKS[name], threads, options.seconds, options.pinned)
            measured[key] = asdict(row)
            if options.rows:
                write_json(options.rows, measured)
    rows = [Row(**row) for _, row in sorted(measured.items(), key=lambda x: _place(x[0]))]
    text = _page(rows)
    print(text)
    if options.write:
        (ROOT / "docs" / "compare_dynamic.md").write_text(text, encoding="utf-8")
        (ROOT / "docs" / "compare_dynamic.svg").write_text(_chart(rows), encoding="utf-8")


def _place(key: str) -> tuple[int, int]:
    """The place in the table of a network and its number of threads."""
    name, threads = key.split(", ")
    return list(NETWORKS).index(name), int(threads)


def _measured(name: str, net: OpenNetwork, threads: int, seconds: float, pinned: int) -> Row:
    model = export(net.network, name, MODELS, dict.fromkeys(net.axes, "length"))
    with tempfile.TemporaryDirectory() as place:
        engines = {e: Engine(e, model, name, threads, Path(place) / e) for e in ("irtool", *PEERS)}
        working = {e: w for e, w in engines.items() if not w.error}
        for e, w in engines.items():
            if w.error:
                print(f"{name}: {e}: {w.error}", file=sys.stderr, flush=True)
        if "irtool" not in working:
            sys.exit(f"{name}: irtool does not build it")
        sweep(list(working.values()), net.sweep, seconds)
        _check(name, net, working)
        own = engines["irtool"]
        speeds, code, build = [], [], []
        for length in net.some(pinned) if pinned else ():
            other = Engine(f"pinned:{length}", model, name, threads, Path(place) / f"pinned{length}")
            if other.error:
                sys.exit(f"{name}, pinned to {length}: {other.error}")
            sweep([own, other], [length], seconds / 4 / pinned)
            other.end()
            speeds.append(other.best[length] / own.best[length])
            code.append(own.about["bytes"] / other.about["bytes"])
            build.append(own.about["seconds"] / other.about["seconds"])
        for w in working.values():
            w.end()
        totals = {e: sum(w.best[n] for n in net.sweep) for e, w in working.items()}
        memory = {e: (w.memory, w.own_memory) for e, w in working.items()}
        row = Row(net.network.title, threads, totals, memory, speeds, max(code, default=0.0), max(build, default=0.0))
        print(row.line(), file=sys.stderr, flush=True)
        return row


def _check(name: str, net: OpenNetwork, engines: dict[str, Engine]) -> None:
    """Ends the measurement if an output of irtool is not that of ONNX Runtime."""
    if "onnxruntime" not in engines:
        return
    for length in net.sweep:
        apart = difference(engines["irtool"].output(length), engines["onnxruntime"].output(length))
        if not apart <= CLOSE:
            sys.exit(
                f"{name}, length {length}: the output is {apart:.1e} from ONNX Runtime's; times of wrong outputs say nothing"
            )


def _page(rows: list[Row]) -> str:
    setting = benchmarks.setting(("onnxruntime", "openvino", "torch"), Compiler().machine().vector_bytes)
    lines = [
        "# Lengths that the run decides",
        "",
        f"`python -m benchmarks.lengths --write` wrote this page: {setting}.",
        "",
        "One build serves all lengths. Times are sums over a sweep of lengths of the fastest run at each. *Pinned*: the speed beside builds for one",
        "length only, as geometric mean and least over some lengths; code and build time are the largest ratios. Memory: the largest resident memory,",
        "of the whole process with Python and NumPy, and without what it had before it loaded the engine.",
        "",
        _HEAD,
        "|" + " --- |" * (_HEAD.count("|") - 1),
        *(r.line() for r in rows),
        "",
        "![Ratios as a chart](compare_dynamic.svg)",
        "",
    ]
    return "\n".join(lines)


def _chart(rows: Sequence[Row]) -> str:
    """The ratios of all networks that have a peer."""
    ratios: dict[str, dict[str, float | None]] = {}
    for r in rows:
        if not math.isnan(r.ratio):
            ratios.setdefault(r.title.partition(",")[0], {})[str(r.threads)] = r.ratio
    return draw_ratios(ratios, sorted({str(r.threads) for r in rows}))


if __name__ == "__main__":
    main()
