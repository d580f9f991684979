"""Calls of functions that PyTorch has written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import Type
from ..base import Operator, Reporter, operator
from ..shapes import is_unknown


@operator("torch_op", attrs="TorchFunctionAttrs", level=99, variadic=True, vendor="PyTorch")
@dataclass(frozen=True)
class TorchOp(Operator):
    """A tensor function serialized by PyTorch (`serialized_function`, `len` bytes); only PyTorch can run it."""

    serialized_function: str = ""
    len: int = -1

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of an annotation around the call: the function, which decides, is known to PyTorch alone."""
        return None if is_unknown(reporter.out) else reporter.out
