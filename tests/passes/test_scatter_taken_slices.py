"""ScatterTakenSlices leaves the values of gradients of `take` as they are, and makes them ones that compile."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Module

TAKEN = {
    "rows": ("%x: Tensor[(8, 3), float32], %i: Tensor[(5), int32]", "take(%x, %i, axis=0)"),
    "columns": ("%x: Tensor[(3, 8), float32], %i: Tensor[(5), int64]", 'take(%x, %i, axis=1, mode="wrap")'),
    "elements": ("%x: Tensor[(3, 8), float32], %i: Tensor[(5), int32]", "take(%x, %i)"),
    "one": ("%x: Tensor[(3, 2, 4), float32], %i: int64", "take(%x, %i, axis=-1)"),
    "known": ("%x: Tensor[(3, 4, 2), float32]", "take(%x, 3, axis=1)"),
    "two": (
        "%x: Tensor[(8, 3), float32], %i: Tensor[(5), int32]",
        "add(take(take(%x, %i, axis=0), 1, axis=1), take(take(%x, 2, axis=1), %i, axis=0))",
    ),
}


def gradients(name: str) -> tuple[Module, list[np.ndarray]]:
    params, body = TAKEN[name]
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}')
    rng = np.random.RandomState(0)
    x, *rest = module["main"].params
    arrays = [rng.uniform(size=x.type_annotation.static_shape).astype("float32")]
    for p in rest:
        t = p.type_annotation
        arrays.append(np.asarray(rng.randint(-2, 9, t.static_shape), t.dtype))
    return irtool.run_passes(module, "FirstOrderGradient"), arrays


@pytest.mark.parametrize("name", TAKEN)
def test_values_stay(name: str) -> None:
    module, arrays = gradients(name)
    at_once = irtool.run_passes(module, "ScatterTakenSlices")
    assert "while_loop" in irtool.to_text(module) and "while_loop" not in irtool.to_text(at_once)
    for got, want in zip(irtool.evaluate(at_once, arrays)[1], irtool.evaluate(module, arrays)[1], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.usefixtures("quick_compiles")
@pytest.mark.parametrize("name", ["two"])
def test_builds_make_them_so(name: str) -> None:
    module, arrays = gradients(name)
    got, want = irtool.build(module, opt_level=1).run(arrays)[1], irtool.evaluate(module, arrays)[1]
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
