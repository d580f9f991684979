"""The text of a module grows as the module does, and what is left out of it is found again by reading it."""

from __future__ import annotations

import pytest

import irtool
from irtool.ir import Type
from irtool.ir.structural import structural_equal
from irtool.printer.brevity import Brevity
from tests.work import steps

V = '#[version = "0.0.5"]\n'
pytestmark = pytest.mark.promise("growth")


def shared_tuples(n: int) -> str:
    body = "".join(f"  %{i + 1} = (%{i}, %{i});\n" for i in range(n))
    return V + f"def @main(%x: float32) {{\n  %0 = (%x, %x);\n{body}  %{n}\n}}\n"


def nested_tuples(n: int) -> str:
    return V + "def @main(%x: float32) {\n  " + "(" * n + "%x" + ",)" * n + "\n}\n"


def nested_functions(n: int) -> str:
    return V + "def @main() {\n  " + "fn () {" * n + "1" + "}" * n + "\n}\n"


def nested_patterns(n: int) -> str:
    value, pattern = "(" * n + "%x" + ",)" * n, "(" * n + "%y" + ")" * n
    return V + f"def @main(%x: float32) {{\n  match ({value}) {{ {pattern} => {{ %y }} }}\n}}\n"


def nested_matches(n: int) -> str:
    return V + "def @main(%x: float32) {\n  " + "match (%x) { _ => { " * n + "%x" + " } }" * n + "\n}\n"


def nested_ifs(n: int) -> str:
    return V + "def @main(%x: float32, %c: bool) {\n  " + "if (%c) { " * n + "%x" + " } else { %x }" * n + "\n}\n"


def lets_of_shared_tuples(n: int) -> str:
    body = "".join(f"  let %y{i + 1} = (%y{i}, %y{i});\n" for i in range(n))
    return V + f"def @main(%y0: float32) {{\n{body}  %y{n}\n}}\n"


SHAPES = [
    shared_tuples,
    nested_tuples,
    nested_functions,
    nested_patterns,
    nested_matches,
    nested_ifs,
    lets_of_shared_tuples,
]


@pytest.mark.parametrize("shape", SHAPES)
def test_text_and_work_grow_as_the_module_does(shape):
    small, large = (irtool.infer_types(irtool.parse(shape(n))) for n in (120, 480))
    assert len(irtool.to_text(large)) < 5 * len(irtool.to_text(small))
    assert steps(lambda: irtool.to_text(large)) < 5 * steps(lambda: irtool.to_text(small))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("types", ["all", "calls", "none"])
def test_what_was_left_out_is_found_again(shape, types):
    module = irtool.infer_types(irtool.parse(shape(60)))
    text = irtool.to_text(module, types=types)
    again = irtool.infer_types(irtool.parse(text))
    assert structural_equal(again, module)
    assert irtool.to_text(again, types=types) == text


def test_the_text_says_what_it_leaves_out():
    text = irtool.to_text(irtool.infer_types(irtool.parse(shared_tuples(40))))
    assert "-> _ /* a type of more than 10^9 parts is left out */ {" in text
    assert "%9 = (%8, %8) /* a type of 2047 parts is left out */;" in text
    assert "%1 = (%0, %0) /* ty=((float32, float32), (float32, float32)) */;" in text


def test_a_wide_result_is_written_out():
    fields = ", ".join(["%x"] * 3_000)
    text = irtool.to_text(irtool.infer_types(irtool.parse(V + f"def @main(%x: float32) {{ ({fields}) }}\n")))
    assert "left out" not in text.split("{")[0]


def test_a_long_type_that_the_program_alone_states_stays():
    t = "(" * 50 + "float32" + ",)" * 50
    text = irtool.to_text(irtool.infer_types(irtool.parse(V + f"def @main(%x: {t}) {{ () }}\n")))
    assert f"%x: {t}" in text


def test_the_allowance_is_used_up():
    brevity = Brevity()
    t: Type = irtool.infer_types(irtool.parse(nested_tuples(40)))["main"].ret_type
    assert not brevity.admits(t)
    brevity.grow(20)
    assert [brevity.admits(t), brevity.admits(t)] == [True, False]
