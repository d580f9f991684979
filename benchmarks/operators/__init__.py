"""Single operators with arguments given at run time, compiled, beside torch and the interpreter: one thread.

`python -m benchmarks.operators` prints the time of each in milliseconds and its ratio to torch's and to the interpreter's; without torch
its column is empty. Names given as arguments choose operators that contain them. A result that differs from torch's ends the run with exit code 1,
as does, at the end, an operator that takes longer than the interpreter, unless numpy returns a view. `--write` writes docs/compare_operators.md.
"""

from .measure import Row, measure
from .single import Single
from .table import OPERATORS

__all__ = ["OPERATORS", "Row", "Single", "measure"]
