"""The state of the lowering of a function: known values and refusals."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from ..diagnostics import Diagnostic, IrError
from ..interp.values import Data
from ..ir import Call, Constructor, Expr, Function, GlobalVar, Var
from ..tir.program import Slot
from .blocks import Blocks
from .mistakes import NoCounterpart
from .shared import ModuleLowering
from .values import REFUSED, Closure, Value


class FunctionState:
    """The state of the lowering of one function.

    Attributes:
        name: of the function, in the program.
        whole: the state that all functions of the module share.
        blocks: the steps so far, and the values of variables and expressions.
        active: functions that are being lowered in place, each with how deep in branches that began.
    """

    def __init__(self, whole: ModuleLowering, name: str, closure: Closure) -> None:
        self.whole = whole
        self.name = name
        self.blocks = Blocks()
        self.blocks.know_only(closure.captured)
        self.active: list[tuple[Function, int]] = []

    def value(self, root: Expr) -> Generator[Any, Any, Value]:
        """The value of an expression; steps that compute it are added to the innermost block."""
        raise NotImplementedError

    def construct(self, constructor: Constructor, args: Sequence[Expr], e: Expr) -> Value:
        """The data that a constructor makes."""
        return Data(constructor, [self.known_value(a) for a in args])

    def known_value(self, e: Expr) -> Value:
        """The value of an operand; a constructor that stands alone is the data it makes."""
        if isinstance(e, Constructor):
            if e.inputs:
                raise IrError(
                    f"the constructor {e.name} is used as a function: that has no counterpart in C",
                    e.span,
                    code=NoCounterpart,
                )
            return self.construct(e, (), e)
        return e if isinstance(e, GlobalVar) else self.blocks.find(e)

    def refuse(self, message: str, e: Expr, help: str = "") -> Value:
        """Notes that an expression has no counterpart."""
        self.whole.problems.append(Diagnostic(message, e.span, help=help, code=NoCounterpart))
        return REFUSED

    def refuse_value(self, message: str, e: Expr) -> Value:
        """The same where it would have one, were the inputs constants."""
        self.whole.depends_on_values = True
        return self.refuse(message, e, "give those inputs as weights, so that they are known when compiling")

    def callee(self, e: Call) -> Closure | GlobalVar | Slot | None:
        """The function that a call applies, as far as it is known."""
        is_value = isinstance(e.op, Var | Function) or self.whole.in_region
        callee: Any = self.blocks.find(e.op) if is_value and not isinstance(e.op, GlobalVar) else e.op
        known = Closure | GlobalVar | Slot if self.whole.in_region else Closure | GlobalVar
        return callee if isinstance(callee, known) else None
