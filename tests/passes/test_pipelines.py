"""Pipelines by name: what is in them, in which order, and what they do to real programs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.driver.stages import STAGES
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Call, Function, GlobalVar, Module, Op, post_order
from irtool.ir.meta import MetaNode, VirtualDevice
from irtool.passes.core.pipeline import parse_pipeline
from irtool.passes.core.pipelines import PIPELINES
from tests.command_line import irtool as command

pytestmark = pytest.mark.promise("pipelines")

ROOT = Path(__file__).parent.parent.parent
SAMPLES = sorted((ROOT / "samples").glob("*.relay"))
LISTING = ROOT.parent / "shared" / "listings" / "planned_cuda.txt"
NETWORK = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 784), float32], %w: Tensor[(784, 128), float32], %b: Tensor[(128), float32]) {
  %0 = nn.matmul(%x, %w, units=None);
  %1 = add(%0, %b);
  nn.relu(%1)
}
"""


def read(path: Path) -> Module:
    return irtool.parse(path.read_text(), filename=path.name)


def names(pipeline: str) -> list[str]:
    return [p.name for text, _ in PIPELINES[pipeline].rows for p in parse_pipeline(text)]


def test_every_row_is_a_pass_with_a_reason() -> None:
    for name, described in PIPELINES.items():
        assert described.summary and described.rows
        for text, reason in described.rows:
            assert len(parse_pipeline(text)) == 1, text
            assert reason
        assert parse_pipeline(f"{name}<O3>")[0].text() == f"{name}<O3>"


def test_what_several_targets_leave_out() -> None:
    """As in TVM: passes that ask the one target, and the layouts, are for one target only."""
    for several, one in (
        ("heterogeneous_prefix", "prefix"),
        ("heterogeneous_vm_prefix", "vm_prefix"),
        ("heterogeneous", "default"),
        ("heterogeneous_vm", "vm"),
    ):
        left, shared = names(one), names(several)
        for name in shared:  # the same order
            while left[0] != name:
                assert left.pop(0) in ("Legalize", "AlterOpLayout", "InferType", "SplitArgs")
            left.pop(0)
        assert left == []
        assert "Legalize" not in shared and "AlterOpLayout" not in shared and "SplitArgs" not in shared


def test_what_the_virtual_machine_adds() -> None:
    prefix, vm = names("prefix"), names("vm_prefix")
    assert [n for n in vm if n not in prefix] == ["EtaExpand"]
    assert vm.index("EtaExpand") == vm.index("SimplifyInference") + 1
    after = names("vm")[len(vm) :]
    order = [
        "PlanDevices",
        "FuseOps",
        "ToANormalForm",
        "LambdaLift",
        "LowerTE",
        "Inline",
        "ManifestAlloc",
        "ManifestLifetimes",
    ]
    assert [after.index(n) for n in order] == sorted(after.index(n) for n in order)
    assert after.count("ManifestAlloc") == 3 and after.count("LowerTE") == 4


@pytest.mark.parametrize("pipeline", [n for n in PIPELINES if "vm" not in n or "prefix" in n])
@pytest.mark.parametrize("sample", SAMPLES, ids=[s.stem for s in SAMPLES])
def test_values_stay(sample: Path, pipeline: str) -> None:
    module = irtool.infer_types(read(sample))
    inputs = random_inputs(module["main"], module=module)
    want = irtool.evaluate(module, inputs)
    for level in (0, 3):
        got = irtool.evaluate(irtool.run_passes(module, f"{pipeline}<O{level}>"), inputs)
        want_all, got_all = (list(v) if isinstance(v, tuple) else [v] for v in (want, got))
        for a, b in zip(want_all, got_all, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


HIGHER = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
}
def @apply(%f: fn (Tensor[(3), float32], List[Tensor[(3), float32]]) -> List[Tensor[(3), float32]], %x: Tensor[(3), float32]) {
  %f(%x, Nil)
}
def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) -> List[Tensor[(3), float32]] {
  let %g = fn (%z: Tensor[(3), float32]) -> Tensor[(3), float32] { add(%z, %y) };
  @map(%g, @apply(Cons, %x))
}
"""


@pytest.mark.parametrize("target", [None, "llvm"])
@pytest.mark.parametrize("level", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("source", [*SAMPLES, HIGHER], ids=[*(s.stem for s in SAMPLES), "higher"])
def test_the_virtual_machines_module(source: Path | str, level: int, target: str | None) -> None:
    """No operator is called but in loop nests; every call of one writes into memory that was allocated for it before."""
    module = irtool.parse(source) if isinstance(source, str) else read(source)
    if level == 0:  # the passes that name values and lift functions are of level 1, as in TVM
        try:
            irtool.run_passes(module, "vm<O0>", target=target)
        except IrError as error:
            assert re.search("takes programs in A-normal form|does not take shared expressions", str(error))
        return
    after = irtool.run_passes(module, f"vm<O{level}>", target=target)
    again = irtool.parse(irtool.to_text(after))
    assert set(again.functions) == set(after.functions)
    invoked = 0
    for f in after.relay_functions.values():
        for e in post_order(f.body):
            if isinstance(e, Function):
                assert e is f.body and f.attrs["Closure"] == 1, "a closure is what a global function returns"
            if not isinstance(e, Call) or not isinstance(e.op, Op):
                continue
            assert e.op.name.startswith(("memory.", "vm.")) or e.op.name in ("on_device", "device_copy"), e.op.name
            if e.op.name == "vm.invoke_tvm_op":
                invoked += 1
                kernel = e.args[0]
                assert isinstance(kernel, GlobalVar) and not isinstance(after.functions[kernel.name], Function)
    assert invoked


def test_closures_and_constructors_become_functions() -> None:
    after = irtool.run_passes(irtool.parse(HIGHER), "vm<O3>")
    closures = [f for f in after.relay_functions.values() if f.attrs.get("Closure")]
    assert closures
    for f in after.relay_functions.values():
        for e in post_order(f.body):
            if isinstance(e, Call):
                assert not any(type(a).__name__ == "Constructor" for a in e.args)


def test_shapes_that_are_not_static_are_refused() -> None:
    module = irtool.parse("def @main(%x: Tensor[(?, 3), float32]) { exp(%x) }")
    with pytest.raises(IrError, match="static"):
        irtool.run_passes(module, "vm<O3>")


def devices(module: Module) -> list[VirtualDevice | None]:
    main = module["main"]
    return [p.virtual_device for p in main.params] + [main.virtual_device]


def test_devices_are_planned_where_a_target_is_given() -> None:
    module = irtool.parse(NETWORK)
    assert set(devices(irtool.run_passes(module, "default<O3>"))) == {None}
    (cuda,) = set(devices(irtool.run_passes(module, "default<O3>", target="cuda -arch=sm_75")))
    assert cuda is not None and (cuda.device_type, cuda.virtual_device_id) == (2, 0)
    (llvm,) = set(devices(irtool.run_passes(module, "default<O3>", target="llvm -mcpu=skylake")))
    assert llvm is not None and llvm.device_type == 1
    assert isinstance(llvm.target, MetaNode) and llvm.target.fields["attrs"] == {"mcpu": "skylake"}
    assert isinstance(llvm.target.fields["host"], MetaNode)


def test_devices_reach_the_printed_text(tmp_path: Path) -> None:
    path = tmp_path / "n.relay"
    path.write_text(NETWORK)
    code, out, err = command("opt", "-O3", "--target", "cuda -arch=sm_75", path)
    assert code == 0, err
    assert len(re.findall(r"%[xwb] \{virtual_device=", out)) == 3
    assert set(devices(irtool.parse(out))) == set(devices(irtool.parse(out))) != {None}
    code, out, _ = command("opt", "-O3", path)
    assert "virtual_device" not in out


@pytest.mark.skipif(not LISTING.is_file(), reason="the listing is not here")
def test_devices_are_those_of_the_listing() -> None:
    """Kind, keys, options and host of the target, of every parameter and of the result."""
    listed = irtool.parse(LISTING.read_text())
    main = next(iter(listed.relay_functions))
    expected = [p.virtual_device for p in listed[main].params] + [listed[main].virtual_device]
    text = "\n".join(
        (
            "def @main(%x: Tensor[(1, 784), float32], %weight1: Tensor[(784, 128), float32], %b1: Tensor[(128), float32],",
            "%weight2: Tensor[(128, 10), float32], %b2: Tensor[(10), float32]) {",
            "%0 = nn.relu(add(nn.matmul(%x, %weight1, units=None), %b1));",
            "add(nn.matmul(%0, %weight2, units=None), %b2) }",
        )
    )
    planned = irtool.run_passes(irtool.parse(text), "default<O3>", target="cuda -model=unknown -arch=sm_75")
    for a, b in zip(expected, devices(planned), strict=True):
        assert a is not None and b is not None
        assert (a.device_type, a.virtual_device_id) == (b.device_type, b.virtual_device_id)
        for x, y in ((a.target, b.target), (a.target.fields["host"], b.target.fields["host"])):
            assert x.fields["kind"] == y.fields["kind"]
            assert set(x.fields["keys"]) == set(y.fields["keys"])
            assert set(x.fields.get("attrs") or ()) == set(y.fields.get("attrs") or ())


def test_names_that_are_wrong_are_explained() -> None:
    for text, message in (
        ("vm", "the pipeline vm needs a level"),
        ("vn<O3>", "unknown pipeline vn"),
        ("vm<O5>", "a level from O0 to O4"),
        ("vm<", "a level from O0 to O4"),
        ("FuseOps<O3>", "unknown pipeline FuseOps"),
    ):
        with pytest.raises(UsageError, match=message):
            parse_pipeline(text)
    code, _, err = command("passes", "vmm<O3>")
    assert code == 2 and "did you mean vm" in err


@pytest.mark.parametrize("name", PIPELINES)
def test_the_manual_explains_each_row(name: str) -> None:
    code, out, _ = command("passes", name)
    assert code == 0
    for text, reason in PIPELINES[name].rows:
        assert any(text.split("{")[0] in line and reason in line for line in out.splitlines())
    assert command("passes", f"{name}<O3>")[1] == out
    assert f"{name}<O0>" in command("passes")[1]


def test_the_build_says_what_it_leaves_out() -> None:
    out = command("passes", "build")[1]
    left_out = out.partition("skip these unless --require-pass names them:")[2]
    assert all(name in left_out for name in ("AlterOpLayout", "LabelOps", "PlanDevices"))


_VERBS = {
    *("adds", "allocates", "assigns", "changes", "chooses", "clamps", "clears", "composes", "computes", "copies", "evaluates"),
    *("fixes", "flushes", "folds", "gives", "groups", "infers", "inlines", "labels", "lifts", "lowers", "makes", "marks"),
    *("merges", "moves", "multiplies", "packs", "pads", "reads", "removes", "replaces", "rewrites", "splits", "stores", "unpacks", "wraps"),
}  # fmt: skip
"""First words of reasons: what the pass or stage does."""


def test_every_reason_says_what_its_row_does() -> None:
    """`merges equal nodes`, not `equal nodes merge`; the reason for its place comes behind."""
    rows = [(name, text, reason) for name, p in PIPELINES.items() for text, reason in p.rows]
    rows += [("stages", s.name, s.reason) for s in STAGES]
    assert len(rows) > 200
    assert not [row for row in rows if row[2].split()[0] not in _VERBS or len(row[2]) > 170]
