"""What exporters write for the cases of every operator, in digits: `python -m tests.exports.texts` writes them to `texts.txt`.

One line a case: for each format six digits of all it writes, banners left out; or the code of the error. Where digits differ,
`python -m tests.exports.texts CASE FORMAT` prints the text: compare it with that of the commit before.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from irtool.diagnostics import IrError
from irtool.driver.operator_cases import inputs_of, module_of
from irtool.exports import Request, parse_export
from irtool.exports.onnx.format import Onnx
from irtool.ir import Module
from irtool.ops import operators
from irtool.ops.cases import Case, cases_of

FILE = Path(__file__).parent / "texts.txt"


@functools.cache
def cases() -> dict[str, Case]:
    """The cases of operators by names; one in which parameters are constants, too, for operators that ask for some."""
    found: dict[str, Case] = {}
    for cls in operators:
        if cls.name in operators.outside():
            continue
        for number, case in enumerate(c for c in cases_of(cls) if not c.refusal):
            found[f"{cls.name} {number}"] = case
            if cls.name.startswith("qnn."):
                found[f"{cls.name} {number} of constants"] = case
    return found


@functools.cache
def expected() -> dict[str, str]:
    """The lines of `texts.txt`."""
    return {text.partition(" | ")[0]: text for text in FILE.read_text(encoding="utf-8").splitlines()}


def written(key: str) -> Iterator[tuple[str, str, bytes]]:
    """The formats, and what is written of a case in each, as text and as bytes, or the code of the error and nothing."""
    case = cases()[key]
    module = module_of(case)
    weights = {}
    if key.endswith(" of constants"):
        names = [p.name for p in module["main"].params]  # type: ignore[union-attr]
        weights = {n: np.asarray(v) for n, v in list(zip(names, inputs_of(case, module), strict=True))[1:]}
    for form, text in (("onnx", _onnx), ("relax", _relax)):
        try:
            yield form, *text(module, weights)
        except IrError as error:
            code = error.diagnostics[0].code
            yield form, "without a code" if code is None else f"{code.name} {code.__name__}", b""


def _onnx(module: Module, weights: dict[str, np.ndarray]) -> tuple[str, bytes]:
    model, _ = Onnx().model(module, Request("case.onnx", "main", weights))
    parts = [model.graph, *model.functions]
    return "\n".join(map(str, parts)), b"".join(p.SerializeToString(deterministic=True) for p in parts)


def _relax(module: Module, weights: dict[str, np.ndarray]) -> tuple[str, bytes]:
    files = parse_export("relax").write(module, Request("case.py", "main", weights))
    text = next(b"".join(map(bytes, f.parts)).decode() for f in files if f.name.endswith(".py"))
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return text, text.encode()


def line(key: str) -> str:
    """What `texts.txt` says of a case, or would say of one that is new."""
    said = [f"{form}: {hashlib.sha256(made).hexdigest()[:6] if made else text}" for form, text, made in written(key)]
    return " | ".join([key, *said])


if __name__ == "__main__":
    if sys.argv[1:]:
        print(next(text for form, text, _ in written(sys.argv[1]) if form == sys.argv[2]))
    else:
        FILE.write_text("".join(f"{line(key)}\n" for key in cases()), encoding="utf-8")
