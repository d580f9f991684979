"""Scopes of buffers: an enum, in TVM's words."""

import pytest

from irtool.printer.tir import LoopNestPrinter
from irtool.tir.expr import Var
from irtool.tir.stmt import Allocate, Buffer, For, PrimFunc, Scope, Store


def test_scopes_have_the_names_of_tvm():
    assert [str(s) for s in Scope] == ["param", "global", "global.thread", "local", "local.register"]
    with pytest.raises(ValueError, match="arena"):
        Buffer("b", (4,), "float32", "arena")


@pytest.mark.promise("lowered text")
@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.THREAD, Scope.LOCAL, Scope.REGISTER])
def test_texts_name_them(scope):
    out, work, i = Buffer("out", (4,), scope=Scope.PARAM), Buffer("work", (4,), scope=scope), Var("i")
    body = Allocate(work, For(i, 4, Store(out, (i,), work[i])))
    text = LoopNestPrinter().function("f", PrimFunc("f", [out], body))
    assert f"storage_scope = {scope}" in text and f"Pointer({scope} float32)" in text
