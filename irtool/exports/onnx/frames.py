"""Functions while their bodies are written: variables, values that are known, and the graph of each scope."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...ir import Expr, Function, Var
from ...ir.scope import Scope, Scopes
from .graph import Graph


class Analysis:
    """The scopes of a global function, and of each scope the innermost function literal that it belongs to."""

    def __init__(self, root: Function) -> None:
        self.scopes = Scopes(root)
        self._owner: dict[Scope, Function] = {
            inner[0]: e for e, inner in self.scopes.inner.items() if isinstance(e, Function)
        }

    def owner(self, scope: Scope) -> Function:
        """The innermost function that encloses a scope."""
        path = []
        while scope not in self._owner:
            path.append(scope)
            scope = scope.parent
        function = self._owner[scope]
        for s in path:
            self._owner[s] = function
        return function

    def body(self, f: Function) -> Scope:
        """The scope of a function's body."""
        return self.scopes.inner[f][0]


@dataclass(eq=False)
class Frame:
    """One instance of a function: a body that is written once for each place that calls it.

    Attributes:
        parent: the instance of the function literal around it, None for a global function.
        values: the values of nodes whose scope belongs to this instance.
        graphs: the graph of each scope.
        variables: parameters and `let` variables.
    """

    function: Function
    analysis: Analysis
    parent: Frame | None
    graph: Graph
    values: dict[Expr, Any] = field(default_factory=dict)
    graphs: dict[Scope, Graph] = field(default_factory=dict)
    variables: dict[Var, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.graphs[self.analysis.body(self.function)] = self.graph

    def home(self, e: Expr) -> tuple[Frame, Graph]:
        """The instance that a node is evaluated in, and its graph there."""
        scope = self.analysis.scopes.of[e]
        owner = self.analysis.owner(scope)
        frame = self
        while frame.function is not owner and frame.parent is not None:
            frame = frame.parent
        path = []
        while scope not in frame.graphs:
            path.append(scope)
            scope = scope.parent
        graph = frame.graphs[scope]
        for s in path:
            frame.graphs[s] = graph
        return frame, graph

    def lookup(self, v: Var) -> Any:
        """The value of a variable, here or in a function around this one; None if it has none."""
        frame: Frame | None = self
        while frame is not None:
            if v in frame.variables:
                return frame.variables[v]
            frame = frame.parent
        return None


@dataclass(frozen=True, eq=False)
class Closure:
    """A function as a value: with the instance that it was written in."""

    function: Function
    frame: Frame | None
