"""Small rules that several passes go by, each with what is just within and just outside."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import TensorType
from irtool.passes.core.bind import bind_params
from irtool.passes.devices.configuration import DEVICE_TYPES, device_type_of, read_device
from irtool.passes.instruments.values import difference, distance
from irtool.passes.layouts.desired import is_depthwise


def test_numbers_of_devices_are_those_of_dlpack() -> None:
    known = "cpu=1 cuda=2 gpu=2 opencl=4 vulkan=7 metal=8 vpi=9 rocm=10 ext_dev=12 hexagon=14 webgpu=15"
    assert {n: int(v) for n, v in (word.split("=") for word in known.split())} == DEVICE_TYPES
    assert [device_type_of(k) for k in ("llvm", "c", "hybrid", "cuda", "nobody")] == [1, 1, 1, 2, -1]
    device = read_device("rocm:3")
    assert (device.device_type, device.virtual_device_id) == (10, 3)
    for wrong in ("", "cuda:", "cuda:x", "cuda 1", "nobody"):
        with pytest.raises(irtool.IrError):
            read_device(wrong)


@pytest.mark.parametrize(
    ("data", "layout", "weight", "kernel", "groups", "expected"),
    [
        ((1, 8, 5, 5), "NCHW", (8, 1, 3, 3), "OIHW", 8, True),
        ((1, 8, 5, 5), "NCHW", (16, 1, 3, 3), "OIHW", 8, True),
        ((1, 8, 5, 5), "NCHW", (8, 2, 3, 3), "OIHW", 4, False),
        ((1, 1, 5, 5), "NCHW", (8, 1, 3, 3), "OIHW", 1, False),
        ((1, 5, 5, 8), "NHWC", (3, 3, 8, 1), "HWOI", 8, True),
        ((1, 5, 5, 8), "NHWC", (3, 3, 8, 2), "HWOI", 8, True),
        ((1, 5, 5, 8), "NHWC", (3, 3, 1, 16), "HWIO", 8, True),
        ((1, 5, 5, 8), "NHWC", (3, 3, 2, 16), "HWIO", 4, False),
        ((1, 5, 5, 8), "NHWC", (3, 3, 2, 16), "HWIO", 8, False),
    ],
)
def test_what_is_depthwise(data, layout, weight, kernel, groups, expected) -> None:
    assert is_depthwise(TensorType(data), layout, TensorType(weight), kernel, groups) is expected


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ([1.0, NAN], [1.0, NAN], True),
        ([INF, -INF], [INF, -INF], True),
        ([1.0, NAN], [1.0, 2.0], False),
        ([1.0, 2.0], [1.0, NAN], False),
        ([INF], [-INF], False),
        ([INF, 1.0], [1.0, 1.0], False),
        ([100.0, 1.0], [100.0, 1.9], True),
        ([100.0, 1.0], [100.0, 2.1], False),
        ([0.0], [0.000009], True),
        ([0.0], [0.000011], False),
    ],
)
def test_how_far_apart_values_are(a: list[float], b: list[float], same: bool) -> None:
    assert (distance(np.array(a), np.array(b), 0.01) is None) is same


def test_what_differs_is_said() -> None:
    one = np.array([1, 2, 3])
    assert difference(one, one.copy(), 0, 0) is None
    assert "1 of 3" in str(difference(one, np.array([1, 2, 4]), 0, 0))
    assert "float32" in str(difference(one, one.astype("float32"), 0, 0))
    assert "by up to 1" in str(difference(one * 1.0, one + 1.0, 0, 0.5))
    assert difference(one * 1.0, one + 0.4, 0, 0.5) is None


@pytest.mark.parametrize(
    ("shape", "taken"),
    [((8, 1, 1), True), ((1, 8, 1, 1), True), ((8, 1, 6), False), ((1, 1), False), ((1, 1, 6, 6), False)],
)
def test_a_bias_is_one_number_a_channel(shape: tuple[int, ...], taken: bool) -> None:
    module = irtool.parse(f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 1, 1), float32], %b: Tensor[{shape}, float32]) {{
  add(nn.conv2d(%x, %w, channels=8, kernel_size=[1, 1]), %b)
}}
""")
    bound = bind_params(module, {"w": np.ones((8, 4, 1, 1), "float32"), "b": np.ones(shape, "float32")})
    text = irtool.to_text(irtool.run_passes(bound, "MergeComposite{pattern_table=bnns}"))
    assert ('Composite="bnns.conv2d_bias"' in text) is taken
