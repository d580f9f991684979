"""The cases of every operator through the exporters; those that do not come through are listed in `operator_cases.txt`.

A model in ONNX is read back, and its values are those of the case; a program in Relax is Python that compiles.
`python -m tests.exports.operator_cases` writes the list anew. It may only get shorter.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.driver.operator_cases import inputs_of, module_of
from irtool.exports import Request, parse_export
from irtool.exports.onnx.format import Onnx
from irtool.interp.evaluate import evaluate
from irtool.ir.values import value_leaves
from irtool.ops import operators
from irtool.ops.cases import Case, cases_of

LIST = Path(__file__).with_suffix(".txt")


def own_operators() -> list[str]:
    """The operators of irtool itself."""
    return [cls.name for cls in operators if cls.name not in operators.outside()]


def failures(name: str) -> Iterator[str]:
    """A line for each case of an operator that does not come through, and why."""
    for number, case in enumerate(c for c in cases_of(operators.get(name)) if not c.refusal):
        for form, check in (("onnx", _onnx_problem), ("relax", _relax_problem)):
            try:
                problem = check(case)
            except IrError as error:
                problem = error.diagnostics[0].message.partition(": ")[2] or error.diagnostics[0].message
            if problem:
                yield f"{form} {name} {number}: {problem}"


def _request(case: Case, file: str) -> tuple[irtool.Module, list[Any], Request]:
    """The module, its inputs, and the export; parameters of quantized operators are constants, as exporters ask for."""
    module = module_of(case)
    inputs = inputs_of(case, module)
    names = [p.name for p in module["main"].params]  # type: ignore[union-attr]
    weights = dict(list(zip(names, inputs, strict=True))[1:]) if case.operator.startswith("qnn.") else {}
    return module, inputs, Request(file, "main", {n: np.asarray(a) for n, a in weights.items()})


def _onnx_problem(case: Case) -> str:
    module, inputs, request = _request(case, "case.onnx")
    model, _ = Onnx().model(module, request)
    read, weights = irtool.from_onnx(model.SerializeToString())
    operands = dict(zip((p.name for p in module["main"].params), inputs, strict=True)) | weights  # type: ignore[union-attr]
    actual = value_leaves(irtool.evaluate(read, {p.name: operands[p.name] for p in read["main"].params}))  # type: ignore[union-attr]
    for got, want in zip(map(np.asarray, actual), map(np.asarray, value_leaves(evaluate(module, inputs))), strict=True):
        rough = 0.0 if want.dtype.kind in "biu" else 1e-2 if want.dtype.itemsize == 2 else 1e-4
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"{got.dtype}{list(got.shape)} for {want.dtype}{list(want.shape)}"
        if not np.allclose(got.astype("float64"), want.astype("float64"), rtol=rough, atol=rough, equal_nan=True):
            return "another result"
    return ""


def _relax_problem(case: Case) -> str:
    module, _, request = _request(case, "case.py")
    for file in parse_export("relax").write(module, request):
        if file.name.endswith(".py"):
            compile(b"".join(map(bytes, file.parts)), file.name, "exec")
    return ""


if __name__ == "__main__":
    LIST.write_text("".join(f"{line}\n" for name in own_operators() for line in failures(name)), encoding="utf-8")
