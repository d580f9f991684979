"""Types that were found equal are not compared again, and what a type is hashed by is found once."""

from __future__ import annotations

import cProfile
import pickle

import pytest

from irtool.ir import FuncType, IncompleteType, TensorType, TupleType, TypeVar, free_variables
from irtool.ir.expr import Function
from irtool.ir.structural import structural_equal, structural_hash
from irtool.ir.types import free_type_vars, scalar
from irtool.ir.walk import free_variables_of_functions, post_order
from irtool.parser import parse
from irtool.passes.core.beta_reduction import reduce_literals


def nested(depth, leaf):
    levels = [leaf]
    for _ in range(depth):
        levels.append(FuncType((), levels[-1]))
    return levels


def calls(action):
    profile = cProfile.Profile()
    profile.runcall(action)
    return sum(e.callcount for e in profile.getstats())


@pytest.mark.promise("growth")
@pytest.mark.parametrize("compare", [lambda a, b: a == b, structural_equal], ids=["==", "structural_equal"])
def test_all_levels_of_two_equal_types_are_compared_in_linear_time(compare):
    def all_levels(depth):
        pairs = list(zip(nested(depth, scalar("int32")), nested(depth, scalar("int32")), strict=True))
        return calls(lambda: [compare(a, b) for a, b in pairs])

    assert all_levels(400) < 2.5 * all_levels(200)


def test_types_that_differ_differ_after_others_were_equal():
    a, b, c = (nested(3, TensorType((n,), "float32")) for n in (4, 4, 5))
    assert a[3] == b[3]
    assert a[2] == b[2] and a[3] != c[3] and b[1] != c[1]
    assert structural_hash(a[3]) == structural_hash(b[3]) != structural_hash(c[3])
    assert pickle.loads(pickle.dumps(a[3])) == a[3]


def test_variables_and_unknown_types_stay_told_apart():
    t, u = TypeVar("t"), TypeVar("t")
    assert FuncType((t,), t) != FuncType((u,), u)
    assert structural_equal(FuncType((t,), t, (t,)), FuncType((u,), u, (u,)))
    assert not structural_equal(FuncType((t, u), t, (t, u)), FuncType((t, u), u, (t, u)))
    assert list(free_type_vars(TupleType((FuncType((t,), u, (t,)), scalar("bool"))))) == [u]
    assert TupleType((IncompleteType(),)) != TupleType((IncompleteType(),))


NESTED = """
def @main(%x: int32, %c: bool) {
  let %k = fn (%a) { let %b = add(%a, %x); fn (%d) { if (%c) { add(%b, %d) } else { fn (%e) { multiply(%e, %x) }(%a) } } };
  %k(%x)(%x)
}
"""


def test_free_variables_of_all_functions_are_those_of_each():
    (main,) = parse(NESTED).functions.values()
    variables = free_variables_of_functions(main)
    assert len(variables) == 4
    for f in post_order(main):
        if isinstance(f, Function):
            assert set(variables[f]) == set(free_variables(f))


def test_literals_that_are_called_in_one_another_are_reduced_in_one_walk():
    text = (
        "def @main(%x: int32) { fn (%a) { add(%a, fn (%b) { multiply(%b, %a) }(fn (%c) { negative(%c) }(%a))) }(%x) }"
    )
    reduced = "def @main(%x: int32) { add(%x, multiply(negative(%x), %x)) }"
    (main,), (other,) = (parse(t).functions.values() for t in (text, reduced))
    assert structural_equal(reduce_literals(main), other)
    assert reduce_literals(other) is other
