"""Element types of fewer bits than Relay's: held in wider ones, with the values and the rounding that ONNX gives them."""

from __future__ import annotations

import numpy as np
import pytest

import irtool

onnx = pytest.importorskip("onnx")

from irtool.frontends.onnx.elements import NARROW  # noqa: E402
from irtool.frontends.onnx.tensors import read_tensor  # noqa: E402
from tests.frontends.onnx.agreement import parse  # noqa: E402


def _all_codes(number: int):
    narrow = NARROW[number]
    count = 1 << narrow.bits
    shifts = np.arange(0, 8, narrow.bits)
    codes = np.resize(np.arange(count), (-(-count * narrow.bits // 8), len(shifts)))
    raw = (codes << shifts).sum(1).astype("uint8").tobytes()
    return onnx.TensorProto(data_type=number, dims=[count], raw_data=raw)


@pytest.mark.promise("narrow elements")
@pytest.mark.parametrize("number", sorted(NARROW))
def test_every_code_has_the_value_that_onnx_gives_it(number: int) -> None:
    proto = _all_codes(number)
    expected = onnx.numpy_helper.to_array(proto).astype("float64")
    np.testing.assert_array_equal(read_tensor(proto).astype("float64"), expected)
    listed = onnx.TensorProto(data_type=number, dims=proto.dims, int32_data=list(proto.raw_data))
    np.testing.assert_array_equal(read_tensor(listed), read_tensor(proto))


@pytest.mark.promise("narrow elements")
@pytest.mark.parametrize("number", [17, 18, 19, 20, 23])
def test_floats_are_rounded_as_by_their_own_types(number: int) -> None:
    """Numbers between all neighbours, ties among them, and beyond the largest."""
    values = np.unique(np.abs(read_tensor(_all_codes(number))))
    values = values[np.isfinite(values)]
    between = (values[:-1] + values[1:]) / 2
    x = np.concatenate([values, between, np.nextafter(between, np.float32(0)), values[:-1] * 1.01]).astype("float32")
    x = np.concatenate([x, -x])
    model = parse(
        f"""
        net (float[{len(x)}] x) => (float[{len(x)}] y) {{
          q = Cast <to = {number}> (x)
          y = Cast <to = 1> (q)
        }}
    """,
        23,
    )
    module, _ = irtool.from_onnx(model)
    expected = x.astype(onnx.helper.tensor_dtype_to_np_dtype(number)).astype("float32")
    np.testing.assert_array_equal(irtool.evaluate(module, [x]), expected)
    np.testing.assert_array_equal(irtool.build(module, cflags="-O0").run([x]), expected)


@pytest.mark.promise("narrow elements")
def test_a_zero_point_of_int4_limits_to_its_range_wherever_it_went() -> None:
    model = parse(
        """
        net (float[5] x) => (float[5] y)
        <float scale = {1.0}, int4[1, 1] zero = {1}>
        {
          moved = Transpose (zero)
          axes = Constant <value_ints = [0, 1]> ()
          z = Squeeze (moved, axes)
          q = QuantizeLinear (x, scale, z)
          y = DequantizeLinear (q, scale, z)
        }
    """,
        21,
    )
    module, params = irtool.from_onnx(model)
    inputs = {"x": np.array([-100, -3, 0, 3, 100], "float32"), **params}
    np.testing.assert_array_equal(irtool.evaluate(module, inputs), [-9, -3, 0, 3, 6])
