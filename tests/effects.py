"""Random programs that read and write references: `random_effects(seed)`.

What is read and written, and how often, is in operands of operators, in tuples, branches, clauses, closures that hold references,
functions that are given them, and in values of `let`s that nobody uses. The result is small integers as float32, which no order of
additions changes but that of the reads and writes does.
"""

from __future__ import annotations

import random

import irtool
from irtool.ir import Module

HEAD = """#[version = "0.0.5"]
type Maybe { Some(float32), None }
def @bump(%r: ref(float32), %by: float32) -> float32 {
  let %u = ref_write(%r, add(ref_read(%r), %by));
  ref_read(%r)
}
def @twice(%f: fn () -> float32) -> float32 { subtract(multiply(%f(), 2f), %f()) }
def @count(%n: int32, %r: ref(float32)) -> float32 {
  if (less(%n, 1)) { ref_read(%r) } else { let %b = @bump(%r, 1f); @count(subtract(%n, 1), %r) }
}
"""


def random_effects(seed: int) -> Module:
    """A typed module; the same seed gives the same one."""
    return irtool.infer_types(irtool.parse(_Program(random.Random(seed)).text()))


class _Program:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.values = ["%x", "%y"]
        self.references: list[str] = []
        self.closures: list[str] = []

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"%{stem}{self.count}"

    def text(self) -> str:
        lines = [self.reference(), self.reference()]
        lines += [self.statement() for _ in range(self.rng.randint(3, 7))]
        reads = [f"ref_read({r})" for r in self.references]
        result = ", ".join([self.value(3), *reads, self.value(2)])
        body = "\n".join(f"  {line}" for line in lines)
        return f"{HEAD}def @main(%x: float32, %y: float32) {{\n{body}\n  ({result})\n}}\n"

    def reference(self) -> str:
        name = self.fresh("r")
        line = f"let {name} = ref({self.value(1)});"
        self.references.append(name)
        return line

    def statement(self) -> str:
        kind = self.rng.randrange(10)
        if kind == 0:
            return self.reference()
        if kind in (1, 2):
            name = self.fresh("f")
            line = f"let {name} = fn () -> float32 {{ {self.block()} }};"
            self.closures.append(name)
            return line
        name = self.fresh("v")
        if kind in (3, 4):
            return f"let {name} = ref_write({self.rng.choice(self.references)}, {self.value(2)});"
        line = f"let {name} = {self.value(3)};"
        if self.rng.random() < 0.7:
            self.values.append(name)
        return line

    def block(self) -> str:
        """Two effects in order, and a value."""
        r, u, v = self.rng.choice(self.references), self.fresh("u"), self.fresh("o")
        written = f"let {u} = ref_write({r}, add(ref_read({r}), {self.value(1)}));"
        if self.rng.random() < 0.5:
            return f"let {v} = {self.value(1)}; {written} {v}"
        return f"{written} {self.value(1)}"

    def value(self, depth: int) -> str:
        rng = self.rng
        if depth == 0 or not self.references:
            return rng.choice([*self.values, "1f", "2f"])
        a, b = self.value(depth - 1), self.value(depth - 1)
        r = rng.choice(self.references)
        u, v = self.fresh("u"), self.fresh("v")
        forms = [
            *(
                f"add({a}, {b})",
                f"subtract({a}, multiply({b}, 10f))",
                f"negative({a})",
                f"ref_read({r})",
                f"@bump({r}, {a})",
            ),
            *(f"if (less(ref_read({r}), {a})) {{ {b} }} else {{ {a} }}", f"({a}, {b}).{rng.randrange(2)}"),
            *(f"@count({rng.randint(0, 3)}, {r})", f"ref_read(ref({a}))", f"floor_mod({a}, 7f)"),
            f"(let {u} = ref_write({r}, {a}); {b})",
            f"(let {u} = ref({a}); add(@bump({u}, 1f), ref_read({u})))",
            f"(match ({rng.choice((f'Some({a})', 'None()'))}) {{ Some({v}) => add({v}, {b}), None() => {a} }})",
            f"(fn ({v}: float32) -> float32 {{ add({v}, ref_read({r})) }})({a})",
        ]
        forms += [form for f in self.closures for form in (f"{f}()", f"{f}()", f"@twice({f})")]
        return rng.choice(forms)
