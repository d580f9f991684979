"""Expressions of a small part of C as LLVM instructions."""

from __future__ import annotations

from collections.abc import Callable

from ..builder import float_bits
from .conversions import Conversions
from .signatures import signature
from .tokens import Tokens
from .types import BOOL, DOUBLE, FLOAT, INT, LONG, Compiled, Type, Value, named_type, number

_BINARY = [
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
]

_NUMBERS = {
    "INT32_MAX": "2147483647", "INT32_MIN": "-2147483648", "INT64_MAX": "9223372036854775807LL",
    "INT64_MIN": "-9223372036854775808LL",
}  # fmt: skip
_INTRINSICS = {"sqrt", "fabs", "floor", "ceil", "trunc", "round", "nearbyint", "copysign"}


class Expressions(Tokens, Conversions):
    """Reads expressions and writes their instructions; each method returns the operand of its expression."""

    def __init__(self, text: str, contract: bool) -> None:
        Tokens.__init__(self, text)
        Conversions.__init__(self, contract)
        self.types: dict[str, Type] = {}
        self.names: dict[str, Value] = {}
        self.unions: dict[str, dict[str, tuple[Type, str]]] = {}
        self.compiled = Compiled("", [])

    def type_here(self, token: int | None = None) -> Type | None:
        word = self.tokens[self.at if token is None else token]
        return self.types.get(word) or named_type(word)

    def skip_words(self) -> None:
        while self.token in ("static", "IRT_INLINE", "const"):
            self.step()

    def type(self) -> Type:
        self.skip_words()
        result = self.type_here()
        assert result is not None, f"no type: {' '.join(self.tokens[self.at - 5 : self.at + 5])}"
        self.step()
        return result

    def unary_place(self) -> Value:
        if self.take("*"):
            variable = self.names[self.step()]
            t = variable.type
            return Value(Type(t.element, t.signed, t.lanes), "", variable.text)
        return self.postfix()

    def expression(self) -> Value:
        return self.ternary()

    def ternary(self) -> Value:
        cond = self.binary(0)
        if not self.take("?"):
            return cond
        then_label, other_label, end = (self.b.fresh(n) for n in ("then", "else", "end"))
        self.b.branch(self.truth(cond), then_label, other_label)
        self.b.start(then_label)
        then = self.loaded(self.ternary())
        self.step(":")
        mark, then_block = len(self.b.lines), self.b.block
        self.b.start(other_label)
        self.b.lines[mark:] = [f"{other_label}:"]
        other = self.loaded(self.ternary())
        t = self.common(then, other)
        other = self.converted(other, t)
        other_block = self.b.block
        # The conversion of the first part belongs to the end of its block.
        tail, self.b.lines = self.b.lines[mark:], self.b.lines[:mark]
        then = self.converted(then, t)
        self.b.do(f"br label %{end}")
        self.b.lines += tail
        self.b.start(end)
        result = self.b.value(f"phi {t} [ {then.text}, %{then_block} ], [ {other.text}, %{other_block} ]")
        return Value(t, result)

    def binary(self, level: int) -> Value:
        if level == len(_BINARY):
            return self.unary()
        left = self.binary(level + 1)
        while self.token in _BINARY[level]:
            operator = self.step()
            if operator in ("&&", "||"):
                left = self.short_circuit(operator, left, lambda: self.binary(level + 1))
            else:
                left = self.arithmetic(operator, self.loaded(left), self.loaded(self.binary(level + 1)))
        return left

    def short_circuit(self, operator: str, left: Value, right: Callable[[], Value]) -> Value:
        """`&&` or `||` with both sides computed, as neither has effects."""
        a, b = self.truth(left), self.truth(right())
        return Value(BOOL, self.b.value(f"{'and' if operator == '&&' else 'or'} i1 {a}, {b}"))

    def unary(self) -> Value:
        if self.take("-"):
            value = self.loaded(self.unary())
            if value.literal:
                if value.type.is_float:
                    value.text = f"0x{int(value.text, 16) ^ 1 << 63:016X}"
                else:
                    value.text = str(-int(value.text))
                return value
            if value.type.is_float:
                return Value(value.type, self.b.value(f"fneg {value.type} {value.text}"))
            return self.arithmetic("-", Value(INT, "0", literal=True), value)
        if self.take("~"):
            value = self.promoted(self.loaded(self.unary()))
            if value.literal:
                return Value(value.type, str(~int(value.text)), literal=True)
            minus = self.converted(Value(INT, "-1", literal=True), value.type)
            return Value(value.type, self.b.value(f"xor {value.type} {value.text}, {minus.text}"))
        if self.take("!"):
            return Value(BOOL, self.b.value(f"xor i1 {self.truth(self.unary())}, true"))
        if self.take("&"):
            variable = self.names[self.step()]
            return Value(Type(variable.type.element, variable.type.signed, variable.type.lanes, True), variable.place)
        if self.token == "*":
            return self.loaded(self.unary_place())
        if self.token == "(" and (t := self.type_here(self.at + 1)) is not None:
            self.step("(")
            self.step()
            self.step(")")
            if self.take("{"):
                self.step("0")
                self.step("}")
                return Value(t, "zeroinitializer" if t.lanes else "0")
            return self.cast(self.loaded(self.unary()), t)
        return self.postfix()

    def postfix(self) -> Value:
        value = self.primary()
        while self.take("["):
            t = value.type
            index = self.converted(self.expression(), LONG if t.pointer else INT)
            self.step("]")
            if t.pointer:
                one = Type(t.element, t.signed, t.lanes)
                value = Value(one, "", self.b.element(str(one), value.text, index.text, inside=False))
                continue
            value = Value(Type(t.element, t.signed), str(t.lanes), value.place, index.text)
        return value

    def primary(self) -> Value:
        if self.take("("):
            value = self.expression()
            self.step(")")
            return value
        word = self.step()
        if word[0].isdigit() or word[0] == ".":
            return number(word)
        if word in _NUMBERS:
            negative = _NUMBERS[word].startswith("-")
            value = number(_NUMBERS[word].removeprefix("-"))
            value = Value(LONG if "64" in word else INT, ("-" if negative else "") + value.text, literal=True)
            return value
        if word in ("INFINITY", "NAN"):
            return Value(FLOAT, float_bits(float("inf" if word == "INFINITY" else "nan"), True), literal=True)
        if word in ("INT64_C", "UINT64_C"):
            self.step("(")
            value = number(self.step())
            self.step(")")
            return Value(Type("i64", word == "INT64_C"), value.text, literal=True)
        if word in self.unions:
            self.step(".")
            t, place = self.unions[word][self.step()]
            return Value(t, "", place)
        if self.token == "(":
            return self.call(word)
        return self.names[word]

    def shuffle(self) -> Value:
        """`__builtin_shuffle(a, b, (irt_i32x4){0, 4, 1, 5})` of one vector or of two."""
        vectors: list[Value] = []
        while not (self.token == "(" and self.type_here(self.at + 1) is not None and self.tokens[self.at + 3] == "{"):
            vectors.append(self.loaded(self.ternary()))
            self.step(",")
        for _ in range(4):
            self.step()
        lanes: list[str] = []
        while not self.take("}"):
            lanes.append(f"i32 {self.step()}")
            self.take(",")
        self.step(")")
        t, (a, b) = vectors[0].type, (vectors * 2)[:2]
        mask = f"<{len(lanes)} x i32> <{', '.join(lanes)}>"
        return Value(t, self.b.value(f"shufflevector {t} {a.text}, {t} {b.text}, {mask}"))

    def call(self, name: str) -> Value:
        self.step("(")
        if name == "__builtin_convertvector":
            value = self.loaded(self.expression())
            self.step(",")
            t = self.type()
            self.step(")")
            return self.convert_lanes(value, t)
        if name == "__builtin_shuffle":
            return self.shuffle()
        args: list[Value] = []
        while not self.take(")"):
            value = self.ternary()
            args.append(value if value.type.pointer else self.loaded(value))
            self.take(",")
        if name.startswith("irt_"):
            self.compiled.calls[name] = None
            t, params = signature(name)
            arguments = [
                a if a.type.pointer else self.converted(a, p) for a, p in zip(args, params or [a.type for a in args])
            ]
            listed = ", ".join(f"{a.type} {a.text}" for a in arguments)
            return Value(t, self.b.value(f"call {t} @{name}({listed})"))
        single = name.endswith("f")
        t = FLOAT if single else DOUBLE
        listed = ", ".join(f"{t} {self.converted(a, t).text}" for a in args)
        stem = name.removesuffix("f") if single else name
        symbol = f"llvm.{stem}.f{t.bits}" if stem in _INTRINSICS else name
        self.compiled.declares[f"declare {t} @{symbol}({', '.join([str(t)] * len(args))})"] = None
        return Value(t, self.b.value(f"call {t} @{symbol}({listed})"))
