"""Functions that call themselves, as C: loops where the call is the last thing they do, frames in the workspace elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import ToolError
from tests.backends.bundle import Bundle, assert_close, leaves

T = "Tensor[(5), float32]"

PROGRAMS = {
    "a count": f"""
def @loop(%i: int32, %x: {T}, %k: {T}) -> {T} {{
  if (greater(%i, 0)) {{ @loop(subtract(%i, 1), add(%x, %k), %k) }} else {{ %x }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ @loop(%n, %x, %y) }}
""",
    "a tuple as state": f"""
def @loop(%i: int32, %s: ({T}, ({T}, int32))) -> ({T}, ({T}, int32)) {{
  if (equal(%i, 0)) {{ %s }} else {{
    let %a = %s.0; let %b = %s.1;
    let %r = @loop(subtract(%i, 1), (add(%a, %b.0), (multiply(%a, 0.5f), add(%b.1, %i))));
    (%r.0, %r.1)
  }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ @loop(%n, (%x, (%y, 7))) }}
""",
    "parameters exchanged": f"""
def @loop(%i: int32, %x: {T}, %y: {T}) -> ({T}, {T}) {{
  if (greater(%i, 0)) {{ @loop(subtract(%i, 1), %y, %x) }} else {{ (%x, %y) }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ (@loop(%n, %x, %y), @loop(%n, %y, negative(%x))) }}
""",
    "parameters in a ring": f"""
def @loop(%i: int32, %x: {T}, %y: {T}, %z: {T}, %old: {T}) -> ({T}, {T}, {T}, {T}) {{
  if (greater(%i, 0)) {{ @loop(subtract(%i, 1), %y, %z, %x, %y) }} else {{ (%x, %y, %z, %old) }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ @loop(%n, %x, %y, exp(%x), tanh(%y)) }}
""",
    "the next value beside the last": """
def @loop(%i: int32, %a: int32, %b: int32) -> (int32, int32) {
  if (greater(%i, 0)) { @loop(subtract(%i, 1), %b, add(%a, %b)) } else { (%a, %b) }
}
def @main(%n: int32) { @loop(%n, 0, 1) }
""",
    "a value made before it is known whether it is used": f"""
def @loop(%i: int32, %x: {T}, %y: {T}) -> {T} {{
  let %next = multiply(add(%x, %y), 0.5f);
  let %less = less(sum(%next), 3f);
  if (greater(%i, 0)) {{
    if (%less) {{ @loop(subtract(%i, 1), %next, %y) }} else {{ @loop(subtract(%i, 2), %y, %next) }}
  }} else {{ add(%x, %next) }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ @loop(%n, %x, %y) }}
""",
    "one value twice": f"""
def @loop(%i: int32, %x: {T}, %y: {T}) -> ({T}, {T}) {{
  let %z = add(%x, %y);
  if (greater(%i, 0)) {{ @loop(subtract(%i, 1), %z, %z) }} else {{ (%x, %y) }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ @loop(%n, %x, %y) }}
""",
    "a constant on one way": f"""
def @loop(%i: int32, %x: {T}, %y: {T}) -> {T} {{
  let %z = add(%x, %y);
  if (greater(%i, 2)) {{ @loop(subtract(%i, 1), ones(shape=[5], dtype="float32"), %z) }} else {{
    if (greater(%i, 0)) {{ @loop(subtract(%i, 1), %z, %y) }} else {{ %x }} }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ @loop(%n, %x, %y) }}
""",
    "a matrix product in place of its operand": """
def @loop(%i: int32, %x: Tensor[(6, 6), float32], %w: Tensor[(6, 6), float32]) -> Tensor[(6, 6), float32] {
  if (greater(%i, 0)) { @loop(subtract(%i, 1), nn.softmax(nn.dense(%x, %w, units=6)), %w) } else { %x }
}
def @main(%n: int32, %x: Tensor[(6, 6), float32], %w: Tensor[(6, 6), float32]) { @loop(%n, %x, %w) }
""",
    "a shape between the turns": """
def @loop(%i: int32, %x: Tensor[(6), float32]) -> Tensor[(6), float32] {
  let %r = reshape(%x, newshape=[2, 3]);
  if (greater(%i, 0)) { @loop(subtract(%i, 1), reshape(transpose(%r, axes=[1, 0]), newshape=[6])) } else { reshape(%r, newshape=[6]) }
}
def @main(%n: int32, %x: Tensor[(6), float32]) { @loop(%n, %x) }
""",
    "a result that nobody uses": f"""
def @loop(%i: int32, %x: {T}) -> {T} {{
  if (greater(%i, 0)) {{ let %unused = exp(%x); @loop(subtract(%i, 1), add(%x, %x)) }} else {{ %x }}
}}
def @main(%n: int32, %x: {T}) {{
  let %r = @loop(%n, %x); let %s = (@loop(%n, negative(%x)), %x); (%s.1, negative(%x))
}}
""",
    "in a branch": f"""
def @loop(%i: int32, %x: {T}) -> {T} {{
  if (greater(%i, 0)) {{ @loop(subtract(%i, 1), add(%x, %x)) }} else {{ %x }}
}}
def @main(%n: int32, %x: {T}) {{
  let %y = sin(%x);
  add(if (greater(%n, 1)) {{ multiply(@loop(%n, %x), %y) }} else {{ @loop(1, %y) }}, %y)
}}
""",
    "a loop in a loop": f"""
def @inner(%j: int32, %x: {T}, %y: {T}) -> {T} {{
  if (greater(%j, 0)) {{ @inner(subtract(%j, 1), multiply(add(%x, %y), 0.5f), %y) }} else {{ %x }}
}}
def @outer(%i: int32, %x: {T}, %y: {T}) -> {T} {{
  let %z = @inner(%i, %x, %y);
  if (greater(%i, 0)) {{ @outer(subtract(%i, 1), add(%z, %x), %x) }} else {{ add(%x, %z) }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ add(@outer(%n, %x, %y), @inner(%n, %y, %x)) }}
""",
    "functions in turn": f"""
def @even(%n: int32, %x: {T}, %k: {T}) -> (int32, {T}) {{
  if (equal(%n, 0)) {{ (1, %x) }} else {{ @odd(subtract(%n, 1), %k, add(%x, %k)) }}
}}
def @odd(%n: int32, %k: {T}, %x: {T}) -> (int32, {T}) {{
  if (equal(%n, 0)) {{ (0, %x) }} else {{ @even(subtract(%n, 1), multiply(%x, %k), %k) }}
}}
def @main(%n: int32, %x: {T}) {{ (@even(%n, %x, %x), @odd(%n, %x, cos(%x))) }}
""",
    "three in turn, and one in itself": f"""
def @a(%n: int32, %x: {T}, %y: {T}) -> {T} {{
  if (greater(%n, 0)) {{ @b(subtract(%n, 1), %y, %x) }} else {{ %x }}
}}
def @b(%n: int32, %x: {T}, %y: {T}) -> {T} {{
  if (greater(%n, 3)) {{ @b(subtract(%n, 1), add(%x, %y), %x) }} else {{ @c(%n, add(%x, 1f), %y) }}
}}
def @c(%n: int32, %x: {T}, %y: {T}) -> {T} {{
  if (greater(%n, 0)) {{ @a(subtract(%n, 1), multiply(%x, %y), %x) }} else {{ %y }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ @a(%n, %x, %y) }}
""",
    "local": f"""
def @main(%n: int32, %x: {T}, %y: {T}) {{
  let %f = fn(%z: {T}) -> {T} {{ multiply(add(%z, %y), %x) }};
  let %loop = fn(%i: int32, %s: ({T}, {T})) -> ({T}, {T}) {{
    if (less(%i, %n)) {{ %loop(add(%i, 1), (%f(%s.1), %s.0)) }} else {{ %s }}
  }};
  (%loop(0, (%x, %y)), %loop(1, (%y, %y)), %f(%y))
}}
""",
    "local in local": f"""
def @main(%n: int32, %x: {T}) {{
  let %outer = fn(%i: int32, %s: {T}) -> {T} {{
    let %inner = fn(%j: int32, %t: {T}) -> {T} {{
      if (less(%j, %i)) {{ %inner(add(%j, 1), multiply(add(%t, %s), 0.5f)) }} else {{ %t }}
    }};
    if (less(%i, %n)) {{ %outer(add(%i, 1), %inner(0, %x)) }} else {{ %s }}
  }};
  %outer(0, %x)
}}
""",
    "more to do after the call": f"""
def @power(%n: int32, %x: {T}) -> {T} {{
  if (greater(%n, 0)) {{ multiply(@power(subtract(%n, 1), %x), cast(%n, dtype="float32")) }} else {{ %x }}
}}
def @main(%n: int32, %x: {T}) {{ @power(%n, %x) }}
""",
    "deep frames behind what their callers keep": f"""
def @power(%n: int32, %x: {T}) -> {T} {{
  if (greater(%n, 0)) {{ multiply(@power(subtract(%n, 1), %x), cast(%n, dtype="float32")) }} else {{ %x }}
}}
def @between(%n: int32, %x: {T}) -> {T} {{
  let %a = exp(%x); let %b = @power(%n, %x); let %c = @power(%n, tanh(%x)); add(add(%a, %b), %c)
}}
def @main(%n: int32, %x: {T}) {{ let %z = sin(%x); let %y = @between(%n, %x); multiply(%y, %z) }}
""",
    "a result turned around": f"""
def @loop(%n: int32, %x: {T}, %y: {T}) -> ({T}, {T}) {{
  if (greater(%n, 0)) {{ let %r = @loop(subtract(%n, 1), add(%x, %y), %y); (%r.1, %r.0) }} else {{ (%x, %y) }}
}}
def @main(%n: int32, %x: {T}, %y: {T}) {{ @loop(%n, %x, %y) }}
""",
    "a loop around a recursion": f"""
def @tree(%n: int32, %x: {T}) -> {T} {{
  if (greater(%n, 0)) {{ @tree(subtract(%n, 1), multiply(@tree(subtract(%n, 2), %x), 1.5f)) }} else {{ %x }}
}}
def @main(%n: int32, %x: {T}) {{ @tree(%n, %x) }}
""",
}


def parse(text: str) -> irtool.Module:
    return irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + text))


def inputs_of(m: irtool.Module, turns: int) -> list[np.ndarray]:
    chance = np.random.default_rng(5)
    shapes = [p.checked_type.shape for p in m["main"].params[1:]]
    return [np.array(turns, "int32"), *(chance.uniform(-1, 1, s).astype("float32") for s in shapes)]


def built(text: str, **options: Any) -> irtool.driver.Artifact:
    return irtool.build(parse(text), cache=False, **options)


SANITIZE = ["-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
CLEAN = ["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"]


@pytest.mark.parametrize(
    "cc, flags, options, turns",
    [
        ("gcc", [*CLEAN, *SANITIZE], {"opt_level": 3}, (0, 3, 5)),
        ("gcc", [*CLEAN, *SANITIZE, "-march=native"], {"opt_level": 0}, (4,)),
        ("gcc", [*CLEAN, "-march=native", "-fopenmp"], {"opt_level": 1}, (1, 8)),
        ("clang", [*CLEAN, "-march=native"], {"opt_level": 2}, (2,)),
        ("clang", [*CLEAN], {"opt_level": 3, "vector": False}, (5,)),
    ],
    ids=["sanitizers", "unoptimized", "threads", "clang", "scalar"],
)
def test_loops_compute_what_the_interpreter_does(tmp_path, cc, flags, options, turns):
    """In workspaces painted with NaN, of exactly their size, without a warning."""
    if shutil.which(cc) is None:
        pytest.skip(f"no {cc}")
    bundle = Bundle(tmp_path, cc=cc, **options)
    expected = []
    for name, text in PROGRAMS.items():
        m = parse(text)
        for n in turns:
            inputs = inputs_of(m, n)
            bundle.add(m, inputs)
            expected.append((f"{name}, {n}", leaves(irtool.evaluate(m, inputs))))
    for got, (name, want) in zip(bundle.run(flags, cc=cc), expected, strict=True):
        assert_close(got, want, 1e-5, name)


LOOPS = [n for n in PROGRAMS if n not in {*list(PROGRAMS)[-5:], "local in local"}]


@pytest.mark.parametrize("name", LOOPS)
def test_nothing_recurses_in_a_loop(name: str, tmp_path: Path) -> None:
    report = built(PROGRAMS[name], out_dir=tmp_path, emit="c").report
    text = (tmp_path / "model.c").read_text()
    assert "for (;;) {" in text and "REGION" not in (tmp_path / "model.h").read_text()
    assert report["arena_bytes"] < 2000


@pytest.mark.parametrize("name", list(PROGRAMS)[-4:])
def test_frames_where_there_is_more_to_do(name: str, tmp_path: Path) -> None:
    built(PROGRAMS[name], out_dir=tmp_path, emit="c")
    assert "#define MODEL_REGION_FULL 10" in (tmp_path / "model.h").read_text()


def test_as_many_turns_as_one_likes() -> None:
    artifact = built(PROGRAMS["the next value beside the last"])
    turns = 3_000_000
    a, b = 0, 1
    for _ in range(turns):
        a, b = b, (a + b) & 0xFFFFFFFF
    assert artifact.arena_bytes < 1000
    got = artifact.run([np.array(turns, "int32")])
    assert [int(x) & 0xFFFFFFFF for x in got] == [a, b]


def test_the_workspace_does_not_grow_with_what_loops_call(tmp_path: Path) -> None:
    """A loop around a recursion has one frame; those of the recursion follow it."""
    report = built(PROGRAMS["a loop around a recursion"], out_dir=tmp_path).report
    assert report["arena_bytes"] < 300_000
    m = parse(PROGRAMS["a loop around a recursion"])
    assert "for (;;) {" in (tmp_path / "model.c").read_text()
    inputs = inputs_of(m, 12)
    got = irtool.build(m).run(inputs)
    np.testing.assert_allclose(got, irtool.evaluate(m, inputs), rtol=1e-5)


def test_a_recursion_that_is_too_deep_says_so() -> None:
    artifact = built(PROGRAMS["more to do after the call"])
    x = np.ones(5, "float32")
    with pytest.raises(ToolError, match="the region is full"):
        artifact.run([np.array(1_000_000, "int32"), x])
    np.testing.assert_array_equal(artifact.run([np.array(4, "int32"), x]), 24 * x)


def test_depth_takes_memory_of_the_region_alone() -> None:
    """A million calls inside of each other, far more than C's stack has room for; a frame has 40 bytes here."""
    artifact = built(PROGRAMS["more to do after the call"], flags={"region_size": 40_000_100})
    got = artifact.run([np.array(1_000_000, "int32"), np.zeros(5, "float32")])
    np.testing.assert_array_equal(got, np.zeros(5))


def test_a_recursion_without_end_or_memory_of_its_own_meets_the_end_of_the_workspace() -> None:
    artifact = built(
        f"def @f(%x: {T}, %y: {T}) -> ({T}, {T}) {{ let %r = @f(%y, %x); (%r.1, %r.0) }}\n"
        f"def @main(%x: {T}) {{ @f(%x, %x) }}"
    )
    with pytest.raises(ToolError, match="the region is full"):
        artifact.run([np.ones(5, "float32")])


ENTRIES = f"""
def @loop(%i: int32, %x: {T}) -> {T} {{
  if (greater(%i, 0)) {{ @loop(subtract(%i, 1), add(%x, %x)) }} else {{ %x }}
}}
def @main(%n: int32, %x: {T}) {{ negative(@loop(%n, %x)) }}
def @twice(%n: int32, %x: {T}) {{ let %y = @loop(%n, %x); (@loop(%n, %y), %y) }}
"""


def test_several_entries_call_one_loop(tmp_path: Path) -> None:
    m = parse(ENTRIES)
    artifact = built(ENTRIES, entry=["main", "twice", "loop"], out_dir=tmp_path)
    x = np.linspace(-1, 1, 5).astype("float32")
    for turns in (0, 1, 4):
        inputs = [np.array(turns, "int32"), x]
        for entry in ("main", "twice", "loop"):
            assert_close(leaves(artifact.run(inputs, entry)), leaves(irtool.evaluate(m, inputs, entry=entry)), 1e-5)


def test_the_end_of_the_workspace_is_looked_for_before_anything_is_written(tmp_path: Path) -> None:
    """A workspace of one byte less than a loop needs."""
    built(PROGRAMS["a loop in a loop"], out_dir=tmp_path, emit="c")
    (tmp_path / "main.c").write_text(
        '#include "model.h"\n#include <stdlib.h>\nint main(void) {\n'
        "  static float x[5], y[5], out[5] = {7};\n  int32_t n = 3;\n"
        "  unsigned char *arena = malloc(MODEL_ARENA_SIZE - 1);\n"
        "  if (model_run_with(arena, MODEL_ARENA_SIZE - 1, &n, x, y, out) != 1 || out[0] != 7) return 1;\n"
        "  free(arena);\n  return model_run(&n, x, y, out);\n}\n"
    )
    command = ["cc", "-std=c99", *CLEAN, *SANITIZE, "-o", "all", "main.c", "model.c", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./all"], cwd=tmp_path, check=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
