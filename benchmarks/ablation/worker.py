"""Measures switches of one network: `python -m benchmarks.ablation.worker MODEL NAME PRECISION FOLDER SECONDS SWITCH,…`.

Each result goes into the network's record at once. What the side-by-side has as the precision int8 is a quantized file, which is built as
it is; other precisions are those of `irtool build --precision`. Of a single operator, MODEL is not read.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from ..compare.precisions import PRECISIONS
from ..operators.table import BY_NAME as OPERATORS
from .build import Build, Builder, switches
from .record import Record
from .turns import compare


def main() -> None:
    """Builds the network with everything, then without one after the other."""
    model, name, precision, folder, seconds, chosen = sys.argv[1:7]
    about = PRECISIONS[precision]
    record = Record(Path(folder), name, precision)
    if name in OPERATORS:
        builder = Builder(OPERATORS[name].module(), {}, OPERATORS[name].inputs())
    else:
        builder = Builder.of_onnx(about.model(Path(model)), about.build.get("precision", "float32"))
    baseline = builder.build()
    active = [s for s in switches() if s in baseline.active]
    record.facts = {**_sizes(baseline), "active": active}
    record.save()
    artifact: Any = None
    measured: dict[str, str] = {baseline.digest: ""}
    for switch in chosen.split(","):
        started = time.perf_counter()
        if switch not in active:
            record.switches[switch] = {"same": True}
        else:
            artifact = artifact or baseline.compile()
            record.switches[switch] = _result(builder, switch, artifact, measured, record, float(seconds))
            wrong = record.switches[switch].get("difference", 0.0) > about.difference
            record.switches[switch] |= {"wrong": True} if wrong else {}
            print(f"{switch}: {_summary(record.switches[switch])}, {time.perf_counter() - started:.0f} s", flush=True)
        record.save()


def _result(
    builder: Builder, switch: str, artifact: Any, measured: dict[str, str], record: Record, seconds: float
) -> dict[str, Any]:
    """The result of one switch. `measured`: the switch that each digest has been measured for, none for that of the baseline."""
    build: Build | None = None
    try:
        build = builder.build([switch])
        if build.digest in measured:
            other = measured[build.digest]
            return {"same": True} if not other else {**record.switches[other], "as": other}
        other_artifact = build.compile()
        result = {**compare(artifact, other_artifact, builder.inputs, seconds), **_sizes(build)}
        measured[build.digest] = switch
        return result
    except Exception as error:  # noqa: BLE001  # any failure is the result
        return {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
    finally:
        if build is not None:
            build.close()


def _sizes(build: Build) -> dict[str, int]:
    return {
        "c_bytes": build.c_bytes,
        "arena_bytes": build.report["arena_bytes"],
        "weight_bytes": build.report["weight_bytes"],
        "kernels": len(build.report["kernels"]),
    }


def _summary(result: dict[str, Any]) -> str:
    if "ratio" not in result:
        return result.get("failed", "same")
    wrong = ", WRONG" if result.get("wrong") else ""
    return f"{result['ratio']:.3f} of {result['with']:.3f} ms, difference {result['difference']:.0e}{wrong}"


if __name__ == "__main__":
    main()
