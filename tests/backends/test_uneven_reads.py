"""Vectors whose elements lie unevenly but in places that repeat themselves: two reads and a shuffle, of every kind of element."""

import numpy as np
import pytest

import irtool
from irtool.symbolic_int import symbolic
from irtool.tir.shuffles import find_shuffle, name_of, places_of
from tests.ops.hostile import run_under_sanitizers

DTYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8")
CALLS = {
    "twice": ("nn.upsampling(%x, scale_h=2, scale_w=2)", (1, 3, 5, 21)),
    "three times": ("nn.upsampling(%x, scale_h=1, scale_w=3)", (1, 2, 3, 37)),
    "four times": ("nn.upsampling(%x, scale_h=4, scale_w=4)", (2, 3, 4, 16)),
    "nearest": (
        'image.resize2d(%x, size=[10, 50], roi=[0f, 0f, 0f, 0f], method="nearest_neighbor", rounding_method="round_prefer_floor")',
        (1, 3, 5, 25),
    ),
    "interleaved": ("nn.depth_to_space(%x, block_size=2)", (1, 8, 5, 19)),
    "repeated": ("repeat(%x, repeats=2, axis=1)", (3, 41)),
    "pool of three channels": ('nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2], layout="NHWC")', (1, 10, 46, 3)),
    "pool of five channels": ('nn.max_pool2d(%x, pool_size=[3, 2], strides=[1, 2], layout="NHWC")', (2, 9, 38, 5)),
}
MEANS = {
    "mean of three channels": ('nn.avg_pool2d(%x, pool_size=[2, 2], strides=[2, 2], layout="NHWC")', (1, 8, 64, 3)),
    "wide mean": ('nn.avg_pool2d(%x, pool_size=[6, 6], strides=[2, 3], layout="NHWC")', (1, 12, 99, 3)),
}

ENLARGED = {
    "twice": ((1, 3, 12, 21), (24, 42)),
    "twice, in blocks": ((1, 3, 12, 24), (24, 48)),
    "four times": ((1, 2, 9, 33), (36, 132)),
    "by half": ((1, 2, 10, 22), (15, 33)),
    "smaller": ((1, 2, 40, 60), (15, 28)),
    "to any size": ((1, 2, 13, 37), (29, 90)),
    "one row": ((1, 2, 1, 40), (1, 80)),
}
"""Images and the sizes that they are resized to."""
MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


def data(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.arange(np.prod(shape)) * 37 % 113 - (0 if dtype == "uint8" else 50)).reshape(shape).astype(dtype)


def program(call: str, shape: tuple[int, ...], dtype: str) -> irtool.Module:
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[({", ".join(map(str, shape))}), {dtype}]) {{ {call} }}'
    return irtool.infer_types(irtool.parse(text))


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "native"])
@pytest.mark.parametrize("name", CALLS)
def test_elements_stay_what_they_are(name: str, mcpu: str) -> None:
    for dtype in DTYPES:
        module = program(*CALLS[name], dtype)
        x = data(CALLS[name][1], dtype)
        np.testing.assert_array_equal(irtool.build(module, mcpu=mcpu).run([x]), irtool.evaluate(module, [x]))


@pytest.mark.parametrize("name", MEANS)
def test_means(name: str) -> None:
    module = program(*MEANS[name], "float32")
    x = data(MEANS[name][1], "float32")
    np.testing.assert_allclose(irtool.build(module).run([x]), irtool.evaluate(module, [x]), rtol=1e-5, atol=1e-5)


def resized(size: tuple[int, int], method: str, mode: str) -> str:
    attrs = f'method="{method}", coordinate_transformation_mode="{mode}"'
    return f"image.resize2d(%x, size={list(size)}, roi=[0f, 0f, 0f, 0f], {attrs})"


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "native"])
@pytest.mark.parametrize("name", ENLARGED)
def test_resized_images(name: str, mcpu: str) -> None:
    shape, size = ENLARGED[name]
    x = data(shape, "float32")
    calls = [resized(size, method, mode) for method in ("linear", "cubic") for mode in MODES]
    module = program(f"({', '.join(calls)})", shape, "float32")
    for got, want in zip(irtool.build(module, mcpu=mcpu).run([x]), irtool.evaluate(module, [x]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-3)


def test_enlarged_images_need_no_memory_but_for_weights(tmp_path) -> None:
    module = program(resized((112, 112), "linear", "half_pixel"), (1, 8, 56, 56), "float32")
    built = irtool.build(module, name="m", out_dir=tmp_path, mcpu="x86-64-v3")
    text = (tmp_path / "m.c").read_text()
    assert built.arena_bytes == 2 * 4 * 112
    assert "tap" not in text and "irt_vplaces_" in text


@pytest.mark.parametrize("method", ["linear", "nearest_neighbor"])
def test_enlarged_blocks_of_channels_are_made_in_vectors(method: str) -> None:
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 32, 12, 14), float32], %w: Tensor[(32, 32, 3, 3), float32]) {{
      %0 = nn.conv2d(%x, %w, channels=32, kernel_size=[3, 3], padding=[1, 1, 1, 1]);
      {resized((24, 28), method, "half_pixel").replace("%x", "%0")}
    }}"""
    module = irtool.parse(text)
    x, weights = data((1, 32, 12, 14), "float32"), {"w": data((32, 32, 3, 3), "float32") / 100}
    built = irtool.build(module, params=weights, mcpu="x86-64-v3")
    want = irtool.evaluate(module, {"x": x, **weights})
    np.testing.assert_allclose(built.run({"x": x}), want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
    stages = built.report["kernels"][-1]["stages"]
    assert stages[-1]["strategy"] == "tiled_transpose" and all("vectors along" in s["reason"] for s in stages)


@pytest.mark.parametrize("name", [*(n for n in CALLS if n.startswith("pool")), "mean of three channels"])
def test_pools_of_few_channels_are_made_in_vectors(name: str) -> None:
    built = irtool.build(program(*{**CALLS, **MEANS}[name], "float32"), emit="c", mcpu="x86-64-v3", cache=False)
    assert {s["strategy"] for k in built.report["kernels"] for s in k["stages"]} <= {
        "register_tile",
        "separable_windows",
    }


@pytest.mark.parametrize("name", [n for n in CALLS if not n.startswith("pool")])
def test_they_are_read_as_vectors(name: str, tmp_path) -> None:
    module = program(*CALLS[name], "float32")
    irtool.build(module, name="m", emit="c", out_dir=tmp_path, mcpu="x86-64-v3")
    assert "irt_vplaces_" in (tmp_path / "m.c").read_text()


@pytest.mark.parametrize("vector", [True, False], ids=["vectors", "scalars"])
def test_nothing_beyond_the_operand_is_read(vector: bool, tmp_path) -> None:
    cases = [
        ("nn.upsampling", [data((1, 2, 3, 21), "float32")], {"scale_h": 1, "scale_w": 2}),
        ("nn.upsampling", [data((1, 2, 3, 37), "float32")], {"scale_h": 1, "scale_w": 3}),
        ("nn.max_pool2d", [data((1, 4, 46, 3), "float32")], {"pool_size": (2, 2), "strides": (2, 2), "layout": "NHWC"}),
        ("nn.depth_to_space", [data((1, 8, 5, 19), "int8")], {"block_size": 2}),
        *(
            ("image.resize2d", [data(shape, "float32")], {"size": size, "roi": (0.0,) * 4, "method": "linear"})
            for shape, size in ENLARGED.values()
        ),
    ]
    assert run_under_sanitizers(cases, tmp_path, vector) == []


def test_reads_cover_no_more_than_the_places() -> None:
    cases = ((0, 0, 1, 1), (0, 3, 5, 6), (0, 100, 1, 101), (0, 0, 0, 0), (2, 0, 1, 7), (0, 9, 1, 101), (0, 4, 8, 11))
    for places in cases:
        s = find_shuffle(places)
        assert s is not None
        read = [start + k for start in s.starts for k in range(s.width)]
        assert tuple(read[k] for k in s.mask) == places
        assert max(read) == max(places) and min(read) == 0 and places_of(name_of(places)) == places
    assert find_shuffle((0, 50, 100, 150)) is None
    n = symbolic("n", 1, 4)
    assert find_shuffle((0, 1, 32 * n, 32 * n + 1)) is None


@pytest.mark.parametrize("op", ["nn.adaptive_avg_pool2d", "nn.adaptive_max_pool2d"])
@pytest.mark.parametrize("shape, sizes", [((1, 5, 13, 13), [6, 6]), ((2, 3, 33, 40), [7, 3]), ((1, 4, 9, 20), [9, 7])])
def test_windows_of_different_sizes_have_known_ends(op: str, shape, sizes, tmp_path) -> None:
    module = program(f"{op}(%x, output_size={sizes})", shape, "float32")
    x = data(shape, "float32")
    irtool.build(module, name="m", emit="c", out_dir=tmp_path, mcpu="x86-64-v3")
    assert "if (" not in (tmp_path / "m.c").read_text().split("static void", 1)[1].split("static int")[0]
    for mcpu in ("x86-64", "native"):
        np.testing.assert_allclose(irtool.build(module, mcpu=mcpu).run([x]), irtool.evaluate(module, [x]), rtol=1e-5)
