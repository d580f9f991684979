"""MergeComposite: turns each match of a target's patterns into one composite function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..infer import infer_expr
from ..ir import Function, Module
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .dataflow import partition
from .partition.pattern_tables import pattern_table


@register_pass("MergeComposite")
@dataclass(frozen=True)
class MergeComposite(FunctionPass):
    """Wraps each subgraph that matches a pattern in a composite function.

    ::

        nn.relu(add(%a, %b))    with pattern("npu.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard())))
            ⇒  %0 = fn (%x, %y, PartitionedFromPattern="add_nn.relu_", Composite="npu.add_relu") { nn.relu(add(%x, %y)) };
               %0(%a, %b)

    `pattern_table` names a table that comes with irtool or was registered, or a file of patterns (`my.patterns`); from Python
    it may be a list of (name, pattern) or (name, pattern, check), where `check(e)` says of the node that the pattern matched
    whether the match is wanted. The patterns are tried in order, each on what those before it left. A piece is left alone where something
    outside uses a node inside it.
    """

    pattern_table: Any

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        for name, pattern, check in pattern_table(self.pattern_table):
            function = infer_expr(function, module)
            function = partition(pattern, function, {"Composite": name}, check)  # type: ignore[assignment]  # a function becomes a function, unless a pattern matches it
        return function
