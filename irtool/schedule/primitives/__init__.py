"""Schedule primitives: pure functions from a block to a block, or to several, under the names that Halide and TVM gave them.

The docstring of each shows a nest before and after it. Strategies and schedules by hand are lists of primitives. `attention`,
`combine_rows`, `partition_windows`, `strassen`, `unroll_windows` and `winograd` split one stage into several; each of these is a
block again.
"""

from .annotate import parallel, unroll, vectorize
from .attention import attention
from .base import copy, part, primitive, remark, stage, tracing, untraced
from .block_reduction import block_reduction
from .cache_read import cache_read
from .cache_write import cache_write
from .combine_rows import combine_rows
from .compute_at import compute_at
from .compute_in_bands import compute_in_bands
from .drop_unit_loops import drop_unit_loops
from .fuse import fuse
from .if_convert import if_convert
from .loop_partition import loop_partition
from .pack import pack
from .partition_windows import partition_windows, unroll_windows
from .prefetch import prefetch
from .reorder import reorder
from .rfactor import rfactor
from .sliding_window import sliding_window
from .split import split
from .store_results import store_joined, store_tail, store_transposed
from .strassen import strassen
from .tensorize import tensorize
from .tile import tile
from .winograd import winograd

__all__ = [
    "attention",
    "block_reduction",
    "cache_read",
    "cache_write",
    "combine_rows",
    "compute_at",
    "compute_in_bands",
    "copy",
    "drop_unit_loops",
    "fuse",
    "if_convert",
    "loop_partition",
    "pack",
    "parallel",
    "part",
    "partition_windows",
    "prefetch",
    "primitive",
    "remark",
    "reorder",
    "rfactor",
    "sliding_window",
    "split",
    "stage",
    "store_joined",
    "store_tail",
    "store_transposed",
    "strassen",
    "tensorize",
    "tile",
    "tracing",
    "unroll",
    "unroll_windows",
    "untraced",
    "vectorize",
    "winograd",
]
