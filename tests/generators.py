"""Random well-typed modules: `random_module(seed)`, and `modules()` as a Hypothesis strategy.

Every construct of the language is drawn: graph bindings that share nodes across scopes, `let`, `if`, tuples, closures,
calls between functions, references, algebraic data and `match`, scalar and tensor constants of many dtypes, attributes of
many kinds, names that collide. Parameters and results are annotated; nothing is inferred. Evaluation of what is drawn
terminates and stays finite: no recursion, no division.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from irtool.ir import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalTypeVar,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
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
    free_variables,
    scalar,
)
from irtool.ops.base import call

NAMES = ("x", "y", "data", "x1", "weight", "conv/bias", "layer.0", "a", "v", "t")
SHAPES = ((), (1,), (3,), (2, 3), (3, 2), (1, 3), (2, 1, 4))
DTYPES = ("float32", "float32", "float32", "float64", "int32", "int64", "float16", "int8", "uint8", "bool")
UNARY = ("tanh", "nn.relu", "negative", "sigmoid", "abs", "exp")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")


def list_type() -> TypeData:
    """`type List[A] { Cons(A, List[A]), Nil, }`."""
    header, a = GlobalTypeVar("List"), TypeVar("A")
    cons = Constructor("Cons", (a, TypeCall(header, (a,))), header, 0)
    return TypeData(header, (a,), (cons, Constructor("Nil", (), header, 1)))


class Maker:
    """Draws one module from a random number generator."""

    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng = rng
        self.size = size
        self.data = list_type()
        self.cons, self.nil = self.data.constructors
        self.functions: dict[str, Function] = {}

    def module(self) -> Module:
        for name in ["main", "f", "helper_2"][: self.rng.randint(1, 3)][::-1]:
            self.functions[name] = self.function(self.size)
        return Module(self.functions, {"List": self.data})

    def type(self) -> TensorType:
        return TensorType(self.rng.choice(SHAPES), self.rng.choice(DTYPES))

    def var(self, t: Type, annotated: bool = True) -> Var:
        return Var(self.rng.choice(NAMES), t if annotated else None)

    def function(self, size: int, outer: list[tuple[Expr, Type]] | None = None) -> Function:
        params = tuple(self.var(self.type()) for _ in range(self.rng.randint(0 if outer else 1, 3)))
        known = [*(outer or []), *((p, p.type_annotation) for p in params)]
        body, t = self.block(known, size)  # type: ignore[arg-type]
        attrs: dict[str, Any] = {}
        if self.rng.random() < 0.2:
            attrs = {"hash": 'a"b\\c\n', "sizes": (1, (2, 3)), "nothing": None, "alpha": 0.1}
            if not free_variables(Function(params, body)):  # a kernel captures nothing
                attrs["Primitive"] = 1
        return Function(params, body, t, (), attrs)

    def block(self, known: list[tuple[Expr, Type]], size: int) -> tuple[Expr, Type]:
        """Some new nodes over what is known, and the last of them with its type. `known` is left as it is."""
        known = list(known)
        lets: list[tuple[Var, Expr]] = []
        for _ in range(self.rng.randint(1, max(1, size))):
            e, t = self.node(known, size)
            if self.rng.random() < 0.25 or self.is_bound(e):
                v = self.var(t, self.rng.random() < 0.5)
                lets.append((v, e))
                e = v
            known.append((e, t))
        e, t = known[-1] if self.rng.random() < 0.8 else self.rng.choice(known)
        for v, value in reversed(lets):
            e = Let(v, value, e)
        return e, t

    def is_bound(self, e: Expr) -> bool:
        """Whether a node of a block is bound by `let` in any case."""
        return False

    def constant(self, t: TensorType) -> Constant:
        if t.dtype == "bool":
            return Constant(np.array(self.rng.random() < 0.5) if not t.shape else np.ones(t.shape, "bool"))
        values = [self.rng.choice((0, 1, 2, 0.1, -3, 1e-5, 123456.75, 7)) for _ in range(int(np.prod(t.shape)))]
        if not t.dtype.startswith("float"):
            values = [abs(int(v)) % 100 for v in values]
        with np.errstate(over="ignore"):
            return Constant(np.array(values, dtype=t.dtype).reshape(t.shape))

    def tensor(self, known: list[tuple[Expr, Type]], *dtypes: str) -> tuple[Expr, TensorType]:
        fits = [(e, t) for e, t in known if isinstance(t, TensorType) and (not dtypes or t.dtype in dtypes)]
        if fits and self.rng.random() < 0.9:
            return self.rng.choice(fits)
        t = TensorType(self.rng.choice(SHAPES), self.rng.choice(dtypes or DTYPES))
        return self.constant(t), t

    def like(self, known: list[tuple[Expr, Type]], t: Type) -> Expr:
        """Something known of type `t`, or a new constant or cast."""
        fits = [e for e, u in known if u == t]
        if fits:
            return self.rng.choice(fits)
        if isinstance(t, TensorType):
            return self.constant(t)
        if isinstance(t, TupleType):
            return Tuple(tuple(self.like(known, f) for f in t.fields))
        if isinstance(t, RefType):
            return RefCreate(self.like(known, t.value))
        raise AssertionError(t)

    def node(self, known: list[tuple[Expr, Type]], size: int) -> tuple[Expr, Type]:
        makers = [self.unary, self.binary, self.shaped, self.tuple, self.field, self.literal, self.called]
        if size > 1:
            makers += [self.branch, self.closure, self.nested_let, self.matched, self.reference]
        expr = None
        while expr is None:
            expr = self.rng.choice(makers)(known, max(1, size // 2))
        return expr

    def unary(self, known: Any, size: int) -> tuple[Expr, Type]:
        x, t = self.tensor(known, "float32", "float64")
        return call(self.rng.choice(UNARY), x), t

    def binary(self, known: Any, size: int) -> tuple[Expr, Type]:
        x, t = self.tensor(known, "float32", "float64", "int32", "int64")
        return call(self.rng.choice(BINARY), x, self.like(known, t)), t

    def shaped(self, known: Any, size: int) -> tuple[Expr, Type]:
        x, t = self.tensor(known, "float32", "float64", "int32")
        kind = self.rng.randrange(4)
        if kind == 0:
            dtype = self.rng.choice(("float32", "float64", "int32"))
            return call("cast", x, dtype=dtype), TensorType(t.shape, dtype)
        if kind == 1:
            return call("reshape", x, newshape=(-1,)), TensorType((int(np.prod(t.shape)),), t.dtype)
        if kind == 2 and t.shape:
            axes = tuple(self.rng.sample(range(len(t.shape)), len(t.shape)))
            return call("transpose", x, axes=axes), TensorType(tuple(t.shape[a] for a in axes), t.dtype)
        if kind == 3 and t.shape:
            return call("sum", x, axis=(0,), keepdims=True), TensorType((1, *t.shape[1:]), t.dtype)
        return call("copy", x), t

    def tuple(self, known: Any, size: int) -> tuple[Expr, Type]:
        parts = [self.rng.choice(known) for _ in range(self.rng.randint(0, 3))] if known else []
        return Tuple(tuple(e for e, _ in parts)), TupleType(tuple(t for _, t in parts))

    def field(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        fits = [(e, t) for e, t in known if isinstance(t, TupleType) and t.fields]
        if not fits:
            return None
        e, t = self.rng.choice(fits)
        i = self.rng.randrange(len(t.fields))
        return TupleGetItem(e, i), t.fields[i]

    def literal(self, known: Any, size: int) -> tuple[Expr, Type]:
        t = self.type()
        return self.constant(t), t

    def called(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        if not self.functions:
            return None
        name = self.rng.choice(list(self.functions))
        f = self.functions[name]
        args = tuple(self.like(known, p.type_annotation) for p in f.params)  # type: ignore[arg-type]
        return Call(GlobalVar(name), args), f.ret_type  # type: ignore[return-value]

    def branch(self, known: Any, size: int) -> tuple[Expr, Type]:
        cond = self.like(known, scalar("bool"))
        true, t = self.block(known, size)
        false = self.like(known, t) if self.rng.random() < 0.5 else self.same_type(known, t, true)
        return If(cond, true, false), t

    def same_type(self, known: Any, t: Type, e: Expr) -> Expr:
        """Another expression of the type of `e`, perhaps `e` itself shared."""
        if isinstance(t, TensorType) and t.dtype.startswith("float"):
            return call("nn.relu", self.like(known, t))
        return self.like(known, t)

    def closure(self, known: Any, size: int) -> tuple[Expr, Type]:
        f = self.function(size, known)
        args = tuple(self.like(known, p.type_annotation) for p in f.params)  # type: ignore[arg-type]
        if self.rng.random() < 0.5:
            return Call(f, args), f.ret_type  # type: ignore[return-value]
        g = self.var(f.func_type)
        return Let(g, f, Call(g, args)), f.ret_type  # type: ignore[return-value]

    def nested_let(self, known: Any, size: int) -> tuple[Expr, Type]:
        value, t = self.block(known, size)
        v = self.var(t)
        body, u = self.block([*known, (v, t)], size)
        return Let(v, value, body), u

    def matched(self, known: Any, size: int) -> tuple[Expr, Type]:
        head, t = self.tensor(known)
        data = Call(self.cons, (head, Call(self.nil, ())))
        h, rest = self.var(t), self.var(TypeCall(self.data.header, (t,)), False)
        body, u = self.block([*known, (h, t)], size)
        first = PatternConstructor(self.cons, (PatternVar(h), PatternVar(rest)))
        other = PatternConstructor(self.nil, ()) if self.rng.random() < 0.5 else PatternWildcard()
        clauses = (Clause(first, body), Clause(other, self.like(known, u)))
        if self.rng.random() < 0.3:
            a = self.var(t)
            return Match(Tuple((head, head)), (Clause(PatternTuple((PatternVar(a), PatternWildcard())), a),)), t
        return Match(data, clauses, self.rng.random() < 0.5), u

    def reference(self, known: Any, size: int) -> tuple[Expr, Type]:
        x, t = self.tensor(known)
        r = self.var(RefType(t))
        done = self.var(TupleType(()))
        written = Let(done, RefWrite(r, self.like(known, t)), RefRead(r))
        return Let(r, RefCreate(x), written), t


def random_module(seed: int, size: int = 6) -> Module:
    """A well-typed module; the same for the same arguments. `size` bounds the nodes of a block."""
    return Maker(random.Random(seed), size).module()


def modules(size: int = 6) -> st.SearchStrategy[Module]:
    """Well-typed modules."""
    return st.integers(0, 2**32).map(lambda seed: random_module(seed, size))
