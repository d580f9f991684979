"""Tries one model: `python -m benchmarks.models.check PACKAGE FILE.onnx FOLDER` prints a line of JSON."""

from __future__ import annotations

import fnmatch
import json
import subprocess
import sys
import warnings
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from ..compare.exact_sums import exact_options
from .inputs import inputs_of
from .packages import PACKAGES, Row
from .record import REFUSED

DRAWS = 2
"""Sets of inputs that a model is compared on."""
SMALLEST = 1e-3
"""Differences are relative to this number where an output has no larger element, such as the probability of an absent class."""
NUDGE = 1e-6
"""Relative change of inputs that shows the sensitivity of ONNX Runtime's own outputs."""
NUDGES = 16
FAIR = 2.0
"""A difference beyond the tolerance is no fault if ONNX Runtime's outputs change by a part of it: recurrent networks that round to bytes
at each step carry one number that is rounded otherwise through all later steps."""
TURNS = 5
_IRTOOL = [sys.executable, "-P", "-m", "irtool"]


class Refused(Exception):
    """`irtool build` does not take the model."""


def main() -> None:
    package, model, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    result: dict[str, Any] = {"commands": {}, "size": model.stat().st_size}
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _commands(model, folder, result["commands"])
        _compare(model, _row_of(package, model), folder, result)
    except Exception as error:  # noqa: BLE001  # any failure is the result
        message = " ".join(str(error).split())[:300]
        result["error"] = message if isinstance(error, Refused) else f"{type(error).__name__}: {message}"
    print(json.dumps(result))


def _row_of(package: str, model: Path) -> Row:
    rows = next(p.rows for p in PACKAGES if p.name == package)
    return next((r for r in rows if fnmatch.fnmatch(str(model), r.pattern)), Row("*"))


def _commands(model: Path, folder: Path, answers: dict[str, str]) -> None:
    """What the commands that need no extents say of the model as it is: "" if they answer, otherwise their error."""
    text = folder / "model.relay"
    for name, options in {
        "info": [],
        "check": [],
        "viz": ["-o", str(folder / "model.txt"), "--format=text"],
        "opt": ["-p", "SimplifyInference", "-o", str(folder / "opt.relay")],
        "import": ["-o", str(text)],
        "export": ["-o", str(folder / "exported.onnx")],
    }.items():
        done = _irtool(name, str(model), *options)
        answers[name] = "" if done.returncode == 0 else _error(done)


def _irtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_IRTOOL, *arguments], capture_output=True, text=True, check=False)


def _error(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in done.stderr.splitlines() if "error" in line]
    return f"exit code {done.returncode}: {(lines or [done.stderr.strip()[-200:]])[0][-240:]}"


def _compare(model: Path, row: Row, folder: Path, result: dict[str, Any]) -> None:
    import onnxruntime

    import irtool

    warnings.filterwarnings("ignore")
    onnxruntime.set_default_logger_severity(4)
    options = exact_options()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    draws = [inputs_of(session, row, seed) for seed in range(DRAWS)]
    start = perf_counter()
    run = _irtool(
        "build",
        str(model),
        "-o",
        str(folder / "out"),
        "--name",
        "model",
        "-q",
        *_options(session, row, draws[0], folder),
    )
    result["build"] = perf_counter() - start
    if run.returncode:
        raise Refused(f"{REFUSED}{_error(run)}")
    artifact = irtool.load(str(folder / "out"))
    differences = [_difference(session, artifact, row, inputs) for inputs in draws]
    result["difference"] = max(differences)
    result["right"] = all(
        d <= row.tolerance or d <= FAIR * _sensitivity(session, inputs) for d, inputs in zip(differences, draws)
    )
    result["ratio"] = _ratio(session, artifact, row, draws[0])


def _options(session: Any, row: Row, inputs: dict[str, np.ndarray], folder: Path) -> list[str]:
    """Extents that the row gives; those that it leaves to irtool are left to irtool."""
    flags = [f"--dim={name}={extent}" for name, extent in row.dims.items() if name in _symbols(session)]
    flags += [f"--shape={name}={','.join(map(str, shape))}" for name, shape in row.shapes.items() if name in inputs]
    for name in row.fixed:
        if name in inputs:
            flags.append(f"--value={name}={inputs[name].item()}")
    return flags


def _symbols(session: Any) -> set[str]:
    return {extent for i in session.get_inputs() for extent in i.shape if isinstance(extent, str)}


def _run(artifact: Any, row: Row, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    outputs = artifact.run([a for name, a in inputs.items() if name not in row.fixed])
    return [np.asarray(o) for o in outputs] if isinstance(outputs, (tuple, list)) else [np.asarray(outputs)]


def _difference(session: Any, artifact: Any, row: Row, inputs: dict[str, np.ndarray]) -> float:
    return _largest(session.run(None, inputs), _run(artifact, row, inputs))


def _sensitivity(session: Any, inputs: dict[str, np.ndarray]) -> float:
    """The largest difference of ONNX Runtime's outputs for inputs that differ by `NUDGE`."""
    expected = session.run(None, inputs)
    rng = np.random.default_rng(0)

    def nudged(a: np.ndarray) -> np.ndarray:
        return (a * (1 + NUDGE * rng.standard_normal(a.shape))).astype(a.dtype) if a.dtype.kind == "f" else a

    return max(_largest(expected, session.run(None, {k: nudged(a) for k, a in inputs.items()})) for _ in range(NUDGES))


def _largest(expected: list[Any], outputs: list[Any]) -> float:
    """The largest difference of two runs, relative to the largest element of each output. Raises ValueError if they cannot be compared."""
    if len(outputs) != len(expected):
        raise ValueError(f"{len(outputs)} outputs, not {len(expected)}")
    largest = 0.0
    for k, (w, o) in enumerate(zip(expected, outputs, strict=True)):
        w, o = np.asarray(w), np.asarray(o)
        if o.shape != w.shape:
            raise ValueError(f"output {k} has the shape {o.shape}, not {w.shape}")
        if w.size:
            w, o = w.astype("float64"), o.astype("float64")
            if not np.array_equal(np.isfinite(w), np.isfinite(o)):
                raise ValueError(f"output {k} is finite where ONNX Runtime's is not, or the other way round")
            w, o = w[np.isfinite(w)], o[np.isfinite(o)]
            largest = max(largest, float(np.abs(w - o).max(initial=0) / max(np.abs(w).max(initial=0), SMALLEST)))
    return largest


def _ratio(session: Any, artifact: Any, row: Row, inputs: dict[str, np.ndarray]) -> float:
    """The processor time of irtool over that of ONNX Runtime: the least of turns, one thread."""
    least = [float("inf"), float("inf")]
    for _ in range(TURNS):
        for k, run in enumerate((lambda: _run(artifact, row, inputs), lambda: session.run(None, inputs))):
            start = thread_time()
            count = 0
            while count == 0 or thread_time() - start < 0.02:
                run()
                count += 1
            least[k] = min(least[k], (thread_time() - start) / count)
    return least[0] / least[1]


if __name__ == "__main__":
    main()
