"""Running sums and products along an axis that is not the innermost: vectors of rows side by side, equal to the interpreter bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

CASES = {
    "columns": ("cumsum(%x, axis=0)", (40, 100), "float32"),
    "blocks of sums": ("cumsum(%x, axis=0)", (3000, 37), "float32"),
    "the one before": ("cumsum(%x, axis=1, exclusive=True)", (3, 700, 45), "float32"),
    "products": ("cumprod(%x, axis=0)", (30, 64), "float32"),
    "integers": ("cumsum(%x, axis=1)", (2, 50, 33), "int32"),
    "after an operator": ("cumsum(multiply(%x, %x), axis=0)", (40, 100), "float32"),
}
SCALAR = {
    "rows": ("cumsum(%x, axis=1)", (40, 100), "float32"),
    "fewer than lanes": ("cumsum(%x, axis=0)", (4000, 3), "float32"),
    "wider than lanes": ("cumsum(%x, axis=0)", (40, 100), "float64"),
}


def module(body: str, shape: tuple[int, ...], dtype: str) -> irtool.Module:
    return irtool.infer_types(
        irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[{shape}, {dtype}]) {{ {body} }}')
    )


def strategies(source: irtool.Module, flags: str) -> list[str]:
    return [k["strategy"] for k in irtool.build(source, target=f"c{{{flags}}}").report["kernels"]]


@pytest.mark.parametrize("flags", ["mcpu=x86-64-v3", "mcpu=x86-64-v4", "vector=none"])
@pytest.mark.parametrize("name", [*CASES, *SCALAR])
def test_values(name: str, flags: str) -> None:
    body, shape, dtype = (CASES | SCALAR)[name]
    source = module(body, shape, dtype)
    x = (np.random.default_rng(5).standard_normal(shape) * 2).astype(dtype)
    actual = irtool.build(source, target=f"c{{{flags}}}").run([x])
    np.testing.assert_array_equal(np.asarray(actual), np.asarray(irtool.evaluate(source, [x])))


@pytest.mark.parametrize("name", CASES)
def test_strategy(name: str) -> None:
    assert "side_by_side" in strategies(module(*CASES[name]), "mcpu=x86-64-v3")
    assert "side_by_side" not in strategies(module(*CASES[name]), "vector=none")


@pytest.mark.parametrize("name", SCALAR)
def test_rows_that_are_not_side_by_side(name: str) -> None:
    assert "side_by_side" not in strategies(module(*SCALAR[name]), "mcpu=x86-64-v3")
