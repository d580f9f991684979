"""The versions of TensorFlow Lite's operators that are known: a version adds element types or attributes, of which each operator takes
those that it has a form for, and refuses others by name.
"""

from __future__ import annotations

_ONE = 1
"""The last version of an operator that the table does not have."""

LAST_VERSIONS = {
    **dict.fromkeys(
        (
            "BATCH_TO_SPACE_ND",
            "BROADCAST_TO",
            "EMBEDDING_LOOKUP",
            "EQUAL",
            "FILL",
            "FLOOR_DIV",
            "GATHER_ND",
            "LOGISTIC",
        ),
        4,
    ),
    **dict.fromkeys(
        (
            "LSTM",
            "MAX_POOL_2D",
            "MEAN",
            "MIRROR_PAD",
            "NOT_EQUAL",
            "PACK",
            "PADV2",
            "QUANTIZE",
            "REDUCE_MAX",
            "REDUCE_MIN",
        ),
        4,
    ),
    **dict.fromkeys(
        ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", "SELECT", "SPACE_TO_BATCH_ND", "SPARSE_TO_DENSE"), 4
    ),
    **dict.fromkeys(("SPLIT", "SQUEEZE", "SVDF", "TANH", "TILE", "TOPK_V2", "TRANSPOSE_CONV", "UNPACK", "PAD"), 5),
    **dict.fromkeys(("ABS", "ARG_MAX", "ARG_MIN", "AVERAGE_POOL_2D", "CONCATENATION", "DEPTH_TO_SPACE", "DIV"), 5),
    **dict.fromkeys(
        ("BATCH_MATMUL", "CAST", "DEQUANTIZE", "MAXIMUM", "MINIMUM", "SPACE_TO_DEPTH", "SOFTMAX", "RELU"), 8
    ),
    **dict.fromkeys(("RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH", "PRELU", "LEAKY_RELU", "GELU", "ELU"), 3),
    **dict.fromkeys(("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "RNN", "UNIDIRECTIONAL_SEQUENCE_RNN"), 3),
    **dict.fromkeys(("BIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"), 4),
    **dict.fromkeys(("REVERSE_V2", "SLICE", "TRANSPOSE", "SUB", "GATHER", "MUL", "ADD"), 7),
    **dict.fromkeys(("STRIDED_SLICE", "CONV_2D", "DEPTHWISE_CONV_2D"), 8),
    **dict.fromkeys(
        ("LOG_SOFTMAX", "L2_NORMALIZATION", "FAKE_QUANT", "SUM", "REDUCE_PROD", "SPLIT_V", "RSQRT", "LOG"), 3
    ),
    **dict.fromkeys(
        ("SQRT", "EXP", "SQUARED_DIFFERENCE", "WHERE", "RANGE", "FLOOR_MOD", "RESHAPE", "POW", "SIN", "COS"), 3
    ),
    **dict.fromkeys(("NEG", "SQUARE", "SHAPE", "ONE_HOT", "ZEROS_LIKE", "SELECT_V2", "SCATTER_ND", "CUMSUM"), 2),
    **dict.fromkeys(("DYNAMIC_UPDATE_SLICE", "EXPAND_DIMS", "LOGICAL_NOT", "SIGN", "REDUCE_ANY", "REDUCE_ALL"), 4),
    "FULLY_CONNECTED": 14,
}
"""The last known version of each operator that has more than one."""


def last_version(op_type: str) -> int:
    """The last version of an operator that is known."""
    return LAST_VERSIONS.get(op_type, _ONE)
