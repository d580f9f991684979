"""The functions of the module beside `@main`: the loops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...diagnostics import IrError
from ...infer.infer import infer_expr
from ...ir import Call, Expr, Function, FuncType, GlobalVar, Type, Var, bound_variables, global_names, refresh
from ...passes.core.folding_budget import FoldingBudget
from .model import Node
from .partial import Symbols


class Functions:
    """Functions made while a model is converted, by name; and other state that all its graphs share.

    Attributes:
        symbols: the extents that are not known.
        drawing: the nodes that draw random numbers.
        waiting: the nodes of calls of `onnx.node`, each with the value that it waits for.
        numbered: the nodes with strings as labels of classes, in whose place numbers stand, and the labels.
        budget: elements that constant evaluation may produce, in all graphs together.
        impossible: the nodes with a branch that cannot be computed with the given shapes, each with the reason.
        unseeded: how many numbers these have been given in place of seeds.
        training: whether layers that are others in training keep their operators.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        """`taken` are names that the module has already."""
        self.all: dict[str, Function] = {}
        self.symbols = Symbols()
        self.drawing: dict[Node, None] = {}
        self.waiting: dict[Node, str] = {}
        self.numbered: dict[Node, tuple[str, ...]] = {}
        self.impossible: dict[Node, IrError] = {}
        self.unseeded = 0
        self.training = False
        self._taken = set(taken)
        self.budget = FoldingBudget()
        self._count = 0

    def reserve(self, params: Sequence[Type], result: Type) -> GlobalVar:
        """A name for a function of that type which is being made, so that it can call itself."""
        while (name := f"loop_{self._count}") in self._taken:
            self._count += 1
        self._count += 1
        return GlobalVar(name, None, FuncType(tuple(params), result))

    def define(self, name: GlobalVar, params: Sequence[Var], body: Expr, result: Type) -> None:
        """Gives a reserved name its function."""
        self.all[name.name] = infer_expr(Function(tuple(params), body, result))

    def used_by(self, root: Expr, inputs: Iterable[Var] = ()) -> dict[str, Function]:
        """The functions that an expression calls, directly or through others, in order of their definition.

        None of their variables takes the name of an input in text, which numbers equal names in order of the functions.
        """
        used: set[str] = set()
        waiting = global_names(root)
        while waiting:
            name = waiting.pop()
            if name not in used:
                used.add(name)
                waiting += global_names(self.all[name].body)
        stems = {_stem(v.name) for v in inputs}
        return {n: _renamed(f, stems) for n, f in self.all.items() if n in used}


def _stem(name: str) -> str:
    """A name without the number that text may add."""
    return name.rstrip("0123456789")


def _renamed(function: Function, stems: Collection[str]) -> Function:
    """The function, with other names for variables whose names have these stems."""

    def name(v: Var) -> str:
        other = v.name
        while _stem(other) in stems:
            other = f"inner_{other}"
        return other

    if not any(_stem(v.name) in stems for v in bound_variables(function)):
        return function
    return refresh(function, name=name)


def call_function(name: GlobalVar, arguments: Sequence[Expr]) -> Expr:
    """The typed call of a function that has a name."""
    return infer_expr(Call(name, tuple(arguments)))
