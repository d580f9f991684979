"""The command line of the table of bytes."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irtool.backends.toolchain.compiler import Compiler

from .. import __main__ as benchmarks
from ..compare.__main__ import ROOT, export_model
from ..compare.export import NETWORKS
from ..paused_process import PausedProcess
from .section import OPTS, PEER, section, with_section


def main() -> None:
    """Exports what is missing, builds, measures and prints; with --write into docs/compare.md, too."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    parser.add_argument("--only", default="", help="networks, separated by commas")
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="of runs for each value of --opt and network; 0: no times"
    )
    parser.add_argument("--write", action="store_true", help="write the section of docs/compare.md")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(NETWORKS)
    unknown = [n for n in chosen if n not in NETWORKS]
    if unknown:
        sys.exit(f"unknown network {unknown[0]}; there are {', '.join(NETWORKS)}")
    results = {NETWORKS[n].title: _measured(export_model(n), options.seconds) for n in chosen}
    command = shlex.join(["python", "-m", "benchmarks.sizes", *sys.argv[1:]])
    setting = benchmarks.setting(("onnxruntime",), Compiler().machine().vector_bytes)
    text = section(results, (command, setting))
    print(text)
    if options.write:
        page = ROOT / "docs" / "compare.md"
        page.write_text(with_section(page.read_text(encoding="utf-8"), text), encoding="utf-8")


def _measured(model: Path, seconds: float) -> dict[str, Any]:
    """The bytes and times of one network."""
    result: dict[str, Any] = {"onnx_bytes": model.stat().st_size, **{o: {} for o in (*OPTS, PEER)}}
    with tempfile.TemporaryDirectory() as place:
        folders = {o: Path(place) / o for o in (*OPTS, PEER)}
        for o, folder in folders.items():
            folder.mkdir()
            if o != PEER:
                command = [sys.executable, "-m", "benchmarks.sizes.worker", "build", str(model), o, str(folder)]
                built = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                result[o] = {"bytes": built["bytes"], "build_memory": built["memory"]}
        workers = {o: _worker(o, model, folder) for o, folder in folders.items()}
        for o, w in workers.items():
            if w.about is None:
                sys.exit(f"{model.stem}, {o}: {w.failure()}")
        times = _times(workers, seconds) if seconds else {}
        for o, w in workers.items():
            timed = {"best": min(times[o]), "first_seconds": w.about["first_seconds"]} if w.about and times else {}
            result[o] |= {**timed, "memory": w.end()}
    about = ", ".join(f"{o} {result[o]['memory'] / 1e6:.0f} MB" for o in workers)
    print(f"{model.stem}: {about}", file=sys.stderr, flush=True)
    return result


def _times(workers: Mapping[str, PausedProcess], seconds: float) -> dict[str, list[float]]:
    """The seconds of the runs of each worker, in turns."""
    times: dict[str, list[float]] = {o: [] for o in workers}
    rounds = 0
    while rounds < 3 or min(sum(t) for t in times.values()) < seconds:
        for o in workers if rounds % 2 == 0 else reversed(workers):
            runs = max(2, min(50, int(0.2 / max(min(times[o], default=0.1), 1e-4))))
            times[o] += workers[o].ask(str(runs))
        rounds += 1
    return times


def _worker(opt: str, model: Path, folder: Path) -> PausedProcess:
    """The process that runs one build, or ONNX Runtime."""
    environment = {"OMP_NUM_THREADS": "1"}
    if opt == PEER:
        return PausedProcess(
            "benchmarks.compare.worker", [PEER, str(model), "1", str(folder), "float32", "native"], folder, environment
        )
    return PausedProcess("benchmarks.sizes.worker", ["run", str(model), opt, str(folder)], folder, environment)


if __name__ == "__main__":
    main()
