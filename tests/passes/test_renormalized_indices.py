"""Quotients and remainders of indices that RenormalizeSplitPattern writes in another form have the same values."""

from __future__ import annotations

import random

import numpy as np

from irtool.interp.nests.run import run_nest
from irtool.tir.expr import Binary, Expr, Var, const, post_order
from irtool.tir.stmt import Buffer, For, PrimFunc, Store, seq
from irtool.tir.verify import find_problems
from irtool.tir_passes.transforms.renormalize_split_pattern import renormalize_splits

STEPS, EACH = 60, 40
FACTORS = (1, 2, 3, 4, 6, 8, 16, 32, 64)


def drawn(chance: random.Random, leaves: list[Expr], depth: int) -> Expr:
    """A sum, quotient or remainder of integers, some of them negative."""
    if not depth or chance.random() < 0.1:
        return chance.choice(leaves)
    part = drawn(chance, leaves, depth - 1)
    factor = chance.choice(FACTORS)
    way = chance.randrange(5)
    if way == 0:
        return part // factor
    if way == 1:
        return part % factor
    if way == 2:
        return part * factor
    return part * factor + drawn(chance, leaves, depth - 1)


def nest(seed: int, dtype: str) -> PrimFunc:
    """Numbers and comparisons of two loops' variables, a row each."""
    chance = random.Random(seed)
    out, truths = Buffer("out", (EACH, STEPS), dtype), Buffer("truths", (EACH, STEPS), "bool")
    i, x = Var("i"), Buffer("x", (STEPS,), dtype)
    leaves: list[Expr] = [x[i], x[i] - 7, i.astype(dtype), x[(i + 5) % STEPS]]
    stores = []
    for n in range(EACH):
        value = drawn(chance, leaves, 4) // chance.choice(FACTORS)
        limit = const(chance.choice((*FACTORS, 0, -3)), dtype)
        cond = chance.choice((value < limit, value <= limit, limit <= value, limit < value))
        stores += [Store(out, (const(n), i), value), Store(truths, (const(n), i), cond)]
    return PrimFunc("f", [x, out, truths], For(i, STEPS, seq(stores)), num_outputs=2)


def test_values_are_the_same() -> None:
    changed = 0
    for seed in range(6):
        f = nest(seed, ("int32", "int64")[seed % 2])
        renormalized = renormalize_splits(f)
        assert not list(find_problems(renormalized))
        changed += renormalized.body is not f.body
        x = np.random.default_rng(seed).integers(-5000, 5000, STEPS).astype(f.params[0].dtype)
        for got, want in zip(run_nest(renormalized, [x]), run_nest(f, [x]), strict=True):
            np.testing.assert_array_equal(got, want)
    assert changed == 6


def test_forms() -> None:
    """Left is what the rules are for; no quotient of a remainder that divides is left over."""
    x, y = Var("x"), Var("y")
    out = Buffer("out", (1,), "int32")

    def form(e: Expr) -> str:
        stored = e if e.dtype == "int32" else e.astype("int32")
        renormalized = renormalize_splits(PrimFunc("f", [out], Store(out, (const(0),), stored))).body
        assert isinstance(renormalized, Store)
        for part in post_order(renormalized.value):
            if isinstance(part, Binary) and part.op == "floordiv" and isinstance(part.a, Binary):
                assert part.a.op != "floormod"
        return repr(renormalized.value)

    assert form((x % 32) // 8) == "floormod(floordiv(x, 8), 4)"
    assert form((x * 16 + y) // 64) == "floordiv((x + floordiv(y, 16)), 4)"
    assert form((x * 16 + y * 4 + 3) // 64) == "floordiv((x + floordiv(y, 4)), 4)"
    assert form(((x * 16 + y) % 64) // 16) == "floormod((x + floordiv(y, 16)), 4)"
    assert form(x * 16 + y < 64) == "int32((floordiv((x + floordiv(y, 16)), 4) < 1))"
    assert form(const(64) <= x * 16 + y) == "int32((1 <= floordiv((x + floordiv(y, 16)), 4)))"


def test_rules_in_each_other_end() -> None:
    """A rule applies to what another one made of it a few times at most, however deep the expression is."""
    e: Expr = Var("x")
    for _ in range(2_000):
        e = (e * 64 + 1) // 4 % 4096
    out = Buffer("out", (1,), "int32")
    renormalized = renormalize_splits(PrimFunc("f", [out], Store(out, (const(0),), e))).body
    assert isinstance(renormalized, Store) and len(post_order(renormalized.value)) < 60_000
