"""TVM's storage plan."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.ir import Call, Constant, Function, Let, Var, post_order
from irtool.ir.target import Target
from irtool.lower.function_info import function_infos, plan_info, storage_report
from irtool.lower.storage import StoragePlan, plan, type_bytes

VERSION = '#[version = "0.0.5"]\n'
SHARED = Path(__file__).parents[3] / "shared"


def ids(text: str, **options: bool) -> list[int]:
    """Storage ids of parameters, constants and calls, in order of evaluation."""
    p = plan(irtool.parse(VERSION + text), **options)
    order = [*p.function.params, *post_order(p.function.body, enter=lambda e: not isinstance(e, Function))]
    bound = {e.var for e in order if isinstance(e, Let)}
    return [
        i for e in dict.fromkeys(order) if isinstance(e, Call | Constant | Var) and e not in bound for i in p[e].ids
    ]


CHAIN = """def @main(%x: Tensor[(8), float32]) {
  %0 = fn (%p0: Tensor[(8), float32], Primitive=1) { exp(%p0) };
  %1 = %0(%x);
  %2 = fn (%q0: Tensor[(8), float32], Primitive=1) { tanh(%q0) };
  %3 = %2(%1);
  %4 = fn (%r0: Tensor[(8), float32], Primitive=1) { sqrt(%r0) };
  %4(%3)
}
"""


def test_a_chain_takes_turns() -> None:
    assert ids(CHAIN) == [0, 1, 2, 1]


def test_results_that_are_read_later_keep_their_memory() -> None:
    text = CHAIN.replace("%4(%3)", "(%1, %4(%3))")
    assert ids(text) == [0, 1, 2, 3]


def test_a_reshape_shares_its_operand_once_lowered() -> None:
    text = """def @main(%x: Tensor[(2, 4), float32]) {
      %0 = fn (%p0: Tensor[(2, 4), float32], Primitive=1) { exp(%p0) };
      %1 = %0(%x);
      %2 = fn (%q0: Tensor[(2, 4), float32], Primitive=1, relay.reshape_only=1) { reshape(%q0, newshape=[8]) };
      %2(%1)
    }"""
    assert ids(text) == [0, 1, 1]
    assert ids(text, lowered=False) == [0, 1, 2]


def test_a_kernel_that_does_more_than_its_mark_says_shares_nothing() -> None:
    """A pass has put a cast into it, which copies."""
    text = """def @main(%x: Tensor[(2, 4), float32]) {
      let %f = fn (%p0: Tensor[(2, 4), float32], Primitive=1) { exp(%p0) };
      let %y = %f(%x);
      let %g = fn (%q0: Tensor[(2, 4), float32], Primitive=1, relay.reshape_only=1) {
        reshape(cast(%q0, dtype="int32"), newshape=[8])
      };
      let %z = %g(%y);
      %z
    }"""
    module = irtool.infer_types(irtool.parse(VERSION + text))
    calls = [e for e in post_order(module["main"].body) if isinstance(e, Call) and isinstance(e.op, Var)]
    storage = plan(module)
    assert len({storage[e].ids for e in calls}) == 2
    allocated = irtool.run_passes(module, "ManifestAlloc")
    x = np.arange(8, dtype="float32").reshape(2, 4) / 8
    np.testing.assert_array_equal(irtool.evaluate(allocated, [x]), irtool.evaluate(module, [x]))
    lowered = irtool.to_text(irtool.run_passes(module, "LowerTE"))
    assert "reshape_only" not in lowered


def test_memory_much_too_small_is_not_taken() -> None:
    text = """def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p0: Tensor[(2), float32], Primitive=1) { exp(%p0) };
      %1 = fn (%q0: Tensor[(2), float32], Primitive=1) { tanh(%q0) };
      %2 = fn (%r0: Tensor[(2), float32], Primitive=1) { REPEAT };
      %3 = fn (%s0: Tensor[(SIZE), float32], Primitive=1) { exp(%s0) };
      %3(%2(%1(%0(%x))))
    }"""
    near = text.replace("REPEAT", "tile(%r0, reps=[8])").replace("SIZE", "16")
    far = text.replace("REPEAT", "tile(%r0, reps=[32])").replace("SIZE", "64")
    assert ids(near) == [0, 1, 2, 1, 2]
    assert plan(irtool.parse(VERSION + near)).token_bytes == (8, 64, 64)
    assert ids(far) == [0, 1, 2, 3, 4]


def test_branches_are_refused() -> None:
    with pytest.raises(irtool.IrError, match="If"):
        plan(irtool.parse(VERSION + "def @main(%c: bool) { if (%c) { 1 } else { 2 } }"))


def test_what_the_function_needs() -> None:
    info = plan_info(plan(irtool.parse(VERSION + CHAIN), lowered=False), [Target("llvm")])
    assert info.as_dict() == {"workspace": {"llvm": 64}, "io": {"llvm": 64}, "constants": {"llvm": 0}}


def test_what_lowered_functions_need() -> None:
    m = irtool.run_passes(
        irtool.parse(VERSION + "def @main(%x: Tensor[(2, 9), float32]) { nn.softmax(%x) }"), "FuseOps,LowerTE"
    )
    infos = function_infos(m)
    assert infos["__tvm_main__"].io == {"c": 144}
    softmax = infos["tvmgen_default_fused_nn_softmax"]
    assert softmax.io == {"c": 72} and softmax.workspace == {"c": 16 + 80 + 16}


def test_a_nest_gives_and_takes_as_much_as_its_last_parameter() -> None:
    text = "def @main(%x: Tensor[(3, 8), float32]) { sum(%x, axis=[1]) }"
    infos = function_infos(irtool.run_passes(irtool.parse(VERSION + text), "FuseOps,LowerTE"))
    assert infos["tvmgen_default_fused_sum"].io == {"c": 12}


def test_the_report_says_why_there_is_no_plan() -> None:
    m = irtool.parse(VERSION + CHAIN + "def @other(%c: bool) { if (%c) { 1 } else { 2 } }")
    report = storage_report(m, ("main", "other"))
    assert report["main"]["tokens"] == [32, 32, 32] and report["main"]["workspace"] == {"c": 64}
    assert "straight-line" in report["other"]["reason"]


def test_lowering_changes_no_id() -> None:
    fused = irtool.parse(VERSION + CHAIN)
    lowered = irtool.run_passes(fused, "LowerTE")
    assert plan(fused).token_bytes == plan(lowered).token_bytes
    assert list(_call_ids(plan(fused))) == list(_call_ids(plan(lowered)))


TWO_DEVICES = """def @main(%x: Tensor[(8), float32], %y: Tensor[(8), float32]) {
  %0 = on_device(exp(%x), virtual_device=VirtualDevice(device_type=1, virtual_device_id=0));
  %1 = on_device(sqrt(%0), virtual_device=VirtualDevice(device_type=1, virtual_device_id=0));
  %2 = nn.relu(subtract(%1, exp(%y)));
  nn.softmax(%2)
}
"""


def on_two_devices() -> irtool.Module:
    return irtool.run_passes(
        irtool.parse(VERSION + TWO_DEVICES), "PlanDevices,FuseOps{fuse_opt_level=0}", target="cuda"
    )


@pytest.mark.promise("lowering")
def test_values_take_free_memory_of_their_own_device_only() -> None:
    p = plan(on_two_devices())
    devices = {t.device.device_type for t in p.tokens if t.device is not None}
    assert devices == {1, 2}
    for tokens in p.storage.values():
        assert tokens.devices == tuple(p.tokens[i].device for i in tokens.ids)
    unplanned = plan(irtool.run_passes(irtool.parse(VERSION + TWO_DEVICES), "FuseOps{fuse_opt_level=0}"))
    assert len(p.tokens) > len(unplanned.tokens) and {t.device for t in unplanned.tokens} == {None}


@pytest.mark.promise("lowering")
def test_reference_counts_are_those_of_the_uses() -> None:
    text = """def @main(%x: Tensor[(8), float32], %unused: Tensor[(8), float32]) {
      let %a = exp(%x);
      let %b = add(%a, %a);
      let %t = (%a, %b);
      (%t.0, %b, %a)
    }"""
    p = plan(irtool.parse(VERSION + text))
    counts = {f"%{e.name}": tokens.references for e, tokens in p.storage.items() if isinstance(e, Var)}
    assert [counts[n] for n in ("%x", "%unused", "%a", "%b")] == [(1,), (0,), (4,), (1,)]
    assert counts["%t"] == (4, 1)


@pytest.mark.promise("lowering")
def test_what_functions_need_is_told_by_target() -> None:
    before = on_two_devices()
    after = irtool.run_passes(before, "LowerTE", target="cuda")
    main = after.attrs["main_func_info"]
    assert main.io == {"llvm": 32, "cuda": 64} and main.workspace == {"cuda": 96, "llvm": 64}
    assert set(main.relay_primfuncs) == {"llvm", "cuda"} and main.relay_primfuncs["llvm"] is before["main"]
    infos = function_infos(after)
    assert infos["__tvm_main__"] is main
    for name, info in infos.items():
        if name != "__tvm_main__":
            ((target, nest),) = info.tir_primfuncs.items()
            assert nest is after[name] and info.relay_primfuncs[target].attrs["Primitive"] == 1
            assert list(info.io) == list(info.workspace) == [target]
    assert {t for i in infos.values() for t in i.tir_primfuncs} == {"llvm", "cuda"}


@pytest.mark.promise("lowering")
def test_text_of_a_lowered_module_tells_the_same() -> None:
    after = irtool.run_passes(on_two_devices(), "LowerTE", target="cuda")
    again = function_infos(irtool.parse(irtool.to_text(after)))
    assert again == function_infos(after)


def _call_ids(p: StoragePlan) -> list[tuple[int, ...]]:
    return [tokens.ids for e, tokens in p.storage.items() if isinstance(e, Call)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 3)), min_size=1, max_size=25))
def test_nothing_that_is_still_read_is_overwritten(steps: list[tuple[int, int, int]]) -> None:
    """Runs a random graph on its storage: each value holds its own name when it is read."""
    lines = ["def @main(%v0: Tensor[(4), float32]) {"]
    for n, (a, b, _) in enumerate(steps, 1):
        lines.append(f"  let %f{n} = fn (%a{n}: Tensor[(4), float32], %b{n}: Tensor[(4), float32], Primitive=1)")
        lines.append(f"    {{ add(%a{n}, %b{n}) }};")
        lines.append(f"  let %v{n} = %f{n}(%v{a % n}, %v{b % n});")
    lines.append(f"  (%v{len(steps)}, %v{len(steps) // 2})\n}}")
    p = plan(irtool.parse(VERSION + "\n".join(lines)))
    contents: dict[int, object] = {p[v].ids[0]: v for v in p.function.params}
    names: dict[object, object] = {v: v for v in p.function.params}
    e = p.function.body
    while isinstance(e, Let):
        if isinstance(e.value, Call):
            for a in e.value.args:
                assert contents[p[a].ids[0]] is names[a]
            contents[p[e.value].ids[0]] = names[e.var] = e.var
        e = e.body
    for f in e.fields:  # type: ignore[attr-defined]
        assert contents[p[f].ids[0]] is names[f]


GRAPH = SHARED / "formats/mlp.graph.json"


@pytest.mark.skipif(not GRAPH.exists(), reason="TVM's sample is not here")
def test_the_plan_of_the_peer() -> None:
    graph = json.loads(GRAPH.read_text())
    shapes = graph["attrs"]["shape"][1]
    lines = ["def @main(%data: Tensor[(1, 1, 28, 28), float32]) {"]
    names = {}
    for n, node in enumerate(graph["nodes"]):
        shown = f"Tensor[({', '.join(map(str, shapes[n]))}), float32]"
        if node["op"] == "null":
            names[n] = f"meta[relay.Constant][{n}] /* ty={shown} */" if n else "%data"
            continue
        inputs = [i for i, _, _ in node["inputs"]]
        params = ", ".join(
            f"%p{n}_{k}: Tensor[({', '.join(map(str, shapes[i]))}), float32]" for k, i in enumerate(inputs)
        )
        mark, body = "", f'zeros(shape={shapes[n]}, dtype="float32")'
        if node["name"] == "reshape_nop":
            mark, body = ", relay.reshape_only=1", f"reshape(%p{n}_0, newshape={shapes[n]})"
        lines.append(f"  let %f{n} = fn ({params}, Primitive=1{mark}) {{ {body} }};")
        lines.append(f"  let %v{n} = %f{n}({', '.join(names[i] for i in inputs)});")
        names[n] = f"%v{n}"
    lines.append(f"  {names[graph['heads'][0][0]]}\n}}")
    assert ids("\n".join(lines)) == graph["attrs"]["storage_id"][1]


ZOO = [n for n in ("squeezenet",) if (SHARED / f"zoo/{n}/info.json").exists()]


@pytest.mark.parametrize("name", ZOO)
def test_workspace_of_a_network_of_the_peer(name: str) -> None:
    passes = sorted((SHARED / f"zoo/{name}/passes").glob("*FuseOps.relay.gz"))
    p = plan(irtool.parse(gzip.decompress(passes[-1].read_bytes()).decode()), lowered=False)
    stated = json.loads((SHARED / f"zoo/{name}/info.json").read_text())["peer_workspace_bytes"]
    assert plan_info(p).workspace == {"c": stated}
    assert plan_info(p).io["c"] == sum(type_bytes(v.checked_type) for v in p.function.params) + type_bytes(
        p.function.body.checked_type
    )


SMALL = [n for n in ("dcgan", "unet", "squeezenet") if (SHARED / f"zoo/{n}/info.json").exists()]


ABOVE = {"dcgan": 1.6}
"""Networks whose workspace holds more: the phases of its transposed convolutions, 450 KB, which no stack has room for."""


@pytest.mark.parametrize("name", SMALL)
def test_a_network_takes_no_more_memory_than_the_peer_says(name: str) -> None:
    """With all that kernels need for themselves, whatever strategies they get."""
    info = json.loads((SHARED / f"zoo/{name}/info.json").read_text())
    module = irtool.parse((SHARED / f"zoo/{name}/model.relay").read_text())
    inputs = info.get("inputs", ["data"])
    shapes = {p.name: tuple(int(d) for d in p.checked_type.shape) for p in module["main"].params}
    generator = np.random.default_rng(0)
    weights = {n: generator.random(s).astype("float32") for n, s in shapes.items() if n not in inputs}
    built = irtool.build(module, params=weights, mcpu="x86-64-v3", emit="c")
    assert built.report["arena_bytes"] == built.report["arena_lower_bound"]
    assert built.report["arena_bytes"] <= info["peer_workspace_bytes"] * ABOVE.get(name, 1)
