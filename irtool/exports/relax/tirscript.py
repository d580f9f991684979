"""Loop nests as TVMScript: `@T.prim_func` functions."""

from __future__ import annotations

import math
from typing import Any

from ...tir import dtypes
from ...tir.expr import QUOTIENTS, Axis, Binary, Call, Cast, Const, Expr, Load, Not, Select, Var
from ...tir.intrinsics import PRODUCT
from ...tir.stmt import (
    Allocate,
    AllocateConst,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    Prefetch,
    PrimFunc,
    Scope,
    Seq,
    Stmt,
    Store,
    While,
)
from ...tir.texts import expression_texts
from .forms import NoForm
from .names import ScriptNames

_LONG = 400
"""A shared expression whose text is longer than this is computed once, under a name."""

_OPAQUE = 8
"""TVM's number of the opaque fusion pattern: its FuseTIR takes blocks only."""

DEEPEST = 90
"""Levels of indentation: Python allows 100 in a file."""

_SIGNS = {
    **{s: s for s in ["+", "-", "*", "/", "<", "<=", "==", "!=", "<<", ">>", "&", "|", "^"]},
    "floordiv": "//",
    "floormod": "%",
}
_FUNCTIONS = {"truncdiv": "truncdiv", "truncmod": "truncmod", "min": "min", "max": "max", "and": "And", "or": "Or"}
_PROPAGATING = {"minimum": "min", "maximum": "max"}
"""By the function that it is where neither operand is NaN."""
_COMPARED = frozenset(("<", "<=", "==", "!="))
_OF_BOOLS = {"min": "And", "max": "Or", "minimum": "And", "maximum": "Or", "*": "And", "+": "Or"}
_QUOTIENTS = {"floordiv": "floordiv", "floormod": "floormod", "truncdiv": "truncdiv", "truncmod": "truncmod"}
_OF_LIBM = frozenset(("fmod", "expm1"))
"""Functions that TVM has no code for, and the C library has."""


class LoopNestScript:
    """Writes one function. `lines` are its lines, not indented as a whole.

    Raises NoForm if TVM has no counterpart of an intrinsic, or the loops are too deep for Python.
    """

    def __init__(self, name: str, f: PrimFunc) -> None:
        self._names = ScriptNames()
        self._known: dict[Any, str] = {}
        self._depth = 1
        self.lines: list[str] = ["@T.prim_func(private=True, s_tir=True)"]
        handles = [self._names.fresh(f"{b.name}_handle") for b in f.params]
        self.lines.append(f"def {name}({', '.join(f'{h}: T.handle' for h in handles)}):")
        self._line(f'T.func_attr({{"op_pattern": {_OPAQUE}}})')
        for handle, b in zip(handles, f.params):
            self._line(f"{self._declare(b, b.name)} = T.match_buffer({handle}, {_shape(b)}, {_quoted(b.dtype)})")
        self._line('with T.sblock("root"):')
        self._depth += 1
        reads, writes = (", ".join(self._region(b) for b in bs) for bs in (f.inputs, f.outputs))
        self._line(f"T.reads({reads})")
        self._line(f"T.writes({writes})")
        self._statements(f.body)

    def _region(self, b: Buffer) -> str:
        """The whole of a buffer."""
        return f"{self._known[b]}[{_index([f'0:{n}' for n in b.shape])}]"

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def _declare(self, what: Any, hint: str) -> str:
        name = self._known[what] = self._names.fresh(hint)
        return name

    # statements: the work list holds statements, and changes of indentation

    def _statements(self, root: Stmt) -> None:
        stack: list[Any] = [root]
        while stack:
            item = stack.pop()
            if isinstance(item, int):
                self._depth += item
                if self._depth > DEEPEST:
                    raise NoForm("its loops are deeper than Python can be indented")
            elif isinstance(item, str):
                self._line(item)
            else:
                stack += reversed(self._statement(item))

    def _statement(self, s: Stmt) -> list[Any]:
        text = expression_texts(s, self._expression, self._shortened, _LONG)
        if isinstance(s, Store):
            indices = [_plain(e, text(e)) for e in s.indices]
            self._line(f"{self._known[s.buffer]}[{_index(indices)}] = {text(s.value)}")
            return []
        if isinstance(s, Prefetch):
            self._line("T.evaluate(0)")  # where values are the same with and without
            return []
        if isinstance(s, For):
            extent = _plain(s.extent, text(s.extent))
            self._line(f"for {self._declare(s.var, s.var.name)} in T.serial({extent}):")
            return [1, *_block(s.body), -1]
        if isinstance(s, If):
            self._line(f"if {text(s.cond)}:")
            other = [] if s.other is None else ["else:", 1, *_block(s.other), -1]
            return [1, *_block(s.then), -1, *other]
        if isinstance(s, While):
            self._line(f"while {text(s.cond)}:")
            return [1, *_block(s.body), -1]
        if isinstance(s, Let):
            value = text(s.value)
            self._line(f"{self._declare(s.var, s.var.name)}: T.{s.var.dtype} = {value}")
            return _block(s.body)
        if isinstance(s, Allocate):
            if s.buffer.layout is not None:
                raise NoForm("its buffers are laid out in blocks")
            scope = ', scope="local"' if s.buffer.scope in (Scope.LOCAL, Scope.REGISTER) else ""
            name = self._declare(s.buffer, s.buffer.name)
            self._line(f"{name} = T.alloc_buffer({_shape(s.buffer)}, {_quoted(s.buffer.dtype)}{scope})")
            return _block(s.body)
        if isinstance(s, AllocateConst):
            raise NoForm("its loop nest holds constants")
        if isinstance(s, Annotate):
            return _block(s.body)  # which computes the same
        assert isinstance(s, Seq)
        return _block(s)

    # expressions

    def _shortened(self, e: Expr, text: str, may_be_named: bool) -> str:
        if may_be_named:
            name = self._names.fresh("shared")
            self._line(f"{name}: T.{e.dtype} = {text}")
            return name
        if len(text) > _LONG * 100:
            raise NoForm("an expression of its loop nest is too long")
        return text

    def _expression(self, e: Expr, parts: list[str]) -> str:
        if isinstance(e, Const):
            return constant(e.value, e.dtype)
        if isinstance(e, Var | Axis):
            return self._known[e]
        if isinstance(e, Load):
            return f"{self._known[e.source]}[{_index([_plain(i, t) for i, t in zip(e.indices, parts)])}]"
        if isinstance(e, Binary):
            return _binary(e, *parts)
        if isinstance(e, Not):
            return f"T.Not({parts[0]})"
        if isinstance(e, Cast):
            return f'T.Cast("{e.dtype}", {parts[0]})'
        if isinstance(e, Select):
            return f"T.{'if_then_else' if e.lazy else 'Select'}({', '.join(parts)})"
        assert isinstance(e, Call), f"{type(e).__name__} in a loop nest"
        return _intrinsic(e, parts)


def _binary(e: Binary, a: str, b: str) -> str:
    operand = e.a.dtype
    is_float = operand.startswith(("float", "bfloat"))
    if e.op in ("==", "!=") and is_float and e.a is e.b:  # TVM takes a number for equal to itself
        return f"T.isnan({a})" if e.op == "!=" else f"T.Not(T.isnan({a}))"
    if operand == "bool" and e.op in _COMPARED:
        a, b = f'T.Cast("int32", {a})', f'T.Cast("int32", {b})'
    elif operand == "bool" and e.op in _OF_BOOLS:
        return f"T.{_OF_BOOLS[e.op]}({a}, {b})"
    if e.op in _QUOTIENTS and not isinstance(e.b, Const):
        return _guarded(e, a, b)
    if e.op in _SIGNS:
        if not isinstance(e.a, Const):
            b = _plain(e.b, b)
        elif not isinstance(e.b, Const):
            a = _plain(e.a, a)
        return f"({a} {_SIGNS[e.op]} {b})"
    if e.op in _FUNCTIONS:
        return f"T.{_FUNCTIONS[e.op]}({a}, {b})"
    if not is_float:
        return f"T.{_PROPAGATING[e.op]}({a}, {b})"
    # LLVM's code of T.max gives the second operand where either is NaN.
    return f"T.Select(T.isnan({a}), {a}, T.{_PROPAGATING[e.op]}({a}, {b}))"


def _guarded(e: Binary, a: str, b: str) -> str:
    """A quotient or a remainder of integers: processors trap on divisors of 0, and on the lowest number by -1; the result is
    0, or wraps."""
    zero, one = constant(0, e.dtype), constant(1, e.dtype)
    is_signed = e.dtype.startswith("int")
    minus = f"({b} == {constant(-1, e.dtype)})"
    safe = f"T.Select({f'T.Or({b} == {zero}, {minus})' if is_signed else f'{b} == {zero}'}, {one}, {b})"
    value = f"T.{_QUOTIENTS[e.op]}({a}, {safe})"
    if e.op not in QUOTIENTS:
        return f"T.Select({b} == {zero}, {zero}, {value})"
    value = f"T.Select({minus}, ({zero} - {a}), {value})" if is_signed else value
    return f"T.Select({b} == {zero}, {zero}, {value})"


def _intrinsic(e: Call, parts: list[str]) -> str:
    if e.name == "reinterpret":
        return f'T.reinterpret("{e.dtype}", {parts[0]})'
    if e.name == "clz":  # TVM's is undefined of 0
        bits = dtypes.bits(e.args[0].dtype)
        zero = constant(0, e.args[0].dtype)
        return f'T.Select({parts[0]} == {zero}, T.int32({bits}), T.Cast("int32", T.clz({parts[0]})))'
    if e.name == "popcount":
        return f"T.popcount({parts[0]})"
    operand = e.args[0].dtype
    if not operand.startswith(("float", "bfloat")):
        raise NoForm(f"TIR's {e.name} is of floats")
    if e.name == "fabs":
        return f"T.abs({parts[0]})"
    if e.name == PRODUCT:
        return f"({parts[0]} * {parts[1]})"
    if operand not in ("float16", "bfloat16"):
        return _of_floats(e.name, operand, parts)
    if e.name == "nextafter":
        raise NoForm(f"TIR has no {e.name} of {operand}")
    wide = _of_floats(e.name, "float32", [f'T.Cast("float32", {part})' for part in parts])
    return wide if e.dtype == "bool" else f'T.Cast("{e.dtype}", {wide})'


def _of_floats(name: str, dtype: str, parts: list[str]) -> str:
    """A function of floats of 32 or 64 bits."""
    if name in _OF_LIBM:
        function = f"{name}f" if dtype == "float32" else name
        return f'T.call_pure_extern("{dtype}", "{function}", {", ".join(parts)})'
    if name == "round":  # TVM's takes halves to the even neighbour
        x, half, one = parts[0], constant(0.5, dtype), constant(1.0, dtype)
        away = f"T.Select(T.abs({x} - T.trunc({x})) < {half}, {constant(0.0, dtype)}, T.copysign({one}, {x}))"
        return f"(T.trunc({x}) + {away})"
    return f"T.{name}({', '.join(parts)})"


def _plain(e: Expr, text: str) -> str:
    """An operand; a number of int32 is written as in Python, since beside another operand, or as an index, it is one of int32."""
    return str(int(e.value)) if isinstance(e, Const) and e.dtype == "int32" else text


def constant(value: int | float, dtype: str) -> str:
    """A literal of a dtype: `T.float32(0.5)`."""
    if dtype == "bool":
        return f"T.bool({bool(value)})"
    if dtype.startswith(("float", "bfloat")):
        shown = repr(float(value)) if math.isfinite(value) else f'"{float(value)}"'
        return f"T.{dtype}({shown})"
    if value >= 1 << 63:  # more than T.uint64 takes
        return f'T.reinterpret("{dtype}", T.int64({int(value) - (1 << 64)}))'
    return f"T.{dtype}({int(value)})"


def _block(s: Stmt) -> list[Any]:
    stmts = s.stmts if isinstance(s, Seq) else (s,)
    return list(stmts) or ["T.evaluate(0)"]


def _shape(b: Buffer) -> str:
    return f"({', '.join(map(str, b.shape))}{',' if len(b.shape) == 1 else ''})"


def _quoted(dtype: str) -> str:
    return f'"{dtype}"'


def _index(parts: list[str]) -> str:
    return ", ".join(parts) or "()"
