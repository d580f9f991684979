"""Windows side by side, whose rows are combined without gaps: on every machine, for every width, as the interpreter has them."""

import numpy as np
import pytest

import irtool
from irtool.driver.prepare import prepare
from irtool.lower import lower_module
from irtool.schedule import schedule_program
from irtool.tir.stmt import Allocate, pre_order
from irtool.tir.verify import verify
from tests.nests import run_program
from tests.schedule.networks import MACHINES
from tests.schedule.rows import hostile, module_of

WINDOWS = {
    "side by side": ((1, 3, 14, 14), "pool_size=[2, 2], strides=[2, 2]"),
    "a column left": ((2, 2, 15, 15), "pool_size=[2, 2], strides=[2, 2]"),
    "of three": ((1, 5, 9, 21), "pool_size=[3, 3], strides=[3, 3]"),
    "narrower than their distance": ((1, 2, 12, 18), "pool_size=[2, 2], strides=[3, 3]"),
    "overlapping": ((1, 2, 15, 15), "pool_size=[3, 3], strides=[2, 2]"),
    "padded": ((1, 2, 14, 14), "pool_size=[2, 2], strides=[2, 2], padding=[1, 1, 1, 1]"),
}


@pytest.mark.parametrize("key", WINDOWS)
@pytest.mark.parametrize("op", ["max", "avg"])
def test_windows_on_every_machine(op: str, key: str) -> None:
    shape, attrs = WINDOWS[key]
    for dtype in ("float32", "int8", "uint8"):
        module = module_of(f"nn.{op}_pool2d(%x, {attrs})", shape, dtype)
        x = np.abs(hostile(shape, "int8", 1)).astype(dtype) if dtype == "uint8" else hostile(shape, dtype, 1)
        x = np.where(np.isfinite(x), x, 2).astype(dtype) if op == "avg" and dtype == "float32" else x
        want = irtool.evaluate(module, [x])
        for machine in MACHINES:
            program = lower_module(prepare(module))
            schedule_program(program, machine)
            for kernel in program.kernels:
                verify(kernel)
            (got,) = run_program(program, [x])
            np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "float32" else 0, err_msg=f"{machine} {dtype}")
        built = irtool.build(module, mcpu="native", cflags="-O1 -fsanitize=undefined -fno-sanitize-recover")
        np.testing.assert_allclose(built.run([x]), want, rtol=1e-5 if dtype == "float32" else 0)


def test_rows_follow_each_other_where_windows_reach_all_columns() -> None:
    for key, width in (("side by side", 14), ("a column left", 14), ("overlapping", 20)):
        shape, attrs = WINDOWS[key]
        program = lower_module(prepare(module_of(f"nn.max_pool2d(%x, {attrs})", shape, "float32")))
        schedule_program(program, MACHINES[1])
        (kernel,) = program.kernels
        assert kernel.choice.strategy == "separable_windows"
        rows = [s.buffer for s in pre_order(kernel.nests[0]) if isinstance(s, Allocate) and s.buffer.name == "rows"]
        height = (shape[-2] - 3) // 2 + 1 if key == "overlapping" else shape[-2] // 2
        assert {b.size // height for b in rows} == {width}


def test_bands_have_as_many_bytes_whatever_elements_are() -> None:
    heights = []
    for dtype in ("float32", "uint8"):
        call = "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])"
        program = lower_module(prepare(module_of(call, (1, 3, 224, 224), dtype)))
        schedule_program(program, MACHINES[1])
        nest = program.kernels[0].nests[0]
        (rows,) = {s.buffer for s in pre_order(nest) if isinstance(s, Allocate) and s.buffer.name == "rows"}
        assert rows.nbytes <= MACHINES[1].scratch_bytes // 8
        heights.append(rows.size)
    assert heights[1] >= 3 * heights[0]
