"""What LambdaLift names functions by, and what LabelOps labels them with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import irtool
from irtool.ir import Call, Function, Let, Module, TensorType, Var, post_order
from irtool.ir.tvm_hash import tvm_hash
from irtool.ops.base import call
from tests.work import steps

GRAPH = Path(__file__).parents[3] / "shared/formats/mlp.graph.json"
FLOAT = TensorType((), "float32")


def read(text: str) -> Module:
    return irtool.infer_types(irtool.parse(text))


def lift(module: Module) -> set[str]:
    return set(irtool.run_passes(module, "LambdaLift").functions) - set(module.functions)


def local_functions(module: Module, name: str = "main") -> list[Function]:
    outer = module[name]
    return [e for e in post_order(outer) if isinstance(e, Function) and e is not outer]


def test_a_function_that_uses_nothing_from_outside_is_named_by_its_hash() -> None:
    module = read("def @main(%x: float32) { let %f = fn (%y: float32) { multiply(%y, 2f) }; %f(%x) }")
    (local,) = local_functions(module)
    assert lift(module) == {f"lifted_name{tvm_hash(local)}"}


def test_the_name_does_not_depend_on_where_the_function_stands() -> None:
    here = read("def @main(%x: float32) { let %f = fn (%y: float32) { multiply(%y, 2f) }; %f(%x) }")
    moved = read("def @main(%a: int32) { let %g = fn (%b: float32) { multiply(%b, 2f) }; (%a, %g(3f)) }")
    assert lift(here) == lift(moved)


def test_what_uses_something_from_outside_is_counted() -> None:
    module = read(
        "def @main(%x: float32) { let %f = fn () { %x }; let %g = fn () { @f() }; add(%f(), %g()) }"
        "def @f() -> float32 { 1f }"
    )
    assert lift(module) == {"lifted_name0", "lifted_name1"}


def test_equal_functions_are_lifted_once() -> None:
    module = read("def @main(%x: float32) { let %f = fn () { 1f }; let %g = fn () { 1f }; add(%f(), %g()) }")
    assert len(lift(module)) == 1


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    text = "def @main(%x: float32) {{ let %f = fn () {{ 1f }}; let %g = fn () {{ %x }}; add(%f(), %g()) }} {}"
    module = read(text.format(""))
    number = next(tvm_hash(f) for f in local_functions(module) if not isinstance(f.body, Var))
    taken = "".join(f"def @lifted_name{n}() -> int32 {{ 1 }} " for n in (number, 0))
    assert lift(read(text.format(taken))) == {f"lifted_name{number + 1}", "lifted_name1"}


def nested(depth: int) -> Module:
    """A function inside a function and so on; none uses anything from outside."""
    one, body = irtool.parse_expr("1f"), None
    for i in range(depth):
        p, f = Var("p", FLOAT), Var(f"f{i}")
        body = Let(f, Function((p,), body or call("tanh", p), FLOAT), Call(f, (one,)))
    return irtool.infer_types(Module({"main": Function((), body, FLOAT)}))


@pytest.mark.parametrize("name", ["LambdaLift", "LabelOps"])
def test_nested_functions_take_linear_work(name: str) -> None:
    def work(depth: int) -> int:
        module = nested(depth)
        return steps(lambda: irtool.run_passes(module, name))

    work(20)
    assert work(400) < 4.5 * work(100)


def test_a_label_is_the_hash_of_the_function_with_the_labels_inside_it() -> None:
    module = read("def @main(%x: float32) { let %f = fn (%y: float32) { multiply(%y, 2f) }; %f(%x) }")
    labelled = irtool.run_passes(module, "LabelOps")
    (before,), (after,) = local_functions(module), local_functions(labelled)
    assert after.attrs["hash"] == f"{tvm_hash(before):016x}"
    outer = labelled["main"]
    bare = Function(outer.params, outer.body, outer.ret_type, outer.type_params)
    assert outer.attrs["hash"] == f"{tvm_hash(bare):016x}"


KERNELS = {
    "reshape_nop": """fn (%p0: Tensor[(1, 1, 28, 28), float32], Primitive=1, relay.reshape_only=1) {
        nn.batch_flatten(%p0)
    }""",
    "tvmgen_default_fused_nn_softmax": "fn (%p0: Tensor[(1, 10), float32], Primitive=1) { nn.softmax(%p0) }",
    "tvmgen_default_fused_nn_contrib_dense_pack_add": """fn (
        %p0: Tensor[(1, 64), float32], %p1: Tensor[(1, 64, 10), float32], %p2: Tensor[(1, 10), float32], Primitive=1
    ) {
        %0 = nn.contrib_dense_pack(%p0, %p1, units=None, out_dtype="float32", weight_layout="NC10n");
        add(%0, %p2)
    }""",
    "tvmgen_default_fused_nn_contrib_dense_pack_add_nn_relu": """fn (
        %p0: Tensor[(1, 784), float32], %p1: Tensor[(4, 784, 32), float32], %p2: Tensor[(1, 128), float32], Primitive=1
    ) {
        %0 = nn.contrib_dense_pack(%p0, %p1, units=None, out_dtype="float32", weight_layout="NC32n");
        %1 = add(%0, %p2);
        nn.relu(%1)
    }""",
}


@pytest.mark.skipif(not GRAPH.exists(), reason="needs a graph of TVM")
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_has_the_label_that_the_peer_gives_it(name: str) -> None:
    (node,) = [n for n in json.loads(GRAPH.read_text())["nodes"] if n["name"] == name]
    labelled = irtool.run_passes(read(f"def @main() {{ {KERNELS[name]} }}"), "LabelOps")
    (kernel,) = local_functions(labelled)
    assert kernel.attrs["hash"] == node["attrs"]["hash"]
