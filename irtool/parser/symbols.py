"""Definitions and uses of the names of a text: for editors, which show definitions, find uses and rename.

A builder that notes, beside making the nodes, where names stand and what they mean there. Scopes are those of reading, so a text
with errors has symbols as well, as far as it could be read.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Diagnostic, Span
from ..ir import Call, Constructor, Expr, GlobalVar, Module, Op, Type, TypeVar, Var
from .builder import Builder
from .builder.leaves import plain_words
from .lexer import after_blanks
from .text import read_completed

VARIABLE, BINDING, FUNCTION = "variable", "binding", "function"
TYPE, TYPE_PARAMETER, CONSTRUCTOR, OPERATOR = "type", "type parameter", "constructor", "operator"


@dataclass(eq=False)
class Symbol:
    """Something that has a name in a text.

    Attributes:
        kind: `variable` (`%x`, of a parameter, `let` or pattern), `binding` (`%0 = …`), `function`, `type`, `type parameter`,
            `constructor`, `operator`.
        name: as it stands in the text, with its sign.
        definition: the name where it is defined; None if that is in no text.
        uses: the other places of the name, in order of reading.
        value: the variable, or the value of a binding.
    """

    kind: str
    name: str
    definition: Span | None = None
    uses: list[Span] = field(default_factory=list)
    value: Expr | None = None

    @property
    def places(self) -> list[Span]:
        """All places of the name, in order."""
        spans = [*([self.definition] if self.definition is not None else []), *self.uses]
        return sorted(spans, key=lambda s: s.start)

    def keep_before(self, end: int) -> None:
        """Forgets the places behind an offset: those in definitions that are not of the text itself."""
        if self.definition is not None and self.definition.start >= end:
            self.definition = None
        self.uses = [u for u in self.uses if u.start < end]


class Symbols:
    """The symbols of a text, by place."""

    def __init__(self, symbols: list[Symbol]) -> None:
        self.all = symbols
        self._places = sorted(((p.start, p.end, s) for s in symbols for p in s.places), key=lambda x: x[:2])

    def at(self, offset: int) -> tuple[Symbol, Span] | None:
        """The symbol whose name holds the character at `offset` or ends there, and that place."""
        n = bisect_right(self._places, offset, key=lambda p: p[0]) - 1
        if n < 0 or self._places[n][1] < offset:
            return None
        symbol = self._places[n][2]
        return symbol, next(p for p in symbol.places if p.start == self._places[n][0])


def read_symbols(text: str, filename: str = "<text>") -> tuple[Module | None, list[Diagnostic], Symbols]:
    """As `read_with_diagnostics`, and the symbols of the text."""
    module, diagnostics, builder, end = read_completed(SymbolBuilder, text, filename)
    symbols = builder.symbols if builder is not None else []
    for s in symbols:
        s.keep_before(end)
    return module, diagnostics, Symbols([s for s in symbols if s.places])


class SymbolBuilder(Builder):
    """Makes the nodes, and notes the meanings of names."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.symbols: list[Symbol] = []
        self._known: dict[Any, Symbol] = {}
        """By the meaning of a name: a variable, or a kind and a name."""
        self._noted: set[int] = set()

    def _symbol(self, key: Any, kind: str, name: str) -> Symbol:
        result = self._known.get(key)
        if result is None:
            result = self._known[key] = Symbol(kind, name)
            self.symbols.append(result)
        return result

    def _define(self, key: Any, kind: str, name: str, start: int, value: Expr | None = None) -> None:
        symbol = self._symbol(key, kind, name)
        if symbol.definition is None:
            symbol.definition = self.span(start, start + len(name))
            symbol.value = value

    def _use(self, key: Any, kind: str, name: str, start: int) -> None:
        if start not in self._noted:
            self._noted.add(start)
            self._symbol(key, kind, name).uses.append(self.span(start, start + len(name)))

    def _behind(self, word: str, start: int) -> int:
        """The start of the word that follows one at `start`."""
        return after_blanks(self.source.text, start + len(word))

    # ---- definitions

    def declare(self, name: str, var: Var) -> None:
        super().declare(name, var)
        if var.span is None:
            return
        start = var.span.start
        if self.source.text.startswith("let", start):
            start = self._behind("let", start)
        self._define(var, VARIABLE, f"%{name}", start, var)

    def bind_graph(self, v: list, s: int, e: int) -> None:
        super().bind_graph(v, s, e)
        self._known.pop((BINDING, v[0]), None)
        self._define((BINDING, v[0]), BINDING, v[0], s, v[2])

    def free_var(self, v: list, s: int, e: int) -> None:
        super().free_var(v, s, e)
        self._define(self.free[v[1]], VARIABLE, f"%{v[1]}", self._behind("free_var", s), self.free[v[1]])

    def free_var_typed(self, v: list, s: int, e: int) -> None:
        super().free_var_typed(v, s, e)
        self._define(self.free[v[1]], VARIABLE, f"%{v[1]}", self._behind("free_var", s), self.free[v[1]])

    def define(self, v: list, s: int, e: int) -> None:
        super().define(v, s, e)
        self._define((FUNCTION, v[1]), FUNCTION, v[1], self._behind("def", s))

    def define_extern(self, v: list, s: int, e: int) -> None:
        super().define_extern(v, s, e)
        self._define((FUNCTION, v[2]), FUNCTION, v[2], self._behind("def", self._behind("extern", s)))

    def type_head(self, v: list, s: int, e: int) -> tuple[str, tuple[TypeVar, ...]]:
        self._define((TYPE, v[1]), TYPE, v[1], self._behind("type", s))
        return super().type_head(v, s, e)

    def type_params(self, v: list, s: int, e: int) -> tuple[TypeVar, ...]:
        result = super().type_params(v, s, e)
        offset = s
        for var in result:
            offset = after_blanks(self.source.text, offset + 1)
            self._define(var, TYPE_PARAMETER, var.name, offset)
            offset = after_blanks(self.source.text, offset + len(var.name))
        return result

    def constructor(self, v: list, s: int, e: int) -> tuple:
        self._define((CONSTRUCTOR, v[0]), CONSTRUCTOR, v[0], s)
        return super().constructor(v, s, e)

    def constructor_of(self, v: list, s: int, e: int) -> tuple:
        self._define((CONSTRUCTOR, v[0]), CONSTRUCTOR, v[0], s)
        return super().constructor_of(v, s, e)

    # ---- uses

    def local(self, v: list, s: int, e: int) -> Var:
        var = super().local(v, s, e)
        self._use(var, VARIABLE, v[0], s)
        return var

    def graph(self, v: list, s: int, e: int) -> Expr:
        value = super().graph(v, s, e)
        key = value if isinstance(value, Var) and self.variables.get(v[0][1:]) is value else (BINDING, v[0])
        self._use(key, VARIABLE if key is value else BINDING, v[0], s)
        return value

    def global_var(self, v: list, s: int, e: int) -> GlobalVar:
        self._use((FUNCTION, v[0]), FUNCTION, v[0], s)
        return super().global_var(v, s, e)

    def name(self, v: list, s: int, e: int) -> Expr:
        result = super().name(v, s, e)
        constructed = result.op if isinstance(result, Call) else result
        if isinstance(constructed, Constructor):
            self._use((CONSTRUCTOR, v[0]), CONSTRUCTOR, v[0], s)
        elif isinstance(result, Op):
            self._use((OPERATOR, result.name), OPERATOR, v[0], s)
        return result

    def plain_call(self, v: list, s: int, e: int) -> Expr:
        name, offset, leading = plain_words(v[0], s)
        for word in leading:
            if word in self.graph_values:  # the others are looked up by `graph` and `local`
                self.graph([word], offset, offset + len(word))
            offset += len(word) + 2
        known = self._ops.get(name)
        if known is not None:
            self._use((OPERATOR, known.name), OPERATOR, name, s)
        return super().plain_call(v, s, e)

    def _pattern_of(self, name: str, parts: list, s: int, e: int) -> Any:
        if name in self.constructors:
            self._use((CONSTRUCTOR, name), CONSTRUCTOR, name, s)
        return super()._pattern_of(name, parts, s, e)

    def named_type(self, v: list, s: int, e: int) -> Type:
        result = super().named_type(v, s, e)
        if isinstance(result, TypeVar):
            self._use(result, TYPE_PARAMETER, v[0], s)
        return result

    def applied_type(self, v: list, s: int, e: int) -> Type:
        parameter = self.type_variables.get(v[0])
        if parameter is not None:
            self._use(parameter, TYPE_PARAMETER, v[0], s)
        return super().applied_type(v, s, e)

    def _type_name(self, name: str, s: int, e: int) -> Any:
        self._use((TYPE, name), TYPE, name, s)
        return super()._type_name(name, s, e)
