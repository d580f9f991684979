"""Arg-max and arg-min in vectors, and the first elements of rows by selection: what the interpreter finds among hostile numbers."""

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import schedule_program
from irtool.tir.stmt import VECTORIZED, For, Store, pre_order
from irtool.tir.verify import verify
from tests.nests import run_program
from tests.ops.hostile import run_under_sanitizers
from tests.schedule.networks import MACHINES
from tests.schedule.rows import HOSTILE, hostile, module_of

SHAPES = [((3, 100), 1), ((2, 70), 1), ((5, 37), 0), ((2, 9, 40), 1), ((3, 5, 64), (1, 2)), ((90,), 0), ((4, 1), 1)]


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES, ids=str)
def test_positions_on_every_machine(shape, axis, op: str, last: bool) -> None:
    for dtype in ("float32", "int8"):
        axes = list(axis) if isinstance(axis, tuple) else [axis]
        module = module_of(f"{op}(%x, axis={axes}, select_last_index={last})", shape, dtype)
        data = [hostile(shape, dtype, n) for n in range(3)]
        data += [np.full(shape, v, dtype) for v in (HOSTILE[:3] if dtype == "float32" else (-128, 127))]
        for machine in MACHINES:
            program = lower_module(prepare(module))
            schedule_program(program, machine)
            for kernel in program.kernels:
                verify(kernel)
            for x in data:
                (got,) = run_program(program, [x])
                np.testing.assert_array_equal(got, irtool.evaluate(module, [x]), err_msg=f"{machine} {x}")


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((150, 12), 1), ((2, 70, 5), 2), ((37, 200), 1), ((3, 257, 66), 1)], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int16"])
def test_positions_in_short_rows_and_of_short_numbers(shape, axis, dtype: str, last: bool) -> None:
    module = module_of(f"argmax(%x, axis=[{axis}], select_last_index={last})", shape, dtype)
    data = [hostile(shape, dtype, n) if dtype != "uint8" else hostile(shape, "int8", n).astype(dtype) for n in range(2)]
    for cpu in ("x86-64-v3", "native"):
        built = irtool.build(module, mcpu=cpu, cflags="-O1")
        for x in data:
            np.testing.assert_array_equal(built.run([x]), irtool.evaluate(module, [x]), err_msg=cpu)


LONG = [(2, 300), (1, 1000), (3, 645), (1, 5003), (2, 64), (1, 40000)]
"""Rows of one block and of several, of blocks that overlap the one before and of vectors that do."""


def long_rows(shape: tuple[int, int], dtype: str, n: int) -> np.ndarray:
    """Few different numbers, so that blocks tie; in places one alone, at ends of blocks and in the last one; NaN late in some rows."""
    x = np.random.default_rng(n).integers(-3, 3 if n else 100, shape)
    x = (np.abs(x) if dtype == "uint8" else x).astype(dtype)
    x[-1, (-1, 0, shape[1] // 2, 255 % shape[1])[n % 4]] = 101
    if dtype.startswith("float"):
        x[0, ((5, -2), (-1,), (-70 % shape[1], 1))[n % 3]] = np.nan if n else -np.inf
    return x


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64"])
def test_positions_in_long_rows(dtype: str, last: bool) -> None:
    for shape in LONG:
        for op in ("argmax", "argmin"):
            module = module_of(f"{op}(%x, axis=[1], select_last_index={last})", shape, dtype)
            data = [long_rows(shape, dtype, n) for n in range(4)]
            data += [np.full(shape, v, dtype) for v in (HOSTILE if dtype.startswith("float") else (0, 127))]
            for cpu in ("x86-64-v3", "native"):
                built = irtool.build(module, mcpu=cpu, cflags="-O1")
                for x in data:
                    np.testing.assert_array_equal(
                        built.run([x]), irtool.evaluate(module, [x]), f"{shape} {op} {cpu} {x}"
                    )


@pytest.mark.parametrize("last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int16"])
def test_blocks_on_every_machine(dtype: str, last: bool) -> None:
    module = module_of(f"argmax(%x, axis=[1], select_last_index={last})", (2, 401), dtype)
    for machine in MACHINES:
        program = lower_module(prepare(module))
        schedule_program(program, machine)
        (kernel,) = program.kernels
        verify(kernel)
        assert ("blocks" in kernel.choice.reason) == (machine.vector_bytes > 0)
        for n in range(4):
            x = long_rows((2, 401), dtype, n)
            (got,) = run_program(program, [x])
            np.testing.assert_array_equal(got, irtool.evaluate(module, [x]), err_msg=f"{machine} {n}")


def test_positions_are_counted_in_as_few_bits_as_hold_them() -> None:
    for classes, dtype in ((256, "uint8"), (257, "uint16"), (1 << 16, "uint16"), ((1 << 16) + 1, "int32")):
        program = lower_module(prepare(module_of("argmax(%x, axis=[0])", (classes, 300), "int8")))
        schedule_program(program, MACHINES[-1])
        (kernel,) = program.kernels
        dtypes = {s.buffer.dtype for s in pre_order(kernel.body) if isinstance(s, Store) and s.buffer.name == "acc0_v"}
        assert dtypes == {dtype}


@pytest.mark.parametrize(("shape", "axis"), [((64, 1000), 1), ((1, 21, 32, 32), 1)])
def test_positions_are_found_in_vectors(shape, axis) -> None:
    program = lower_module(prepare(module_of(f"argmax(%x, axis=[{axis}])", shape, "float32")))
    schedule_program(program, MACHINES[-1])
    (kernel,) = program.kernels
    assert kernel.choice.strategy == "tuple_reduction"
    assert any(isinstance(s, For) and s.kind == VECTORIZED for s in pre_order(kernel.nests[0]))


@pytest.mark.parametrize("vector", [True, False], ids=["vectors", "scalars"])
def test_under_the_sanitizers(vector: bool, tmp_path) -> None:
    cases = []
    for n, (shape, axis) in enumerate(SHAPES):
        for dtype in ("float32", "float64", "float16", "int32"):
            axes = axis if isinstance(axis, tuple) else (axis,)
            last = {"axis": axes, "select_last_index": bool(n % 2)}
            cases.append(("argmax" if n % 3 else "argmin", [hostile(shape, dtype, n)], last))
    for n, (shape, axis, k) in enumerate([((300,), 0, 5), ((3, 200), 1, 10), ((2, 90, 3), 1, 7), ((2, 65), 1, 1)]):
        for dtype in ("float32", "float64", "float16", "int32", "uint8"):
            for up in (False, True):
                x = np.abs(hostile(shape, dtype, n)) if dtype == "uint8" else hostile(shape, dtype, n)
                cases.append(("topk", [x], {"k": k, "axis": axis, "is_ascend": up, "dtype": "int32"}))
    assert run_under_sanitizers(cases, tmp_path, vector) == []


@pytest.mark.parametrize("ascend", [False, True], ids=["largest", "smallest"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64"])
def test_first_elements_of_long_rows(dtype: str, ascend: bool) -> None:
    for (shape, axis), k in (
        (((1, 1000), 1), 5),
        (((2, 5003), 1), 16),
        (((1500, 3), 0), 1),
        (((3, 700), 1), 1),
        (((1, 20000), 1), 7),
    ):
        call = f'topk(%x, k={k}, axis={axis}, is_ascend={ascend}, ret_type="both", dtype="int32")'
        module = module_of(call, shape, dtype)
        flat = (shape[0], shape[1]) if axis else (shape[1], shape[0])
        data = [long_rows(flat, dtype, n) for n in range(4)]
        data += [np.full(flat, v, dtype) for v in (HOSTILE[:3] if dtype.startswith("float") else (0, 127))]
        built = irtool.build(module, mcpu="native", cflags="-O1")
        for x in data:
            transposed = np.ascontiguousarray(x if axis else x.T)
            for got, want in zip(built.run([transposed]), irtool.evaluate(module, [transposed]), strict=True):
                np.testing.assert_array_equal(got, want, f"{shape} {k} {x}")


def test_one_element_is_an_arg_max() -> None:
    program = lower_module(prepare(module_of('topk(%x, k=1, ret_type="both", dtype="int32")', (4, 1000), "float32")))
    schedule_program(program, MACHINES[-1])
    assert "tuple_reduction" in {k.choice.strategy for k in program.kernels}
