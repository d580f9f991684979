"""The command line: measures, prints, and with --write writes docs/compare_llm.md."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from ..json_file import read_json, write_json
from ..paused_process import PausedProcess
from .configurations import CONFIGURATIONS, FORMATS
from .divergence import rows as divergence_rows
from .own_build import build
from .page import Measurement, Row, chart, page

ROOT = Path(__file__).parents[2]
TURNS = 3


@dataclass(frozen=True)
class Engine:
    """An engine to measure.

    Attributes:
        name: of its module.
        python: what runs it.
        model: its argument; `weights`: the file that is dropped from the cache of the system before it is opened.
    """

    name: str
    python: str
    model: Path
    weights: Path


def measure(engines: Sequence[Engine], threads: int) -> dict[str, Measurement]:
    """The measurements of engines, by name: the best of turns. Engines that end with an error are left out, with a line on standard error."""
    environment = {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
    best: dict[str, Measurement] = {}
    with tempfile.TemporaryDirectory(prefix="irtool-llm-") as folder:
        processes = {}
        for turn, e in product(range(TURNS), engines):
            place = Path(folder, f"{e.name}{turn}")
            place.mkdir()
            if e.name in processes:
                processes[e.name].end()
            process = PausedProcess(
                "benchmarks.llm.worker",
                [e.name, str(e.model), str(e.weights), str(threads)],
                place,
                environment,
                e.python,
            )
            if process.about is None:
                print(f"{e.name}: {process.failure()}", file=sys.stderr, flush=True)
                continue
            processes[e.name] = process
            best[e.name] = best.get(e.name, Measurement()).with_seconds("first", float(process.about))
        for _ in range(TURNS):
            for what in ("decode", "prefill"):
                for n, p in processes.items():
                    best[n] = best[n].with_seconds(what, float(p.ask(what)))
        for n, p in processes.items():
            best[n] = best[n].with_memory(int(p.ask("memory")))
            p.end()
    return best


def prepare(name: str, form: str, peers: str, folder: Path) -> list[Engine]:
    """The engines of a configuration, whose models are in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file, onnx, openvino = folder / "model.gguf", folder / "onnx", folder / "openvino_model.bin"

    def write(result: Path, module: str, *arguments: str) -> None:
        if not result.exists():
            subprocess.run([peers, "-m", f"benchmarks.llm.{module}", *arguments], check=True, cwd=ROOT)

    write(file, "random_model", name, form, str(file))
    write(onnx, "onnx_model", str(file), str(onnx))
    write(openvino, "openvino_model", str(file))
    build(file, folder)
    return [
        Engine("irtool", sys.executable, folder, folder / "net.bin"),
        Engine("llama_cpp", peers, file, file),
        Engine("onnxruntime_genai", peers, onnx, onnx / "model.onnx.data"),
        Engine("openvino_genai", peers, folder, openvino),
    ]


def results(chosen: Sequence[str], threads: Sequence[int], peers: str, models: Path, path: Path | None) -> list[Row]:
    """A row for each configuration, format and number of threads. Rows in the file at `path` are not measured again; it gets the others."""
    stored = read_json(path) if path is not None else {}
    rows = []
    for name, form in product(chosen, FORMATS):
        keys = {n: f"{name}, {form}, {n}" for n in threads}
        engines: list[Engine] = []
        for count, key in keys.items():
            if key not in stored:
                engines = engines or prepare(name, form, peers, models / f"{name}-{form}")
                size = (models / f"{name}-{form}" / "model.gguf").stat().st_size
                stored[key] = {"bytes": size, "engines": {n: asdict(m) for n, m in measure(engines, count).items()}}
                if path is not None:
                    write_json(path, stored)
            measured = {n: Measurement(**m) for n, m in stored[key]["engines"].items()}
            rows.append(Row(name, form, count, measured, stored[key]["bytes"]))
    return rows


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm", description=__doc__)
    parser.add_argument("--peers", required=True, help="the Python that has the packages of the peers, gguf and onnx")
    parser.add_argument("--only", default=",".join(CONFIGURATIONS), help="some of these")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--models", type=Path, default=ROOT / "build" / "llm", help="the folder for models and builds")
    parser.add_argument(
        "--rows", type=Path, help="a JSON file that measurements are kept in: those in it are not repeated"
    )
    parser.add_argument("--write", action="store_true", help="write docs/compare_llm.md and its chart")
    options = parser.parse_args()
    threads = [int(n) for n in options.threads.split(",")]
    rows = results(options.only.split(","), threads, options.peers, options.models.resolve(), options.rows)
    text = page(rows, list(divergence_rows()), options.peers, os.getloadavg()[0])
    print(text)
    if options.write:
        (ROOT / "docs" / "compare_llm.md").write_text(text, encoding="utf-8")
        (ROOT / "docs" / "compare_llm.svg").write_text(chart(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
