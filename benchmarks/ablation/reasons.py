"""The reasons for which stages and strategies stay that move no network on some processor."""

from __future__ import annotations

_OPERATORS = "single operators"
_OTHERS = "instructions that this processor lacks"

REASONS = {
    "NarrowConstants": "fixed-point products, which models of TensorFlow Lite have, and the quantized files here do not",
    "HalfWeights": "memory and single rows: matrices that files have in 16 bits, which the networks here do not",
    "StoreMovedBytes": f"{_OTHERS}: products of unsigned by signed bytes (VNNI)",
    "ReadWordsInPlace": f"{_OTHERS}: products of pairs and fours (VNNI, AVX512-BF16, SME); memory for packed copies elsewhere",
    "HighProducts": "instructions of small systems",
    "FuseCopies": "the memory of small systems",
    "ShareKernels": "size of the C",
    "FlushExponentials": _OPERATORS,
    "MapSingleSteps": "single operators: outer products",
    "ReduceAsIntegers": "single operators: `any`, `all` and sums of truth values",
    "HalveProducts": f"{_OTHERS}: vectors of 64 bytes, with which large products are faster by Strassen's algorithm",
    "BlockSums": "accuracy: rounding errors of long sums",
    "BoundStack": "the stack of threads and of small systems",
    "DropUnusedConstants": "size: constants that no kernel reads any more",
    "FuseRowLoops": "threads, which meet once for each loop, and temporaries, which stay in the L1 cache",
    "FuseKernels": "size of the C and of the workspace",
    "ShareLoops": "threads",
    "amx_tile": f"{_OTHERS}: AMX",
    "by_hand": "schedules that users write",
    "tuned": "choices that `irtool tune` measured",
    "gathered_tile": _OPERATORS,
    "packed_tile": _OPERATORS,
    "scalar_tile": "processors without vectors",
    "separable_windows": _OPERATORS,
    "side_by_side": _OPERATORS,
    "strassen": "see `HalveProducts`",
    "transposed_rows": "single operators: arg-max along other axes than the last, and adaptive pools",
    "tuple_reduction": _OPERATORS,
    "uneven_windows": "single operators: adaptive pools whose windows differ in size",
}
"""The reason by switch; the page shows those of switches that move nothing where it was measured."""
