"""Writes a table of measurements that ships with irtool, from models that are tuned one after the other.

    python -m benchmarks.shipped_tables zen4 build/compare/*.onnx --time 3m [--openmp]

Each model's own table goes to build/tuned, where a later run goes on from it. The file in irtool/driver/shipped_tables must be there,
with its `for`: for a new processor, write it with no machines first. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import irtool
from irtool.driver.options import choose_options
from irtool.driver.shipped_tables import conditions

FOLDER = Path(irtool.__file__).parent / "driver" / "shipped_tables"


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("name", help="the file, without .json")
    options.add_argument("models", nargs="+", type=Path)
    options.add_argument("--time", default="3m", help="for each model")
    options.add_argument("--openmp", action="store_true")
    options.add_argument("--keep", type=Path, default=Path("build/tuned"), metavar="DIR")
    arguments = options.parse_args()
    path = FOLDER / f"{arguments.name}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    arguments.keep.mkdir(parents=True, exist_ok=True)
    target = choose_options("c", ({"mcpu": "native", "openmp": arguments.openmp},)).backend.machine()
    stages = data["machines"].setdefault(conditions(target.vector_bytes, arguments.openmp), {"stages": {}})["stages"]
    for model in arguments.models:
        table = arguments.keep / f"{model.stem}{'.threads' if arguments.openmp else ''}.json"
        command = [
            "tune",
            str(model),
            "-o",
            str(table),
            "--time",
            arguments.time,
            *(["--openmp"] if arguments.openmp else []),
        ]
        done = subprocess.run([sys.executable, "-m", "irtool", *command], check=False)
        if done.returncode:
            sys.exit(f"{model} was not tuned")
        merge(stages, json.loads(table.read_text(encoding="utf-8")))
    path.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    better = sum(e["choice"] != e["untuned"] for e in stages.values())
    print(f"{path}: {len(stages)} stages, {better} with another choice than without a table")


def merge(stages: dict[str, Any], table: dict[str, Any]) -> None:
    """Takes over the best choices of a table of one machine, without its measurements."""
    (machine,) = table["machines"].values()
    for key, entry in machine["stages"].items():
        stages[key] = {k: v for k, v in entry.items() if k != "trials"}


if __name__ == "__main__":
    main()
