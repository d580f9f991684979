"""Operators whose function in Python has other defaults, or another order of arguments, than the operator has in text.

One line an operator, as TVM 0.10's functions have them: names in order, `name=default`, `name:attribute` where the name differs.
What a line leaves out keeps the operator's own name and default. Operators that are not here go by their own fields.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any

_TABLE = """
argmax              data axis=None keepdims=False exclude=False select_last_index=False
argmin              data axis=None keepdims=False exclude=False select_last_index=False
argsort             data axis=-1 is_ascend=True dtype="int32"
clip                a:data a_min a_max
cumprod             data axis=None dtype="" exclusive=False
cumsum              data axis=None dtype="" exclusive=False
device_copy         data src_device:src_virtual_device dst_device:dst_virtual_device
full                fill_value shape=() dtype=""
gather              data axis indices
image.affine_grid   data target_shape=None
image.crop_and_resize data boxes box_indices crop_size layout="NCHW" method="bilinear" extrapolation_value=0 out_dtype=""
image.resize1d      data size roi=None layout="NCW" method="linear" coordinate_transformation_mode="half_pixel" rounding_method=""
image.resize2d      data size roi=None layout="NCHW" method="linear" coordinate_transformation_mode="half_pixel" rounding_method=""
image.resize3d      data size roi=None layout="NCDHW" method="linear" coordinate_transformation_mode="half_pixel" rounding_method=""
ndarray_size        data dtype="int32"
nn.avg_pool1d       data pool_size=1
nn.avg_pool2d       data pool_size=1
nn.avg_pool2d_grad  out_grad:grad data pool_size=1 strides=(1,1) padding=(0,0) layout="NCHW" out_layout="" ceil_mode=False count_include_pad=False
nn.avg_pool3d       data pool_size=1
nn.batch_matmul     tensor_a tensor_b out_dtype="" transpose_a=False transpose_b=True
nn.bitpack          data bits=1 pack_axis=1 bit_axis=2 pack_type="uint32" name="BitPack"
nn.bitserial_conv2d data weight strides=1 padding=0 channels=None kernel_size=(3,3) activation_bits=1 weight_bits=1 data_layout="NCHW" kernel_layout="OIHW" pack_dtype="uint32" out_dtype="int16" unipolar=True
nn.bitserial_dense  data weight units=None data_bits=1 weight_bits=1 pack_dtype="uint32" out_dtype="int16" unipolar=True
nn.contrib_dense_pack data weight weight_layout="NC" units=None out_dtype=""
nn.conv1d_transpose data weight strides=1 padding=0 dilation=1 groups=1 channels=None kernel_size=None data_layout="NCW" kernel_layout="OIW" out_layout="" output_padding=0 out_dtype=""
nn.conv2d_backward_weight grad data strides=1 padding=0 dilation=1 groups=1 channels=None kernel_size=None grad_layout:data_layout="NCHW" data_layout:kernel_layout="NCHW" kernel_layout:out_layout="OIHW" out_dtype=""
nn.conv2d_transpose data weight strides=1 padding=0 dilation=1 groups=1 channels=None kernel_size=None data_layout="NCHW" kernel_layout="IOHW" out_layout="" output_padding=0 out_dtype=""
nn.conv3d_transpose data weight strides=1 padding=0 dilation=1 groups=1 channels=None kernel_size=None data_layout="NCDHW" kernel_layout="OIDHW" out_layout="" output_padding=0 out_dtype=""
nn.cross_entropy    predictions:x targets:y
nn.cross_entropy_with_logits predictions:x targets:y
nn.dense            data weight units=None out_dtype=""
nn.dilate           data:x strides dilation_value=0.0
nn.l2_normalize     data eps axis=None
nn.leaky_relu       data alpha=0.01
nn.lrn              data size=5 axis=1 bias=2 alpha=0.00001 beta=0.75
nn.matmul           tensor_a tensor_b units=None out_dtype="" transpose_a=False transpose_b=False
nn.max_pool1d       data pool_size=1
nn.max_pool2d       data pool_size=1
nn.max_pool2d_grad  out_grad:grad data pool_size=1 strides=(1,1) padding=(0,0) layout="NCHW" out_layout="" ceil_mode=False
nn.max_pool3d       data pool_size=1
nn.mirror_pad       data pad_width mode="SYMMETRIC"
nn.nll_loss         predictions targets weights reduction="mean" ignore_index=-100
nn.pad              data pad_width pad_value:pad_val=0 pad_mode="constant"
nn.space_to_batch_nd data block_shape paddings pad_value=0
nn.upsampling       data scale_h=1 scale_w=1
nn.upsampling3d     data scale_d=1 scale_h=1 scale_w=1
qnn.abs             x:data scale zero_point output_scale output_zero_point
qnn.batch_matmul    x y x_zero_point y_zero_point x_scale y_scale out_dtype="int32"
qnn.conv2d          data kernel:weight input_zero_point kernel_zero_point:weight_zero_point input_scale kernel_scale:weight_scale kernel_size channels strides=1 padding=0 dilation=1 groups=1 data_layout="NCHW" kernel_layout="OIHW" out_layout="" out_dtype="int32"
qnn.conv2d_transpose data weight input_zero_point kernel_zero_point:weight_zero_point input_scale kernel_scale:weight_scale strides=1 padding=0 dilation=1 groups=1 channels=None kernel_size=None data_layout="NCHW" kernel_layout="IOHW" out_layout="" output_padding=(0,0) out_dtype="int32"
qnn.dense           data weight input_zero_point kernel_zero_point:weight_zero_point input_scale kernel_scale:weight_scale units out_dtype="int32"
qnn.dequantize      data input_scale input_zero_point axis=-1
qnn.erf             x:data scale zero_point output_scale output_zero_point
qnn.exp             x:data scale zero_point output_scale output_zero_point
qnn.hardswish       x:data scale zero_point output_scale output_zero_point
qnn.leaky_relu      x:data alpha input_scale input_zero_point output_scale output_zero_point
qnn.log             x:data scale zero_point output_scale output_zero_point
qnn.quantize        data output_scale output_zero_point axis=-1 out_dtype="int8"
qnn.requantize      data input_scale input_zero_point output_scale output_zero_point axis=-1 rounding="None" compute_dtype="None" out_dtype="int8"
qnn.rsqrt           x:data scale zero_point output_scale output_zero_point
qnn.sigmoid         x:data scale zero_point output_scale output_zero_point
qnn.simulated_dequantize data input_scale input_zero_point axis=-1 in_dtype="int8"
qnn.simulated_quantize data output_scale output_zero_point axis=-1 out_dtype="int8"
qnn.sqrt            x:data scale zero_point output_scale output_zero_point
qnn.tanh            x:data scale zero_point output_scale output_zero_point
random.normal       key shape:out_shape dtype:out_dtype="float32" mean=0.0 scale=1.0
random.threefry_generate key shape:out_shape
random.uniform      key shape:out_shape dtype:out_dtype="float32" low=0.0 high=1.0
scatter_nd          data indices updates mode="update"
shape_of            data dtype="int32"
slice_like          data shape_like axes=None
sparse_to_dense     sparse_indices output_shape sparse_values default_value=0
strided_set         data v begin end strides=(1,)
strided_slice       data begin end strides=(1,) axes=None slice_mode="end"
take                data indices axis=None batch_dims=0 mode="clip"
topk                data k=1 axis=-1 ret_type="both" is_ascend=False dtype="int32"
transpose           data axes=None
unique              data is_sorted:sorted=True return_counts=False
unravel_index       indices:data shape
vision.all_class_non_max_suppression boxes scores max_output_boxes_per_class=-1 iou_threshold=-1.0 score_threshold=-1.0 output_format="onnx"
vision.non_max_suppression data valid_count indices max_output_size=-1 iou_threshold=0.5
"""


def _line(parts: list[str]) -> list[tuple[str, str, Any]]:
    result = []
    for word in parts:
        names, _, default = word.partition("=")
        name, _, of = names.partition(":")
        result.append((name, of or name, ast.literal_eval(default) if default else inspect.Parameter.empty))
    return result


SIGNATURES: dict[str, list[tuple[str, str, Any]]] = {
    words[0]: _line(words[1:]) for words in (line.split() for line in _TABLE.split("\n") if line)
}
"""By operator: each parameter's name, the input or attribute it stands for, and its default (`Parameter.empty`: the operator's)."""
