"""Unification: what agrees, what does not, and what `?` does."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from irtool.infer.solver import Solver
from irtool.ir import (
    ANY,
    DimVar,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeVar,
)
from irtool.ops.base import RelationError


def f32(*shape):
    return TensorType(shape, "float32")


def test_an_unknown_becomes_what_it_is_unified_with():
    solver, unknown = Solver(), IncompleteType()
    solver.unify(TupleType((unknown, f32(1))), TupleType((f32(2), f32(1))))
    assert solver.resolve(unknown) == f32(2)
    assert solver.resolve(TupleType((unknown, RefType(unknown)))) == TupleType((f32(2), RefType(f32(2))))


def test_unknowns_bound_to_each_other_share_what_is_learnt_later():
    solver = Solver()
    a, b, c = IncompleteType(), IncompleteType(), IncompleteType()
    solver.unify(a, b)
    solver.unify(c, b)
    solver.unify(a, f32(3))
    assert [solver.resolve(t) for t in (a, b, c)] == [f32(3)] * 3


def test_a_type_that_would_contain_itself_is_refused():
    solver, a = Solver(), IncompleteType()
    with pytest.raises(RelationError, match="contain itself"):
        solver.unify(a, TupleType((a,)))


def test_any_joins_and_both_sides_follow():
    solver, static, dynamic = Solver(), f32(4, 3), f32(ANY, 3)
    assert solver.unify(static, dynamic) == dynamic
    assert solver.resolve(static) == dynamic


def test_a_kept_side_does_not_follow_a_join():
    solver, static, dynamic = Solver(), f32(4, 3), f32(ANY, 3)
    solver.unify(dynamic, static, keep_b=True)
    assert solver.resolve(static) == f32(4, 3)


def test_a_symbolic_dimension_takes_one_value_only():
    solver, n = Solver(), DimVar("n")
    solver.unify(f32(n, 3), f32(4, 3))
    with pytest.raises(RelationError, match="axis 0 is 4 and 5"):
        solver.unify(f32(n), f32(5))


@pytest.mark.parametrize(
    ("a", "b", "says"),
    [
        (f32(1, 3), f32(2, 3), "axis 0 is 1 and 2"),
        (f32(1), f32(1, 1), "ranks are 1 and 2"),
        (f32(1), TensorType((1,), "int32"), "float32 and int32"),
        (TupleType((f32(1),)), TupleType(()), "1 and 0 fields"),
        (f32(1), RefType(f32(1)), "differ"),
        (TypeCall(GlobalTypeVar("A"), ()), TypeCall(GlobalTypeVar("B"), ()), "differ"),
        (FuncType((f32(1),), f32(1)), FuncType((), f32(1)), "differ"),
    ],
)
def test_a_refusal_names_both_sides(a, b, says):
    with pytest.raises(RelationError, match=says):
        Solver().unify(a, b)


def test_a_polymorphic_function_stands_for_its_instance():
    solver, a = Solver(), TypeVar("a")
    poly = FuncType((a,), a, (a,))
    mono = FuncType((f32(2),), f32(2))
    assert solver.unify(poly, mono) == mono
    with pytest.raises(RelationError):
        solver.unify(FuncType((a,), a, (a,)), FuncType((f32(2),), f32(3)))


def test_deeply_nested_types_need_no_python_stack():
    a, b = f32(1), IncompleteType()
    deep, other = a, b
    for _ in range(20_000):
        deep, other = TupleType((deep,)), TupleType((other,))
    solver = Solver()
    solver.unify(deep, other)
    assert solver.resolve(b) == a
    assert solver.resolve(other) == deep


def types(depth=3):
    leaf = st.builds(f32, st.integers(1, 3), st.integers(1, 3))
    return st.recursive(
        leaf, lambda t: st.one_of(st.lists(t, max_size=3).map(lambda x: TupleType(tuple(x))), t.map(RefType))
    )


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(types(), types())
def test_unification_is_symmetric_and_exact_without_unknowns(a, b):
    def outcome(x, y):
        try:
            return Solver().unify(x, y)
        except RelationError:
            return None

    assert outcome(a, b) == outcome(b, a) == (a if a == b else None)
