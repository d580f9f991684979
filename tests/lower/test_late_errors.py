"""Runs that end with an error leave the outputs as they were."""

from __future__ import annotations

import ctypes
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.lower.late_errors import keep_outputs_of_errors
from irtool.tir.program import (
    PARAM,
    RESULT,
    Again,
    Branch,
    CallFunction,
    CopySlot,
    Fail,
    HostFunction,
    Loop,
    Program,
    Slot,
)
from tests.driver.programs import parse

pytestmark = pytest.mark.promise("value extents")
CANARY = 77


def drawn_body(g: random.Random, sources: list[Slot], targets: list[Slot], callee: str, depth: int) -> list[Any]:
    """Steps that copy a source to a target, fail, branch, loop and call."""
    body: list[Any] = []
    for _ in range(g.randint(0, 3)):
        kind = g.randint(0, 6)
        if kind == 0:
            body.append(Fail([], []))
        elif kind == 1 and depth:
            arms = [drawn_body(g, sources, targets, callee, depth - 1) for _ in range(2)]
            body.append(Branch(sources[0], arms[0], arms[1]))
        elif kind == 2 and depth:
            bodies = [drawn_body(g, sources, targets, callee, depth - 1) for _ in range(g.randint(1, 2))]
            arms = [[*drawn_body(g, sources, targets, callee, 0), Again(g.randrange(len(bodies)))], []]
            bodies[0].append(Branch(sources[0], *g.sample(arms, 2)))
            body.append(Loop(bodies, []))
        elif kind == 3 and callee:
            body.append(CallFunction(callee, [sources[0]], g.sample(targets, 2)))
        else:
            body.append(CopySlot(g.choice(sources), g.choice(targets)))
    return body


def drawn_function(g: random.Random, name: str, callee: str) -> HostFunction:
    """A function of two results."""
    x = Slot("x", (4,), "float32", PARAM)
    temporary = Slot("t", (4,), "float32")
    results = [Slot(f"out{n}", (4,), "float32", RESULT) for n in range(2)]
    return HostFunction(name, [x], results, drawn_body(g, [x, temporary], [temporary, *results], callee, 3))


class Ended(Exception):
    """A run has ended with an error."""


def run(
    functions: dict[str, HostFunction], name: str, seed: int, most: int = 60
) -> tuple[list[tuple[Slot, Slot]], bool]:
    """The copies of a run whose branches the seed decides, sources and targets, and whether it ended with an error."""
    g = random.Random(seed)
    copies: list[tuple[Slot, Slot]] = []
    left = [most]

    def walk(body: list[Any], names: dict[Slot, Slot]) -> Again | None:
        for s in body:
            left[0] -= 1
            if isinstance(s, Fail):
                raise Ended
            if isinstance(s, CopySlot):
                copies.append(tuple(names.get(x.resolve(), x.resolve()) for x in (s.source, s.target)))
            elif isinstance(s, CallFunction):
                f = functions[s.function]
                outputs = [names.get(x.resolve(), x.resolve()) for x in s.outputs]
                walk(f.body, dict(zip([r.resolve() for r in f.results], outputs, strict=True)))
            elif isinstance(s, Branch):
                again = walk(s.then if g.random() < 0.5 else s.other, names)
                if again is not None:
                    return again
            elif isinstance(s, Loop):
                n: Again | None = Again(0)
                while n is not None:
                    n = walk(s.bodies[n.body], names) if left[0] > 0 else None
            else:
                assert isinstance(s, Again)
                return s
        return None

    try:
        walk(functions[name].body, {})
    except Ended:
        return copies, True
    return copies, False


def test_no_result_is_begun_before_an_error() -> None:
    errors = copied = in_place = 0
    for seed in range(300):
        g = random.Random(seed)
        functions = {"g": drawn_function(g, "g", ""), "main": drawn_function(g, "main", "g")}
        before = functions["main"].results
        expected = [run(functions, "main", k) for k in range(12)]
        keep_outputs_of_errors(Program(functions, [], []))
        after = functions["main"].results
        instead = {a.resolve(): b for a, b in zip(before, after, strict=True)}
        for k, (copies, is_error) in enumerate(expected):
            changed, still = run(functions, "main", k, 1000)
            assert still == is_error
            written = {target for _, target in changed if target in after}
            if is_error:
                errors += 1
                assert not written
            else:
                assert {instead[t] for _, t in copies if t in instead} <= written
        copied += sum(a is not b for a, b in instead.items())
        in_place += sum(a is b for a, b in instead.items())
    assert errors > 100 and copied > 50 and in_place > 50


def test_a_second_plan_copies_nothing_more() -> None:
    x, out = Slot("x", (4,), "float32", PARAM), Slot("out", (4,), "float32", RESULT)
    f = HostFunction("main", [x], [out], [CopySlot(x, out), Branch(x, [Fail([], [])], [])])
    program = Program({"main": f}, [], [])
    for _ in range(2):
        keep_outputs_of_errors(program)
        assert [type(s) for s in f.body] == [CopySlot, Branch, CopySlot]
        assert f.results[0].kind == RESULT and f.body[-1].target is f.results[0]


TEXT = """
type List[A] { Cons(A, List[A]), Nil, }
def @up(%n: int32) -> List[int32] { if (equal(%n, 0)) { Nil } else { Cons(%n, @up(subtract(%n, 1))) } }
def @hd(%l: List[int32]) -> int32 { match? (%l) { Cons(%x, _) => { %x }, } }
def @main(%x: Tensor[(4), float32], %n: int32) {
  let %e = exp(%x);
  let %p = argwhere(greater(%x, 0f));
  let %c = reshape(cast(%n, dtype="int64"), newshape=[1]);
  (%e, %p, @hd(@up(%n)), dyn.full(1f, %c, shape=None, dtype="float32"))
}
"""


@pytest.mark.parametrize(
    "target", ["c", pytest.param("llvm", marks=pytest.mark.skipif(not shutil.which("clang"), reason="no clang"))]
)
def test_each_error_leaves_the_outputs(target: str, tmp_path: Path) -> None:
    irtool.build(
        parse(TEXT), target=target, name="net", out_dir=tmp_path, dims={"count_1": "<=9"}, flags={"region_size": 2000}
    )
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    x = np.array([1, -1, 2, 3], "float32")
    outputs = [np.empty(n, t) for n, t in ((4, "float32"), (4, "int32"), (1, "int32"), (9, "float32"))]
    outputs += [np.empty(n, "int64") for n in (2, 1)]
    for n, code in ((3, 0), (0, 11), (12, 6), (1000, 10), (3, 0)):
        for a in outputs:
            a.fill(CANARY)
        arguments = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, np.array(n, "int32"), *outputs)]
        assert library.net_run(*arguments) == code
        if code:
            assert all((a == CANARY).all() for a in outputs)
        else:
            np.testing.assert_allclose(outputs[0], np.exp(x), rtol=1e-5)
            assert outputs[2] == n and outputs[4].tolist() == [3, 1] and outputs[5] == n
