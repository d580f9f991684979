"""Reductions of padded copies, opened to what is copied where nothing else reads the copy."""

from __future__ import annotations

from dataclasses import replace

from irtool.schedule.core.guards import extract_predicates
from irtool.schedule.windows.padded_copy import without_padded_copy
from irtool.tir.expr import Expr, Load, Var, all_of, const, if_then_else, less
from irtool.tir.forms import Map, Reduction, buffers_read, with_taps
from irtool.tir.stmt import Buffer, Scope, Store

X, W, OUT = Buffer("x", (8,), scope=Scope.PARAM), Buffer("w", (3,), scope=Scope.PARAM), Buffer("out", (8,))
PAD, ACC = Buffer("pad", (10,)), Buffer("acc", (), scope=Scope.LOCAL)
I, Y, K = Var("i"), Var("y"), Var("k")


def copy(value: Expr | None = None) -> Map:
    inside = if_then_else(all_of([less(0, I), less(I, 9)]), Load(X, (I - 1,)), const(0.0, "float32"))
    return Map(((I, 10),), (Store(PAD, (I,), inside if value is None else value),))


def windows() -> Reduction:
    update = ACC.element() + Load(PAD, (Y + K,)) * Load(W, (K,))
    r = Reduction(((Y, 8),), ACC, const(0.0, "float32"), ((K, 3),), update, (Store(OUT, (Y,), ACC.element()),))
    return with_taps(r, [K])


def test_windows_of_a_padded_copy_are_windows_of_what_is_copied():
    opened = without_padded_copy([copy(), windows()], 1)
    assert opened is not None
    assert buffers_read(opened) == {X, W, ACC}
    (w,) = opened.windows
    assert (w.result, w.tap, w.stride, w.dilation) == (Y, K, 1, 1)
    assert w.first.value == -1
    assert len(extract_predicates(opened, formed=True).guards) == 2


def test_a_copy_that_another_stage_reads_stays():
    reader = Map(((Y, 8),), (Store(Buffer("other", (8,)), (Y,), Load(PAD, (Y,))),))
    assert without_padded_copy([copy(), windows(), reader], 1) is None


def test_a_copy_that_an_epilogue_reads_stays():
    r = windows()
    r = replace(r, stores=(Store(OUT, (Y,), ACC.element() + Load(PAD, (Y,))),))
    assert without_padded_copy([copy(), r], 1) is None


def test_a_copy_without_padding_is_opened_where_that_is_asked_for():
    shifted = Buffer("long", (12,), scope=Scope.PARAM)
    forms = [copy(Load(shifted, (I + 2,))), windows()]
    assert without_padded_copy(forms, 1) is None
    opened = without_padded_copy(forms, 1, plain=True)
    assert opened is not None
    assert opened.windows[0].first.value == 2


def test_values_that_are_computed_are_no_copy():
    assert without_padded_copy([copy(Load(X, (I // 2,)) * 2.0), windows()], 1, plain=True) is None


def test_the_first_stage_has_no_copy_before_it():
    assert without_padded_copy([windows(), copy()], 0) is None
