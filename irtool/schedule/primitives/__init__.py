"""Schedule primitives: pure functions from a block to a block, or to several, under the names that Halide and TVM gave them.

Each one's docstring shows a nest before and after it. Strategies are made of them; so is a schedule made by hand.
"""

from .annotate import parallel, unroll, vectorize
from .base import begin_part, primitive, remark, tracing
from .cache_read import cache_read
from .cache_write import cache_write
from .drop_unit_loops import drop_unit_loops
from .fuse import fuse
from .loop_partition import loop_partition
from .reorder import reorder
from .rfactor import rfactor
from .sliding_window import sliding_window
from .split import split
from .store_results import store_tail, store_transposed

__all__ = [
    "begin_part",
    "cache_read",
    "cache_write",
    "drop_unit_loops",
    "fuse",
    "loop_partition",
    "parallel",
    "primitive",
    "remark",
    "reorder",
    "rfactor",
    "sliding_window",
    "split",
    "store_tail",
    "store_transposed",
    "tracing",
    "unroll",
    "vectorize",
]
