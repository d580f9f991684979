"""Loop nests written with the builder."""

import pytest

from irtool.tir.builder import Builder
from irtool.tir.stmt import Buffer, For, If, Let, blocked, pre_order


def test_blocks_nest_as_written() -> None:
    x, y = Buffer("x", (4, 8)), Buffer("y", (4,))
    ib = Builder()
    with ib.for_(4) as i:
        best = ib.local("float32", 0)
        with ib.for_(1, 8) as j:
            t = ib.let(x[i, j] * 2.0)
            with ib.if_(t > best.get()):
                best.set(t)
            with ib.else_():
                best.set(best.get())
        ib.store(y, i, best.get())
    nest = ib.finish()
    kinds = [type(s) for s in pre_order(nest)]
    assert kinds.count(For) == 2 and kinds.count(Let) == 1 and kinds.count(If) == 1
    assert "y[i_1] = v_2[]" in repr(nest)


def test_else_must_follow_if() -> None:
    ib = Builder()
    with pytest.raises(TypeError, match="directly after"), ib.else_():
        pass


def test_an_offset_follows_the_layout() -> None:
    b = Buffer("b", (2, 32, 3), layout=blocked((2, 32, 3), 1, 16))
    seen = set()
    for n in range(2):
        for c in range(32):
            for x in range(3):
                place = b.offset([_const(n), _const(c), _const(x)]).value
                assert place == ((n * 2 + c // 16) * 3 + x) * 16 + c % 16
                seen.add(place)
    assert seen == set(range(2 * 32 * 3))


def _const(n: int):
    from irtool.tir.expr import const

    return const(n)
