"""Index maps against plain arithmetic at every index."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from irtool.ir import DimExpr, DimVar
from irtool.ir.meta import MetaNode
from irtool.ops.base import RelationError
from irtool.ops.shape.index_map import IndexMap

I, J = DimVar("i"), DimVar("j")
SHAPE = (4, 6)
ARITHMETIC = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "Div": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "Mod": lambda a, b: a % b,
}


def drawn(rng: random.Random, depth: int) -> Any:
    if not depth:
        return rng.choice([I, J, rng.randint(0, 5)])
    op = rng.choice(["Cast", *ARITHMETIC])
    if op == "Cast":
        return DimExpr("Cast", (drawn(rng, depth - 1),))
    if op.endswith(("Div", "Mod")):
        return DimExpr(op, (drawn(rng, depth - 1), rng.randint(1, 4)))
    return DimExpr(op, (drawn(rng, depth - 1), drawn(rng, rng.randint(0, depth - 1))))


def value(e: Any, i: int, j: int) -> int:
    if isinstance(e, int):
        return e
    if isinstance(e, DimVar):
        return i if e is I else j
    parts = [value(x, i, j) for x in e.operands]
    return parts[0] if e.op == "Cast" else ARITHMETIC[e.op](*parts)


def map_of(*results: Any) -> IndexMap:
    fields = {"initial_indices": (I, J), "final_indices": results, "inverse_index_map": None}
    return IndexMap(MetaNode("tir.IndexMap", fields))


@pytest.mark.parametrize("seed", range(60))
def test_maps_compute_what_they_say(seed: int) -> None:
    e = drawn(random.Random(seed), 1 + seed % 3)
    every = {(i, j): value(e, i, j) for i, j in itertools.product(*map(range, SHAPE))}
    assert {(i, j): map_of(e).apply((i, j))[0] for i, j in every} == every
    (grid,) = map_of(e).apply(np.indices(SHAPE, sparse=True))
    assert np.array_equal(np.broadcast_to(grid, SHAPE), np.array(list(every.values())).reshape(SHAPE))
    try:
        (extent,) = map_of(e).map_shape(SHAPE)
    except RelationError:
        return
    assert min(every.values()) >= 0 and extent > max(every.values())


@pytest.mark.parametrize(("a", "b", "c"), [*itertools.product((0, 1, 3), (0, 1, 2), (0, 1, 4))])
def test_extents_are_the_least_where_indices_are_used_once(a: int, b: int, c: int) -> None:
    for sign in ("Add", "Sub"):
        e = DimExpr(sign, (DimExpr("Add", (DimExpr("Mul", (I, a)), c)), DimExpr("Mul", (J, b))))
        every = [value(e, i, j) for i, j in itertools.product(*map(range, SHAPE))]
        if min(every) < 0:
            with pytest.raises(RelationError, match=f"may be {min(every)}"):
                map_of(e).map_shape(SHAPE)
        else:
            assert map_of(J, e).map_shape(SHAPE) == (SHAPE[1], max(every) + 1)


@pytest.mark.parametrize("by", range(1, 8))
def test_quotients_and_remainders_have_the_least_extents(by: int) -> None:
    shape = map_of(DimExpr("FloorDiv", (J, by)), DimExpr("FloorMod", (J, by))).map_shape(SHAPE)
    assert shape == ((SHAPE[1] - 1) // by + 1, min(by, SHAPE[1]))


@pytest.mark.parametrize(
    "e", [DimExpr("FloorDiv", (I, 0)), DimExpr("FloorMod", (I, J)), DimExpr("Max", (I, J)), DimVar("k")]
)
def test_what_is_no_arithmetic_of_indices_is_refused(e: Any) -> None:
    with pytest.raises(RelationError, match="no index arithmetic"):
        map_of(e).map_shape(SHAPE)
