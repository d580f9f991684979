"""C's implicit operations on operands: loads, conversions of types, the common type of two."""

from __future__ import annotations

from ..builder import Builder, float_bits
from .types import BOOL, DOUBLE, FLOAT, INT, Type, Value


class Conversions:
    """Writes the instructions of conversions and of arithmetic. `contract`: products and sums may be rounded once."""

    def __init__(self, contract: bool) -> None:
        self.b = Builder()
        self.flags = "contract " if contract else ""

    def loaded(self, v: Value) -> Value:
        """The value of a value or a place."""
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
        """The value as int for narrow integers and results of comparisons, as in C."""
        if not v.type.lanes and not v.type.is_float and v.type.bits < 32:
            return self.converted(v, INT)
        return v

    def common(self, a: Value, b: Value) -> Type:
        """The common type of two operands."""
        if a.type.lanes or b.type.lanes:
            return a.type if a.type.lanes else b.type
        for t in (DOUBLE, FLOAT):
            if t in (a.type, b.type):
                return t
        widest = max(32, a.type.bits, b.type.bits)
        unsigned = any(not v.type.signed and v.type.bits == widest for v in (a, b))
        return Type(f"i{widest}", not unsigned)

    def converted(self, v: Value, t: Type) -> Value:
        """The value converted as in C; a scalar operand of a vector is broadcast to its lanes."""
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
        """The value converted lane by lane."""
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
        """`(type)value`: for vectors, a reinterpretation of the bits."""
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
