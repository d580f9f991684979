"""16-bit floats that are read oftener than they are stored are held in 32 bits, with the same values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.passes.core.bind import bind_params
from irtool.schedule import VectorTarget, schedule_program
from irtool.tir.program import TEMP, Program, RunKernel, steps

V = '#[version = "0.0.5"]\n'
TYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
SEPARABLE = """
  %0 = cast(nn.relu(nn.conv2d(%x, %a, out_dtype="float32")), dtype="D");
  %1 = cast(nn.relu(nn.conv2d(%0, %d, groups=32, padding=[1, 1], out_dtype="float32")), dtype="D");
  nn.conv2d(%1, %a, out_dtype="float32")"""
SHAPES = {"x": (1, 32, 9, 8), "a": (32, 32, 1, 1), "d": (32, 1, 3, 3)}


def module_of(body: str, dtype: str, shapes: dict[str, tuple[int, ...]] = SHAPES) -> irtool.Module:
    params = ", ".join(f"%{n}: Tensor[{s}, {dtype}]" for n, s in shapes.items())
    return irtool.infer_types(irtool.parse(f"{V}def @main({params}) {{{body.replace('D', dtype)}\n}}"))


def values_of(dtype: str, shapes: dict[str, tuple[int, ...]] = SHAPES) -> dict[str, np.ndarray]:
    g = np.random.default_rng(0)
    return {n: (g.standard_normal(s) / 3).astype(TYPES[dtype]) for n, s in shapes.items()}


def scheduled(module: irtool.Module, target: VectorTarget) -> Program:
    program = lower_module(prepare(module))
    schedule_program(program, target)
    return program


def temporaries(program: Program) -> list[str]:
    """The types of what kernels leave for others, in order."""
    slots = [s.outputs[0].resolve() for s in steps(program.functions["main"].body) if isinstance(s, RunKernel)]
    return [slot.dtype for slot in slots if slot.kind == TEMP]


@pytest.mark.parametrize(
    ("dtype", "products", "dtypes"),
    [
        ("bfloat16", 2, ["bfloat16", "bfloat16"]),
        ("bfloat16", 1, ["bfloat16", "float32"]),
        ("float16", 2, ["float16", "float32"]),
    ],
)
def test_what_products_read_is_wide(dtype: str, products: int, dtypes: list[str]) -> None:
    """A depthwise convolution reads each element nine times, in vectors; products of pairs read words of 16 bits."""
    module = module_of(SEPARABLE, dtype)
    target = VectorTarget(64, 32, paired_products=products, blocked_updates=1)
    assert temporaries(scheduled(module, target)) == dtypes


@pytest.mark.parametrize(
    ("dtype", "vector_bytes", "registers", "wide"),
    [
        ("bfloat16", 32, 16, False),
        ("float16", 64, 32, False),
        ("bfloat16", 16, 32, False),
        ("float16", 16, 32, True),
        ("bfloat16", 16, 16, True),
    ],
)
def test_weights_are_wide_where_that_takes_long(dtype: str, vector_bytes: int, registers: int, wide: bool) -> None:
    values = values_of(dtype)
    module = irtool.infer_types(bind_params(module_of(SEPARABLE, dtype), {n: values[n] for n in "ad"}))
    program = scheduled(module, VectorTarget(vector_bytes, registers, blocked_updates=1))
    assert ("float32" in {c.dtype for c in program.constants}) == wide


@pytest.mark.parametrize("bound", [False, True], ids=["given", "bound"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "target", ["mcpu=native", "mcpu=x86-64-v3", "mcpu=x86-64-v2", "mcpu=x86-64-v3,paired_products=2"]
)
def test_results_are_those_of_the_interpreter(dtype: str, target: str, bound: bool) -> None:
    module, values = module_of(SEPARABLE, dtype), values_of(dtype)
    want = np.asarray(irtool.evaluate(module, values))
    weights = {n: values.pop(n) for n in "ad"} if bound else {}
    artifact = irtool.build(module, weights, target=f"c{{{target},blocked_updates=1}}", cflags="-O1")
    got = np.asarray(artifact.run(values))
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-2 * np.abs(want).max())


BRANCHES = """
  %0 = cast(multiply(cast(%x, dtype="float32"), 1.2345f), dtype="D");
  (cast(nn.max_pool2d(%0, pool_size=[3, 3], padding=[1, 1]), dtype="float32"), nn.conv2d(%0, %a, out_dtype="float32"))"""


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_are_rounded_all_the_same(dtype: str) -> None:
    """The largest of a window is one of its numbers, in 16 bits; a product with one is as well."""
    module, values = module_of(BRANCHES, dtype), values_of(dtype)
    values["a"][...] = np.eye(32).reshape(32, 32, 1, 1)
    assert temporaries(scheduled(module, VectorTarget(32, 16))) == ["float32"]
    want = irtool.evaluate(module, values)
    for options in ({}, {"opt_level": 0}, {"vector": "none"}):
        for a, b in zip(irtool.build(module, cflags="-O1", **options).run(values), want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_others_than_kernels_see_keeps_its_type() -> None:
    """A result, and what a branch hands on."""
    body = """
  %0 = cast(nn.relu(nn.conv2d(%x, %a, out_dtype="float32")), dtype="D");
  let %1 = if (greater(sum(cast(%x, dtype="float32")), 0f)) { %0 } else { %x };
  (%0, nn.conv2d(%1, %a, out_dtype="float32"))"""
    module, values = module_of(body, "bfloat16"), values_of("bfloat16")
    program = scheduled(module, VectorTarget(32, 16))
    assert "float32" not in {s.dtype for s in program.functions["main"].results[:1]}
    got = irtool.build(module, cflags="-O1").run(values)
    want = irtool.evaluate(module, values)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(
            np.asarray(a).astype("float32"), np.asarray(b).astype("float32"), rtol=2e-2, atol=2e-2
        )
