"""Expressions of a primfn: `(((i*10) + k) < 9)`, `floordiv(i, 4)`, `@tir.exp(x[i], dtype=float32)`, `x_1: Buffer(x, …)[i]`.

Signs bind as in C where parentheses are left out. Nothing is folded: a parsed text prints unchanged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ...tir import dtypes
from ...tir.expr import Binary, Call, Cast, Const, Expr, Load, Not, Select, Var, const
from ...tir.intrinsics import BINARY_FLOAT, FLUSHED, ROUNDING, TESTS, UNARY_FLOAT
from ...tir.stmt import Buffer
from ...tir.word_functions import WORD_FUNCTIONS
from .header import read_dtype
from .tokens import Tokens

_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!="), 3),
    **dict.fromkeys(("<", "<=", ">", ">="), 4),
    **dict.fromkeys(("+", "-"), 5),
    **dict.fromkeys(("*", "/", "%"), 6),
}
_NEGATION = 7
_COMPARISONS = ("==", "!=", "<", "<=")
_SWAPPED = {">": "<", ">=": "<="}
_LOGICAL = {"&&": "and", "||": "or"}
_INTEGER_SIGNS = {"/": "truncdiv", "%": "truncmod"}
_PAIRS = ("floordiv", "floormod", "min", "max")
_BITWISE = {
    "shift_left": "<<",
    "shift_right": ">>",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
}
_PROPAGATING = ("minimum", "maximum")
_INTRINSICS = {
    **dict.fromkeys((*UNARY_FLOAT, *FLUSHED, *ROUNDING, *TESTS, "fabs", "popcount", "clz", "reinterpret"), 1),
    **dict.fromkeys((*BINARY_FLOAT, "pow"), 2),
    **{name: f.operands for name, f in WORD_FUNCTIONS.items()},
}
_OF_INTEGERS = frozenset(("popcount", "clz", "reinterpret", "pow", *WORD_FUNCTIONS))
"""Intrinsics that are not of floats alone."""
_NUMBER = re.compile(r"(?P<digits>[\d.]+(?:[eE][+-]?\d+)?)(?P<suffix>bf16|[fiu]\d*)?")
_SPECIAL = re.compile(r"(inf|nan)(bf16|f\d*)")


class SymbolTable:
    """The values of names at the place of an expression."""

    def __init__(self, buffer: Callable[[Tokens], Buffer | None]) -> None:
        self.variables: dict[str, Var] = {}
        self.buffer = buffer
        """Reads the next buffer with its declaration; None if the next token is no buffer."""


@dataclass
class _Open:
    """An open parenthesis: its kind, its operands so far, and the signs that wait for an operand."""

    first: int
    kind: str
    what: str = ""
    dtype: str = ""
    buffer: Buffer | None = None
    done: list[Expr] = field(default_factory=list)
    operands: list[Expr] = field(default_factory=list)
    signs: list[tuple[str, int]] = field(default_factory=list)


def read_expression(tokens: Tokens, scope: SymbolTable) -> Expr:
    """The expression that comes next."""
    return _Reader(tokens, scope).run()


class _Reader:
    def __init__(self, tokens: Tokens, scope: SymbolTable) -> None:
        self.tokens = tokens
        self.scope = scope
        self.open = [_Open(tokens.at, "whole")]

    def run(self) -> Expr:
        tokens, opened = self.tokens, self.open
        wants_operand = True
        while True:
            top = opened[-1]
            if wants_operand:
                wants_operand = self.operand(top)
                continue
            sign = tokens.text
            if sign in _PRECEDENCE and tokens.kind == "sign":
                self.reduce(top, _PRECEDENCE[sign])
                top.signs.append((sign, tokens.at))
                tokens.take()
                wants_operand = True
                continue
            self.reduce(top, 0)
            if top.kind == "whole":
                return top.operands[0]
            if tokens.skip(",") and top.kind != "(":
                self.argument(top)
                if top.kind == "call" and tokens.text == "dtype" and tokens.ahead(1) == "=":
                    self.result_dtype(top)
                    opened[-2].operands.append(self.close(opened.pop()))
                    continue
                wants_operand = True
                continue
            tokens.expect("]" if top.kind == "[" else ")")
            self.argument(top)
            opened[-2].operands.append(self.close(opened.pop()))

    def argument(self, top: _Open) -> None:
        top.done.append(top.operands.pop())

    def operand(self, top: _Open) -> bool:
        """Reads an operand, or opens the parenthesis that it begins with: True if an operand comes next, all the same."""
        tokens = self.tokens
        first, text, kind = tokens.at, tokens.text, tokens.kind
        if kind == "number":
            tokens.take()
            top.operands.append(self.number(text, 1, first))
            return False
        if text == "-" and kind == "sign":
            tokens.take()
            if tokens.kind == "number" or self.is_special(tokens.text):
                top.operands.append(self.number(tokens.take(), -1, first))
                return False
            top.signs.append(("negative", first))
            return True
        if text == "!" and kind == "sign":
            tokens.take()
            top.signs.append(("!", first))
            return True
        if text == "(":
            tokens.take()
            self.open.append(_Open(first, "("))
            return True
        if kind != "name":
            raise tokens.unexpected("an expression")
        if text in ("True", "False"):
            tokens.take()
            top.operands.append(const(text == "True"))
            return False
        if self.is_special(text):
            tokens.take()
            top.operands.append(self.number(text, 1, first))
            return False
        if tokens.ahead(1) == "(":
            return self.call(text, first)
        buffer = self.scope.buffer(tokens)
        if buffer is not None:
            tokens.expect("[")
            self.open.append(_Open(first, "[", buffer=buffer))
            if tokens.skip("]"):  # all of it: of rank 0, one element
                top.operands.append(self.close(self.open.pop()))
                return False
            return True
        tokens.take()
        variable = self.scope.variables.get(text)
        if variable is None:
            raise tokens.wrong(f"{text} is not defined here", first)
        if tokens.skip(":"):
            raise tokens.wrong(f"{text} is declared again", first)
        top.operands.append(variable)
        return False

    def is_special(self, text: str) -> bool:
        return _SPECIAL.fullmatch(text) is not None and text not in self.scope.variables

    def call(self, text: str, first: int) -> bool:
        """Opens a call; an operand comes next."""
        tokens = self.tokens
        name = text.removeprefix("@tir.")
        tokens.take()
        if text.startswith("@") and name == text:
            tokens.refuse(f"{text} is called", first)
        known = (*_INTRINSICS, *_BITWISE, *_PROPAGATING, "if_then_else", "bitwise_not", "likely", "abs", "sigmoid")
        if (text not in (*_PAIRS, "select", "cast")) if name == text else (name not in known):
            tokens.refuse(f"{text} is no function of numbers that nests here call", first)
        tokens.expect("(")
        opened = _Open(first, "call", name)
        if name == "cast":
            opened.dtype = read_dtype(tokens)
            tokens.expect(",")
        self.open.append(opened)
        return True

    def result_dtype(self, top: _Open) -> None:
        tokens = self.tokens
        tokens.take()
        tokens.take()
        top.dtype = read_dtype(tokens)
        tokens.expect(")")

    def number(self, text: str, sign: int, first: int) -> Const:
        tokens = self.tokens
        special = _SPECIAL.fullmatch(text)
        match = _NUMBER.fullmatch(text)
        digits = special[1] if special is not None else match["digits"] if match is not None else ""
        suffix = special[2] if special is not None else match["suffix"] if match is not None else ""
        dtype = _dtype_of(suffix or "", digits)
        try:
            dtypes.parts(dtype)
            value: int | float = sign * float(digits) if dtypes.is_float(dtype) else sign * int(digits)
        except (TypeError, ValueError):
            raise tokens.wrong(f"{text!r} is not a number", first) from None
        result = const(value, dtype)
        if not dtypes.is_float(dtype) and result.value != value:
            raise tokens.wrong(f"{'-' if sign < 0 else ''}{text} does not fit in {dtype}", first)
        if dtypes.is_float(dtype) and math.isinf(result.value) and special is None:
            raise tokens.wrong(f"{text} does not fit in {dtype}", first)
        return result

    # -- expressions of operands ---------------------------------------------------------------------------------------

    def reduce(self, top: _Open, least: int) -> None:
        """Applies the signs that bind at least as strongly as one that comes next."""
        while top.signs:
            sign, offset = top.signs[-1]
            if _PRECEDENCE.get(sign, _NEGATION) < max(least, 1):
                return
            top.signs.pop()
            b = top.operands.pop()
            if sign == "!":
                if b.dtype != "bool":
                    raise self.tokens.wrong(f"! is of a bool, not of {b.dtype}", offset)
                top.operands.append(Not(b))
            elif sign == "negative":
                top.operands.append(self.pair("-", Const(0, b.dtype), b, offset))
            else:
                top.operands.append(self.pair(sign, top.operands.pop(), b, offset))

    def pair(self, sign: str, a: Expr, b: Expr, offset: int) -> Expr:
        if a.dtype != b.dtype:
            raise self.tokens.wrong(f"{sign} is of two {a.dtype}, or of two {b.dtype}: operands have one dtype", offset)
        if sign in _SWAPPED:
            sign, a, b = _SWAPPED[sign], b, a
        if sign in _COMPARISONS:
            return Binary(sign, a, b, "bool")
        if sign in _LOGICAL:
            if a.dtype != "bool":
                raise self.tokens.wrong(f"{sign} is of bools, not of {a.dtype}", offset)
            return Binary(_LOGICAL[sign], a, b, "bool")
        if dtypes.is_float(a.dtype):
            if sign in ("%", "floordiv", "floormod"):
                raise self.tokens.wrong(f"{sign} is of integers, not of {a.dtype}", offset)
        elif sign in _INTEGER_SIGNS:
            sign = _INTEGER_SIGNS[sign]
        return Binary(sign, a, b, a.dtype)

    def close(self, it: _Open) -> Expr:
        """The expression that a parenthesis holds, or is the end of."""
        if it.kind == "(":
            return it.done[0]
        if it.kind == "[":
            return self.load(it)
        name, args = it.what, it.done
        if name == "cast":
            self.require(it, 1)
            return Cast(args[0], it.dtype)
        if name in ("select", "if_then_else"):
            self.require(it, 3)
            cond, then, other = args
            if cond.dtype != "bool" or then.dtype != other.dtype:
                message = (
                    f"{name} takes a bool and two values of one dtype, not {cond.dtype}, {then.dtype}, {other.dtype}"
                )
                raise self.tokens.wrong(message, it.first)
            return Select(cond, then, other, name == "if_then_else")
        if name in _PAIRS or name in _PROPAGATING or name in _BITWISE:
            self.require(it, 2)
            return self.pair(_BITWISE.get(name, name), args[0], args[1], it.first)
        self.require(it, _INTRINSICS.get(name, 1))
        if name == "likely":
            return args[0]
        if name == "bitwise_not":
            return Binary("^", args[0], const(-1, args[0].dtype), args[0].dtype)
        if name == "abs" and not dtypes.is_float(args[0].dtype):
            zero = const(0, args[0].dtype)
            return Binary("max", args[0], Binary("-", zero, args[0], zero.dtype), zero.dtype)
        return Call("fabs" if name == "abs" else name, tuple(args), self.dtype_of(it))

    def load(self, it: _Open) -> Load:
        buffer, indices = it.buffer, tuple(it.done)
        assert buffer is not None
        return Load(buffer, checked_indices(self.tokens, buffer, indices, it.first))

    def dtype_of(self, it: _Open) -> str:
        """The dtype of an intrinsic's value, checked against the text."""
        name, args = it.what, it.done
        dtype = args[0].dtype
        result = "bool" if name in TESTS else "int32" if name == "clz" else it.dtype if name == "reinterpret" else dtype
        is_of_floats = name not in _OF_INTEGERS
        if name in WORD_FUNCTIONS:
            f = WORD_FUNCTIONS[name]
            result = f.result if dtype in f.taken else ""
        if is_of_floats and not dtypes.is_float(dtype):
            raise self.tokens.wrong(f"@tir.{name} is of a float, not of {dtype}", it.first)
        if any(a.dtype != dtype for a in args):
            raise self.tokens.wrong(f"the arguments of @tir.{name} have one dtype", it.first)
        if (it.dtype or result) != result or not result:
            raise self.tokens.wrong(f"@tir.{name} of {dtype} is {result or 'of a dtype that it states'}", it.first)
        return result

    def require(self, it: _Open, count: int) -> None:
        if len(it.done) != count:
            raise self.tokens.wrong(f"{it.what} takes {count} arguments, not {len(it.done)}", it.first)


def checked_indices(tokens: Tokens, buffer: Buffer, indices: tuple[Expr, ...], first: int) -> tuple[Expr, ...]:
    """The indices of an access; `[0]` of a buffer of rank 0 is its element. Raises IrError for another number of them."""
    if not buffer.shape and len(indices) == 1 and isinstance(indices[0], Const) and indices[0].value == 0:
        return ()
    if len(indices) != len(buffer.shape):
        raise tokens.wrong(f"{buffer.name} has {len(buffer.shape)} axes, not {len(indices)}", first)
    for i in indices:
        if not dtypes.is_int(i.dtype):
            raise tokens.wrong(f"an index of {buffer.name} is {i.dtype}, not an integer", first)
    return indices


def _dtype_of(suffix: str, digits: str) -> str:
    if suffix == "bf16":
        return "bfloat16"
    if not suffix:
        return "int32" if digits.isdigit() else "float32"
    kind = {"f": "float", "i": "int", "u": "uint"}[suffix[0]]
    return kind + (suffix[1:] or "32")
