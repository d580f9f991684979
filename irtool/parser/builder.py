"""Makes IR nodes while the parser reduces: one method per named alternative of the grammar.

A method gets the values of its symbols (a word's value is its text), and the offsets at which they start and end. Names are
resolved here: variables of the current scope are in `variables`, and what a binder hides is kept on a trail until its scope
ends. `%0 = …` is sharing and not a binding: a graph name holds until it is given another value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..diagnostics import Diagnostics, IrError, Source, Span, nearest
from ..ir import (
    ANY,
    Call,
    Clause,
    Constant,
    Constructor,
    DictAttrs,
    DimVar,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    If,
    IncompleteType,
    Int64,
    Let,
    Match,
    Module,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeVar,
    Var,
    scalar,
)
from ..ir.meta import MetaNode, VirtualDevice
from ..ops.base import Operator, op, operators
from . import dialect
from .literals import read_attribute_number, read_scalar, read_string
from .metadata import Metadata, read_index

_DTYPE = re.compile(r"(bool|(?:u?int|float|bfloat)(\d*))(?:x(\d+))?")
_LONGEST_NUMBER = 400
_LITERAL = re.compile(r"-?(?:\d[\w.]*(?:[eE][+-]\w+)?|inf\w*|nan\w*)")
_BITS = {"int": range(1, 65), "uint": range(1, 65), "float": (8, 16, 32, 64), "bfloat": (16,)}
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


def read_dtype(name: str) -> str | None:
    """The full name of a dtype (`int` is `int32`), or None if `name` is not one."""
    match = _DTYPE.fullmatch(name)
    if match is None:
        return None
    kind, bits, lanes = match.groups()
    if kind != "bool":
        kind = kind.rstrip("0123456789")
        width = int(bits) if bits and len(bits) < 4 else 32 if not bits else 0
        if width not in _BITS[kind]:
            return None
        kind = "bool" if (kind, width) == ("uint", 1) else f"{kind}{width}"
    if lanes is None or lanes == "1":
        return kind
    return f"{kind}x{lanes}" if 1 < int(lanes[:6]) < 65536 else None


class Builder:
    """What is known while one text is read. `methods` gives the parser the functions to call."""

    def __init__(self, source: Source, metadata: Metadata, found: Diagnostics) -> None:
        self.source = source
        self.metadata = metadata
        self.found = found
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
        self.graph_values: dict[str, Expr] = {}
        self.globals: dict[str, GlobalVar] = {}
        self.type_names: dict[str, Span] = {}
        self.dim_names: dict[str, DimVar] = {}
        self.undefined: list[tuple[str, Span]] = []
        self.doubtful: dict[int, tuple[str, Span]] = {}
        """Numbers too large for their type, by the offset of their end: an error unless a sign in front makes them fit."""
        self.negated: dict[int, str] = {}
        """The text of each number with a sign in front, by its offset."""
        self.parameter_of: dict[str, str] = {}
        self.result: Any = None
        self._tensor_types: dict[str, TensorType] = {}
        self._dtypes: dict[str, str | None] = {}
        self._int_lists: dict[str, tuple[int, ...]] = {}
        self._scalars: dict[str, tuple[Any, str]] = {}
        self._attrs: dict[tuple[str, str], Operator] = {}
        self._bare: Call | None = None

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def error(self, message: str, start: int, end: int, **extra: Any) -> None:
        self.found.error(message, Span(self.source, start, end), **extra)

    # ---- lists and other plumbing

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

    # ---- scopes

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

    def forget_scopes(self) -> None:
        """Starts a definition anew after an error."""
        self.variables.clear()
        self.trail.clear()
        self.type_variables.clear()
        self.unwinding = True

    def local_name(self, v: list, s: int, e: int) -> str:
        return v[0][1:]

    graph_name = local_name

    # ---- modules

    def module(self, v: list, s: int, e: int) -> None:
        self.result = Module(self.functions, self.type_definitions, metadata=self.metadata.unused())

    def expression(self, v: list, s: int, e: int) -> None:
        self.result = v[-1]

    def lone_type(self, v: list, s: int, e: int) -> None:
        self.result = v[0]

    def define(self, v: list, s: int, e: int) -> None:
        name, function = v[1][1:], v[2]
        if name in self.functions:
            first = self.functions[name].span
            where = (f"the first definition is at {first.location}",) if first is not None else ()
            self.error(f"the function @{name} is defined twice", s, e, notes=where)
            return
        self.functions[name] = function
        for p in function.params:
            self.parameter_of.setdefault(p.name, name)
        self.dim_names = {}

    def type_head(self, v: list, s: int, e: int) -> tuple[str, tuple[TypeVar, ...]]:
        name = v[1]
        if name in self.type_definitions:
            self.error(f"the type {name} is defined twice", s, e)
        return name, v[2] if len(v) > 2 else ()

    def opaque_type(self, v: list, s: int, e: int) -> TypeData:
        name, params = v[0]
        self._close_type_scope(params)
        return TypeData(GlobalTypeVar(name), params, (), False, self.span(s, e))

    def algebraic_type(self, v: list, s: int, e: int) -> TypeData:
        name, params = v[0]
        self._close_type_scope(params)
        header = GlobalTypeVar(name)
        made = []
        for tag, (constructor, inputs, start, end) in enumerate(v[2]):
            node = Constructor(constructor, inputs, header, tag, self.span(start, end))
            if constructor in self.constructors:
                self.error(f"the constructor {constructor} is defined twice", start, end)
            self.constructors[constructor] = node
            made.append(node)
        return TypeData(header, params, tuple(made), False, self.span(s, e))

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
        made = tuple(TypeVar(name, "type", self.span(s, e)) for name in v[1])
        for var in made:
            self.type_variables[var.name] = var
        return made

    def _close_type_scope(self, params: tuple[TypeVar, ...]) -> None:
        for p in params:
            self.type_variables.pop(p.name, None)

    # ---- functions

    def params(self, v: list, s: int, e: int) -> tuple:
        return self._declare_params((), v[0], s, e)

    def generic_params(self, v: list, s: int, e: int) -> tuple:
        return self._declare_params(v[0], v[1], s, e)

    def _declare_params(self, type_params: tuple[TypeVar, ...], items: list, s: int, e: int) -> tuple:
        made = []
        attrs: dict[str, Any] = {}
        for item in items:
            if isinstance(item, Var):
                if attrs:
                    self.error(f"the parameter %{item.name} stands after attributes", s, e)
                made.append(item)
            else:
                attrs[item[0]] = item[1]
        for var in made:
            self.declare(var.name, var)
        return type_params, tuple(made), attrs

    def signature(self, v: list, s: int, e: int) -> tuple:
        return (*v[0], None)

    def signature_returning(self, v: list, s: int, e: int) -> tuple:
        return (*v[0], v[2])

    def signature_with(self, v: list, s: int, e: int) -> tuple:
        v[0][2].update((k, value) for k, value, *_ in v[2])
        return (*v[0], None)

    def signature_with_returning(self, v: list, s: int, e: int) -> tuple:
        v[0][2].update((k, value) for k, value, *_ in v[2])
        return (*v[0], v[5])

    def function(self, v: list, s: int, e: int) -> Function:
        type_params, params, attrs, ret_type = v[0]
        self.leave(len(params))
        self._close_type_scope(type_params)
        device = attrs.pop("virtual_device", None) if attrs else None
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
            if key == "virtual_device":
                return value
            self.error(f"a parameter has no attribute {key}", start, end, help=nearest(key, ["virtual_device"]))
        return None

    # ---- bodies

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

    # ---- leaves

    def local(self, v: list, s: int, e: int) -> Var:
        name = v[0][1:]
        var = self.variables.get(name) or self.free.get(name)
        if var is None:
            self.undefined.append((name, self.span(s, e)))
            var = self.free[name] = Var(name)
        return var

    def graph(self, v: list, s: int, e: int) -> Expr:
        value = self.graph_values.get(v[0])
        if value is None:
            value = self.variables.get(v[0][1:])
        if value is None:
            self.error(f"{v[0]} is used before it is given a value", s, e)
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
        constructor = self.constructors.get(name)
        if constructor is not None:
            if constructor.inputs:
                return constructor
            self._bare = Call(constructor, (), None, (), Span(self.source, s, e))
            return self._bare
        if operators.find(name) is not None:
            return op(name)
        if not self.strict:
            full = dialect.full_name(name)
            if full is not None:
                return op(full)
        known = [*self.constructors, *operators.names()]
        self.error(f"unknown operator {name}", s, e, help=nearest(name, known))
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
        return self._meta(v[0], s, e)

    def _meta(self, word: str, s: int, e: int) -> Any:
        """What a reference into the metadata section stands for."""
        key, index = read_index(word)
        if index is None:
            self.error(f"{word} has no index", s, e)
            return Var("")
        if self.metadata.is_present:
            try:
                return self.metadata.get(key, index)
            except IrError as error:
                for d in error.diagnostics:
                    self.error(d.message, s, e, help=d.help)
                return Var("")
        if key == "relay.Constant":
            return self.metadata.missing_constant(index, lambda: self.stated_type(e), self.span(s, e))
        if key in ("tir.Var", "tir.SizeVar"):
            return self.metadata.missing_dim(key, index)
        if key == "VirtualDevice":
            return None
        self.error(f"{word} refers to a metadata section, and the text has none", s, e)
        return Var("")

    def stated_type(self, end: int) -> Type | None:
        """The type in the comment `/* ty=… */` that follows offset `end`, or None."""
        match = re.compile(r"\s*/\*\s*ty=").match(self.source.text, end)
        if match is None:
            return None
        stop = self.source.text.find("*/", match.end())
        if stop < 0:
            return None
        from .text import read_type

        inside = re.sub(r"\s*span=\S*\s*$", "", self.source.text[match.end() : stop])
        return read_type(inside, self)

    # ---- calls and operators

    def call(self, v: list, s: int, e: int) -> Expr:
        function, items = v
        if not items:
            if function is self._bare:
                return function
            args: tuple = ()
            attrs = ()
        elif items[-1].__class__ is tuple:
            first = len(items) - 1
            while first and items[first - 1].__class__ is tuple:
                first -= 1
            args = tuple(items[:first])
            attrs = items[first:]
            for a in args:
                if a.__class__ is tuple:
                    self.error("attributes stand after all arguments", a[2], a[3])
                    args = tuple(x for x in args if x.__class__ is not tuple)
                    break
        elif items[-1].__class__ is MetaNode:
            args = tuple(items[:-1])
            attrs = items[-1]
        else:
            args = tuple(items)
            attrs = ()
        for a in args:
            if not isinstance(a, Expr):
                self.error(f"a {getattr(a, 'type_key', type(a).__name__)} is not an argument", s, e)
                return Var("")
        if function.__class__ is Op:
            try:
                made = self._operator_attrs(function, attrs, s, e)
            except IrError as error:
                self.found.items += error.diagnostics
                made = None
            return Call(function, args, made, (), Span(self.source, s, e))
        if not isinstance(function, Expr):
            self.error("this is not a function", s, e)
            return Var("")
        if attrs.__class__ is MetaNode:
            return Call(function, args, DictAttrs(attrs.fields), (), Span(self.source, s, e))
        given = DictAttrs((a[0], a[1]) for a in attrs) if attrs else None
        return Call(function, args, given, (), Span(self.source, s, e))

    def _operator_attrs(self, function: Op, attrs: Any, s: int, e: int) -> Operator:
        operator = function.operator
        if not attrs:
            return operator.make({}, Span(self.source, s, e))
        if attrs.__class__ is MetaNode:
            return operator.make(self.metadata.attributes(attrs, operator), Span(self.source, s, e))
        start, end = attrs[0][2], attrs[-1][3]
        text = self.source.text[start:end]
        key = (function.name, text)
        made = self._attrs.get(key)
        if made is None:
            given: dict[str, Any] = {}
            for name, value, a, b in attrs:
                if name in given:
                    self.error(f"the attribute {name} is given twice", a, b)
                given[name] = value
            made = operator.make(given, self.span(start, end))
            if "[" not in text or "meta[" not in text:
                if "%" not in text and "@" not in text:
                    self._attrs[key] = made
        return made

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
            self.error(f"unknown operator {name}", s, e)
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

    # ---- other expressions

    def if_else(self, v: list, s: int, e: int) -> If:
        return If(v[2], v[4], v[6], Span(self.source, s, e))

    def match(self, v: list, s: int, e: int) -> Match:
        return Match(v[1], tuple(v[3]), v[0] == "match", Span(self.source, s, e))

    def match_nothing(self, v: list, s: int, e: int) -> Match:
        return Match(v[1], (), v[0] == "match", Span(self.source, s, e))

    def ref_create(self, v: list, s: int, e: int) -> RefCreate:
        return RefCreate(v[2], Span(self.source, s, e))

    def ref_read(self, v: list, s: int, e: int) -> RefRead:
        return RefRead(v[2], Span(self.source, s, e))

    def ref_write(self, v: list, s: int, e: int) -> RefWrite:
        return RefWrite(v[2], v[4], Span(self.source, s, e))

    def unit(self, v: list, s: int, e: int) -> Tuple:
        return Tuple((), Span(self.source, s, e))

    def tuple_of_one(self, v: list, s: int, e: int) -> Tuple:
        return Tuple((v[1],), Span(self.source, s, e))

    def tuple(self, v: list, s: int, e: int) -> Tuple:
        return Tuple((v[1], *v[3]), Span(self.source, s, e))

    # ---- patterns

    def clause(self, v: list, s: int, e: int) -> Clause:
        pattern, bound = v[0]
        self.leave(bound)
        return Clause(pattern, v[2], Span(self.source, s, e))

    def wildcard(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return PatternWildcard(Span(self.source, s, e)), 0

    def pattern_var(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return self._bind_pattern(v[0], None, s, e)

    def pattern_var_typed(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return self._bind_pattern(v[0], v[2], s, e)

    def _bind_pattern(self, name: str, annotation: Type | None, s: int, e: int) -> tuple[Pattern, int]:
        span = Span(self.source, s, e)
        var = Var(name, annotation, span)
        self.declare(name, var)
        return PatternVar(var, span), 1

    def pattern_constructor(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return self._pattern_of(v[0], [], s, e)

    def pattern_constructor_of(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return self._pattern_of(v[0], v[2], s, e)

    def _pattern_of(self, name: str, parts: list, s: int, e: int) -> tuple[Pattern, int]:
        bound = sum(n for _, n in parts)
        constructor = self.constructors.get(name)
        if constructor is None:
            hint = nearest(name, self.constructors) or f"a pattern variable is written %{name}"
            self.error(f"unknown constructor {name}", s, s + len(name), help=hint)
            return PatternWildcard(self.span(s, e)), bound
        return PatternConstructor(constructor, tuple(p for p, _ in parts), Span(self.source, s, e)), bound

    def pattern_unit(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return PatternTuple((), Span(self.source, s, e)), 0

    def pattern_tuple(self, v: list, s: int, e: int) -> tuple[Pattern, int]:
        return PatternTuple(tuple(p for p, _ in v[1]), Span(self.source, s, e)), sum(n for _, n in v[1])

    # ---- attributes

    def attribute(self, v: list, s: int, e: int) -> tuple[str, Any, int, int]:
        return v[0], v[2], s, e

    def positional(self, v: list, s: int, e: int) -> tuple[str, Any, int, int]:
        return "", v[0], s, e

    def entry(self, v: list, s: int, e: int) -> tuple[str, Any, int, int]:
        return read_string(v[0]), v[2], s, e

    def entry_of_value(self, v: list, s: int, e: int) -> tuple[Any, Any, int, int]:
        return v[0], v[2], s, e

    def string(self, v: list, s: int, e: int) -> str:
        return read_string(v[0])

    def attr_true(self, v: list, s: int, e: int) -> bool:
        return True

    def attr_false(self, v: list, s: int, e: int) -> bool:
        return False

    def int_list(self, v: list, s: int, e: int) -> tuple[int, ...]:
        found = self._int_lists.get(v[0])
        if found is None:
            found = self._int_lists[v[0]] = tuple(map(int, v[0][1:-1].split(",")))
        return found

    def meta_value(self, v: list, s: int, e: int) -> Any:
        return self._meta(v[0], s, e)

    def attr_name(self, v: list, s: int, e: int) -> Any:
        name = v[0]
        if name in ("None", "nullptr"):
            return None
        if name in self.constructors:
            return self.constructors[name]
        if operators.find(name) is not None:
            return op(name)
        self.error(f"{name} is not a value of an attribute", s, e, help=f'a string is written "{name}"')
        return None

    def record(self, v: list, s: int, e: int) -> Any:
        return self._make_record(v[0], [], s, e)

    def record_of(self, v: list, s: int, e: int) -> Any:
        return self._make_record(v[0], v[2], s, e)

    def _make_record(self, name: str, fields: list, s: int, e: int) -> Any:
        given = {key or str(i): value for i, (key, value, *_) in enumerate(fields)}
        if name != "VirtualDevice":
            given.pop("id", None)
            return MetaNode(name, given)
        known = VirtualDevice.__dataclass_fields__
        for key, _, start, end in fields:
            if key not in known:
                self.error(f"VirtualDevice has no field {key}", start, end, help=nearest(key, known))
                return None
        return VirtualDevice(**given)

    def attr_unit(self, v: list, s: int, e: int) -> tuple:
        return ()

    def attr_list(self, v: list, s: int, e: int) -> tuple:
        return tuple(v[1])

    def attr_list_of_one(self, v: list, s: int, e: int) -> tuple:
        return (v[1],)

    def attr_longer_list(self, v: list, s: int, e: int) -> tuple:
        return (v[1], *v[3])

    def attr_empty_dict(self, v: list, s: int, e: int) -> dict:
        return {}

    def attr_dict(self, v: list, s: int, e: int) -> Mapping[Any, Any]:
        return {key: value for key, value, *_ in v[1]}

    def attr_number(self, v: list, s: int, e: int) -> int | float:
        return self._attribute_number(v[0], s, e)

    def attr_negative(self, v: list, s: int, e: int) -> int | float:
        if e - s > _LONGEST_NUMBER:
            return Int64(-v[1]) if isinstance(v[1], Int64) else -v[1]
        return self._attribute_number("".join(self.source.text[s:e].split()), s, e)

    def _attribute_number(self, text: str, s: int, e: int) -> int | float:
        try:
            return read_attribute_number(text)
        except ValueError as error:
            self.error(str(error), s, e)
            return 0

    # ---- types

    def static_tensor(self, v: list, s: int, e: int) -> Type:
        text = v[0]
        made = self._tensor_types.get(text)
        if made is None:
            close = text.index(")")
            dims = text[8:close]
            shape = tuple(map(int, dims.split(","))) if dims else ()
            if any(d > 2147483647 for d in shape):
                shape = tuple(read_attribute_number(str(d)) for d in shape)  # type: ignore[misc]
            made = TensorType(shape, self._dtype(text[close + 2 : -1].strip(), s, e))
            self._tensor_types[text] = made
        return made

    def tensor(self, v: list, s: int, e: int) -> Type:
        return TensorType(tuple(v[2]), self._dtype(v[4], s, e), self.span(s, e))

    def _dtype(self, name: str, s: int, e: int) -> str:
        dtype = read_dtype(name)
        if dtype is None:
            self.error(
                f"{name} is not a dtype",
                s,
                e,
                help=nearest(name, ["float32", "float16", "float64", "int32", "int64", "int8", "uint8", "bool"]),
            )
            return "float32"
        return dtype

    def any_dim(self, v: list, s: int, e: int) -> Any:
        return ANY

    def named_dim(self, v: list, s: int, e: int) -> DimVar:
        var = self.dim_names.get(v[0])
        if var is None:
            var = self.dim_names[v[0]] = DimVar(v[0])
        return var

    def meta_dim(self, v: list, s: int, e: int) -> Any:
        dim = self._meta(v[0], s, e)
        if isinstance(dim, Var | Constant | MetaNode | VirtualDevice) or dim is None:
            self.error(f"{v[0]} is not a dimension", s, e)
            return ANY
        return dim

    def named_type(self, v: list, s: int, e: int) -> Type:
        name = v[0]
        var = self.type_variables.get(name)
        if var is not None:
            return var
        if name not in self._dtypes:
            self._dtypes[name] = None if name in self.type_definitions else read_dtype(name)
        dtype = self._dtypes[name]
        if dtype is not None:
            return scalar(dtype)
        return TypeCall(self._type_name(name, s, e), (), self.span(s, e))

    def applied_to_nothing(self, v: list, s: int, e: int) -> Type:
        return self.applied_type([v[0], None, ()], s, e)

    def applied_type(self, v: list, s: int, e: int) -> Type:
        head: Type = self.type_variables.get(v[0]) or self._type_name(v[0], s, s + len(v[0]))
        return TypeCall(head, tuple(v[2]), self.span(s, e))

    def _type_name(self, name: str, s: int, e: int) -> GlobalTypeVar:
        if name not in self.type_names:
            self.type_names[name] = self.span(s, e)
        return GlobalTypeVar(name)

    def unit_type(self, v: list, s: int, e: int) -> Type:
        return TupleType((), self.span(s, e))

    def tuple_type(self, v: list, s: int, e: int) -> Type:
        return TupleType(tuple(v[1]), self.span(s, e))

    def function_type(self, v: list, s: int, e: int) -> Type:
        return FuncType(tuple(v[1]), v[3], (), self.span(s, e))

    def fn_type_params(self, v: list, s: int, e: int) -> tuple[TypeVar, ...]:
        return v[1]

    def generic_function_type(self, v: list, s: int, e: int) -> Type:
        self._close_type_scope(v[0])
        return FuncType(tuple(v[1]), v[3], v[0], self.span(s, e))

    def ref_type(self, v: list, s: int, e: int) -> Type:
        return RefType(v[2], self.span(s, e))

    def unknown_type(self, v: list, s: int, e: int) -> Type:
        return IncompleteType("type", self.span(s, e))
