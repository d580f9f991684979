"""Functions, and the bindings in their bodies."""

from __future__ import annotations

from typing import Any

from ...diagnostics import Span, nearest
from ...ir import Expr, Function, Let, Type, TypeVar, Var
from ...ir.meta import VirtualDevice
from ..mistakes import MisplacedArgument
from .state import State


class Functions(State):
    """Builds functions and bodies."""

    def params(self, v: list, s: int, e: int) -> tuple:
        return self._declare_params((), v[0], s, e)

    def generic_params(self, v: list, s: int, e: int) -> tuple:
        return self._declare_params(v[0], v[1], s, e)

    def _declare_params(self, type_params: tuple[TypeVar, ...], items: list, s: int, e: int) -> tuple:
        params = []
        attrs: dict[str, Any] = {}
        for item in items:
            if isinstance(item, Var):
                if attrs:
                    self.error(f"the parameter %{item.name} stands after attributes", s, e, code=MisplacedArgument)
                params.append(item)
            else:
                if item[0] in attrs:
                    self.error(f"the attribute {item[0]} is given twice", *item[2:4], code=MisplacedArgument)
                attrs[item[0]] = item[1]
        if len(params) > 1:
            self.refuse_repeats("the parameter %", ((var.name, var.span) for var in params))
        for var in params:
            self.declare(var.name, var)
        return type_params, tuple(params), attrs

    def signature(self, v: list, s: int, e: int) -> tuple:
        return (*v[0], None)

    def signature_returning(self, v: list, s: int, e: int) -> tuple:
        return (*v[0], v[2])

    def signature_with(self, v: list, s: int, e: int) -> tuple:
        self._add_attributes(v[0][2], v[2])
        return (*v[0], None)

    def signature_with_returning(self, v: list, s: int, e: int) -> tuple:
        self._add_attributes(v[0][2], v[2])
        return (*v[0], v[5])

    def _add_attributes(self, attrs: dict[str, Any], attributes: list) -> None:
        for name, value, s, e in attributes:
            if name in attrs:
                self.error(f"the attribute {name} is given twice", s, e, code=MisplacedArgument)
            attrs[name] = value

    def function(self, v: list, s: int, e: int) -> Function:
        type_params, params, attrs, ret_type = v[0]
        self.leave(len(params))
        self.close_type_scope(type_params)
        device = attrs.pop("virtual_device", None) if attrs else None
        if not isinstance(device, VirtualDevice | None):
            self.error("virtual_device is not a VirtualDevice", s, e, code=MisplacedArgument)
            device = None
        return Function(params, v[2], ret_type, type_params, attrs, Span(self.source, s, e), None, device)

    def closure(self, v: list, s: int, e: int) -> Function:
        v[1].span = Span(self.source, s, e)
        return v[1]

    def param(self, v: list, s: int, e: int) -> Var:
        return Var(v[0], None, Span(self.source, s, e))

    def param_typed(self, v: list, s: int, e: int) -> Var:
        return Var(v[0], v[2], Span(self.source, s, e))

    def param_placed(self, v: list, s: int, e: int) -> Var:
        return Var(v[0], None, Span(self.source, s, e), None, self._placement(v[2]))

    def param_placed_typed(self, v: list, s: int, e: int) -> Var:
        return Var(v[0], v[5], Span(self.source, s, e), None, self._placement(v[2]))

    def _placement(self, attributes: list) -> Any:
        for key, value, start, end in attributes:
            if key == "virtual_device" and isinstance(value, VirtualDevice | None):
                return value
            if key == "virtual_device":
                self.error("virtual_device is not a VirtualDevice", start, end, code=MisplacedArgument)
                return None
            self.error(
                f"a parameter has no attribute {key}",
                start,
                end,
                help=nearest(key, ["virtual_device"]),
                code=MisplacedArgument,
            )
        return None

    def body(self, v: list, s: int, e: int) -> Expr:
        body, lets = v[1], 0
        for statement in reversed(v[0]):
            if statement is not None:
                var, value, start = statement
                body = Let(var, value, body, Span(self.source, start, e))
                lets += var.name != "" or var.span is not None
        if lets:
            self.leave(lets)
        return body

    def bind_graph(self, v: list, s: int, e: int) -> None:
        self.graph_values[v[0]] = v[2]

    def let_head(self, v: list, s: int, e: int) -> Var:
        return self._declare_let(v[1], None, s, e)

    def let_head_typed(self, v: list, s: int, e: int) -> Var:
        return self._declare_let(v[1], v[3], s, e)

    def _declare_let(self, name: str, annotation: Type | None, s: int, e: int) -> Var:
        var = Var(name, annotation, Span(self.source, s, e))
        self.declare(name, var)
        if name.isdecimal():
            self.graph_values.pop("%" + name, None)
        return var

    def bind_let(self, v: list, s: int, e: int) -> tuple:
        return v[0], v[1], s

    def free_var(self, v: list, s: int, e: int) -> None:
        self.free.setdefault(v[1], Var(v[1], None, Span(self.source, s, e)))

    def free_var_typed(self, v: list, s: int, e: int) -> None:
        self.free.setdefault(v[1], Var(v[1], v[3], Span(self.source, s, e)))

    def sequence(self, v: list, s: int, e: int) -> tuple:
        return Var(""), v[0], s
