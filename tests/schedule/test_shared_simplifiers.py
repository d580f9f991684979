"""One simplifier for all questions about the same loops."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from irtool.schedule.core.affine import simplifier, stride
from irtool.symbolic_int import Symbol, estimate, extent_of, proof
from irtool.tir.expr import Var, floormod, less
from irtool.tir.simplify import Simplifier

LENGTH = extent_of(Symbol("n", 1, 8))


def _text(simplify: Simplifier, v: Var) -> str:
    return repr([simplify(less(v, 4)), simplify(floormod(v, 5)), simplify(less(v, 8))])


@pytest.mark.parametrize("first", [estimate, proof])
def test_each_mode_has_the_answers_of_a_simplifier_of_its_own(first: Callable) -> None:
    v = Var("v")
    loops = ((v, LENGTH),)
    for wrap in (first, proof, estimate, first):
        own = wrap(lambda: _text(Simplifier({v: (0, LENGTH - 1)}), v))()
        assert wrap(lambda: _text(simplifier(loops), v))() == own


def test_equal_names_are_different_variables() -> None:
    a, b = Var("i"), Var("i")
    assert stride(simplifier(((a, 4),)), a * 3 + b, a) == 3
    assert simplifier(((a, 4),)) is simplifier(((a, 4),))
    assert simplifier(((a, 4),)) is not simplifier(((b, 4),))
    assert simplifier(((a, 4),)) is not simplifier(((a, 5),))
