"""Bodies of vectorized loops as values and steps, before any backend prints them."""

from __future__ import annotations

import pytest

from irtool.backends.formulas.vector_math import function_for
from irtool.selection.vectors import ir
from irtool.selection.vectors.channels import Channel, picks
from irtool.selection.vectors.lower import Lowering
from irtool.selection.vectors.types import Scalar, VectorType
from irtool.tir.expr import Call, Cast, Var, add, const, if_then_else, less, mul, select
from irtool.tir.simplify import Simplifier
from irtool.tir.stmt import Buffer, Store

pytestmark = pytest.mark.promise("backends")
X, Y = Buffer("x", (64,)), Buffer("y", (64,))


def lower(value, count=16, width=16, buffer=Y, index=None, strict=False) -> ir.Body:
    """The body of `for lane in count: buffer[index or lane] = value(lane)`."""
    lane = Var("lane")
    simplify = Simplifier({lane: (0, count - 1)})
    lowering = Lowering(simplify, lambda x: None, lambda call: function_for(call, strict), lane, count, width)
    return lowering.run([Store(buffer, (index(lane) if index else lane,), value(lane))])


def names(body: ir.Body) -> list[str]:
    return [type(s).__name__ for s in body.steps]


def test_what_does_not_change_with_the_lane_is_one_scalar() -> None:
    n = Var("n")
    body = lower(lambda lane: add(X[lane], mul(X[n], X[n + 1])))
    assert names(body) == ["LoadVector", "Splat", "Arithmetic", "StoreVector"]
    load, splat, total, store = body.steps
    assert isinstance(load, ir.LoadVector) and load.stride == 1 and load.is_whole
    assert isinstance(splat, ir.Splat) and isinstance(total, ir.Arithmetic)
    assert total.type == VectorType("float32", 16) and (total.a, total.b) == (load, splat)
    assert isinstance(store, ir.StoreVector) and store.value is total


def test_a_value_that_is_used_twice_has_a_name() -> None:
    def twice(lane):
        x = X[lane]
        return mul(x, x)

    load, product, _ = lower(twice).steps
    assert load.named and not product.named  # type: ignore[union-attr]


@pytest.mark.parametrize(("stride", "function"), [(1, None), (2, "even"), (3, "third"), (4, None)])
def test_strides(stride: int, function: str | None) -> None:
    odd = Buffer("odd", (61,))
    body = lower(lambda lane: odd[lane * stride])
    assert [f[0] for f in body.functions] == ([function] if function else [])


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("number", [0, 1])
def test_one_of_several_channels_comes_from_whole_vectors(count: int, number: int) -> None:
    x, row = Buffer("x", (480,)), Var("row")
    body = lower(lambda lane: x[row * (5 * count) + lane * count + (number + 2 * count)])
    load = body.steps[0]
    assert isinstance(load, ir.LoadVector) and load.channel == Channel(count, number)
    terms, offset = Simplifier({}).linear(load.base)
    assert terms == {row: 5 * count} and offset == 2 * count
    assert [f[0] for f in body.functions] == [f"channel_{count}_{number}"]


def test_a_channel_that_changes_from_row_to_row_is_read_alone() -> None:
    x, row = Buffer("x", (480,)), Var("row")
    load = lower(lambda lane: x[row * 7 + lane * 3]).steps[0]
    assert isinstance(load, ir.LoadVector) and load.channel is None and load.stride == 3


def test_shuffles_pick_the_elements_of_a_channel() -> None:
    for count in (2, 3, 4):
        vectors = {k: list(range(16 * k, 16 * k + 16)) for k in range(count)}
        for number in range(count):
            channel = Channel(count, number)
            for pick in picks(channel, 16):
                both = [*vectors[pick.a], *vectors[pick.b]]
                vectors[pick.result] = [both[k] for k in pick.mask]
            assert vectors[channel.last] == list(range(number, 16 * count, count))


def test_integers_are_widened_by_a_function() -> None:
    x = Buffer("x", (64,), "uint8")
    body = lower(lambda lane: Cast(x[lane], "float32"))
    assert names(body) == ["LoadVector", "Convert", "Convert", "StoreVector"]
    assert body.functions == [("widen", "uint8", 16)]


def test_a_tail_is_stored_by_its_length() -> None:
    body = lower(lambda lane: X[lane], count=5, width=8)
    load, store = body.steps
    assert isinstance(load, ir.LoadVector) and not load.is_whole and load.type.lanes == 8
    assert isinstance(store, ir.StoreVector) and store.count == 5 and body.functions == [("put", "float32", 8)]


def test_half_precision_is_rounded_once_on_its_way_to_memory() -> None:
    x, y = Buffer("x", (64,), "float16"), Buffer("y", (64,), "float16")
    body = lower(lambda lane: add(x[lane], x[lane]), buffer=y)
    assert [f[0] for f in body.functions] == ["h2f", "f2h"]


def test_a_condition_of_all_lanes_executes_one_part() -> None:
    n = Var("n")
    body = lower(lambda lane: select(less(n, 3), Call("exp", (X[lane],), "float32"), X[lane + 1]))
    (pick,) = [s for s in body.steps if isinstance(s, ir.Pick)]
    assert names(pick.then) == ["LoadVector", "Apply"] and names(pick.other) == ["LoadVector"]
    assert body.functions == [("exp", "float32", 16)]


def test_a_condition_of_each_lane_is_a_mask() -> None:
    body = lower(lambda lane: select(less(X[lane], 0.0), const(0.0), X[lane]))
    compare = next(s for s in body.steps if isinstance(s, ir.Compare))
    assert compare.type == VectorType("int32", 16) and body.functions == [("select", "float32", 16)]


@pytest.mark.parametrize(
    "value",
    [
        lambda lane: if_then_else(less(lane, 3), X[lane], const(0.0)),  # reads what may not be there
        lambda lane: X[lane * lane],
        lambda lane: Call("lgamma", (X[lane],), "float32"),
    ],
)
def test_what_has_no_vector_form(value) -> None:
    with pytest.raises(Scalar):
        lower(value)


def test_strict_leaves_the_functions_that_are_not_exact() -> None:
    assert lower(lambda lane: Call("sqrt", (X[lane],), "float32"), strict=True).functions
    with pytest.raises(Scalar):
        lower(lambda lane: Call("exp", (X[lane],), "float32"), strict=True)
