"""The smallest expressions: variables, names, literals, and references into the metadata section."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ...diagnostics import IrError, Span, nearest
from ...did_you_mean import most_alike
from ...ir import Call, Constant, Expr, GlobalVar, Type, Var
from ...ir.meta import MetaNode
from ...ops.base import op, operators
from .. import dialect
from ..habits import keyword
from ..literals import read_scalar
from ..metadata import read_index
from ..mistakes import UndefinedBinding, UnknownOperator
from .state import State

_MOST_HINTS = 50
"""Undefined variables for which those that resemble them are looked for."""


def plain_words(call: str, start: int) -> tuple[str, int, list[str]]:
    """The name in `f(%a, %b)`, the offset of its first argument if the call starts at `start`, and its arguments."""
    name, _, rest = call.partition("(")
    return name, start + len(name) + 1, rest[:-1].split(", ")


class Leaves(State):
    """Builds leaves."""

    def local(self, v: list, s: int, e: int) -> Var:
        name = v[0][1:]
        var = self.variables.get(name) or self.free.get(name)
        if var is None:
            if name not in self.resembling:
                few = len(self.resembling) < _MOST_HINTS
                self.resembling[name] = most_alike(name, self.variables) if few else []
            self.undefined.append((name, self.span(s, e)))
            var = self.free[name] = Var(name)
        return var

    def graph(self, v: list, s: int, e: int) -> Expr:
        value = self.graph_values.get(v[0])
        if value is None:
            value = self.variables.get(v[0][1:])
        if value is None and v[0] in self.earlier_values:
            value = self.graph_values[v[0]] = self.earlier_values[v[0]]
            self.reached_back[v[0]] = self.span(s, e)
        if value is None:
            self.error(f"{v[0]} is used before it is given a value", s, e, code=UndefinedBinding)
            value = self.graph_values[v[0]] = Var(v[0][1:])
        return value

    def global_var(self, v: list, s: int, e: int) -> GlobalVar:
        name = v[0][1:]
        var = self.globals.get(name)
        if var is None:
            var = self.globals[name] = GlobalVar(name, Span(self.source, s, e))
        return var

    def name(self, v: list, s: int, e: int) -> Expr:
        name = v[0]
        known = self._ops.get(name)
        if known is not None:
            return known
        constructor = self.constructors.get(name)
        if constructor is not None:
            if constructor.inputs:
                return constructor
            self._bare = Call(constructor, (), None, (), Span(self.source, s, e))
            return self._bare
        full = name if operators.find(name) is not None else dialect.full_name(name)
        if full is not None and (full == name or not self.strict):
            node = self._ops[name] = op(full)
            return node
        hint = nearest(name, [*self.constructors, *operators.names()]) if full is None else f"did you mean {full}?"
        hint = f"a variable is written %{name}" if name in self.variables else keyword(name) or hint
        self.error(f"unknown operator {name}", s, e, help=hint, code=UnknownOperator)
        return Var(name)

    def number(self, v: list, s: int, e: int) -> Constant:
        return self._scalar(v[0], s, e)

    def _scalar(self, text: str, s: int, e: int) -> Constant:
        known = self._scalars.get(text)
        if known is None:
            try:
                array = read_scalar(text)
            except ValueError as error:
                # 32768i16 is wrong, but -32768i16 is not: wait for the sign
                self.doubtful[e] = (str(error), self.span(s, e))
                return Constant(read_scalar("0"), "int32", None, self.span(s, e))
            known = self._scalars[text] = (array, array.dtype.name)
        return Constant(known[0], known[1], None, Span(self.source, s, e))

    def true(self, v: list, s: int, e: int) -> Constant:
        return self._bool(True, s, e)

    def false(self, v: list, s: int, e: int) -> Constant:
        return self._bool(False, s, e)

    def _bool(self, value: bool, s: int, e: int) -> Constant:
        import numpy as np

        array = np.array(value)
        array.flags.writeable = False
        return Constant(array, "bool", None, self.span(s, e))

    def meta_expr(self, v: list, s: int, e: int) -> Any:
        value = self._meta(v[0], s, e)
        if isinstance(value, MetaNode) and value.type_key.startswith("relay.attrs."):
            self.loose_attributes.append(self.span(s, e))
        elif not isinstance(value, Expr):
            self.error(f"{v[0]} is not an expression", s, e)
            return Var("")
        return value

    def _meta(self, word: str, s: int, e: int) -> Any:
        """The object of a reference into the metadata section."""
        key, index = read_index(word)
        if index is None:
            self.error(f"{word} has no index", s, e)
            return Var("")
        metadata = self.metadata
        if metadata.is_present and (key in metadata.entries or key != "relay.Constant"):
            try:
                value = metadata.get(key, index)
            except IrError as error:
                for d in error.diagnostics:
                    self.report(replace(d, span=self.span(s, e)))
                return Var("")
            if isinstance(value, Constant) and value.span is None:
                value.span = self.span(s, e)  # type: ignore[misc]  # a node that was made here and is not shared yet
            if value is not None:
                return value
            # null: printed where this one was missing already
        if key.startswith("relay.") and not key.startswith("relay.attrs."):
            return metadata.missing_constant(key, index, lambda: self.stated_type(e), self.span(s, e))
        return metadata.missing_record(key, index, self.span(s, e))

    def stated_type(self, end: int) -> Type | None:
        """The type in the comment `/* ty=… */` that follows offset `end`, or None."""
        match = re.compile(r"\s*/\*\s*ty=").match(self.source.text, end)
        if match is None:
            return None
        stop = self.source.text.find("*/", match.end())
        if stop < 0:
            return None
        inside = re.sub(r"\s*span=\S*\s*$", "", self.source.text[match.end() : stop])
        return self.read_type(inside, self)
