"""Recursion as loops with a stack: the same values as by calls, in planned memory."""

from __future__ import annotations

from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from irtool.lower.loops import loop_tail_calls
from irtool.lower.memory import plan_memory
from irtool.lower.recursion import frames_on_stack
from irtool.tir.cycles import components
from irtool.tir.program import (
    CONSTANT,
    TEMP,
    Again,
    Branch,
    CallFunction,
    CopySlot,
    HostFunction,
    Loop,
    Program,
    RunKernel,
    Slot,
    calls,
    steps,
)
from irtool.tir.region import Pop, Push, Resume
from tests.lower.drawn_functions import Writer, kernel, number_of, slot


class RecursiveWriter(Writer):
    """Draws bodies with calls anywhere, and results that are computed in their places. The first parameter says how deep a function may
    recurse; calls hand on one less."""

    def function(self, name: str) -> HostFunction:
        f = super().function(name)
        less = slot(f"{name}_less")
        for s in steps(f.body):
            if isinstance(s, CallFunction):
                s.inputs[0] = less
        lessen = kernel("less", [True])
        self.kernels.append(lessen)
        base: list[Any] = [CopySlot(self.pick([*f.params, *self.constants]), r) for r in f.results]
        f.body = [Branch(f.params[0], [RunKernel(lessen, [f.params[0]], [less]), *f.body], base)]
        return f

    def kernel(self, known: list[Slot]) -> Any:
        if self.draw(st.sampled_from([True, True, False])):
            return super().kernel(known)
        callee = self.draw(st.sampled_from(list(self.arities)))
        inputs = [self.argument(p, known) for p in range(self.arities[callee])]
        self.count += 2
        outputs = [slot(f"t{self.count - 1}"), slot(f"t{self.count}")]
        known += outputs
        return CallFunction(callee, inputs, outputs)

    def body(self, known: list[Slot], depth: int) -> list[Any]:
        body = super().body(known, depth)
        own = [x for s in body if isinstance(s, RunKernel | CallFunction) for x in s.outputs]
        for s in [s for s in body if isinstance(s, CopySlot)]:
            if s.source in own and s.source.kind == TEMP and s.source.forward is None and self.draw(st.booleans()):
                s.source.forward = s.target
                body.remove(s)
        return body


@st.composite
def programs(draw: st.DrawFn) -> tuple[dict[str, HostFunction], Writer]:
    names = "abc"[: draw(st.sampled_from([1, 1, 2, 3]))]
    writer = RecursiveWriter(draw, {n: draw(st.integers(2, 3)) for n in names})
    return {n: writer.function(n) for n in names}, writer


class Runs:
    """Runs functions on values without meaning; `planned`: slots with one offset are one place."""

    DEPTH = 3

    def __init__(self, functions: dict[str, HostFunction], planned: bool) -> None:
        self.functions = functions
        self.planned = planned
        self.pushed = 0
        self.stack: list[tuple[int, list[Any]]] = []

    def place(self, s: Slot) -> Any:
        s = s.resolve()
        return s.offset if self.planned and s.kind == TEMP else s

    def call(self, name: str, values: list[Any]) -> list[Any]:
        """The results of a function."""
        f = self.functions[name]
        memory: dict[Any, Any] = dict(zip(f.params, values, strict=True))
        self.block(f.body, memory)
        return [memory[r] for r in f.results]

    def block(self, body: list[Any], memory: dict[Any, Any]) -> int | None:
        """Runs steps; the number of the body of the next iteration, if there is one."""

        def read(s: Slot) -> Any:
            return s.name if s.resolve().kind == CONSTANT else memory[self.place(s)]

        def write(slots: list[Slot], values: list[Any]) -> None:
            memory.update({self.place(s): v for s, v in zip(slots, values, strict=True)})

        for s in body:
            if isinstance(s, RunKernel):
                values = list(map(read, s.inputs))
                write(s.outputs, [values[0] - 1 if s.kernel.name == "less" else str(number_of(s.kernel.name, *values))])
            elif isinstance(s, CopySlot):
                write([s.target], [read(s.source)])
            elif isinstance(s, CallFunction):
                write(s.outputs, self.call(s.function, list(map(read, s.inputs))))
            elif isinstance(s, Push):
                self.pushed += 1
                self.stack.append((s.body, list(map(read, s.inputs))))
            elif isinstance(s, Pop):
                write(s.outputs, self.stack.pop()[1])
            elif isinstance(s, Resume):
                return self.stack[-1][0]
            elif isinstance(s, Again):
                return s.body
            elif isinstance(s, Branch):
                cond = read(s.cond)
                holds = cond > 0 if isinstance(cond, int) else number_of(cond) % 2
                following = self.block(s.then if holds else s.other, memory)
                if following is not None:
                    return following
            else:
                assert isinstance(s, Loop)
                number: int | None = 0
                while number is not None:
                    number = self.block(s.bodies[number], memory)
        return None


@settings(max_examples=500, deadline=None)
@given(programs())
def test_loops_with_a_stack_do_what_the_calls_did(drawn: tuple[dict[str, HostFunction], Writer]) -> None:
    functions, writer = drawn
    values = [Runs.DEPTH, *(p.name for p in functions["a"].params[1:])]
    expected = Runs(functions, False).call("a", values)
    looped = loop_tail_calls(frames_on_stack(functions, ["a"]), ["a"])
    assert all(len(group) == 1 for group in components({n: calls(f) for n, f in looped.items()}))
    assert not any(f.name in calls(f) for f in looped.values())
    plan_memory(Program(looped, writer.kernels, writer.constants, "a"))
    after = Runs(looped, True)
    assert after.call("a", values) == expected
    assert after.stack == []
    event("with a stack" if after.pushed > 1 else "without")
