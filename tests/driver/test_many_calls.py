"""Ten million calls of one network take the memory of one: nothing is left from call to call, of data, closures, references and states."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.interp.values import Data
from tests.driver.programs import compile_c, parse, run

CALLS = 10_000_000
DATA = """type Tree { Leaf(int32), Fork(Tree, Tree), }
type Task { Now(int32), Later(fn (int32) -> int32), }
def @sum(%t: Tree) -> int32 { match (%t) { Leaf(%x) => { %x }, Fork(%l, %r) => { @sum(%l) + @sum(%r) }, } }
def @double(%t: Tree) -> Tree {
  match (%t) { Leaf(%x) => { Leaf(%x * 2) }, Fork(%l, %r) => { Fork(@double(%l), @double(%r)) }, }
}
def @done(%t: Task, %x: int32) -> int32 { match (%t) { Now(%y) => { %y }, Later(%f) => { %f(%x) }, } }
"""
BODIES = {
    "data": f"""{DATA}def @main(%t: Tree, %n: int32) -> (Tree, int32) {{
  let %r = ref(@sum(%t));
  let %task = if (%n > 3) {{ Later(fn (%x: int32) -> int32 {{ let %w = ref_write(%r, ref_read(%r) + %x); ref_read(%r) }}) }} else {{ Now(%n) }};
  let %s = @done(%task, %n);
  (@double(%t), %s + @done(%task, 1))
}}""",
    "states": f"""{DATA}def @main(%n: int32, %h: int32, state_outputs=[-1, 1]) -> (int32, int32) {{
  let %t = if (%n > 3) {{ Fork(Leaf(%n), Fork(Leaf(%h), Leaf(1))) }} else {{ Leaf(%h) }};
  let %next = bitwise_and(@sum(@double(%t)), 1023);
  (%next + %n, %next)
}}""",
    "lengths": f"""{DATA}def @main(%x: Tensor[(?), int32], %n: int32) -> (Tensor[(?, 1), int32], int32) {{
  let %t = if (%n > 3) {{ Fork(Leaf(%n), Leaf(sum(%x))) }} else {{ Leaf(%n) }};
  (argwhere(greater(%x, %n)), @sum(%t))
}}""",
}
CALL = {
    "data": """    tree = net_Fork(values, net_Leaf(values, n), net_Fork(values, net_Leaf(values, 1), net_Leaf(values, 2)));
    if (net_run(values, &tree, &n, &out, &number)) return 1;
    total = (total * 31 + number + net_Leaf_0(values, net_Fork_0(values, out))) % 1000003;
    values->top = top;
""",
    "states": """    if (net_step(&net, &n, &number)) return 1;
    total = (total * 31 + number) % 1000003;
""",
    "lengths": """    if (net_run(1 + k % 4, x, &n, places, &number, shape)) return 1;
    total = (total * 31 + number + shape[0]) % 1000003;
""",
}
DECLARED = {
    "data": "  static int64_t memory[200];\n  struct net_values *values = net_values_begin(memory, sizeof memory);\n"
    "  const int64_t top = values->top;\n  int64_t tree, out;\n",
    "states": "  static struct net_net net;\n  if (net_init(&net)) return 1;\n",
    "lengths": "  static const int32_t x[4] = {1, 9, 3, 7};\n  static int32_t places[4];\n  int64_t shape[2];\n",
}
MAIN = """#include "net.h"
#include <stdio.h>
#include <sys/resource.h>

static long most(void) { struct rusage u; getrusage(RUSAGE_SELF, &u); return u.ru_maxrss; }

int main(int argc, char **argv) {
  long k, before = 0, calls = argc > 1 ? %d : 10000000;
  int64_t total = 0;
  int32_t n, number;
%s  (void)argv;
  for (k = 0; k < calls; ++k) {
    n = (int32_t)(k %% 8);
%s    if (k == 1000) before = most();
  }
  printf("%%ld %%ld\\n", (long)total, most() - before);
  return 0;
}
"""
FEW = 2000


@pytest.mark.parametrize("kind", BODIES)
def test_ten_million_calls_in_constant_memory(kind: str, tmp_path: Path) -> None:
    module = parse(BODIES[kind])
    shapes = {"x": ("n<=4",)} if kind == "lengths" else None
    irtool.build(module, emit="c", name="net", out_dir=tmp_path, shapes=shapes)
    (tmp_path / "main.c").write_text(MAIN % (FEW, DECLARED[kind], CALL[kind]))
    checked = compile_c(
        tmp_path, "checked", "main.c", "net.c", flags=["-std=gnu99", "-O1", "-fsanitize=address,undefined"]
    )
    few = run(checked, "few")
    assert few.returncode == 0, few.stderr
    fast = compile_c(tmp_path, "fast", "main.c", "net.c", flags=["-std=gnu99", "-O2"])
    assert run(fast, "few").stdout.split()[0] == few.stdout.split()[0]
    done = run(fast)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) == 0, f"{CALLS} calls took kilobytes more than a thousand"


def test_many_calls_from_python_keep_nothing() -> None:
    module = irtool.infer_types(parse(BODIES["data"]))
    leaf, fork = module.type_definitions["Tree"].constructors
    artifact = irtool.build(module)

    def call(n: int) -> int:
        tree = Data(fork, [Data(leaf, [np.int32(n)]), Data(leaf, [np.int32(1)])])
        return int(artifact.run([tree, np.int32(n)])[1])

    expected = [call(n) for n in range(8)]
    for _ in range(500):
        assert [call(n) for n in range(8)] == expected
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1500):
        assert [call(n) for n in range(8)] == expected
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024
