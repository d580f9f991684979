"""Structural equality: the same up to names of bound variables, sharing included."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from irtool.ir import (
    ANY,
    Call,
    Clause,
    Constant,
    DimVar,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    Int64,
    Let,
    Match,
    Module,
    PatternTuple,
    PatternVar,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    TypeVar,
    Var,
    post_order,
    refresh,
    rewrite,
    scalar,
)
from irtool.ir.expr import rebuild
from irtool.ir.structural import structural_equal, structural_hash
from irtool.ops.base import call
from tests.generators import modules, random_module

F32 = scalar("float32")


def same(a: object, b: object) -> bool:
    """Equality, checked to be symmetric and to agree with the hash."""
    answer = structural_equal(a, b)
    assert structural_equal(b, a) == answer
    assert (structural_hash(a) == structural_hash(b)) == answer
    return answer


def test_names_of_bound_variables_do_not_count():
    def identity(name: str) -> Function:
        x = Var(name, F32)
        return Function((x,), x)

    assert same(identity("x"), identity("y"))


def test_names_of_free_variables_count():
    assert same(Var("x"), Var("x"))
    assert not same(Var("x"), Var("y"))


def test_bound_variables_are_told_apart():
    x, y = Var("x", F32), Var("y", F32)
    assert same(Function((x, y), x), Function((y, x), y))
    assert not same(Function((x, y), x), Function((x, y), y))


def test_annotations_count_and_inferred_types_do_not():
    x, y = Var("x", F32), Var("x", scalar("int32"))
    assert not same(Function((x,), x), Function((y,), y))
    e, f = call("nn.relu", Var("x")), call("nn.relu", Var("x"))
    f.checked_type = F32
    assert same(e, f)


def test_sharing_counts():
    x = Var("x")
    once = call("tanh", x)
    shared, unshared = Tuple((once, once)), Tuple((call("tanh", x), call("tanh", x)))
    assert not same(shared, unshared)
    assert same(unshared, Tuple((call("tanh", x), call("tanh", x))))


def test_sharing_of_values_does_not_count():
    x, c, unit = Var("x"), Constant(np.float32(1)), Tuple(())
    field = TupleGetItem(x, 0)
    shared = Tuple((field, field, c, c, unit, unit))
    parts = (
        TupleGetItem(x, 0),
        TupleGetItem(x, 0),
        Constant(np.float32(1)),
        Constant(np.float32(1)),
        Tuple(()),
        Tuple(()),
    )
    assert same(shared, Tuple(parts))


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (np.float32(1), np.float32(1), True),
        (np.float32(1), np.float64(1), False),
        (np.float32(1), np.array([1], "float32"), False),
        (np.float32("nan"), np.float32("nan"), True),
        (np.float32("nan"), -np.float32("nan"), True),
        (np.float32(0.0), np.float32(-0.0), False),
        (np.array([1, np.nan, 3]), np.array([1, np.nan, 3]), True),
        (np.arange(100), np.arange(100), True),
        (np.arange(100), np.arange(100)[::-1], False),
        (np.arange(100).reshape(10, 10), np.arange(100).reshape(10, 10).T.copy().T, True),
        (np.array(True), np.array(False), False),
    ],
)
def test_constants_by_value(a, b, equal):
    assert same(Constant(np.asarray(a)), Constant(np.asarray(b))) == equal


def test_values_are_read_only_where_all_else_is_equal(monkeypatch):
    """Patterns look for a constant among all the weights of a network."""
    weights = Constant(np.ones((64, 64), "float32"))

    def read(c):
        raise AssertionError(f"the value of {c.data.shape} is not needed")

    monkeypatch.setattr("irtool.ir.structural.digest_of", read)
    assert not structural_equal(Constant(np.float32(1)), weights)
    assert structural_equal(Tuple((weights, weights)), Tuple((weights, Constant(weights.data))))
    assert not structural_equal(Tuple((weights, Var("x"))), Tuple((Constant(weights.data + 1), Var("y"))))


def test_bfloat16_is_not_its_bits():
    bits = np.array([16256], "uint16")
    assert not same(Constant(bits), Constant(bits, "bfloat16"))


def test_attributes_as_values():
    x = Var("x")
    assert same(call("sum", x, axis=(0,)), call("sum", x, axis=(0,), keepdims=False))
    assert not same(call("sum", x, axis=(0,)), call("sum", x, axis=(1,)))
    assert not same(call("sum", x, axis=(0,)), call("max", x, axis=(0,)))


def test_function_attributes_in_any_order():
    x = Var("x")
    f, g = Function((x,), x, attrs={"a": 1, "b": "None"}), Function((x,), x, attrs={"b": "None", "a": 1})
    assert same(f, g)
    assert not same(f, Function((x,), x, attrs={"a": 1, "b": None}))
    assert not same(f, Function((x,), x))
    assert same(Function((x,), x, attrs={}), Function((x,), x))
    assert not same(Function((x,), x, attrs={"s": ("a", "b")}), Function((x,), x, attrs={"s": ("a, b",)}))


def test_type_parameters_are_bound():
    def generic(name: str) -> Function:
        t = TypeVar(name)
        x = Var("x", t)
        return Function((x,), x, t, (t,))

    assert same(generic("A"), generic("B"))
    a, b = TypeVar("A"), TypeVar("B")
    assert same(FuncType((a, b), a, (a, b)), FuncType((b, a), b, (b, a)))
    assert not same(FuncType((a, b), a, (a, b)), FuncType((a, b), b, (a, b)))


def test_one_type_parameter_bound_twice():
    def generic(a: TypeVar, b: TypeVar, c: TypeVar) -> Function:
        x, y = Var("x", FuncType((a,), TupleType((a,)), (a,))), Var("y", FuncType((b,), TupleType((b,)), (b,)))
        return Function((x, y, Var("z", c)), x, c, (c,))

    one = TypeVar("A")
    assert same(generic(one, one, one), generic(TypeVar("A"), TypeVar("B"), TypeVar("C")))


def test_dimensions():
    n, m = DimVar("n"), DimVar("n")
    assert same(TensorType((n, n, 3)), TensorType((m, m, Int64(3))))
    assert not same(TensorType((n, n)), TensorType((n, m)))
    assert not same(TensorType((ANY,)), TensorType((3,)))


def test_let_if_and_match_bind():
    def make(name: str, second: bool) -> Expr:
        p, a, b, v = Var("p"), Var(name), Var(name + "2"), Var(name)
        clause = Clause(PatternTuple((PatternVar(a), PatternVar(b))), b if second else a)
        return Function((p,), Let(v, p, If(v, Match(v, (clause,)), v)))

    assert same(make("x", True), make("y", True))
    assert not same(make("x", True), make("x", False))


def test_modules_by_name():
    x = Var("x")
    f, g = Function((x,), x), Function((x,), call("tanh", x))
    assert same(Module({"f": f, "g": g}), Module({"g": g, "f": f}))
    assert not same(Module({"f": f, "g": g}), Module({"f": g, "g": f}))
    assert not same(Module({"f": f}), Module({"f": f, "g": g}))


@given(modules())
@settings(max_examples=60, deadline=None)
def test_a_renamed_copy_is_equal(module):
    again = Module({n: refresh(f) for n, f in module.functions.items()}, module.type_definitions)
    assert same(module, again)


@given(modules(), modules())
@settings(max_examples=40, deadline=None)
def test_equality_and_hash_agree(a, b):
    same(a, b)


def test_a_changed_constant_or_field_is_seen():
    seen = 0
    for seed in range(30):
        f = random_module(seed)["main"]
        for e in post_order(f):
            if isinstance(e, Constant) and e.data.size:
                other = Constant(e.data + np.ones((), e.data.dtype) if e.dtype != "bool" else ~e.data)
            elif isinstance(e, TupleGetItem):
                other = TupleGetItem(e.tuple, e.index + 1)
            else:
                continue
            changed = rewrite(f, lambda old, new, e=e, other=other: other if old is e else new)
            if changed is f or str(getattr(e, "data", "")) == str(getattr(other, "data", "-")):
                continue
            seen += 1
            assert not same(f, changed)
    assert seen > 50


@pytest.mark.parametrize("depth", [100_000])
def test_chains_of_calls_need_no_recursion(depth):
    def chain() -> Expr:
        e: Expr = Var("x")
        for _ in range(depth):
            e = Call(GlobalVar("f"), (e,))
        return e

    assert same(chain(), chain())


def test_nested_lets_functions_and_types_need_no_recursion():
    def nest() -> Expr:
        e: Expr = Var("x")
        t = F32
        for _ in range(20_000):
            t = FuncType((), t)
            e = Let(Var("v", t), e, Function((), e))
        return e

    assert same(nest(), nest())


def test_rebuilding_a_node_over_the_same_children_keeps_it():
    e = call("add", Var("x"), Var("y"))
    assert rebuild(e, [e.op, *e.args]) is e


def test_the_hash_does_not_depend_on_the_process():
    program = "from tests.generators import random_module; from irtool.ir.structural import structural_hash as h\n"
    program += "print([h(random_module(s)) for s in range(5)])"
    outputs = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()}
        outputs.add(subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True).stdout)
    assert len(outputs) == 1
    assert outputs.pop().startswith("[")
