"""Single operators with arguments given at run time, compiled, beside torch and the interpreter: one thread, float32.

`python -m benchmarks.operators` prints the time of each in milliseconds and its ratio to torch's and to the interpreter's; without torch
its column is empty. Names given as arguments choose operators that contain them. Exit code 1 if an operator takes longer than the interpreter,
unless numpy returns a view, or if its result differs from torch's.
"""

from .measure import Row, measure
from .table import OPERATORS, Single

__all__ = ["OPERATORS", "Row", "Single", "measure"]
