"""A NaN among the operands of what selects, limits or compares is kept, as numpy keeps it: by the interpreter and by C at every level."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.ir.dtypes import numpy_dtype
from tests import command_line

pytestmark = pytest.mark.promise("NaN and overflow")

ROWS, COLUMNS = 8, 37
AARCH64 = "qemu-aarch64 -L /usr/aarch64-linux-gnu"

RULES: dict[str, Callable[..., Any]] = {
    "nn.relu(%x)": lambda x, y: np.maximum(x, 0),
    "clip(%x, a_min=-1f, a_max=2f)": lambda x, y: np.clip(x, -1, 2),
    "clip(%x, a_min=nanf, a_max=2f)": lambda x, y: np.full_like(x, np.nan),
    "clip(%x, a_min=-1f, a_max=nanf)": lambda x, y: np.full_like(x, np.nan),
    "maximum(%x, %y)": np.maximum,
    "minimum(%x, %y)": np.minimum,
    "maximum(%x, {one})": lambda x, y: np.maximum(x, 1),
    "maximum({one}, %x)": lambda x, y: np.maximum(x, 1),
    "minimum(%x, {one})": lambda x, y: np.minimum(x, 1),
    "minimum({one}, %x)": lambda x, y: np.minimum(x, 1),
    "minimum(%x, {nan})": lambda x, y: np.full_like(x, np.nan),
    "maximum(minimum(%x, %y), {one})": lambda x, y: np.maximum(np.minimum(x, y), 1),
    "nn.relu(add(%x, %y))": lambda x, y: np.maximum(x + y, 0),
    "sign(%x)": lambda x, y: np.sign(x),
    "abs(%x)": lambda x, y: np.abs(x),
    "negative(%x)": lambda x, y: -x,
    "floor(%x)": lambda x, y: np.floor(x),
    "round(%x)": lambda x, y: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "nn.leaky_relu(%x, alpha=0.5)": lambda x, y: np.where(x > 0, x, x * 0.5),
    "where(less(%x, %y), %x, %y)": lambda x, y: np.where(x < y, x, y),
    "max(%x, axis=[1])": lambda x, y: x.max(1),
    "min(%x, axis=[0])": lambda x, y: x.min(0),
    "max(nn.relu(%x), axis=[1])": lambda x, y: np.maximum(x, 0).max(1),
    "sum(nn.relu(%x), axis=[1])": lambda x, y: np.maximum(x, 0).sum(1),
    'cast(clip(%x, a_min=-3f, a_max=3f), dtype="int8")': lambda x, y: np.where(np.isnan(x), 0, np.clip(x, -3, 3)),
}

NAN_WHERE_NAN = [
    "hardswish(%x)",
    "sigmoid(%x)",
    "tanh(%x)",
    "exp(%x)",
    "erf(%x)",
    "nn.softmax(%x)",
    "nn.log_softmax(%x)",
    "nn.l2_normalize(%x, eps=1e-12, axis=[1])",
    "nn.prelu(%x, %p)",
]
"""Of these only the places of NaN are compared with those of the interpreter, which are where a row, or an element, has one."""


def data(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole numbers; row n has NaN at every third place from n on, the last row has none; y has them one further."""
    draw = np.random.default_rng(0)
    x, y = draw.integers(-4, 5, (2, ROWS, COLUMNS)).astype("float64")
    for n in range(ROWS - 1):
        x[n, n :: 3 + n] = y[n, n + 1 :: 5] = np.nan
    wide = numpy_dtype(dtype)
    return x.astype(wide), y.astype(wide), np.full(COLUMNS, 0.5).astype(wide)


def module_of(dtype: str, calls: list[str]) -> Any:
    t = f"Tensor[({ROWS}, {COLUMNS}), {dtype}]"
    numbers = {n: f'cast({v}, dtype="{dtype}")' for n, v in (("one", "1f"), ("nan", "nanf"))}
    body = ", ".join(c.format(**numbers) if "{" in c else c for c in calls)
    return irtool.infer_types(
        irtool.parse(f"def @main(%x: {t}, %y: {t}, %p: Tensor[({COLUMNS}), {dtype}]) {{ ({body}) }}")
    )


@pytest.mark.parametrize(
    "dtype, options",
    [
        ("float32", {"opt_level": 0, "vector": False}),
        ("float32", {"opt_level": 3}),
        ("float32", {"opt_level": 3, "mcpu": "x86-64-v3"}),
        ("float64", {"opt_level": 3}),
        ("float16", {"opt_level": 3}),
        ("bfloat16", {"opt_level": 3}),
    ],
)
def test_nan_is_kept(dtype: str, options: dict[str, Any]) -> None:
    calls = [*RULES, *NAN_WHERE_NAN]
    module, inputs = module_of(dtype, calls), data(dtype)
    want = irtool.evaluate(module, list(inputs))
    got = irtool.build(module, cflags="-O1", **options).run(list(inputs))
    wide = [v.astype("float64") for v in inputs]
    for call, w, g in zip(calls, want, got, strict=True):
        w, g = (np.asarray(v).astype("float64") for v in (w, g))
        np.testing.assert_array_equal(np.isnan(g), np.isnan(w), err_msg=call)
        if call in RULES:
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(w, np.asarray(RULES[call](*wide[:2])), err_msg=call)
            np.testing.assert_array_equal(g, w, err_msg=call)
        else:
            assert np.isnan(w[:-1]).any() and not np.isnan(w[-1]).any(), call
            np.testing.assert_allclose(g, w, atol=2e-2, err_msg=call)


LIKE_THE_INTERPRETER = [
    "sum(%x, axis=[1])",
    "mean(%x, axis=[0])",
    "prod(%x, axis=[1])",
    "min(%x, axis=[1])",
    "max(%x, axis=[0])",
    "argmax(%x, axis=[1])",
    "argmin(%x, axis=[0])",
    "sort(%x)",
    "clip(add(multiply(%x, 0.2f), 0.5f), a_min=0f, a_max=1f)",
    "power(%x, %y)",
    "floor_mod(%x, %y)",
    "mod(%x, %y)",
    "greater(%x, %y)",
    "not_equal(%x, %y)",
    "divide(%x, nn.l2_normalize(%y, eps=1e-12, axis=[1]))",
]
"""Reductions, comparisons, and what HardSigmoid and LpNormalization of ONNX are made of."""


def _agree(calls: list[str], want: Any, got: Any) -> None:
    for call, w, g in zip(calls, want, got, strict=True):
        w, g = (np.asarray(v).astype("float64") for v in (w, g))
        np.testing.assert_array_equal(np.isnan(g), np.isnan(w), err_msg=call)
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=0 if call in RULES else 2e-2, err_msg=call)


def test_nan_is_kept_by_llvm() -> None:
    from irtool.backends.llvm import tools

    if not tools.has_llvmlite():
        pytest.skip("llvmlite is not installed")
    calls = [*RULES, *NAN_WHERE_NAN, *LIKE_THE_INTERPRETER]
    module, inputs = module_of("float32", calls), list(data("float32"))
    with np.errstate(all="ignore"):
        want = irtool.evaluate(module, inputs)
    _agree(calls, want, irtool.build(module, target="llvm").run(inputs))


def test_nan_is_kept_by_neon(tmp_path: Path) -> None:
    """Its minimum and maximum keep NaN, its numbers of minimum and maximum do not."""
    if not (shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-gcc")):
        pytest.skip("needs qemu and a cross gcc")
    calls = [*RULES, *NAN_WHERE_NAN, *LIKE_THE_INTERPRETER]
    module, inputs = module_of("float32", calls), data("float32")
    net, inputs_file, out = (tmp_path / name for name in ("net.relay", "in.npz", "out.npz"))
    net.write_text(irtool.to_text(module))
    np.savez(inputs_file, **{p.name: v for p, v in zip(module["main"].params, inputs, strict=True)})
    words = ("--via=c", "--cc=aarch64-linux-gnu-gcc", "--mcpu=cortex-a72", "--cflags=-O1", "--runner", AARCH64)
    code, _, err = command_line.irtool("run", net, "--inputs", inputs_file, *words, "-o", out)
    assert code == 0, err
    with np.errstate(all="ignore"):
        want = irtool.evaluate(module, list(inputs))
    got = np.load(out)
    _agree(calls, want, [got[k] for k in got.files])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_quantized_nan_is_what_a_cast_makes(dtype: str) -> None:
    """0, and the least number of int32; whatever bits a NaN has, and where builds take the low bits of a sum."""
    x = np.array([np.nan, 1, -np.nan, 2.5, 300, -300, np.inf, -np.inf] * 4, "float32")
    x.view("uint32")[0] |= 0x1234
    text = f'def @main(%x: Tensor[(32), float32]) {{ qnn.quantize(%x, 0.5f, 3, out_dtype="{dtype}") }}'
    module = irtool.infer_types(irtool.parse(text))
    want = irtool.evaluate(module, [x])
    assert want[0] == want[2] == (-(2**31) if dtype == "int32" else 0)
    for level in (0, 3):
        np.testing.assert_array_equal(irtool.build(module, opt_level=level).run([x]), want)


def test_a_limit_costs_one_instruction(tmp_path: Path) -> None:
    """Beside a constant, an extreme is the plain one with the constant first, which gives its second operand of a NaN."""
    text = "def @main(%x: Tensor[(4, 16), float32]) { nn.relu(%x) }"
    module = irtool.infer_types(irtool.parse(text))
    irtool.build(module, opt_level=3, out_dir=tmp_path, name="net", emit="c", mcpu="x86-64-v3")
    written = (tmp_path / "net.c").read_text()
    assert "irt_vmax_" in written and "irt_vmaximum" not in written
