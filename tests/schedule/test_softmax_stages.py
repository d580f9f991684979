"""Which stages are a softmax, built by hand: all but the real ones differ from it in one thing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from irtool.schedule.strategies.attention.softmax import find_softmax, flush_exponentials, largest_of
from irtool.schedule.strategies.attention.tiled import quotient
from irtool.tir.expr import Binary, Call, Cast, Const, Expr, Load, Var, const
from irtool.tir.forms import AnyForm, Map, Reduction
from irtool.tir.stmt import Buffer, Scope, Store


def buffer(name: str, *shape: int, dtype: str = "float32", scope: Scope = Scope.GLOBAL) -> Buffer:
    return Buffer(name, shape, dtype, scope)


def stages(dtype: str = "float32") -> tuple[dict[str, Buffer], Reduction, Map, Reduction]:
    """The largest of each row of x, exp(x - largest), and the sums of these, with the buffers by name."""
    b = {n: buffer(n, 4, 7, dtype=dtype) for n in ("x", "e")} | {n: buffer(n, 4, dtype=dtype) for n in ("m", "s")}
    i, j = Var("i"), Var("j")
    loops = ((i, 4),)

    def reduced(name: str, op: str, init: float, of: str) -> Reduction:
        acc = buffer("acc", 1, dtype=dtype, scope=Scope.REGISTER)
        old = Load(acc, (const(0),))
        update = Binary(op, old, Load(b[of], (i, j)), dtype)
        return Reduction(loops, acc, Const(init, dtype), ((j, 7),), update, (Store(b[name], (i,), old),))

    distance = Binary("-", Load(b["x"], (i, j)), Load(b["m"], (i,)), dtype)
    exponential = Map((*loops, (j, 7)), (Store(b["e"], (i, j), Call("exp", (distance,), dtype)),))
    return b, reduced("m", "max", -math.inf, "x"), exponential, reduced("s", "+", 0.0, "e")


def same(b: Buffer) -> Buffer:
    return b


def stored(m: Map, value: Expr) -> Map:
    s = m.stores[0]
    return Map(m.loops, (Store(s.buffer, s.indices, value),))


def value(forms: list[AnyForm]) -> Any:
    (form,) = (f for f in forms if isinstance(f, Map))
    return form.stores[0].value


def test_the_three_stages() -> None:
    b, largest, exponential, total = stages()
    assert find_softmax([largest, exponential, total], same) == 0
    assert find_softmax([total, largest, exponential, total], same) == 1
    assert largest_of(largest) is b["x"]
    assert value(flush_exponentials([largest, exponential], same)).name == "flushed_exp"


def test_a_largest_that_begins_elsewhere_is_none() -> None:
    _, largest, exponential, total = stages()
    begun = replace(largest, init=const(0.0, "float32"))
    assert largest_of(begun) is None
    assert find_softmax([begun, exponential, total], same) is None
    assert value(flush_exponentials([begun, exponential], same)).name == "exp"


def test_a_largest_of_what_is_computed_is_none() -> None:
    _, largest, _, _ = stages()
    assert isinstance(largest.update, Binary)
    of = Binary("*", largest.update.b, largest.update.b, "float32")
    assert largest_of(replace(largest, update=Binary("max", largest.update.a, of, "float32"))) is None


@pytest.mark.parametrize("change", ["function", "difference", "order", "data", "dtype"])
def test_other_values_between_are_none(change: str) -> None:
    _, largest, exponential, total = stages("float64" if change == "dtype" else "float32")
    call = exponential.stores[0].value
    assert isinstance(call, Call)
    d = call.args[0]
    assert isinstance(d, Binary)
    other = Load(buffer("other", 4, 7), (*exponential.stores[0].indices,))
    changed = {
        "function": Call("tanh", (d,), "float32"),
        "difference": Call("exp", (Binary("+", d.a, d.b, "float32"),), "float32"),
        "order": Call("exp", (Binary("-", d.b, d.a, "float32"),), "float32"),
        "data": Call("exp", (Binary("-", other, d.b, "float32"),), "float32"),
        "dtype": call,
    }[change]
    forms: list[AnyForm] = [largest, stored(exponential, changed), total]
    assert find_softmax(forms, same) is None
    assert value(flush_exponentials(forms, same)) is changed


def test_numbers_of_16_bits_are_widened_first() -> None:
    b, largest, exponential, _ = stages()
    half = buffer("x", 4, 7, dtype="float16")
    i, j = exponential.stores[0].indices
    wide = Cast(Load(half, (i, j)), "float32")
    assert isinstance(largest.update, Binary)
    first = replace(largest, update=Binary("max", largest.update.a, wide, "float32"))
    d = Binary("-", wide, Load(b["m"], (i,)), "float32")
    second = stored(exponential, Call("exp", (d,), "float32"))
    assert value(flush_exponentials([first, second], same)).name == "flushed_exp"
    assert largest_of(first) is None, "an attention reads its scores as they are"


def test_what_is_divided_by_what() -> None:
    _, _, exponential, _ = stages()
    i, j = exponential.stores[0].indices
    a, b = Load(buffer("a", 4, 7), (i, j)), Load(buffer("b", 4), (i,))
    assert quotient(stored(exponential, Binary("/", a, b, "float32"))) == (a, b)
    assert quotient(stored(exponential, Cast(Binary("/", a, b, "float32"), "bfloat16"))) == (a, b)
    assert quotient(stored(exponential, Cast(Binary("/", a, b, "float32"), "int32"))) is None
    for other in (
        Binary("*", a, b, "float32"),
        Binary("/", a, const(2.0, "float32"), "float32"),
        Binary("/", const(1.0, "float32"), b, "float32"),
        a,
    ):
        assert quotient(stored(exponential, other)) is None
    twice = Map(exponential.loops, exponential.stores * 2)
    assert quotient(twice) is None
