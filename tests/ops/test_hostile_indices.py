"""Indices and boxes that come from data and are out of range: the interpreter and C do the same, and read nothing else."""

import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import irtool
from irtool.diagnostics import IrError
from irtool.driver.prepare import UnboundedExtents, is_dynamic, prepare
from irtool.infer import infer_expr
from irtool.ir import Function, Module
from irtool.ir import Var as RelayVar
from irtool.ir.walk import post_order
from irtool.lower import lower_module
from irtool.ops import call
from irtool.tir.verify import find_problems
from tests.driver.sanitizers import MAIN, SANITIZE, harness
from tests.ops.computed import COMPUTED
from tests.ops.drawing import argument, drawn

pytestmark = pytest.mark.promise("indices from data")

INT = np.iinfo(np.int32)
TARGETS = np.array([-1, 7, 5, 2**28, INT.min, INT.max, -100, 0, 4, 2], np.int32)
BOXES = np.array(
    [
        [0, 0, 0, 7, 7],
        [1, -1e9, -1e9, 1e9, 1e9],
        [0, 0, 0, np.inf, np.inf],
        [np.nan, np.nan, 0, 3, np.nan],
        [1e30, -np.inf, 2, np.inf, 5],
        [-3, 3e38, 3e38, -3e38, -3e38],
    ],
    np.float32,
)
X = np.arange(50, dtype=np.float32).reshape(10, 5)
PICTURES = np.arange(2 * 3 * 8 * 8, dtype=np.float32).reshape(2, 3, 8, 8)
UNSIGNED = [np.array([0, 3, 2**31, 2**32 - 1], np.uint32), np.array([0, 3, 2**31, 2**63, 2**64 - 1], np.uint64)]
TINY = np.array([-128, -1, 0, 127], np.int8)


def nll(reduction: str) -> str:
    out = "Tensor[(10), float32]" if reduction == "none" else "float32"
    return (
        "def @main(%p: Tensor[(10, 5), float32], %t: Tensor[(10), int32], %w: Tensor[(5), float32])"
        f' -> {out} {{ nn.nll_loss(%p, %t, %w, ignore_index=-100, reduction="{reduction}") }}'
    )


def roi(name: str, attributes: str) -> str:
    return (
        "def @main(%x: Tensor[(2, 3, 8, 8), float32], %r: Tensor[(6, 5), float32])"
        f" {{ vision.{name}(%x, %r, pooled_size=[2, 2], spatial_scale=1f64, {attributes}) }}"
    )


def take(indices: np.ndarray, attributes: str, extent: int = 5) -> str:
    return (
        f"def @main(%x: Tensor[({extent}), float32], %n: Tensor[({len(indices)}), {indices.dtype}])"
        f" {{ take(%x, %n, axis=0, {attributes}) }}"
    )


CASES = {
    **{f"nll_loss {r}": (nll(r), [X, TARGETS, X[0]]) for r in ("none", "sum", "mean")},
    **{f"roi_align {m}": (roi("roi_align", f'sample_ratio=-1, mode="{m}"'), [PICTURES, BOXES]) for m in ("avg", "max")},
    "roi_align samples": (roi("roi_align", 'sample_ratio=2, mode="avg"'), [PICTURES, BOXES]),
    "roi_pool": (roi("roi_pool", 'layout="NCHW"'), [PICTURES, BOXES]),
    **{
        f"take {mode} {n.dtype}": (take(n, f'mode="{mode}"'), [X[0], n])
        for n in (*UNSIGNED, TARGETS, TARGETS.astype(np.int64) << 30, TINY)
        for mode in ("clip", "wrap")
    },
    "take int8 of many": (take(TINY, 'mode="wrap"', 200), [np.arange(200, dtype=np.float32), TINY]),
}


@pytest.mark.robustness("indices")
@pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
def test_hostile_indices_under_the_sanitizers(vector: bool, tmp_path, record_property) -> None:
    """Every case in one program; what it writes is what the interpreter gives."""
    record_property("inputs", len(CASES))
    functions, calls, names, data = [], [], [], bytearray()
    for n, (text, inputs) in enumerate(CASES.values()):
        module = irtool.infer_types(irtool.parse(text))
        name = f"h{n}"
        artifact = irtool.build(module, out_dir=tmp_path, name=name, emit="c", weights="inline", vector=vector)
        names.append(name)
        written = harness(name, artifact.report).replace(
            "  free(i0);", "  fwrite(a0, 1, size0, stdout);\n  free(i0);", 1
        )
        functions.append(written.replace("size0", f"{artifact.report['outputs'][0]['bytes']}u"))
        calls.append(f"  check_{name}(file);")
        data += b"".join(np.ascontiguousarray(x).tobytes() for x in inputs)
    headers = "\n".join(f'#include "{n}.h"' for n in names)
    (tmp_path / "main.c").write_text(
        MAIN.format(headers=headers, functions="\n".join(functions), calls="\n".join(calls))
    )
    (tmp_path / "inputs.raw").write_bytes(bytes(data))
    sources = ["main.c", *(f"{n}.c" for n in names)]
    command = ["cc", "-std=c99", *SANITIZE, *(["-march=native"] if vector else []), "-o", "all", *sources, "-lm"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]
    done = subprocess.run(["./all"], cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr[:4000]
    place = 0
    for name, (text, inputs) in CASES.items():
        with np.errstate(all="ignore"):
            want = np.asarray(irtool.evaluate(irtool.infer_types(irtool.parse(text)), inputs))
        got = np.frombuffer(done.stdout[place : place + want.nbytes], want.dtype).reshape(want.shape)
        place += want.nbytes
        assert np.allclose(got, want, rtol=1e-5, atol=0, equal_nan=True), f"{name}: {got} is not {want}"
    assert place == len(done.stdout)


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%a: Tensor[(0), float32], %b: Tensor[(2), int32]) { take(%a, %b, axis=0) }",
        'def @main(%a: Tensor[(0), float32], %b: Tensor[(2), int32]) { take(%a, %b, axis=0, mode="wrap") }',
        "def @main(%a: Tensor[(3, 0), float32], %b: Tensor[(2), int32]) { take(%a, %b) }",
        "def @main(%a: Tensor[(2, 0), float32], %b: Tensor[(2, 2), int32]) { gather(%a, %b, axis=1) }",
        "def @main(%a: Tensor[(2, 0), float32], %b: Tensor[(2, 2), int32]) { gather_nd(%a, %b) }",
        "def @main(%a: Tensor[(0, 3), float32], %b: Tensor[(2), int32]) { adv_index((%a, %b)) }",
        "def @main(%p: Tensor[(2, 0), float32], %t: Tensor[(2), int32], %w: Tensor[(0), float32])"
        " { nn.nll_loss(%p, %t, %w, ignore_index=-100) }",
        "def @main(%x: Tensor[(2, 3, 0, 8), float32], %r: Tensor[(6, 5), float32])"
        " { vision.roi_align(%x, %r, pooled_size=[2, 2], spatial_scale=1f64) }",
    ],
)
def test_an_element_of_what_is_empty_is_refused(text: str) -> None:
    with pytest.raises(IrError, match="no elements"):
        irtool.infer_types(irtool.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%a: Tensor[(0), float32], %b: Tensor[(0), int32]) { take(%a, %b, axis=0) }",
        "def @main(%a: Tensor[(3, 0), float32], %b: Tensor[(2), int32]) { take(%a, %b, axis=0) }",
    ],
)
def test_no_element_of_what_is_empty_is_empty(text: str) -> None:
    module = irtool.infer_types(irtool.parse(text))
    inputs = [np.zeros([int(d) for d in p.checked_type.shape], p.checked_type.dtype) for p in module["main"].params]
    assert np.asarray(irtool.build(module).run(inputs)).size == 0
    assert np.asarray(irtool.evaluate(module, inputs)).size == 0


@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), phases=["generate"])
@given(st.data())
def test_the_nest_of_every_operator_keeps_indices_within(data) -> None:
    seen = 0
    for name in COMPUTED:
        values, attributes = drawn(data.draw, name)
        expression = infer_expr(call(name, *map(argument, values), **attributes))
        params = tuple(v for v in post_order(expression) if isinstance(v, RelayVar))
        try:
            module = prepare(irtool.infer_types(Module({"main": Function(params, expression)})), opt_level=0)
        except UnboundedExtents:  # compiled for the values of a run
            continue
        if is_dynamic(module):
            continue
        for kernel in lower_module(module).kernels:
            assert not list(find_problems(kernel)), (name, attributes)
            seen += 1
    assert seen > 100
