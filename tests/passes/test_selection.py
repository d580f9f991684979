"""Passes on some functions of a module: the others are known by their type alone, and stay as they are."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

import irtool
import irtool.parser
from irtool.diagnostics import IrError, UsageError
from irtool.interp.random_inputs import random_inputs
from irtool.ir import (
    ExternFunction,
    Function,
    FuncType,
    Module,
    TensorType,
    Tuple,
    scalar,
)
from irtool.passes import (
    ApplyPassToFunction,
    FunctionPass,
    ModulePass,
    PassContext,
    PassInfo,
    PassInstrument,
    Sequential,
    parse_pipeline,
    run_passes,
)
from irtool.passes.instruments.values import difference
from irtool.passes.instruments.verifying import Verifying
from tests.passes.pipelines import ALL, MEANS_SOMETHING_ELSE, TARGET, TOLERANCES, last, pipelines
from tests.passes.stateful import StatefulMaker

STATE = """#[version = "0.0.5"]
def @set(%r: ref(float32), %x: float32) -> () { ref_write(%r, %x) }
def @main(%x: float32) -> float32 { let %r = ref(%x); let %u = @set(%r, exp(%x)); ref_read(%r) }
"""
INLINED = """#[version = "0.0.5"]
def @helper(%x: float32, Inline=1) -> float32 { exp(%x) }
def @main(%x: float32) -> float32 { add(@helper(%x), 1f) }
"""
E = float(np.exp(np.float32(1)))


@cache
def stateful_module(seed: int) -> Module:
    return irtool.infer_types(StatefulMaker(random.Random(seed), 8).module())


@cache
def values(seed: int) -> Any:
    module = stateful_module(seed)
    return irtool.evaluate(module, random_inputs(module["main"], seed))


REFUSES = {
    "ConvertCaches": "modules without states",
    "Defunctionalization": "references",
    "FirstOrderGradient": "references",
    "InlineCompilerFunctionsBoundTo": "functions that there are not",
    "ReadTokens": "modules without a row of tokens",
    "ToCPS": "calls of functions that it cannot look into",
    "UnCPS": "calls of functions that it cannot look into",
}
"""Passes that may refuse all of these modules, and what they refuse."""

PIPELINES = [p for p in pipelines(ALL) if "func" not in p]
SEEDS = 8


@pytest.mark.promise("selected functions")
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_every_pass_leaves_the_others_alone(pipeline: str) -> None:
    done = 0
    for seed in range(SEEDS):
        module = stateful_module(seed)
        name = ("main", "f", "helper_2")[seed % 3]
        try:
            after = run_passes(module, pipeline, func=f"{name}$", opt_level=4, target=TARGET, instruments=[Verifying()])
        except IrError as error:
            assert error.exit_code == 1, f"stateful_module({seed}): {error}"
            continue
        done += 1
        for other in module.functions:
            if other != name:
                assert irtool.structural_equal(after[other], module[other]), f"@{other} of stateful_module({seed})"
        if last(pipeline) in MEANS_SOMETHING_ELSE or last(pipeline) in ("LowerTE", "LowerTensorExpr"):
            continue
        rtol, atol = TOLERANCES.get(last(pipeline), (1e-4, 1e-4))
        got = irtool.evaluate(after, random_inputs(module["main"], seed))
        worst = difference(values(seed), got, rtol, atol)
        assert worst is None, f"stateful_module({seed}), @{name}: {worst}"
    assert done or last(pipeline) in REFUSES


@pytest.mark.promise("selected functions")
@pytest.mark.parametrize("passes", ["PartialEvaluate", "DeadCodeElimination", "ToANormalForm,PartialEvaluate"])
def test_what_an_unselected_function_does_to_state_is_not_known(passes: str) -> None:
    module = irtool.parse(STATE)
    for after in (
        run_passes(module, passes, func="^main$"),
        run_passes(module, f'func("^main$", {passes})'),
        ApplyPassToFunction(Sequential([passes]), "^main$")(module),
    ):
        assert irtool.evaluate(after, [np.float32(1)]) == pytest.approx(E)


@pytest.mark.promise("selected functions")
def test_an_unselected_function_is_never_inlined() -> None:
    module = irtool.parse(INLINED)
    after = run_passes(module, "Inline", func="^main$", instruments=[Verifying()])
    assert irtool.structural_equal(after, module)
    assert irtool.evaluate(after, [np.float32(1)]) == pytest.approx(E + 1)


@pytest.mark.promise("selected functions")
@pytest.mark.parametrize("name", ["ToCPS", "Gradient", "FirstOrderGradient"])
def test_passes_that_look_into_callees_find_none(name: str) -> None:
    for text in (STATE, INLINED):
        try:
            irtool.to_text(run_passes(irtool.parse(text), name, func="^main$", instruments=[Verifying()]))
        except IrError as error:
            assert error.exit_code == 1 and error.diagnostics[0].span is not None


class Seen(ModulePass):
    """Notes what the functions of its module are."""

    kinds: dict[str, Any] = {}

    def transform(self, module: Module, context: PassContext) -> Module:
        type(self).kinds = dict(module.functions)
        return module


@pytest.mark.promise("selected functions")
def test_an_unselected_function_has_a_type_and_nothing_else() -> None:
    module = irtool.parse(INLINED)
    ApplyPassToFunction(Seen(), "^main$")(module)
    other = Seen.kinds["helper"]
    assert isinstance(other, ExternFunction) and not hasattr(other, "body") and not hasattr(other, "attrs")
    assert other.checked_type == FuncType((scalar("float32"),), scalar("float32"))
    assert Seen.kinds["main"] is module["main"]
    text = irtool.to_text(Module(Seen.kinds))
    assert "extern def @helper: fn (float32) -> float32\n" in text
    assert irtool.structural_equal(irtool.parse(text), Module(Seen.kinds))


@pytest.mark.promise("selected functions")
def test_external_functions_cannot_be_run() -> None:
    module = Module({**irtool.parse(INLINED).functions})
    module = module.with_function("helper", ExternFunction.of(module["helper"]))
    with pytest.raises(IrError, match="@helper is external"):
        irtool.evaluate(module, [np.float32(1)])
    with pytest.raises(IrError, match="@helper"):
        irtool.build(module)


class Recorder(PassInstrument):
    def __init__(self, refuse: str = "") -> None:
        self.ran: list[str] = []
        self.refuse = refuse

    def should_run(self, module: Module, info: PassInfo) -> bool:
        return info.name != self.refuse

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        assert all(isinstance(f, Function) for f in module.functions.values()), "instruments see whole modules"
        self.ran.append(info.name)


@pytest.mark.promise("inner passes")
def test_instruments_see_the_inner_pass() -> None:
    recorder = Recorder()
    after = run_passes(irtool.parse(INLINED), 'func("^main$", FuseOps)', instruments=[recorder])
    assert recorder.ran == ["ApplyPassTo^main$", "InferType", "FuseOps"]
    assert "Primitive" in irtool.to_text(after["main"]) and "Primitive" not in irtool.to_text(after["helper"])
    refused = run_passes(irtool.parse(INLINED), "FuseOps", func="^main$", instruments=[Recorder("FuseOps")])
    assert "Primitive" not in irtool.to_text(refused)


NORMS = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %v: Tensor[(3), float32]) { nn.batch_norm(%x, %v, %v, %v, %v).0 }
def @other(%x: Tensor[(2, 3), float32], %v: Tensor[(3), float32]) { nn.batch_norm(%x, %v, %v, %v, %v).0 }
"""


@pytest.mark.promise("inner passes")
def test_prerequisites_of_the_inner_pass_run() -> None:
    (pass_,) = parse_pipeline("DecomposeOps")
    after = ApplyPassToFunction(pass_, "main$")(irtool.parser.parse(NORMS))
    assert "nn.batch_norm" not in irtool.to_text(after["main"])
    assert "nn.batch_norm" in irtool.to_text(after["other"])


@pytest.mark.promise("inner passes")
def test_func_name_is_a_regular_expression() -> None:
    module = irtool.parse(NORMS)
    (pass_,) = parse_pipeline('DecomposeOpsForInference{func_name="ma.*|nobody"}')
    after = pass_(module)
    assert "nn.batch_norm" not in irtool.to_text(after["main"])
    assert after["other"] is module["other"]


@pytest.mark.promise("inner passes")
def test_matching_nothing_is_an_error_only_where_it_is_asked_for() -> None:
    module = irtool.parse(NORMS)
    (pass_,) = parse_pipeline("DecomposeOps")
    assert ApplyPassToFunction(pass_, "zzz")(module) is module
    assert parse_pipeline('DecomposeOpsForInference{func_name="zzz"}')[0](module) is module
    with pytest.raises(IrError, match="no function matches 'zzz'"):
        ApplyPassToFunction(pass_, "zzz", True)(module)
    for text in ('func("zzz", DecomposeOps)', 'DecomposeOpsForInference{func_name="zzz"}'):
        with pytest.raises(IrError, match="no function matches 'zzz'"):
            run_passes(module, text)
        assert run_passes(module, text, allow_no_match=True) is module
    with pytest.raises(UsageError, match="malformed"):
        ApplyPassToFunction(pass_, "(")(module)


@pytest.mark.promise("inner passes")
def test_several_expressions_add_up() -> None:
    module = irtool.parse(NORMS)
    after = run_passes(module, "DecomposeOps", func=["main$", "oth"])
    assert "nn.batch_norm" not in irtool.to_text(after)
    assert irtool.structural_equal(run_passes(module, 'func(["main$", "oth"], DecomposeOps)'), after)
    with pytest.raises(IrError, match="no function matches 'zzz'"):
        run_passes(module, "DecomposeOps", func=["main$", "zzz"])


@pytest.mark.promise("inner passes")
def test_selections_nest() -> None:
    module = irtool.parse(NORMS)
    after = run_passes(module, 'func("main|other", func("other", DecomposeOps))')
    assert after["main"] is module["main"]
    assert "nn.batch_norm" not in irtool.to_text(after["other"])
    assert run_passes(module, 'func("main", func("other", DecomposeOps))', allow_no_match=True) is module


class MarkKernels(FunctionPass):
    """Notes the names of attributes that it sees."""

    seen: set[str] = set()

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        self.seen.update(function.attrs)
        return function


@pytest.mark.promise("inner passes")
def test_function_passes_skip_what_tvm_skips() -> None:
    text = '#[version = "0.0.5"]\n' + "".join(
        f"def @f{i}(%x: float32, {mark}) {{ exp(%x) }}\n"
        for i, mark in enumerate(["Primitive=1", 'Compiler="npu"', "Extern=1", "SkipOptimization=1", "Inline=1"])
    )
    MarkKernels.seen.clear()
    MarkKernels()(irtool.parse(text))
    assert MarkKernels.seen == {"Primitive", "Inline"}


@pytest.mark.promise("selected functions")
def test_the_verifier_believes_no_type_of_what_changed() -> None:
    class Wrong(FunctionPass):
        def transform(self, function: Function, module: Module, context: PassContext) -> Function:
            body = Tuple((), None, TensorType((4,), "float32"))
            return Function(
                function.params, body, function.ret_type, checked_type=function.checked_type, attrs=function.attrs
            )

    module = irtool.parse(INLINED)
    with pytest.raises(IrError, match="another type than it declares"):
        run_passes(module, [Wrong()], instruments=[Verifying()])
