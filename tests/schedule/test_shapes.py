"""Shapes that have schedules of their own: what they compute, and that they got them."""

import numpy as np
import pytest

import irtool

HEAD = '#[version = "0.0.5"]\n'


pytestmark = pytest.mark.usefixtures("quick_compiles")


def compiled(text: str, weights: dict, inputs: dict, **options) -> dict:
    """Compares the compiled network with the interpreter; the report."""
    module = irtool.infer_types(irtool.parse(HEAD + text))
    artifact = irtool.build(module, params=weights, **options)
    want = irtool.evaluate(module, {**inputs, **weights})
    got = artifact.run(inputs)
    scale = max(1.0, float(np.abs(want).max()))
    np.testing.assert_allclose(got / scale, want / scale, atol=3e-6, rtol=0)
    return artifact.report


def convolution(data, weight, attributes: str, op: str = "nn.conv2d", **options) -> dict:
    generator = np.random.RandomState(3)
    text = f"""def @main(%x: Tensor[{data}, float32], %w: Tensor[{weight}, float32]) {{
  nn.relu({op}(%x, %w, {attributes}, kernel_size=[{weight[2]}, {weight[3]}]))
}}
"""
    arrays = {"x": generator.randn(*data).astype("float32"), "w": generator.randn(*weight).astype("float32")}
    return compiled(text, {"w": arrays["w"]}, {"x": arrays["x"]}, **options)


def strategies(report: dict) -> set[str]:
    return {k["strategy"] for k in report["kernels"]}


@pytest.mark.parametrize("mcpu", ["x86-64-v3", "native"])
@pytest.mark.parametrize("groups, outputs", [(2, 32), (4, 64), (8, 64), (16, 16), (32, 64)])
def test_grouped_convolutions_are_tiled(groups, outputs, mcpu):
    weight = (outputs, 32 // groups, 3, 3)
    report = convolution(
        (1, 32, 9, 10), weight, f"padding=[1, 1, 1, 1], groups={groups}, channels={outputs}", mcpu=mcpu
    )
    if outputs // groups >= 8:
        assert strategies(report) == {"register_tile"}


@pytest.mark.parametrize("mcpu", ["x86-64-v3", "native"])
@pytest.mark.parametrize("channels, groups", [(32, 16), (32, 8), (48, 12), (32, 4), (64, 2)])
@pytest.mark.parametrize("pool", [False, True])
def test_narrow_groups_behind_other_layers_are_tiled(channels, groups, mcpu, pool):
    """The layer before would leave its channels in blocks, which hold several groups."""
    generator = np.random.RandomState(7)
    weights = {"p": generator.randn(channels, 16, 1, 1), "w": generator.randn(channels, channels // groups, 3, 3)}
    before = "nn.max_pool2d(%0, pool_size=[3, 3], padding=[1, 1, 1, 1])" if pool else "%0"
    text = f"""def @main(%x: Tensor[(1, 16, 20, 18), float32], %p: Tensor[({channels}, 16, 1, 1), float32],
          %w: Tensor[({channels}, {channels // groups}, 3, 3), float32]) {{
  %0 = nn.conv2d(%x, %p, channels={channels}, kernel_size=[1, 1]);
  %1 = {before};
  nn.conv2d(%1, %w, padding=[1, 1, 1, 1], groups={groups}, channels={channels}, kernel_size=[3, 3])
}}
"""
    inputs = {"x": generator.randn(1, 16, 20, 18).astype("float32")}
    report = compiled(text, {n: w.astype("float32") for n, w in weights.items()}, inputs, mcpu=mcpu)
    assert "scalar_reduction" not in strategies(report)


@pytest.mark.parametrize("outputs", [17, 30, 50, 63])
def test_odd_channel_counts_fill_up_the_weights(outputs):
    report = convolution((2, 5, 7, 9), (outputs, 5, 3, 3), f"padding=[1, 1, 1, 1], channels={outputs}")
    assert strategies(report) == {"register_tile"}


def test_few_channels_sum_in_vectors():
    report = convolution((1, 64, 12, 12), (3, 64, 3, 3), "padding=[1, 1, 1, 1], channels=3")
    assert "scalar_reduction" not in strategies(report)


@pytest.mark.parametrize("mcpu", ["x86-64-v2", "x86-64-v3", "native"])
def test_windows_of_many_channels_are_summed_together(mcpu):
    """An image of three channels made from many, in blocks: pixels beside each other are summed in the same steps."""
    generator = np.random.RandomState(8)
    weights = {"p": generator.randn(32, 16, 1, 1), "w": generator.randn(3, 32, 5, 5)}
    text = """def @main(%x: Tensor[(1, 16, 21, 23), float32], %p: Tensor[(32, 16, 1, 1), float32],
          %w: Tensor[(3, 32, 5, 5), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %p, channels=32, kernel_size=[1, 1]));
  nn.leaky_relu(nn.conv2d(%0, %w, padding=[2, 2, 2, 2], channels=3, kernel_size=[5, 5]))
}
"""
    inputs = {"x": generator.randn(1, 16, 21, 23).astype("float32")}
    report = compiled(text, {n: w.astype("float32") for n, w in weights.items()}, inputs, mcpu=mcpu)
    (kernel,) = (k for k in report["kernels"] if "nn.leaky_relu" in k["operators"])
    stage = kernel["stages"][-1]
    assert stage["strategy"] == "row_reduction"
    assert any("together=" in p for p in stage["primitives"])


@pytest.mark.parametrize("stride, kernel, padding", [(2, 4, 1), (2, 3, 1), (2, 2, 0), (3, 5, 2), (3, 4, 0)])
@pytest.mark.parametrize("outputs", [3, 16, 20])
def test_transposed_convolutions_by_phases(stride, kernel, padding, outputs):
    attributes = (
        f'strides=[{stride}, {stride}], padding=[{padding}, {padding}, {padding}, {padding}], kernel_layout="IOHW", '
        f"channels={outputs}"
    )
    for flags in ({}, {"vector": "none"}):
        shapes = (1, 16, 5, 6), (16, outputs, kernel, kernel)
        report = convolution(*shapes, attributes, op="nn.conv2d_transpose", **flags)
        if (
            flags and stride > 1
        ):  # phases go to where they belong; pixels of row-major results would do so one by one in vectors
            assert [k["workspace_bytes"] for k in report["kernels"]] == [0] * len(report["kernels"])


@pytest.mark.parametrize("size, stride, padding", [(3, 1, 1), (3, 2, 1), (5, 1, 2), (5, 3, 0), (7, 1, 3)])
def test_depthwise_windows_at_the_edges(size, stride, padding):
    generator = np.random.RandomState(6)
    weights = {"p": generator.randn(16, 8, 1, 1), "w": generator.randn(16, 1, size, size)}
    text = f"""def @main(%x: Tensor[(1, 8, 23, 25), float32], %p: Tensor[(16, 8, 1, 1), float32],
          %w: Tensor[(16, 1, {size}, {size}), float32]) {{
  %0 = nn.conv2d(%x, %p, channels=16, kernel_size=[1, 1]);
  nn.conv2d(%0, %w, strides=[{stride}, {stride}], padding=[{padding}, {padding}, {padding}, {padding}], groups=16,
            channels=16, kernel_size=[{size}, {size}])
}}
"""
    inputs = {"x": generator.randn(1, 8, 23, 25).astype("float32")}
    report = compiled(text, {n: w.astype("float32") for n, w in weights.items()}, inputs)
    assert strategies(report) == {"register_tile"}


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("shape, axis", [((6, 50), -1), ((3, 4, 33), -1), ((5, 16), -1), ((4, 40, 3), 1), ((7,), 0)])
def test_softmax_keeps_rows_in_cache(shape, axis, vector):
    data = np.random.RandomState(4).randn(*shape).astype("float32") * 30
    dims = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    text = f"def @main(%x: Tensor[({dims}), float32]) {{\n  nn.softmax(%x, axis={axis})\n}}\n".replace(",)", ")")
    report = compiled(text, {}, {"x": data}, vector=vector)
    if vector and len(shape) > 1 and axis == -1:
        assert report["kernels"][0]["workspace_bytes"] == 0


@pytest.mark.parametrize("units", [10, 33, 100, 1001])
@pytest.mark.parametrize("rows", [1, 3, 17])
def test_dense_layers_of_odd_widths(rows, units):
    generator = np.random.RandomState(5)
    arrays = {"x": generator.randn(rows, 40).astype("float32"), "w": generator.randn(units, 40).astype("float32")}
    text = f"""def @main(%x: Tensor[({rows}, 40), float32], %w: Tensor[({units}, 40), float32]) {{
  tanh(nn.dense(%x, %w, units={units}))
}}
"""
    compiled(text, {"w": arrays["w"]}, {"x": arrays["x"]})


@pytest.mark.usefixtures("keeps_denormals")
@pytest.mark.parametrize(
    "function, low, high", [("exp", -110, 95), ("tanh", -12, 12), ("erf", -5, 5), ("sigmoid", -80, 90)]
)
def test_vector_functions_are_accurate_to_four_units(function, low, high):
    import math

    x = np.concatenate(
        [np.linspace(low, high, 20001), np.linspace(-1, 1, 2001) * 1e-3, [0.0, np.inf, -np.inf, np.nan]]
    ).astype("float32")
    text = f"def @main(%x: Tensor[({x.size}), float32]) {{\n  {function}(%x)\n}}\n"
    got = irtool.build(irtool.infer_types(irtool.parse(HEAD + text))).run([x])
    with np.errstate(over="ignore"):
        exact = {
            "exp": np.exp,
            "tanh": np.tanh,
            "erf": np.vectorize(math.erf),
            "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        }[function]
        want = exact(x.astype("float64"))
        rounded = want.astype("float32")
    finite = np.isfinite(rounded)
    units = np.abs(got - want)[finite] / np.spacing(np.maximum(np.abs(rounded[finite]), np.float32(1.2e-38)))
    assert units.max() <= 4
    np.testing.assert_array_equal(got[~finite], rounded[~finite])


@pytest.mark.promise("exponentials of doubles")
@pytest.mark.usefixtures("keeps_denormals")
@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="there are no numbers to compare doubles with")
@pytest.mark.parametrize("mcpu", ["native", "x86-64-v2"])
@pytest.mark.parametrize("function", ["exp", "sigmoid"])
def test_vector_functions_of_doubles_are_accurate_to_four_units(function, mcpu):
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 709.7, 709.8, -744.9, -745.2, 1e-300]
    x = np.concatenate([np.linspace(-760, 760, 20001), np.linspace(-2, 2, 20001), special])
    text = f"def @main(%x: Tensor[({x.size}), float64]) {{\n  {function}(%x)\n}}\n"
    artifact = irtool.build(irtool.infer_types(irtool.parse(HEAD + text)), mcpu=mcpu)
    got = artifact.run([x])
    with np.errstate(all="ignore"):
        e = np.exp(-abs(x.astype(np.longdouble)))
        want = {"exp": np.exp(x.astype(np.longdouble)), "sigmoid": np.where(x < 0, e, 1) / (1 + e)}[function]
        rounded = want.astype("float64")
        finite = np.isfinite(rounded)
        units = (np.abs(got - want) / np.spacing(np.maximum(np.abs(rounded), 2.3e-308)))[finite]
    assert units.max() <= 4
    np.testing.assert_array_equal(got[~finite], rounded[~finite])
