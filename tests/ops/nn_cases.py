"""Calls of the neural-network and quantized operators: name, arguments, attributes. The tests type, evaluate and compile
each of them."""

import numpy as np

_rng = np.random.default_rng(7)


def real(*shape, dtype="float32"):
    return np.asarray(_rng.standard_normal(shape)).astype(dtype)


def whole(low, high, *shape, dtype="int8"):
    return np.asarray(_rng.integers(low, high, shape)).astype(dtype)


def scalar(value, dtype="float32"):
    return np.array(value, dtype)


def csr(rows, columns, block=()):
    """Data, indices and indptr of a sparse matrix with about a third of its elements (or blocks)."""
    mask = _rng.random((rows, columns)) < 0.35
    mask[0] = False
    indices = np.concatenate([np.flatnonzero(r) for r in mask]).astype("int32")
    indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype("int32")
    return real(len(indices), *block), indices, indptr


CASES = [
    ("nn.conv1d", [real(2, 4, 9), real(6, 4, 3)], {"padding": [1, 2], "strides": [2]}),
    ("nn.conv1d", [real(1, 9, 4), real(3, 4, 6)], {"data_layout": "NWC", "kernel_layout": "WIO", "dilation": [2]}),
    ("nn.conv2d", [real(1, 3, 8, 9), real(5, 3, 3, 3)], {"padding": [1, 1], "channels": 5, "kernel_size": [3, 3]}),
    ("nn.conv2d", [real(2, 4, 7, 8), real(6, 4, 1, 1)], {"strides": [2, 2]}),
    ("nn.conv2d", [real(1, 4, 9, 9), real(4, 2, 3, 2)], {"groups": 2, "padding": [0, 1, 2, 0], "dilation": [2, 1]}),
    ("nn.conv2d", [real(1, 4, 9, 9), real(8, 1, 3, 3)], {"groups": 4, "channels": 8, "kernel_size": [3, 3]}),
    ("nn.conv2d", [real(1, 4, 9, 9), real(4, 2, 3, 3)], {"groups": 4, "channels": 8, "kernel_size": [3, 3]}),
    (
        "nn.conv2d",
        [real(1, 7, 7, 4), real(3, 3, 4, 6)],
        {"data_layout": "NHWC", "kernel_layout": "HWIO", "padding": [1]},
    ),
    (
        "nn.conv2d",
        [real(1, 7, 7, 4), real(3, 3, 4, 1)],
        {"data_layout": "NHWC", "kernel_layout": "HWOI", "groups": 4, "channels": 4, "kernel_size": [3, 3]},
    ),
    ("nn.conv2d", [real(1, 7, 7, 4), real(6, 3, 3, 4)], {"data_layout": "NHWC", "kernel_layout": "OHWI"}),
    ("nn.conv2d", [real(7, 7, 2, 4), real(3, 3, 6, 4)], {"data_layout": "HWNC", "kernel_layout": "HWOI"}),
    ("nn.conv2d", [real(1, 3, 6, 6), real(4, 3, 3, 3)], {"out_layout": "NHWC"}),
    (
        "nn.conv2d",
        [whole(-128, 128, 1, 8, 6, 6), whole(-128, 128, 4, 8, 3, 3)],
        {"out_dtype": "int32", "padding": [1, 1]},
    ),
    ("nn.conv2d", [whole(-9, 9, 1, 3, 6, 6), whole(-9, 9, 4, 3, 3, 3)], {}),
    ("nn.conv2d", [real(1, 3, 6, 6, dtype="float16"), real(4, 3, 3, 3, dtype="float16")], {}),
    (
        "nn.contrib_conv2d_NCHWc",
        [real(1, 2, 6, 6, 4), real(2, 2, 3, 3, 4, 8)],
        {
            "data_layout": "NCHW4c",
            "kernel_layout": "OIHW4i8o",
            "out_layout": "NCHW8c",
            "channels": 16,
            "kernel_size": [3, 3],
            "padding": [1, 1],
        },
    ),
    (
        "nn.contrib_depthwise_conv2d_NCHWc",
        [real(1, 2, 6, 6, 4), real(2, 1, 3, 3, 1, 4)],
        {
            "data_layout": "NCHW4c",
            "kernel_layout": "OIHW1i4o",
            "out_layout": "NCHW4c",
            "groups": 8,
            "channels": 8,
            "kernel_size": [3, 3],
        },
    ),
    ("nn.conv3d", [real(1, 2, 4, 5, 6), real(3, 2, 2, 3, 3)], {"padding": [1, 1, 1], "strides": [1, 2, 1]}),
    ("nn.conv3d", [real(1, 4, 4, 4, 4), real(4, 2, 2, 2, 2)], {"groups": 2}),
    ("nn.conv1d_transpose", [real(1, 3, 7), real(3, 2, 4)], {"strides": [2], "padding": [1, 2], "output_padding": [1]}),
    (
        "nn.conv2d_transpose",
        [real(1, 4, 5, 6), real(4, 3, 3, 4)],
        {"kernel_layout": "IOHW", "strides": [2, 3], "padding": [1, 0, 2, 1], "output_padding": [1, 2]},
    ),
    (
        "nn.conv2d_transpose",
        [real(1, 4, 5, 5), real(4, 3, 3, 3)],
        {"kernel_layout": "IOHW", "groups": 2, "channels": 6, "kernel_size": [3, 3], "dilation": [2, 1]},
    ),
    (
        "nn.conv2d_transpose",
        [real(1, 5, 5, 4), real(3, 3, 2, 4)],
        {"data_layout": "NHWC", "kernel_layout": "HWOI", "strides": [2, 2]},
    ),
    ("nn.conv3d_transpose", [real(1, 2, 3, 3, 3), real(2, 3, 2, 2, 2)], {"strides": [2, 1, 2], "padding": [1, 0, 0]}),
    (
        "nn.conv2d_backward_weight",
        [real(2, 6, 3, 3), real(2, 4, 7, 7)],
        {
            "strides": [2, 2],
            "groups": 2,
            "kernel_size": [3, 3],
            "kernel_layout": "NCHW",
            "out_layout": "OIHW",
        },
    ),
    ("nn.contrib_conv2d_winograd_weight_transform", [real(4, 3, 3, 3)], {"tile_size": 4}),
    (
        "nn.contrib_conv2d_winograd_without_weight_transform",
        [real(1, 3, 7, 6), real(6, 6, 4, 3)],
        {"tile_size": 4, "channels": 4, "kernel_size": [3, 3], "padding": [1, 1]},
    ),
    ("nn.contrib_conv3d_winograd_weight_transform", [real(2, 3, 3, 3, 3)], {"tile_size": 2}),
    ("nn.contrib_conv3d_winograd_weight_transform", [real(2, 3, 2, 3, 3)], {"tile_size": 2}),
    (
        "nn.contrib_conv3d_winograd_without_weight_transform",
        [real(1, 3, 4, 5, 4), real(4, 4, 4, 2, 3)],
        {"tile_size": 2, "channels": 2, "kernel_size": [3, 3, 3], "padding": [1, 1, 1]},
    ),
    (
        "nn.contrib_conv3d_winograd_without_weight_transform",
        [real(1, 3, 4, 5, 4), real(4, 4, 2, 2, 3)],
        {"tile_size": 2, "channels": 2, "kernel_size": [2, 3, 3], "padding": [0, 1, 1]},
    ),
    ("nn.contrib_conv2d_gemm_weight_transform", [real(3, 3, 2, 5)], {"tile_rows": 4, "tile_cols": 16}),
    ("nn.contrib_conv2d_gemm_weight_transform", [real(3, 3, 2, 5)], {"tile_N": 4, "tile_K": 2}),
    ("nn.contrib_conv2d_gemm_weight_transform", [whole(-9, 9, 3, 3, 2, 5)], {"tile_N": 4, "tile_K": 2}),
    (
        "nn.contrib_conv2d_gemm_without_weight_transform",
        [real(1, 6, 6, 2), real(2, 2, 16, 4)],
        {"channels": 5, "kernel_size": [3, 3], "data_layout": "NHWC", "kernel_layout": "HWIO", "padding": [1, 1]},
    ),
    (
        "nn.contrib_conv2d_gemm_without_weight_transform",
        [real(1, 6, 6, 2), real(2, 2, 4, 16)],
        {"channels": 5, "kernel_size": [3, 3], "data_layout": "NHWC", "kernel_layout": "HWIO", "padding": [1, 1]},
    ),
    (
        "nn.deformable_conv2d",
        [real(1, 4, 6, 6), real(1, 36, 6, 6), real(3, 4, 3, 3)],
        {"padding": [1, 1], "deformable_groups": 2},
    ),
    (
        "nn.deformable_conv2d",
        [real(1, 6, 6, 4), real(1, 4, 4, 18), real(3, 3, 2, 4)],
        {"data_layout": "NHWC", "kernel_layout": "HWIO", "groups": 2},
    ),
    (
        "nn.correlation",
        [real(1, 3, 8, 8), real(1, 3, 8, 8)],
        {"kernel_size": 3, "max_displacement": 2, "stride1": 2, "stride2": 2, "padding": [2, 3]},
    ),
    ("nn.correlation", [real(1, 3, 5, 5), real(1, 3, 5, 5)], {"is_multiply": False, "padding": [1]}),
    (
        "nn.bitserial_conv2d",
        [whole(0, 4, 1, 8, 5, 5, dtype="int16"), whole(0, 2, 3, 8, 3, 3, dtype="int16")],
        {"channels": 3, "activation_bits": 2, "padding": [1, 1], "pack_dtype": "uint8", "out_dtype": "int16"},
    ),
    (
        "nn.bitserial_conv2d",
        [whole(0, 4, 1, 5, 5, 8, dtype="int16"), whole(0, 255, 3, 3, 1, 2, 4, dtype="uint8")],
        {
            "channels": 4,
            "activation_bits": 2,
            "weight_bits": 2,
            "data_layout": "NHWC",
            "kernel_layout": "HWIO",
            "pack_dtype": "uint8",
            "out_dtype": "int32",
            "unipolar": False,
        },
    ),
    (
        "nn.bitserial_dense",
        [whole(0, 4, 3, 16, dtype="int16"), whole(0, 255, 5, 2, 2, dtype="uint8")],
        {"units": 5, "data_bits": 2, "weight_bits": 2, "pack_dtype": "uint8", "out_dtype": "int16"},
    ),
    ("nn.dense", [real(3, 5), real(4, 5)], {"units": 4}),
    ("nn.dense", [real(2, 3, 5), real(4, 5)], {"units": None}),
    ("nn.dense", [whole(-128, 128, 3, 40, dtype="int8"), whole(-128, 128, 6, 40)], {"units": 6, "out_dtype": "int32"}),
    ("nn.dense", [real(3, 5, dtype="float16"), real(4, 5, dtype="float16")], {"units": 4}),
    ("nn.matmul", [real(5, 3), real(4, 5)], {"units": None, "transpose_a": True, "transpose_b": True}),
    ("nn.matmul", [real(3, 5), real(5, 4)], {"units": 4}),
    ("nn.batch_matmul", [real(3, 4, 5), real(3, 6, 5)], {"transpose_b": True}),
    ("nn.batch_matmul", [real(1, 5, 4), real(3, 5, 6)], {"transpose_a": True}),
    ("nn.contrib_dense_pack", [real(3, 8), real(2, 8, 4)], {"units": 8, "weight_layout": "NC4n"}),
    (
        "nn.contrib_dense_pack",
        [whole(0, 255, 3, 8, dtype="uint8"), whole(-128, 128, 2, 2, 4, 4)],
        {"units": 8, "weight_layout": "NC4n4c", "out_dtype": "int32"},
    ),
    ("nn.sparse_dense", [real(3, 7), *csr(5, 7)], {}),
    ("nn.sparse_dense", [real(3, 7), *csr(5, 7)], {"sparse_lhs": True}),
    ("nn.sparse_dense", [real(3, 8), *csr(4, 4, (3, 2))], {}),
    ("nn.internal.sparse_dense_padded", [real(3, 7), *csr(5, 7)], {}),
    ("nn.sparse_conv2d", [real(1, 3, 3, 8), *csr(4, 4, (3, 2))], {}),
    ("nn.sparse_conv2d", [real(1, 4, 3, 3), *csr(3, 4, (2,))], {"layout": "NCHW"}),
    ("nn.sparse_transpose", [*csr(5, 5)], {}),
    ("nn.sparse_add", [real(5, 7), *csr(5, 7)], {}),
    ("nn.max_pool1d", [real(1, 2, 9)], {"pool_size": [3], "strides": [2], "padding": [1, 0]}),
    ("nn.avg_pool1d", [real(1, 9, 2)], {"pool_size": [3], "strides": [2], "padding": [1], "layout": "NWC"}),
    ("nn.max_pool2d", [real(1, 2, 9, 8)], {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1]}),
    ("nn.max_pool2d", [whole(-128, 0, 1, 2, 9, 8)], {"pool_size": [3, 2], "strides": [2, 2], "ceil_mode": True}),
    ("nn.max_pool2d", [real(1, 2, 6, 6, 4)], {"pool_size": [2, 2], "dilation": [2, 1], "layout": "NCHW4c"}),
    ("nn.avg_pool2d", [real(1, 2, 9, 8)], {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1]}),
    (
        "nn.avg_pool2d",
        [real(1, 2, 9, 8)],
        {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1], "ceil_mode": True, "count_include_pad": True},
    ),
    (
        "nn.avg_pool2d",
        [real(1, 8, 8, 3)],
        {"pool_size": [3, 3], "dilation": [2, 2], "padding": [2, 1], "layout": "NHWC"},
    ),
    ("nn.avg_pool2d", [whole(-50, 50, 1, 2, 6, 6, dtype="int32")], {"pool_size": [2, 2]}),
    ("nn.avg_pool2d", [whole(0, 1, 1, 1, 16, 16) + np.int8(1)], {"pool_size": [16, 10], "strides": [1, 3]}),
    ("nn.max_pool3d", [real(1, 2, 4, 5, 6)], {"pool_size": [2, 2, 3], "strides": [1, 2, 2], "padding": [0, 1, 1]}),
    ("nn.avg_pool3d", [real(1, 2, 4, 5, 6)], {"pool_size": [2, 2, 3], "padding": [1, 1, 1], "ceil_mode": True}),
    ("nn.global_max_pool2d", [real(2, 3, 4, 5)], {}),
    ("nn.global_avg_pool2d", [real(2, 4, 5, 3)], {"layout": "NHWC"}),
    ("nn.adaptive_avg_pool1d", [real(1, 2, 7)], {"output_size": [3]}),
    ("nn.adaptive_max_pool1d", [real(1, 2, 7)], {"output_size": [3]}),
    ("nn.adaptive_avg_pool2d", [real(1, 2, 7, 8)], {"output_size": [3, 4]}),
    ("nn.adaptive_max_pool2d", [real(1, 7, 8, 2)], {"output_size": [5], "layout": "NHWC"}),
    ("nn.adaptive_avg_pool3d", [real(1, 2, 4, 5, 6)], {"output_size": [2, 2, 4]}),
    ("nn.adaptive_max_pool3d", [real(1, 2, 4, 5, 6)], {}),
    (
        "nn.max_pool2d_grad",
        [real(1, 2, 4, 4), real(1, 2, 8, 8)],
        {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1]},
    ),
    (
        "nn.avg_pool2d_grad",
        [real(1, 2, 4, 4), real(1, 2, 8, 8)],
        {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1]},
    ),
    (
        "nn.avg_pool2d_grad",
        [real(1, 2, 4, 4), real(1, 2, 8, 8)],
        {"pool_size": [2, 2], "strides": [2, 2], "count_include_pad": True},
    ),
    ("nn.softmax", [real(2, 3, 4)], {"axis": 1}),
    ("nn.fast_softmax", [real(2, 5)], {}),
    ("nn.log_softmax", [real(2, 5)], {}),
    ("nn.batch_norm", [real(2, 3, 4), real(3), real(3), real(3), abs(real(3))], {}),
    ("nn.batch_norm", [real(2, 4, 3), real(3), real(3), real(3), abs(real(3))], {"axis": -1, "scale": False}),
    ("nn.layer_norm", [real(2, 3, 8), real(8), real(8)], {}),
    ("nn.layer_norm", [real(2, 8, 3), real(8), real(8)], {"axis": 1, "center": False}),
    ("nn.instance_norm", [real(2, 3, 4, 5), real(3), real(3)], {}),
    ("nn.group_norm", [real(2, 6, 4, 5), real(6), real(6)], {"num_groups": 3}),
    ("nn.l2_normalize", [real(2, 6, 4)], {"eps": 1e-3, "axis": [1]}),
    ("nn.lrn", [real(1, 6, 4, 4)], {"size": 3}),
    ("nn.lrn", [real(1, 4, 4, 6)], {"size": 5, "axis": 3, "bias": 1.0, "alpha": 0.5}),
    ("nn.bias_add", [real(2, 3, 4), real(3)], {}),
    ("nn.bias_add", [real(2, 3, 4), real(4)], {"axis": -1}),
    ("nn.prelu", [real(2, 3, 4), real(3)], {}),
    ("nn.dropout", [real(2, 3)], {}),
    ("nn.cross_entropy", [abs(real(3, 4)) + 0.1, abs(real(3, 4))], {}),
    ("nn.cross_entropy_with_logits", [real(3, 4), real(3, 4)], {}),
    ("nn.nll_loss", [real(4, 5), whole(0, 5, 4, dtype="int32"), abs(real(5))], {"ignore_index": 2}),
    (
        "nn.nll_loss",
        [real(2, 5, 3), whole(0, 5, 2, 3, dtype="int64"), abs(real(5))],
        {"reduction": "none", "ignore_index": -1},
    ),
]


QUANTIZED = [
    ("qnn.quantize", [real(2, 3, 4) * 30, scalar(0.5), scalar(3, "int32")], {"out_dtype": "int8"}),
    (
        "qnn.quantize",
        [real(2, 3, 4) * 30, abs(real(3)) + 0.1, whole(0, 9, 3, dtype="int32")],
        {"out_dtype": "uint8", "axis": 1},
    ),
    ("qnn.dequantize", [whole(-128, 128, 2, 3), abs(real(2)), whole(-5, 5, 2, dtype="int32")], {"axis": 0}),
    ("qnn.dequantize", [whole(0, 256, 2, 3, dtype="uint8"), scalar(0.1), scalar(128, "int32")], {}),
    ("qnn.dequantize", [whole(-128, 128, 2, 3), scalar(999.0), scalar(0, "int32")], {"out_dtype": "float16"}),
    ("qnn.quantize", [real(2, 3, 4) * 30, scalar(0.001), scalar(300, "int32")], {"out_dtype": "uint16"}),
    ("qnn.dequantize", [whole(0, 65535, 2, 3, dtype="uint16"), scalar(0.1), scalar(300, "int32")], {}),
    (
        "qnn.requantize",
        [
            whole(-(2**15), 2**15, 2, 3, dtype="int16"),
            scalar(0.01),
            scalar(5, "int32"),
            scalar(0.5),
            scalar(1, "int32"),
        ],
        {"out_dtype": "int8", "rounding": "UPWARD", "compute_dtype": "int64"},
    ),
    (
        "qnn.dense",
        [
            whole(-(2**15), 2**15, 3, 40, dtype="int16"),
            whole(-128, 128, 5, 40),
            scalar(-700, "int32"),
            scalar(3, "int32"),
            scalar(0.1),
            scalar(0.2),
        ],
        {"units": 5, "out_dtype": "int64"},
    ),
    (
        "qnn.avg_pool2d",
        [whole(-128, 128, 1, 5, 6, 2), scalar(0.5), scalar(3, "int32"), scalar(0.25), scalar(-2, "int32")],
        {"pool_size": [3, 2], "strides": [2, 1], "padding": [1, 0], "layout": "NHWC"},
    ),
    (
        "qnn.avg_pool2d",
        [whole(0, 256, 1, 2, 5, 5, dtype="uint8"), *(scalar(0.5), scalar(3, "int32")) * 2],
        {"pool_size": [2, 2], "padding": [1, 1], "count_include_pad": True},
    ),
    (
        "qnn.softmax",
        [whole(-128, 128, 3, 20), scalar(0.0625), scalar(-3, "int32"), scalar(1 / 128), scalar(-10, "int32")],
        {},
    ),
    (
        "qnn.softmax",
        [whole(-128, 128, 4, 7), scalar(0.1), scalar(5, "int32"), scalar(1 / 256), scalar(-128, "int32")],
        {"axis": 0},
    ),
    (
        "qnn.contrib_dense_pack",
        [
            whole(0, 256, 3, 8, dtype="uint8"),
            whole(-128, 128, 2, 2, 16, 4),
            scalar(7, "int32"),
            whole(-9, 9, 32, dtype="int32"),
            scalar(0.1),
            abs(real(32)),
        ],
        {"units": 32, "out_dtype": "int32", "weight_layout": "NC16n4c"},
    ),
    (
        "qnn.requantize",
        [whole(-9999, 9999, 4, 5, dtype="int32"), abs(real(5)), scalar(7, "int32"), scalar(60.0), scalar(-3, "int32")],
        {"out_dtype": "int8", "rounding": "TONEAREST", "axis": 1},
    ),
    (
        "qnn.requantize",
        [whole(-9999, 9999, 4, 5, dtype="int32"), scalar(0.7), scalar(7, "int32"), scalar(60.0), scalar(3, "int32")],
        {"out_dtype": "uint8"},
    ),
    (
        "qnn.conv2d",
        [
            whole(0, 256, 1, 4, 6, 6, dtype="uint8"),
            whole(-128, 128, 3, 4, 3, 3),
            scalar(120, "int32"),
            scalar(3, "int32"),
            scalar(0.5),
            abs(real(3)),
        ],
        {"out_dtype": "int32", "padding": [1, 1], "channels": 3, "kernel_size": [3, 3]},
    ),
    (
        "qnn.conv2d_transpose",
        [
            whole(-128, 128, 1, 4, 5, 5),
            whole(-128, 128, 4, 3, 3, 3),
            scalar(12, "int32"),
            scalar(3, "int32"),
            scalar(0.5),
            scalar(0.25),
        ],
        {"out_dtype": "int32", "kernel_layout": "IOHW", "channels": 3, "kernel_size": [3, 3]},
    ),
    (
        "qnn.dense",
        [
            whole(-128, 128, 3, 40),
            whole(-128, 128, 5, 40),
            scalar(12, "int32"),
            whole(-9, 9, 5, dtype="int32"),
            scalar(0.5),
            abs(real(5)),
        ],
        {"units": 5, "out_dtype": "int32"},
    ),
    (
        "qnn.batch_matmul",
        [
            whole(-128, 128, 2, 3, 8),
            whole(-128, 128, 2, 5, 8),
            scalar(12, "int32"),
            scalar(3, "int32"),
            scalar(0.5),
            scalar(0.5),
        ],
        {"out_dtype": "int32", "transpose_b": True},
    ),
]
_PARAMETERS = [scalar(0.07), scalar(3, "int32"), scalar(0.05), scalar(-4, "int32")]
for _op in ("add", "subtract", "mul"):
    _args = [whole(-128, 128, 4, 5), whole(-128, 128, 5), *_PARAMETERS, scalar(0.09), scalar(5, "int32")]
    QUANTIZED.append((f"qnn.{_op}", _args, {}))
for _op in ("abs", "erf", "exp", "hardswish", "log", "rsqrt", "sigmoid", "sqrt", "tanh", "leaky_relu"):
    QUANTIZED.append((f"qnn.{_op}", [whole(-128, 128, 4, 5), *_PARAMETERS], {}))
QUANTIZED.append(
    (
        "qnn.concatenate",
        [
            (whole(-128, 128, 2, 3), whole(-128, 128, 4, 3)),
            (scalar(0.1), scalar(0.2)),
            (scalar(3, "int32"), scalar(-4, "int32")),
            scalar(0.15),
            scalar(1, "int32"),
        ],
        {"axis": 0},
    )
)
QUANTIZED += [
    ("qnn.simulated_quantize", [real(2, 3) * 40, scalar(1, "int32"), real(3) ** 2 + 0.1, real(1)], {}),
    ("qnn.simulated_dequantize", [real(2, 3) * 40, scalar(2, "int32"), real(3) ** 2 + 0.1, real(1)], {"axis": -1}),
]
