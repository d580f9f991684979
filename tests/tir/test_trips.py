"""How often steps run: loops that count up, loops that do not, loops in loops, calls."""

from __future__ import annotations

import pytest

import irtool
from irtool.driver.stages import run_stages
from irtool.tir.trip_counts import MOST, count_runs
from irtool.tir.vector_target import USUAL


def runs(text: str, name: str) -> list[int]:
    """How often the kernels run that compute an operator."""
    program = run_stages(irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + text)), ["main"], USUAL)
    return [n for k, n in count_runs(program).items() if name in k.operators]


LOOP = """def @loop(%i: int64, %x: Tensor[(4), float32], %end: int64) -> Tensor[(4), float32] {{
  if (%i {compare} {end}) {{ @loop(%i {step}, exp(%x), %end) }} else {{ %x }}
}}
def @main(%x: Tensor[(4), float32], %end: int64) {{ @loop({start}, %x, %end) }}
"""


@pytest.mark.parametrize(
    ("start", "compare", "end", "step", "count"),
    [
        ("0i64", "<", "16i64", "+ 1i64", 17),
        ("0i64", "<", "16i64", "+ 5i64", 5),
        ("7i64", ">", "0i64", "- 1i64", 8),
        ("0i64", "<", "0i64", "+ 1i64", 1),
        ("0i64", "<", "%end", "+ 1i64", 1),
        ("%end", "<", "16i64", "+ 1i64", 1),
        ("0i64", "<", "16i64", "+ %end", 1),
        ("0i64", "<", "16i64", "+ 0i64", MOST),
        ("0i64", "<", "1000000i64", "+ 1i64", MOST),
    ],
)
def test_a_loop_is_counted_if_constants_decide_its_end(
    start: str, compare: str, end: str, step: str, count: int
) -> None:
    text = LOOP.format(start=start, compare=compare, end=end, step=step)
    assert runs(text, "exp") == [count]


def test_loops_in_loops_and_functions_called_twice() -> None:
    text = """def @inner(%i: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (%i < 3) { @inner(%i + 1, exp(%x)) } else { %x }
}
def @outer(%i: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (%i < 5) { @outer(%i + 1, @inner(0, %x)) } else { %x }
}
def @main(%x: Tensor[(4), float32]) { (@outer(0, %x), tanh(@inner(0, %x))) }
"""
    assert runs(text, "exp") == [4 * 6 + 4]
    assert runs(text, "tanh") == [1]


def test_recursion_with_work_behind_its_call_counts_its_steps() -> None:
    text = """def @f(%i: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  if (%i < 5) { tanh(@f(%i + 1, exp(%x))) } else { %x }
}
def @main(%x: Tensor[(4), float32]) { @f(0, %x) }
"""
    assert runs(text, "exp") == [6]


def test_a_branch_that_is_not_decided_makes_what_it_writes_unknown() -> None:
    text = """def @loop(%i: int32, %x: Tensor[(4), float32], %b: bool) -> Tensor[(4), float32] {
  if (%i < 5) { let %next = if (%b) { %i + 1 } else { %i + 2 }; @loop(%next, exp(%x), %b) } else { %x }
}
def @main(%x: Tensor[(4), float32], %b: bool) { @loop(0, %x, %b) }
"""
    assert runs(text, "exp") == [1]
