"""Random higher-order programs, as text: what `modules` draws as nodes is of first order, but for closures of one kind.

A program is drawn for the type of its result: functions that take, return and hold functions, polymorphic and recursive ones,
data types with functions and data in their fields, nested patterns, references that closures share, names that shadow others.
Every recursion ends. References are created, written and read by `let`s of one block, so that their order is said. Numbers
are integers, or floats on which nothing is decided.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import irtool
from irtool.infer.lengths import symbols_of_type
from irtool.ir import FuncType, GlobalTypeVar, Module, TensorType, TupleType, Type, TypeCall, TypeVar, scalar
from irtool.ir.types import rewrite_type, tuple_leaves
from irtool.symbolic_int.arithmetic import symbolic
from tests.fuzz.program_library import FUNCTIONS, PARAMETERS, TYPES, constructors

Env = list[tuple[str, Type]]
I32, BOOL = scalar("int32"), scalar("bool")
SHAPES = ((3,), (2, 3), (1,), (), (2, 1), (0, 2))
DTYPES = ("float32", "int32", "int64", "bool", "float64", "uint8", "int8")
LITERALS = {
    "bool": ("True", "False"),
    "int32": ("0", "1", "2", "3", "7", "100", "2147483647"),
    "int64": ("0i64", "1i64", "3i64", "9223372036854775807i64"),
    "float32": ("0f", "1f", "0.5f", "3.25f"),
    "float64": ("0f64", "1f64", "0.5f64"),
}


_A, _B = TypeVar("A"), TypeVar("B")
_F32 = scalar("float32")
POLYMORPHIC = (
    FuncType((_A,), _A, (_A,)),
    FuncType((_A, I32), _A, (_A,)),
    FuncType((_A, _B), _A, (_A, _B)),
    FuncType((FuncType((_A,), _A), _A), _A, (_A,)),
    FuncType((_A,), TupleType((_A, _F32)), (_A,)),
    FuncType((_A,), TypeCall(GlobalTypeVar("Opt"), (_A,)), (_A,)),
    FuncType((TypeCall(GlobalTypeVar("List"), (_A,)), I32), I32, (_A,)),
)
"""Types of polymorphic functions that are values, if a program has some."""


def program_text(seed: int) -> str:
    """A program; the same for the same seed."""
    rng = random.Random(f"program {seed}")
    return Drawing(rng).program(rng.choice((4, 8, 12, 20)))


def polymorphic_program_text(seed: int) -> str:
    """A program with polymorphic functions that are values, in tuples, data and references too; the same for the same seed."""
    rng = random.Random(f"polymorphic {seed}")
    return Drawing(rng, polymorphic=True).program(rng.choice((4, 8, 12, 20)))


def together_program_text(seed: int) -> str:
    """A program with everything at once: polymorphic functions, data, closures, references and recursion, data and tensors of a length
    `n` among its parameters, and states that steps hand on; the same for the same seed."""
    rng = random.Random(f"together {seed}")
    n = symbolic("n", 1, 5)
    shapes = (*SHAPES, (n,), (n,), (2, n), (n, 1))
    drawing = Drawing(rng, polymorphic=rng.random() < 0.5, shapes=shapes)
    return drawing.program(rng.choice((4, 8, 12)), takes_data=True, states=rng.randint(0, 2), length=n)


def data_program_text(seed: int) -> str:
    """A program whose parameters and results have data in them; the same for the same seed."""
    rng = random.Random(f"data {seed}")
    return Drawing(rng).program(rng.choice((4, 8, 12)), takes_data=True)


def program_module(seed: int, text: Callable[[int], str] = program_text) -> Module | None:
    """The program with types; None where they hang on what nothing in it says, as of what a list without elements has."""
    try:
        return irtool.infer_types(irtool.parse(text(seed), f"program {seed}"))
    except irtool.IrError as error:
        if all(d.code is not None and d.code.name == "E0304" for d in error.diagnostics):
            return None
        raise


class Drawing:
    """One program while it is drawn: `functions` and `types` of the library that it uses, and a number for the next name."""

    def __init__(
        self, rng: random.Random, polymorphic: bool = False, shapes: Sequence[tuple[int, ...]] = SHAPES
    ) -> None:
        self.rng = rng
        self.shapes = shapes
        self.polymorphic = polymorphic
        self.functions: set[str] = set()
        self.count = 0
        self.own: list[tuple[str, Sequence[Type], Type]] = []
        self.shadows = rng.random() < 0.3

    def program(self, size: int, takes_data: bool = False, states: int = 0, length: int = 0) -> str:
        """Up to two functions, and `@main` of tensors, or of data too, which calls them; its last parameters are `states` of the last
        results."""
        lines_of_code = [
            self.define(f"f{i}", self.types(1, (0, 1, 2)), self.type(2), size) for i in range(self.rng.randint(0, 2))
        ]
        draw = self.without_functions if takes_data else self.base
        pair = TupleType((draw(), draw()))
        params = [draw() for _ in range(self.rng.randint(1, 3))]
        result: Type = self.rng.choice((pair, draw()))
        attrs, head = "", ""
        if length:
            params.append(TensorType((length,), "float32"))
            head = f'#[lengths = "1<={length}<=5"]\n'
        if states:
            state_types = [self.base(fixed=True) for _ in range(states)]
            first = len(list(tuple_leaves(result)))
            numbers = [-1] * len(params) + [first + k for k in range(states)]
            params += state_types
            result = TupleType((result, *state_types))
            attrs = f", state_outputs={numbers}"
        lines_of_code.append(self.define("main", params, result, size, attrs))
        code = "\n".join([*(FUNCTIONS[name] for name in sorted(self.functions)), *lines_of_code])
        used = [text for name, text in TYPES.items() if name in code or any(c in code for c in _names(text))]
        return "\n".join(['#[version = "0.0.5"]', head, *used, code, ""])

    def define(self, name: str, params: Sequence[Type], result: Type, size: int, attrs: str = "") -> str:
        names = [f"%{name}_{i}" for i in range(len(params))]
        body = self.block(list(zip(names, params, strict=True)), result, size)
        self.own.append((f"@{name}", params, result))
        head = ", ".join(f"{n}: {t}" for n, t in zip(names, params, strict=True))
        return f"def @{name}({head}{attrs}) -> {result} {{\n{body}\n}}"

    # Types

    def base(self, fixed: bool = False) -> TensorType:
        """The type of a tensor; `fixed`: without lengths."""
        scalars, shapes = (I32, I32, I32, BOOL, scalar("float32")), SHAPES if fixed else self.shapes
        return self.rng.choice(
            (*scalars, *(TensorType(self.rng.choice(shapes), self.rng.choice(DTYPES)) for _ in scalars))
        )

    def without_functions(self) -> Type:
        """A type, half of the time of data, in whose values there are no functions."""
        while True:
            t = self.data(2) if self.rng.random() < 0.5 else self.type(2)
            is_data = isinstance(t, TupleType | TypeCall)
            if "fn" not in str(t) and "Task" not in str(t) and not (is_data and symbols_of_type(t)):
                return t

    def types(self, depth: int, counts: Sequence[int]) -> tuple[Type, ...]:
        return tuple(self.type(depth) for _ in range(self.rng.choice(counts)))

    def type(self, depth: int) -> Type:
        kind = self.rng.random()
        if depth == 0 or kind < 0.45:
            return self.base()
        if kind < 0.6:
            return TupleType(self.types(depth - 1, (0, 1, 2, 2, 3)))
        if self.polymorphic and kind < 0.68:
            return self.rng.choice(POLYMORPHIC)
        if kind < 0.72:
            return FuncType(self.types(depth - 1, (0, 1, 1, 2)), self.type(depth - 1))
        return self.data(depth)

    def data(self, depth: int) -> TypeCall:
        name = self.rng.choice([*TYPES])
        return _data(name, *(self.type(depth - 1) for _ in range(PARAMETERS[name])))

    # Names

    def name(self, of: str = "v") -> str:
        self.count += 1
        return f"%{self.rng.choice('abc')}" if self.shadows and self.rng.random() < 0.3 else f"%{of}{self.count}"

    def library(self, name: str) -> str:
        self.functions |= {"even"} if name == "odd" else {name}
        return f"@{name}"

    # Expressions

    def expr(self, env: Env, t: Type, size: int) -> str:
        """An expression of that type."""
        known = _of_type(env, t)
        if size <= 0:
            return self.rng.choice(known) if known and self.rng.random() < 0.9 else self.smallest(env, t)
        forms = (
            [self.plain] * 5
            + [self.called] * 3
            + [self.branch, self.matched, self.projected, self.applied, *[self.by_library] * 3]
        )
        for _ in range(20):
            drawn = (
                self.rng.choice(known)
                if known and self.rng.random() < 0.15
                else self.rng.choice(forms)(env, t, size // 2)
            )
            if drawn is not None:
                return drawn
        return self.smallest(env, t)

    def smallest(self, env: Env, t: Type) -> str:
        if isinstance(t, TensorType):
            return self.literal(t)
        if isinstance(t, TypeVar):
            return self.rng.choice(_of_type(env, t))  # the literal around this has a parameter of the type
        if isinstance(t, TypeCall):
            ends = [c for c in constructors(t) if t not in c[1]]
            return self.constructed(env, *self.rng.choice(ends), 0)
        drawn = self.plain(env, t, 0)
        assert drawn is not None
        return drawn

    def literal(self, t: TensorType) -> str:
        if not t.shape:
            known = LITERALS.get(t.dtype)
            return self.rng.choice(known) if known else f'cast({self.rng.randint(0, 9)}, dtype="{t.dtype}")'
        form = f'shape=[{", ".join(map(str, t.shape))}], dtype="{t.dtype}"'
        if self.rng.random() < 0.4:
            return f"full({self.literal(scalar(t.dtype))}, {form})"
        return f"{self.rng.choice(('zeros', 'ones'))}({form})"

    def constructed(self, env: Env, name: str, fields: Sequence[Type], size: int) -> str:
        return f"{name}({', '.join(self.expr(env, f, size) for f in fields)})" if fields else name

    def function(self, env: Env, t: FuncType, size: int) -> str:
        self.count += 1
        if self.polymorphic and self.rng.random() < 0.2:
            if t.arg_types == (t.ret_type,):
                return self.library("id")
            if len(t.arg_types) == 1 and t.ret_type == _data("Opt", t.arg_types[0]):
                return "Some"
        if t.type_params:
            return self.polymorphic_function(env, t, size)
        params = [f"%p{self.count}_{i}" for i in range(len(t.arg_types))]
        body = self.block([*env, *zip(params, t.arg_types, strict=True)], t.ret_type, size)
        head = ", ".join(f"{n}: {a}" for n, a in zip(params, t.arg_types, strict=True))
        return f"fn ({head}) -> {t.ret_type} {{\n{body}\n}}"

    def polymorphic_function(self, env: Env, t: FuncType, size: int) -> str:
        """A literal with type parameters of its own names, by which those around it are not hidden."""
        own = {p: TypeVar(f"{p.name}{self.count}") for p in t.type_params}
        one = _replaced(FuncType(t.arg_types, t.ret_type), own)
        assert isinstance(one, FuncType)
        literal = self.function(env, one, size)
        if literal.startswith("fn "):
            return f"fn [{', '.join(v.name for v in own.values())}]{literal[3:]}"
        return literal

    def plain(self, env: Env, t: Type, size: int) -> str | None:
        """What makes values of that kind of type: a tuple, a function literal, a constructor, an operator."""
        if isinstance(t, TupleType):
            fields = [self.expr(env, f, size) for f in t.fields]
            return f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"
        if isinstance(t, FuncType):
            return self.function(env, t, size)
        if isinstance(t, TypeCall):
            return self.constructed(env, *self.rng.choice(constructors(t)), size)
        return self.operator(env, t, size) if isinstance(t, TensorType) else None

    def operator(self, env: Env, t: TensorType, size: int) -> str:
        rng = self.rng
        x = self.expr(env, t, size)
        if rng.random() < 0.15:
            shape = rng.choice((t.shape, (), t.shape[-1:]))
            return f"where({self.expr(env, TensorType(shape, 'bool'), size)}, {x}, {self.expr(env, t, size)})"
        if rng.random() < 0.15:
            dtype = rng.choice([d for d in ("int32", "uint8", "int8", "bool", "int64") if d != t.dtype])
            return f'cast({self.expr(env, TensorType(t.shape, dtype), size)}, dtype="{t.dtype}")'
        if t in (I32, _F32) and self.shapes is not SHAPES and rng.random() < 0.3:
            rows = self.expr(env, TensorType(rng.choice(self.shapes), t.dtype), size)
            return f"sum({rows})" if rng.random() < 0.6 else f"sum(clip({rows}, a_min=-9f, a_max=9f))"
        if t.dtype == "bool":
            if rng.random() < 0.5:
                u = TensorType(t.shape, rng.choice(("int32", "int64")))
                return f"{rng.choice(('less', 'equal', 'greater_equal'))}({self.expr(env, u, size)}, {self.expr(env, u, size)})"
            return f"{rng.choice(('logical_and', 'logical_or', 'logical_xor'))}({x}, {self.expr(env, t, size)})"
        if t.dtype.startswith("float") and rng.random() < 0.3:
            return f"{rng.choice(('tanh', 'sigmoid', 'nn.relu', 'negative'))}({x})"
        y = self.expr(env, TensorType(rng.choice((t.shape, t.shape, t.shape[-1:], ())), t.dtype), size)
        return f"{rng.choice(('add', 'multiply', 'subtract', 'maximum', 'minimum'))}({x}, {y})"

    def called(self, env: Env, t: Type, size: int) -> str | None:
        """A call of a function that is known: bound to a variable, or one of the module."""
        local = [
            (n, u.arg_types) for n, v in dict(env).items() if isinstance(v, FuncType) for u in self.instances(v, t)
        ]
        callables = [*local, *((n, p) for n, p, r in self.own if r == t)]
        if not callables:
            return None
        name, params = self.rng.choice(callables)
        return f"{name}({', '.join(self.expr(env, p, size) for p in params)})"

    def instances(self, f: FuncType, t: Type) -> list[FuncType]:
        """The function type for types with which its result is `t`, if there are any."""
        if f.ret_type == t or not f.type_params:
            types = {} if f.ret_type == t else None
        elif f.ret_type == _A:
            types = {_A: t}
        elif isinstance(t, TupleType) and len(t.fields) == 2:
            types = {_A: t.fields[0]}
        else:
            types = {_A: t.args[0]} if isinstance(t, TypeCall) and t.args else None
        if types is None:
            return []
        types |= {p: self.type(1) for p in f.type_params if p not in types}
        one = _replaced(FuncType(f.arg_types, f.ret_type), types)
        return [one] if isinstance(one, FuncType) and one.ret_type == t else []

    def branch(self, env: Env, t: Type, size: int) -> str:
        cond = self.expr(env, BOOL, size // 2)
        return f"if ({cond}) {{\n{self.block(env, t, size)}\n}} else {{\n{self.block(env, t, size)}\n}}"

    def projected(self, env: Env, t: Type, size: int) -> str:
        fields = [*self.types(1, (0, 1, 2)), t]
        self.rng.shuffle(fields)
        return (
            f"{self.expr(env, TupleType(tuple(fields)), size)}.{fields.index(t)}"
            if size
            else f"({self.smallest(env, TupleType((t,)))}).0"
        )

    def applied(self, env: Env, t: Type, size: int) -> str:
        """A function literal applied where it stands."""
        f = FuncType(self.types(1, (0, 1, 2)), t)
        return f"({self.function(env, f, size)})({', '.join(self.expr(env, a, size // 2) for a in f.arg_types)})"

    def by_library(self, env: Env, t: Type, size: int) -> str | None:
        """A call of a polymorphic function, or of one on data."""

        def of(u: Type) -> str:
            return self.expr(env, u, size // 2)

        a, b, call = self.type(1), self.type(1), self.library
        if t == I32 and self.rng.random() < 0.3:
            return f"{call('total')}({call('insert')}({of(_data('Tree', I32))}, {of(I32)}))"
        if t == BOOL and self.rng.random() < 0.3:
            return f"{call(self.rng.choice(('even', 'odd')))}({self.rng.randint(0, 5)})"
        if t == _data("List", I32) and self.rng.random() < 0.5:
            return f"{call('iota')}({self.rng.randint(0, 4)})"
        if isinstance(t, TypeCall) and t == _data("List", *t.args[:1]) and self.rng.random() < 0.5:
            return f"{call('map')}({of(FuncType((a,), t.args[0]))}, {of(_data('List', a))})"
        match self.rng.randrange(8):
            case 0:
                return f"{call('id')}({of(t)})"
            case 1:
                return f"{call('compose')}({of(FuncType((b,), t))}, {of(FuncType((a,), b))})({of(a)})"
            case 2:
                return f"{call('curry')}({of(FuncType((a, b), t))})({of(a)})({of(b)})"
            case 3:
                return f"{call('swap')}({of(TupleType((a, t)))}).0"
            case 4:
                return f"{call('done')}({of(_data('Task', a, t))})"
            case 5:
                return f"{call('foldl')}({of(FuncType((t, a), t))}, {of(t)}, {of(_data('List', a))})"
            case 6:
                return f"{call('foldr')}({of(FuncType((a, t), t))}, {of(t)}, {of(_data('List', a))})"
        return f"{call('iterate')}({self.rng.randint(0, 3)}, {of(FuncType((t,), t))}, {of(t)})"

    # Matches

    def matched(self, env: Env, t: Type, size: int) -> str | None:
        u = self.data(2) if self.rng.random() < 0.8 else TupleType((self.data(1), self.base()))
        clauses = self.patterns(u, 2)
        if len(clauses) > 8:
            return None
        data = self.expr(env, u, size // 2)
        rows = [f"{p} => {{\n{self.block([*env, *bound], t, size // 2)}\n}},\n" for p, bound in clauses]
        return f"match ({data}) {{\n{''.join(rows)}}}"

    def patterns(self, t: Type, depth: int) -> list[tuple[str, Env]]:
        """Patterns that cover a type, with what they bind; one field of each constructor is looked into further."""
        if depth and isinstance(t, TypeCall) and self.rng.random() < 0.85:
            rows = [row for name, fields in constructors(t) for row in self.columns(name, fields, depth)]
            if self.rng.random() < 0.3:
                rows = [*rows[: self.rng.randint(1, len(rows))], self.variable(t)]
            return rows
        if depth and isinstance(t, TupleType) and t.fields and self.rng.random() < 0.7:
            return self.columns("", t.fields, depth)
        return [self.variable(t)]

    def columns(self, name: str, fields: Sequence[Type], depth: int) -> list[tuple[str, Env]]:
        if not fields:
            return [(name, [])]
        chosen_field = self.rng.randrange(len(fields))
        rows = []
        for inner in (
            self.patterns(fields[chosen_field], depth - 1)
            if self.rng.random() < 0.5
            else [self.variable(fields[chosen_field])]
        ):
            parts = [inner if i == chosen_field else self.variable(f) for i, f in enumerate(fields)]
            text = ", ".join(p for p, _ in parts)
            rows.append(
                (
                    f"{name}({text}{',' if not name and len(parts) == 1 else ''})",
                    [b for _, bound in parts for b in bound],
                )
            )
        return rows

    def variable(self, t: Type) -> tuple[str, Env]:
        if self.rng.random() < 0.03:
            return "_", []
        self.count += 1
        return f"%m{self.count}: {t}", [(f"%m{self.count}", t)]

    # Blocks

    def block(self, env: Env, t: Type, size: int) -> str:
        """Bindings and an expression of that type."""
        env, lines = list(env), []
        for _ in range(self.rng.choice((0, 0, 1, 1, 2, 3)) if size > 0 else 0):
            u = self.type(2) if self.rng.random() < 0.7 else t
            makers = (self.references, self.recursion, self.graph_binding, self.let, self.let, self.let)
            lines += self.rng.choice(makers)(env, u, size // 2)
        return "\n".join([*lines, self.expr(env, t, size - len(lines))])

    def let(self, env: Env, t: Type, size: int) -> list[str]:
        name = self.name()
        around = [(n, u) for n, u in env if n != name]  # in its own value, a variable is that of the `let`
        value = self.expr(around, t, size) if self.rng.random() < 0.9 else f"{{\n{self.block(around, t, size)}\n}}"
        env.append((name, t))
        return [f"let {name}{f': {t}' if self.rng.random() < 0.8 else ''} = {value};"]

    def graph_binding(self, env: Env, t: Type, size: int) -> list[str]:
        self.count += 1
        name = f"%{1000 + self.count}"
        value = self.expr(env, t, size)
        env.append((name, t))
        return [f"{name} = {value};"]

    def recursion(self, env: Env, t: Type, size: int) -> list[str]:
        """A local function that calls itself a few times."""
        self.count += 1
        f, k, x, result = (f"%{n}{self.count}" for n in ("go", "k", "x", "r"))
        step = self.expr([*env, (x, t), (k, I32)], t, size)
        start = self.expr(env, t, size)
        env.append((result, t))
        body = f"if (less({k}, 1)) {{ {x} }} else {{ {f}(subtract({k}, 1), {step}) }}"
        return [
            f"let {f} = fn ({k}: int32, {x}: {t}) -> {t} {{\n{body}\n}};",
            f"let {result} = {f}({self.rng.randint(0, 3)}, {start});",
        ]

    def references(self, env: Env, t: Type, size: int) -> list[str]:
        """A reference, written in the block, in a branch or by a closure that is called several times."""
        self.count += 1
        r, before, after, f, x = (f"%{n}{self.count}" for n in ("ref", "before", "after", "write", "arg"))
        first, then = self.expr(env, t, size), self.expr([*env, (before, t)], t, size)
        bindings = [f"let {r} = ref({first});", f"let {before} = ref_read({r});"]
        kind = self.rng.randrange(3)
        if kind == 0:
            bindings.append(f"let {f} = ref_write({r}, {then});")
        elif kind == 1:
            bindings.append(f"let {f} = if ({self.expr(env, BOOL, 1)}) {{ ref_write({r}, {then}) }} else {{ () }};")
        else:
            value = self.expr([*env, (before, t), (x, t)], t, size)
            bindings.append(f"let {f} = fn ({x}: {t}) -> () {{ ref_write({r}, {value}) }};")
            bindings += [f"let {f}_{i} = {f}({self.expr(env, t, size // 2)});" for i in range(self.rng.randint(1, 3))]
        env += [(before, t), (after, t)]
        return [*bindings, f"let {after} = ref_read({r});"]


def _replaced(t: Type, values: Mapping[TypeVar, Type]) -> Type:
    return rewrite_type(t, lambda x: values.get(x, x) if isinstance(x, TypeVar) else x)


def _data(name: str, *args: Type) -> TypeCall:
    return TypeCall(GlobalTypeVar(name), args)


def _names(text: str) -> list[str]:
    """The constructors that a type definition names."""
    return [part.split("(")[0].strip() for part in text.split("{")[1].split(", ") if part.strip(" }")]


def _of_type(env: Env, t: Type) -> list[str]:
    """What has that type: variables that no other one shadows, and their fields."""
    names = []
    for name, u in dict(env).items():
        if u == t:
            names.append(name)
        elif isinstance(u, TupleType):
            names += [f"{name}.{i}" for i, f in enumerate(u.fields) if f == t]
    return names
