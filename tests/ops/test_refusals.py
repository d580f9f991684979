"""What an operator's type rule accepts can be computed; what cannot be is refused with a place, by checking already."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, render

pytestmark = pytest.mark.promise("refused by type")
F = "float32"
CASES = {
    "hardswish int": "%x: Tensor[(2, 3), int32] | hardswish(%x)",
    "hardswish of nothing": "%x: float32 | hardswish()",
    "layer_norm of integers": "%x: Tensor[(2, 8), uint16], %w: Tensor[(8), uint16] | nn.layer_norm(%x, %w, %w)",
    "tiles of too few rows": f'%x: Tensor[(1, 6, 6, 2), {F}], %w: Tensor[(2, 2, 16, 4), int8] | nn.contrib_conv2d_gemm_without_weight_transform(%x, %w, channels=5, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO")',
    "losses of other places": f"%p: Tensor[(2, 5, 7), {F}], %t: Tensor[(2, 3), int64], %w: Tensor[(5), {F}] | nn.nll_loss(%p, %t, %w, ignore_index=-1)",
    "losses of a vector": f"%p: Tensor[(5), {F}], %t: int64, %w: Tensor[(5), {F}] | nn.nll_loss(%p, %t, %w, ignore_index=-1)",
    "qnn.leaky_relu by inf": "%x: Tensor[(2), int8] | qnn.leaky_relu(%x, 1f, 0, 1f, 0, alpha=inf)",
    "qnn.leaky_relu to scale 0": "%x: Tensor[(2), int8] | qnn.leaky_relu(%x, 1f, 0, 0f, 0, alpha=0.5f)",
    "fixed_point_multiply of floats": f"%x: {F} | fixed_point_multiply(%x, multiplier=1073741824, shift=-1)",
    "fixed_point_multiply of bool": "%x: bool | fixed_point_multiply(%x, multiplier=1073741824, shift=-1)",
    "fixed_point_multiply by far": "%x: int32 | fixed_point_multiply(%x, multiplier=3, shift=-9223372036854775808)",
    "a grid on no pixels": f'%x: Tensor[(2, 2, 3, 0), {F}], %g: Tensor[(2, 2, 1, 3), {F}] | image.grid_sample(%x, %g, method="nearest", padding_mode="reflection")',
    "deformable groups": f"%x: Tensor[(1, 3, 4, 4), {F}], %o: Tensor[(1, 4, 4, 4), {F}], %w: Tensor[(3, 3, 1, 1), {F}] | nn.deformable_conv2d(%x, %o, %w, kernel_size=[1, 1], channels=3, deformable_groups=2)",
    "conv1d in groups that do not meet": f"%x: Tensor[(2, 4, 9), {F}], %w: Tensor[(6, 4, 3), {F}] | nn.conv1d(%x, %w, groups=3)",
    "a plane of bits behind the end": '%x: Tensor[(32, 3), int32] | nn.bitpack(%x, bits=3, pack_axis=0, bit_axis=3, pack_type="uint32")',
    "diagonals of nothing": f"%x: Tensor[(1, 5, 4), {F}], %d: Tensor[(1, 3, 0), {F}] | matrix_set_diag(%x, %d, k1=1, k2=3)",
    "boxes of no numbers": f"%b: Tensor[(2, 6, 0), {F}], %s: Tensor[(2, 2, 6), {F}] | vision.all_class_non_max_suppression(%b, %s, 2, 0.5f, 0.1f)",
    "scores of other boxes": f"%b: Tensor[(2, 6, 4), {F}], %s: Tensor[(2, 2, 7), {F}] | vision.all_class_non_max_suppression(%b, %s, 2, 0.5f, 0.1f)",
    "gradients of other windows": f"%g: Tensor[(1, 2, 4, 4), {F}], %x: Tensor[(1, 2, 8, 8), {F}] | nn.avg_pool2d_grad(%g, %x, pool_size=[2147483648, 3], strides=[2, 2], padding=[1, 1])",
    "blocks of nothing": f"%x: Tensor[(1, 3, 3, 8), {F}], %d: Tensor[(6, 3, 0), {F}], %i: Tensor[(6), int32], %p: Tensor[(5), int32] | nn.sparse_conv2d(%x, %d, %i, %p)",
    "zero points of other channels": '%x: Tensor[(1, 4, 5, 5), int8], %w: Tensor[(4, 3, 3, 3), int8], %z: Tensor[(2), int32] | qnn.conv2d_transpose(%x, %w, 0, %z, 1f, 1f, out_dtype="int32", kernel_layout="IOHW", channels=3, kernel_size=[3, 3])',
    "weights in groups that tiles do not fill": f'%x: Tensor[(1, 6, 6, 2), {F}], %w: Tensor[(2, 3, 16, 4), {F}] | nn.contrib_conv2d_gemm_without_weight_transform(%x, %w, channels=5, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO", padding=[1, 1], groups=2)',
    "a kernel of nothing, dilated": f'%x: Tensor[(1, 9, 4), {F}], %w: Tensor[(0, 4, 6), {F}] | nn.conv1d(%x, %w, data_layout="NWC", kernel_layout="WIO", dilation=[2])',
    "zero points of other filters": '%x: Tensor[(1, 4, 6, 6), uint8], %w: Tensor[(3, 4, 3, 3), int8], %z: Tensor[(2), int32] | qnn.conv2d(%x, %w, 3, %z, 1f, 1f, out_dtype="int32", channels=3, kernel_size=[3, 3])',
    "zero points of other units": '%x: Tensor[(3, 40), int8], %w: Tensor[(5, 40), int8], %z: Tensor[(2), int32] | qnn.dense(%x, %w, 0, %z, 1f, 1f, units=5, out_dtype="int32")',
    "the variance of bool": "%x: Tensor[(2), bool], %m: Tensor[(1), bool] | variance(%x, %m, axis=[0])",
    "places of another batch": f"%x: Tensor[(3, 2, 3), {F}], %y: Tensor[(2, 12), {F}], %z: Tensor[(1, 3, 4), {F}] | vision.multibox_transform_loc(%x, %y, %z)",
    "anchors of no size": f"%p: Tensor[(1, 8, 3, 3), {F}], %b: Tensor[(1, 16, 3, 3), {F}], %i: Tensor[(1, 3), {F}] | vision.proposal(%p, %b, %i, scales=[inf, 4f], ratios=[0.5f, 1f], feature_stride=16, threshold=0.5f)",
    "hardswish bool": "%x: Tensor[(2, 3), bool] | hardswish(%x)",
    "reinterpret": f'%x: Tensor[(2), {F}] | reinterpret(%x, dtype="uint8")',
    "sort of a scalar": f"%x: {F} | sort(%x)",
    "argsort of a scalar": f'%x: {F} | argsort(%x, dtype="int32")',
    "topk of a scalar": f"%x: {F} | topk(%x, k=1)",
    "sparse_to_dense": f"%x: Tensor[(3), int32], %y: Tensor[(1, 3), {F}], %z: {F} | sparse_to_dense(%x, %y, %z, output_shape=[5])",
    "strided_set of another rank": f"%x: Tensor[(3, 4, 3), {F}], %y: Tensor[(2, 3), {F}], %b: Tensor[(3), int32] | strided_set(%x, %y, %b, %b, %b)",
    "strided_set of seven axes": f"%x: Tensor[(1, 1, 1, 1, 1, 1, 1), {F}], %y: Tensor[(1, 1), {F}], %b: Tensor[(7), int32] | strided_set(%x, %y, %b, %b, %b)",
    "trilu by a float": f"%x: Tensor[(4, 4), {F}], %k: {F} | trilu(%x, %k, upper=True)",
    "the edge of nothing": f'%x: Tensor[(0, 4), {F}] | nn.pad(%x, 0f, pad_width=[[1, 0], [0, 0]], pad_mode="edge")',
    "a mode of padding that there is not": f'%x: Tensor[(2, 2), {F}], %w: Tensor[(2, 2), int32] | dyn.nn.pad(%x, %w, 0f, pad_width=[], pad_mode="NHWC")',
    "the mean of bool": "%x: Tensor[(1, 1, 4, 4), bool] | nn.avg_pool2d(%x, pool_size=[2, 2])",
    "the mean of bool, adaptively": "%x: Tensor[(1, 1, 4, 4), bool] | nn.adaptive_avg_pool2d(%x, output_size=[2, 2])",
    "a grid of integers": "%x: Tensor[(1, 2, 3), uint8] | image.affine_grid(%x, target_shape=[4, 4])",
    "proposals of other places": f"%p: Tensor[(1, 8, 3, 2), {F}], %b: Tensor[(1, 16, 3, 3), {F}], %i: Tensor[(1, 3), {F}] | vision.proposal(%p, %b, %i, scales=[8f, 16f], ratios=[0.5f, 1f], feature_stride=16, threshold=0.5f, rpn_pre_nms_top_n=6, rpn_post_nms_top_n=3, rpn_min_size=1, iou_loss=False)",
    "thresholds": f"%b: Tensor[(1, 5, 4), {F}], %s: Tensor[(1, 2, 5), {F}], %i: Tensor[(2), {F}] | vision.all_class_non_max_suppression(%b, %s, 2, %i, 0.1f)",
    "qnn.add of floats": f"%x: Tensor[(2), {F}], %y: Tensor[(2), {F}] | qnn.add(%x, %y, 0.5f, 0, 0.25f, 1, 0.5f, 0)",
    "trilu of a vector": f"%x: Tensor[(4), {F}], %k: int32 | trilu(%x, %k, upper=True)",
    "grid_sample on integers": f"%x: Tensor[(1, 1, 4, 4), {F}], %g: Tensor[(1, 2, 4, 4), int32] | image.grid_sample(%x, %g)",
    "multibox variances": f"%x: Tensor[(1, 2, 3), {F}], %y: Tensor[(1, 12), {F}], %z: Tensor[(1, 3, 4), {F}] | vision.multibox_transform_loc(%x, %y, %z, variances=[1.5])",
    "clip at nan": "%x: Tensor[(2), int32] | clip(%x, a_min=nan, a_max=3)",
    "upsampling by nan": f"%x: Tensor[(1, 1, 2, 2), {F}] | nn.upsampling(%x, scale_h=2, scale_w=nan)",
    "upsampling by inf": f"%x: Tensor[(1, 1, 2, 2), {F}] | nn.upsampling(%x, scale_h=inf, scale_w=1)",
    "qnn.add scale 0": "%x: Tensor[(2), int8], %y: Tensor[(2), int8] | qnn.add(%x, %y, 0.5f, 0, 0.25f, 1, 0.0f, 0)",
    "qnn.add scale nan": "%x: Tensor[(2), int8], %y: Tensor[(2), int8] | qnn.add(%x, %y, nanf, 0, 0.25f, 1, 1.0f, 0)",
    "qnn.add scales far apart": "%x: Tensor[(2), int8], %y: Tensor[(2), int8] | qnn.add(%x, %y, 3e38f, 0, 0.25f, 1, 1e-38f, 0)",
    "requantize to scale 0": '%x: Tensor[(2), int32] | qnn.requantize(%x, 1f, 0, 0f, 0, out_dtype="int8")',
    "dyn.topk of inf": f'%x: Tensor[(4), {F}] | dyn.topk(%x, inff, k=None, dtype="int32")',
    "dyn.sparse_to_dense of another rank": f"%x: Tensor[(3, 2), int32], %y: Tensor[(3), {F}], %z: {F}, %s: Tensor[(1), int64] | dyn.sparse_to_dense(%x, %y, %z, %s)",
    "unary of a tuple": f"%x: (Tensor[(2), {F}], {F}) | tanh(%x)",
    "pooling with too many strides": f"%x: Tensor[(1, 1, 8, 8), {F}] | nn.max_pool2d(%x, pool_size=[2, 2], strides=[1, 1, 1])",
    "pooling backwards": f"%x: Tensor[(1, 1, 8, 8), {F}] | nn.avg_pool2d(%x, pool_size=[2, 2], strides=[-1, 1])",
    "gradient of another dtype": f"%g: Tensor[(1, 1, 4, 4), float64], %x: Tensor[(1, 1, 8, 8), {F}] | nn.max_pool2d_grad(%g, %x, pool_size=[2, 2], strides=[2, 2])",
    "resizing nothing": f'%x: Tensor[(1, 1, 0, 4), {F}] | image.resize2d(%x, size=[2, 2], roi=[0, 0, 0, 0], rounding_method="")',
    "sparse columns that are floats": f"%x: Tensor[(3, 4), {F}], %d: Tensor[(2), {F}], %i: Tensor[(2), {F}], %p: Tensor[(3), int32] | nn.sparse_dense(%x, %d, %i, %p)",
    "correlation at no distance": f"%x: Tensor[(1, 1, 5, 5), {F}] | nn.correlation(%x, %x, stride1=0)",
    "correlation of displacements at no distance": f"%x: Tensor[(1, 1, 5, 5), {F}] | nn.correlation(%x, %x, stride2=0)",
    "correlation of nothing": f"%x: Tensor[(1, 1, 5, 5), {F}] | nn.correlation(%x, %x, kernel_size=0)",
    "topk of more than there are": f"%x: Tensor[(4), {F}] | topk(%x, k=5)",
    "l2_normalize of integers": "%x: Tensor[(2, 3), int8] | nn.l2_normalize(%x, eps=1f, axis=[1])",
    "pad value with axes": f"%x: Tensor[(2), {F}], %v: Tensor[(3), {F}] | nn.pad(%x, %v, pad_width=[[1, 1]])",
    "dense weights packed for another depth": f"%x: Tensor[(3, 8), {F}], %w: Tensor[(2, 7, 4), {F}] | nn.contrib_dense_pack(%x, %w, units=8)",
    "device that is a number": f"%x: Tensor[(2), {F}] | on_device(%x, virtual_device=1.5)",
    "conv2d_backward_weight padding": f'%g: Tensor[(1, 4, 8, 8), {F}], %x: Tensor[(1, 3, 8, 8), {F}] | nn.conv2d_backward_weight(%g, %x, kernel_layout="NCHW", padding=[1, 1, 1], kernel_size=[3, 3])',
    "conv2d_backward_weight batch": f'%g: Tensor[(2, 4, 8, 8), {F}], %x: Tensor[(1, 3, 8, 8), {F}] | nn.conv2d_backward_weight(%g, %x, kernel_layout="NCHW", padding=[1, 1, 1, 1], kernel_size=[3, 3])',
}


@pytest.mark.parametrize("case", CASES)
def test_refused_by_type(case):
    params, _, body = CASES[case].partition(" | ")
    text = f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}\n'
    with pytest.raises(IrError) as caught:
        irtool.infer_types(irtool.parse(text, "f.relay"))
    assert all(d.span is not None for d in caught.value.diagnostics), render(caught.value)


@pytest.mark.parametrize(
    "name", ["left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"]
)
def test_bits_of_floats(name):
    """TVM's type rule accepts floats here, so texts with them are read; building and evaluating refuse."""
    args = "%x" if name == "bitwise_not" else "%x, %x"
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), {F}]) {{ {name}({args}) }}\n'
    module = irtool.infer_types(irtool.parse(text, "f.relay"))
    with pytest.raises(IrError, match="has no meaning on float32") as caught:
        irtool.build(module, emit="c")
    assert caught.value.exit_code == 1
    assert all(d.span is not None for d in caught.value.diagnostics)
    with pytest.raises(IrError, match="has no meaning on float32"):
        irtool.evaluate(module, [np.ones((2, 3), F)])


UNCOMPUTED = {
    "lrn among an even number": f"%x: Tensor[(1, 4, 2, 2), {F}] | nn.lrn(%x, size=4)",
    "correlation of different maps": f"%x: Tensor[(1, 1, 5, 5), {F}], %y: Tensor[(1, 1, 5, 4), {F}] | nn.correlation(%x, %y)",
    "int4": "%x: Tensor[(2), int4] | add(%x, zeros_like(%x))",
    "a vector of floats": "%x: Tensor[(2), float32x4] | multiply(%x, ones_like(%x))",
}
"""What TVM's type rules accept and nothing computes."""


@pytest.mark.promise("agreement")
@pytest.mark.parametrize("case", UNCOMPUTED)
def test_refused_by_interpreter_and_compiler(case):
    params, _, body = UNCOMPUTED[case].partition(" | ")
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}\n', "f.relay"))
    inputs = [np.ones(p.checked_type.shape, F) for p in module["main"].params]
    for refuse in (lambda: irtool.build(module, emit="c"), lambda: irtool.evaluate(module, inputs)):
        with pytest.raises(IrError) as caught:
            refuse()
        assert caught.value.exit_code == 1
        assert all(d.span is not None for d in caught.value.diagnostics), render(caught.value)


@pytest.mark.promise("agreement")
@pytest.mark.parametrize(
    "case",
    [
        "%x: Tensor[(2, 3), float16] | nn.l2_normalize(%x, eps=0.001f, axis=[1])",
        "%x: Tensor[(1, 0, 9), float32], %w: Tensor[(6, 0, 3), float32] | nn.conv1d(%x, %w)",
        "%x: Tensor[(1, 2, 0), float32] | nn.adaptive_avg_pool1d(%x)",
        '%s: Tensor[(0), int64] | dyn.zeros(%s, shape=None, dtype="float32")',
        "%x: Tensor[(3, 0), float32] | nn.softmax(%x)",
    ],
)
def test_computed_by_both(case):
    params, _, body = case.partition(" | ")
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {body} }}\n', "f.relay"))
    inputs = [np.ones(p.checked_type.shape, p.checked_type.dtype) for p in module["main"].params]
    want = irtool.evaluate(module, inputs)
    np.testing.assert_allclose(irtool.build(module).run(inputs), want, rtol=1e-2)
