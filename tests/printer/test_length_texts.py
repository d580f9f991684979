"""Texts of modules whose extents only a run knows: what is printed is read again with the same meaning."""

from __future__ import annotations

import random
from typing import Any

import pytest

import irtool
from irtool.ir import Function, Module, TensorType, Var
from irtool.parser.mistakes import MalformedLengths, MalformedType
from irtool.symbolic_int import (
    LARGEST,
    Symbol,
    SymbolicInt,
    Undecided,
    choice_of,
    declaration,
    declared,
    extent_of,
    interval,
    minimum,
)

SYMBOLS = (
    Symbol("n", 1, 512),
    Symbol("h", 4, 256, 4),
    Symbol("from_0", 0, 40),
    choice_of("batch", (1, 4, 8)),
    choice_of("width", (32, 64)),
    Symbol("seq", 1, LARGEST, is_bounded=False),
    Symbol("past", 8, LARGEST // 8 * 8, 8, is_bounded=False),
)


def random_extent(r: random.Random, depth: int) -> int:
    """A formula or a number that is not negative."""
    if depth == 0 or r.random() < 0.1:
        return r.randint(0, 9) if r.random() < 0.2 else extent_of(r.choice(SYMBOLS))
    a, b = (random_extent(r, depth - 1) for _ in range(2))
    try:
        extent = r.choice(
            (
                lambda: a + b,
                lambda: a * r.randint(0, 5) + r.randint(0, 5),
                lambda: a - b,
                lambda: a * b,
                lambda: a // r.randint(1, 7),
                lambda: a % r.randint(1, 7),
                lambda: a // b,
                lambda: minimum(a, b),
            )
        )()
    except (Undecided, ZeroDivisionError):
        return a
    return extent if interval(extent)[0] >= 0 and (not isinstance(extent, SymbolicInt) or len(str(extent)) < 400) else a


def module_of(*extents: int) -> Module:
    t = TensorType(extents, "float32")
    v = Var("x", t)
    return Module({"main": Function((v,), v, t)})


@pytest.mark.parametrize("seed", range(40))
def test_random_formulas_read_back_as_they_were(seed: int) -> None:
    r = random.Random(seed)
    extents = tuple(random_extent(r, r.randint(1, 4)) for _ in range(5))
    module = module_of(*extents)
    text = irtool.to_text(module)
    again = irtool.parse(text)
    (param,) = again["main"].params
    t: Any = param.type_annotation
    assert all(a is b or a == b for a, b in zip(t.shape, extents, strict=True)), text
    printed = irtool.to_text(again)
    assert irtool.to_text(irtool.parse(printed)) == printed


@pytest.mark.parametrize("symbol", SYMBOLS, ids=lambda s: s.name)
def test_declarations_have_an_inverse(symbol: Symbol) -> None:
    assert declared(declaration(symbol)) is symbol


@pytest.mark.parametrize(
    "text",
    ["", "8", "n<=0", "2<=n<=1", "3<=n<=9:2", "2<=n<=9:2", "n:0", "n=1|", "n=0|4", "n<=4294967296", "1<n", "n m"],
)
def test_declarations_of_no_length(text: str) -> None:
    assert declared(text) is None


def test_texts_without_lengths_have_no_line_for_them() -> None:
    assert "lengths" not in irtool.to_text(module_of(2, 3))


def test_names_that_are_not_declared_are_dimensions_as_before() -> None:
    module = irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, 3), float32]) {\n  %x\n}\n')
    assert not isinstance(module["main"].params[0].type_annotation.shape[0], int)


def test_types_and_attributes_after_inference_read_back() -> None:
    text = """\
#[version = "0.0.5"]
#[lengths = "4<=n<=64:4, 1<=m<=9"]
def @main(%x: Tensor[(1, n, m), float32]) {
  %0 = nn.max_pool1d(%x, pool_size=[2], strides=[2], padding=[0, 0], layout="NWC");
  (reshape(%0, newshape=[n / 2 * m]), nn.relu(strided_slice(%x, begin=[0, 0, 0], end=[1, n / 2, m], strides=[1, 1, 1], axes=[0, 1, 2])))
}
"""
    module = irtool.infer_types(irtool.parse(text))
    printed = irtool.to_text(module)
    assert "Tensor[(2 * (n / 4) * m), float32]" in printed
    again = irtool.infer_types(irtool.parse(printed))
    assert irtool.to_text(again) == printed and irtool.structural_equal(module, again)


@pytest.mark.parametrize(
    ("line", "shape", "code"),
    [
        ('"5<=n<=3"', "(n,)", MalformedLengths),
        ("n", "(2,)", MalformedLengths),
        ('"n, n<=4"', "(n,)", MalformedLengths),
        ('"n"', "(n * m,)", MalformedType),
        ('"n"', "(n + ?,)", MalformedType),
        ('"n"', "(n / 0,)", MalformedType),
        ('"n, m"', "((n < m ? m : n),)", MalformedType),
        ('"n, m"', "(n / (m - n),)", MalformedType),
        ('"n"', "(-k,)", MalformedType),
    ],
)
def test_mistakes_in_formulas_have_a_place(line: str, shape: str, code: Any) -> None:
    text = f'#[version = "0.0.5"]\n#[lengths = {line}]\ndef @main(%x: Tensor[{shape}, float32]) {{\n  %x\n}}\n'
    with pytest.raises(irtool.IrError) as caught:
        irtool.parse(text)
    assert [d.code for d in caught.value.diagnostics] == [code] and caught.value.diagnostics[0].span is not None


@pytest.mark.parametrize("extent", ["n", "(n < 5 ? n : 5)", "2 * n"])
@pytest.mark.parametrize("call", ["broadcast_to(%x, shape=[{}, 3])", "cumsum(broadcast_to(%x, shape=[2, {}]), axis=1)"])
def test_formulas_among_attributes_that_records_hold_otherwise(call: str, extent: str) -> None:
    text = f'#[version = "0.0.5"]\n#[lengths = "1<=n<=16"]\ndef @main(%x: Tensor[(1), float32]) {{ {call.format(extent)} }}'
    module = irtool.infer_types(irtool.parse(text))
    printed = irtool.to_text(module)
    assert f"{extent}" in printed and irtool.to_text(irtool.infer_types(irtool.parse(printed))) == printed
    assert irtool.structural_equal(irtool.parse(printed), module)
