"""Sweeps of lengths beside other engines: `benchmarks.lengths`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.lengths.__main__ import Row
from benchmarks.lengths.networks import NETWORKS
from benchmarks.lengths.turns import difference
from benchmarks.lengths.worker import cut


@pytest.mark.parametrize("name", NETWORKS)
def test_sweeps_have_both_bounds(name: str) -> None:
    net = NETWORKS[name]
    sweep = net.sweep
    assert sweep[0] == net.least and sweep[-1] == net.greatest and sweep == sorted(set(sweep))
    for count in (1, 2, 5, len(sweep), 2 * len(sweep)):
        some = net.some(count)
        assert set(some) <= set(sweep) and len(some) == min(count, len(sweep)) and some[0] == net.least
    assert net.some(2) == [net.least, net.greatest]


def test_inputs_are_cut_along_the_open_axis() -> None:
    a = np.arange(24).reshape(2, 3, 4)
    for axis, length in ((0, 1), (1, 2), (2, 4)):
        own = cut({"x": a}, (axis,), length)["x"]
        assert own.flags.c_contiguous and own.shape[axis] == length and (own == a.take(range(length), axis)).all()


def test_rows_compare_with_the_better_peer() -> None:
    totals = {"irtool": 0.5, "onnxruntime": 1.0, "openvino": 0.8}
    row = Row(
        "net", 1, totals, {"irtool": (10, 2), "onnxruntime": (40, 20), "openvino": (80, 60)}, [1.0, 0.25], 1.5, 1.2
    )
    assert row.ratio == pytest.approx(0.625)
    assert row.line() == "| net | 1 | 500.0 ms | 1000.0 ms | 800.0 ms | 0.62 | 0.25, 0.10 | 0.50, 0.25 | 1.50, 1.20 |"
    alone = Row("net", 2, {"irtool": 0.5}, {"irtool": (10, 2)}, [], 0.0, 0.0)
    assert (
        math.isnan(alone.ratio) and alone.line() == "| net | 2 | 500.0 ms | none | none | none | none | none | none |"
    )


def test_outputs_of_other_shapes_are_wrong() -> None:
    a = np.array([1.0, -4.0])
    assert difference(a, a) == 0 and difference(a + 1, a) == 0.25
    assert math.isinf(difference(a, a[:1])) and math.isnan(difference(a * math.nan, a))
