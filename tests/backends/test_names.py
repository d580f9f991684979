"""Scopes of identifiers in C."""

from irtool.backends.interface.names import Identifiers
from tests.work import steps


def test_a_scope_inside_asks_the_one_outside():
    outer = Identifiers("arena")
    assert outer.fresh("x") == "x"
    inner = outer.inner("ws")
    assert [inner.fresh(n) for n in ("x", "x", "arena", "ws")] == ["x_2", "x_3", "arena_2", "ws_2"]
    assert outer.fresh("x") == "x_2"


def test_a_scope_inside_copies_nothing():
    few, many = Identifiers(), Identifiers()
    for n in range(2_000):
        (few if n < 10 else many).fresh("x")
    assert not many.inner("ws")._taken - {"ws"}
    assert steps(lambda: many.inner().fresh("x")) == steps(lambda: few.inner().fresh("x"))
