"""Definitions, and the builder as a whole.

The parser reduces, and the builder makes IR nodes: one method per named alternative of the grammar. A method gets the values
of its symbols (a word's value is its text), and the offsets at which they start and end.
"""

from __future__ import annotations

from typing import Any

from ...ir import (
    Constructor,
    ExternFunction,
    Function,
    FuncType,
    GlobalTypeVar,
    Module,
    TypeData,
    TypeVar,
    free_variables,
)
from ..mistakes import DefinedTwice, MalformedType
from .attributes import Attributes
from .calls import Calls
from .control import Control
from .functions import Functions
from .types import Types


class Builder(Functions, Calls, Control, Attributes, Types):
    """Makes the IR of one text."""

    def module(self, v: list, s: int, e: int) -> None:
        self.result = Module(self.functions, self.type_definitions)

    def expression(self, v: list, s: int, e: int) -> None:
        self.result = v[-1]

    def lone_type(self, v: list, s: int, e: int) -> None:
        self.result = v[0]

    def define(self, v: list, s: int, e: int) -> None:
        name, function = v[1][1:], v[2]
        if self.reached_back:
            self._check_values_from_before(name, function)
        self.earlier_values.update(self.graph_values)
        self.graph_values.clear()
        if not self.file(name, function, s, e):
            return
        for p in function.params:
            self.parameter_of.setdefault(p.name, name)
        self.dim_names = {}

    def _check_values_from_before(self, name: str, function: Function) -> None:
        """Reports a numbered value of an earlier definition that is made of that definition's own variables."""
        unbound = set(free_variables(function)) - set(self.free.values())
        for word, span in self.reached_back.items() if unbound else ():
            of = next((f"%{v.name}" for v in free_variables(self.graph_values[word]) if v in unbound), None)
            if of is not None:
                self.error(f"{word} is made of {of}, which is not defined in @{name}", span.start, span.end)
        self.reached_back.clear()

    def define_extern(self, v: list, s: int, e: int) -> None:
        name, t = v[2][1:], v[4]
        if not isinstance(t, FuncType):
            self.error(
                f"the external function @{name} has no function type",
                s,
                e,
                help="write fn (…) -> …",
                code=MalformedType,
            )
            return
        self.file(name, ExternFunction(t, self.span(s, e)), s, e)

    def file(self, name: str, function: Any, s: int, e: int) -> bool:
        """Adds a function to the module; False if there is one of that name."""
        if name in self.functions:
            first = self.functions[name].span
            where = (f"the first definition is at {first.location}",) if first is not None else ()
            self.error(f"the function @{name} is defined twice", s, e, notes=where, code=DefinedTwice)
            return False
        self.functions[name] = function
        return True

    def type_head(self, v: list, s: int, e: int) -> tuple[str, tuple[TypeVar, ...]]:
        name = v[1]
        if name in self.type_definitions:
            self.error(f"the type {name} is defined twice", s, e, code=DefinedTwice)
        return name, v[2] if len(v) > 2 else ()

    def opaque_type(self, v: list, s: int, e: int) -> TypeData:
        name, params = v[0]
        self.close_type_scope(params)
        return TypeData(GlobalTypeVar(name), params, (), False, self.span(s, e))

    def algebraic_type(self, v: list, s: int, e: int) -> TypeData:
        name, params = v[0]
        self.close_type_scope(params)
        header = GlobalTypeVar(name)
        constructors = []
        for tag, (constructor, inputs, start, end) in enumerate(v[2]):
            node = Constructor(constructor, inputs, header, tag, self.span(start, end))
            if constructor in self.constructors:
                self.error(f"the constructor {constructor} is defined twice", start, end, code=DefinedTwice)
            self.constructors[constructor] = node
            self._ops.pop(constructor, None)
            constructors.append(node)
        return TypeData(header, params, tuple(constructors), False, self.span(s, e))

    def constructor(self, v: list, s: int, e: int) -> tuple:
        return v[0], (), s, e

    def constructor_of(self, v: list, s: int, e: int) -> tuple:
        return v[0], tuple(v[2]), s, e

    def define_type(self, v: list, s: int, e: int) -> None:
        data = v[0]
        self.type_definitions[data.header.name] = data

    def define_extern_type(self, v: list, s: int, e: int) -> None:
        data = v[1]
        if data.constructors:
            self.error(f"the external type {data.header.name} may not have constructors", s, e)
        self.type_definitions[data.header.name] = TypeData(data.header, data.type_vars, (), True, self.span(s, e))

    def type_params(self, v: list, s: int, e: int) -> tuple[TypeVar, ...]:
        result = tuple(TypeVar(name, "type", self.span(s, e)) for name in v[1])
        self.refuse_repeats("the type parameter ", ((var.name, var.span) for var in result))
        for var in result:
            outer = self.type_variables.get(var.name)
            if outer is not None:
                self.hidden_types[var] = outer
            self.type_variables[var.name] = var
        return result
