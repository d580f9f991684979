"""Function types whose type parameters have the names of others around them read back as the same types."""

from __future__ import annotations

import random

import pytest

import irtool
from irtool.ir import Function, FuncType, Module, RefType, Tuple, TupleType, Type, TypeVar, Var
from irtool.ir.show import show_type


def drawn(rng: random.Random, known: tuple[TypeVar, ...], depth: int) -> Type:
    """A type over the known variables; all type parameters in it have one of two names."""
    kind = rng.random()
    if not depth or kind < 0.2:
        return rng.choice(known)
    if kind < 0.4:
        return TupleType((drawn(rng, known, depth - 1), drawn(rng, known, depth - 1)))
    if kind < 0.5:
        return RefType(drawn(rng, known, depth - 1))
    bound = tuple(TypeVar(rng.choice("AB")) for _ in range(rng.randint(0, 2)))
    inside = (*known, *bound)
    args = tuple(drawn(rng, inside, depth - 1) for _ in range(rng.randint(1, 2)))
    return FuncType(args, drawn(rng, inside, depth - 1), bound)


@pytest.mark.promise("mutated texts")
@pytest.mark.parametrize("seed", range(60))
def test_parameters_of_one_name(seed: int) -> None:
    rng = random.Random(seed)
    outer = (TypeVar("A"), TypeVar("B"))
    x, y = (Var(name, drawn(rng, outer, 4)) for name in "xy")
    result = x.type_annotation
    assert result is not None
    inner_a = TypeVar("A")
    z = Var("z", drawn(rng, (*outer, inner_a), 3))
    local = Function((z,), x, result, (inner_a,))
    module = irtool.infer_types(Module({"main": Function((x, y), Tuple((x, local)), None, outer)}))
    text = irtool.to_text(module)
    again = irtool.parse(text)
    assert irtool.structural_equal(module, again), text
    assert irtool.to_text(again) == text


def test_a_name_is_counted_up_only_where_it_would_hide_another() -> None:
    outer, inner = TypeVar("T"), TypeVar("T")
    assert show_type(FuncType((inner,), outer, (inner,))) == "fn [T1](T1) -> T"
    apart = TupleType((outer, FuncType((inner,), inner, (inner,))))
    assert show_type(apart) == "(T, fn [T](T) -> T)"
