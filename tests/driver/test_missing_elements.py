"""Results that need elements of axes without as many: an error in the interpreter and in compiled code, under one condition."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, ToolError
from irtool.tir.errors import ELEMENTS_ERROR
from tests.driver.programs import parse, run
from tests.driver.value_lengths import compare

CANARY = 77
pytestmark = pytest.mark.promise("value extents")
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
TARGETS = ["c", pytest.param("llvm", marks=needs_clang)]

CHOSEN = "let %k = squeeze(argwhere(greater(%x, 0f)), axis=[1]); let %y = take(%x, %k); "
"""The positive elements of a vector, as many as a run decides."""
IMAGE = "reshape(%y, newshape=[1, 1, -1, 1])"

CALLS: dict[str, tuple[str, int]] = {
    "take": ("take(%y, 0, axis=0)", 1),
    "take of the flattened tensor": ("take(reshape(%y, newshape=[1, -1]), 0)", 1),
    "take in turns": ('take(%y, -3, mode="wrap")', 1),
    "gather": ("gather(%y, reshape(0i64, newshape=[1]), axis=0)", 1),
    "gather_nd": ("gather_nd(%y, reshape(0i64, newshape=[1, 1]))", 1),
    "adv_index": ("adv_index((%y, 1))", 1),
    "a slice": ("take(strided_slice(%y, begin=[1], end=[9], strides=[1], axes=None), 0, axis=0)", 2),
    "diagonals": ('matrix_set_diag(ones(shape=[1, 1], dtype="float32"), %y, k1=0, k2=0)', 1),
    "strided_set": ("strided_set(%x, %y, " + ", ".join(f"reshape({n}, newshape=[1])" for n in (0, 1, 1)) + ")", 1),
    "edges": ('nn.pad(%y, 0f, pad_width=[[1, 2]], pad_mode="edge")', 1),
    "mirrored": ("nn.mirror_pad(%y, pad_width=[[1, 2]])", 2),
    "mirrored between": ('nn.mirror_pad(%y, pad_width=[[1, 2]], mode="REFLECT")', 3),
    "topk": ('topk(%y, k=1, axis=0, dtype="int32")', 1),
    "topk of three": ('topk(%y, k=3, axis=0, dtype="int32")', 3),
    "resized": (f"image.resize2d({IMAGE}, size=[3, 2], roi=[0f, 0f, 0f, 0f])", 1),
    "cropped": (
        f'image.crop_and_resize({IMAGE}, ones(shape=[1, 4], dtype="float32"), ones(shape=[1], dtype="int32"), '
        'crop_size=[2, 2], layout="NCHW")',
        1,
    ),
    "sampled": (f'image.grid_sample({IMAGE}, ones(shape=[1, 2, 1, 1], dtype="float32"))', 1),
    "regions": (
        f'vision.roi_align({IMAGE}, ones(shape=[1, 5], dtype="float32"), pooled_size=[2, 2], spatial_scale=1f)',
        1,
    ),
    "the greatest of all": (f"nn.global_max_pool2d({IMAGE})", 1),
    "windows": (f"nn.adaptive_avg_pool2d({IMAGE}, output_size=[2, 2])", 1),
    "a part": ("split(%y, indices_or_sections=[2])", 3),
    "parts": ("split(reshape(%y, newshape=[1, -1]), indices_or_sections=[1, 3], axis=1)", 4),
    "drawn": ('random.multinomial(zeros(shape=[10], dtype="uint64"), %y, num_samples=2)', 1),
}
"""Calls on the positive elements, and the number of elements that they need."""

COMPLETE = {
    "of itself": 'take(%y, argsort(%y, dtype="int32"))',
    "scattered": 'scatter_elements(%y, zeros(shape=[2], dtype="int64"), ones(shape=[2], dtype="float32"), axis=0)',
    "reductions": "(sum(%y), max(%y), min(%y), mean(%y), prod(%y))",
    "positions": "(argmax(%y), argmin(%y), argmax(%k, select_last_index=True), argmin(%k, keepdims=True))",
    "padded": "nn.pad(%y, 2f, pad_width=[[1, 2]])",
    "pooled": f"nn.max_pool2d({IMAGE}, pool_size=[2, 1], padding=[1, 0])",
    "product": "nn.dense(reshape(%y, newshape=[1, -1]), reshape(%y, newshape=[1, -1]), units=None)",
    "an arm that is not chosen": "if (greater(take(%x, 0), 0f)) { take(%y, 0, axis=0) } else { 5f }",
}
"""Calls that need no element."""


def vectors() -> list[np.ndarray]:
    """Vectors with no, one, two, and only positive elements, the first one being positive if any is."""
    g = np.random.RandomState(3)
    x = -1 - g.rand(5).astype("float32")
    return [np.where(np.arange(5) < n, -x, x).astype("float32") for n in (0, 1, 2, 5)]


def module_of(call: str) -> irtool.Module:
    """A module that applies a call to the positive elements of a vector."""
    return parse(f"def @main(%x: Tensor[(5), float32]) {{ {CHOSEN}{call} }}")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CALLS)
def test_one_condition_of_both(name: str, target: str) -> None:
    call, least = CALLS[name]
    module = module_of(call)
    artifact = irtool.build(module, target=target)
    for x in vectors():
        if (x > 0).sum() < least:
            with pytest.raises(IrError, match="cannot be evaluated"):
                irtool.evaluate(module, [x])
            with pytest.raises(ToolError, match="elements of an axis that has fewer"):
                artifact.run([x])
        else:
            compare(irtool.evaluate(module, [x]), artifact.run([x]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", COMPLETE)
def test_nothing_is_needed(name: str, target: str) -> None:
    module = module_of(COMPLETE[name])
    artifact = irtool.build(module, target=target)
    for x in vectors():
        compare(irtool.evaluate(module, [x]), artifact.run([x]))


@pytest.mark.parametrize("target", TARGETS)
def test_lengths_of_callers(target: str, tmp_path: Path) -> None:
    """A slice of a tensor with a length of the caller may be empty: the run ends before anything is written, in place of the result."""
    text = """def @main(%x: Tensor[(?), float32]) {
      let %y = strided_slice(%x, begin=[2], end=[100], strides=[1], axes=None);
      (exp(%x), take(%y, 0, axis=0)) }"""
    irtool.build(parse(text), target=target, name="net", out_dir=tmp_path, shapes={"x": ["?<=9"]})
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    assert f"#define NET_TOO_FEW_ELEMENTS {ELEMENTS_ERROR}" in (tmp_path / "net.h").read_text()
    x = np.arange(9, dtype="float32")
    for n in (1, 2, 3, 9):
        outputs = [np.full(9, CANARY, "float32"), np.full(1, CANARY, "float32")]
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, *outputs)]
        code = library.net_run(ctypes.c_int64(n), *pointers)
        if n < 3:
            assert code == ELEMENTS_ERROR and all((a == CANARY).all() for a in outputs)
        else:
            assert code == 0 and outputs[1][0] == 2
            np.testing.assert_allclose(outputs[0][:n], np.exp(x[:n]), rtol=1e-5)


def test_outputs_before_the_error_stay(tmp_path: Path) -> None:
    irtool.build(module_of("(exp(%x), take(%y, 0, axis=0), tanh(%x))"), name="net", out_dir=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    for x in vectors()[:2]:
        outputs = [np.full(n, CANARY, "float32") for n in (5, 1, 5)]
        code = library.net_run(*(a.ctypes.data_as(ctypes.c_void_p) for a in (x, *outputs)))
        assert code == (0 if x[0] > 0 else ELEMENTS_ERROR)
        assert (outputs[0] == CANARY).all() == (code != 0)


def test_the_program_says_so(tmp_path: Path) -> None:
    irtool.build(module_of("take(%y, 0, axis=0)"), emit="exe", name="net", out_dir=tmp_path)
    vectors()[0].tofile(tmp_path / "x.raw")
    done = run(tmp_path / "net", "x.raw", "out.raw")
    assert done.returncode == ELEMENTS_ERROR and "elements of an axis" in done.stderr
    assert not (tmp_path / "out.raw").exists()
