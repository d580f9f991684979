"""Scalar operations: which need a support function, and whose results are rounded to 16 bits."""

from __future__ import annotations

import pytest

from irtool.selection.scalars import Support, is_rounded, support_of
from irtool.tir.expr import Binary, Call, Cast, Expr, Var, const
from irtool.tir.simplify import Simplifier
from irtool.tir.stmt import Buffer

I, N = Var("i"), Var("n")
KNOWN = Simplifier({I: (0, 9), N: (1, 31)})
ANY, WORD = Buffer("a", (4,), "int32")[0], Buffer("w", (4,), "int64")[0]
H, B, F, D = (Buffer("x", (4,), t)[0] for t in ("float16", "bfloat16", "float32", "float64"))


def binary(op: str, a: Expr, b: Expr) -> Binary:
    return Binary(op, a, b, a.dtype)


SUPPORT: list[tuple[Binary | Cast | Call, bool, Support | None]] = [
    (binary("floordiv", I, N), False, None),
    (binary("floormod", I, N), True, None),
    (binary("floordiv", ANY, N), False, ("floordiv", ("int32",))),
    (binary("floordiv", ANY, N), True, ("floordiv", ("int64",))),
    (binary("truncdiv", ANY, N), False, None),
    (binary("truncmod", ANY, ANY), False, ("truncmod", ("int32",))),
    (binary("floormod", WORD, WORD), True, ("floormod", ("int64",))),
    (binary(">>", ANY, N), False, None),
    (binary(">>", ANY, ANY), False, ("shr", ("int32",))),
    (binary("<<", ANY, N), True, ("shl", ("int32",))),
    (binary("+", ANY, N), False, None),
    (Cast(F, "int8"), False, ("to", ("float32", "int8"))),
    (Cast(B, "int32"), False, ("to", ("float32", "int32"))),
    (Cast(D, "float16"), False, ("odd", ("float64",))),
    (Cast(D, "float32"), False, None),
    (Cast(ANY, "float16"), False, None),
    (Call("pow", (ANY, ANY), "int32"), False, ("pow", ("int32",))),
    (Call("pow", (F, F), "float32"), False, None),
    (Call("clz", (WORD,), "int32"), False, ("clz", ("int64",))),
    (Call("dot4_u8s8", (ANY, ANY), "int32"), False, ("dot4_u8s8", ())),
    (Call("sigmoid", (H,), "float16"), False, ("sigmoid", ("float32",))),
    (Call("sigmoid", (D,), "float64"), False, ("sigmoid", ("float64",))),
    (Call("exp", (F,), "float32"), False, None),
]


@pytest.mark.parametrize(("e", "is_wide", "expected"), SUPPORT, ids=[f"{e!r} {w}" for e, w, _ in SUPPORT])
def test_the_support_function_of_an_operation(e: Binary | Cast | Call, is_wide: bool, expected: Support | None) -> None:
    assert support_of(e, KNOWN, is_wide) == expected


@pytest.mark.parametrize("x", [H, B], ids=["float16", "bfloat16"])
def test_results_in_sixteen_bits_are_rounded_unless_they_are_exact(x: Expr) -> None:
    rounded = [binary("*", x, x), Cast(F, x.dtype), Cast(ANY, x.dtype), Call("exp", (x,), x.dtype)]
    exact = [
        x,
        binary("max", x, x),
        Call("floor", (x,), x.dtype),
        Call("reinterpret", (ANY,), x.dtype),
        const(1.0, x.dtype),
    ]
    assert all(map(is_rounded, rounded)) and not any(map(is_rounded, exact))
    assert not is_rounded(binary("*", F, F)) and not is_rounded(Cast(x, "float32"))
