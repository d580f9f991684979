"""Caches in another dtype: attention over rounded rows as numpy defines it, in the interpreter, C and LLVM, and what cannot be converted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.interp.steps import Steps
from irtool.ir import Function, Module, TensorType, Var
from irtool.ir.conversion import marked
from irtool.ir.ndarray import storage
from tests.frontends.gguf.networks import NETWORKS, file_of

pytestmark = pytest.mark.promise("growing states")

HEADS, GROUPS, SIZE, CAPACITY = 4, 2, 8, 12
DTYPES = ["float16", "bfloat16", "int8"]
LENGTHS = {"past": f"<={CAPACITY}", "n": "<=5"}

GROWING = f"""#[version = "0.0.5"]
def @main(%q: Tensor[({GROUPS}, ?, {SIZE}), float32], %k: Tensor[({GROUPS}, ?, {SIZE}), float32],
          %past: Tensor[({GROUPS}, ?, {SIZE}), float32], input_dim_names=[["", "n", ""], ["", "n", ""], ["", "past", ""]],
          state_outputs=[-1, -1, 1]) {{
  %0 = concatenate((%past, %k), axis=1);
  %1 = nn.softmax(nn.batch_matmul(%q, %0, transpose_b=True));
  (nn.batch_matmul(%1, %0, transpose_b=False), %0)
}}"""


def rounded(x: np.ndarray, dtype: str) -> np.ndarray:
    """The rows that a cache of that dtype holds for `x`."""
    if dtype == "float16":
        return x.astype("float16").astype("float64")
    if dtype == "bfloat16":
        bits = x.view("uint32").astype("uint64")
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype("uint32").view("float32").astype("float64")
    largest = np.abs(x).max(-1, keepdims=True)
    return np.rint(x * (np.float32(127) / largest)).astype("float64") * (largest / np.float32(127))


def attention(q: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Its definition."""
    scores = q.astype("float64") @ rows.transpose(0, 2, 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ rows


def steps_of(lengths: tuple[int, ...]) -> list[list[np.ndarray]]:
    """Queries and keys for steps of so many rows."""
    rng = np.random.default_rng(3)
    return [[rng.standard_normal((GROUPS, n, SIZE)).astype("float32") for _ in "qk"] for n in lengths]


def compiled(text: str | Module, target: str = "c", **options: Any) -> Any:
    """The artifact of a module with lengths."""
    if target == "llvm":
        pytest.importorskip("llvmlite")
    module = irtool.parse(text) if isinstance(text, str) else text
    return irtool.build(module, target=target, dims=LENGTHS, cache=False, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_attention_over_a_cache(dtype: str, target: str) -> None:
    artifact = compiled(GROWING, target, cache_dtype=dtype)
    net, rows = artifact.instance(), np.zeros((GROUPS, 0, SIZE))
    for q, k in steps_of((4, 1, 5, 2)):
        rows = np.concatenate([rows, rounded(k, dtype)], 1)
        before = net.save()
        result = np.asarray(net.step([q, k]))
        np.testing.assert_allclose(result, attention(q, rows), rtol=1e-4, atol=1e-5)
        net.restore(before)
        np.testing.assert_array_equal(net.step([q, k]), result)
    names = [k["name"] for k in artifact.report["kernels"] if "batch_matmul" in k["name"]]
    assert all("cast" in n or "dequantize" in n for n in names), "caches are read as they lie in memory"
    assert artifact.report["caches"] == {"dtype": dtype, "error": None}


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_interpreter_rounds_alike(dtype: str) -> None:
    module = irtool.run_passes(irtool.parse(GROWING), f"ConvertCaches{{dtype={dtype}}}")
    text = irtool.to_text(module)
    assert irtool.structural_equal(irtool.parse(text), module)
    main = module["main"]
    assert isinstance(main, Function)
    rows, state = np.zeros((GROUPS, 0, SIZE)), [empty(p) for p in main.params[2:]]
    for q, k in steps_of((3, 1)):
        rows = np.concatenate([rows, rounded(k, dtype)], 1)
        result, *state = irtool.evaluate(module, [q, k, *state])
        np.testing.assert_allclose(result, attention(q, rows), rtol=1e-5, atol=1e-6)


def empty(p: Var) -> np.ndarray:
    """The value of a state without rows."""
    t = p.type_annotation
    assert isinstance(t, TensorType)
    array = np.zeros([d if isinstance(d, int) else 0 for d in t.shape], storage(t.dtype))
    return marked(array, t.dtype)


WRITTEN = {
    "scatter_nd": 'scatter_nd(%past, %at, %k, mode="update")',
    "scatter_elements": f'scatter_elements(%past, broadcast_to(%at, shape=[1, {SIZE}]), %k, axis=0, reduction="update")',
    "sliding": "strided_slice(concatenate((%past, %k), axis=0), begin=[1], end=[7], strides=[1], axes=[0])",
}
"""Caches whose memory has all rows from the beginning."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", WRITTEN)
def test_rows_written_into_a_cache(form: str, dtype: str) -> None:
    module = irtool.parse(f"""#[version = "0.0.5"]
    def @main(%k: Tensor[(1, {SIZE}), float32], %at: Tensor[(1, 1), int64], %past: Tensor[(6, {SIZE}), float32], state_outputs=[-1, -1, 1]) {{
      let %0 = {WRITTEN[form]};
      (add(sum(%0, axis=[0]), cast(sum(%at), dtype="float32")), %0) }}""")
    module = irtool.run_passes(module, "ToGraphNormalForm")
    net = irtool.build(module, cache_dtype=dtype).instance()
    steps = Steps(irtool.run_passes(module, f"ConvertCaches{{dtype={dtype}}}"))
    rng, rows = np.random.default_rng(4), np.zeros((6, SIZE))
    for place in (2, 0, 2, 5):
        k = rng.standard_normal((1, SIZE)).astype("float32")
        places = np.array([[place]])
        if form == "sliding":
            rows = np.concatenate([rows[1:], rounded(k, dtype)])
        else:
            rows[place] = rounded(k, dtype)
        for result in (net.step([k, places]), steps.step([k, places])):
            np.testing.assert_allclose(result, rows.sum(0) + place, rtol=1e-5, atol=1e-6)


def test_first_values_are_rounded() -> None:
    text = f"""#[version = "0.0.5"]
    def @main(%k: Tensor[(1, {SIZE}), float32], %past: Tensor[(2, {SIZE}), float32], state_outputs=[-1, 1]) {{
      %0 = concatenate((%past, %k), axis=0);
      %1 = strided_slice(%0, begin=[1], end=[3], strides=[1], axes=[0]);
      (sum(%0, axis=[0]), %1) }}"""
    begin, k = (np.random.default_rng(n).standard_normal((2 - n, SIZE)).astype("float32") for n in (0, 1))
    for dtype in DTYPES:
        artifact = irtool.build(irtool.parse(text), {"past": begin}, cache_dtype=dtype)
        expected = rounded(begin, dtype).sum(0) + rounded(k, dtype)[0]
        np.testing.assert_allclose(artifact.instance().step([k]), expected, rtol=1e-5, atol=1e-6)


def test_caches_of_a_network(tmp_path: Path) -> None:
    dims = {"context": "<=16", "tokens": "<=4"}
    module, weights = irtool.from_gguf(file_of(NETWORKS["gemma2"]), dims)
    artifact = irtool.build(module, weights, cache_dtype="int8", name="net", out_dir=tmp_path)
    header = (tmp_path / "net.h").read_text()
    assert "int8_t keys_0[256]; /* int8[1, 2, 16, 8]; a step updates it */" in header
    assert "float keys_0_scale[32]; /* float32[1, 2, 16, 1]; a step updates it */" in header
    exact = irtool.build(module, weights).instance()
    net, tokens = artifact.instance(), np.random.default_rng(0).integers(0, 48, 9).astype("int32")
    for begin, end in ((0, 4), (4, 5), (5, 9)):
        a, b = (np.asarray(x.step([tokens[begin:end]])) for x in (exact, net))
        assert 0 < np.abs(a - b).max() < 0.05 * np.abs(a).max()
    net.rewind(4)
    assert np.asarray(net.step([tokens[4:5]])).shape == (1, 48)


def test_wider_caches_of_a_model_in_halves() -> None:
    module = irtool.run_passes(irtool.parse(GROWING), "ConvertCaches{dtype=float16}")
    wider = irtool.run_passes(module, "ConvertCaches{dtype=float32}")
    assert irtool.run_passes(module, "ConvertCaches{dtype=float16}") is module
    q, k = steps_of((4,))[0]
    result = compiled(wider).instance().step([q, k])
    np.testing.assert_allclose(result, attention(q, rounded(k, "float16")), rtol=1e-4, atol=1e-5)


def test_not_finite_rows_stay_so() -> None:
    for dtype in DTYPES:
        net = compiled(GROWING, cache_dtype=dtype, flags={"math": "strict"}).instance()
        q, k = steps_of((2,))[0]
        k[0, 1, 3] = np.nan
        result = np.asarray(net.step([q, k]))
        assert np.isnan(result[0]).any() and np.isfinite(result[1]).all()


def test_refusals() -> None:
    with pytest.raises(UsageError, match="cache_dtype='int4' is not one of") as error:
        compiled(GROWING, cache_dtype="int4")
    assert error.value.exit_code == 2
    with pytest.raises(IrError, match="there are no states"):
        irtool.build(
            irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) { negative(%x) }'),
            cache_dtype="int8",
        )
    last = GROWING.replace("axis=1", "axis=2").replace(f"{GROUPS}, ?, {SIZE}", f"{GROUPS}, {SIZE}, ?")
    last = last.replace("nn.softmax(nn.batch_matmul(%q, %0, transpose_b=True))", "%q").replace(
        "nn.batch_matmul(%1, %0, transpose_b=False)", "%1"
    )
    with pytest.raises(IrError, match="the cache %past cannot be in int8: its last axis"):
        irtool.run_passes(irtool.parse(last), "ConvertCaches{dtype=int8}")


def test_copies_of_a_cache_have_the_rows_in_use(tmp_path: Path) -> None:
    """Products copy keys into another order: those that are there, and not the whole memory of the cache."""
    module = irtool.parse(GROWING.replace(f", {SIZE})", ", 64)"))
    dims = {"past": "<=480", "n": "<=32"}
    irtool.build(module, dims=dims, cache_dtype="float16", emit="tir", out_dir=tmp_path, mcpu="x86-64-v3")
    text = next(tmp_path.glob("*.tir")).read_text()
    shapes = re.findall(r"_t: Pointer\(global float16\), float16, \[(.*?)\]", text)
    assert shapes and all("past" in s and "480" not in s and "512" not in s for s in shapes), shapes
