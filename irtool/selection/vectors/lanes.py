"""The interface between the lowerings of single dtypes and the lowering of their loop."""

from __future__ import annotations

from typing import Protocol

from ...tir.expr import Binary, Cast, Expr, Load
from ...tir.simplify import Simplifier
from . import ir
from .ir import Body, Value


class LaneLowering(Protocol):
    """The lowering of one vectorized loop of `count` steps to `lanes` lanes."""

    simplify: Simplifier
    count: int
    lanes: int

    def varies(self, e: Expr) -> bool: ...

    def stride(self, index: Expr) -> int | None: ...

    def base(self, index: Expr) -> Expr: ...

    def register(self, x: Load) -> ir.Register | None: ...

    def masked(self, mask: Value, width: int, body: Body) -> Value: ...

    def cast(self, e: Cast, value: Value, body: Body) -> Value: ...

    def shift_function(self, e: Binary) -> str: ...
