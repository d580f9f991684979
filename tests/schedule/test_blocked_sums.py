"""Long sums in blocks: the bits of sums without, whatever the shapes of rows, windows and panels."""

from pathlib import Path

import numpy as np
import pytest

import irtool

CASES = {
    "pixels": ("nn.relu(nn.conv2d(%0, %w, padding=[0, 0]))", (1, 96, 5, 5), (64, 96, 1, 1), 1024),
    "every other pixel": ("nn.conv2d(%0, %w, strides=[2, 2], padding=[0, 0])", (2, 64, 9, 11), (96, 64, 1, 1), 1024),
    "windows": ("nn.conv2d(%0, %w, strides=[2, 2], padding=[1, 1])", (1, 96, 14, 14), (64, 96, 3, 3), 8192),
    "rows": ("nn.dense(%0, %w, units=None)", (24, 192), (192, 192), 1024),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.promise("blocked sums")
def test_sums_in_blocks_have_the_same_bits(case: str, tmp_path: Path) -> None:
    body, data, weight, near = CASES[case]
    shapes = {"x": data, "v": (data[1], data[1], 1, 1)[: len(data)], "w": weight}
    values = {n: np.random.default_rng(0).uniform(-1, 1, s).astype("float32") for n, s in shapes.items()}
    # Behind another layer, so that channels lie in blocks.
    layer = "nn.conv2d(%x, %v, padding=[0, 0])" if len(data) == 4 else "nn.dense(%x, %v, units=None)"
    params = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in shapes.items())
    text = f'#[version = "0.0.5"]\ndef @main({params}) {{\n  %0 = nn.relu({layer});\n  {body}\n}}\n'
    module = irtool.infer_types(irtool.parse(text))
    weights = {n: values[n] for n in "vw"}
    found, chosen = [], []
    for size in (near, 1 << 20):
        target = f"c{{near_bytes={size},far_bytes={size}}}"
        built = irtool.build(module, weights, target=target, mcpu="x86-64-v3", out_dir=tmp_path / str(size))
        chosen.append(built.report["kernels"][-1]["strategy"])
        found.append(built.run([values["x"]]))
    assert chosen[0] == "blocked_sum" != chosen[1]
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], irtool.evaluate(module, list(values.values())), rtol=1e-3, atol=1e-3)


def test_rows_that_lie_whole_are_not_read_in_pieces_for_weights_that_the_second_cache_keeps() -> None:
    """128 x 768 x 768 streams its weights from there; pixels in blocks of channels are read whole whatever the blocks of a sum."""
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(128, 768), float32], %w: Tensor[(768, 768), float32], %i: Tensor[(1, 8, 14, 14), float32],
          %u: Tensor[(512, 8, 1, 1), float32], %v: Tensor[(512, 512, 1, 1), float32]) {
  %0 = nn.relu(nn.conv2d(%i, %u, padding=[0, 0]));
  (nn.dense(%x, %w, units=None), nn.conv2d(%0, %v, padding=[0, 0]))
}
"""
    module = irtool.infer_types(irtool.parse(text))
    weights = {
        n: np.ones([int(d) for d in p.checked_type.shape], "float32")
        for n in "wuv"
        for p in module["main"].params
        if p.name == n
    }
    report = irtool.build(module, weights, target="c", mcpu="x86-64-v4").report
    found = {k["name"].split("fused_")[1]: k["strategy"] for k in report["kernels"]}
    assert found["nn_dense"] == "register_tile"
    assert found["nn_conv2d"] == "blocked_sum"
