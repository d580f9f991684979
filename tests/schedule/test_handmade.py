"""Schedules written in Python: one call, lowered, scheduled by primitives, printed, run and built."""

import numpy as np
import pytest

import irtool
from irtool import relay, te
from irtool.tir.stmt import For, pre_order
from tests.schedule.dense import check, lowered_dense


@pytest.mark.promise("primitives")
def test_a_tile_of_registers_by_hand() -> None:
    lowered, inputs = lowered_dense()
    s = irtool.create_schedule(lowered, "dense")
    (out,) = lowered.outputs
    stage = s[out]
    assert [n for n, _ in stage.loops] == [n for n, _ in s[out.name].loops]
    rows, columns = (n for n, _ in stage.loops[:2])
    stage.split(rows, [3, 2], ["i", "ii"]).split(columns, [4, 4], ["j", "jj"]).reorder(["i", "j", "ii", "jj"])
    stage.cache_write("ii").unroll("ii").vectorize("jj").parallel("i")
    nest = s.lower()
    assert nest.name == "dense" and nest.attrs["global_symbol"] == "dense"
    kinds = {x.var.name: x.kind for x in pre_order(nest.body) if isinstance(x, For)}
    assert kinds["i"] == "parallel" and kinds["jj"] == "vectorized"
    assert len(stage.trace) == 7 and stage.trace[2] == "reorder([i, j, ii, jj])"
    assert "parallel" in str(s)
    check(lowered, nest, inputs)


def test_parts() -> None:
    lowered, inputs = lowered_dense()
    s = irtool.create_schedule(lowered)
    stage = s[lowered.outputs[0]]
    rows = stage.loops[0][0]
    stage.loop_partition(rows, [(0, 4), (4, 6)])
    stage.part(0).parallel(rows)
    with pytest.raises(irtool.IrError, match="has 2 parts"):
        stage.unroll(rows)
    with pytest.raises(irtool.IrError, match="no part 2"):
        stage.part(2)
    check(lowered, s.lower(), inputs)


def test_a_schedule_that_nobody_wrote_is_plain() -> None:
    lowered, inputs = lowered_dense()
    check(lowered, irtool.create_schedule(lowered).lower(), inputs)
    check(lowered, lowered.nest("plain"), inputs)


def test_what_is_no_formula_is_left_alone() -> None:
    x = relay.var("x", shape=(2, 5))
    lowered = irtool.lower_call(relay.argsort(x, axis=1, dtype="int32"), [te.placeholder((2, 5), name="x")])
    s = irtool.create_schedule(lowered)
    module = lowered.module(s.lower())
    values = np.array([[3, 1, 2, 5, 4], [0, -1, 7, 7, 2]], "float32")
    np.testing.assert_array_equal(irtool.evaluate(module, [values]), np.argsort(values, 1, kind="stable"))


MISTAKES = [
    (lambda s, n: s["nobody"], "no stage computes nobody"),
    (lambda s, n: s[n].split("nowhere", [2, 3]), "no loop is called nowhere"),
    (lambda s, n: s[n].split(), "missing"),
    (lambda s, n: s[n].loop_partition(s[n].loops[0][0], [(0, 2), (3, 6)]), "do not cover exactly the 6 steps"),
    (lambda s, n: s[n].loop_partition(s[n].loops[0][0], [(0, 7)]), "do not cover exactly the 6 steps"),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[message for _, message in MISTAKES])
def test_mistakes(mistake, message: str) -> None:
    lowered, _ = lowered_dense()
    with pytest.raises(irtool.IrError, match=message):
        mistake(irtool.create_schedule(lowered), lowered.outputs[0].name)


def test_unknown_primitives() -> None:
    lowered, _ = lowered_dense()
    with pytest.raises(AttributeError, match="unknown primitive vectorise"):
        irtool.create_schedule(lowered)[lowered.outputs[0]].vectorise("i")
