"""Builds in which values decide extents: the values of the interpreter, extents beside the results, and nothing beyond their ends."""

from __future__ import annotations

import ctypes
import json
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import InternalError, IrError, ToolError, UsageError
from irtool.lower.value_lengths.order import require_set_before_use
from irtool.symbolic_int import Symbol, shifted, symbolic
from irtool.tir.program import Branch, CopySlot, HostFunction, SetLengths, Slot
from tests.driver.lengths import files
from tests.driver.programs import compile_c, parse, run
from tests.driver.value_lengths import NETWORKS, Network, leaves

CANARY = 77
pytestmark = pytest.mark.promise("value extents")
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
BUILDS: dict[str, dict[str, Any]] = {
    "c": {},
    "scalars": {"vector": False},
    "threads": {"openmp": True},
    "llvm": {"target": "llvm"},
}


def check(network: Network, artifact: irtool.Artifact, inputs: dict[str, np.ndarray]) -> None:
    """Compares a run with the interpreter, extents included."""
    expected, actual = leaves(network.expected(inputs)), leaves(artifact.run(inputs))
    for e, a in zip(expected, actual, strict=True):
        assert a.shape == e.shape and a.dtype == e.dtype
        np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("how", [pytest.param(h, marks=needs_clang if h == "llvm" else ()) for h in BUILDS])
@pytest.mark.parametrize("name", NETWORKS)
def test_values_and_extents_are_the_interpreters(name: str, how: str) -> None:
    network = NETWORKS[name]
    artifact = network.build(**BUILDS[how])
    assert artifact.report["kernels"]  # not one that is compiled anew for the values of each run
    for inputs in network.inputs():
        check(network, artifact, inputs)


@pytest.mark.parametrize("name", NETWORKS)
def test_sanitizers_see_nothing(name: str) -> None:
    network = NETWORKS[name]
    artifact = network.build(emit="exe", sanitize="address,undefined")
    for inputs in network.inputs():
        check(network, artifact, inputs)


@pytest.mark.parametrize("emit", ["tir", "c", "ll"])
@pytest.mark.parametrize("name", ["mask", "both", "boxes"])
def test_no_text_depends_on_the_int_of_a_formula(name: str, emit: str, tmp_path: Path) -> None:
    texts = []
    for by in (0, 1, 3):
        with shifted(by):
            NETWORKS[name].build("llvm" if emit == "ll" else "c", out_dir=tmp_path / str(by), emit=emit)
        texts.append(files(tmp_path / str(by)))
    assert texts[0] and texts[1] == texts[0] and texts[2] == texts[0]


def test_results_have_their_extents_beside_them_and_nothing_behind_them(tmp_path: Path) -> None:
    network = NETWORKS["elementwise"]
    artifact = network.build(out_dir=tmp_path)
    header = (tmp_path / "net.h").read_text()
    assert re.search(r"^ \*   count_0: 0 to 15, .*:\d+:\d+$", header, re.MULTILINE)  # the place of the value
    for line in (
        "#define NET_VALUE_OUT_OF_BOUNDS 6",
        "#define NET_OUT0_MAX_SIZE 30u /* int32[count_0, 2], at the upper bounds */",
        "int net_run(const float *x, int32_t *out0, int32_t *out1, float *out2, int64_t *out0_shape, int64_t *out1_shape, "
        "int64_t *out2_shape);",
    ):
        assert line in header.splitlines()
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    for inputs in network.inputs():
        expected = leaves(network.expected(inputs))
        outputs = [np.full(40, CANARY, e.dtype) for e in expected]
        shapes = [np.full(3, CANARY, "int64") for _ in expected]
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (inputs["x"], *outputs, *shapes)]
        assert library.net_run(*pointers) == 0
        for e, a, s in zip(expected, outputs, shapes, strict=True):
            assert s.tolist() == [*e.shape, CANARY]
            np.testing.assert_allclose(a[: e.size], e.ravel(), rtol=1e-5)
            assert (a[e.size :] == CANARY).all()
    assert artifact.report["outputs"][0]["shape"] == ["count_0", 2]


def test_saved_builds_cut_their_results(tmp_path: Path) -> None:
    network = NETWORKS["mask"]
    artifact = network.build(out_dir=tmp_path)
    for copy in (irtool.load(tmp_path), pickle.loads(pickle.dumps(artifact))):
        for inputs in network.inputs():
            check(network, copy, inputs)
    assert json.loads(json.dumps(artifact.report)) == artifact.report and "lengths" not in artifact.report


def test_lengths_of_callers_and_of_values_meet(tmp_path: Path) -> None:
    text = (
        "def @main(%x: Tensor[(?, 4), float32]) { let %p = argwhere(greater(%x, 0f)); "
        '(%p, add(%x, sum(cast(%p, dtype="float32"))), concatenate((cast(%p, dtype="float32"), '
        "strided_slice(%x, begin=[0, 0], end=[100, 2], strides=[1, 1], axes=None)), axis=0)) }"
    )
    artifact = irtool.build(parse(text), shapes={"x": ("n<=6", 4)}, name="net", out_dir=tmp_path)
    assert "int net_run(int64_t n, const float *x, int32_t *out0," in (tmp_path / "net.h").read_text()
    for n in (1, 2, 6):
        for sign in (-1, 1):
            x = (np.random.RandomState(n).rand(n, 4) * sign).astype("float32")
            static = parse(text.replace("?", str(n)))
            for e, a in zip(leaves(irtool.evaluate(static, [x])), leaves(artifact.run([x])), strict=True):
                assert e.shape == a.shape
                np.testing.assert_allclose(a, e, rtol=1e-5)


def test_extents_that_nothing_bounds_are_named_with_their_place(tmp_path: Path) -> None:
    text = 'def @main(%n: Tensor[(2), int64]) {\n  dyn.full(1f, %n, shape=None, dtype="float32")\n}'
    with pytest.raises(IrError) as refused:
        irtool.build(parse(text), out_dir=tmp_path, emit="c")
    (first, *_) = refused.value.diagnostics
    assert first.message.startswith("shape[0] of dyn.full follows from values, and nothing says how large it may be")
    assert first.span is not None and "--dim 'count_0<=512'" in (first.help or "")


@pytest.mark.parametrize("target", ["c", pytest.param("llvm", marks=needs_clang)])
def test_bounds_are_given_by_name_and_values_beyond_them_are_an_error(target: str, tmp_path: Path) -> None:
    text = 'def @main(%n: Tensor[(2), int64]) { dyn.full(1f, %n, shape=None, dtype="float32") }'
    bounds: dict[str, int | str] = {"count_0": "<=4", "count_1": "2<=count_1<=3"}
    artifact = irtool.build(parse(text), target=target, dims=bounds, name="net", out_dir=tmp_path)
    assert "#define NET_OUT_MAX_SIZE 12u" in (tmp_path / "net.h").read_text()
    for shape in ((0, 2), (4, 3), (1, 2)):
        assert artifact.run([np.array(shape)]).shape == shape
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    out, extents = np.full(12, CANARY, "float32"), np.full(2, CANARY, "int64")
    for wrong in ((5, 2), (-1, 2), (4, 1), (4, 4), (1 << 40, 3), (-(1 << 62), 3)):
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (np.array(wrong), out, extents)]
        assert library.net_run(*pointers) == 6
        assert (out == CANARY).all() and (extents == CANARY).all()
    with pytest.raises(ToolError, match="a value decides an extent that is outside of its bounds"):
        artifact.run([np.array((5, 3))])
    with pytest.raises(UsageError, match="no dimension of a parameter of @main is called counts"):
        irtool.build(parse(text), dims={"counts": "<=4"})


def test_more_of_the_best_than_there_are_is_an_error() -> None:
    network = NETWORKS["best of some"]
    inputs = network.inputs()[0] | {"n": np.array(150)}
    with pytest.raises(IrError, match="k is 150, and axis 0 has"):
        network.expected(inputs)
    with pytest.raises(ToolError, match=r"count_1 \(<text>:2:139\) is -1, and it has to be from 0 to 200"):
        network.build(vector=False).run(inputs)


def test_a_length_that_is_used_before_it_is_set_is_a_bug_that_is_seen() -> None:
    n = symbolic("count_0", 0, 5)
    padded, cut, count = Slot("padded", (5,), "float32"), Slot("cut", (n,), "float32"), Slot("count", (1,), "int64")
    setting, use = SetLengths(count, (Symbol("count_0", 0, 5),), (0,)), CopySlot(padded, cut)
    arms = [Branch(count, [setting, use], []), Branch(count, [setting], [setting])]
    for body, is_right in (
        ([setting, use], True),
        ([arms[0]], True),
        ([arms[1], use], True),
        ([use, setting], False),
        ([arms[0], use], False),
    ):
        function = HostFunction("f", [], [], body, lengths=(Symbol("count_0", 0, 5),))
        if is_right:
            require_set_before_use(function)
        else:
            with pytest.raises(InternalError, match="@f uses count_0 before a step sets it"):
                require_set_before_use(function)


def test_a_c_program_reads_the_extents(tmp_path: Path) -> None:
    """The example of docs/building.md."""
    NETWORKS["places"].build(out_dir=tmp_path, emit="c", vector=False)
    page = (Path(__file__).parents[2] / "docs" / "building.md").read_text()
    program = re.search(r"```c\n((?:(?!```).)*NET_OUT_SHAPE_SIZE.*?)```", page, re.DOTALL)
    assert program is not None
    (tmp_path / "main.c").write_text(program[1])
    done = run(compile_c(tmp_path, "main", "main.c", "net.c"))
    assert (done.returncode, done.stdout) == (0, "(0, 1)(1, 3)")


RECURSION = """
def @down(%i: int32, %x: Tensor[(4), float32]) -> float32 {{
  let %p = argwhere(greater(%x, 0f));
  if (greater(%i, 0)) {{ {again} }} else {{ sum(cast(%p, dtype="float32")) }}
}}
def @main(%i: int32, %x: Tensor[(4), float32]) {{ @down(%i, %x) }}
"""


def test_loops_set_lengths_in_each_turn() -> None:
    text = RECURSION.format(again='@down(subtract(%i, 1), subtract(%x, cast(%i, dtype="float32")))')
    artifact = irtool.build(parse(text))
    for turns in (0, 1, 3):
        inputs = {"i": np.array(turns, "int32"), "x": np.array([5, 1, 9, -2], "float32")}
        np.testing.assert_allclose(artifact.run(inputs), irtool.evaluate(parse(text), inputs))


AFTER = {
    "a sum": 'add(@down(subtract(%i, 1), subtract(%x, 1f)), sum(cast(%p, dtype="float32")))',
    "two calls": """let %r = @down(subtract(%i, 1), subtract(%x, 1f)); let %s = @down(subtract(%i, 2), add(%x, 2f));
      let %q = argwhere(less(%x, multiply(%r, 0.1f)));
      add(add(%r, %s), add(sum(cast(%p, dtype="float32")), sum(cast(%q, dtype="float32"))))""",
    "behind a branch": """let %r = if (greater(%i, 1)) {{ add(@down(subtract(%i, 1), subtract(%x, 1f)), sum(cast(%p, dtype="float32"))) }} else {{ 3f }};
      add(%r, prod(cast(add(%p, 1), dtype="float32")))""",
}


@pytest.mark.parametrize("name", AFTER)
@pytest.mark.parametrize("target", ["c", pytest.param("llvm", marks=needs_clang)])
def test_recursion_goes_on_with_the_lengths_from_before_a_call(target: str, name: str) -> None:
    module = parse(RECURSION.format(again=AFTER[name].replace("{{", "{").replace("}}", "}")))
    artifact = irtool.build(module, target=target)
    for depth in (0, 1, 2, 4):
        for values in ([5, 1, 9, -2], [0, 0, 0, 0], [1, 2, 3, 4]):
            inputs = [np.int32(depth), np.array(values, "float32")]
            np.testing.assert_allclose(artifact.run(inputs), irtool.evaluate(module, inputs), rtol=1e-5)


def test_recursion_that_goes_on_with_a_length_of_the_arms_of_a_branch_is_refused() -> None:
    """A frame does not say which arm has set it."""
    again = """let %q = if (greater(%i, 3)) { argwhere(less(%x, 1f)) } else { argwhere(less(%x, 2f)) };
      add(@down(subtract(%i, 1), subtract(%x, 1f)), sum(cast(%q, dtype="float32")))"""
    with pytest.raises(
        IrError, match="@down calls itself and goes on after that, and extents in it follow from the arms"
    ):
        irtool.build(parse(RECURSION.format(again=again)), emit="c")


def test_programs_write_the_elements_that_there_are(tmp_path: Path) -> None:
    network = NETWORKS["elementwise"]
    network.build(out_dir=tmp_path, emit="exe", vector=False)
    inputs = network.inputs()[2]
    inputs["x"].tofile(tmp_path / "x.raw")
    outputs = [f"out{n}.raw" for n in range(6)]
    ended = run(tmp_path / "net", "x.raw", *outputs)
    assert ended.returncode == 0, ended.stderr
    for n, e in enumerate(leaves(network.expected(inputs))):
        np.testing.assert_allclose(np.fromfile(tmp_path / outputs[n], e.dtype), e.ravel(), rtol=1e-5)
        assert np.fromfile(tmp_path / outputs[n + 3], "int64").tolist() == list(e.shape)


def test_test_benches_compare_extents(tmp_path: Path) -> None:
    network = NETWORKS["mask"]
    network.build(out_dir=tmp_path, emit="c", vector=False, testbench=True)
    test = (tmp_path / "net_test.c").read_text()
    for text, code in ((test, 0), (re.sub(r"(out0_shape_expected\[\d\] = \{\s*)(\d+)", r"\g<1>1\2", test), 1)):
        (tmp_path / "net_test.c").write_text(text)
        ended = run(compile_c(tmp_path, "test", "net.c", "net_test.c"))
        assert ended.returncode == code, ended.stdout
