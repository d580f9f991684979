"""Questions about programs: the basic-block normal form."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings

import irtool
from irtool.cli import run
from irtool.ir import Function, Module
from irtool.ir.analysis import basic_block_violations, check_basic_block_normal_form
from irtool.ir.scope import Scopes
from irtool.passes.to_basic_block_normal_form import is_basic_block_normal_form
from tests.generators import modules, random_module

TEXT = """#[version = "0.0.5"]
def @main(%c: bool, %a: float32, %b: float32) {
  %0 = add(%a, %b);
  if (%c) { %0 } else { negative(%0) }
}
def @fine(%a: float32) {
  %0 = exp(%a);
  add(%0, %0)
}
"""

pytestmark = pytest.mark.promise("normal forms")


def test_the_violating_expression_is_named_with_its_scopes() -> None:
    module = irtool.parse(TEXT, "n.relay")
    with pytest.raises(irtool.IrError) as caught:
        check_basic_block_normal_form(module)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message.startswith("add(…) violates")
    assert diagnostic.location == "n.relay:3:8"
    assert diagnostic.notes[0] == "it is used in the then branch of an if at 4:3 and in the else branch of an if at 4:3"
    assert "in the body of @main" in diagnostic.notes[1]


def test_modules_functions_and_expressions_are_taken() -> None:
    module = irtool.parse(TEXT)
    assert check_basic_block_normal_form(module["fine"])
    assert check_basic_block_normal_form(module["fine"].body)
    assert not is_basic_block_normal_form(module)
    assert not is_basic_block_normal_form(module["main"])
    assert is_basic_block_normal_form(irtool.run_passes(module, "ToBasicBlockNormalForm"))
    (diagnostic,) = basic_block_violations(module["main"].body)
    assert diagnostic.notes[1].startswith("it is evaluated around the whole expression")


def test_what_outside_compilers_take_is_left_alone() -> None:
    module = irtool.parse(TEXT.replace("%b: float32)", '%b: float32, Compiler="npu", global_symbol="g")'))
    assert check_basic_block_normal_form(module)


def test_deep_programs_need_no_stack() -> None:
    x = irtool.parse_expr("fn (%x: float32, %c: bool) { %x }")
    assert isinstance(x, Function)
    from irtool.ir import If
    from irtool.ops.base import call

    value, shared = x.params[0], call("exp", x.params[0])
    for _ in range(20_000):
        value = call("exp", value)
    body = If(x.params[1], call("add", shared, value), shared)
    assert len(basic_block_violations(Function(x.params, body))) == 1


@given(modules())
@example(
    random_module(23772)
)  # a kernel that shares values with the function around it, and with a kernel inside of it
@example(random_module(546501955))  # a kernel that shares a match
@example(random_module(23780))  # constructors in two scopes
@example(random_module(1230071556))  # a variable of a pattern in two branches
@settings(max_examples=60, deadline=None)
def test_only_lifted_nodes_are_named(module: Module) -> None:
    lifted = {e for f in module.relay_functions.values() for e in Scopes(f).lifted}
    assert len(basic_block_violations(module)) <= len(lifted)
    if not lifted:
        assert check_basic_block_normal_form(module)
    after = irtool.run_passes(module, "ToBasicBlockNormalForm")
    assert not basic_block_violations(after)


def test_on_the_command_line(tmp_path, capsys) -> None:
    file = tmp_path / "n.relay"
    file.write_text(TEXT)
    assert run(["check", str(file)]) == 0
    assert run(["check", "--basic-block-normal-form", str(file)]) == 1
    assert "3:8: error[E0212]: add(…) violates the basic-block normal form" in capsys.readouterr().err
