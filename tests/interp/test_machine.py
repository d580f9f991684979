"""What the interpreter evaluates, when, and in how much space."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from irtool.diagnostics import IrError
from irtool.interp.evaluate import evaluate, evaluate_expr
from irtool.interp.values import Closure
from irtool.ir import (
    Call,
    Clause,
    Constant,
    Constructor,
    Function,
    GlobalTypeVar,
    GlobalVar,
    If,
    Let,
    Match,
    MissingData,
    Module,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TypeCall,
    TypeData,
    Var,
    scalar,
)
from irtool.ops.base import call, op

INT = scalar("int32")


def num(value):
    return Constant(np.array(value, "int32"))


def counting_down(step):
    """`f(n, acc) = if n == 0 then acc else step(n, acc)`."""
    n, acc = Var("n", INT), Var("acc", INT)
    return Function((n, acc), If(call("equal", n, num(0)), acc, step(n, acc)), INT)


def test_tail_calls_run_in_constant_space():
    f = counting_down(lambda n, acc: Call(GlobalVar("main"), (call("subtract", n, num(1)), call("add", acc, num(2)))))
    assert evaluate(Module({"main": f}), [100_000, 0]) == 200_000


def test_a_tail_call_below_lets_and_matches_is_one():
    def step(n, acc):
        m, k = Var("m"), Var("k")
        inner = Call(GlobalVar("main"), (k, call("add", acc, num(1))))
        taken_apart = Match(Tuple((m, m)), (Clause(PatternTuple((PatternVar(k), PatternWildcard())), inner),))
        return Let(m, call("subtract", n, num(1)), taken_apart)

    assert evaluate(Module({"main": counting_down(step)}), [50_000, 0]) == 50_000


def test_other_recursion_is_as_deep_as_memory():
    f = counting_down(lambda n, acc: call("add", num(1), Call(GlobalVar("main"), (call("subtract", n, num(1)), acc))))
    assert evaluate(Module({"main": f}), [50_000, 7]) == 50_007


def test_a_local_function_may_call_itself_and_what_surrounds_it():
    f, k, n = Var("f"), Var("k", INT), Var("n", INT)
    body = If(call("equal", k, num(0)), n, call("add", num(1), Call(f, (call("subtract", k, num(1)),))))
    e = Let(f, Function((k,), body), Call(f, (num(5),)))
    assert evaluate(Module({"main": Function((n,), e)}), [7]) == 12


def test_a_shared_node_is_evaluated_once():
    count = Var("count")
    bump = RefWrite(count, call("add", RefRead(count), num(1)))
    e = Let(
        count, RefCreate(num(0)), Let(Var("_"), Tuple((bump, bump, TupleGetItem(Tuple((bump,)), 0))), RefRead(count))
    )
    assert evaluate_expr(e) == 1


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_a_node_shared_by_branches_is_evaluated_at_most_once_and_only_if_needed(first, second):
    count = Var("count")
    bump = RefWrite(count, call("add", RefRead(count), num(1)))
    a, b = Constant(np.array(first)), Constant(np.array(second))
    both = Tuple((If(a, bump, Tuple(())), If(b, bump, Tuple(()))))
    e = Let(count, RefCreate(num(0)), Let(Var("_"), both, RefRead(count)))
    assert evaluate_expr(e) == int(first or second)


def test_a_node_shared_with_a_closure_is_evaluated_where_the_closure_is_made():
    x, g, k = Var("x", INT), Var("g"), Var("k", INT)
    shared = call("add", x, num(1))
    e = Let(g, Function((k,), call("add", k, shared)), Tuple((Call(g, (num(1),)), shared, Call(g, (shared,)))))
    assert evaluate_expr(e, env={x: 10}) == (12, 11, 22)


def test_the_branch_not_taken_is_not_evaluated():
    missing = Constant(MissingData(0), "int32", INT)
    bad = call("reshape", num([1, 2]), newshape=[3])
    assert evaluate_expr(If(Constant(np.array(True)), num(1), bad)) == 1
    with pytest.raises(IrError, match="metadata"):
        evaluate_expr(missing)


def test_closures_operators_and_constructors_are_values():
    f, g = Var("f"), Var("g")
    assert evaluate_expr(Let(f, op("add"), Call(f, (num(1), num(2))))) == 3
    make = evaluate_expr(Function((g,), call("add", g, num(1))))
    assert isinstance(make, Closure)
    assert make(np.array(4, "int32")) == 5


def lists():
    a = GlobalTypeVar("List")
    nil = Constructor("Nil", (), a)
    cons = Constructor("Cons", (INT, TypeCall(a, ())), a)
    return TypeData(a, (), (nil, cons)), nil, cons


def test_lists_as_long_as_memory():
    data, nil, cons = lists()
    list_ = TypeCall(data.header, ())
    n, acc, rest, head, tail, total = Var("n", INT), Var("a", list_), Var("r", list_), Var("h"), Var("t"), Var("s", INT)
    build = Function(
        (n, acc),
        If(
            call("equal", n, num(0)),
            acc,
            Call(GlobalVar("build"), (call("subtract", n, num(1)), Call(cons, (n, acc)))),
        ),
        list_,
    )
    clauses = (
        Clause(PatternConstructor(nil, ()), total),
        Clause(
            PatternConstructor(cons, (PatternVar(head), PatternVar(tail))),
            Call(GlobalVar("sum"), (tail, call("add", total, head))),
        ),
    )
    add_up = Function((rest, total), Match(rest, clauses), INT)
    m = Var("m", INT)
    main = Function((m,), Call(GlobalVar("sum"), (Call(GlobalVar("build"), (m, Call(nil, ()))), num(0))))
    module = Module({"main": main, "build": build, "sum": add_up}, {"List": data})
    assert evaluate(module, [20_000]) == 20_000 * 20_001 // 2


def test_a_match_that_nothing_fits_says_so():
    _, nil, cons = lists()
    e = Match(Call(nil, ()), (Clause(PatternConstructor(cons, (PatternWildcard(), PatternWildcard())), num(1)),), False)
    with pytest.raises(IrError, match="no clause"):
        evaluate_expr(e)


def test_values_are_let_go_after_their_last_use(monkeypatch):
    alive: list[weakref.ref] = []
    most = 0

    real = op("abs").operator.evaluate

    def watched(self, x):
        nonlocal most
        value = real(self, x).view(np.ndarray).copy()
        alive.append(weakref.ref(value))
        gc.collect(0)
        most = max(most, sum(r() is not None for r in alive))
        return value

    monkeypatch.setattr(op("abs").operator, "evaluate", watched)
    x = Var("x", TensorType((4,), "float32"))
    e = x
    for _ in range(30):
        e = call("abs", e)
    branch = If(Constant(np.array(True)), call("add", call("abs", e), e), e)
    evaluate(Module({"main": Function((x,), branch)}), [np.ones(4, "float32")])
    assert most <= 3


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        ([], "takes 2 inputs"),
        ({"x": np.zeros((2, 3), "float32")}, "no input is given for %n"),
        ({"x": np.zeros((2, 3), "float32"), "m": 1}, "no parameter %m"),
        ([np.zeros((2, 4), "float32"), 1], "axis 1 is 3 and 4"),
        ([np.zeros((2, 3)), 1], "data types differ"),
        ([np.zeros(3, "float32"), 1], "ranks are 2 and 1"),
        ([np.zeros((2, 3), "float32"), "one"], "str"),
        ([np.zeros((2, 3), "float32"), [1, 2]], "ranks are 0 and 1"),
    ],
)
def test_inputs_are_checked(inputs, says):
    x, n = Var("x", TensorType((2, 3), "float32")), Var("n", INT)
    module = Module({"main": Function((x, n), Tuple((x, n)))})
    with pytest.raises(IrError, match=says):
        evaluate(module, inputs)


def test_inputs_by_name_in_any_order():
    x, n = Var("x", INT), Var("n", INT)
    module = Module({"main": Function((x, n), call("subtract", x, n))})
    assert evaluate(module, {"n": 2, "x": 5}) == 3
    with pytest.raises(IrError, match="no function @mian"):
        evaluate(module, [1, 2], entry="mian")


def test_a_call_that_cannot_be_evaluated_is_named():
    x = Var("x", INT)
    with pytest.raises(IrError, match=r"%y has no value"):
        evaluate_expr(call("add", x, Var("y", INT)), env={x: 1})


def nested(depth, step):
    x = Var("x", TensorType((2,), "float32"))
    c = Var("c", scalar("bool"))
    shared = call("abs", x)
    e = x
    for _ in range(depth):
        e = step(c, e, shared)
    return evaluate(Module({"main": Function((x, c), e)}), [np.ones(2, "float32"), True])


@pytest.mark.parametrize(
    "step",
    [
        lambda c, e, shared: Let(Var("v"), e, shared),
        lambda c, e, shared: Let(Var("v"), shared, e),
        lambda c, e, shared: If(c, e, shared),
        lambda c, e, shared: If(c, call("maximum", e, shared), shared),
        lambda c, e, shared: If(c, call("abs", e), call("negative", e)),
        lambda c, e, shared: Call(Function((), e), ()),
    ],
    ids=["let value", "let body", "if", "if shared", "diamond", "function"],
)
def test_deep_nesting_needs_no_python_stack_and_linear_time(step):
    assert (nested(5_000, step) == 1).all()
