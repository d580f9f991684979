"""Axes that no memory holds: nothing in a build takes time that grows with the length of an axis."""

from pathlib import Path

import pytest

import irtool
from tests.fuzz.agreement import limited

CALLS = {
    "padded rows": "nn.conv2d(%x, %w, padding=[2147483647, 1], kernel_size=[3, 3])",
    "padded columns": "nn.conv2d(%x, %w, padding=[1, 2147483647], kernel_size=[3, 3])",
    "padded bits": 'nn.bitserial_conv2d(cast(%x, dtype="int16"), cast(%w, dtype="int16"), padding=[2147483647, 1], '
    'channels=8, kernel_size=[3, 3], activation_bits=2, pack_dtype="uint8", out_dtype="int16")',
    "pooled rows": "nn.max_pool2d(%x, pool_size=[3, 3], padding=[1073741823, 1, 1073741823, 1], strides=[1, 1])",
    "transposed": "nn.conv2d_transpose(%x, %w, kernel_size=[3, 3], strides=[100000007, 1], channels=8)",
    "transposed, dilated": "nn.conv2d_transpose(%x, %w, kernel_size=[3, 3], strides=[100000007, 3], dilation=[7, 7], channels=8)",
    "transposed in one row": "nn.conv1d_transpose(reshape(%x, newshape=[1, 8, 25]), reshape(%w, newshape=[8, 8, 9]), "
    "kernel_size=[9], strides=[1000000007], channels=8)",
    "repeated": "nn.conv2d(repeat(%x, repeats=200000000, axis=2), %w, kernel_size=[3, 3], padding=[1, 1])",
    "summed": "sum(repeat(%x, repeats=200000000, axis=3), axis=[2])",
    "softmax": "nn.softmax(repeat(%x, repeats=200000000, axis=3), axis=3)",
    "transposes": "transpose(repeat(%x, repeats=200000000, axis=3), axes=[0, 3, 2, 1])",
    "accumulated": "cumsum(repeat(%x, repeats=200000000, axis=2), axis=2)",
    "concatenated": "concatenate((repeat(%x, repeats=200000000, axis=2), %x), axis=2)",
    "product": "nn.dense(reshape(repeat(%x, repeats=20000000, axis=3), newshape=[-1, 8]), reshape(%w, newshape=[-1, 8]), units=72)",
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v4"])
def test_builds_take_no_time_for_long_axes(name: str, mcpu: str, tmp_path: Path) -> None:
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 5, 5), float32], %w: Tensor[(8, 8, 3, 3), float32]) {{
  {CALLS[name]}
}}
"""
    module = irtool.infer_types(irtool.parse(text))
    with limited(10):
        irtool.build(module, emit="c", out_dir=tmp_path, mcpu=mcpu)
    assert list(tmp_path.glob("*.c"))
