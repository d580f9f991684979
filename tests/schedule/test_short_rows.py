"""Sums and extremes of rows in vectors: of every length and number of rows, of integers too, as the interpreter has them."""

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import schedule_program
from irtool.tir.stmt import VECTORIZED, For, Store, pre_order
from irtool.tir.verify import verify
from tests.nests import run_program
from tests.schedule.networks import MACHINES
from tests.schedule.rows import hostile, module_of

SHAPES = [(1, 70), (4, 64), (16, 49), (17, 49), (70, 5), (67, 33), (3, 131)]
"""Rows and their steps: fewer rows than lanes, as many, some left; steps that fill vectors, or leave some."""


@pytest.mark.parametrize("op", ["sum", "max", "min", "prod", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64"])
def test_rows_on_every_machine(op: str, dtype: str) -> None:
    for n, shape in enumerate(SHAPES):
        module = module_of(f"{op}(%x, axis=[1])", shape, dtype)
        x = np.abs(hostile(shape, "int8", n)).astype(dtype) if dtype == "uint8" else hostile(shape, dtype, n)
        if op in ("sum", "prod", "mean"):
            x = np.where(np.isfinite(x), x, 3).astype(dtype) if dtype.startswith("float") else x
        for machine in MACHINES:
            program = lower_module(prepare(module))
            schedule_program(program, machine)
            for kernel in program.kernels:
                verify(kernel)
            (got,) = run_program(program, [x])
            want = irtool.evaluate(module, [x])
            near = {"rtol": 1e-2 if dtype == "float16" else 1e-5} if dtype.startswith("float") else {"rtol": 0}
            np.testing.assert_allclose(got, want, **near, err_msg=f"{machine} {shape}")


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3", "native"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32"])
def test_pools_of_whole_images(dtype: str, cpu: str) -> None:
    for op in ("nn.adaptive_max_pool2d(%x, output_size=[1, 1])", "nn.adaptive_avg_pool2d(%x, output_size=[1, 1])"):
        module = module_of(op, (1, 83, 7, 7), dtype)
        x = hostile((1, 83, 7, 7), "int8" if "int" in dtype else dtype, 1)
        x = np.abs(x).astype(dtype) if dtype == "uint8" else x.astype(dtype)
        if "avg" in op and dtype.startswith("float"):
            x = np.where(np.isfinite(x), x, 3).astype(dtype)
        got = irtool.build(module, mcpu=cpu, cflags="-O1").run([x])
        np.testing.assert_allclose(got, irtool.evaluate(module, [x]), rtol=1e-5 if dtype.startswith("float") else 0)


def test_a_number_that_is_none_stays_in_its_row() -> None:
    x = np.ones((32, 49), "float32")
    x[5, 30:] = np.inf
    x[7, 48] = np.nan
    module = module_of("sum(%x, axis=[1])", x.shape, "float32")
    want = np.full(32, 49, "float32")
    want[5], want[7] = np.inf, np.nan
    np.testing.assert_array_equal(irtool.build(module, mcpu="native").run([x]), want)


@pytest.mark.parametrize(("shape", "dtype"), [((64, 49), "float32"), ((128, 100), "int8"), ((3, 1000), "int8")])
def test_rows_are_reduced_in_vectors(shape: tuple[int, int], dtype: str) -> None:
    program = lower_module(prepare(module_of("max(%x, axis=[1])", shape, dtype)))
    schedule_program(program, MACHINES[-1])
    (kernel,) = program.kernels
    assert kernel.choice.strategy == "row_reduction"
    loops = [s for s in pre_order(kernel.nests[0]) if isinstance(s, For)]
    assert any(s.kind == VECTORIZED for s in loops)
    is_transposed = any(s.body.buffer.name == "acc_turned" for s in loops if isinstance(s.body, Store))
    assert is_transposed == (shape[0] >= 64), "lanes of several rows are combined at once"


@pytest.mark.parametrize("mcpu", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(("rows", "steps"), [(16, 1024), (64, 259), (70, 2048), (3, 4096)])
def test_a_matrix_that_is_read_once_is_read_in_several_streams(rows: int, steps: int, mcpu: str) -> None:
    """Of one vector with a matrix, some rows together; of many vectors, the matrix is read from a cache."""
    head = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, {steps}), float32], %w: Tensor[({rows}, {steps}), float32])'
    module = irtool.infer_types(irtool.parse(f"{head} {{ nn.dense(%x, %w, units=None) }}"))
    g = np.random.default_rng(rows)
    x, w = (g.standard_normal((n, steps)).astype("float32") for n in (1, rows))
    artifact = irtool.build(module, mcpu=mcpu)
    (stage,) = artifact.report["kernels"][0]["stages"]
    assert any("together=4" in p for p in stage["primitives"]) == (rows >= 16)
    if mcpu != "x86-64-v4":
        expected = irtool.evaluate(module, [x, w])
        np.testing.assert_allclose(artifact.run([x, w]), expected, rtol=0, atol=1e-5 * np.abs(expected).max())
