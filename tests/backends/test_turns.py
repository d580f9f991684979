"""Loops that make objects in each turn, and keep few: they run in a region of constant size."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import ToolError
from tests.backends.data_programs import TYPES

LOOPS = {
    "objects that nothing keeps": (
        "def @loop(%n: int32, %s: int32) -> int32 {"
        " if (equal(%n, 0)) { %s } else { @loop(%n - 1, mod(%s + @hd(Cons(%n, Cons(%s, Nil))), 1000)) } }\n"
        "def @hd(%l: List[int32]) -> int32 { match (%l) { Nil => { 0 }, Cons(%x, _) => { %x }, } }\n"
        "def @main(%n: int32) { @loop(%n, 0) }"
    ),
    "a queue, a function and a list from before": (
        "def @put(%l: List[int32], %x: int32) -> List[int32] {"
        " match (%l) { Nil => { Cons(%x, Nil) }, Cons(%y, Nil) => { Cons(%y, Cons(%x, Nil)) },"
        " Cons(%y, Cons(%z, Nil)) => { Cons(%z, Cons(%x, Nil)) }, Cons(%y, %r) => { Cons(%y, @put(%r, %x)) }, } }\n"
        "def @loop(%n: int32, %l: List[int32], %f: fn(int32) -> int32, %old: List[int32]) -> (int32, List[int32]) {"
        " if (equal(%n, 0)) { (%f(@sum(%old)), %l) } else {"
        "   let %k = mod(%n, 7);"
        "   @loop(%n - 1, @put(%l, %f(%n)), if (equal(%k, 3)) { fn (%x: int32) { %x + %k } } else { %f }, %old) } }\n"
        "def @main(%n: int32) { @loop(%n, Nil, fn (%x: int32) { %x - %n }, @up(10)) }"
    ),
    "two loops in turns": (
        "def @even(%n: int32, %l: List[int32]) -> int32 {"
        " if (equal(%n, 0)) { @sum(%l) } else { @odd(%n - 1, %n, Cons(%n, Nil)) } }\n"
        "def @odd(%n: int32, %k: int32, %l: List[int32]) -> int32 {"
        " if (equal(%n, 0)) { %k + @sum(%l) } else { @even(%n - 1, Cons(%k, Cons(%n, Cons(1, %l)))) } }\n"
        "def @main(%n: int32) { @even(%n, Nil) }"
    ),
    "a reference from before": (
        "def @loop(%n: int32, %r: ref(List[int32])) -> () {"
        " if (equal(%n, 0)) { () } else {"
        "   let %u = ref_write(%r, match (ref_read(%r)) { Nil => { @up(5) }, Cons(%x, %l) => {"
        "     match (%l) { Cons(%y, Cons(_, %s)) => { Cons(%y, Cons(mod(%x + %n, 100), Cons(0, %s))) }, _ => { %l }, } }, });"
        "   @loop(%n - 1, %r) } }\n"
        "def @main(%n: int32) { let %r = ref(Nil); let %a = Cons(%n, Nil); let %u = @loop(%n, %r);"
        " (ref_read(%r), @sum(%a)) }"
    ),
    "a loop in a loop": (
        "def @inner(%n: int32, %l: List[int32]) -> List[int32] {"
        " if (equal(%n, 0)) { %l } else { @inner(%n - 1, match (%l) { Nil => { @up(3) },"
        " Cons(%x, %r) => { match (%r) { Nil => { Cons(%x, Cons(%n, Nil)) }, Cons(%y, _) => { Cons(%y, Cons(%n, Nil)) }, } }, }) } }\n"
        "def @loop(%n: int32, %l: List[int32]) -> List[int32] {"
        " if (less(%n, 1)) { %l } else { @loop(%n - 100, @inner(100 + mod(%n, 1), %l)) } }\n"
        "def @main(%n: int32) { @loop(%n, Nil) }"
    ),
}


pytestmark = pytest.mark.promise("values")


def built(loop: str, size: int, **options: object) -> irtool.Artifact:
    return irtool.build(irtool.parse(TYPES + LOOPS[loop]), flags={"region_size": size}, **options)  # type: ignore[arg-type]


def flat(value: object) -> list[object]:
    result: list[object] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple):
            stack.extend(reversed(v))
            result.append(len(v))
        else:
            result.append(np.asarray(v).item())
    return result


@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_compute_what_the_interpreter_does(name: str, target: str) -> None:
    module, artifact = irtool.parse(TYPES + LOOPS[name]), built(name, 1600, target=target)
    for n in (0, 1, 2, 7, 8, 300, 401):
        assert flat(artifact.run([np.int32(n)])) == flat(irtool.evaluate(module, [np.int32(n)])), n


@pytest.mark.parametrize("name", LOOPS)
def test_a_million_turns_need_a_region_of_two_kilobytes(name: str) -> None:
    artifact = built(name, 2048)
    short, long = artifact.run([np.int32(1000)]), artifact.run([np.int32(1_000_000)])
    assert len(flat(short)) == len(flat(long))


def test_what_a_loop_keeps_may_fill_the_region() -> None:
    """A list that grows is moved, or stays where it is if it is too long to be moved, until nothing is free."""
    text = (
        "def @loop(%n: int32, %l: List[int32]) -> List[int32] {"
        " if (equal(%n, 0)) { %l } else { @loop(%n - 1, Cons(%n, %l)) } }\n"
        "def @main(%n: int32) { @loop(%n, Nil) }"
    )
    artifact = irtool.build(irtool.parse(TYPES + text), flags={"region_size": 24 * 200 + 64})
    for n in (10, 99, 101, 150, 199):
        assert flat(artifact.run([np.int32(n)]))[1] == 1
    with pytest.raises(ToolError, match="the region is full"):
        artifact.run([np.int32(300)])
    assert len(flat(artifact.run([np.int32(150)]))) == 301


def test_loops_are_clean_under_sanitizers(tmp_path: Path) -> None:
    sources, calls = [], []
    for k, name in enumerate(LOOPS):
        built(name, 1600, name=f"n{k}", emit="c", mcpu="none", out_dir=tmp_path)
        sources.append(f"n{k}.c")
        with_values = "values" in (tmp_path / f"n{k}.h").read_text().split(f"int n{k}_run(")[1].split(")")[0]
        outputs = (tmp_path / f"n{k}.h").read_text().split(f"int n{k}_run(")[1].split(")")[0].count("*out")
        memory = f"n{k}_values_begin(memory, sizeof memory), " if with_values else ""
        outs = ", ".join(f"(void *)(out + {i})" for i in range(outputs))
        calls.append(f"  if (n{k}_run({memory}&n, {outs})) return {k + 1};")
    includes = "".join(f'#include "n{k}.h"\n' for k in range(len(LOOPS)))
    body = "\n".join(calls)
    (tmp_path / "main.c").write_text(
        f"{includes}static int64_t memory[1000], out[4];\nint main(void) {{\n  const int32_t n = 1000;\n{body}\n  return 0;\n}}\n"
    )
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["gcc", "-std=c99", *flags, "-o", "all", "main.c", *sources, "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run(["./all"], cwd=tmp_path, check=False).returncode == 0
