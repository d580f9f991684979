"""The command line: a table of architectures and exporters."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .configurations import ARCHITECTURES

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "build" / "architectures"
EXPORTERS = ("script", "dynamo")
"""torch's exporter by tracing (TorchScript), and the one on torch.export."""
TOLERANCE = 1e-4
"""Largest difference, relative to the largest element of an output."""


def main() -> None:
    """Exports what is missing, checks, prints a table; exit code 1 where anything does not agree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.architectures", description=__doc__)
    parser.add_argument("--only", default="", help="architectures, separated by commas")
    parser.add_argument("--exporters", default=",".join(EXPORTERS))
    parser.add_argument("--models", type=Path, default=MODELS, help="folder of the ONNX files, and of all results")
    parser.add_argument("--memory", type=int, default=6, help="gigabytes that a process may take")
    parser.add_argument("--seconds", type=int, default=300, help="that a process may take")
    parser.add_argument("--write", action="store_true", help="write docs/architectures.md")
    options = parser.parse_args()
    chosen = options.only.split(",") if options.only else list(ARCHITECTURES)
    unknown = [n for n in chosen if n not in ARCHITECTURES]
    if unknown:
        sys.exit(f"unknown architecture {unknown[0]}; there are {', '.join(ARCHITECTURES)}")
    results_path = options.models / "results.json"
    results: dict[str, dict[str, Any]] = json.loads(results_path.read_text("utf-8")) if results_path.exists() else {}
    for name in chosen:
        results.setdefault(name, {})
        for exporter in options.exporters.split(","):
            outcome = _result(name, exporter, options)
            results[name][exporter] = outcome
            print(f"{name} {exporter}: {_cell(outcome)}", flush=True)
            results_path.write_text(json.dumps(results), encoding="utf-8")
    if options.write:
        known = {name: results[name] for name in ARCHITECTURES if name in results}
        (ROOT / "docs" / "architectures.md").write_text(_page(known), encoding="utf-8")
    checked = [results[name][e] for name in chosen for e in options.exporters.split(",")]
    good, total = sum(map(_agrees, checked)), len(checked)
    print(f"{good} of {total} agree")
    sys.exit(good != total)


def _result(name: str, exporter: str, options: Any) -> dict[str, Any]:
    path = options.models / f"{name}.{exporter}.onnx"
    if not path.with_suffix(".npz").exists():
        output = _process(["export", name, str(options.models), exporter], options)
        if not path.with_suffix(".npz").exists():
            return {"stage": "export", "error": output.strip().splitlines()[-1] if output.strip() else "no word"}
    output = _process(["check", str(path)], options)
    try:
        return json.loads(output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"stage": "process", "error": output.strip()[-300:] or "it ended without a word: out of memory or time"}


def _process(command: list[str], options: Any) -> str:
    """What a process of this package says, which has a limit of memory and time, and a low priority."""

    def limit() -> None:
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_AS, (options.memory << 30, options.memory << 30))

    module = f"benchmarks.architectures.{command[0]}"
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", module, *command[1:]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=options.seconds,
            preexec_fn=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"more than {options.seconds} s"
    return done.stdout if command[0] == "check" and done.stdout else done.stdout + done.stderr


def _agrees(result: dict[str, Any]) -> bool:
    return result.get("stage") == "done" and result["difference"] <= TOLERANCE


def _cell(result: dict[str, Any]) -> str:
    if result.get("stage") != "done":
        return f"{result.get('stage')}: {result.get('error')}"
    word = "agrees" if _agrees(result) else "DIFFERS"
    return f"{word}, {result['difference']:.1e}" + ("" if result["static"] else ", extents open")


def _page(results: dict[str, dict[str, Any]]) -> str:
    packages = ", ".join(f"{n} {version(n)}" for n in ("torch", "transformers", "onnx", "onnxruntime"))
    rows = ["| Architecture | Class | " + " | ".join(EXPORTERS) + " |", "|---|---|" + "---|" * len(EXPORTERS)]
    for name, by in results.items():
        cells = " | ".join(_cell(by[e]).replace("|", "\\|") if e in by else "" for e in EXPORTERS)
        rows.append(f"| {name} | `{ARCHITECTURES[name].model}` | {cells} |")
    return f"""# Architectures

`python -m benchmarks.architectures --write` wrote this page, with {packages}.

Tiny configurations with random weights, scaled layer by layer so that all outputs are of about one, exported by both exporters of torch (`script`: `dynamo=False`, `dynamo`:
`dynamo=True`), imported, built as C (passes of level 3, the compiler at `-O1`), run, and compared with ONNX Runtime on the same file. The number is the
largest difference, relative to the largest element of the output; up to {TOLERANCE:.0e} it agrees.

{chr(10).join(rows)}
"""


if __name__ == "__main__":
    main()
