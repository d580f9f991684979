"""Schedules: loop nests to faster loop nests. Strategies choose, primitives transform.

They see nothing but nests and the processor: what has the shape of a matrix product is tiled like one.

pipeline      the stages between a lowered program and one whose memory is planned, each with the reason for its place:
  fuse_padding        padding with a zero point         ⇒ a stage of the product that reads it
  subpixel            strided transposed convolutions   ⇒ a reduction for each phase, written where it belongs
  partition_padded_windows  windows in padding          ⇒ parts with the same steps inside of the data
  slice_constants     weights that are read in part     ⇒ that part
  tensorize           sums of products of 8-bit numbers ⇒ sums of words of four
  moved_bytes         … of bytes of the sign that an instruction takes
  attention/          products of a softmax of products ⇒ one kernel, a tile of rows at a time
  layouts             what kernels prefer (`layout_preference`) ⇒ a layout for every temporary and weight
  fuse_kernels        kernels that work row by row      ⇒ one kernel
  winograd/           convolutions                      ⇒ transformed tiles, with transformed weights
  strassen/           products with constant weights    ⇒ seven products of halves
  kernel              every stage of a kernel           ⇒ the nest of the strategy that wins it
  fuse_row_loops      stages that work row by row       ⇒ one loop over the rows
  threads             loops that threads share
forms         what stages compute: maps and reductions
block         a form and the loops in which it is computed
primitives/   split, fuse, reorder, cache_read …: pure functions from blocks to blocks
strategies/   lists of primitives, with a cost and a reason
staged        a stage as several with names, each a block: what attention, winograd and strassen, say, make of one
derived_stages  stages computed from weights that the build makes of constant ones: winograd, strassen
matrix_sums   constant matrices times vectors, written out
product_cycles  an estimate of what a product takes
restrict      a part of the steps of a reduction
axes          axes fused and split before a strategy is chosen
tile_choice   which vector axis and tile of registers a reduction gets (`tiles` prices tiles)
row_choice    along which loop sums of rows have their vectors
single_windows  windows of different sizes, one by one
bands         a padded copy, made for some rows of its reader at a time
packing       what the packed copy of an operand holds (`windows`: windows combined row by row)
guards        conditions on what is read                ⇒ bounds of loops
threads       which loops threads share, and how many steps make a part (`halves`: in which order, `owners`: who wrote what is read)
nest          a block                                   ⇒ its loop nest (`factored`, `sliding`, `tile_stores`: parts of it)
"""

from ..tir.vector_target import VectorTarget
from .block import Block
from .forms import Map, Reduction
from .kernel import schedule_kernel
from .nest import lower, lower_all
from .pipeline import SCHEDULE, ProgramStage, schedule_program
from .strategies.base import Candidate, Stage, Strategy, strategies, strategy

__all__ = [
    "SCHEDULE",
    "Block",
    "Candidate",
    "Map",
    "ProgramStage",
    "Reduction",
    "Stage",
    "Strategy",
    "VectorTarget",
    "lower",
    "lower_all",
    "schedule_kernel",
    "schedule_program",
    "strategies",
    "strategy",
]
