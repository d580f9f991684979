"""Loop nests in the `primfn` form."""

from __future__ import annotations

import pytest

from irtool.ir import Module
from irtool.printer import to_text
from irtool.printer.tir import LoopNestPrinter, constant
from irtool.tir.expr import Var, cast, const, if_then_else, maximum, select
from irtool.tir.intrinsics import call
from irtool.tir.stmt import Allocate, Buffer, For, If, Let, PrimFunc, Seq, Store


def softmax_like() -> PrimFunc:
    x, y = Buffer("p0", (2, 10)), Buffer("T_softmax", (2, 10))
    peak = Buffer("T_max", (1,))
    i, k, j = Var("i0"), Var("k"), Var("k")
    body = For(
        i,
        2,
        Allocate(
            peak,
            Seq(
                [
                    Store(peak, (const(0),), const(-3.4028234663852886e38, "float32")),
                    For(k, 10, Store(peak, (const(0),), maximum(peak[0], x[i, k]))),
                    For(j, 10, Store(y, (i, j), call("exp", "float32", x[i, j] - peak[0])), "vectorized"),
                ]
            ),
        ),
        "parallel",
    )
    return PrimFunc("softmax", (x, y), body)


def test_a_nest_with_everything():
    assert LoopNestPrinter().function("default_softmax", softmax_like()) == (
        """@default_softmax = primfn(p0_1: handle, T_softmax_1: handle) -> ()
  attr = {"global_symbol": "default_softmax", "tir.noalias": True}
  buffers = {p0: Buffer(p0_2: Pointer(float32), float32, [2, 10], []),
             T_softmax: Buffer(T_softmax_2: Pointer(float32), float32, [2, 10], [])}
  buffer_map = {p0_1: p0, T_softmax_1: T_softmax} {
  for (i0: int32, 0, 2) "parallel" {
    allocate(T_max: Pointer(global float32), float32, [1]), storage_scope = global {
      T_max_1: Buffer(T_max, float32, [1], [], align=4)[0] = -3.4028235e+38f32
      for (k: int32, 0, 10) {
        T_max_1[0] = max(T_max_1[0], p0[i0, k])
      }
      for (k_1: int32, 0, 10) "vectorized" {
        T_softmax[i0, k_1] = @tir.exp((p0[i0, k_1] - T_max_1[0]), dtype=float32)
      }
    }
  }
}"""
    )


def test_a_nest_alone():
    assert to_text(softmax_like()).startswith('#[version = "0.0.5"]\n@softmax = primfn(p0_1: handle')


def test_names_run_on_through_a_module():
    text = to_text(Module({"b": softmax_like(), "a": softmax_like()}))
    assert text.index("@a = primfn(p0_1: handle") < text.index("@b = primfn(p0_4: handle")
    assert text.endswith("}\n")


def test_statements_and_expressions():
    x = Buffer("x", (4,), "int64")
    t, i = Var("t", "int64"), Var("i")
    body = Let(
        t,
        x[0] // 3,
        If(
            (t < 5).equal(const(True)),
            Store(x, (const(1),), select(t < 2, t % 3, t)),
            For(i, 4, Store(x, (i,), cast(if_then_else(i < 2, x[i], t), "int64"))),
        ),
    )
    text = LoopNestPrinter().function("f", PrimFunc("f", (x,), body, attrs={"flops": 12, "tags": ("a", 1.5)}))
    assert 'attr = {"global_symbol": "f", "tir.noalias": True, "flops": 12, "tags": ["a", 1.5f64]}' in text
    assert "  let t: int64 = floordiv(x[0], 3i64)\n  if " in text
    assert "x[1] = select((t < 2i64), floormod(t, 3i64), t)" in text
    assert "} else {\n    for (i: int32, 0, 4) {" in text
    assert "@tir.if_then_else((i < 2), x[i], t, dtype=int64)" in text


def test_a_deeply_shared_expression_stays_short():
    x = Buffer("x", (1,))
    e = x[0]
    for _ in range(200):
        e = e + e
    text = LoopNestPrinter().function("f", PrimFunc("f", (x,), Store(x, (const(0),), e)))
    assert len(text) < 500_000
    assert "let cse_var: float32 = " in text


def test_deep_nests_need_no_recursion():
    x = Buffer("x", (1,))
    s = Store(x, (const(0),), const(1.0, "float32"))
    for n in range(3000):
        s = If(x[0] < n, s)
    assert LoopNestPrinter().function("f", PrimFunc("f", (x,), s)).count("if ") == 3000


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [(3, "int32", "3"), (3, "int64", "3i64"), (7, "uint8", "7u8"), (0, "float32", "0f32"), (1, "bool", "True")],
)
def test_literals(value, dtype, text):
    assert constant(value, dtype) == text
