"""Where the elements of a resized axis come from: worked out by hand from the formulas of ONNX's Resize."""

from __future__ import annotations

import numpy as np
import pytest

from irtool.diagnostics import IrError
from irtool.frontends.onnx.resampling import AxisResize, Filter, nearest, neighbours, positions

pytestmark = pytest.mark.promise("networks in ONNX")

DOUBLED = AxisResize(0, 3, 6, 2.0)
SHRUNK = AxisResize(0, 8, 3, 0.4)  # 3.2 elements, of which three are kept
ONE = AxisResize(0, 5, 1, 0.2)
REGION = AxisResize(0, 5, 3, 0.6, (0.25, 0.75))
POINT = AxisResize(0, 5, 1, 0.2, (0.25, 0.5))

WHERE = {
    ("half_pixel", DOUBLED): [-0.25, 0.25, 0.75, 1.25, 1.75, 2.25],
    ("half_pixel", SHRUNK): [0.75, 3.25, 5.75],
    ("half_pixel", ONE): [2.0],
    ("half_pixel_symmetric", DOUBLED): [-0.25, 0.25, 0.75, 1.25, 1.75, 2.25],
    ("half_pixel_symmetric", SHRUNK): [1.0, 3.5, 6.0],
    ("pytorch_half_pixel", DOUBLED): [-0.25, 0.25, 0.75, 1.25, 1.75, 2.25],
    ("pytorch_half_pixel", ONE): [0.0],
    ("asymmetric", SHRUNK): [0.0, 2.5, 5.0],
    ("tf_half_pixel_for_nn", SHRUNK): [1.25, 3.75, 6.25],
    ("align_corners", DOUBLED): [0.0, 0.4, 0.8, 1.2, 1.6, 2.0],
    ("align_corners", SHRUNK): [0.0, 7 / 2.2, 14 / 2.2],
    ("align_corners", ONE): [0.0],
    ("tf_crop_and_resize", REGION): [1.0, 2.0, 3.0],
    ("tf_crop_and_resize", POINT): [1.5],
}


@pytest.mark.parametrize(
    ("coordinates", "axis"), WHERE, ids=lambda x: x if isinstance(x, str) else f"{x.size}-{x.target}"
)
def test_where_elements_come_from(coordinates: str, axis: AxisResize) -> None:
    np.testing.assert_allclose(positions(axis, coordinates), WHERE[coordinates, axis], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("rounding", "scale", "expected"),
    [
        ("round_prefer_floor", 1.0, [0, 1, 1, 2, 2]),
        ("round_prefer_ceil", 1.0, [1, 1, 1, 2, 3]),
        ("floor", 1.0, [0, 0, 1, 1, 2]),
        ("ceil", 1.0, [1, 1, 1, 2, 3]),
        ("simple", 1.0, [0, 0, 1, 1, 2]),
        ("simple", 0.5, [1, 1, 1, 2, 3]),
    ],
)
def test_the_nearest_element(rounding: str, scale: float, expected: list[int]) -> None:
    points = np.array([0.5, 0.75, 1.0, 1.75, 2.5], "float32")
    assert nearest(points, rounding, scale).tolist() == expected


def test_words_that_onnx_does_not_have_are_refused() -> None:
    with pytest.raises(IrError, match="nearest_mode"):
        nearest(np.zeros(1, "float32"), "far", 1.0)
    with pytest.raises(IrError, match="coordinate_transformation_mode"):
        positions(ONE, "anywhere")


def test_a_scale_is_exact_if_it_is_the_ratio_of_the_extents() -> None:
    assert DOUBLED.exact and AxisResize(0, 3, 100_000, 100_000 / 3 + 0.1).exact
    assert not SHRUNK.exact and not AxisResize(0, 3, 100_000, 100_000 / 3 + 1).exact


def weights(axis: AxisResize, way: Filter) -> np.ndarray:
    """A row for each element of the result: how much of each element it takes."""
    index, shares = neighbours(axis, way)
    matrix = np.zeros((axis.target, axis.size))
    np.add.at(matrix, (np.arange(axis.target)[None].repeat(len(index), 0), index), shares)
    return matrix


def test_linear_weights() -> None:
    actual = weights(DOUBLED, Filter("linear"))
    expected = [[1, 0, 0], [0.75, 0.25, 0], [0.25, 0.75, 0], [0, 0.75, 0.25], [0, 0.25, 0.75], [0, 0, 1]]
    np.testing.assert_allclose(actual, expected)


def test_linear_weights_without_aliases() -> None:
    # Half as many: the kernel is twice as wide, and beyond the ends the first and the last element stand again.
    actual = weights(AxisResize(0, 4, 2, 0.5), Filter("linear", antialias=True))
    np.testing.assert_allclose(actual, [[0.5, 0.375, 0.125, 0], [0, 0.125, 0.375, 0.5]])


def test_cubic_weights() -> None:
    # Halfway between two elements: Keys' kernel with a = -0.5, at distances of 1/2 and 3/2.
    middle = weights(AxisResize(0, 4, 1, 0.25), Filter("cubic", cubic=-0.5))
    np.testing.assert_allclose(middle, [[-0.0625, 0.5625, 0.5625, -0.0625]])
    # Two elements alone: what lies beyond is the element at the end, or nothing.
    end = AxisResize(0, 2, 1, 0.5)
    np.testing.assert_allclose(weights(end, Filter("cubic", cubic=-0.5)), [[0.5, 0.5]])
    first = AxisResize(0, 3, 6, 2.0)
    with_ends, without = (weights(first, Filter("cubic", cubic=-0.5, exclude=x))[1] for x in (False, True))
    np.testing.assert_allclose(with_ends, [0.796875, 0.2265625, -0.0234375])
    np.testing.assert_allclose(without, np.array([0.8671875, 0.2265625, -0.0234375]) / 1.0703125)
