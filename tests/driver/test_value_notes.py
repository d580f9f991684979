"""A value that decides an extent outside of its bounds: which extent, where, and the value."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import ToolError
from tests.driver.programs import SANITIZED, compile_c, parse, run

needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
TEXT = """type List[A] { Cons(A, List[A]), Nil, }
def @deep(%n: int32) -> List[int32] { if (%n < 1) { Nil } else { Cons(%n, @deep(%n - 1)) } }
def @total(%l: List[int32]) -> int32 { match (%l) { Nil => { 0 }, Cons(%x, %r) => { %x + @total(%r) }, } }
def @main(%x: Tensor[(5), float32], %n: int32) {
  (argwhere(greater(%x, 0f)),
   arange(0, %n, 1, start=0, stop=%n, step=1, dtype="int32"),
   @total(@deep(%n)))
}
"""
PLAIN = TEXT.replace("@total(@deep(%n))", "%n")
BOUNDS = {"count_1": "<=4"}
X = np.ones(5, "float32")


@pytest.mark.parametrize("text", [TEXT, PLAIN], ids=["with data", "without"])
@pytest.mark.parametrize("target", ["c", "c{openmp=true}", pytest.param("llvm", marks=needs_clang)])
def test_the_error_names_the_extent_its_place_and_the_value(target: str, text: str) -> None:
    artifact = irtool.build(parse(text), target=target, dims=BOUNDS)
    with pytest.raises(ToolError, match="and it has to be from 0 to 4") as caught:
        artifact.run([X, np.int32(9)])
    (error,) = caught.value.diagnostics
    assert "a value decides that count_1 (<text>:" in error.message and " is 9, " in error.message
    assert error.help == "a larger bound: --dim 'count_1<=9'"
    line = text.splitlines().index('   arange(0, %n, 1, start=0, stop=%n, step=1, dtype="int32"),') + 2
    assert text is TEXT or f"(<text>:{line}:4)" in error.message
    assert artifact.run([X, np.int32(4)])[1].tolist() == [0, 1, 2, 3]
    assert artifact.report["value_lengths"][1]["high"] == 4


def test_it_names_them_where_memory_is_in_pools() -> None:
    artifact = irtool.build(parse(PLAIN), target='c{workspace_pools="a,b"}', dims=BOUNDS)
    with pytest.raises(ToolError, match=r"a value decides that count_1 \(.*\) is 9, and it has to be from 0 to 4"):
        artifact.run([X, np.int32(9)])


def test_where_runs_leave_no_note_the_error_is_the_same() -> None:
    """Functions whose frames lie inside of a pool, such as a loop that is called, do not know where the pools begin."""
    text = """def @turns(%i: int32, %x: Tensor[(5), float32], %s: float32) -> float32 {
      if (%i < 1) { %s } else { @turns(%i - 1, %x, sum(cast(arange(0, %i, 1, start=0, stop=%i, step=1, dtype="int32"), dtype="float32")) + %s) }
    }
    def @main(%x: Tensor[(5), float32], %n: int32) { (@turns(%n, %x, 0f), %n) }"""
    for target in ("c", 'c{workspace_pools="a,b"}'):
        artifact = irtool.build(parse(text), target=target, dims={"count_0": "<=4"})
        with pytest.raises(ToolError, match="a value decides"):
            artifact.run([X, np.int32(9)])
        assert ("value_lengths" in artifact.report) == (target == "c")


@pytest.mark.parametrize("target", ["c", 'c{workspace_pools="a,b"}', pytest.param("llvm", marks=needs_clang)])
def test_callers_in_c_read_it_from_the_networks_own_memory(target: str, tmp_path: Path) -> None:
    emit = "obj" if target == "llvm" else "c"
    irtool.build(parse(PLAIN), target=target, emit=emit, name="net", dims=BOUNDS, out_dir=tmp_path)
    in_pools = (
        "  struct net_workspace_pools pools = {malloc(NET_A_POOL_SIZE + 1), malloc(NET_B_POOL_SIZE + 1)};\n"
        "  value = 0;\n"
        "  if (net_run_in_pools(&pools, x, &n, places, numbers, &total, shape0, shape1) != NET_VALUE_OUT_OF_BOUNDS) return 3;\n"
        "  if (net_value_out_of_bounds_in_pools(&pools, &value) != 1 || value != 7) return 4;\n"
        "  free(pools.a);\n  free(pools.b);\n"
        if "pools" in target
        else ""
    )
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include <stdlib.h>\n'
        "int main(void) {\n"
        "  static const float x[5] = {1, 1, 1, 1, 1};\n"
        "  int32_t n = 7, places[NET_OUT0_MAX_SIZE], numbers[NET_OUT1_MAX_SIZE], total;\n"
        "  int64_t shape0[2], shape1[1], value = 0;\n"
        "  if (net_run(x, &n, places, numbers, &total, shape0, shape1) != NET_VALUE_OUT_OF_BOUNDS) return 1;\n"
        "  if (net_own_value_out_of_bounds(&value) != 1 || value != 7) return 2;\n"
        f"{in_pools}  return 0;\n}}\n"
    )
    done = run(compile_c(tmp_path, "main", "main.c", "net.o" if emit == "obj" else "net.c", flags=SANITIZED))
    assert done.returncode == 0, (done.returncode, done.stderr)


@pytest.mark.parametrize("target", ["c", 'c{workspace_pools="a,b"}'])
def test_programs_print_it(target: str, tmp_path: Path) -> None:
    artifact = irtool.build(parse(PLAIN), target=target, emit="exe", dims=BOUNDS, out_dir=tmp_path)
    with pytest.raises(
        ToolError, match=r"ended with code 6: a value decides that count_1 \(.*\) is 9, and it has to be from 0 to 4"
    ):
        artifact.run([X, np.int32(9)])
    assert artifact.run([X, np.int32(4)])[1].tolist() == [0, 1, 2, 3]


def test_programs_with_states_print_it(tmp_path: Path) -> None:
    text = (
        """def @main(%n: int32, %h: int32) { (arange(0, %n, 1, start=0, stop=%n, step=1, dtype="int32"), %h + %n) }"""
    )
    artifact = irtool.build(parse(text), emit="exe", states={"h": "out1"}, dims={"count_0": "<=4"}, out_dir=tmp_path)
    with pytest.raises(ToolError, match=r"code 6: a value decides that count_0 .* is 9"):
        artifact.run([np.int32(9)])


def test_callers_in_c_read_it_from_their_workspace(tmp_path: Path) -> None:
    """Of any size and at any address."""
    irtool.build(parse(TEXT), emit="c", name="net", dims=BOUNDS, out_dir=tmp_path)
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include <stdlib.h>\n'
        "int main(void) {\n"
        "  static const float x[5] = {1, 1, 1, 1, 1};\n"
        "  const size_t size = NET_ARENA_SIZE + 70;\n"
        "  unsigned char *arena = malloc(size + 3);\n"
        "  int32_t n = 7, places[NET_OUT0_MAX_SIZE], numbers[NET_OUT1_MAX_SIZE], total;\n"
        "  int64_t shape0[2], shape1[1], value = 0;\n"
        "  if (net_run_with(arena + 3, size, x, &n, places, numbers, &total, shape0, shape1) != NET_VALUE_OUT_OF_BOUNDS) return 1;\n"
        "  if (net_value_out_of_bounds(arena + 3, size, &value) != 1 || value != 7) return 2;\n"
        "  n = 3;\n"
        "  if (net_run_with(arena + 3, size, x, &n, places, numbers, &total, shape0, shape1) || total != 6) return 3;\n"
        "  free(arena);\n  return 0;\n}\n"
    )
    done = run(compile_c(tmp_path, "main", "main.c", "net.c", flags=SANITIZED))
    assert done.returncode == 0, (done.returncode, done.stderr)
