"""Operators and networks of TensorFlow Lite against its own kernels, of the package ai-edge-litert."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.frontends.tflite.agreement import difference, outputs_of
from tests.frontends.tflite.cases import cases, operators

litert = pytest.importorskip("ai_edge_litert.interpreter")
pytest.importorskip("tflite")
pytestmark = pytest.mark.promise("networks in TensorFlow Lite")

SEEDS = (0, 1)
OPTIMISED = {
    "SUM int8": "the reference kernel writes no result where an axis has more than one element",
    "SUM int16": "the reference kernel writes no result where an axis has more than one element",
    "LOCAL_RESPONSE_NORMALIZATION float32": "the reference kernel leaves out the last element of each window",
}
"""Cases whose expected result is that of the optimised kernel, with the reason."""


def kernels_of(model: bytes, optimised: bool = False) -> litert.Interpreter:
    """An interpreter with the reference kernels; with the optimised ones where there is no other kernel, too."""
    kinds = litert.OpResolverType
    for kind in (kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES)[optimised:]:
        try:
            interpreter = litert.Interpreter(model_content=model, experimental_op_resolver_type=kind)
            interpreter.allocate_tensors()
            return interpreter
        except (RuntimeError, ValueError) as error:
            if "find op" not in str(error) or kind is kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES:
                raise
    raise AssertionError


def run(interpreter: litert.Interpreter, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    for detail, x in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("operator", operators())
def test_operators_agree(operator: str, seed: int) -> None:
    """Integers bit by bit, in the interpreter and in C."""
    for case in cases(seed, f"{operator} "):
        try:
            expected = run(kernels_of(case.model, case.name in OPTIMISED), case.inputs)
        except (RuntimeError, ValueError):
            continue  # no kernel takes that
        for compiled in (False, True):
            lacking = difference(outputs_of(case.model, case.inputs, compiled), expected, case.exact, case.tolerance)
            assert not lacking, f"{case.name}, compiled={compiled}: {lacking}"
