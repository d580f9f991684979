"""Builds in which values say shapes and axes: the interpreter's values, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, ToolError
from tests.driver.programs import parse
from tests.driver.value_shapes import CASES

pytestmark = pytest.mark.promise("value extents")


@pytest.mark.parametrize("name", CASES)
def test_values_say_shapes(name: str) -> None:
    case = CASES[name]
    module = parse(case.text)
    artifact = irtool.build(module, dims=case.dims, vector=False)
    assert artifact.report["kernels"]  # not one that is compiled anew for the values of each run
    for value in case.values:
        inputs = [case.x, np.array(value, case.dtype)]
        expected, result = irtool.evaluate(module, inputs), artifact.run(inputs)
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    for value in case.wrong:
        with pytest.raises(
            ToolError,
            match=r"outside of its bounds|have to be equal|count_\d+ \(.*\) is -?\d+, and it has to be from 0 to \d+",
        ):
            artifact.run([case.x, np.array(value, case.dtype)])
        if not case.dims:
            with pytest.raises(IrError):
                irtool.evaluate(module, [case.x, np.array(value, case.dtype)])


def test_a_presumed_extent_is_compared() -> None:
    """A number among codes that are not known is the extent at its place; codes that put it elsewhere are an error of the run."""
    text = """def @main(%x: Tensor[(6, 5, 7, 8), float32], %s: Tensor[(4), int64]) {
      %0 = split(%s, indices_or_sections=[3]);
      dyn.reshape(%x, concatenate((%0.0, full(5i64, shape=[1], dtype="int64"), %0.1)), newshape=[]) }"""
    module = parse(text)
    artifact = irtool.build(module, dims={f"count_{n}": "<=64" for n in range(4)}, vector=False)
    x = np.arange(1680, dtype="float32").reshape(6, 5, 7, 8)
    fits = np.array([2, 3, 1, 56])
    np.testing.assert_array_equal(artifact.run([x, fits]), irtool.evaluate(module, [x, fits]))
    split = np.array([-4, 2, 3, -2])
    assert irtool.evaluate(module, [x, split]).shape == (2, 3, 5, 7, 8)
    with pytest.raises(ToolError, match="have to be equal"):
        artifact.run([x, split])


RELATIVE = """def @main(%x: Tensor[(?, 3), float32], %t: Tensor[(1, 9, 4), float32]) {
  let %n = take(shape_of(%x, dtype="int64"), 0, axis=0);
  let %beyond = maximum(subtract(%n, 5i64), 0i64);
  let %first = maximum(subtract(5i64, %n), 0i64);
  let %count = subtract(multiply(%n, 2i64), 1i64);
  let %padded = dyn.nn.pad(%t, reshape(stack((0i64, 0i64, %beyond, %beyond, 0i64, 0i64)), newshape=[3, 2]), 0f, pad_width=[]);
  let %rows = dyn.strided_slice(%padded, stack((0i64, %first)), stack((1i64, add(%first, %count))),
                                ones(shape=[2], dtype="int64"), begin=None, end=None, strides=None, axes=None);
  add(%rows, dyn.broadcast_to(1f, stack((1i64, %count, 4i64)), shape=None))
}"""


def test_extremes_of_formulas_are_formulas() -> None:
    """Embeddings of relative positions, as VITS pads and slices them: there are `2 * n - 1` rows for each length, whichever is the greater."""
    module = parse(RELATIVE)
    artifact = irtool.build(module, shapes={"x": ["n<=12", 3]})
    assert artifact.report["kernels"] and "lengths_of_values" not in artifact.report["entries"]["main"]
    assert artifact.report["outputs"][0]["shape"] == [1, "(2 * n - 1)", 4]
    t = np.arange(36, dtype="float32").reshape(1, 9, 4)
    for n in (1, 2, 4, 5, 6, 12):
        inputs = [np.zeros((n, 3), "float32"), t]
        np.testing.assert_array_equal(artifact.run(inputs), irtool.evaluate(module, inputs))


def test_sparse_matrices_get_an_entry_in_each_row() -> None:
    text = """def @main(%i: Tensor[(3, 2), int64], %v: Tensor[(3), int64], %s: Tensor[(2), int64], %d: Tensor[(1), int64]) {
      sparse_fill_empty_rows(%i, %v, %s, %d) }"""
    module = parse(text)
    artifact = irtool.build(module, dims={"count_0": "<=8"}, vector=False)
    assert artifact.report["kernels"]
    for rows, size in (([0, 0, 0], 1), ([2, 0, 2], 4), ([1, 2, 0], 3), ([7, 1, 1], 8)):
        inputs = [
            np.array([[r, k] for k, r in enumerate(rows)]),
            np.array([5, 6, 7]),
            np.array([size, 3]),
            np.array([9]),
        ]
        for e, a in zip(irtool.evaluate(module, inputs), artifact.run(inputs), strict=True):
            np.testing.assert_array_equal(a, e)
    for row, size in ((3, 3), (-1, 3), (0, 9)):
        with pytest.raises(ToolError, match=r"count_0 .* has to be from 0 to 8"):
            artifact.run([np.array([[row, 0]] * 3), np.array([5, 6, 7]), np.array([size, 3]), np.array([9])])


def test_an_extent_that_may_be_0_copies_itself() -> None:
    """As many rows as values choose, 3 at most, and the elements of each: the code 0 of none of them copies this 0."""
    text = """def @main(%x: Tensor[(5), float32], %z: Tensor[(5, 2, 3), float32]) {
      let %k = squeeze(argwhere(greater(%x, 0f)), axis=[1]);
      let %y = take(%z, strided_slice(%k, begin=[0], end=[3], strides=[1], axes=[0]), axis=0);
      let %rows = strided_slice(shape_of(%y, dtype="int64"), begin=[0], end=[1], strides=[1], axes=[0]);
      dyn.reshape(%y, concatenate((%rows, negative(ones(shape=[1], dtype="int64")))), newshape=[]) }"""
    module = parse(text)
    artifact = irtool.build(module, vector=False)
    assert artifact.report["outputs"][0]["shape"][1] == 6
    z = np.arange(30, dtype="float32").reshape(5, 2, 3)
    for n in (0, 1, 3, 5):
        x = np.where(np.arange(5) < n, 1, -1).astype("float32")
        np.testing.assert_array_equal(artifact.run([x, z]), irtool.evaluate(module, [x, z]))
