"""Inference needs no Python stack, and its work grows with what is new only."""

from __future__ import annotations

import numpy as np

from irtool.infer import infer_expr, infer_types
from irtool.ir import Call, Constant, Function, GlobalVar, If, Let, Module, TensorType, Tuple, Var, post_order, scalar
from irtool.ops.base import call, op
from tests.work import steps


def f32(*shape):
    return TensorType(shape, "float32")


def test_a_chain_of_a_hundred_thousand_calls():
    x = Var("x", f32(2, 3))
    e = x
    for _ in range(100_000):
        e = call("abs", e)
    assert infer_expr(Function((x,), e)).checked_type.ret_type == f32(2, 3)


def test_twenty_thousand_nested_lets_ifs_and_functions():
    x, c = Var("x", f32(2, 3)), Var("c", scalar("bool"))
    lets = ifs = functions = x
    for _ in range(20_000):
        lets = Let(Var("v"), call("abs", x), lets)
        ifs = If(c, x, ifs)
    for _ in range(2_000):
        functions = Call(Function((), functions), ())
    for body in (lets, ifs, functions):
        assert infer_expr(Function((x, c), body)).checked_type.ret_type == f32(2, 3)


def test_typed_parts_are_taken_as_they_are():
    x = Var("x", f32(2, 3))
    typed = infer_types(Module({"main": Function((x,), call("abs", x))}))
    f = typed["main"]
    assert infer_types(typed) is typed
    added = Function(f.params, call("abs", f.body))
    again = infer_types(Module({"main": added}))["main"]
    assert again.body.args[0] is f.body
    assert again.params[0] is f.params[0]
    assert all(e.checked_type is not None for e in post_order(again))


def test_the_input_is_left_alone():
    x = Var("x")
    f = Function((x,), call("abs", Let(Var("y"), call("add", x, Var("z", f32(1))), x)), f32(1))
    nodes = post_order(f)
    before = [e.checked_type for e in nodes]
    assert infer_expr(f) is not f
    assert [e.checked_type for e in nodes] == before
    assert x.type_annotation is None


def test_a_caller_is_typed_again_when_its_callee_changes():
    x = Var("x", f32(2))
    y = Var("y", f32(2))
    callee = Function((y,), call("abs", y))
    m = infer_types(Module({"main": Function((x,), Call(GlobalVar("f"), (x,)), None), "f": callee}))
    assert m["main"].checked_type.ret_type == f32(2)
    z = Var("z", f32(2))
    other = m.with_function("f", Function((z,), Tuple((z,))))
    main = Function(m["main"].params, m["main"].body)
    again = infer_types(other.with_function("main", main))
    assert str(again["f"].checked_type.ret_type) == "(Tensor[(2), float32],)"


def test_binder_and_uses_are_one_object():
    x, y = Var("x", f32(2)), Var("y")
    f = infer_expr(Function((x,), Let(y, call("abs", x), call("add", y, x))))
    let = f.body
    assert let.body.args == (let.var, f.params[0])
    assert let.var.type_annotation == f32(2)
    assert op("abs").checked_type is not None


def test_work_is_linear():
    def work(n):
        x = Var("x", f32(2, 3))
        e = x
        for _ in range(n):
            e = call("add", e, x)
        f = Function((x,), e)
        return steps(lambda: infer_expr(f))

    work(10)
    assert work(2_000) < 10.5 * work(200)


def test_types_that_share_their_parts_are_not_unfolded():
    x, y = Var("x"), Var("y", f32(2))
    e = x
    for _ in range(60):
        e = Tuple((e, e))
    f = infer_expr(Function((x, y), Let(Var("z"), If(Constant(np.array(True)), x, y), e)))
    assert f.checked_type.arg_types[0] == f32(2)
