"""TensorFlow Lite's own kernels, of the package ai-edge-litert."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

OPTIMISED = {
    "SUM int8": "the reference kernel writes no result where it reduces more than one element",
    "SUM int16": "the reference kernel writes no result where it reduces more than one element",
    "LOCAL_RESPONSE_NORMALIZATION float32": "the reference kernel leaves out the last element of each window",
}
"""Cases whose expected result is that of the optimised kernel, with the reason."""


def kernels_of(model: bytes, optimised: bool = False) -> Any:
    """An interpreter with the reference kernels; with the optimised ones where there is no other kernel, too.

    Raises RuntimeError or ValueError for a model that no kernel takes.
    """
    from ai_edge_litert import interpreter as litert

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


def run(interpreter: Any, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of one call."""
    for detail, x in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]
