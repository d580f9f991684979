"""Convolutions whose result is stored in blocks that its channels do not fill: C gives what the interpreter gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.interp.feeds import random_inputs

pytestmark = pytest.mark.promise("agreement")

CASES = {
    "conv1d": '%x: Tensor[(1, 4, 9), float32], %w: Tensor[(3, 4, 3), float32] | nn.conv1d(%x, %w, out_layout="NCW4c")',
    "conv2d": '%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(3, 4, 3, 3), float32] | nn.conv2d(%x, %w, padding=[1, 1], out_layout="NCHW4c")',
    "conv2d in blocks": '%x: Tensor[(1, 1, 6, 6, 4), float32], %w: Tensor[(6, 4, 3, 3), float32] | nn.conv2d(%x, %w, data_layout="NCHW4c")',
    "rows in blocks": '%x: Tensor[(1, 4, 7, 6), float32], %w: Tensor[(3, 4, 1, 1), float32] | nn.conv2d(%x, %w, out_layout="NCHW2h")',
    "grouped": '%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(6, 2, 3, 3), float32] | nn.conv2d(%x, %w, groups=2, out_layout="NHWC4c")',
    "conv3d": '%x: Tensor[(1, 2, 3, 4, 4), float32], %w: Tensor[(3, 2, 1, 1, 1), float32] | nn.conv3d(%x, %w, out_layout="NCDHW2c")',
    "transposed": '%x: Tensor[(1, 4, 5, 5), float32], %w: Tensor[(4, 3, 3, 3), float32] | nn.conv2d_transpose(%x, %w, strides=[2, 2], kernel_layout="IOHW", out_layout="NCHW4c")',
    "transposed NHWC": '%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 3, 4), float32] | nn.conv2d_transpose(%x, %w, data_layout="NHWC", kernel_layout="HWOI", out_layout="NCHW4c")',
    "transposed to another layout": '%x: Tensor[(1, 5, 5, 4), float32], %w: Tensor[(3, 3, 3, 4), float32] | nn.conv2d_transpose(%x, %w, data_layout="NHWC", kernel_layout="HWOI", out_layout="NCHW")',
    "deformable": '%x: Tensor[(1, 2, 4, 4), float32], %o: Tensor[(1, 2, 4, 4), float32], %w: Tensor[(3, 2, 1, 1), float32] | nn.deformable_conv2d(%x, %o, %w, kernel_size=[1, 1], channels=3, out_layout="NCHW2c")',
    "weights' gradient": '%g: Tensor[(1, 3, 4, 4), float32], %x: Tensor[(1, 2, 6, 6), float32] | nn.conv2d_backward_weight(%g, %x, kernel_size=[3, 3], kernel_layout="NCHW", out_layout="OIHW2o")',
    "weights' gradient in groups": '%g: Tensor[(2, 6, 3, 3), float32], %x: Tensor[(2, 4, 7, 7), float32] | nn.conv2d_backward_weight(%g, %x, strides=[2, 2], groups=2, kernel_size=[3, 3], kernel_layout="NCHW", out_layout="OIHW")',
    "weights' gradient of two dtypes": '%g: Tensor[(1, 3, 4, 4), float32], %x: Tensor[(1, 2, 6, 6), int8] | nn.conv2d_backward_weight(%g, %x, kernel_size=[3, 3], kernel_layout="NCHW", out_layout="OIHW")',
    "qnn": '%x: Tensor[(1, 4, 6, 6), uint8], %w: Tensor[(3, 4, 3, 3), int8] | qnn.conv2d(%x, %w, 3, 0, 1f, 1f, out_dtype="int32", padding=[1, 1], channels=3, kernel_size=[3, 3], out_layout="NCHW4c")',
    "qnn with zero points": '%x: Tensor[(1, 4, 6, 6), uint8], %w: Tensor[(3, 4, 3, 3), int8] | qnn.conv2d(%x, %w, 3, 2, 1f, 1f, out_dtype="int32", padding=[1, 1], channels=3, kernel_size=[3, 3], out_layout="NHWC")',
}


@pytest.mark.parametrize("opt_level", [1, 3])
def test_blocks_are_filled_up_with_zeros(opt_level: int, tmp_path: Path) -> None:
    functions, bodies = [], []
    for n, case in enumerate(CASES.values()):
        params, _, body = case.partition(" | ")
        for k in "xwgo":
            params, body = params.replace(f"%{k}:", f"%{k}{n}:"), body.replace(f"%{k},", f"%{k}{n},")
        functions.append(params)
        bodies.append(body)
    text = f'#[version = "0.0.5"]\ndef @main({", ".join(functions)}) {{\n  ({", ".join(bodies)})\n}}\n'
    module = irtool.infer_types(irtool.parse(text))
    inputs = random_inputs(module["main"], 1)
    wanted = irtool.evaluate(module, inputs)
    found = irtool.build(module, opt_level=opt_level, out_dir=tmp_path).run(inputs)
    for name, want, got in zip(CASES, wanted, found, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=name)
