"""PlanDevices: where values live, where they are copied, and what says so."""

from __future__ import annotations

import re

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.ir import Call, Function, Let, Module, TensorType, Var, post_order
from irtool.ir.meta import MetaNode, VirtualDevice
from irtool.ops.base import call
from tests.work import steps

CPU = "VirtualDevice(device_type=1, virtual_device_id=0)"
GPU = "VirtualDevice(device_type=2, virtual_device_id=0)"
T = "Tensor[(5, 7), float32]"


def read(text: str) -> Module:
    """A module from text in which `CPU`, `GPU` and `T` are short for themselves, and `!` says that both sides are fixed."""
    text = re.sub(r"\b(CPU|GPU)!", r"\1, constrain_result=True", text)
    text = re.sub(r"\{(CPU|GPU)\}", r"{virtual_device=\1}", text)
    text = re.sub(r"\b(on_device\(.*?), (?=CPU|GPU)", r"\1, virtual_device=", text)
    text = re.sub(
        r"copy\((.*?), (CPU|GPU), (CPU|GPU)\)", r"device_copy(\1, src_virtual_device=\2, dst_virtual_device=\3)", text
    )
    text = re.sub(r"\b(CPU|GPU)\b", lambda m: {"CPU": CPU, "GPU": GPU}[m[1]], text)
    return irtool.parse('#[version = "0.0.5"]\n' + re.sub(r"\bT\b", T, text))


def plan(module: Module, **options: str) -> Module:
    return irtool.run_passes(module, [("PlanDevices", {"default": "cuda", **options})])


def random_inputs(module: Module) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [
        np.array(True)
        if p.type_annotation.dtype == "bool"
        else rng.standard_normal(p.type_annotation.shape).astype("float32")
        for p in module["main"].params
    ]


CASES = {
    "everything goes to the default device": (
        "def @main(%a: T, %b: T) { subtract(add(%a, %b), %a) }",
        "def @main(%a {GPU}: T, %b {GPU}: T, virtual_device=GPU) { subtract(add(%a, %b), %a) }",
    ),
    "an annotated operand is copied to its use": (
        "def @main(%a: T, %b: T, %c: T) { subtract(on_device(add(%a, %b), CPU), exp(%c)) }",
        "def @main(%a {CPU}: T, %b {CPU}: T, %c {GPU}: T, virtual_device=GPU) {"
        " %0 = on_device(add(%a, %b), CPU!); subtract(copy(%0, CPU, GPU), exp(%c)) }",
    ),
    "an explicit copy says the same": (
        "def @main(%a: T, %b: T, %c: T) { %0 = add(%a, %b); subtract(copy(%0, CPU, GPU), exp(%c)) }",
        "def @main(%a {CPU}: T, %b {CPU}: T, %c {GPU}: T, virtual_device=GPU) {"
        " %0 = on_device(add(%a, %b), CPU!); subtract(copy(%0, CPU, GPU), exp(%c)) }",
    ),
    "each use of a shared expression is copied on its own": (
        "def @main(%a: T) { %0 = exp(%a); %1 = on_device(%0, CPU); %2 = on_device(%0, CPU); subtract(%1, %2) }",
        "def @main(%a {CPU}: T, virtual_device=GPU) { %0 = exp(%a); %1 = on_device(%0, CPU!); %2 = on_device(%0, CPU!);"
        " subtract(copy(%1, CPU, GPU), copy(%2, CPU, GPU)) }",
    ),
    "a variable is where its uses want it": (
        "def @main(%a: T, %b: T) { let %l = exp(%a); let %r = exp(%b); subtract(on_device(%l, CPU), %r) }",
        "def @main(%a {CPU}: T, %b {GPU}: T, virtual_device=GPU) { let %l = on_device(exp(%a), CPU!);"
        " let %r = on_device(exp(%b), GPU!); subtract(copy(%l, CPU, GPU), %r) }",
    ),
    "the result of a local function decides on its calls": (
        "def @main(%a: T, %b: T) { let %f = fn (%x: T) -> T { on_device(exp(%x), CPU) }; subtract(%f(%a), exp(%b)) }",
        "def @main(%a {CPU}: T, %b {CPU}: T, virtual_device=CPU) {"
        " let %f = fn (%x {CPU}: T, virtual_device=CPU) -> T { exp(%x) }; subtract(%f(%a), exp(%b)) }",
    ),
    "a call decides on the function": (
        "def @main(%a: T, %b: T) { let %f = fn (%x: T) -> T { exp(%x) }; %0 = %f(%a); subtract(on_device(%0, CPU), %b) }",
        "def @main(%a {CPU}: T, %b {GPU}: T, virtual_device=GPU) {"
        " let %f = fn (%x {CPU}: T, virtual_device=CPU) -> T { exp(%x) }; %0 = %f(%a); %1 = on_device(%0, CPU!);"
        " subtract(copy(%1, CPU, GPU), %b) }",
    ),
    "through functions that take functions": (
        "def @main(%x: T, %y: T) { let %f = fn (%g: fn (T) -> T) { fn (%a: T) -> T {"
        " %0 = on_device(%a, CPU); %1 = %g(%0); add(%1, %x) } };"
        " let %h = fn (%b: T) -> T { negative(%b) }; %2 = %f(%h); %3 = %2(%y); subtract(%x, %3) }",
        "def @main(%x {GPU}: T, %y {CPU}: T, virtual_device=GPU) {"
        " let %f = fn (%g {GPU}: fn (T) -> T, virtual_device=GPU) { fn (%a {CPU}: T, virtual_device=GPU) -> T {"
        " %0 = copy(%a, CPU, GPU); %1 = %g(%0); add(%1, %x) } };"
        " let %h = fn (%b {GPU}: T, virtual_device=GPU) -> T { negative(%b) }; %2 = %f(%h); %3 = %2(%y); subtract(%x, %3) }",
    ),
    "a function in a tuple is where the tuple is": (
        "def @main(%x: T, %y: T) { let %f = fn (%a: T, %b: T) -> T { add(%a, on_device(%b, CPU, constrain_result=True)) };"
        " let %t = (%f, %x); %1 = %t.1; %2 = %t.0; %2(%1, %y) }",
        "def @main(%x {CPU}: T, %y {CPU}: T, virtual_device=CPU) {"
        " let %f = fn (%a {CPU}: T, %b {CPU}: T, virtual_device=CPU) -> T { add(%a, %b) };"
        " %0 = (%f, %x); let %t = on_device(%0, CPU!); %1 = %t.1; %2 = %t.0; %2(%1, %y) }",
    ),
    "the result of a function is where its annotation says": (
        "def @main(%x: T, %z: T) { %0 = on_device(exp(%x), GPU); %1 = subtract(%0, %z); on_device(%1, CPU) }",
        "def @main(%x {GPU}: T, %z {CPU}: T, virtual_device=CPU) { %0 = on_device(exp(%x), GPU!);"
        " subtract(copy(%0, GPU, CPU), %z) }",
    ),
    "even where it is a parameter": (
        "def @main(%x: T) { on_device(%x, CPU) }",
        "def @main(%x {CPU}: T, virtual_device=CPU) { %x }",
    ),
    "annotations that agree leave nothing": (
        "def @main(%x: T, %z: T) { %0 = on_device(exp(%x), CPU); %1 = subtract(%0, %z); on_device(%1, CPU) }",
        "def @main(%x {CPU}: T, %z {CPU}: T, virtual_device=CPU) { subtract(exp(%x), %z) }",
    ),
    "fields are copied, not tuples": (
        "def @main(%x: Tensor[(3, 4), float32]) { let %t = split(%x, indices_or_sections=3);"
        " %0 = on_device(%t, CPU); %1 = on_device(%t, CPU); subtract(%0.0, %1.1) }",
        "def @main(%x {CPU}: Tensor[(3, 4), float32], virtual_device=GPU) {"
        " %9 = split(%x, indices_or_sections=3); let %t = on_device(%9, CPU!);"
        " %1 = on_device(%t.0, CPU!); %2 = on_device(%t.1, CPU!); subtract(copy(%1, CPU, GPU), copy(%2, CPU, GPU)) }",
    ),
    "a branch over functions": (
        "def @main(%c: bool, %y: T, %z: T) {"
        " let %f = fn (%a: T) -> T { add(%a, on_device(%y, CPU, constrain_result=True)) };"
        " let %g = fn (%b: T) -> T { subtract(%b, %y) }; let %h = if (%c) { %f } else { %g }; %h(%z) }",
        "def @main(%c {CPU}: bool, %y {CPU}: T, %z {CPU}: T, virtual_device=CPU) {"
        " let %f = fn (%a {CPU}: T, virtual_device=CPU) -> T { add(%a, %y) };"
        " let %g = fn (%b {CPU}: T, virtual_device=CPU) -> T { subtract(%b, %y) };"
        " %0 = if (%c) { %f } else { %g }; let %h = on_device(%0, CPU!); %h(%z) }",
    ),
    "global functions have one device per parameter": (
        "def @f(%a: T, %b: T) -> T { %0 = on_device(%b, CPU); add(%a, %0) } def @main(%x: T, %y: T) -> T { @f(%y, %x) }",
        "def @f(%a {GPU}: T, %b {CPU}: T, virtual_device=GPU) -> T { %0 = copy(%b, CPU, GPU); add(%a, %0) }"
        " def @main(%x {CPU}: T, %y {GPU}: T, virtual_device=GPU) -> T { @f(%y, %x) }",
    ),
    "references": (
        "def @main(%x: T, %y: T) { let %r = ref(%x); %0 = on_device(%y, CPU); let %u = ref_write(%r, %0);"
        " add(%x, ref_read(%r)) }",
        "def @main(%x {GPU}: T, %y {CPU}: T, virtual_device=GPU) { %9 = ref(%x); let %r = on_device(%9, GPU!);"
        " %0 = copy(%y, CPU, GPU); %1 = ref_write(%r, %0); let %u = on_device(%1, GPU!); add(%x, ref_read(%r)) }",
    ),
    "data": (
        "type List[A] { Cons(A, List[A]), Nil, } def @main(%x: T, %y: T) {"
        " %0 = on_device(%y, CPU!); %2 = Cons(%0, Nil); let %l = Cons(%x, %2); match? (%l) { Cons(%z, _) => %z } }",
        "type List[A] { Cons(A, List[A]), Nil, } def @main(%x {CPU}: T, %y {CPU}: T, virtual_device=CPU) {"
        " %2 = Cons(%y, Nil); %3 = Cons(%x, %2); let %l = on_device(%3, CPU!); match? (%l) { Cons(%z, _) => %z } }",
    ),
    "a copy back and forth": (
        "def @main(%x: T) { %0 = negative(%x); %1 = on_device(%0, CPU); %2 = negative(%1); %3 = on_device(%2, GPU);"
        " %4 = negative(%3); on_device(%4, CPU) }",
        "def @main(%x {CPU}: T, virtual_device=CPU) { %1 = on_device(negative(%x), CPU!); %2 = negative(copy(%1, CPU, GPU));"
        " %3 = on_device(%2, GPU!); negative(copy(%3, GPU, CPU)) }",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_plans(name: str) -> None:
    before, after = (read(text) for text in CASES[name])
    text = irtool.to_text(before)
    planned = plan(before)
    assert irtool.to_text(before) == text
    assert irtool.structural_equal(planned, after), irtool.to_text(planned, metadata=False)
    again = plan(planned)
    assert irtool.structural_equal(again, planned)
    assert plan(again) is again
    inputs = random_inputs(before)
    np.testing.assert_array_equal(irtool.evaluate(planned, inputs), irtool.evaluate(before, inputs))


def test_shapes_and_sizes_are_on_the_host() -> None:
    storage = "type Storage { } "
    module = read(
        storage + 'def @main(%x: Tensor[(?, ?), float32]) { vm.shape_of(on_device(%x, GPU!), dtype="int64") }'
    )
    planned = plan(module)["main"]
    assert planned.virtual_device.device_type == 1
    assert planned.params[0].virtual_device.device_type == 2

    module = read(storage + "def @main(%n: int64, %a: int64) { memory.alloc_storage(%n, %a, virtual_device=GPU) }")
    planned = plan(module, default="cpu")["main"]
    assert planned.virtual_device.device_type == 2
    assert [p.virtual_device.device_type for p in planned.params] == [1, 1]

    module = read(
        "def @main(%x: Tensor[(2, 8), float32], %s: Tensor[(2), int64]) { vm.reshape_tensor(%x, %s, newshape=[4, 4]) }"
    )
    planned = plan(module)["main"]
    assert [p.virtual_device.device_type for p in planned.params] == [2, 1]


def test_a_copy_is_made_only_where_nothing_better_is_possible() -> None:
    """A free annotation allows a copy and asks for nothing; scopes of one device are different places."""
    text = """#[version = "0.0.5"]
    def @b(%x {B}: T, virtual_device=B) -> T { %x }
    def @main(%x {C}: T, %y {A}: T, %z {B}: T, virtual_device=A) {
      %0 = @b(on_device(%x, constrain_body=False));
      %1 = @b(on_device(%y, constrain_body=False));
      %2 = @b(on_device(%z, constrain_body=False));
      %3 = add(add(%0, %1), %2);
      on_device(%3, constrain_body=False)
    }"""
    places = {k: f'VirtualDevice(device_type=1, virtual_device_id=0, memory_scope="{k}")' for k in "AB"}
    places["C"] = CPU
    text = re.sub(r"\{([ABC])\}", lambda m: "{virtual_device=" + places[m[1]] + "}", text)
    text = re.sub(r"=([AB])\b", lambda m: "=" + places[m[1]], text)
    planned = plan(irtool.parse(re.sub(r"\bT\b", T, text)), default="cpu")
    copies = [
        (e.attrs.src_virtual_device.memory_scope, e.attrs.dst_virtual_device.memory_scope)
        for e in post_order(planned["main"])
        if isinstance(e, Call) and e.op.name == "device_copy"
    ]
    assert copies == [("A", "B"), ("B", "A")]
    assert [p.virtual_device.memory_scope for p in planned["main"].params] == ["B", "A", "B"]


def test_devices_get_the_targets_that_the_module_names() -> None:
    host = MetaNode("Target", {"kind": "llvm", "keys": ("cpu",)})
    gpu = MetaNode("Target", {"kind": "cuda", "keys": ("cuda",), "host": host})
    x = Var("x", TensorType((3,), "float32"))
    body = call("exp", call("on_device", call("exp", x), virtual_device=VirtualDevice(2, 0, gpu)))
    function = plan(irtool.infer_types(Module({"main": Function((x,), body)})), default="cpu")["main"]
    assert function.params[0].virtual_device == VirtualDevice(2, 0, gpu)
    assert function.virtual_device.target == MetaNode("Target", {"kind": "llvm", "keys": ("cpu",), "host": host})


def test_devices_get_the_target_that_code_is_made_for() -> None:
    def planned(target: str) -> Function:
        return irtool.run_passes(read("def @main(%a: T) { exp(%a) }"), "PlanDevices", target=target)["main"]

    for_cpu = planned("llvm -mcpu=skylake")
    assert for_cpu.params[0].virtual_device == for_cpu.virtual_device
    assert for_cpu.virtual_device.target.fields["attrs"] == {"mcpu": "skylake"}
    assert for_cpu.virtual_device.target.fields["host"].fields["kind"] == "llvm"
    assert planned("cuda").virtual_device.target.fields["kind"] == "cuda"


def test_a_target_makes_no_copies() -> None:
    """Shapes are computed on the host, which is the device of the kernels where that is a CPU."""
    m = read('def @main(%a: T) { dyn.full(1f, shape_of(exp(%a), dtype="int64"), shape=[], dtype="float32") }')
    text = irtool.to_text(irtool.run_passes(m, "PlanDevices", target="llvm"))
    assert "device_copy" not in text


def test_the_default_device_comes_from_option_config_and_target() -> None:
    module = read("def @main(%a: T) { exp(%a) }")

    def chosen(**context: object) -> int:
        return irtool.run_passes(module, "PlanDevices", **context)["main"].virtual_device.device_type

    assert chosen() == 1
    assert chosen(target="cuda") == 2
    assert chosen(target="cuda", config={"relay.fallback_device_type": 4}) == 4
    assert plan(module, default="metal:3")["main"].virtual_device == VirtualDevice(8, 3)
    with pytest.raises(UsageError, match="unknown device gpo"):
        plan(module, default="gpo")
    with pytest.raises(UsageError, match="cannot read the device"):
        plan(module, host="cpu 1")


def test_contradictions_are_errors_at_the_expression() -> None:
    module = read("def @main(%a: T, %b: T) { add(on_device(%a, CPU!), on_device(%b, GPU!)) }")
    with pytest.raises(IrError, match="on cpu and cuda at the same time") as caught:
        plan(module)
    assert caught.value.diagnostics[0].span is not None


def test_kernels_are_left_alone() -> None:
    module = read(
        'def @main(%a: T) { %0 = fn (%p {virtual_device=VirtualDevice(memory_scope="texture")}: T, Primitive=1) -> T'
        " { exp(%p) }; %0(%0(%a)) }"
    )
    planned = plan(module)["main"]
    kernels = [e for e in post_order(planned) if isinstance(e, Function) and e.attrs.get("Primitive")]
    assert kernels[0].params[0].virtual_device == VirtualDevice(memory_scope="texture")
    assert kernels[0].virtual_device is None
    assert planned.params[0].virtual_device.memory_scope == "texture"


@pytest.mark.parametrize("shape", ["chain", "lets"])
def test_deep_programs_take_linear_work(shape: str) -> None:
    def build(n: int) -> Module:
        x = Var("x", TensorType((2,), "float32"))
        body: object = x
        cpu = VirtualDevice(1, 0)
        if shape == "chain":
            for i in range(n):
                body = call("exp", body) if i % 100 else call("on_device", body, virtual_device=cpu)
        else:
            variables = [x, *(Var(f"v{i}") for i in range(n))]
            body = variables[-1]
            for before, v in zip(variables[-2::-1], variables[:0:-1], strict=True):
                body = Let(v, call("exp", before), body)
        return irtool.infer_types(Module({"main": Function((x,), body)}))

    plan(build(100_000 if shape == "chain" else 20_000))
    small, large = build(200), build(1_600)
    assert steps(lambda: plan(large)) < 9 * steps(lambda: plan(small))
