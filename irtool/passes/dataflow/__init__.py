"""The dataflow-pattern language: describe a piece of a graph, find it, replace it, or make a function of it.

::

    x, w, b = wildcard(), is_constant(), is_constant()
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.conv2d")(x, w), b))
    matches(pattern, e)                                 # does it match at e?
    partition(pattern, function)                        # each match becomes a call of a function
    rewrite_patterns([RewriteRule(pattern, replace)], function)    # replace(before, after, match) builds the new expression

Patterns are compared by identity: a pattern object that occurs twice must match the same node both times.
"""

from .grouping import Group, find_groups
from .matching import Matcher, PatternMatch, matches
from .partitioning import partition
from .patterns import (
    DFPattern,
    FunctionPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_call,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)
from .rewriting import RewriteRule, rewrite_patterns

__all__ = [
    "DFPattern",
    "FunctionPattern",
    "Group",
    "Matcher",
    "PatternMatch",
    "RewriteRule",
    "dominates",
    "find_groups",
    "has_attr",
    "has_dtype",
    "has_shape",
    "has_type",
    "is_call",
    "is_constant",
    "is_expr",
    "is_if",
    "is_let",
    "is_op",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "matches",
    "partition",
    "rewrite_patterns",
    "wildcard",
]
