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

import irtool

from ..json_file import read_json, write_json
from ..paused_process import PausedProcess
from .configurations import CONFIGURATIONS, FORMATS
from .divergence import rows as divergence_rows
from .own_build import build
from .page import Measurement, Row, page

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
    """The measurements of engines, by name: the best of turns."""
    environment = {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory(prefix="irtool-llm-") as folder:
        processes = {}
        for e in engines:
            place = Path(folder, e.name)
            place.mkdir()
            arguments = [e.name, str(e.model), str(e.weights), str(threads)]
            processes[e.name] = PausedProcess("benchmarks.llm.worker", arguments, place, environment, e.python)
            if processes[e.name].about is None:
                raise SystemExit(f"{e.name}: {processes[e.name].failure()}")
        best = {n: Measurement(first=float(p.about)) for n, p in processes.items()}
        for _ in range(TURNS):
            for what in ("decode", "prefill"):
                for n, p in processes.items():
                    best[n] = best[n].with_seconds(what, float(p.ask(what)))
        for n, p in processes.items():
            best[n] = best[n].with_memory(int(p.ask("memory")))
            p.end()
    return best


def prepare(name: str, form: str, peers: str, folder: Path) -> Path:
    """The GGUF file of a configuration in a folder, which gets the build of irtool, too."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "model.gguf"
    if not file.exists():
        subprocess.run([peers, "-m", "benchmarks.llm.random_model", name, form, str(file)], check=True, cwd=ROOT)
    build(file, folder)
    return file


def results(chosen: Sequence[str], threads: Sequence[int], peers: str, models: Path, path: Path | None) -> list[Row]:
    """A row for each configuration, format and number of threads. Rows in the file at `path` are not measured again; it gets the others."""
    stored = read_json(path) if path is not None else {}
    rows = []
    for name, form in product(chosen, FORMATS):
        keys = {n: f"{name}, {form}, {n}" for n in threads}
        file: Path | None = None
        for count, key in keys.items():
            if key not in stored:
                folder = models / f"{name}-{form}"
                file = file or prepare(name, form, peers, folder)
                own = Engine("irtool", sys.executable, folder, folder / "net.bin")
                measured = measure([own, Engine("llama_cpp", peers, file, file)], count)
                stored[key] = {"bytes": file.stat().st_size, "engines": {n: asdict(m) for n, m in measured.items()}}
                if path is not None:
                    write_json(path, stored)
            engines = {n: Measurement(**m) for n, m in stored[key]["engines"].items()}
            rows.append((name, form, count, engines, stored[key]["bytes"]))
    return rows


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm", description=__doc__)
    parser.add_argument("--peers", required=True, help="the Python that has llama-cpp-python and gguf")
    parser.add_argument(
        "--only", default="TinyStories-15M,SmolLM-135M,Qwen2.5-0.5B", help=f"some of {', '.join(CONFIGURATIONS)}"
    )
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--models", type=Path, default=ROOT / "build" / "llm", help="the folder for models and builds")
    parser.add_argument(
        "--rows", type=Path, help="a JSON file that measurements are kept in: those in it are not repeated"
    )
    parser.add_argument("--write", action="store_true", help="write docs/compare_llm.md")
    options = parser.parse_args()
    threads = [int(n) for n in options.threads.split(",")]
    rows = results(options.only.split(","), threads, options.peers, options.models.resolve(), options.rows)
    text = page(rows, list(divergence_rows()), options.peers, os.getloadavg()[0], irtool.__version__)
    print(text)
    if options.write:
        (ROOT / "docs" / "compare_llm.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
