"""Functions of programs with kernels that compute nothing in particular, drawn at random."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from irtool.tir.expr import Var
from irtool.tir.kernel import Kernel
from irtool.tir.program import (
    CONSTANT,
    PARAM,
    RESULT,
    Branch,
    CallFunction,
    CopySlot,
    HostFunction,
    RunKernel,
    Slot,
)
from irtool.tir.stmt import Buffer, For, PrimFunc, Scope, Store

SIZE = 16


def slot(name: str, kind: str = "temp") -> Slot:
    return Slot(name, (SIZE,), "float32", kind)


def kernel(name: str, straight: list[bool]) -> Kernel:
    """A sum of its inputs, those that are not straight from the last element to the first."""
    params = [Buffer(f"p{n}", (SIZE,), "float32", Scope.PARAM) for n in range(len(straight))]
    out, i = Buffer("out", (SIZE,), "float32", Scope.PARAM), Var("i")
    value: Any = 0.0
    for b, s in zip(params, straight):
        value = b[i if s else SIZE - 1 - i] + value
    result = Kernel.of(PrimFunc(name, [*params, out], For(i, SIZE, Store(out, [i], value))))
    assert result.in_place == tuple((n, 0) for n, s in enumerate(straight) if s)
    return result


class Writer:
    """Draws the bodies of functions that call each other last."""

    def __init__(self, draw: Callable[..., Any], arities: dict[str, int]) -> None:
        self.draw = draw
        self.arities = arities
        self.kernels: list[Kernel] = []
        self.constants = [slot(f"c{n}", CONSTANT) for n in range(2)]
        self.count = 0

    def function(self, name: str) -> HostFunction:
        params = [slot(f"{name}{n}", PARAM) for n in range(self.arities[name])]
        self.params = params
        self.results = [slot("r0", RESULT), slot("r1", RESULT)]
        return HostFunction(name, params, self.results, self.body([*params, *self.constants], 2))

    def body(self, known: list[Slot], depth: int) -> list[Any]:
        known = list(known)
        body: list[Any] = []
        for _ in range(self.draw(st.sampled_from([0, 1, 2] if depth == 2 else [0, 0, 1, 2]))):
            body.append(self.kernel(known))
        if depth and self.draw(st.sampled_from([False, False, True])):  # a branch in the middle, which gives a value
            body.append(self.middle(known))
        if depth and self.draw(st.integers(0, 3)):
            body.append(Branch(self.pick(known), self.body(known, depth - 1), self.body(known, depth - 1)))
        elif self.draw(st.integers(0, 3)):
            callee = self.draw(st.sampled_from(list(self.arities)))
            inputs = [self.argument(p, known) for p in range(self.arities[callee])]
            body.append(CallFunction(callee, inputs, list(self.results)))
        else:
            body += [CopySlot(self.pick(known), r) for r in self.results]
        return body

    def pick(self, known: list[Slot]) -> Slot:
        return self.draw(st.sampled_from(known))

    def argument(self, number: int, known: list[Slot]) -> Slot:
        """Often the parameter as it is, or what was made last."""
        own = known[min(number, len(self.params) - 1)]
        return self.draw(st.sampled_from([own, own, known[-1], known[-1], self.pick(known)]))

    def kernel(self, known: list[Slot]) -> RunKernel:
        inputs = [self.pick(known) for _ in range(self.draw(st.integers(1, 2)))]
        self.kernels.append(kernel(f"k{len(self.kernels)}", [self.draw(st.booleans()) for _ in inputs]))
        self.count += 1
        known.append(slot(f"t{self.count}"))
        return RunKernel(self.kernels[-1], inputs, [known[-1]])

    def middle(self, known: list[Slot]) -> Branch:
        cond, arms = self.pick(known), []
        self.count += 1
        result = slot(f"t{self.count}")
        for _ in range(2):
            inner = list(known)
            arm: list[Any] = [self.kernel(inner) for _ in range(self.draw(st.integers(0, 2)))]
            if arm and self.draw(st.booleans()):
                arm[-1].outputs[0].forward = result
            else:
                arm.append(CopySlot(self.pick(inner), result))
            arms.append(arm)
        known.append(result)
        return Branch(cond, arms[0], arms[1], [result])


def number_of(*values: Any) -> int:
    """A number that stands for what a kernel makes of some values."""
    return zlib.crc32(repr(values).encode())
