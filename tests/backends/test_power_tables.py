"""The table that powers of 16 lanes begin with: what it promises, and where it is used."""

import numpy as np
import pytest

import irtool
from irtool.backends.formulas.vector_math import define
from irtool.backends.formulas.vector_power_tables import factors

pytestmark = pytest.mark.promise("backends")


def test_products_less_one_are_exact() -> None:
    entries = factors()
    assert len(entries) == 32
    for most, least, c in entries:
        m = np.linspace(least, most, 5000).astype("float32")
        exact = m.astype("float64") * c - 1
        assert np.array_equal(exact, exact.astype("float32")) and np.abs(exact).max() < 0.024


def test_one_has_no_logarithm() -> None:
    (entry,) = [c for most, least, c in factors() if least <= 1.0 <= most]
    assert entry == 1.0


@pytest.mark.parametrize(("lanes", "divides"), [(16, False), (8, True), (4, True)])
def test_sixteen_lanes_pick_and_fewer_divide(lanes: int, divides: bool) -> None:
    names = [key[0] for key, _ in define("pow", "float32", lanes)]
    assert ("pick" in names, "inverse" in names) == (not divides, divides)


def test_powers_of_both_kinds_are_accurate() -> None:
    x = np.exp2(np.linspace(-8, 8, 4096)).astype("float32")
    y = np.linspace(-12, 12, 4096).astype("float32")[::-1].copy()
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(4096), float32], %y: Tensor[(4096), float32]) { power(%x, %y) }"""
    module = irtool.infer_types(irtool.parse(text))
    for mcpu in ("native", "x86-64-v3"):
        got = irtool.build(module, mcpu=mcpu).run([x, y])
        want = np.power(x.astype("float64"), y.astype("float64"))
        normal = (want > 1.2e-38) & (want < 3e38)
        units = np.abs(got - want)[normal] / np.spacing(want[normal].astype("float32"))
        assert units.max() < 3.5
