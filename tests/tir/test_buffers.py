"""Copies of buffers: no fact of one is lost, and every copy of `irtool` is made so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import irtool
from irtool.schedule.graph.transpose_operands import _Order, _with_copy
from irtool.tir.expr import Var, const
from irtool.tir.forms import Reduction
from irtool.tir.renaming import fresh_copy
from irtool.tir.stmt import Allocate, Buffer, Scope, Store, blocked

ROOT = Path(irtool.__file__).parent
LAYOUT = blocked((4, 32), 1, 16)
FULL = Buffer("b", (4, 32), "float32", Scope.PARAM, LAYOUT, finite=True, numbers="int8")
OTHER = {
    "name": "c",
    "shape": (2, 8),
    "dtype": "float64",
    "scope": Scope.LOCAL,
    "layout": None,
    "finite": False,
    "numbers": "",
}


def facts_of(b: Buffer) -> dict[str, object]:
    return {n: getattr(b, n) for n in Buffer.__slots__}


def test_every_fact_has_another_value_here():
    assert {*OTHER} == {*Buffer.__slots__}, "a new fact needs a row"
    assert all(value != OTHER[n] for n, value in facts_of(FULL).items())


def test_a_copy_has_every_fact():
    copied = FULL.replace()
    assert copied is not FULL
    assert facts_of(copied) == facts_of(FULL)


@pytest.mark.parametrize("name", OTHER)
def test_a_changed_fact_leaves_the_others(name: str):
    changed = facts_of(FULL.replace(**{name: OTHER[name]}))
    dependent = {"shape": {"layout": None}, "dtype": {"numbers": ""}}.get(name, {})
    assert changed == {**facts_of(FULL), name: OTHER[name], **dependent}


@pytest.mark.parametrize("name", OTHER)
def test_facts_tell_buffers_apart(name: str):
    """Kernels over buffers of equal facts are shared: only a name may differ."""
    assert (FULL.replace(**{name: OTHER[name]}).facts == FULL.facts) == (name == "name")


@pytest.mark.parametrize(
    ("old", "new", "finite"),
    [
        ("float16", "float32", True),
        ("bfloat16", "float32", True),
        ("float32", "float32", True),
        ("float32", "bfloat16", False),
        ("bfloat16", "float16", False),
        ("float64", "float32", False),
    ],
)
def test_a_narrower_dtype_may_overflow(old: str, new: str, finite: bool):
    assert Buffer("b", (4,), old, finite=True).replace(dtype=new).finite == finite


def test_fresh_copies_keep_facts():
    copied = fresh_copy(Allocate(FULL, Store(FULL, (const(0), const(0)), FULL[0, 0])))
    assert isinstance(copied, Allocate)
    assert facts_of(copied.buffer) == facts_of(FULL)


def test_a_transposed_copy_of_words_in_memory_holds_words():
    x = Buffer("x", (8, 4), "int32", Scope.PARAM, numbers="int8")
    acc, out = Buffer("acc", (), "int32", Scope.LOCAL), Buffer("out", (8,), "int32", Scope.PARAM)
    o, k = Var("o"), Var("k")
    read = x[o, k]
    r = Reduction(((o, 8),), acc, const(0), ((k, 4),), acc.element() + read, (Store(out, (o,), acc.element()),))
    copy, _ = _with_copy(r, read, _Order(0, 1))
    assert facts_of(copy.stores[0].buffer) == {
        **facts_of(x),
        "name": "x_t",
        "shape": (4, 8),
        "scope": Scope.GLOBAL,
        "numbers": "",
    }


def _copied_by_hand(path: Path) -> list[str]:
    """Calls of `Buffer` with two facts of one other buffer, which drop the rest. Tensors of lowering (`t`) and slots of programs are
    no buffers."""
    places = []
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Buffer"):
            continue
        values = [*call.args, *(k.value for k in call.keywords)]
        taken = [ast.unparse(v.value) for v in values if isinstance(v, ast.Attribute) and v.attr in OTHER]
        if any(taken.count(source) > 1 and source not in ("slot", "t") for source in taken):
            places.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    return places


def test_no_copy_is_made_fact_by_fact():
    files = [path for path in sorted(ROOT.rglob("*.py")) if path.parent.name != "primfn"]  # a text declares buffers
    places = [place for path in files for place in _copied_by_hand(path)]
    assert not places, "use Buffer.replace, which keeps facts that are added later"
