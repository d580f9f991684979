"""The command line: a line for each model, and the page of them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .download import Unavailable, models_of
from .packages import PACKAGES, Package
from .page import page, share
from .record import ABSENT, Record, Result, answers, is_right

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "build" / "models"
BAR = 0.98
"""The least share of models that are right."""


def main() -> None:
    """Downloads what is missing, tries, prints a line each; exit code 1 below the bar, or if a command does not answer.

    Results are kept, so a run that was interrupted goes on where it ended, and runs of different packages can go on side by side.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("--only", default="", help="packages, separated by commas")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of the wheels, models and results")
    parser.add_argument("--seconds", type=int, default=900, help="that a model may take")
    parser.add_argument("--again", action="store_true", help="try models again whose result is known")
    parser.add_argument(
        "--wrong", action="store_true", help="try models again that were not right, or where a command failed"
    )
    parser.add_argument("--write", action="store_true", help="write docs/models.md")
    options = parser.parse_args()
    records = [Record(options.models / "results", package) for package in _chosen(options.only)]
    for record in records:
        for name, result in _results(record, options):
            record.add(name, result)
            print(f"{record.package.name} {name}: {_line(result)}", flush=True)
    if options.write:
        (ROOT / "docs" / "models.md").write_text(page(records), encoding="utf-8")
    results = [result for record in records for result in record.models.values()]
    answering = sum(map(answers, results))
    print(
        f"{sum(map(is_right, results))} of {len(results)} right; every command answers on {answering} of {len(results)}"
    )
    sys.exit(share(results) < BAR or answering < len(results))


def _chosen(only: str) -> list[Package]:
    known = {p.name: p for p in PACKAGES}
    names = only.split(",") if only else list(known)
    if unknown := [n for n in names if n not in known]:
        sys.exit(f"unknown package {unknown[0]}; there are {', '.join(known)}")
    return [known[n] for n in names]


def _results(record: Record, options: Any) -> Iterator[tuple[str, Result]]:
    """The name and the result of each model of the package whose result is not known, or is wanted anew."""
    try:
        models = models_of(record.package, options.models)
    except Unavailable as error:
        record.keep(set())
        yield ABSENT, {"commands": {}, "error": str(error), "size": 0}
        return
    names = {_short(model, models): model for model in models}
    record.keep(set(names))
    for name, model in names.items():
        result = record.models.get(name)
        wanting = result is None or (options.wrong and not (is_right(result) and answers(result)))
        if options.again or wanting:
            yield name, _try(record.package, model, options)


def _short(model: Path, models: list[Path]) -> str:
    """The name of a model: with its folder, if another one of the package has the same name."""
    same = [m for m in models if m.stem == model.stem]
    return model.stem if len(same) == 1 else f"{model.parent.name}/{model.stem}"


def _try(package: Package, model: Path, options: Any) -> Result:
    place = options.models / "tried" / package.name
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.models.check", package.name, str(model), str(place)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=options.seconds,
            check=False,
            preexec_fn=lambda: os.nice(5),
        )
        result = json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        result = {"commands": {}, "error": f"more than {options.seconds} s"}
    except (ValueError, IndexError):
        result = {"commands": {}, "error": (done.stderr.strip() or "it ended without a word")[-300:]}
    shutil.rmtree(place, ignore_errors=True)
    result.setdefault("size", model.stat().st_size)
    return result


def _line(result: Result) -> str:
    silent = [f"{name}: {error}" for name, error in result["commands"].items() if error]
    values = result.get("error")
    if values is None:
        word = "right" if is_right(result) else "DIFFERS"
        values = f"{word}, {result['difference']:.0e}; {result['ratio']:.2f} of ONNX Runtime's time"
    return "; ".join([values, *silent])


if __name__ == "__main__":
    main()
