"""Writes docs/compare_web.md: `python -m benchmarks.web --ort FOLDER [--write] [NETWORK …]`.

FOLDER has node_modules with onnxruntime-web. Both engines run in Node with one thread, each measurement in a process of its own, in turns.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

from ..compare.export import export
from .networks import NETWORKS

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "compare_web.md"
_ENGINE_FILES = ("ort-wasm-simd-threaded.wasm", "ort-wasm-simd-threaded.mjs", "ort.wasm.min.mjs")
"""The files of onnxruntime-web that a page with its WebAssembly engine loads."""
_TURNS = 3
_LEAST_SECONDS = 2.0

_HEAD = """# In browsers beside onnxruntime-web

Networks with random weights in float32, built by `irtool build --emit=wasm` (`--mcpu={level}`, compiled by {compiler}), beside onnxruntime-web {version}, backend
`wasm`, in Node {node} with one thread. `make compare-web` writes this page.

- Time: the median of runs, the least of {turns} processes.
- First result: from the import of the engine to the first outputs, files read from disk.
- Download: engine and model before compression, of irtool `NAME.wasm` and `NAME.mjs`; of onnxruntime-web `{engine}` and the ONNX file.
- Difference: the largest one between both outputs, relative to the largest output.
"""


def build(name: str, folder: Path, level: str) -> dict[str, Any]:
    """Builds a network into a folder with its ONNX file and its inputs; the sizes of the files."""
    import numpy as np

    import irtool

    model = export(NETWORKS[name], name, folder)
    arrays = dict(np.load(folder / f"{name}.npz"))
    for n, array in arrays.items():
        array.tofile(folder / f"{n}.raw")
    rows = [{"name": n, "dtype": str(a.dtype), "shape": list(a.shape), "file": f"{n}.raw"} for n, a in arrays.items()]
    (folder / "inputs.json").write_text(json.dumps(rows))
    module, params = irtool.from_onnx(model)
    artifact = irtool.build(
        module, params, emit="wasm", name=name, out_dir=folder, mcpu=level, flags={"fallback": False}
    )
    return {**artifact.report["files"], "weights": artifact.report["plain_weight_bytes"], "model": model.stat().st_size}


def measure(engine: str, name: str, folder: Path, ort: Path, runs: int, options: list[str]) -> dict[str, float]:
    """The times of one process in milliseconds."""
    script = ort / "measure.mjs"
    script.write_text((Path(__file__).parent / "measure.mjs").read_text())
    command = ["node", *options, str(script), engine, str(folder), name, str(runs), str(folder / f"{engine}.out")]
    done = subprocess.run(command, cwd=ort, capture_output=True, text=True, check=True, timeout=600)
    return json.loads(done.stdout.splitlines()[-1])


def difference(folder: Path) -> float:
    """The largest difference of the outputs, relative to the largest number."""
    import numpy as np

    own, other = (np.fromfile(folder / f"{e}.out", "float32") for e in ("irtool", "ort"))
    return float(abs(own - other).max() / abs(other).max())


def row(name: str, folder: Path, ort: Path, level: str) -> tuple[str, tuple[float, float, float]]:
    """The row of a network, and its ratios: time, first result, download."""
    sizes = build(name, folder, level)
    options = ["--experimental-wasm-relaxed-simd"] if level == "wasm-relaxed-simd" else []
    once = measure("irtool", name, folder, ort, 3, options)["median"]
    runs = max(5, min(2000, math.ceil(1e3 * _LEAST_SECONDS / once)))
    best: dict[str, dict[str, float]] = {}
    for _ in range(_TURNS):
        for engine in ("irtool", "ort"):
            times = measure(engine, name, folder, ort, runs, options)
            best[engine] = {k: min(v, best.get(engine, times)[k]) for k, v in times.items()}
    own = sizes[f"{name}.wasm"] + sizes[f"{name}.mjs"]
    dist = ort / "node_modules" / "onnxruntime-web" / "dist"
    other = sum((dist / f).stat().st_size for f in _ENGINE_FILES) + sizes["model"]
    ratios = [best["irtool"][k] / best["ort"][k] for k in ("median", "first")]
    cells = [NETWORKS[name].title]
    for key, ratio in zip(("median", "first"), ratios, strict=True):
        cells += [f"{best['irtool'][key]:.3g}", f"{best['ort'][key]:.3g}", f"{ratio:.2f}"]
    share = own / sizes["weights"]
    cells += [f"{own / 1e6:.2f}", f"{other / 1e6:.2f}", f"{share:.3f}", f"{difference(folder):.1e}"]
    return f"| {' | '.join(cells)} |", (ratios[0], ratios[1], share)


def main() -> None:
    """Exports what is missing, measures, prints; with --write into docs, too."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.web", description=__doc__)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"some of {', '.join(NETWORKS)}")
    parser.add_argument("--ort", type=Path, required=True, help="the folder with node_modules")
    parser.add_argument("--models", type=Path, default=_ROOT / "build" / "web", help="the folder for models and builds")
    parser.add_argument("--mcpu", default="wasm-simd128")
    parser.add_argument("--write", action="store_true", help="write docs/compare_web.md")
    chosen = parser.parse_args()
    from irtool.backends.c.wasm.tools import find_compiler

    ort = chosen.ort.resolve()
    package = json.loads((ort / "node_modules" / "onnxruntime-web" / "package.json").read_text())
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    compiler = os.path.basename((find_compiler("") or ["nothing"])[0])
    lines = [
        _HEAD.format(
            level=chosen.mcpu,
            compiler=compiler,
            version=package["version"],
            node=node,
            turns=_TURNS,
            engine="`, `".join(_ENGINE_FILES),
        ),
        "| network | time, ms | onnxruntime-web | ratio | first result, ms | onnxruntime-web | ratio | download, MB | onnxruntime-web | of the weights | difference |",
        "| --- " + "| ---: " * 10 + "|",
    ]
    print("\n".join(lines), flush=True)
    for name in chosen.networks or NETWORKS:
        text, _ = row(name, (chosen.models / name).resolve(), ort, chosen.mcpu)
        print(text, flush=True)
        lines.append(text)
    if chosen.write:
        _PAGE.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
