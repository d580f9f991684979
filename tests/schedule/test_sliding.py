"""Windows that slide over the rows of a tile: every element is read once, and the sums are right."""

from itertools import product

import pytest

from irtool.schedule.windows.sliding import choose_sliding
from irtool.tir.expr import Binary, Const, Load, Var, const, if_then_else, post_order
from irtool.tir.simplify import Simplifier
from irtool.tir.stmt import VECTORIZED, Buffer, For, Scope, Store, expressions, pre_order

ROWS, STEPS, LANES = 5, 3, 8
T, K, X = Var("t"), Var("k"), Var("x")


def update(stride: int, dilation: int) -> Store:
    image = Buffer("image", (64, 32), "float32")
    weights = Buffer("weights", (STEPS,), "float32")
    acc = Buffer("acc", (ROWS, 1, LANES), "float32", Scope.REGISTER)
    place = (T, const(0), X)
    product_ = Binary("*", Load(image, (T * stride + K * dilation, X)), Load(weights, (K,)), "float32")
    return Store(acc, place, Binary("+", Load(acc, place), product_, "float32"))


@pytest.mark.parametrize("stride, dilation", [(1, 1), (2, 1), (1, 2), (3, 1)])
def test_every_row_is_read_once(stride: int, dilation: int) -> None:
    simplify = Simplifier({T: (0, ROWS - 1), K: (0, STEPS - 1), X: (0, LANES - 1)})
    store = update(stride, dilation)
    sliding = choose_sliding(store, (T, ROWS), [(K, STEPS)], simplify)
    rows = {stride * t + dilation * k for t, k in product(range(ROWS), range(STEPS))}
    if len(rows) == ROWS * STEPS:
        assert sliding is None, "the rows have nothing in common"
        return
    assert sliding is not None
    nest = sliding.written(store, (T, ROWS), lambda s: For(X, LANES, s, VECTORIZED))
    read_rows, updates = [], set()
    for s in pre_order(nest):
        if not isinstance(s, Store):
            continue
        reads = [e for x in expressions(s) for e in post_order(x) if isinstance(e, Load)]
        images = [simplify(e.indices[0]) for e in reads if e.source.name == "image"]
        if s.buffer.name == "acc":
            assert not images, "an element is read where it is used"
            row = s.indices[0]
            step = next(simplify(e.indices[0]) for e in reads if e.source.name == "weights")
            assert isinstance(row, Const) and isinstance(step, Const)
            assert stride * row.value + dilation * step.value == read_rows[-1]
            updates.add((row.value, step.value))
        else:
            assert isinstance(images[0], Const)
            read_rows.append(images[0].value)
    assert sorted(read_rows) == sorted(rows) and len(updates) == ROWS * STEPS


def test_what_may_not_be_read_stays_under_its_condition() -> None:
    simplify = Simplifier({T: (0, ROWS - 1), K: (0, STEPS - 1), X: (0, LANES - 1)})
    image = Buffer("image", (64, 32), "float32")
    acc = Buffer("acc", (ROWS, 1, LANES), "float32", Scope.REGISTER)
    place = (T, const(0), X)
    value = if_then_else(const(0) < T + K, Load(image, (T + K - 1, X)), const(1.5))
    store = Store(acc, place, Binary("+", Load(acc, place), value, "float32"))
    assert choose_sliding(store, (T, ROWS), [(K, STEPS)], simplify) is None


@pytest.mark.parametrize("is_swapped", [False, True])
def test_the_longest_window_saves_most(is_swapped: bool) -> None:
    long, short = (Var("l"), 6), (Var("s"), 2)
    image = Buffer("image", (64, 32), "float32")
    acc = Buffer("acc", (ROWS, 1, LANES), "float32", Scope.REGISTER)
    place = (T, const(0), X)
    store = Store(acc, place, Binary("+", Load(acc, place), Load(image, (T + long[0] + short[0], X)), "float32"))
    inner = [short, long] if is_swapped else [long, short]
    simplify = Simplifier({T: (0, ROWS - 1), X: (0, LANES - 1), **{v: (0, n - 1) for v, n in inner}})
    sliding = choose_sliding(store, (T, ROWS), inner, simplify)
    assert sliding is not None and sliding.loop == long
