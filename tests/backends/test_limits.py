"""Where generated C changes its form by size; nothing of that size is made."""

from __future__ import annotations

import pytest

from irtool.backends.c.expression import Writer
from irtool.backends.c.nest import KernelWriter
from irtool.backends.interface.names import Identifiers
from irtool.backends.interface.weights_file import FILE, INLINE, SPLIT, choose
from irtool.diagnostics import UsageError
from irtool.tir.expr import Binary, Expr, Var, if_then_else, less
from irtool.tir.kernel import Kernel
from irtool.tir.program import CONSTANT, Slot
from irtool.tir.simplify import Simplifier
from irtool.tir.stmt import Buffer, For, PrimFunc, Store


@pytest.mark.parametrize(("size", "index"), [((1 << 31) - 1, "int32_t"), (1 << 31, "int64_t")])
def test_indices_are_as_wide_as_the_largest_buffer_needs(size: int, index: str) -> None:
    out, i = Buffer("out", (size,), "int8"), Var("i")
    writer = KernelWriter(Kernel.of(PrimFunc("k", (out,), For(i, 4, Store(out, (i,), i)))), "k", {})
    assert writer.index_type == index
    assert f"for ({index} i = 0;" in writer.write().define()


def weight(nbytes: int) -> Slot:
    return Slot("w", (nbytes,), "int8", CONSTANT)


@pytest.mark.parametrize(("nbytes", "way"), [(1 << 16, INLINE), ((1 << 16) + 1, FILE)])
def test_small_weights_stand_in_the_source(nbytes: int, way: str) -> None:
    assert choose([weight(nbytes)], "auto") == way
    assert choose([weight(nbytes - 1), weight(1)], "auto") == way


@pytest.mark.parametrize("way", [INLINE, SPLIT])
def test_too_many_weights_for_a_compiler_are_refused(way: str) -> None:
    most = 64 << 20
    assert choose([weight(most)], way) == way
    with pytest.raises(UsageError, match=str(most + 1)):
        choose([weight(most + 1)], way)
    assert choose([weight(most + 1)], FILE) == FILE


def test_without_weights_there_is_no_file() -> None:
    assert choose([], FILE) == choose([], SPLIT) == INLINE


def test_parentheses_are_nested_no_deeper_than_compilers_must_accept() -> None:
    """63 are enough for C99; those of conditions count as well."""
    x, y = Var("x", "float32"), Var("y", "float32")
    e: Expr = x
    for _ in range(100):
        e = if_then_else(less(Binary("+", e, y, "float32"), y), x, y)
    writer = Writer(Identifiers(), Simplifier({}), lambda load, indices: "", {})
    for v in (x, y):
        writer.declare(v)
    lines, (text,) = writer.write([e])
    for line in [*lines, text]:
        depth = most = 0
        for c in line:
            depth += (c == "(") - (c == ")")
            most = max(most, depth)
        assert most <= 63
