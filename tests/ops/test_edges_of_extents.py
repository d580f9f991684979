"""Calls at the ends of what their types allow: one element shared by several windows, no indices, truth values, huge scales."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.passes import run_passes

HEAD = '#[version = "0.0.5"]\n'


def both(text: str, *inputs: np.ndarray, **options: object) -> np.ndarray:
    """The interpreter's result, which C gives as well."""
    module = irtool.infer_types(irtool.parse(HEAD + text))
    want = np.asarray(irtool.evaluate(module, list(inputs)))
    got = np.asarray(irtool.build(module, **options).run(list(inputs)))  # type: ignore[arg-type]
    np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), rtol=1e-6)
    return want


@pytest.mark.parametrize("kind", ["avg", "max"])
@pytest.mark.parametrize("extents", [(4, 1, 3), (1, 1, 5), (2, 3, 1)])
@pytest.mark.parametrize("sizes", [(2, 2, 4), (1, 3, 5), (4, 1, 2)])
def test_more_windows_than_elements(kind: str, extents: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    shape = ", ".join(map(str, (2, 3, *extents)))
    text = f"def @main(%x: Tensor[({shape}), float32]) {{ nn.adaptive_{kind}_pool3d(%x, output_size={list(sizes)}) }}"
    x = np.random.RandomState(0).randn(2, 3, *extents).astype("float32")
    want = np.empty((2, 3, *sizes), "float32")
    for indices in itertools.product(*map(range, sizes)):
        window = tuple(slice(i * n // o, -(-(i + 1) * n // o)) for i, n, o in zip(indices, extents, sizes, strict=True))
        values = x[(slice(None), slice(None), *window)].reshape(2, 3, -1)
        want[(slice(None), slice(None), *indices)] = values.mean(-1) if kind == "avg" else values.max(-1)
    np.testing.assert_allclose(both(text, x), want, rtol=1e-5)


def test_gather_by_tuples_of_no_index() -> None:
    text = """def @main(%x: Tensor[(2, 3, 4), float32], %i: Tensor[(0, 2, 5), int64]) {
  gather_nd(%x, %i, batch_dims=1)
}"""
    x = np.random.RandomState(0).randn(2, 3, 4).astype("float32")
    actual = both(text, x, np.zeros((0, 2, 5), "int64"))
    np.testing.assert_array_equal(actual, np.broadcast_to(x[:, None], (2, 5, 3, 4)))


@pytest.mark.parametrize("level", [0, 3])
def test_a_bias_of_truth_values_is_added_as_add_does(level: int) -> None:
    text = "def @main(%x: Tensor[(2, 4), bool], %b: Tensor[(4), bool]) { nn.bias_add(%x, %b) }"
    x, b = np.array([[0, 0, 1, 1], [1, 0, 1, 0]], bool), np.array([0, 1, 0, 1], bool)
    np.testing.assert_array_equal(both(text, x, b, opt_level=level), x ^ b)


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("shape, axis", [((3, 8), 0), ((5, 70), 1), ((40, 16), 0)])
def test_places_of_truth_values(name: str, last: bool, shape: tuple[int, int], axis: int) -> None:
    text = f"def @main(%x: Tensor[{shape}, bool]) {{ {name}(%x, axis=[{axis}], select_last_index={last}) }}"
    both(text, np.random.RandomState(1).rand(*shape) > 0.5)


def test_an_extent_beyond_64_bits_is_refused() -> None:
    text = (
        'def @main(%x: Tensor[(2, 4, 4, 0), float32]) { nn.upsampling(%x, scale_h=1e+30, scale_w=1.0, layout="NHWC") }'
    )
    with pytest.raises(IrError, match="is no dimension"):
        irtool.parse(HEAD + text)


def test_an_operator_is_asked_once_an_unknown_argument_is_known() -> None:
    """Its rule had said that argument and result are one before either was known."""
    with pytest.raises(IrError, match="must be a tensor"):
        irtool.parse(HEAD + "def @main(%x) { let %u = exp(%x); ref_read(%x) }")


@pytest.mark.parametrize("pass_name", ["FirstOrderGradient", "Gradient"])
def test_gradients_of_a_convolution_are_of_its_operands_types(pass_name: str) -> None:
    text = """def @main(%x: Tensor[(1, 2, 6, 6), uint8], %w: Tensor[(3, 2, 3, 3), int8]) {
  %0 = nn.conv2d(%x, %w, kernel_size=[3, 3], out_dtype="int32");
  %1 = sum(cast(%x, dtype="int32"), axis=[1], keepdims=True);
  add(%0, nn.avg_pool2d(%1, pool_size=[3, 3]))
}"""
    module = run_passes(irtool.infer_types(irtool.parse(HEAD + text)), [pass_name])
    again = irtool.parse(irtool.to_text(module))
    assert "uint8" in str(irtool.infer_types(again)["main"].checked_type)
