"""What lowering knows of a kernel's stages is there for schedules: nobody recognises it in loops again."""

import ast
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import SCHEDULE, VectorTarget
from irtool.tir.forms import Map, Reduction, Steps, TupleReduction, buffers_read, nest_of, stores_of
from irtool.tir.kernel import Kernel
from irtool.tir.program import Program
from irtool.tir.show import show_stmt
from irtool.tir.stmt import PrimFunc
from tests.nests import run_program

pytestmark = pytest.mark.promise("forms")

VERSION = '#[version = "0.0.5"]\n'
ROOM = Path(irtool.__file__).parent

PROGRAMS = {
    "convolution": (
        "def @main(%x: Tensor[(1, 3, 5, 6), float32], %w: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4), float32])"
        " { nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1]), %b)) }",
        [Map, Reduction],
    ),
    "softmax": (
        "def @main(%x: Tensor[(3, 7), float32]) { nn.softmax(%x) }",
        [Reduction, Map, Reduction, Map],
    ),
    "arg-max": ("def @main(%x: Tensor[(3, 7), float32]) { argmax(%x, axis=[1]) }", [TupleReduction, Map]),
    "arg-max and a sum": (
        "def @main(%x: Tensor[(3, 7), float32]) { (argmax(%x, axis=[1]), sum(%x, axis=[0])) }",
        [TupleReduction, Map, Reduction],
    ),
    "sort": ("def @main(%x: Tensor[(3, 7), float32]) { sort(%x) }", [Steps]),
    "axes of one step": ("def @main(%x: Tensor[(1, 7, 1), float32]) { sum(%x, axis=[2], keepdims=True) }", [Reduction]),
    "a sum of nothing": ("def @main(%x: Tensor[(2, 0), float32]) { sum(%x, axis=[1]) }", [Map]),
    "nothing": ("def @main(%x: Tensor[(0, 3), float32]) { exp(%x) }", []),
    "handed through": ("def @main(%x: Tensor[(1, 4), float32]) { (annotation.stop_fusion(%x), exp(%x)) }", [Map]),
}


def lowered(text: str) -> Program:
    return lower_module(prepare(irtool.parse(VERSION + text), opt_level=1), ["main"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_lowering_gives_forms(name: str) -> None:
    text, kinds = PROGRAMS[name]
    stages = [form for k in lowered(text).kernels for form in k.stages]
    assert [type(form) for form in stages] == kinds


def test_an_epilogue_is_computed_from_the_accumulator() -> None:
    (kernel,) = lowered(PROGRAMS["convolution"][0]).kernels
    pad, r = kernel.stages
    assert isinstance(pad, Map) and isinstance(r, Reduction)
    assert [n for _, n in r.loops] == [4, 5, 6] and [n for _, n in r.inner] == [3, 3, 3]
    assert show_stmt(nest_of(r)).count("for ") == 6
    assert [s.buffer for s in r.stores] == list(kernel.outputs)
    assert buffers_read(r) == {r.acc, kernel.temporaries[0], *kernel.inputs[1:]}
    assert [s.buffer for s in stores_of(pad)] == list(kernel.temporaries)


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_loops_are_recognised_as_what_they_were_made_of(name: str) -> None:
    """The nests that arrive as text get the forms that lowering would have given."""
    for kernel in lowered(PROGRAMS[name][0]).kernels:
        again = Kernel.of(PrimFunc(kernel.name, kernel.params, kernel.body, kernel.num_outputs))
        assert again.temporaries == kernel.temporaries
        flat = [Steps if isinstance(f, TupleReduction) else type(f) for f in kernel.stages]
        assert [type(f) for f in again.stages] == flat
        assert show_stmt(again.body) == show_stmt(kernel.body)
        assert (again.macs, again.copies, again.in_place) == (kernel.macs, kernel.copies, kernel.in_place)


NETWORKS = {
    "layers": """def @main(%x: Tensor[(1, 16, 12, 12), float32], %w: Tensor[(32, 16, 3, 3), float32]) {
      nn.max_pool2d(nn.relu(nn.conv2d(%x, %w, padding=[1, 1])), pool_size=[2, 2], strides=[2, 2]) }""",
    "rows": """def @main(%x: Tensor[(8, 64), float32], %g: Tensor[(64), float32], %b: Tensor[(64), float32]) {
      nn.softmax(nn.layer_norm(%x, %g, %b)) }""",
    "phases": """def @main(%x: Tensor[(1, 3, 4, 5), float32], %w: Tensor[(3, 8, 4, 4), float32]) {
      nn.max_pool2d(nn.relu(nn.conv2d_transpose(%x, %w, kernel_layout="IOHW", strides=[2, 2], padding=[1, 1])), pool_size=[2, 2]) }""",
}


@pytest.mark.parametrize("name", NETWORKS)
def test_stages_before_strategies_change_forms_and_nothing_else(name: str) -> None:
    """Layouts, fused kernels, phases: the loops are those of the forms until strategies make others."""
    m = irtool.parse(VERSION + NETWORKS[name])
    program = lower_module(prepare(m, opt_level=3), ["main"])
    for stage in SCHEDULE:
        before = {id(k) for k in program.kernels}
        stage.run(program, VectorTarget(32, 16))
        if stage.name == "ScheduleKernels":
            break
        for k in program.kernels:
            assert [show_stmt(n) for n in k.nests] == [show_stmt(nest_of(f)) for f in k.stages]
        assert name != "phases" or stage.name != "DecomposePhases" or before != {id(k) for k in program.kernels}
    assert all(k.choice.stages for k in program.kernels)
    chance = np.random.default_rng(0)
    inputs = [chance.uniform(-1, 1, p.checked_type.shape).astype("float32") for p in m["main"].params]
    got = run_program(program, inputs)[0]
    want = irtool.evaluate(m, inputs)
    np.testing.assert_allclose(np.array(got, "float32").reshape(want.shape), want, rtol=1e-4, atol=1e-5)


@pytest.mark.every_tier
def test_forms_are_recognised_in_two_places_only() -> None:
    """In nests that arrive as loops, and in those that operators write themselves."""
    users = set()
    for path in ROOM.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "recognise" in source else ():
            if isinstance(node, ast.ImportFrom):
                around = "tir." if node.level == 1 and path.parent.name == "tir" else ""
                if f"{around}{node.module}".endswith("tir.recognise"):
                    users.add(str(path.relative_to(ROOM)))
    assert users == {"lower/nest.py", "tir/kernel.py"}


def test_nothing_is_recognised_in_tensor_expressions(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("loops were taken apart")

    monkeypatch.setattr("irtool.tir.kernel.recognise", refuse)
    monkeypatch.setattr("irtool.lower.nest.recognise", refuse)
    for text in NETWORKS.values():
        program = lower_module(prepare(irtool.parse(VERSION + text), opt_level=3), ["main"])
        for stage in SCHEDULE:
            stage.run(program, VectorTarget(32, 16))
