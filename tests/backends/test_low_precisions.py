"""`precision=` on every level of processors: results near those of float32, whatever holds the rounded weights."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import irtool
from tests.backends.instructions import require_processor

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 18, 18), float32], %u: Tensor[(32, 16, 3, 3), float32], %v: Tensor[(32, 32, 3, 3), float32],
          %d: Tensor[(32, 1, 3, 3), float32], %p: Tensor[(64, 32, 1, 1), float32], %w: Tensor[(48, 64), float32],
          %q: Tensor[(10, 48), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %u, padding=[1, 1]));
  %1 = nn.relu(nn.conv2d(%0, %v, padding=[1, 1]));
  %2 = add(%0, nn.conv2d(%1, %d, padding=[1, 1], groups=32));
  %3 = nn.conv2d(%2, %p, strides=[2, 2]);
  %4 = nn.relu(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%3)), %w, units=48));
  nn.dense(%4, %q, units=10)
}
"""


@pytest.mark.parametrize("precision, most", [("bfloat16", 0.02), ("float16", 0.003)])
@pytest.mark.parametrize(
    "target", ["c", "c{mcpu=x86-64-v2}", "c{mcpu=x86-64-v3}", "c{mcpu=x86-64-v4}", "c{vector=none}"]
)
def test_results_are_near_those_of_float32(target: str, precision: str, most: float) -> None:
    require_processor(target.partition("mcpu=")[2].rstrip("}"))
    module = irtool.infer_types(irtool.parse(TEXT))
    random = np.random.default_rng(4)
    shapes = {p.name: [int(n) for n in p.checked_type.shape] for p in module["main"].params}
    weights = {n: (random.standard_normal(s) / np.sqrt(np.prod(s[1:]))).astype("float32") for n, s in shapes.items()}
    x = 10 * weights.pop("x")
    want = np.asarray(irtool.evaluate(module, [x, *weights.values()]))
    artifact = irtool.build(module, weights, target=target, precision=f"{precision}{{layers=all}}")
    assert np.abs(np.asarray(artifact.run([x])) - want).max() <= most * np.abs(want).max()


@pytest.mark.parametrize("dtype, wide", [("bfloat16", "float32"), ("int8", "int32")])
def test_the_sum_of_the_squares_of_one_tensor_is_none_of_words(dtype: str, wide: str) -> None:
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(64, 256), {dtype}]) {{
      %0 = cast(%x, dtype="{wide}");
      sum(multiply(%0, %0), axis=[-1])
    }}"""
    module = irtool.infer_types(irtool.parse(text))
    x = np.random.default_rng(3).integers(-100, 100, (64, 256)).astype(getattr(ml_dtypes, dtype, dtype))
    want = (x.astype("int64") ** 2).sum(-1)
    got = np.asarray(irtool.build(module, target="c{blocked_updates=1}").run([x]))
    np.testing.assert_array_equal(got, want)
