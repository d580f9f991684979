"""dropout, which does nothing in inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import te
from ...deferred import np
from ...ir import TensorType, TupleType, Type
from ..base import Operator, Pattern, Reporter, operator
from ..partial import meet
from ..shapes import tensor


@operator("nn.dropout", "data", pattern=Pattern.OPAQUE, attrs="DropoutAttrs", level=1, stateful=True)
@dataclass(frozen=True)
class Dropout(Operator):
    """A pair: the data, unchanged as in inference, and the mask, ones where an element is kept (all of them)."""

    precision = "follow"

    rate: float = 0.5

    one_dtype = ("data", "result")

    def relate(self, types: Sequence[Type], reporter: Reporter) -> TupleType | None:
        """A tuple of the data's type and the same again, for the mask."""
        data = tensor(types[0], "the data")
        if data is None:
            return None
        tensor_type = TensorType(data.shape, data.dtype)
        return TupleType((tensor_type, tensor_type))

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        one = meet(args[0], *(out if isinstance(out, list) else ()))
        return [one], [one, one]

    def evaluate(self, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return data, np.ones_like(data)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        unchanged = te.compute(data.shape, lambda *i: data[i], name="dropout", tag="elemwise")
        return [unchanged, te.compute(data.shape, lambda *i: te.const(1, data.dtype), name="mask", tag="elemwise")]
