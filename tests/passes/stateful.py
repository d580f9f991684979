"""Random modules whose functions read and write references."""

from __future__ import annotations

from typing import Any

import numpy as np

from irtool.ir import (
    Constant,
    Expr,
    Function,
    Let,
    Module,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    Tuple,
    TupleType,
    Type,
    scalar,
)
from tests.generators import Maker


class StatefulMaker(Maker):
    """Draws modules of three functions, two of which read and write a reference that `@main` hands to them."""

    state: Expr

    def module(self) -> Module:
        for name in ("helper_2", "f", "main"):
            self.functions[name] = self.stateful(name == "main")
        return Module(self.functions, {"List": self.data})

    def stateful(self, is_main: bool) -> Function:
        params = tuple(self.var(self.type()) for _ in range(self.rng.randint(1, 2)))
        kind = RefType(scalar("float32"))
        state = self.state = self.var(kind)
        known: list[tuple[Expr, Type]] = [(p, p.type_annotation) for p in params]  # type: ignore[misc]
        body, t = self.block([*known, (state, kind)], self.size)
        body, t = Tuple((body, RefRead(state))), TupleType((t, scalar("float32")))
        if not is_main:
            return Function((state, *params), body, t)
        return Function(params, Let(state, RefCreate(Constant(np.array(1.5, "float32"))), body), t)

    def called(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        drawn = super().called(known, size)
        if drawn is None:
            return None
        v = self.var(drawn[1])
        return Let(v, drawn[0], v), drawn[1]

    def reference(self, known: Any, size: int) -> tuple[Expr, Type]:
        if (self.state, RefType(scalar("float32"))) not in known:
            return super().reference(known, size)
        done = self.var(TupleType(()))
        write = RefWrite(self.state, self.like(known, scalar("float32")))
        return Let(done, write, RefRead(self.state)), scalar("float32")
