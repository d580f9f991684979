"""The state of reading one text: names in scope, definitions, and errors found.

Variables of the current scope are in `variables`; what a binder hides is kept on a trail until its scope ends. `%0 = …` is
sharing and not a binding: a graph name holds until it is given another value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...diagnostics import Diagnostic, Diagnostics, Source, Span
from ...ir import Call, Constructor, DimVar, Expr, GlobalVar, Op, TensorType, Type, TypeData, TypeVar, Var
from ...ops.base import Operator
from ...symbolic_int import SymbolicInt
from ..metadata import Metadata
from ..mistakes import DefinedTwice

_MOST_ERRORS = 50


class GaveUp(Exception):
    """Raised where so much is wrong with a text that reading on would help nobody."""


class State:
    """The state that all parts of the builder work on."""

    def __init__(
        self,
        source: Source,
        metadata: Metadata,
        diagnostics: Diagnostics,
        read_type: Callable[[str, State], Type | None],
    ) -> None:
        """`read_type` reads the type in a comment, with the names that are known here."""
        self.read_type = read_type
        self.source = source
        self.metadata = metadata
        self.diagnostics = diagnostics
        self.strict = True
        """False in the tutorials' dialect (a text without version line): short operator names are understood."""
        self.unwinding = True
        """False once an error was skipped: scopes may then be left open, and names stay visible."""
        self.functions: dict[str, Any] = {}
        self.type_definitions: dict[str, TypeData] = {}
        self.constructors: dict[str, Constructor] = {}
        self.variables: dict[str, Var] = {}
        self.free: dict[str, Var] = {}
        self.trail: list[tuple[str, Var | None]] = []
        self.type_variables: dict[str, TypeVar] = {}
        self.hidden_types: dict[TypeVar, TypeVar] = {}
        """By type parameter: the one around it that has the same name."""
        self.graph_values: dict[str, Expr] = {}
        self.earlier_values: dict[str, Expr] = {}
        """Those of the definitions before this one, which share values that are the same everywhere."""
        self.reached_back: dict[str, Span] = {}
        """Where this definition first speaks of one of them."""
        self.globals: dict[str, GlobalVar] = {}
        self.type_names: dict[str, Span] = {}
        self.dim_names: dict[str, DimVar] = {}
        self.length_names: dict[str, SymbolicInt] = {}
        """The lengths that the text declares."""
        self.undefined: list[tuple[str, Span]] = []
        self.resembling: dict[str, list[str]] = {}
        """Variables that were visible where an undefined name was met first, and are like it."""
        self.doubtful: dict[int, tuple[str, Span]] = {}
        """Numbers too large for their type, by the offset of their end: an error unless a sign in front makes them fit."""
        self.loose_attributes: list[Span] = []
        """References to attributes in the metadata that no call has taken."""
        self.negated: dict[int, str] = {}
        """The text of each number with a sign in front, by its offset."""
        self.parameter_of: dict[str, str] = {}
        self.result: Any = None
        self._tensor_types: dict[str, TensorType] = {}
        self._dtypes: dict[str, str | None] = {}
        self._int_lists: dict[str, tuple[int, ...]] = {}
        self._scalars: dict[str, tuple[Any, str]] = {}
        self._attrs: dict[tuple[str, str], Operator] = {}
        self._record_attrs: dict[tuple[type[Operator], int], tuple[Operator, Any]] = {}
        """Attributes made of a record of the metadata section, which is kept with them: another could take its place in memory."""
        self._bare_attrs: dict[type[Operator], Operator] = {}
        self._ops: dict[str, Op] = {}
        """Operators by the names that were read for them."""
        self._bare: Call | None = None

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def error(self, message: str, start: int, end: int, **extra: Any) -> None:
        self.report(Diagnostic(message, Span(self.source, start, end), **extra))

    def refuse_repeats(self, what: str, names: Iterable[tuple[str, Span | None]]) -> None:
        """Files an error for each name that declarations side by side have in common; the second would hide the first."""
        known: dict[str, Span | None] = {}
        for name, span in names:
            if name in known and name:
                first = known[name]
                where = (f"the first is at {first.location}",) if first is not None else ()
                self.report(Diagnostic(f"{what}{name} is declared twice", span, notes=where, code=DefinedTwice))
            known.setdefault(name, span)

    def report(self, diagnostic: Diagnostic) -> None:
        """Files an error; raises GaveUp once there are too many."""
        self.diagnostics.items.append(diagnostic)
        if len(self.diagnostics.items) >= _MOST_ERRORS:
            self.diagnostics.error("too many errors; giving up")
            raise GaveUp

    def declare(self, name: str, var: Var) -> None:
        self.trail.append((name, self.variables.get(name)))
        self.variables[name] = var

    def leave(self, count: int) -> None:
        """Ends the scope of the last `count` variables."""
        if not self.unwinding:
            return
        for _ in range(count):
            name, hidden = self.trail.pop()
            if hidden is None:
                del self.variables[name]
            else:
                self.variables[name] = hidden

    def close_type_scope(self, params: tuple[TypeVar, ...]) -> None:
        for p in reversed(params):
            outer = self.hidden_types.pop(p, None)
            if outer is None:
                self.type_variables.pop(p.name, None)
            else:
                self.type_variables[p.name] = outer

    def forget_scopes(self) -> None:
        """Starts a definition anew after an error."""
        self.variables.clear()
        self.trail.clear()
        self.type_variables.clear()
        self.unwinding = True

    def local_name(self, v: list, s: int, e: int) -> str:
        return v[0][1:]

    graph_name = local_name

    def nothing(self, v: list, s: int, e: int) -> None:
        return None

    def one(self, v: list, s: int, e: int) -> list:
        return [v[0]]

    def more(self, v: list, s: int, e: int) -> list:
        v[0].append(v[-1])
        return v[0]

    def empty(self, v: list, s: int, e: int) -> list:
        return []

    def second(self, v: list, s: int, e: int) -> Any:
        return v[1]
