"""Contexts, sequences, prerequisites, instruments, selection of functions."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import irtool
import irtool.parser
from irtool.diagnostics import Diagnostic, IrError, UsageError
from irtool.ir import Function, Module
from irtool.passes import PassContext, PassInfo, PassInstrument, PassList, parse_pipeline, passes, run_pass, run_passes
from irtool.passes.core.option_text import show_value
from irtool.passes.core.pipeline import parse_value
from irtool.plugin import PluginError

TEXT = """#[version = "0.0.5"]
def @helper(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = add(%x, %x);
  nn.relu(%0)
}

def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = @helper(%x);
  %1 = exp(%0);
  tanh(%1)
}
"""


@pytest.fixture
def module() -> Module:
    return irtool.infer_types(irtool.parse(TEXT))


class Recorder(PassInstrument):
    def __init__(self, refuse: str = "") -> None:
        self.events: list[str] = []
        self.refuse = refuse

    def enter_pass_ctx(self) -> None:
        self.events.append("enter")

    def exit_pass_ctx(self) -> None:
        self.events.append("exit")

    def should_run(self, module: Module, info: PassInfo) -> bool:
        return info.name != self.refuse

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        self.events.append(f"before {info.name}")

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        self.events.append(f"after {info.name}")


def test_sequences_honour_the_level(module: Module) -> None:
    sequence = PassList(tuple(parse_pipeline("FuseOps,FastMath")))
    text = irtool.to_text(run_pass(sequence, module, PassContext(opt_level=0)))
    assert "Primitive=1" in text
    assert "fast_exp" not in text
    assert "fast_exp" in irtool.to_text(run_pass(sequence, module, PassContext(opt_level=4)))


def test_required_and_disabled(module: Module) -> None:
    sequence = PassList(tuple(parse_pipeline("FuseOps,FastMath")))
    required = run_pass(sequence, module, PassContext(opt_level=0, required_pass=["FastMath"]))
    assert "fast_exp" in irtool.to_text(required)
    disabled = run_pass(sequence, module, PassContext(opt_level=4, disabled_pass=["FuseOps"]))
    assert "Primitive=1" not in irtool.to_text(disabled)
    with pytest.raises(UsageError, match="both required and disabled"):
        PassContext(required_pass=["FuseOps"], disabled_pass=["FuseOps"])


def test_a_pass_named_explicitly_always_runs(module: Module) -> None:
    assert "fast_exp" in irtool.to_text(run_passes(module, "FastMath", opt_level=0))


def test_prerequisites_run_first_and_instruments_see_them(module: Module) -> None:
    recorder = Recorder()
    run_passes(module, "FuseOps", instruments=[recorder])
    assert recorder.events == [
        "enter",
        "before InferType",
        "after InferType",
        "before FuseOps",
        "after FuseOps",
        "exit",
    ]


def test_an_instrument_can_keep_a_pass_from_running(module: Module) -> None:
    result = run_passes(module, "FuseOps,FastMath", instruments=[Recorder(refuse="FuseOps")])
    text = irtool.to_text(result)
    assert "Primitive=1" not in text
    assert "fast_exp" in text


def test_the_current_context_is_per_thread_and_nests() -> None:
    assert PassContext.current().opt_level == 2
    with PassContext(opt_level=3):
        assert PassContext.current().opt_level == 3
        with PassContext(opt_level=1):
            assert PassContext.current().opt_level == 1
        assert PassContext.current().opt_level == 3
    assert PassContext.current().opt_level == 2


def test_cyclic_prerequisites_are_named(module: Module) -> None:
    from irtool.passes import FunctionPass, register_pass

    @register_pass("TestCycleA", required=("TestCycleB",))
    @dataclass(frozen=True)
    class A(FunctionPass):
        """A."""

        def transform(self, function: Function, module: Module, context: PassContext) -> Function:
            return function

    @register_pass("TestCycleB", required=("TestCycleA",))
    @dataclass(frozen=True)
    class B(A):
        """B."""

    try:
        with pytest.raises(UsageError, match="cycle: TestCycleA → TestCycleB → TestCycleA"):
            run_pass(PassList((A(),)), module, PassContext())
    finally:
        for name in ("TestCycleA", "TestCycleB"):
            del passes._classes[name]


def test_func_selects_by_regular_expression_from_the_start(module: Module) -> None:
    result = run_passes(module, "FuseOps", func="help")
    assert "Primitive=1" in irtool.to_text(result["helper"])
    assert result["main"] is module["main"] or irtool.structural_equal(result["main"], module["main"])
    with pytest.raises(IrError, match="no function matches 'elper'"):
        run_passes(module, "FuseOps", func="elper")


def test_func_keeps_matched_functions_that_nothing_calls(module: Module) -> None:
    result = run_passes(module, "RemoveUnusedFunctions", func="helper")
    assert list(result.functions) == list(module.functions)


def test_input_module_is_untouched(module: Module) -> None:
    before = irtool.to_text(module)
    run_passes(module, "SimplifyInference,FuseOps,FastMath", opt_level=4)
    assert irtool.to_text(module) == before


def test_a_pass_that_changes_nothing_returns_the_same_module(module: Module) -> None:
    assert run_passes(module, "SimplifyInference") is module


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("FuseOps", ["FuseOps"]),
        (" FuseOps , FastMath ", ["FuseOps", "FastMath"]),
        ("FuseOps{fuse_opt_level=1},FastMath", ["FuseOps{fuse_opt_level=1}", "FastMath"]),
        ('func("^main$", FuseOps,FastMath)', ['func("^main$", FuseOps,FastMath)']),
        ("default<O3>", ["default<O3>"]),
    ],
)
def test_pipeline_text(text: str, names: list[str]) -> None:
    assert [p.text() for p in parse_pipeline(text)] == names


@pytest.mark.parametrize(
    "text", ["FuseOps,,FastMath", "FuseOps{", "FuseOps{x}", "func(FuseOps)", "default<O7>", "a b", "[" * 500, '"']
)
def test_malformed_pipelines_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse_pipeline(text)


@pytest.mark.parametrize(
    "value", [1, -2.5, "a b", 'quote " and \\ slash', True, None, [1, [2]], {"nn.conv2d": ["NHWC", "default"]}]
)
def test_values_read_back(value: object) -> None:
    assert parse_value(show_value(value)) == value


def test_config_is_checked(module: Module) -> None:
    run_passes(module, "FuseOps", config={"relay.FuseOps.max_depth": 10})
    with pytest.raises(UsageError, match="unknown pass option"):
        run_passes(module, "FuseOps", config={"relay.FuseOps.max_dept": 10})
    with pytest.raises(UsageError, match="expected an integer"):
        run_passes(module, "FuseOps", config={"relay.FuseOps.max_depth": "ten"})


def test_a_pass_that_breaks_the_module_is_named(module: Module) -> None:
    from irtool.ir import Call, Expr, Op, rewrite
    from irtool.passes import FunctionPass, register_pass

    @register_pass("TestBreaks")
    @dataclass(frozen=True)
    class Breaks(FunctionPass):
        """Drops an argument."""

        def transform(self, function: Function, module: Module, context: PassContext) -> Function:
            def leave(old: Expr, new: Expr) -> Expr:
                if isinstance(new, Call) and isinstance(new.op, Op) and new.op.name == "add":
                    return Call(new.op, new.args[:1], new.attrs)
                return new

            return rewrite(function, leave)  # type: ignore[return-value]

    try:
        with pytest.raises(PluginError, match=r"test_infrastructure\.py.*pass TestBreaks: add takes 2") as caught:
            run_passes(module, "TestBreaks")
        assert any("TestBreaks" in n for n in caught.value.diagnostics[0].notes)
    finally:
        del passes._classes["TestBreaks"]


def test_partial_inference_leaves_unknown_what_nothing_says() -> None:
    module = irtool.parser.parse(
        '#[version = "0.0.5"]\ndef @main(%x, %y: Tensor[(2), float32]) { (nn.relu(%x), nn.relu(%y)) }'
    )
    warnings: list[Diagnostic] = []
    inferred = run_passes(module, "InferType{partial=true}", warn=warnings.append)
    body = inferred["main"].body
    assert [f.checked_type is None for f in body.fields] == [True, False]
    assert "shape_num_unknown_nodes" in warnings[0].message
    with pytest.raises(IrError, match="cannot be inferred"):
        run_passes(module, "InferType{partial=true},FuseOps")


OPEN = """#[version = "0.0.5"]
def @f(%x) { %x }
def @main(%x, %y) { @f(%x) }
"""


@pytest.mark.parametrize(
    "name",
    [
        "RemoveUnusedFunctions",
        "Inline",
        "ToANormalForm",
        "DeDuplicate",
        "ToBasicBlockNormalForm",
        "MarkCompilerFunctionsAsExtern",
    ],
)
def test_passes_that_only_move_code_take_open_types(name: str) -> None:
    module = irtool.run_passes(irtool.parse(OPEN), name)
    assert not module["main"].params[1].checked_type


def test_other_passes_refuse_open_types() -> None:
    with pytest.raises(irtool.IrError, match="cannot be inferred"):
        irtool.run_passes(irtool.parse(OPEN), "FuseOps")
