"""Tail calls as turns of loops: the same values, turn by turn, in planned memory."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtool.lower.loops import loop_tail_calls, parallel_moves, tail_calls
from irtool.lower.memory import plan_memory
from irtool.tir.cycles import components, rings
from irtool.tir.program import (
    CONSTANT,
    PARAM,
    RESULT,
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
from tests.lower.drawn_functions import Writer, kernel, number_of, slot

# ---------------------------------------------------------------------------------------------------------------------
# Moves at one time


@given(st.dictionaries(st.integers(0, 6), st.integers(0, 9)))
def test_moves_have_the_effect_of_all_at_one_time(moves: dict[int, int]) -> None:
    slots = [slot(str(n)) for n in range(10)]
    contents = {s: s.name for s in slots}
    sequence = parallel_moves({slots[t]: slots[s] for t, s in moves.items()})
    for step in sequence:
        contents[step.target] = contents[step.source]
    assert {t: contents[slots[t]] for t in range(7)} == {t: str(moves.get(t, t)) for t in range(7)}
    rounds = sum(t != s for t, s in moves.items())
    assert len(sequence) <= rounds + rounds // 2


def test_two_that_are_exchanged_take_one_temporary() -> None:
    a, b = slot("a"), slot("b")
    sequence = parallel_moves({a: b, b: a})
    assert [(s.source.name, s.target.name) for s in sequence] == [("a", "a_before"), ("b", "a"), ("a_before", "b")]


# ---------------------------------------------------------------------------------------------------------------------
# Groups of functions


def test_groups_come_after_what_they_reach() -> None:
    edges = {"a": ["b"], "b": ["c", "b"], "c": ["a", "d"], "d": [], "e": ["a", "e"]}
    assert [sorted(c) for c in components(edges)] == [["d"], ["a", "b", "c"], ["e"]]
    assert {n: sorted(g) for n, g in rings(edges).items()} == {**{n: list("abc") for n in "abc"}, "e": ["e"]}


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_groups_are_those_that_reach_each_other(pairs: list[tuple[int, int]]) -> None:
    edges: dict[str, list[str]] = {str(n): [str(b) for a, b in pairs if a == n] for n in range(8)}
    reach = {n: {n} for n in edges}
    for _ in edges:
        for n in edges:
            reach[n] |= {x for m in list(reach[n]) for x in edges[m]}
    expected = {frozenset(m for m in reach[n] if n in reach[m]) for n in edges}
    assert {frozenset(c) for c in components(edges)} == expected


def test_a_long_chain_of_functions() -> None:
    n = 50_000
    assert len(components({str(k): [str(k + 1)] if k < n - 1 else [] for k in range(n)})) == n


# ---------------------------------------------------------------------------------------------------------------------
# Loops


@st.composite
def programs(draw: st.DrawFn) -> tuple[dict[str, HostFunction], Writer]:
    names = "abc"[: draw(st.sampled_from([1, 1, 2, 3]))]
    writer = Writer(draw, {n: draw(st.integers(1, 3)) for n in names})
    return {n: writer.function(n) for n in names}, writer


class Machine:
    """Runs functions on values without meaning, and notes what happens. Stops after some turns."""

    FUEL = 12

    def __init__(self, functions: dict[str, HostFunction], planned: bool) -> None:
        self.functions = functions
        self.planned = planned
        self.turns: list[Any] = []
        self.conditions: list[Any] = []
        self.computed: set[int] = set()

    def place(self, s: Slot) -> Any:
        s = s.resolve()
        return s.offset if self.planned and s.kind == "temp" else s

    def run(self, name: str) -> Any:
        """What the results are; None if it does not end in time."""
        f = self.functions[name]
        memory: dict[Any, Any] = {p: p.name for p in f.params}
        while len(self.turns) < self.FUEL:
            following = self.block(f.body, memory, f)
            if following is None:
                return [memory[r] for r in f.results]
            if isinstance(following, int):
                break  # in a loop
            f, values = following
            memory = dict(zip(f.params, values))
        return None

    def block(self, body: list[Any], memory: dict[Any, Any], f: HostFunction) -> Any:
        """Runs a body; the function that is called last and the values that it gets, if there is one."""

        def read(s: Slot) -> Any:
            return s.name if s.resolve().kind == CONSTANT else memory[self.place(s)]

        for s in body:
            if isinstance(s, RunKernel):
                allowed = {i for i, _ in s.kernel.in_place}
                early = {i: read(x) for i, x in enumerate(s.inputs) if i in allowed}
                memory[self.place(s.outputs[0])] = "half written"
                values = [early[i] if i in early else read(x) for i, x in enumerate(s.inputs)]
                assert "half written" not in values
                memory[self.place(s.outputs[0])] = number_of(s.kernel.name, *values)
                self.computed.add(memory[self.place(s.outputs[0])])
            elif isinstance(s, CopySlot):
                memory[self.place(s.target)] = read(s.source)
            elif isinstance(s, Branch):
                self.conditions.append(read(s.cond))
                following = self.block(s.then if number_of(read(s.cond)) % 2 else s.other, memory, f)
                if following is not None:
                    return following
            elif isinstance(s, CallFunction):
                values = [read(x) for x in s.inputs]
                self.turns.append((s.function, values))
                return self.functions[s.function], values
            elif isinstance(s, Loop):
                number = 0
                while isinstance(number, int) and len(self.turns) < self.FUEL:
                    number = self.block(s.bodies[number], memory, f)
                return number
            else:
                assert isinstance(s, Again)
                self.turns.append(s.body)
                return s.body
        return None


@settings(max_examples=500, deadline=None)
@given(programs())
def test_loops_do_what_the_calls_did(drawn: tuple[dict[str, HostFunction], Writer]) -> None:
    functions, writer = drawn
    before = Machine(functions, False)
    expected = before.run("a")
    looped = loop_tail_calls(functions, ["a"])
    assert not any(tail_calls(f) and f.name in rings({n: calls(g) for n, g in looped.items()}) for f in looped.values())
    program = Program(looped, writer.kernels, writer.constants, "a")
    plan_memory(program)
    check_offsets(looped)
    after = Machine(looped, True)
    assert after.run("a") == expected
    assert len(after.turns) == len(before.turns)
    assert after.conditions == before.conditions
    assert after.computed <= before.computed


def check_offsets(functions: dict[str, HostFunction]) -> None:
    for f in functions.values():
        for s in steps(f.body):
            if isinstance(s, RunKernel):
                for x in (*s.inputs, *s.outputs):
                    x = x.resolve()
                    assert x.kind != "temp" or (x.offset is not None and x.offset + x.nbytes <= f.frame_bytes)


@pytest.mark.parametrize("straight", [True, False])
@pytest.mark.parametrize("reads", ["x", "y", "xy"])
def test_every_pair_of_ways_to_go_on(reads: str, straight: bool) -> None:
    """A value made first, then one of two calls with any of the parameters, that value and a constant, or the end."""
    for first, second in product(product("xytc", repeat=2), repeat=2):
        of = {"x": slot("x", PARAM), "y": slot("y", PARAM), "t": slot("t"), "c": slot("c", CONSTANT)}
        which, results = [slot("u"), slot("v")], [slot("r0", RESULT), slot("r1", RESULT)]
        make, choose = kernel("make", [straight] * len(reads)), kernel("choose", [True, False])
        begin = [
            RunKernel(choose, [of["x"], of["y"]], [which[0]]),
            RunKernel(choose, [of["y"], of["x"]], [which[1]]),
            RunKernel(make, [of[n] for n in reads], [of["t"]]),
        ]
        ends = [CopySlot(of["x"], results[0]), CopySlot(of["y"], results[1])]
        ways = [CallFunction("a", [of[n] for n in way], list(results)) for way in (first, second)]
        body = [*begin, Branch(which[0], [ways[0]], [Branch(which[1], [ways[1]], ends)])]
        functions = {"a": HostFunction("a", [of["x"], of["y"]], results, body)}
        before = Machine(functions, False)
        expected = before.run("a")
        looped = loop_tail_calls(functions, ["a"])
        plan_memory(Program(looped, [make, choose], [of["c"]], "a"))
        after = Machine(looped, True)
        assert after.run("a") == expected and after.conditions == before.conditions, (first, second)
        assert after.computed == before.computed, (first, second)
