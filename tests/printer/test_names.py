"""Names of variables are unique and readable."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irtool
from irtool.printer.names import Names


def given_out(*hints: str, portable: bool = False) -> list[str]:
    names = Names(portable)
    return [names.unique(h) for h in hints]


def test_names_are_counted_up():
    assert given_out("x", "x", "x", "y") == ["x", "x1", "x2", "y"]
    assert given_out("x1", "x", "x", "x") == ["x1", "x", "x2", "x3"]


def test_names_start_with_a_letter():
    assert given_out("", "_", "1", "_a") == ["v", "v_", "v1", "v_a"]


def test_names_of_importers_stay():
    assert given_out("conv1/bias:0", "layer1.0", "a.b.c", "x-1", "c++_0") == [
        "conv1/bias:0",
        "layer1.0",
        "a.b.c",
        "x-1",
        "c++_0",
    ]


def test_what_cannot_be_read_back_is_replaced():
    assert given_out("a b", "a%b", "größe", "a:", "b.-") == ["a_b", "a_b1", "gr__e", "a_", "b_"]


def test_a_name_is_not_a_field_of_another():
    assert given_out("a", "a.0") == ["a", "a_0"]
    assert given_out("a.0", "a") == ["a.0", "a1"]
    assert given_out("a.b.0", "a", "a.b") == ["a.b.0", "a", "a.b1"]


def test_portable_names():
    assert given_out("conv1/bias:0", "layer1.0", portable=True) == ["conv1_bias_0", "layer1_0"]


@given(st.lists(st.text(alphabet="ab1_./:-é ", max_size=4), max_size=30), st.booleans())
def test_names_are_unique_and_readable(hints, portable):
    names = given_out(*hints, portable=portable)
    assert len(set(names)) == len(names)
    allowed = r"[A-Za-z]\w*" if portable else r"[A-Za-z](?:[./:+-]*\w+)*"
    assert all(re.fullmatch(allowed, n, re.ASCII) for n in names), names
    taken = set(names)
    for n in names:
        assert not any(n[: m.start()] in taken for m in re.finditer(r"\.\d+(?=\.|$)", n))


@pytest.mark.parametrize("name", ["_", "_x", "__1"])
def test_free_variables_keep_names_that_begin_with_an_underscore(name: str) -> None:
    """Nothing but the name tells which variable is free; that of a bound one gets a letter in front, as in TVM."""
    text = f'#[version = "0.0.5"]\ndef @main(%x) {{\n  free_var %{name};\n  %{name}\n}}\n'
    module = irtool.parse(text)
    assert irtool.to_text(module) == text
    assert irtool.structural_equal(module, irtool.parse(irtool.to_text(module)))
    bound = irtool.to_text(irtool.parse(f'#[version = "0.0.5"]\ndef @main(%{name}) {{ %{name} }}\n'))
    assert f"def @main(%v{name})" in bound
