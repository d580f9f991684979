"""A plug-in as a user writes one: an operator, a pass, a code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irtool.diagnostics import Code, IrError
from irtool.ir import Call, Expr, Function, Module, Op, TensorType, Type, rewrite
from irtool.ops import Operator, RelationError, Reporter, call, operator
from irtool.passes import FunctionPass, PassContext, register_pass
from irtool.plugin import code


@code("BOARD1")
class TooLarge(Code):
    """A tensor that the board has no memory for.

    Split the module.
    """


@operator("board.swish", "data")
@dataclass(frozen=True)
class Swish(Operator):
    """`x * sigmoid(beta * x)` of each element."""

    beta: float = 1.0

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the argument."""
        (data,) = types
        if isinstance(data, TensorType) and not data.dtype.startswith("float"):
            raise RelationError(f"data must hold floating-point numbers, not {data.dtype}")
        return data if isinstance(data, TensorType) else None

    def evaluate(self, x: Any) -> Any:
        return (x / (1 + np.exp(-self.beta * x))).astype(x.dtype)


@register_pass("UseSwish", level=1)
@dataclass(frozen=True)
class UseSwish(FunctionPass):
    """Replaces `sigmoid` by `board.swish`."""

    beta: float = 1.0

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, self._leave)

    def _leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, Call) and isinstance(new.op, Op) and new.op.name == "sigmoid":
            if len(new.args) != 1:
                raise IrError("sigmoid takes one argument", new.span, code=TooLarge)
            return call("board.swish", new.args[0], beta=self.beta)
        return new
