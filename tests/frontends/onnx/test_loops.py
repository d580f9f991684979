"""`If`, `Loop` and `Scan` of ONNX: `if` and functions that call themselves."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError

pytest.importorskip("onnx")

pytestmark = pytest.mark.promise("onnx loops")

HEAD = '<ir_version: 8, opset_import: ["": 17]>\n'
F3 = np.arange(3, dtype="float32")


def read(text, **options):
    """The module and parameters of a model in ONNX's text."""
    return irtool.from_onnx((HEAD + text).encode(), **options)


def check(text, inputs, expected, compiled=True):
    """The module; the interpreter, and C, give what is wanted."""
    module, params = read(text)
    interpreted = irtool.evaluate(module, [*inputs, *params.values()])
    ways = [interpreted, irtool.build(module, params, cflags="-O0").run(list(inputs))] if compiled else [interpreted]
    for way in ways:
        for f, w in zip(way if isinstance(way, tuple) else (way,), expected, strict=True):
            np.testing.assert_allclose(f, w, rtol=1e-6)
            assert f.dtype == w.dtype
    return module


COUNTED = """net (float[3] x, float[3] w) => (float[3] y, float[4, 3] all) {
  n = Constant <value = int64 {4}> ()
  e = Exp(w)
  y, all = Loop (n, , x) <body = turn (int64 i, bool c, float[3] a) => (bool c, float[3] b, float[3] d) {
    b = Sub(a, e)
    d = Neg(b)
  }>
}"""


def test_a_loop_of_known_length_has_known_extents_and_is_a_loop_in_c(tmp_path):
    turns = np.stack([1 * (k + 1) - F3 for k in range(4)]).astype("float32")
    module = check(COUNTED, [F3, np.zeros(3, "float32")], [F3 - 4, turns])
    assert "?" not in str(module["main"].checked_type)
    # What the body does not change is computed once, outside.
    assert " exp(" not in str(module["loop_0"])
    assert " exp(" in str(module["main"])
    irtool.build(module, emit="c", mcpu="native", out_dir=tmp_path)
    assert (tmp_path / "model.c").read_text().count("continue;") == 1


def test_a_condition_ends_a_loop_and_leaves_the_number_of_results_open():
    text = """net (float[3] x, int64 n, bool t) => (float[3] y, float[K, 3] all) {
      y, all = Loop (n, t, x) <body = turn (int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] d) {
        b = Sub(a, a)
        d = Neg(a)
        five = Constant <value = int64 {5}> ()
        twice = Sub(i, five)
        zero = Constant <value = int64 {0}> ()
        c2 = Less(twice, zero)
      }>
    }"""
    module = check(text, [F3, np.int64(9), np.array(True)], [0 * F3, np.stack([-F3] + [0 * F3] * 5)], False)
    assert "Tensor[(?, 3), float32]" in str(module["main"].checked_type)
    check(text, [F3, np.int64(0), np.array(True)], [F3, np.zeros((0, 3), "float32")], False)
    check(text, [F3, np.int64(9), np.array(False)], [F3, np.zeros((0, 3), "float32")], False)


def test_a_loop_whose_extents_change_is_unrolled():
    text = """net (float[3] x) => (float[K] y) {
      n = Constant <value = int64 {2}> ()
      y = Loop (n, , x) <body = turn (int64 i, bool c, float[L] a) => (bool c, float[M] b) {
        b = Concat <axis = 0> (a, a)
      }>
    }"""
    module = check(text, [F3], [np.tile(F3, 4)])
    assert list(module) == ["main"]


def test_loops_and_branches_in_each_other_see_the_values_around_them():
    text = """net (float[3] x, bool t) => (float[3] y) {
      n = Constant <value = int64 {2}> ()
      a = Abs(x)
      y = Loop (n, , x) <body = outer (int64 i, bool c, float[3] s) => (bool c, float[3] r) {
        a2 = Sub(s, a)
        r = Loop (n, , a2) <body = inner (int64 j, bool d, float[3] u) => (bool d, float[3] v) {
          v = If (t) <
            then_branch = yes () => (float[3] p) { p = Sub(u, a) },
            else_branch = no () => (float[3] q) { a2x = Neg(a2)  q = Sub(a2x, u) }
          >
        }>
      }>
    }"""
    expected = F3
    for _ in range(2):
        expected = expected - F3 - F3 - F3
    module = check(text, [F3, np.array(True)], [expected])
    assert " abs(" not in str(module["loop_0"]) + str(module["loop_1"])


def test_a_known_condition_takes_its_branch():
    text = """net (float[3] x) => (float[N] y) {
      t = Constant <value = bool {0}> ()
      y = If (t) <then_branch = a () => (float[3] p) { p = Exp(x) }, else_branch = b () => (float[3] q) { q = Neg(x) }>
    }"""
    assert "if" not in str(check(text, [F3], [-F3]))


def test_branches_of_several_extents_have_an_unknown_one():
    text = """net (float[3] x, bool t) => (float[N] y) {
      y = If (t) <
        then_branch = a () => (float[N] p) { p = Concat <axis = 0> (x, x) }, else_branch = b () => (float[M] q) { q = Neg(x) }
      >
    }"""
    check(text, [F3, np.array(True)], [np.tile(F3, 2)], False)
    check(text, [F3, np.array(False)], [-F3], False)


SCAN = """net (float[2] s, float[2, 4] x) => (float[2] y, float[2, 4] z) {
  y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1], scan_output_axes = [-1],
               body = turn (float[2] p, float[2] q) => (float[2] r, float[2] t) { r = Sub(q, p)  t = Neg(r) }> (s, x)
}"""


def test_scan_takes_slices_in_either_direction():
    x, s = np.arange(8, dtype="float32").reshape(2, 4), np.ones(2, "float32")
    turns: list[np.ndarray] = []
    for k in (3, 2, 1, 0):
        turns.append(x[:, k] - (turns[-1] if turns else s))
    check(SCAN, [s, x], [turns[-1], -np.stack(turns, -1)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "net (float[3] x) => (float[3] y) { y = Loop (, , x) <body = b (int64 i, bool c, float[3] a) => (bool c, float[3] d) { d = Neg(a) }> }",
            "it has no end",
        ),
        (
            "net (float[3] x, int64 n) => (float[3] y) { y = Loop (n, , x) <body = b (int64 i, bool c) => (bool c, float[3] d) { d = Neg(x) }> }",
            "the body of Loop has 2 inputs, and is handed 3 values",
        ),
        (
            "net (float[3] x, int64 n) => (int64 y) { y = Loop (n, , x) <body = b (int64 i, bool c, float[3] a) => (bool c, int64 i) { }> }",
            "a loop is handed Tensor[(3), float32] as a and hands on int64",
        ),
        (
            "net (float[3] x, bool c) => (float[3] y) { y = If (c) <then_branch = b () => (float[3] d) { d = Neg(x) }> }",
            "If needs its graph else_branch",
        ),
    ],
)
def test_loops_that_cannot_be_are_refused(text, message):
    with pytest.raises(IrError) as error:
        read(text)
    assert message in str(error.value)


def test_a_function_whose_branch_calls_it_is_refused():
    text = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
    net (float[3] x, bool c) => (float[3] y) { y = own.F (x, c) }
    <opset_import: ["": 17, "own": 1], domain: "own">
    F (x, c) => (y) {
      y = If (c) <then_branch = a () => (p) { p = own.F (x, c) }, else_branch = b () => (q) { q = Neg(x) }>
    }"""
    with pytest.raises(IrError) as error:
        irtool.from_onnx(text.encode())
    assert "own.F calls itself" in str(error.value)


BAGS = """net (float[8, 3] x) => (float[2, 3] y) {
  begins = Constant <value = int64[2] {0, 3}> ()
  ends = Constant <value = int64[2] {3, 8}> ()
  zero = Constant <value = int64[1] {0}> ()
  n = Constant <value = int64 {2}> ()
  y = Loop (n, ) <body = turn (int64 i, bool c) => (bool c, float[3] s) {
    b = Gather(begins, i)
    e = Gather(ends, i)
    b1 = Unsqueeze(b, zero)
    e1 = Unsqueeze(e, zero)
    rows = Slice(x, b1, e1)
    s = ReduceSum <keepdims = 0> (rows, zero)
  }>
}"""


def test_few_turns_are_written_out_where_their_number_decides_extents():
    """Every turn has parts of another extent, so that a loop would compute them while it runs, which C does not."""
    x = np.arange(24, dtype="float32").reshape(8, 3)
    module = check(BAGS, [x], [np.stack([x[:3].sum(0), x[3:].sum(0)])])
    assert list(module.functions) == ["main"]
