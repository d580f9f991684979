"""Functions of a small part of C as LLVM functions: declarations and statements."""

from __future__ import annotations

from .expressions import Expressions
from .signatures import note
from .types import INT, Compiled, Type, Value


def compile_function(text: str, contract: bool) -> Compiled:
    """One function definition as LLVM IR; `contract`: products and sums may be rounded once."""
    return _Function(text, contract).function()


class _Function(Expressions):
    def __init__(self, text: str, contract: bool) -> None:
        super().__init__(text, contract)
        self.result = Type("void")

    def function(self) -> Compiled:
        self.result = self.type()
        self.compiled.name = self.step()
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
        head = f"define internal {self.result} @{self.compiled.name}({', '.join(params)})"
        if self.b.is_open:
            self.b.do("unreachable")
        self.compiled.lines = self.b.text(
            head + (" noinline" if "_far_" in self.compiled.name else " alwaysinline") + " nounwind"
        )
        return self.compiled

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
                value = self.lanes(t) if self.take("{") else self.converted(self.ternary(), t)
                self.b.do(f"store {t} {value.text}, ptr {self.names[name].place}")
            if not self.take(","):
                break
        self.step(";")

    def lanes(self, t: Type) -> Value:
        """A vector of constants, `{1.0f, -2.0f}`: a number for each lane."""
        each = Type(t.element, t.signed)
        numbers = []
        while not self.take("}"):
            number = self.converted(self.ternary(), each)
            assert number.literal, "a lane is no constant"
            numbers.append(f"{each} {number.text}")
            self.take(",")
        assert len(numbers) == t.lanes, f"{len(numbers)} numbers for {t.lanes} lanes"
        return Value(t, f"<{', '.join(numbers)}>")

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

    def assign(self, target: Value, value: Value) -> None:
        converted = self.converted(value, target.type)
        if target.lane:
            whole = Type(target.type.element, target.type.signed, int(target.text))
            old = self.b.value(f"load {whole}, ptr {target.place}")
            new = self.b.value(f"insertelement {whole} {old}, {target.type} {converted.text}, i32 {target.lane}")
            self.b.do(f"store {whole} {new}, ptr {target.place}")
            return
        self.b.do(f"store {target.type} {converted.text}, ptr {target.place}")


def declare(text: str) -> str:
    """Records the types of the function that a text defines, and returns its name."""
    compiler = Expressions(text, False)
    result = compiler.type()
    name = compiler.step()
    compiler.step("(")
    params = []
    while not compiler.take(")"):
        t = compiler.type()
        params.append(Type(t.element, t.signed, t.lanes, compiler.take("*")))
        compiler.step()
        compiler.take(",")
    note(name, result, params)
    return name
