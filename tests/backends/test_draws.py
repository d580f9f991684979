"""The inputs that a test bench draws are those of `irtool run`."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c import draws
from irtool.backends.c_types import stored_type
from irtool.backends.formulas.support import INLINE, definitions
from irtool.backends.interface.entry import Parameter
from irtool.backends.sources import Draw
from irtool.infer import require_types
from irtool.interp.evaluate import evaluate
from irtool.interp.random_inputs import RandomTensor, random_inputs
from irtool.ops.typical import Below, NearOne, NearZero, Range, Regions, Rows, Sorted, Summed, Typical
from irtool.tir.program import Slot
from tests.driver.programs import parse

KINDS = {
    "untold": Typical(),
    "near zero": NearZero(),
    "summed": Summed(72),
    "tiny": Summed(2.0**40),
    "near one": NearOne(),
    "one index": Below(1),
    "few indices": Below(5),
    "indices": Below(200_000),
    "all indices": Below(1 << 32),
    "rows": Rows(100),
    "sorted": Sorted(),
    "regions": Regions(2, 16, 8),
}
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "int8", "bool")
SHAPES = ((), (7,), (140, 5), (0, 3))


@pytest.fixture(autouse=True)
def overflowing():
    """Indices of large axes are infinite in float16."""
    with np.errstate(over="ignore"):
        yield


def values_of(t: RandomTensor) -> Draw | np.ndarray:
    return Draw(t.seed, t.range.low, t.range.high, t.range.whole) if t.range is not None else t.values()


def test_c_draws_what_numpy_draws(tmp_path: Path) -> None:
    """Every kind, dtype and shape, bit for bit, and more than the generator holds at a time."""
    pytest.importorskip("ml_dtypes")
    tensors = [
        RandomTensor(shape, dtype, kind, 0x7FFFFFFF - 3 * n)
        for n, kind in enumerate(KINDS.values())
        for dtype in DTYPES
        for shape in SHAPES
    ]
    params = [Parameter(Slot(f"x{n}", t.shape, t.dtype), f"x{n}", "") for n, t in enumerate(tensors)]
    inputs = [(p, values_of(t)) for p, t in zip(params, tensors, strict=True)]
    lines = ["#include <math.h>", "#include <stdint.h>", "#include <stdio.h>", *INLINE]
    lines += [*definitions(draws.helpers(inputs)), *draws.generator(inputs)]
    body = []
    for p, g in inputs:
        t = stored_type(p.slot.dtype)
        lines += [f"static {t} {p.name}_data[{max(1, p.slot.size)}];", *draws.given_values(p, g)]
        body += [*draws.fill(p, g, p.slot.size), f"  fwrite({p.name}_data, sizeof({t}), {p.slot.size}u, stdout);"]
    (tmp_path / "d.c").write_text(
        "\n".join([*lines, "int main(void) {", "  unsigned long i;", *body, "  return 0;", "}"])
    )
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Wno-type-limits", "-Wno-unused-variable", "-Werror"]
    subprocess.run(["cc", *strict, "-o", "d", "d.c", "-lm"], cwd=tmp_path, check=True)
    out = subprocess.run([tmp_path / "d"], capture_output=True, check=True).stdout
    for t in tensors:
        values = t.values()
        assert out[: values.nbytes] == values.tobytes(), t
        out = out[values.nbytes :]
    assert not out


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_range_says_what_a_kind_draws(dtype: str) -> None:
    for kind in KINDS.values():
        t = RandomTensor((40, 5), dtype, kind, 11)
        if isinstance(t.range, Range):
            drawn = t.range.draw(np.random.RandomState(11), t.shape)
            assert t.values().tobytes() == drawn.astype(t.values().dtype).tobytes()
        else:
            assert isinstance(kind, Rows | Sorted | Regions)


NET = """
def @main(%w: Tensor[(4, 4, 3, 3), float32], %x: Tensor[(1, 4, 6, 6), float32], %i: Tensor[(3), int64],
          %t: (Tensor[(4, 4, 3, 3), float32], Tensor[(4), float32]), %s: Tensor[(8), float32], %v: Tensor[(5), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);
  %1 = nn.bias_add(nn.conv2d(%0, %t.0, padding=[1, 1, 1, 1]), %t.1);
  (%1, take(%1, %i, axis=1), searchsorted(%s, %v))
}
"""


@pytest.mark.parametrize("bound", [False, True])
def test_a_test_bench_runs_on_the_inputs_of_run(bound: bool, tmp_path: Path) -> None:
    """Weights that are given beforehand change nothing about the others."""
    module = require_types(parse(NET), ["main"])
    inputs = random_inputs(module["main"], module=module)
    weights = {"w": inputs[0]} if bound else {}
    irtool.build(module, weights, out_dir=tmp_path, emit="exe", testbench=True, name="net")
    text = (tmp_path / "net_test.c").read_text()
    for n, out in enumerate(evaluate(module, inputs)):
        table = re.search(rf"out{n}_expected\[\d+\] = {{(.*?)}}", text, re.DOTALL)
        assert table is not None
        assert [float(v) for v in table[1].split(",")[:-1]] == out.ravel().tolist()
    done = subprocess.run([tmp_path / "net"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
