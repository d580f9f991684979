"""Values of data types and references as inputs and results of compiled functions, in Python and in C."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, ToolError
from irtool.interp.values import Data, Reference
from irtool.ir import Module
from tests.backends.data_programs import TYPES
from tests.values import Maker, shown

MORE = """
type Tree { Word(int32), Fork(Tree, Tensor[(2), float32], Tree), Empty, }
type Odd { Mix((int32, (bool, float16)), Tensor[(0, 2), float32], List[Option[int64]]), Alone, }
type Chain { Link(ref(Chain), int32), Stop, }
def @sum_of(%t: Tree) -> float32 {
  match (%t) {
    Word(%w) => { cast(%w, dtype="float32") }, Fork(%l, %x, %r) => { @sum_of(%l) + sum(%x) * @sum_of(%r) }, Empty => { 1f },
  }
}
def @words(%t: Tree, %rest: List[int32]) -> List[int32] {
  match (%t) {
    Word(%w) => { Cons(%w, %rest) }, Fork(%l, _, %r) => { @words(%l, @words(%r, %rest)) }, Empty => { %rest },
  }
}
"""

PROGRAMS: dict[str, tuple[str, list[list[Any]]]] = {
    "a tree": (
        """
def @main(%t: Tree, %n: int32) -> (float32, List[int32], Tree) {
  (@sum_of(%t), @words(%t, Cons(%n, Nil)), Fork(%t, ones(shape=[2], dtype="float32"), Empty))
}""",
        [
            [("Fork", ("Fork", ("Word", 1), [1.0, 2.0], ("Word", 2)), [3.0, 4.0], ("Empty",)), 7],
            [("Empty",), 7],
        ],
    ),
    "what was given": ("def @main(%t: Tree, %u: Tree) -> (Tree, Tree) { (%u, %t) }", [[("Word", 3), ("Empty",)]]),
    "results alone": ("def @main(%n: int32) -> (List[int32], List[int32]) { let %l = @up(%n); (%l, %l) }", [[0], [3]]),
    "inputs alone": ("def @main(%l: List[int32], %m: List[int32]) { @sum(%l) - @sum(%m) }", [[[4, 5], []], [[], [1]]]),
    "a map": (
        "def @main(%l: List[float32], %x: float32) -> List[(float32, bool)] {"
        " @map(fn (%y: float32) -> (float32, bool) { (%x + %y, less(%x, %y)) }, %l) }",
        [[[1.0, 3.0], 2.0], [[], 2.0]],
    ),
    "tuples and tensors without elements": (
        "def @main(%o: Odd, %p: (Odd, int32)) -> (Odd, Option[Odd]) {"
        " (match (%o) { Mix(%t, %e, %l) => { Mix((%t.0 + %p.1, %t.1), %e, Cons(None, %l)) }, Alone => { %o }, }, Some(%p.0)) }",
        [
            [("Mix", (5, (True, 0.5)), np.zeros((0, 2), "float32"), [("Some", 1), ("None",)]), (("Alone",), 3)],
            [("Alone",), (("Alone",), 3)],
        ],
    ),
}


pytestmark = pytest.mark.promise("values")


def module(text: str) -> Module:
    return irtool.infer_types(irtool.parse(TYPES + MORE + text))


def case(name: str) -> tuple[Module, list[list[Any]]]:
    text, runs = PROGRAMS[name]
    m = module(text)
    make = Maker(m)
    types = [p.checked_type for p in m["main"].params]  # type: ignore[union-attr]
    return m, [[make(x, t) for x, t in zip(run, types, strict=True)] for run in runs]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_values_go_in_and_come_out(name: str, target: str) -> None:
    m, runs = case(name)
    artifact = irtool.build(m, target=target, opt_level=2)
    assert artifact.files, "it is not compiled anew for each value"
    for inputs in runs:
        assert shown(artifact.run(inputs)) == shown(irtool.evaluate(m, inputs))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_read_and_write_values_under_sanitizers(name: str) -> None:
    m, runs = case(name)
    artifact = irtool.build(m, emit="exe", sanitize="address,undefined")
    for inputs in runs:
        assert shown(artifact.run(inputs)) == shown(irtool.evaluate(m, inputs))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_test_bench_compares_values(name: str, tmp_path: Path) -> None:
    m, _ = case(name)
    irtool.build(m, emit="exe", testbench=True, name="net", out_dir=tmp_path, sanitize="address,undefined")
    ended = subprocess.run(["./net"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and ended.stdout == "passed: 0 elements differ\n", ended


def test_a_test_bench_sees_other_values(tmp_path: Path) -> None:
    """The expected memory has another number, then another constructor."""
    m = module("""
def @main(%x: Tensor[(2), float32], %n: int32) -> List[Tensor[(2), float32]] {
  if (equal(%n, 100)) { Nil } else { Cons(exp(%x), Cons(%x, Nil)) }
}""")
    irtool.build(m, emit="c", testbench=True, name="net", out_dir=tmp_path)
    path = tmp_path / "net_test.c"
    text = path.read_text()
    start = text.index("int64_t expected[")
    words = re.findall(r"INT64_C\((-?\d+)\)", text[start:])
    for old, new in ((words[9], str(int(words[9]) ^ 1 << 22)), (words[10], "-3")):
        path.write_text(text[:start] + text[start:].replace(f"INT64_C({old})", f"INT64_C({new})", 1))
        subprocess.run(["cc", "-std=c99", "-o", "all", "net_test.c", "net.c", "-lm"], cwd=tmp_path, check=True)
        ended = subprocess.run(["./all"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 1 and ended.stdout.endswith("FAILED: 1 elements differ\n"), ended


def test_programs_refuse_files_that_have_no_values(tmp_path: Path) -> None:
    m, _ = case("inputs alone")
    irtool.build(m, emit="exe", name="net", out_dir=tmp_path)
    handle = np.array(-2, np.int64).tobytes()
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(handle)
    for values, code, message in (
        (bytes(63), 3, "no values of this program"),
        (bytes(64), 0, ""),
        (bytes(8 * 100), 12, "the values are not of the types"),
        (bytes(1 << 20), 3, "no values of this program"),
    ):
        (tmp_path / "values").write_bytes(values)
        ended = subprocess.run(
            ["./net", "values", "a", "b", "out"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ended.returncode == code and message in ended.stderr, ended
    usage = subprocess.run(["./net", "-h"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "usage: net values.raw l.raw m.raw out.raw" in usage


@pytest.mark.parametrize("how", [{}, {"target": "llvm"}, {"emit": "exe"}], ids=["c", "llvm", "program"])
def test_references_are_written_for_the_caller_too(how: dict[str, Any]) -> None:
    """The reference is in a ring of data, and a run adds a link of its own to it."""
    m = module("""
def @main(%c: Chain, %n: int32) -> (Chain, int32) {
  match (%c) {
    Link(%r, %k) => {
      let %before = ref_read(%r);
      let %u = ref_write(%r, Link(ref(%c), %n));
      (%before, %k)
    },
    Stop => { (%c, 0) },
  }
}""")
    make, artifact = Maker(m), irtool.build(m, **how)
    for run in (lambda x: artifact.run(x), lambda x: irtool.evaluate(m, x)):
        cell = Reference(None)
        ring = cell.value = Data(make.constructors["Link"], [cell, np.int32(4)])
        before, k = run([ring, np.int32(9)])
        assert before is ring and k == 4
        link = cell.value
        assert link.constructor.name == "Link" and link[1] == 9 and link[0].value is ring


def test_a_value_that_occurs_often_is_one_object() -> None:
    """As trees these would have 2 ** 60 words."""
    m = module("""
def @double(%n: int32, %t: Tree) -> Tree {
  if (equal(%n, 0)) { %t } else { @double(%n - 1, Fork(%t, zeros(shape=[2], dtype="float32"), %t)) }
}
def @main(%t: Tree, %n: int32) -> Tree { @double(%n, %t) }""")
    make = Maker(m)
    t = make.data("Word", np.int32(1))
    for _ in range(30):
        t = make.data("Fork", t, np.zeros(2, "float32"), t)
    result = irtool.build(m).run([t, np.int32(30)])
    for _ in range(30):
        assert result[0] is result[2]
        result = result[0]
    assert result is t


def test_values_of_other_types_are_refused_by_name() -> None:
    m, _ = case("a tree")
    make, artifact = Maker(m), irtool.build(m)
    n = np.int32(1)
    cons = make.data("Cons", np.int32(1), make.data("Nil"))
    zeros = np.zeros(2, "float32")
    for value, message in (
        (cons, r"%t is Tree, and its value is Cons\(…, …\)"),
        (np.float32(3), "%t is Tree, and its value is of float32"),
        (make.data("Fork", make.data("Empty"), zeros, cons), r"%t\.Fork is Tree"),
        (make.data("Fork", make.data("Empty"), zeros, make.data("Word", zeros)), r"%t\.Fork\.Word is .*int32"),
        (make.data("Word"), r"%t is Tree, and its value is Word\(\)"),
    ):
        with pytest.raises(IrError, match=message):
            artifact.run([value, n])


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_values_that_fill_the_region_are_an_error_and_the_next_run_begins_afresh(target: str) -> None:
    m = module("def @main(%l: List[int32]) -> List[int32] { Cons(1, %l) }")
    make = Maker(m)
    artifact = irtool.build(m, target=target, flags={"region_size": 24 * 101})
    t = m["main"].params[0].checked_type  # type: ignore[union-attr]
    for n in (3, 90, 101, 50, 1000, 90):
        if n <= 100:
            assert shown(artifact.run([make([7] * n, t)])) == shown(make([1] + [7] * n, t))
        else:
            with pytest.raises(ToolError, match="the region is full"):
                artifact.run([make([7] * n, t)])


def test_what_callers_cannot_have_is_refused_with_the_type(tmp_path: Path) -> None:
    functions = module("type Act { Do(fn(float32) -> float32), }\ndef @main(%a: List[Act]) { 1f }")
    with pytest.raises(IrError, match=r"List\[Act.* cannot be a parameter or a result: there are functions in it"):
        irtool.build(functions, out_dir=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_saved_build_gives_values(tmp_path: Path) -> None:
    m, runs = case("a tree")
    irtool.build(m, out_dir=tmp_path)
    loaded = irtool.load(tmp_path)
    assert shown(loaded.run(runs[0])) == shown(irtool.evaluate(m, runs[0]))


CALLER = r"""
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
static int64_t memory[64];
int main(void) {
  static const float x[2] = {1, 2};
  static int64_t copy[64];
  struct net_values *values = net_values_begin(memory, sizeof memory);
  const int32_t n = 7;
  int64_t first, t, list, tree = -99, bad;
  float sum = -1;
  int k, code, refused = 0;
  if (!values || net_values_begin((char *)memory + 4, 100) || net_values_begin(memory, 63)) return 1;
  first = values->top;
  t = net_Fork(values, net_Fork(values, net_Word(values, 1), x, net_Word(values, 2)), x, net_Empty());
  if (!t || net_tag(values, t) != NET_FORK_TAG || net_Fork_1(values, t)[1] != 2) return 2;
  if (net_Fork(values, net_Nil(), x, t) || net_Fork(values, 40, x, t) || net_Cons(values, 1, t)) return 3;
  if (net_run(values, &t, &n, &sum, &list, &tree) || sum != 10) return 4;
  if (net_Fork_0(values, tree) != t || net_tag(values, net_Fork_2(values, tree)) != NET_EMPTY_TAG) return 5;
  for (; net_tag(values, list) == NET_CONS_TAG; list = net_Cons_1(values, list)) printf("%d ", (int)net_Cons_0(values, list));
  if (net_tag(values, list) != NET_NIL_TAG) return 6;
  /* Without room for the results, nothing is written. */
  memcpy(copy, memory, sizeof memory);
  values->size = values->top + 8;
  memcpy(copy, memory, 16);
  sum = tree = 3;
  if (net_run(values, &t, &n, &sum, &list, &tree) != NET_VALUES_FULL || tree != 3 || sum != 3 || memcmp(copy, memory, sizeof memory)) return 7;
  if (net_Word(values, 5)) return 8;
  values->size = sizeof memory;
  /* An earlier end takes back what was made since. */
  values->top = first;
  if (net_run(values, &t, &n, &sum, &list, &tree) != NET_OTHER_VALUES) return 9;
  t = net_Word(values, 4);
  if (net_run(values, &t, &n, &sum, &list, &tree) || sum != 4) return 10;
  for (bad = -70; bad < 600; ++bad)
    if (bad != t && bad != tree && bad != net_Empty() && net_run(values, &bad, &n, &sum, &list, &tree) == 0) return 11;
  bad = INT64_MIN;
  if (net_run(values, &bad, &n, &sum, &list, &tree) != NET_OTHER_VALUES) return 12;
  if (net_run(NULL, &t, &n, &sum, &list, &tree) != NET_OTHER_VALUES) return 13;
  /* Damaged bytes are refused, or are other values: nothing is read beside them. */
  values->top = first;
  t = net_Fork(values, net_Fork(values, net_Word(values, 1), x, net_Word(values, 2)), x, net_Empty());
  memcpy(copy, memory, sizeof memory);
  srand(1);
  for (k = 0; k < 20000; ++k) {
    memcpy(memory, copy, sizeof memory);
    ((unsigned char *)memory)[rand() % 400] = (unsigned char)rand();
    if (values->size > (int64_t)sizeof memory) continue;
    code = net_run(values, &t, &n, &sum, &list, &tree);
    if (code && code != NET_OTHER_VALUES && code != NET_REGION_FULL && code != NET_VALUES_FULL) return 14;
    refused += code == NET_OTHER_VALUES;
  }
  if (refused < 1000) return 15;
  puts("passed");
  return 0;
}
"""


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_callers_in_c_make_values_and_take_them_apart(cc: str, tmp_path: Path) -> None:
    if shutil.which(cc) is None:
        pytest.skip(f"no {cc}")
    m, _ = case("a tree")
    irtool.build(m, emit="c", name="net", mcpu="none", out_dir=tmp_path)
    (tmp_path / "main.c").write_text(CALLER)
    flags = ["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-g1", "-fsanitize=address,undefined"]
    flags += ["-fno-sanitize-recover=all"]
    compiled = [cc, "-std=c99", *flags, "-o", "all", "main.c", "net.c", "-lm"]
    subprocess.run(compiled, cwd=tmp_path, check=True, capture_output=True, text=True)
    ended = subprocess.run(["./all"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "1 2 7 passed\n"), ended.stderr
    plain = subprocess.run(
        ["g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "net.h"], cwd=tmp_path, check=False
    )
    assert plain.returncode == 0


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_steps_of_an_instance_take_values(target: str) -> None:
    m = module("""
def @main(%h: int32, %l: List[int32]) -> (int32, List[int32]) { let %s = %h + @sum(%l); (%s, Cons(%s, %l)) }""")
    net = irtool.build(m, target=target, states={"h": "out0"}).instance()
    make, t = Maker(m), m["main"].params[1].checked_type  # type: ignore[union-attr]
    assert shown(net.step([make([1, 2], t)])) == shown(make([3, 1, 2], t))
    assert shown(net.step([make([4], t)])) == shown(make([7, 4], t))


FULL = r"""
#include "net.h"
#include <stdio.h>
static struct net_net net;
static int64_t memory[64], first[NET_STATE_SIZE / 8 + 1], after[NET_STATE_SIZE / 8 + 1];
int main(void) {
  struct net_values *values = net_values_begin(memory, sizeof memory);
  int32_t sum = -1;
  int64_t list = net_Cons(values, 5, net_Nil()), out = -99;
  const int64_t size = values->size;
  if (net_init(&net) || net_state(&net, first, NULL)) return 1;
  values->size = values->top + 8;
  if (net_step(&net, values, &list, &sum, &out) != NET_VALUES_FULL || sum != -1 || out != -99) return 2;
  if (net_state(&net, after, NULL) || memcmp(first, after, NET_STATE_SIZE)) return 3;
  values->size = size;
  if (net_step(&net, values, &list, &sum, &out) || sum != 5 || net_Cons_0(values, out) != 5) return 4;
  if (net_step(&net, values, &out, &sum, &out) || sum != 10 || net_Cons_0(values, out) != 15) return 5;
  puts("passed");
  return 0;
}
"""


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_a_step_without_room_for_its_results_writes_nothing(target: str, tmp_path: Path) -> None:
    m = module("""
def @main(%h: int32, %l: List[int32]) -> (int32, int32, List[int32]) {
  let %s = @sum(%l); let %t = %h + %s; (%t, %s, Cons(%t, %l)) }""")
    emit = "c" if target == "c" else "obj"
    irtool.build(m, target=target, emit=emit, name="net", states={"h": "out0"}, out_dir=tmp_path)
    (tmp_path / "main.c").write_text(FULL)
    library = "net.c" if target == "c" else "net.o"
    subprocess.run(["cc", "-std=c99", "-o", "all", "main.c", library, "-lm"], cwd=tmp_path, check=True)
    ended = subprocess.run(["./all"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "passed\n")


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_an_entry_that_another_one_calls_gives_values_once(target: str) -> None:
    m = module("""
def @main(%l: List[int32]) -> (List[int32], int32) { (Cons(1, %l), @sum(%l)) }
def @twice(%l: List[int32]) -> (List[int32], int32) { @main(@main(%l).0) }""")
    artifact = irtool.build(m, target=target, entry=["main", "twice"])
    make, t = Maker(m), m["main"].params[0].checked_type  # type: ignore[union-attr]
    assert shown(artifact.run([make([4], t)])) == shown((make([1, 4], t), np.array(4, "int32")))
    assert shown(artifact.run([make([4], t)], entry="twice")) == shown((make([1, 1, 4], t), np.array(5, "int32")))


def test_a_state_is_no_data() -> None:
    m = module("def @main(%l: List[int32]) -> (List[int32], int32) { (Cons(1, %l), @sum(%l)) }")
    with pytest.raises(IrError, match="the state %l is data"):
        irtool.build(m, states={"l": "out0"})


PAGE = (Path(__file__).parents[2] / "docs" / "building.md").read_text().split("### Values as inputs and outputs")[1]


def test_the_examples_of_the_manual_run(tmp_path: Path) -> None:
    relay, c, python = (re.findall(rf"```{x}\n(.*?)```", PAGE, re.DOTALL)[0] for x in ("relay", "c", "python"))
    irtool.build(irtool.parse(relay), emit="c", name="net", out_dir=tmp_path)
    (tmp_path / "main.c").write_text(c)
    subprocess.run(["cc", "-std=c99", "-o", "all", "main.c", "net.c", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run(["./all"], cwd=tmp_path, check=False).returncode == 0
    exec(python, {})


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_an_artifact_tells_how_much_of_the_region_was_used(target: str) -> None:
    """The most of all runs so far; see the next test for the bytes."""
    artifact = irtool.build(module("def @main(%n: int32) { @sum(@up(%n)) }"), target=target)
    assert artifact.region_used == 0
    for n, most in ((3, 3), (1, 3), (100, 100)):
        artifact.run([np.array(n, "int32")])
        assert abs(artifact.region_used - most * 40) < 40
    assert artifact.report["region_bytes"] > 100 * 40


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_the_header_tells_how_much_of_the_region_was_used(target: str, tmp_path: Path) -> None:
    """A list has elements of 24 bytes, and there is a frame of 16 for each while they are summed up."""
    m = module("def @main(%n: int32) { @sum(@up(%n)) }")
    emit = "c" if target == "c" else "obj"
    irtool.build(m, target=target, emit=emit, name="net", out_dir=tmp_path)
    (tmp_path / "main.c").write_text("""#include "net.h"
#include <stdio.h>
static unsigned char arena[NET_ARENA_SIZE + 1];
int main(void) {
  int32_t n, out;
  for (n = 0; n <= 1000; n += 500) {
    if (net_run_with(arena + 1, NET_ARENA_SIZE, &n, &out)) return 1;
    printf("%d ", (int)net_region_used(arena + 1));
  }
  return 0;
}
""")
    built = "net.c" if target == "c" else "net.o"
    subprocess.run(
        ["cc", "-std=c99", "-Wall", "-Werror", "-o", "all", "main.c", built, "-lm"], cwd=tmp_path, check=True
    )
    printed = subprocess.run(["./all"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    least, middle, most = map(int, printed)
    assert 0 <= least < 100 and abs(middle - 500 * 40) < 100 and most - middle == 500 * 40
