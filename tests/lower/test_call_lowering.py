"""LowerTensorExpr: the four kinds of calls that become `call_lowered`, and what stands on the loop nests and the module."""

from __future__ import annotations

import pytest

import irtool
from irtool.ir import Call, Function, FuncType, GlobalVar, Module, TensorType, Var, post_order
from irtool.ir.target import Target
from irtool.lower.lower_call import lower_call
from irtool.lower.targets import per_target_modules
from irtool.te import placeholder
from irtool.tir.stmt import PrimFunc

VERSION = '#[version = "0.0.5"]\n'
VECTOR = TensorType((4,), "float32")


def calls(module: Module, name: str = "main") -> list[Call]:
    return [e for e in post_order(module[name].body) if isinstance(e, Call)]


def callees(module: Module) -> list[str]:
    return [c.args[0].name if c.op.name == "call_lowered" else f"not lowered: {c.op.name}" for c in calls(module)]


def relay_attrs(c: Call) -> dict[str, object]:
    return c.attrs.metadata["relay_attrs"]["__dict__"]


@pytest.mark.promise("lowering")
def test_a_loop_nest_of_the_module_is_called_by_its_name() -> None:
    exp = irtool.run_passes(irtool.parse(VERSION + "def @main(%x: Tensor[(4), float32]) { exp(%x) }"), "InferType")
    nest = lower_call(exp["main"].body, [placeholder((4,), "float32", name="x")], "llvm").nest("k")
    nest.checked_type = FuncType((VECTOR,), VECTOR)
    x = Var("x", VECTOR)
    before = Module({"k": nest, "main": Function((x,), Call(GlobalVar("k"), (x,)), VECTOR)})
    after = irtool.run_passes(before, "LowerTE")
    (call,) = calls(after)
    assert callees(after) == ["k"] and after["k"] is nest
    assert relay_attrs(call) == nest.attrs and [v.name for v in call.attrs.metadata["all_prim_fn_vars"]] == ["k"]
    assert irtool.run_passes(after, "LowerTE") is after


@pytest.mark.promise("lowering")
def test_a_loop_nest_without_a_target_gets_that_of_the_context() -> None:
    exp = irtool.run_passes(irtool.parse(VERSION + "def @main(%x: Tensor[(4), float32]) { exp(%x) }"), "InferType")
    nest = lower_call(exp["main"].body, [placeholder((4,), "float32", name="x")]).nest("k")
    del nest.attrs["target"]
    nest.checked_type = FuncType((VECTOR,), VECTOR)
    x = Var("x", VECTOR)
    before = Module({"k": nest, "main": Function((x,), Call(GlobalVar("k"), (x,)), VECTOR)})
    after = irtool.run_passes(before, "LowerTE", target="llvm -mcpu=skylake")
    assert after["k"].attrs["target"] == Target("llvm -mcpu=skylake").record() and "target" not in nest.attrs


COMPILED = """def @outer(%p: Tensor[(4), float32], Primitive=1, Compiler="npu", global_symbol="npu_0") -> Tensor[(4), float32] {
  exp(%p)
}
def @main(%x: Tensor[(4), float32]) { @outer(@outer(%x)) }
"""


@pytest.mark.promise("lowering")
def test_a_function_for_another_compiler_is_called_by_its_symbol() -> None:
    after = irtool.run_passes(irtool.parse(VERSION + COMPILED), "LowerTE")
    assert callees(after) == ["npu_0", "npu_0"] and sorted(after.functions) == ["main", "npu_0"]
    assert after["npu_0"].attrs == {"Extern": 1}
    assert relay_attrs(calls(after)[0]) == {"Primitive": 1, "Compiler": "npu", "global_symbol": "npu_0"}
    assert calls(after)[0].attrs.metadata["all_prim_fn_vars"] == ()
    assert after.attrs["device_contexts"] == {"npu_0": "npu"}


@pytest.mark.promise("lowering")
def test_two_functions_of_one_symbol_are_refused() -> None:
    text = """def @main(%x: Tensor[(4), float32]) {
      let %f = fn (%p: Tensor[(4), float32], Primitive=1, Compiler="npu", global_symbol="k") { exp(%p) };
      let %g = fn (%q: Tensor[(4), float32], Primitive=1, Compiler="npu", global_symbol="k") { tanh(%q) };
      %f(%g(%x))
    }"""
    with pytest.raises(irtool.IrError, match="two different functions @k"):
        irtool.run_passes(irtool.parse(VERSION + text), "LowerTE")


def test_a_kernel_that_is_also_a_value_keeps_its_let() -> None:
    text = """def @main(%x: Tensor[(4), float32]) {
      let %f = fn (%p: Tensor[(4), float32], Primitive=1) { exp(%p) };
      (%f(%x), %f)
    }"""
    after = irtool.run_passes(irtool.parse(VERSION + text), "LowerTE")
    assert after["main"].body.var.name == "f" and after["main"].body.body.fields[1] is after["main"].body.var
    assert after["main"].body.body.fields[0].args[0].name == "tvmgen_default_fused_exp"


def test_debug_and_copies_stay_operators() -> None:
    text = """def @main(%x: Tensor[(4), float32]) {
      let %f = fn (%p: Tensor[(4), float32], Primitive=1) { debug(%p, debug_func="f") };
      %f(%x)
    }"""
    module = irtool.parse(VERSION + text)
    assert irtool.run_passes(module, "LowerTensorExpr")["main"].body.var.name == "f"


@pytest.mark.promise("lowering")
def test_loop_nests_carry_the_hash_of_their_kernel_and_what_the_target_adds() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(%x) }"
    after = irtool.run_passes(irtool.parse(VERSION + text), "FuseOps,LabelOps,LowerTE", target="cuda -arch=sm_75")
    (nest,) = (f for f in after.functions.values() if isinstance(f, PrimFunc))
    assert list(nest.attrs) == ["hash", "target", "tir.noalias", "global_symbol", "from_legacy_te_schedule"]
    assert nest.attrs["hash"] == relay_attrs(calls(after)[0])["hash"]
    fields = nest.attrs["target"].fields
    assert fields["attrs"] == {"arch": "sm_75", "max_num_threads": 1024, "thread_warp_size": 32}
    assert fields["host"].fields["kind"] == "llvm"


TWO = """def @main(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
  %0 = on_device(exp(%x), virtual_device=VirtualDevice(device_type=1, virtual_device_id=0));
  subtract(%0, exp(%y))
}"""


@pytest.mark.promise("lowering")
def test_functions_are_grouped_by_target_and_host() -> None:
    after = irtool.run_passes(irtool.parse(VERSION + TWO), "PlanDevices,FuseOps,LowerTE", target="cuda")
    groups = {str(t): list(m.functions) for t, m in per_target_modules(after).items()}
    assert groups == {
        "llvm": ["main", "tvmgen_default_fused_exp"],
        "cuda": ["tvmgen_default_fused_exp_subtract"],
    }
    for module in per_target_modules(after).values():
        assert module.attrs == after.attrs


@pytest.mark.promise("lowering")
@pytest.mark.parametrize("target", ["c", "llvm -mcpu=skylake", "cuda -arch=sm_75", "metal", "nvidia/nvidia-t4"])
@pytest.mark.parametrize("host", [None, "llvm", "c -mcpu=native"])
def test_a_target_comes_back_from_its_record(target: str, host: str | None) -> None:
    record = Target(target, host).record()
    assert Target.from_record(record).record() == record


def test_what_stands_on_a_lowered_module_is_not_copied_to_functions() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32]) { nn.softmax(%x) }"
    after = irtool.run_passes(irtool.parse(VERSION + text), "FuseOps,LowerTE,SplitArgs{max_function_args=3}")
    assert not after["main"].attrs and "main_func_info" in after.attrs
