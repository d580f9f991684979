"""Schedules: loop nests to faster loop nests. They see nothing but nests and the machine.

nests        the two forms of nest that lowering makes, recognised: element by element, and reduction
phases       strided transposed convolutions              ⇒ a reduction for each phase, written where it belongs
wishes       which blocks the largest reduction of a kernel wants its operands in
layouts      those wishes                                 ⇒ a layout for every temporary and weight
joining      kernels that work row by row                 ⇒ one kernel
flatten      loops of a sum                               ⇒ fewer and longer ones
kernel       every stage of a kernel                      ⇒ its schedule, of these:
  contract     sums and extremes with a spatial axis for vectors: a tile of results in registers (`plans` and `tiles`
               choose it, `sliding` and `results` say how it reads windows and where its results go)
  packing      those whose operand is in the way of vectors: it is copied into the order in which it is read
  separable    windows that are combined along one axis at a time
  rows         sums and extremes of rows: vectors along the row
  elementwise  formulas: loops fused, vectors along the contiguous axis
  turning      those with a transposed operand: a square at a time
bands        a padded copy and its reader, some rows at a time
fusion       stages that work row by row, in one loop over the rows
guards       conditions on what is read                   ⇒ bounds of loops
threads      which loops threads share
"""

from .kernel import schedule_kernel
from .machine import Machine
from .pipeline import SCHEDULE, Stage, schedule_program

__all__ = ["SCHEDULE", "Machine", "Stage", "schedule_kernel", "schedule_program"]
