"""`--check-values`: passes that are meant to change results are checked by what they are meant to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Function, Module, rewrite
from irtool.ops.base import call, is_call_to
from irtool.passes.core.base import passes
from irtool.passes.decompose_ops import MutateOpsForTraining
from irtool.passes.first_order_gradient import FirstOrderGradient
from irtool.passes.instruments.values import CheckValues
from tests.command_line import irtool as command

pytestmark = pytest.mark.promise("value checks")

T = "Tensor[(3, 4), float32]"
SMOOTH = {
    "arithmetic": f"def @main(%x: {T}, %y: {T}) {{ %0 = multiply(%x, %y); add(%0, exp(%x)) }}",
    "dense": "def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(5, 4), float32]) { tanh(nn.dense(%x, %w, units=None)) }",
    "constant": f"def @main(%x: {T}) {{ multiply(sigmoid(%x), 3f) }}",
    "reduction": f"def @main(%x: {T}) {{ divide(%x, sum(multiply(%x, %x), axis=[1], keepdims=True)) }}",
    "softmax": f"def @main(%x: {T}) {{ nn.log_softmax(%x) }}",
    "integers": f'def @main(%x: {T}, %i: Tensor[(3, 4), int32]) {{ multiply(%x, cast(%i, dtype="float32")) }}',
}
NORM = (
    "def @main(%x: Tensor[(2, 3, 4, 4), float32], %g: Tensor[(3), float32], %b: Tensor[(3), float32], "
    "%m: Tensor[(3), float32], %v: Tensor[(3), float32]) {{ %0 = nn.batch_norm(exp(%x), %g, %b, %m, %v{options}); "
    "{result} }}"
)


def check(text: str | Module, pipeline: object, count: int = 3) -> CheckValues:
    instrument = CheckValues(count)
    module = irtool.parse(text) if isinstance(text, str) else text
    irtool.run_passes(module, pipeline, opt_level=3, instruments=[instrument])
    return instrument


@pytest.mark.parametrize(
    "pipeline",
    [
        "FirstOrderGradient",
        "Gradient{mode=first_order}",
        "ToANormalForm,Gradient",
        "ToANormalForm,Gradient,LazyGradientInit,PartialEvaluate,DeadCodeElimination",
    ],
)
@pytest.mark.parametrize("program", SMOOTH)
def test_gradients_are_compared_with_differences(program: str, pipeline: str) -> None:
    assert check(SMOOTH[program], pipeline).skipped == []


@pytest.mark.parametrize("pipeline", ["FirstOrderGradient", "ToANormalForm,Gradient"])
def test_results_of_several_tensors(pipeline: str) -> None:
    assert check(f"def @main(%x: {T}, %y: {T}) {{ (multiply(%x, %y), exp(%y)) }}", pipeline).skipped == []


@dataclass(frozen=True)
class WrongGradient(FirstOrderGradient):
    """The gradient of `exp` twice too large."""

    name: ClassVar[str] = "WrongGradient"

    def transform(self, module, context):
        after = super().transform(module, context)
        main = after["main"]
        calls = []

        def leave(old, new):
            if is_call_to(new, "multiply") and not calls:
                calls.append(new)
                return call("multiply", new, call("add", new.args[0], new.args[0]))
            return new

        return after.with_functions({**after.functions, "main": rewrite(main, leave)})


def test_a_wrong_gradient_is_found() -> None:
    with pytest.raises(IrError, match="central differences"):
        check(f"def @main(%x: {T}) {{ tanh(exp(%x)) }}", [WrongGradient()])


@dataclass(frozen=True)
class ForgetsMomentum(MutateOpsForTraining):
    """Updates moving statistics by another weight than it says."""

    name: ClassVar[str] = "ForgetsMomentum"

    def transform(self, function: Function, module, context):
        return MutateOpsForTraining(0.5).transform(function, module, context)


@pytest.mark.parametrize("options", ["", ", axis=2, scale=False", ", epsilon=0.1f, center=False"])
@pytest.mark.parametrize("momentum", [0.1, 0.7])
def test_training_is_compared_with_its_definition(options: str, momentum: float) -> None:
    if "axis=2" in options:
        text = NORM.replace("(2, 3, 4, 4)", "(2, 4, 3, 4)").format(options=options, result="(%0.0, %0.1, %0.2)")
    else:
        text = NORM.format(options=options, result="(nn.relu(%0.0), %0.1, %0.2)")
    for name in ("MutateOpsForTraining", "DecomposeOpsForTraining"):
        assert check(text, [(name, {"momentum": momentum})]).skipped == []


def test_training_that_is_wrong_is_found() -> None:
    with pytest.raises(IrError, match="result"):
        check(NORM.format(options="", result="(%0.0, %0.1)"), [ForgetsMomentum()])
    with pytest.raises(IrError, match="changes the results"):  # inference has no such excuse

        @dataclass(frozen=True)
        class Undeclared(MutateOpsForTraining):
            """Training that does not say so."""

            name: ClassVar[str] = "Undeclared"
            changes: ClassVar[str] = ""

        check(NORM.format(options="", result="%0.0"), [Undeclared()])


def test_approximations_have_a_tolerance() -> None:
    text = f"def @main(%x: {T}, %w: {T}) {{ tanh(nn.dense(exp(%x), %w, units=None)) }}"
    assert check(text, "FastMath").skipped == []
    assert check(text, "ToMixedPrecision").skipped == []
    assert check(text, "default<O4>").skipped == []

    @dataclass(frozen=True)
    class Rough(passes.get("FastMath")):  # type: ignore[misc]
        """Too far from the exact result."""

        name: ClassVar[str] = "Rough"

        def transform(self, function, module, context):
            def leave(old, new):
                return call("multiply", new, call("exp", new)) if is_call_to(new, "exp") else new

            return rewrite(function, leave)

    with pytest.raises(IrError, match=r"more than 0\.01"):
        check(text, [Rough()])


def test_a_kink_is_said_and_passed_over() -> None:
    (x,) = random_inputs(irtool.infer_types(irtool.parse("def @main(%x: float32) { %x }"))["main"])
    report = check(f"def @main(%x: float32) {{ nn.relu(subtract(%x, {float(x)!r}f)) }}", "FirstOrderGradient", 1)
    assert report.skipped == [
        "FirstOrderGradient: its gradients cannot be compared with differences: the function has a kink here"
    ]


def test_other_interfaces_are_said() -> None:
    report = check("def @main(%x: float32) -> float32 { exp(%x) }", "ToANormalForm,ToCPS", 1)
    assert any("ToCPS: functions take or return something else" in s for s in report.skipped)


def test_other_weights_are_an_interface() -> None:
    """A square weight is given transposed: with the same values the result is another one."""
    text = "def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(4, 4), float32]) { nn.dense(%x, transpose(%w, axes=[1, 0]), units=None) }"
    report = check(text, 'SimplifyFCTranspose{target_weight_name=["w"]}', 1)
    assert any("SimplifyFCTranspose: functions take or return something else" in s for s in report.skipped)


def test_effects_are_compared() -> None:
    state = "let %r = ref(%x); let %u = ref_write(%r, exp(%x)); ref_read(%r)"
    assert check(f"def @main(%x: float32) -> float32 {{ {state} }}", "ToGraphNormalForm", 1).skipped == []
    assert check("def @main(%x: float32) { let %y = exp(%x); add(%y, %y) }", "ToGraphNormalForm", 1).skipped == []


def test_every_declaration_is_one_that_is_known() -> None:
    for cls in passes:
        assert cls.changes in ("", "derivative", "training", "approximation", "interface", "effects"), cls.name
    assert {c.name for c in passes if c.changes == "derivative"} == {"Gradient", "FirstOrderGradient"}


@pytest.mark.parametrize("option", [("--check-values", "2"), ("--check-values=2",), ("--check-values",)])
def test_the_number_is_the_next_word(option: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "n.relay"
    path.write_text('#[version = "0.0.5"]\n' + SMOOTH["arithmetic"] + "\n")
    code, out, err = command("opt", "-p", "FirstOrderGradient", *option, path)
    assert code == 0
    assert re.fullmatch(r"note: passes are compared on made-up values: 2 of 2 parameters of @main .*: %x, %y\n", err)
    assert "ones_like" in out
    code, _, err = command("opt", "--check-values", "-1", path)
    assert code == 2
    code, _, err = command("opt", "--time-passes", path)
    assert code == 0
