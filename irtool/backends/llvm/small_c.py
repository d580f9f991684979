"""Compiles the functions that expressions call (`backends.formulas`) to LLVM IR.

These are written once, in a small part of C: numbers and vectors of GCC's kind, local variables, `if`, `for`, `return`, the
operators, unions that reinterpret bits. There are no structs, no strings, no arrays. So both backends compute by the same
formulas, in the same order. Of what is conditional for the preprocessor, the last part is taken: the one that needs no compiler
of a certain kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .builder import Builder, float_bits

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F.]+(?:[pP][-+]?\d+)?[uUlLfF]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[uUlLfF]*)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<mark><<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]]))"
)
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
_INTS = {"int": ("i32", True), "short": ("i16", True), "size_t": ("i64", False)}
_INTS |= {f"{u}int{w}_t": (f"i{w}", not u) for u in ("", "u") for w in (8, 16, 32, 64)}
_NUMBERS = {
    "INT32_MAX": "2147483647", "INT32_MIN": "-2147483648", "INT64_MAX": "9223372036854775807LL",
    "INT64_MIN": "-9223372036854775808LL",
}  # fmt: skip
_INTRINSICS = {"sqrt", "fabs", "floor", "ceil", "trunc", "round", "nearbyint", "copysign"}


@dataclass(frozen=True)
class Type:
    """`element` is float, double or iN; `lanes` 0 for a scalar; `pointer`: the address of one."""

    element: str
    signed: bool = True
    lanes: int = 0
    pointer: bool = False

    def __str__(self) -> str:
        if self.pointer:
            return "ptr"
        return f"<{self.lanes} x {self.element}>" if self.lanes else self.element

    @property
    def is_float(self) -> bool:
        return self.element in ("float", "double")

    @property
    def bits(self) -> int:
        return {"float": 32, "double": 64}.get(self.element) or int(self.element[1:])


INT, LONG, BOOL = Type("i32"), Type("i64"), Type("i1", False)
FLOAT, DOUBLE = Type("float"), Type("double")


def named_type(word: str) -> Type | None:
    """The type of that name, `irt_f32x16` among them."""
    if word in _INTS:
        return Type(*_INTS[word])
    if word in ("float", "double"):
        return Type(word)
    match = re.fullmatch(r"irt_([fiu])(\d+)x(\d+)(_u)?", word)
    if match is None:
        return None
    kind, width = match[1], int(match[2])
    element = {32: "float", 64: "double"}[width] if kind == "f" else f"i{width}"
    return Type(element, kind != "u", int(match[3]))


@dataclass
class Value:
    """An operand with its type. `place`: where it can be assigned to: a stack slot, and the lane of a vector in it."""

    type: Type
    text: str
    place: str = ""
    lane: str = ""
    literal: bool = False


@dataclass
class Compiled:
    """A function: its name, its text, and what it calls: functions of ours, and declarations of others'."""

    name: str
    lines: list[str]
    calls: dict[str, None] = field(default_factory=dict)
    declares: dict[str, None] = field(default_factory=dict)


def compile_function(text: str, contract: bool) -> Compiled:
    """One function definition as LLVM IR; `contract`: products and sums may be rounded once."""
    return _Compiler(_preprocessed(text), contract).function()


def _preprocessed(text: str) -> str:
    """Without comments; of what is conditional the last part."""
    lines: list[str] = []
    stack: list[int] = []
    for line in re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).split("\n"):
        word = line.strip()
        if word.startswith("#if"):
            stack.append(len(lines))
        elif word.startswith(("#elif", "#else")):
            del lines[stack[-1] :]
        elif word.startswith("#endif"):
            stack.pop()
        else:
            lines.append(line)
    return re.sub(r"__attribute__\(\((noinline, unused|unused)\)\)", "", "\n".join(lines))


class _Compiler:
    def __init__(self, text: str, contract: bool) -> None:
        self.tokens = [m[m.lastgroup or 0] for m in _TOKEN.finditer(text)]
        self.at = 0
        self.flags = "contract " if contract else ""
        self.types: dict[str, Type] = {}
        self.names: dict[str, Value] = {}
        self.unions: dict[str, dict[str, tuple[Type, str]]] = {}
        self.b = Builder()
        self.result = Type("void")
        self.made = Compiled("", [])

    # -- tokens --------------------------------------------------------------------------------------------------------

    @property
    def token(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def step(self, wanted: str = "") -> str:
        token = self.token
        assert not wanted or token == wanted, (
            f"expected {wanted!r}, not {' '.join(self.tokens[self.at - 5 : self.at + 5])}"
        )
        self.at += 1
        return token

    def take(self, mark: str) -> bool:
        if self.token == mark:
            self.at += 1
            return True
        return False

    def type_here(self, at: int | None = None) -> Type | None:
        word = self.tokens[self.at if at is None else at]
        return self.types.get(word) or named_type(word)

    def skip_words(self) -> None:
        while self.token in ("static", "IRT_INLINE", "const"):
            self.step()

    def type(self) -> Type:
        self.skip_words()
        found = self.type_here()
        assert found is not None, f"no type: {' '.join(self.tokens[self.at - 5 : self.at + 5])}"
        self.step()
        return found

    # -- declarations and statements -----------------------------------------------------------------------------------

    def function(self) -> Compiled:
        self.result = self.type()
        self.made.name = self.step()
        self.step("(")
        params = []
        while not self.take(")"):
            t = self.type()
            pointer = self.take("*")
            name = self.step()
            t = Type(t.element, t.signed, t.lanes, pointer)
            params.append(f"{t} %{self.b.fresh(name)}")
            if pointer:
                self.names[name] = Value(t, f"%{name}")
            else:
                self.variable(name, t, f"%{name}")
            self.take(",")
        self.step("{")
        while not self.take("}"):
            self.statement()
        head = f"define internal {self.result} @{self.made.name}({', '.join(params)})"
        if self.b.is_open:
            self.b.do("unreachable")
        self.made.lines = self.b.text(
            head + (" noinline" if "_far_" in self.made.name else " alwaysinline") + " nounwind"
        )
        return self.made

    def variable(self, name: str, t: Type, first: str = "") -> None:
        slot = self.b.slot(str(t), f"{name}_at")
        self.names[name] = Value(t, "", slot)
        if first:
            self.b.do(f"store {t} {first}, ptr {slot}")

    def statement(self) -> None:
        token = self.token
        if self.take("{"):
            while not self.take("}"):
                self.statement()
        elif self.take(";"):
            pass
        elif self.take("return"):
            value = self.converted(self.expression(), self.result)
            self.step(";")
            self.b.ret(f"{self.result} {value.text}")
            self.b.start(self.b.fresh("after"))
        elif self.take("typedef"):
            t = self.type()
            name = self.step()
            size = self.attribute(t)
            self.types[name] = Type(t.element, t.signed, size // (t.bits // 8))
            self.step(";")
        elif self.take("union"):
            self.union()
        elif self.take("if"):
            self.conditional()
        elif self.take("for"):
            self.loop()
        elif token == "const" or (self.type_here() is not None and self.tokens[self.at + 1] != "("):
            self.declaration()
        else:
            self.assignment()
            self.step(";")

    def attribute(self, t: Type) -> int:
        """`__attribute__((vector_size(…)))`, in bytes."""
        for word in ("__attribute__", "(", "(", "vector_size", "("):
            self.step(word)
        if self.take("sizeof"):
            self.step("(")
            of = self.type()
            self.step(")")
            size = of.bits // 8 * max(1, of.lanes)
        else:
            size = int(self.step())
        for _ in range(3):
            self.step(")")
        return size

    def union(self) -> None:
        self.step("{")
        members: dict[str, Type] = {}
        while not self.take("}"):
            t = self.type()
            members[self.step()] = t
            self.step(";")
        name = self.step()
        slot = self.b.slot(str(max(members.values(), key=lambda t: t.bits)), name)
        self.unions[name] = {m: (t, slot) for m, t in members.items()}
        self.step(";")

    def declaration(self) -> None:
        t = self.type()
        while True:
            name = self.step()
            self.variable(name, t)
            if self.take("="):
                value = self.converted(self.ternary(), t)
                self.b.do(f"store {t} {value.text}, ptr {self.names[name].place}")
            if not self.take(","):
                break
        self.step(";")

    def conditional(self) -> None:
        self.step("(")
        cond = self.truth(self.expression())
        self.step(")")
        then, other, end = (self.b.fresh(n) for n in ("then", "else", "end"))
        self.b.branch(cond, then, other)
        self.b.start(then)
        self.statement()
        self.b.jump(end)
        self.b.start(other)
        if self.take("else"):
            self.statement()
        self.b.start(end)

    def loop(self) -> None:
        """`for`: the condition and the step are read when the body has been."""
        self.step("(")
        if not self.take(";"):
            self.assignment()
            self.step(";")
        head, body, end = (self.b.fresh(n) for n in ("head", "body", "end"))
        self.b.start(head)
        cond = self.truth(self.expression())
        self.step(";")
        again = self.at
        level = 0
        while level or self.token != ")":
            level += {"(": 1, ")": -1}.get(self.step(), 0)
        self.step(")")
        self.b.branch(cond, body, end)
        self.b.start(body)
        self.statement()
        after, self.at = self.at, again
        self.assignment()
        self.at = after
        self.b.jump(head)
        self.b.start(end)

    def assignment(self) -> None:
        for mark in ("++", "--"):
            if self.take(mark):
                target = self.postfix()
                one = Value(INT, "1", literal=True)
                self.assign(target, self.arithmetic(mark[0], self.loaded(target), one))
                return
        target = self.unary_place()
        operator = self.step()
        value = self.ternary() if operator == "=" else None
        if value is None:
            value = self.arithmetic(operator[:-1], self.loaded(target), self.ternary())
        if self.token == "=":
            raise AssertionError("chained assignment")
        self.assign(target, value)

    def unary_place(self) -> Value:
        if self.take("*"):
            found = self.names[self.step()]
            t = found.type
            return Value(Type(t.element, t.signed, t.lanes), "", found.text)
        return self.postfix()

    def assign(self, target: Value, value: Value) -> None:
        made = self.converted(value, target.type)
        if target.lane:
            whole = Type(target.type.element, target.type.signed, int(target.text))
            old = self.b.value(f"load {whole}, ptr {target.place}")
            new = self.b.value(f"insertelement {whole} {old}, {target.type} {made.text}, i32 {target.lane}")
            self.b.do(f"store {whole} {new}, ptr {target.place}")
            return
        self.b.do(f"store {target.type} {made.text}, ptr {target.place}")

    # -- expressions ---------------------------------------------------------------------------------------------------

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
        made = self.b.value(f"phi {t} [ {then.text}, %{then_block} ], [ {other.text}, %{other_block} ]")
        return Value(t, made)

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
        """Neither side has effects, so both are computed."""
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
            found = self.names[self.step()]
            return Value(Type(found.type.element, found.type.signed, found.type.lanes, True), found.place)
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
            index = self.converted(self.expression(), INT)
            self.step("]")
            t = value.type
            value = Value(Type(t.element, t.signed), str(t.lanes), value.place, index.text)
        return value

    def primary(self) -> Value:
        if self.take("("):
            value = self.expression()
            self.step(")")
            return value
        word = self.step()
        if word[0].isdigit() or word[0] == ".":
            return _number(word)
        if word in _NUMBERS:
            negative = _NUMBERS[word].startswith("-")
            value = _number(_NUMBERS[word].removeprefix("-"))
            value = Value(LONG if "64" in word else INT, ("-" if negative else "") + value.text, literal=True)
            return value
        if word in ("INFINITY", "NAN"):
            return Value(FLOAT, float_bits(float("inf" if word == "INFINITY" else "nan"), True), literal=True)
        if word in ("INT64_C", "UINT64_C"):
            self.step("(")
            value = _number(self.step())
            self.step(")")
            return Value(Type("i64", word == "INT64_C"), value.text, literal=True)
        if word in self.unions:
            self.step(".")
            t, place = self.unions[word][self.step()]
            return Value(t, "", place)
        if self.token == "(":
            return self.call(word)
        return self.names[word]

    def call(self, name: str) -> Value:
        self.step("(")
        if name == "__builtin_convertvector":
            value = self.loaded(self.expression())
            self.step(",")
            t = self.type()
            self.step(")")
            return self.convert_lanes(value, t)
        args: list[Value] = []
        while not self.take(")"):
            value = self.ternary()
            args.append(value if value.type.pointer else self.loaded(value))
            self.take(",")
        if name.startswith("irt_"):
            self.made.calls[name] = None
            t, params = signature(name)
            given = [
                a if a.type.pointer else self.converted(a, p) for a, p in zip(args, params or [a.type for a in args])
            ]
            listed = ", ".join(f"{a.type} {a.text}" for a in given)
            return Value(t, self.b.value(f"call {t} @{name}({listed})"))
        single = name.endswith("f")
        t = FLOAT if single else DOUBLE
        listed = ", ".join(f"{t} {self.converted(a, t).text}" for a in args)
        stem = name.removesuffix("f") if single else name
        symbol = f"llvm.{stem}.f{t.bits}" if stem in _INTRINSICS else name
        self.made.declares[f"declare {t} @{symbol}({', '.join([str(t)] * len(args))})"] = None
        return Value(t, self.b.value(f"call {t} @{symbol}({listed})"))

    # -- conversions ---------------------------------------------------------------------------------------------------

    def loaded(self, v: Value) -> Value:
        """The value of what may be a place."""
        if not v.place or v.type.pointer:
            return v
        if v.lane:
            whole = Type(v.type.element, v.type.signed, int(v.text))
            old = self.b.value(f"load {whole}, ptr {v.place}")
            return Value(v.type, self.b.value(f"extractelement {whole} {old}, i32 {v.lane}"))
        return Value(v.type, self.b.value(f"load {v.type}, ptr {v.place}"))

    def truth(self, v: Value) -> str:
        v = self.loaded(v)
        if v.type.element == "i1":
            return v.text
        if v.type.is_float:
            return self.b.value(f"fcmp une {v.type} {v.text}, {float_bits(0.0, True)}")
        return self.b.value(f"icmp ne {v.type} {v.text}, 0")

    def promoted(self, v: Value) -> Value:
        """C computes with narrow integers, and with what comparisons give, as int."""
        if not v.type.lanes and not v.type.is_float and v.type.bits < 32:
            return self.converted(v, INT)
        return v

    def common(self, a: Value, b: Value) -> Type:
        """The type that two operands are combined in."""
        if a.type.lanes or b.type.lanes:
            return a.type if a.type.lanes else b.type
        for t in (DOUBLE, FLOAT):
            if t in (a.type, b.type):
                return t
        widest = max(32, a.type.bits, b.type.bits)
        unsigned = any(not v.type.signed and v.type.bits == widest for v in (a, b))
        return Type(f"i{widest}", not unsigned)

    def converted(self, v: Value, t: Type) -> Value:
        """The value as C converts it; a scalar beside a vector is in each of its lanes."""
        v = self.loaded(v)
        if t.lanes and not v.type.lanes:
            one = self.converted(v, Type(t.element, t.signed))
            first = self.b.value(f"insertelement {t} poison, {one.type} {one.text}, i32 0")
            zeros = f"<{t.lanes} x i32> zeroinitializer"
            return Value(t, self.b.value(f"shufflevector {t} {first}, {t} poison, {zeros}"))
        if v.type.lanes:
            return Value(t, v.text) if str(v.type) == str(t) else self.cast(v, t)
        return self.convert_lanes(v, t)

    def convert_lanes(self, v: Value, t: Type) -> Value:
        """Number by number."""
        s = v.type
        if str(s) == str(t):
            return Value(t, v.text, literal=v.literal)
        if v.literal and not s.is_float and not t.is_float:
            value = int(v.text) & ((1 << t.bits) - 1)
            return Value(t, str(value - (1 << t.bits) if value >> (t.bits - 1) and t.bits > 1 else value), literal=True)
        if v.literal and not s.is_float:
            return Value(t, float_bits(float(int(v.text)), t == FLOAT), literal=True)
        if s.is_float and t.is_float:
            how = "fpext" if t.bits > s.bits else "fptrunc"
        elif s.is_float:
            how = "fptosi" if t.signed else "fptoui"
        elif t.is_float:
            how = "sitofp" if s.signed else "uitofp"
        else:
            how = "trunc" if t.bits < s.bits else "sext" if s.signed else "zext"
        return Value(t, self.b.value(f"{how} {s} {v.text} to {t}"))

    def cast(self, v: Value, t: Type) -> Value:
        """`(type)value`: of vectors, the bits."""
        if not v.type.lanes and not t.lanes:
            return self.convert_lanes(v, t)
        if str(v.type) == str(t):
            return Value(t, v.text)
        return Value(t, self.b.value(f"bitcast {v.type} {v.text} to {t}"))

    def arithmetic(self, op: str, a: Value, b: Value) -> Value:
        a, b = self.loaded(a), self.loaded(b)
        if op in ("<<", ">>"):
            a = self.promoted(a)
            t = a.type
        else:
            t = self.common(self.promoted(a), self.promoted(b))
        a, b = self.converted(a, t), self.converted(b, t)
        if op in ("<", "<=", ">", ">=", "==", "!="):
            return self.compare(op, a, b, t)
        if t.is_float:
            name = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}[op]
            return Value(t, self.b.value(f"{name} {self.flags}{t} {a.text}, {b.text}"))
        signs = {"/": ("sdiv", "udiv"), "%": ("srem", "urem"), ">>": ("ashr", "lshr")}
        names = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "shl"}
        name = signs[op][not t.signed] if op in signs else names[op]
        return Value(t, self.b.value(f"{name} {t} {a.text}, {b.text}"))

    def compare(self, op: str, a: Value, b: Value, t: Type) -> Value:
        if t.is_float:
            how = "fcmp " + {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}[op]
        else:
            order = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
            how = "icmp " + ({"==": "eq", "!=": "ne"}.get(op) or ("s" if t.signed else "u") + order[op])
        bit = self.b.value(f"{how} {t} {a.text}, {b.text}")
        if not t.lanes:
            return Value(BOOL, bit)
        mask = Type(f"i{t.bits}", True, t.lanes)
        return Value(mask, self.b.value(f"sext <{t.lanes} x i1> {bit} to {mask}"))


def _number(word: str) -> Value:
    if word[:2].lower() == "0x" and "p" not in word.lower():
        value = int(word.rstrip("uUlL"), 16)
        is_long, unsigned = "l" in word.lower(), "u" in word.lower() or value >> 31 == 1
        is_long |= value >> 32 > 0
        return Value(Type("i64" if is_long else "i32", not unsigned), str(value), literal=True)
    if word[:2].lower() == "0x" or any(c in word for c in ".eE"):
        single = word[-1] in "fF"
        digits = word.rstrip("fF") if single else word
        real = float.fromhex(digits) if digits[:2].lower() == "0x" else float(digits)
        return Value(FLOAT if single else DOUBLE, float_bits(real, single), literal=True)
    digits = word.rstrip("uUlL")
    t = Type("i64" if "l" in word.lower() or int(digits) >> 31 else "i32", "u" not in word.lower())
    return Value(t, digits, literal=True)


_SIGNATURES: dict[str, tuple[Type, list[Type]]] = {}


def signature(name: str) -> tuple[Type, list[Type]]:
    """The types of a function of ours, by the head of its definition; noted by `declare`."""
    return _SIGNATURES[name]


def declare(text: str) -> str:
    """Notes the types of the function that a text defines, and gives its name."""
    compiler = _Compiler(_preprocessed(text).split("{")[0], False)
    result = compiler.type()
    name = compiler.step()
    compiler.step("(")
    params = []
    while not compiler.take(")"):
        t = compiler.type()
        params.append(Type(t.element, t.signed, t.lanes, compiler.take("*")))
        compiler.step()
        compiler.take(",")
    _SIGNATURES[name] = result, params
    return name
