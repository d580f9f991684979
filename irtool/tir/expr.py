"""Scalar expressions of tensor expressions and loop nests.

nodes        the kinds of expressions, and Python's operators on them
build        literals, conversions, comparisons, logic, choices
arithmetic   sums, products, quotients, bits
walk         walking and rewriting

All of it is imported from here.
"""

from .arithmetic import add as add
from .arithmetic import bitwise_and as bitwise_and
from .arithmetic import bitwise_not as bitwise_not
from .arithmetic import bitwise_or as bitwise_or
from .arithmetic import bitwise_xor as bitwise_xor
from .arithmetic import div as div
from .arithmetic import floordiv as floordiv
from .arithmetic import floormod as floormod
from .arithmetic import maximum as maximum
from .arithmetic import minimum as minimum
from .arithmetic import mul as mul
from .arithmetic import nan_maximum as nan_maximum
from .arithmetic import nan_minimum as nan_minimum
from .arithmetic import negative as negative
from .arithmetic import shift_left as shift_left
from .arithmetic import shift_right as shift_right
from .arithmetic import sub as sub
from .arithmetic import truncdiv as truncdiv
from .arithmetic import truncmod as truncmod
from .build import all_of as all_of
from .build import any_of as any_of
from .build import as_bool as as_bool
from .build import as_expr as as_expr
from .build import cast as cast
from .build import const as const
from .build import equal as equal
from .build import folded as folded
from .build import if_then_else as if_then_else
from .build import less as less
from .build import less_equal as less_equal
from .build import logical_and as logical_and
from .build import logical_not as logical_not
from .build import logical_or as logical_or
from .build import match as match
from .build import not_equal as not_equal
from .build import select as select
from .nodes import BUILDERS as BUILDERS
from .nodes import INDEX as INDEX
from .nodes import QUOTIENTS as QUOTIENTS
from .nodes import Axis as Axis
from .nodes import Binary as Binary
from .nodes import Call as Call
from .nodes import Cast as Cast
from .nodes import Const as Const
from .nodes import Expr as Expr
from .nodes import Load as Load
from .nodes import Not as Not
from .nodes import Operand as Operand
from .nodes import Reduce as Reduce
from .nodes import Select as Select
from .nodes import Var as Var
from .walk import always_evaluated as always_evaluated
from .walk import children as children
from .walk import post_order as post_order
from .walk import rebuild as rebuild
from .walk import rewrite as rewrite
from .walk import substitute as substitute
from .walk import substitution as substitution
from .walk import variables as variables
