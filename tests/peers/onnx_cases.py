"""The cases of every operator in ONNX Runtime, beside the interpreter; those that differ are listed in `onnx_cases.txt`.

`python -m tests.peers.onnx_cases` writes the list anew. It may only get shorter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.exact_sums import exact_options
from irtool.diagnostics import InternalError, IrError
from irtool.driver.operator_cases import inputs_of, module_of
from irtool.exports import Request
from irtool.exports.onnx.format import Onnx
from irtool.interp.evaluate import evaluate
from irtool.ir.values import value_leaves
from irtool.ops import operators
from irtool.ops.cases import Case, cases_of

LIST = Path(__file__).with_suffix(".txt")


def run(model: Any, inputs: dict[str, Any]) -> list[Any]:
    """The outputs of a model in ONNX Runtime."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = exact_options()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    outputs: list[Any] = session.run(None, {i.name: np.asarray(inputs[i.name]) for i in session.get_inputs()})
    return outputs


def verdict(case: Case, opset: int) -> str:
    """What is different in ONNX Runtime: empty if nothing is."""
    module = module_of(case)
    inputs = inputs_of(case, module)
    names = [p.name for p in module["main"].params]
    by_name = dict(zip(names, inputs, strict=True))
    # Of bytes that are not constant, the runtime saturates sums on x86 without VNNI, whatever its options.
    multiplies_bytes = any(a.dtype in ("int8", "uint8") for a in inputs[:2]) and "dense" in case.operator
    weights = dict(list(by_name.items())[1:]) if case.operator.startswith("qnn.") or multiplies_bytes else {}
    expected = value_leaves(evaluate(module, inputs))
    try:
        model, _ = Onnx(opset).model(module, Request("case.onnx", "main", weights))
    except InternalError:
        raise
    except IrError as error:
        return error.diagnostics[0].message.partition(": ")[2]
    try:
        actual = run(model, by_name)
    except Exception as error:  # noqa: BLE001 - the classes of the runtime's errors are not public
        return "refused while running" if "Non-zero status" in str(error) else "no kernel"
    for got, want in zip(actual, map(np.asarray, expected), strict=True):
        rough = 0.0 if want.dtype.kind in "biu" else 1e-2 if want.dtype.itemsize == 2 else 1e-4
        if got.dtype != want.dtype or got.shape != want.shape:
            return "another type"
        if not np.allclose(got.astype("float64"), want.astype("float64"), rtol=rough, atol=rough, equal_nan=True):
            return "another result"
    return ""


def listed(opset: int = Onnx.opset) -> str:
    """A line for each case that does not come through."""
    lines = []
    for cls in operators:
        if cls.name in operators.outside():
            continue
        for number, case in enumerate(c for c in cases_of(cls) if not c.refusal):
            what = verdict(case, opset)
            if what:
                lines.append(f"{cls.name} {number}: {what}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    LIST.write_text(listed(), encoding="utf-8")
