"""Calls, operators between operands, and fields of tuples."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from ...diagnostics import IrError, Span
from ...ir import Call, Constant, DictAttrs, Expr, Op, TupleGetItem, Var
from ...ir.expr import CHILDREN_OF
from ...ir.meta import MetaNode
from ...ops.base import Operator, op, operators
from ..missing_attrs import with_missing_values, without_values
from ..mistakes import MisplacedArgument, UnknownOperator
from .leaves import Leaves, plain_words

_LITERAL = re.compile(r"-?(?:\d[\w.]*(?:[eE][+-]\w+)?|inf\w*|nan\w*)")
_EXPRESSIONS = frozenset(CHILDREN_OF)
_PRECEDENCE = {
    "*": (12, "multiply"),
    "/": (12, "divide"),
    "+": (10, "add"),
    "-": (10, "subtract"),
    "<": (8, "less"),
    "<=": (8, "less_equal"),
    ">": (8, "greater"),
    ">=": (8, "greater_equal"),
    "==": (7, "equal"),
    "!=": (7, "not_equal"),
}


class Calls(Leaves):
    """Builds calls."""

    def call(self, v: list, s: int, e: int) -> Expr:
        function, items = v
        attrs: Any = ()
        if not items and function is self._bare and isinstance(function, Call):
            return function
        if items and items[-1].__class__ is MetaNode:
            attrs = items.pop()
            self.loose_attributes.pop()
        elif items and items[-1].__class__ is tuple:
            attrs = [i for i in items if i.__class__ is tuple]
            if items[-len(attrs)] is not attrs[0]:
                self.error("arguments stand before attributes", attrs[0][2], attrs[0][3], code=MisplacedArgument)
            items = items[: -len(attrs)]
        for item in items:
            if item.__class__ not in _EXPRESSIONS:
                what = (
                    "an attribute" if item.__class__ is tuple else f"a {getattr(item, 'type_key', type(item).__name__)}"
                )
                self.error(f"{what} stands where an argument must", s, e, code=MisplacedArgument)
                return Var("")
        args = tuple(items)
        if function.__class__ is Op:
            try:
                operator_attrs = self._operator_attrs(function, attrs, s, e)
            except IrError as error:
                for d in error.diagnostics:
                    self.report(d if d.span is not None else replace(d, span=Span(self.source, s, e)))
                operator_attrs = None
            return Call(function, args, operator_attrs, (), Span(self.source, s, e))
        if not isinstance(function, Expr):
            self.error("this is not a function", s, e)
            return Var("")
        if attrs.__class__ is MetaNode:
            return Call(function, args, DictAttrs(attrs.fields), (), Span(self.source, s, e))
        call_attrs = DictAttrs((a[0], a[1]) for a in attrs) if attrs else None
        return Call(function, args, call_attrs, (), Span(self.source, s, e))

    def plain_call(self, v: list, s: int, e: int) -> Expr:
        """`nn.dense(%3, %w)`, which is one word."""
        name, offset, leading = plain_words(v[0], s)
        values, args = self.graph_values, []
        for word in leading:
            value: Expr | None = values.get(word)
            if value is None:
                value = (self.graph if word[1].isdecimal() else self.local)([word], offset, offset + len(word))
            args.append(value)
            offset += len(word) + 2
        function = self._ops.get(name)
        attrs = self._bare_attrs.get(function.operator) if function is not None else None
        if function is None or attrs is None:
            return self.call([function or self.name([name], s, s + len(name)), args], s, e)
        return Call(function, tuple(args), attrs, (), Span(self.source, s, e))

    def _operator_attrs(self, function: Op, attrs: Any, s: int, e: int) -> Operator:
        operator = function.operator
        version = self.metadata.version
        attributes: dict[str, Any]
        if not attrs:
            result = self._bare_attrs.get(operator)
            if result is None:
                attributes = operator.attributes_of_version({}, version) if version else {}
                result = self._bare_attrs[operator] = operator.make(attributes, Span(self.source, s, e))
            return result
        if attrs.__class__ is MetaNode:
            if attrs.missing is not None:
                return without_values(operator, attrs)
            shared = self._record_attrs.get((operator, id(attrs)))
            if shared is None:  # calls that share a record share its attributes
                result = operator.make(self.metadata.attributes(attrs, operator), Span(self.source, s, e))
                shared = self._record_attrs[operator, id(attrs)] = (result, attrs)
            return shared[0]
        start, end = attrs[0][2], attrs[-1][3]
        text = self.source.text[start:end]
        key = (function.name, text)
        result = self._attrs.get(key)
        if result is None:
            attributes = {}
            for name, value, a, b in attrs:
                if name in attributes:
                    self.error(f"the attribute {name} is given twice", a, b, code=MisplacedArgument)
                attributes[name] = value
            if version:
                attributes = operator.attributes_of_version(attributes, version)
            result = operator.make(attributes, self.span(start, end))
            if "[" in text and "meta[" in text:
                return with_missing_values(result)
            if "%" not in text and "@" not in text:
                self._attrs[key] = result
        return result

    def project(self, v: list, s: int, e: int) -> TupleGetItem:
        digits = v[1][1:]
        if len(digits) > 9:
            self.error(f"no tuple has {digits[:20]} fields", s, e)
            digits = "0"
        return TupleGetItem(v[0], int(digits), Span(self.source, s, e))

    def negate(self, v: list, s: int, e: int) -> Expr:
        value = v[1]
        if isinstance(value, Constant) and value.span is not None:
            start, end = value.span.start, value.span.end
            text = self.negated.get(start) or self.source.text[start:end]
            if _LITERAL.fullmatch(text):
                self.doubtful.pop(end, None)
                text = self.negated[s] = text[1:] if text[0] == "-" else "-" + text
                return self._scalar(text, s, end)
        return self._apply("negative", (value,), s, e)

    def _apply(self, name: str, args: tuple, s: int, e: int) -> Expr:
        if operators.find(name) is None:
            self.error(f"unknown operator {name}", s, e, code=UnknownOperator)
            return Var("")
        node = op(name)
        for a in args:
            if not isinstance(a, Expr):
                self.error("this is not a value", s, e)
                return Var("")
        return Call(node, args, node.operator.make({}), (), Span(self.source, s, e))

    def chain(self, v: list, s: int, e: int) -> list:
        sign, start = v[1]
        return [(v[0], s, start), (sign, v[2], start, e)]

    def longer_chain(self, v: list, s: int, e: int) -> list:
        sign, start = v[1]
        v[0].append((sign, v[2], start, e))
        return v[0]

    def infix(self, v: list, s: int, e: int) -> tuple[str, int]:
        return v[0], e

    def binary(self, v: list, s: int, e: int) -> Expr:
        """Orders a chain of operators: the one of higher precedence binds its neighbours first, equals from the left."""
        first, *rest = v[0]
        operands = [first]
        waiting: list[tuple[int, str]] = []
        for sign, operand, start, end in rest:
            precedence, name = _PRECEDENCE[sign]
            while waiting and waiting[-1][0] >= precedence:
                self._combine(operands, waiting.pop()[1])
            waiting.append((precedence, name))
            operands.append((operand, start, end))
        while waiting:
            self._combine(operands, waiting.pop()[1])
        return operands[0][0]

    def _combine(self, operands: list, name: str) -> None:
        right, _, end = operands.pop()
        left, start, _ = operands.pop()
        operands.append((self._apply(name, (left, right), start, end), start, end))
