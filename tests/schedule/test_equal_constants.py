"""Equal constants are stored once, whatever they come from."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

TEXT = """#[version = "0.0.5"]
def @main(%i: Tensor[(5), int32], %a: Tensor[(60, 16), float32], %b: Tensor[(60, 16), float32],
          %c: Tensor[(30, 32), float32], %d: Tensor[(16, 60), float32]) {
  %0 = take(%a, %i, axis=0);
  %1 = exp(take(%b, %i, axis=0));
  %2 = negative(take(%c, %i, axis=0));
  %3 = nn.dense(%0, %a, units=None);
  %4 = nn.matmul(%1, %d, units=None);
  (%0, %1, %2, %3, %4)
}
"""
"""A table that is there in the same shape twice, in another one, and transposed: as tied embeddings are."""


@pytest.mark.promise("equal constants")
def test_equal_constants_are_stored_once():
    table = np.random.default_rng(0).standard_normal((60, 16)).astype("float32")
    weights = {"a": table, "b": table.copy(), "c": table.reshape(30, 32).copy(), "d": table.T.copy()}
    module, i = irtool.parse(TEXT), np.arange(5, dtype="int32") * 5
    built = irtool.build(module, weights, cflags="-O1", mcpu="x86-64-v3")  # its tiles
    for actual, expected in zip(built.run([i]), irtool.evaluate(module, {"i": i, **weights}), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
    # The table as its rows are read, and packed as both products read it: 64 columns where there are 60.
    assert built.report["weight_bytes"] <= table.nbytes + 64 * 16 * 4
    assert built.report["weight_bytes"] >= table.nbytes


@pytest.mark.promise("equal constants")
def test_constants_of_other_types_stay_apart():
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(40), float32], %a: Tensor[(40), float32], %b: Tensor[(40), int32]) {
      (add(%x, %a), add(cast(%x, dtype="int32"), %b))
    }"""
    ones = np.ones(40, "float32")
    weights = {"a": ones, "b": ones.view("int32")}
    module = irtool.parse(text)
    built = irtool.build(module, weights, cflags="-O0")
    for actual, expected in zip(built.run([ones]), irtool.evaluate(module, {"x": ones, **weights}), strict=True):
        np.testing.assert_array_equal(actual, expected)
