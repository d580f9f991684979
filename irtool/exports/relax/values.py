"""Functions of the Relax module, and the meanings of variables."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Expr, Function, Var
from .literals import Text


@dataclass(frozen=True, eq=False)
class Lifted:
    """A function of the Relax module: its name, parameters and captures.

    Attributes:
        captures: variables from outside, which are parameters behind its own.
        var: the variable that it is called by in Relay, and in its own body; None for a global function.
    """

    name: str
    function: Function
    captures: tuple[Var, ...] = ()
    var: Var | None = None
    is_public: bool = False


@dataclass(frozen=True)
class Value:
    """The meaning of a variable.

    Attributes:
        text: the expression; of a function, empty.
        uses: the names in the text.
        expr: the constant or the tuple that it is, where that is known.
        function: the function that it is, where that is known.
    """

    text: Text
    uses: frozenset[str]
    expr: Expr | None = None
    function: Lifted | None = None
