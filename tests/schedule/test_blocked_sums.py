"""Long sums in blocks: the bits of sums without, whatever the shapes of rows, windows and panels."""

import re
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.commands.explaining import explain
from irtool.schedule.scripts.tuned import noting
from irtool.schedule.strategies.base import label_of, stage_variants

CASES = {
    "pixels": ("nn.relu(nn.conv2d(%0, %w, padding=[0, 0]))", (1, 96, 5, 5), (64, 96, 1, 1), 1024),
    "every other pixel": ("nn.conv2d(%0, %w, strides=[2, 2], padding=[0, 0])", (2, 64, 9, 11), (96, 64, 1, 1), 1024),
    "windows": ("nn.conv2d(%0, %w, strides=[2, 2], padding=[1, 1])", (1, 96, 14, 14), (64, 96, 3, 3), 8192),
    "rows": ("nn.dense(%0, %w, units=None)", (24, 192), (192, 192), 1024),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.promise("blocked sums")
def test_sums_in_blocks_have_the_same_bits(case: str, tmp_path: Path) -> None:
    module, values = layers(case)
    weights = {n: values[n] for n in "vw"}
    results, chosen = [], []
    for size in (CASES[case][3], 1 << 20):
        built = irtool.build(module, weights, **options(size), out_dir=tmp_path / str(size))
        chosen.append(built.report["kernels"][-1]["strategy"])
        results.append(built.run([values["x"]]))
    assert chosen[0] == "blocked_sum" != chosen[1]
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], irtool.evaluate(module, list(values.values())), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.promise("replay")
def test_what_is_explained_of_sums_in_blocks_is_read_again(case: str, tmp_path: Path) -> None:
    module, values = layers(case)
    weights = {n: values[n] for n in "vw"}
    first = irtool.build(module, weights, **options(CASES[case][3]), out_dir=tmp_path / "first")
    text = explain(first.report)
    assert "block_reduction" in text
    irtool.build(module, weights, **options(CASES[case][3]), schedule=text, out_dir=tmp_path / "second")
    texts = [(tmp_path / n / "model.c").read_text() for n in ("first", "second")]
    assert len({re.sub(r"/\*.*?\*/", "", t, flags=re.DOTALL) for t in texts}) == 1  # comments name the strategies


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("k", "n"), [(64, 2048), (72, 1024 + 512), (2048, 1024), (7, 4096)])
def test_one_row_reads_whole_pages_of_a_matrix(k: int, n: int, dtype: str, tmp_path: Path) -> None:
    """Longer sums are divided by `block_sums`, too, and so only near those without blocks."""
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(1, {k}), {dtype}], %w: Tensor[({k}, {n}), {dtype}]) {{ nn.relu(nn.matmul(%x, %w, units={n})) }}"""
    random = np.random.default_rng(0)
    inputs = [random.uniform(-1, 1, s).astype(dtype) for s in ((1, k), (k, n))]
    results, strategies = [], []
    for size in (4096, 1 << 30):
        built = irtool.build(irtool.parse(text), **options(size), out_dir=tmp_path / str(size))
        strategies.append(built.report["kernels"][-1]["strategy"])
        results.append(np.asarray(built.run(inputs)))
    assert strategies == ["blocked_sum" if k != 7 else "register_tile", "register_tile"]
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], np.maximum(inputs[0] @ inputs[1], 0), rtol=1e-4, atol=1e-4)


def test_other_divisions_of_a_sum_are_offered_and_have_the_same_bits(tmp_path: Path) -> None:
    module, values = layers("rows")
    weights = {n: values[n] for n in "vw"}
    with noting() as stages:
        want = irtool.build(module, weights, **options(1024), out_dir=tmp_path / "own").run([values["x"]])
    labels = [label_of(s, c) for s, c in stage_variants(stages[-1]) if s.name == "blocked_sum"]
    assert len(labels) >= 3
    for n, label in enumerate(labels):
        schedule = f".*dense:\n  choose({label!r})\n"
        built = irtool.build(module, weights, **options(1024), schedule=schedule, out_dir=tmp_path / str(n))
        np.testing.assert_array_equal(built.run([values["x"]]), want)


def test_results_of_a_block_are_added_to_once() -> None:
    script = """.*:
  block_reduction(k, 4, along=ax1)
  compute_at(part)
  part_update:
    part:
      loop_partition(ax0, [[0, 4]])
    part:
      loop_partition(ax0, [[2, 6]])
"""
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(6, 12), float32], %w: Tensor[(12, 8), float32]) { nn.matmul(%x, %w, units=8) }'
    with pytest.raises(irtool.IrError, match=r"adds to results twice: ax0 in \[2, 4\)"):
        irtool.build(irtool.parse(text), schedule=script)


def test_a_pointwise_convolution_by_itself_asks_for_no_weights_of_the_next_panel() -> None:
    """Its tiles lie along pixels where the panels are of channels: the operand of a tile does not move with them."""
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 320, 7, 7), float32], %w: Tensor[(1280, 320, 1, 1), float32]) { nn.conv2d(%x, %w, padding=[0, 0]) }
"""
    weights = {"w": np.ones((1280, 320, 1, 1), "float32")}
    report = irtool.build(irtool.parse(text), weights, target="c", mcpu="x86-64-v4", emit="c").report
    assert report["kernels"][-1]["strategy"] == "blocked_sum"


def options(size: int) -> dict[str, str]:
    """Options of builds for a processor with caches of that size."""
    return {"target": f"c{{l1_cache_bytes={size},l2_cache_bytes={size},strassen=off}}", "mcpu": "x86-64-v3"}


def layers(case: str) -> tuple[irtool.IRModule, dict[str, np.ndarray]]:
    """Two layers, of which the second is that of the case, and values of their parameters."""
    body, data, weight, _ = CASES[case]
    shapes = {"x": data, "v": (data[1], data[1], 1, 1)[: len(data)], "w": weight}
    values = {n: np.random.default_rng(0).uniform(-1, 1, s).astype("float32") for n, s in shapes.items()}
    # Behind another layer, so that channels lie in blocks.
    layer = "nn.conv2d(%x, %v, padding=[0, 0])" if len(data) == 4 else "nn.dense(%x, %v, units=None)"
    params = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in shapes.items())
    text = f'#[version = "0.0.5"]\ndef @main({params}) {{\n  %0 = nn.relu({layer});\n  {body}\n}}\n'
    return irtool.infer_types(irtool.parse(text)), values


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
    strategies = {k["name"].split("fused_")[1]: k["strategy"] for k in report["kernels"]}
    assert strategies["nn_dense"] == "register_tile"
    assert strategies["nn_conv2d"] == "blocked_sum"


def test_tiles_that_share_windows_ask_for_nothing_ahead() -> None:
    """What such a tile reads next is not one row of an operand: a generator's last layer, of 5 x 5 windows and three channels."""
    text = """def @main(%x: Tensor[(1, 32, 64, 64), float32], %w: Tensor[(32, 3, 5, 5), float32]) {
  nn.conv2d_transpose(%x, %w, kernel_layout="IOHW", channels=3, kernel_size=[5, 5], strides=[2, 2], padding=[2, 2, 2, 2],
    output_padding=[1, 1])
}
"""
    module = irtool.infer_types(irtool.parse(text))
    generator = np.random.default_rng(4)
    x, w = (generator.standard_normal(s).astype("float32") for s in ((1, 32, 64, 64), (32, 3, 5, 5)))
    built = irtool.build(module, params={"w": w}, inputs=["x"], target="c{mcpu=x86-64-v4}", emit="tir")
    assert built.report["kernels"][0]["strategy"] == "blocked_sum"
    expected = np.asarray(irtool.evaluate(module, [x, w]))
    actual = np.asarray(irtool.build(module, params={"w": w}, inputs=["x"]).run([x]))
    np.testing.assert_allclose(actual, expected, atol=1e-5 * float(np.abs(expected).max()))
