"""Random modules for the fuzzer: wider than `generators.Maker`, whose seeds other tests know.

On top of what that draws: many more operators, whose result types inference gives; filled tensors as operands; dimensions
of 0; integers at the ends of their types; bounded recursion, also with local functions made anew in each round; polymorphic
functions and data; functions that share a reference; networks. Nothing here makes a sharp decision on a rounded number
(no comparison of floats, no cast of floats to integers), so that passes that round differently can be judged.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.infer import infer_expr
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
    PatternVar,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    TensorType,
    Tuple,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeVar,
    Var,
    post_order,
    rewrite,
    scalar,
)
from irtool.ops.base import call
from tests.generators import Maker
from tests.networks import random_network
from tests.passes.stateful import StatefulMaker

SHAPES = ((), (1,), (3,), (4,), (2, 3), (2, 4), (1, 3), (2, 1, 4), (1, 4, 4, 4), (0,), (2, 0))
FLOATS = ("float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64")


def box_type() -> TypeData:
    """`type Box[T] { Full(T), }`."""
    header, t = GlobalTypeVar("Box"), TypeVar("T")
    return TypeData(header, (t,), (Constructor("Full", (t,), header, 0),))


class FuzzMaker(StatefulMaker):
    """Draws one module; with `stateful`, its functions share a reference."""

    def __init__(self, rng: random.Random, size: int, stateful: bool) -> None:
        super().__init__(rng, size)
        self.has_state = stateful
        self.state: Expr = Var("none")
        self.box = box_type()
        (self.full,) = self.box.constructors
        self.type_var = TypeVar("T")

    def module(self) -> Module:
        if self.rng.random() < 0.4:
            self.functions["get"] = self.getter()
        if self.rng.random() < 0.4:
            self.functions["loop"] = self.recursive()
        if self.has_state:
            drawn = super().module()
        else:
            names = ["main", "f", "helper_2"][: self.rng.randint(1, 3)][::-1]
            for name in names:
                self.functions[name] = self.function(self.size)
            drawn = Module(self.functions)
        return Module(drawn.functions, {"List": self.data, "Box": self.box})

    def called(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        callable_ = {n: f for n, f in self.functions.items() if n not in ("get", "loop")}
        if not callable_:
            return None
        functions, self.functions = self.functions, callable_
        try:
            return super().called(known, size) if self.has_state else Maker.called(self, known, size)
        finally:
            self.functions = functions

    def is_bound(self, e: Expr) -> bool:
        """What mentions the state is bound by `let`: a graph binding would leave open when, and whether, it is read and written."""
        return self.has_state and self.state in post_order(e)

    def reference(self, known: Any, size: int) -> tuple[Expr, Type]:
        return super().reference(known, size) if self.has_state else Maker.reference(self, known, size)

    def function(self, size: int, outer: list[tuple[Expr, Type]] | None = None) -> Function:
        f = super().function(size, outer)
        if f.attrs.get("Primitive"):
            f = Function(f.params, f.body, f.ret_type, (), {k: v for k, v in f.attrs.items() if k != "Primitive"})
        return f

    def type(self) -> TensorType:
        return TensorType(self.rng.choice(SHAPES), self.rng.choice((*FLOATS, "float32", "int32", "int64", "bool")))

    def constant(self, t: TensorType) -> Constant:
        n = int(np.prod(t.shape))
        values: list[Any]
        if t.dtype == "bool":
            values = [self.rng.random() < 0.5 for _ in range(n)]
        elif t.dtype in INTEGERS:
            ends = np.iinfo(t.dtype)
            values = [self.rng.choice((0, 1, 2, 3, 7, 7, int(ends.min), int(ends.max))) for _ in range(n)]
        else:
            values = [self.rng.choice((0, 1, 1, 2, 0.1, -3, 0.5, 7)) for _ in range(n)]
            if self.rng.random() < 0.3:
                values = [values[0]] * n if n else []
        return Constant(np.array(values, dtype=t.dtype).reshape(t.shape))

    def like(self, known: Any, t: Type) -> Expr:
        if isinstance(t, TypeCall):
            fits = [e for e, u in known if u == t]
            if fits:
                return self.rng.choice(fits)
            (inner,) = t.args
            if t.func == self.box.header:
                return Call(self.full, (self.like(known, inner),))
            return Call(self.nil, ())
        return super().like(known, t)

    def node(self, known: Any, size: int) -> tuple[Expr, Type]:
        makers = [self.unary, self.binary, self.shaped, self.tuple, self.field, self.literal, self.called]
        makers += [self.operator] * 6 + [self.filled, self.filled, self.looped, self.got, self.datum, self.reread]
        if size > 1:
            makers += [self.branch, self.closure, self.nested_let, self.matched, self.reference, self.branch]
        expr = None
        while expr is None:
            expr = self.rng.choice(makers)(known, max(1, size // 2))
        return expr

    def shaped(self, known: Any, size: int) -> tuple[Expr, Type]:
        x, t = self.tensor(known, *FLOATS, "int32")
        if self.rng.random() < 0.3:
            dtype = self.rng.choice(FLOATS if t.dtype in FLOATS else (*FLOATS, "int64", "int32", "int8"))
            return call("cast", x, dtype=dtype), TensorType(t.shape, dtype)
        return self.typed(known, self.rng.choice(("reshape", "transpose", "sum", "copy")), x, t) or (x, t)

    def typed(self, known: Any, name: str, x: Expr, t: TensorType) -> tuple[Expr, Type] | None:
        """A call of the operator on `x` and on what fits beside it, if there is one; its type is inferred."""
        rng, rank = self.rng, len(t.shape)
        axis = rng.randrange(-rank, rank) if rank else 0
        other = self.like(known, t)
        some = self.constant(TensorType(rng.choice(((), t.shape[-1:], (1,) * rank, t.shape)), t.dtype))
        last = t.shape[-1] if rank else 1
        tables: dict[str, Any] = {
            "reshape": ((x,), {"newshape": rng.choice(((-1,), t.shape, (1, *t.shape), (1, -1)))}),
            "transpose": ((x,), {"axes": tuple(rng.sample(range(rank), rank))}),
            "copy": ((x,), {}),
            "squeeze": ((x,), {"axis": None}),
            "expand_dims": ((x,), {"axis": axis, "num_newaxis": rng.randint(1, 2)}),
            "concatenate": ((Tuple((x, other)),), {"axis": axis}),
            "stack": ((Tuple((x, other)),), {"axis": axis}),
            "strided_slice": ((x,), {"begin": (0,) * rank, "end": tuple(max(1, int(d) - 1) for d in t.shape)}),
            "broadcast_to": ((x,), {"shape": (2, *t.shape)}),
            "broadcast_to_like": ((x, other), {}),
            "reshape_like": ((x, other), {}),
            "tile": ((x,), {"reps": (2,) * rank}),
            "repeat": ((x,), {"repeats": 2, "axis": axis}),
            "reverse": ((x,), {"axis": axis}),
            "nn.pad": ((x, self.constant(scalar(t.dtype))), {"pad_width": [(rng.randint(0, 1), 1)] * rank}),
            "sum": ((x,), {"axis": (axis,) if rank else None, "keepdims": rng.random() < 0.5}),
            "mean": ((x,), {"axis": (axis,) if rank else None}),
            "max": ((x,), {"axis": (axis,) if rank and t.shape[axis] else None}),
            "variance": ((x, call("mean", x, axis=(axis,), keepdims=True)), {"axis": (axis,)}),
            "cumsum": ((x,), {"axis": axis}),
            "take": ((x, self.constant(TensorType((2,), "int32"))), {"axis": axis, "mode": "clip"}),
            "where": ((self.like(known, TensorType(t.shape, "bool")), x, other), {}),
            "clip": ((x,), {"a_min": -1.0, "a_max": 6.0}),
            "zeros_like": ((x,), {}),
            "ones_like": ((x,), {}),
            "full_like": ((x, self.constant(scalar(t.dtype))), {}),
            "nn.bias_add": ((x, self.constant(TensorType((last,), t.dtype))), {"axis": -1}),
            "nn.softmax": ((call("tanh", x),), {"axis": axis}),
            "nn.dense": ((x, self.constant(TensorType((2, last), t.dtype))), {}),
            "nn.batch_flatten": ((x,), {}),
            "nn.leaky_relu": ((x,), {"alpha": 0.1}),
            "nn.prelu": ((x, self.constant(TensorType((last,), t.dtype))), {"axis": -1}),
            "nn.conv2d": (
                (x, self.constant(TensorType((4, 4, 1, 1), t.dtype))),
                {"channels": 4, "kernel_size": (1, 1), "padding": rng.choice(((0,), (1, 0), (0, 0, 0, 0)))},
            ),
            "nn.max_pool2d": ((x,), {"pool_size": (2, 2)}),
            "layout_transform": ((x,), {"src_layout": "NCHW", "dst_layout": "NHWC"}),
            "divide": ((x, Constant(np.array(rng.choice((2, 0.5, 1)), t.dtype))), {}),
            "sqrt": ((call("abs", x),), {}),
            "rsqrt": ((call("add", call("abs", x), Constant(np.array(1, t.dtype))),), {}),
            "add": (rng.choice(((x, some), (some, x), (x, other))), {}),
            "subtract": (rng.choice(((x, some), (some, x), (x, other))), {}),
            "multiply": (rng.choice(((x, some), (some, x), (x, other))), {}),
            "maximum": (rng.choice(((x, some), (some, x))), {}),
            "less": ((x, some), {}),
            "equal": ((x, other), {}),
            "logical_not": ((x,), {}),
            "logical_and": ((x, other), {}),
            "bitwise_and": ((x, some), {}),
            "right_shift": ((x, Constant(np.array(1, t.dtype))), {}),
            "shape_of": ((x,), {"dtype": "int32"}),
            "dyn.reshape": ((x, call("shape_of", other, dtype="int64")), {"newshape": ()}),
        }
        args, attributes = tables[name]
        try:
            expr = call(name, *args, **attributes)
            inferred = infer_expr(_abstracted(expr, dict(known)), Module({}))
        except (IrError, ValueError, TypeError):
            return None
        result = inferred.body.checked_type  # type: ignore[attr-defined]
        if not isinstance(result, TensorType | TupleType) or not _is_small(result):
            return None
        return expr, result

    def operator(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        x, t = self.tensor(known, *FLOATS, *INTEGERS, "bool")
        name = self.rng.choice(ON_FLOATS if t.dtype in FLOATS else ON_BOOLS if t.dtype == "bool" else ON_INTEGERS)
        return self.typed(known, name, x, t)

    def filled(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        """An operator with an operand of one value."""
        x, t = self.tensor(known, *FLOATS, "int32")
        shape = self.rng.choice((t.shape, t.shape[-1:]))
        fill: Expr = call(self.rng.choice(("zeros", "ones")), shape=shape, dtype=t.dtype)
        if self.rng.random() < 0.4:
            fill = call("full", self.constant(scalar(t.dtype)), shape=shape, dtype=t.dtype)
        name = self.rng.choice(("add", "subtract", "multiply", "maximum", "nn.bias_add", "nn.prelu", "divide"))
        if name == "divide":
            fill = call("ones", shape=shape, dtype=t.dtype)
        if name.startswith("nn.") and (t.dtype not in FLOATS or len(t.shape) < 2 or shape != t.shape[-1:]):
            name = "add"
        swapped = name in ("add", "multiply") and self.rng.random() < 0.5
        filled = call(name, *((fill, x) if swapped else (x, fill)), **({"axis": -1} if name.startswith("nn.") else {}))
        return filled, t

    def getter(self) -> Function:
        """`fn [T](%g: Box[T]) -> T { match (%g) { Full(%x) => %x } }`."""
        t = self.type_var
        g, x = Var("g", TypeCall(self.box.header, (t,))), Var("x", t)
        clause = Clause(PatternConstructor(self.full, (PatternVar(x),)), x)
        return Function((g,), Match(g, (clause,), True), t, (t,))

    def datum(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        x, t = self.tensor(known)
        if "get" not in self.functions:
            return None
        return Call(self.full, (x,)), TypeCall(self.box.header, (t,))

    def got(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        if "get" not in self.functions:
            return None
        x, t = self.tensor(known)
        boxes = [(e, u) for e, u in known if isinstance(u, TypeCall) and u.func == self.box.header]
        if boxes and self.rng.random() < 0.5:
            e, u = self.rng.choice(boxes)
            return Call(GlobalVar("get"), (e,)), u.args[0]
        return Call(GlobalVar("get"), (Call(self.full, (x,)),)), t

    def recursive(self) -> Function:
        """A function that calls itself `%n` times, perhaps from a local function that is made anew in each round."""
        rng = self.rng
        t = TensorType(rng.choice(((), (3,))), "float32")
        n, x = Var("n", scalar("int32")), Var("x", t)
        step = call(rng.choice(("tanh", "nn.relu", "sigmoid")), x)
        again: Expr = Call(GlobalVar("loop"), (call("subtract", n, Constant(np.array(1, "int32"))), step))
        if rng.random() < 0.6:
            v = Var("j", scalar("int32"))
            body = If(
                call("less", v, Constant(np.array(1, "int32"))),
                x,
                Call(GlobalVar("loop"), (call("subtract", v, Constant(np.array(1, "int32"))), step)),
            )
            local = Function((v,), body, t)
            again = Call(local, (call("subtract", n, Constant(np.array(1, "int32"))),))
            if rng.random() < 0.5:
                g = Var("g", local.func_type if rng.random() < 0.5 else None)
                again = Let(g, local, Call(g, again.args))
        return Function((n, x), If(call("less", n, Constant(np.array(1, "int32"))), x, again), t)

    def looped(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        f = self.functions.get("loop")
        if f is None:
            return None
        t = f.params[1].type_annotation
        assert t is not None
        n: Expr = Constant(np.array(self.rng.randint(0, 4), "int32"))
        if self.rng.random() < 0.4:
            bound = self.like(known, scalar("int32"))
            n = call("minimum", bound, n)
        return Call(GlobalVar("loop"), (n, self.like(known, t))), t

    def reread(self, known: Any, size: int) -> tuple[Expr, Type] | None:
        """Two writes to one reference and a read between them."""
        x, t = self.tensor(known)
        r, u, v = self.var(RefType(t)), self.var(TupleType(())), self.var(t)
        last = Let(u, RefWrite(r, self.like(known, t)), Tuple((v, RefRead(r))))
        return Let(r, RefCreate(x), Let(v, RefRead(r), last)), TupleType((t, t))


ANYWHERE = ("reshape", "transpose", "copy", "squeeze", "expand_dims", "concatenate", "stack", "strided_slice", "tile")
ANYWHERE += ("broadcast_to", "broadcast_to_like", "reshape_like", "repeat", "reverse", "take", "where", "shape_of")
ANYWHERE += ("zeros_like", "ones_like", "full_like", "layout_transform", "dyn.reshape")
ARITHMETIC = ("add", "subtract", "multiply", "maximum", "sum", "max", "cumsum", "nn.pad")
ON_FLOATS = (*ANYWHERE, *ARITHMETIC, *ARITHMETIC, "mean", "variance", "clip", "nn.bias_add", "nn.softmax", "nn.dense")
ON_FLOATS += ("nn.batch_flatten", "nn.leaky_relu", "nn.prelu", "nn.conv2d", "nn.conv2d", "nn.max_pool2d", "divide")
ON_FLOATS += ("sqrt", "rsqrt")
ON_INTEGERS = (*ANYWHERE, *ARITHMETIC, "less", "equal", "bitwise_and", "right_shift")
ON_BOOLS = (*ANYWHERE, "logical_not", "logical_and", "equal")


def _abstracted(expr: Expr, known: dict[Expr, Type]) -> Function:
    """A function with the known parts of an expression as parameters: what is inferred is this one call."""
    parameters: dict[Expr, Var] = {}

    def enter(e: Expr) -> Expr | None:
        t = known.get(e)
        if t is None:
            return None
        return parameters.setdefault(e, Var("p", t))

    body = rewrite(expr, lambda old, new: new, enter)
    return Function(tuple(dict.fromkeys(parameters.values())), body)


def _is_small(t: Type) -> bool:
    leaves = t.fields if isinstance(t, TupleType) else (t,)
    return all(
        isinstance(u, TensorType) and all(isinstance(d, int) for d in u.shape) and np.prod(u.shape) <= 4096
        for u in leaves
    )


def fuzz_module(seed: int) -> Module:
    """A module with types; the same for the same seed."""
    rng = random.Random(seed)
    if rng.random() < 0.15:
        return irtool.infer_types(random_network(seed, rng.randint(2, 6), rng.choice(FLOATS)))
    return irtool.infer_types(FuzzMaker(rng, rng.randint(2, 7), rng.random() < 0.3).module())
