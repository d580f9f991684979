"""Every schedule computes what the plain loops do: awkward extents, strides, groups, layouts, bands of rows."""

import numpy as np
import pytest

import irtool

CONVOLUTIONS = [
    # data shape, weight shape, attributes
    ((1, 3, 15, 17), (20, 3, 7, 7), "strides=[2, 2], padding=[3, 3, 3, 3]"),
    ((1, 16, 7, 7), (48, 16, 3, 3), "padding=[1, 1, 1, 1]"),
    ((2, 16, 6, 5), (16, 16, 1, 1), "padding=[0, 0, 0, 0]"),
    ((1, 32, 9, 9), (32, 1, 3, 3), "padding=[1, 1, 1, 1], groups=32"),
    ((1, 24, 8, 8), (24, 12, 3, 3), "padding=[0, 0, 0, 0], groups=2"),
    ((1, 16, 13, 13), (8, 16, 3, 3), "dilation=[2, 2], padding=[2, 2, 2, 2]"),
    ((1, 5, 11, 3), (7, 5, 2, 3), "strides=[1, 2], padding=[1, 0, 0, 1]"),
    ((1, 64, 48, 48), (16, 64, 3, 3), "padding=[1, 1, 1, 1]"),
]


pytestmark = pytest.mark.usefixtures("quick_compiles")


def build_and_compare(text: str, weights: dict, inputs: dict, vector: bool) -> "object":
    m = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\n{text}'))
    artifact = irtool.build(m, params=weights, vector=vector)
    want = irtool.evaluate(m, {**inputs, **weights})
    got = artifact.run(inputs)
    for n, (a, b) in enumerate(zip(got, want, strict=True)):
        scale = max(1.0, float(np.abs(b).max()))
        np.testing.assert_allclose(a / scale, b / scale, atol=2e-6, rtol=0, err_msg=f"result {n}")
    return artifact


@pytest.mark.parametrize("vector", [True, False])
def test_convolutions(vector):
    generator = np.random.RandomState(0)
    params, body, weights, inputs = [], [], {}, {}
    for n, (x, w, attributes) in enumerate(CONVOLUTIONS):
        params += [f"%x{n}: Tensor[{x}, float32]", f"%w{n}: Tensor[{w}, float32]"]
        kernel = f"channels={w[0]}, kernel_size=[{w[2]}, {w[3]}]"
        # A second layer behind the first, so that a temporary between them may have a layout of its own.
        body.append(f"%{2 * n} = nn.relu(nn.conv2d(%x{n}, %w{n}, {attributes}, {kernel}));")
        body.append(f"%{2 * n + 1} = nn.avg_pool2d(%{2 * n}, pool_size=[2, 2], padding=[1, 1, 1, 1]);")
        inputs[f"x{n}"] = generator.randn(*x).astype("float32")
        weights[f"w{n}"] = generator.randn(*w).astype("float32")
    results = ", ".join(f"%{2 * n}, %{2 * n + 1}" for n in range(len(CONVOLUTIONS)))
    lines = "\n  ".join(body)
    text = f"def @main({', '.join(params)}) {{\n  {lines}\n  ({results})\n}}"
    artifact = build_and_compare(text, weights, inputs, vector)
    strategies = {k["strategy"] for k in artifact.report["kernels"]}
    assert ("register_tile" in strategies) == vector


@pytest.mark.parametrize("vector", [True, False])
def test_products_and_rows(vector):
    generator = np.random.RandomState(1)
    shapes = {"a": (13, 70), "b": (3, 9, 33), "c": (3, 17, 33), "s": (5, 203)}
    weights = {"w": generator.randn(50, 70).astype("float32"), "v": generator.randn(16, 70).astype("float32")}
    text = """
def @main(%a: Tensor[(13, 70), float32], %b: Tensor[(3, 9, 33), float32], %c: Tensor[(3, 17, 33), float32],
          %s: Tensor[(5, 203), float32], %w: Tensor[(50, 70), float32], %v: Tensor[(16, 70), float32]) {
  %0 = nn.dense(%a, %w, units=50);
  %1 = tanh(nn.dense(%a, %v, units=16));
  %2 = nn.batch_matmul(%b, %c, transpose_b=True);
  %3 = nn.batch_matmul(%2, %c, transpose_b=False);
  (%0, %1, %2, %3, nn.softmax(%s), mean(%s, axis=[1]), max(%s, axis=[0]), sum(%s), nn.log_softmax(%s))
}
"""
    inputs = {n: generator.randn(*s).astype("float32") for n, s in shapes.items()}
    build_and_compare(text, weights, inputs, vector)


def test_joined_channels_keep_their_blocks():
    generator = np.random.RandomState(2)
    weights = {n: generator.randn(*s).astype("float32") for n, s in {"p": (32, 16, 1, 1), "q": (16, 16, 3, 3)}.items()}
    text = """
def @main(%x: Tensor[(1, 16, 10, 10), float32], %p: Tensor[(32, 16, 1, 1), float32],
          %q: Tensor[(16, 16, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %p, channels=32, kernel_size=[1, 1], padding=[0, 0, 0, 0]);
  %1 = nn.conv2d(%x, %q, channels=16, kernel_size=[3, 3], padding=[1, 1, 1, 1]);
  %2 = (%1, %0, %1);
  %3 = concatenate(%2, axis=1);
  %4 = nn.max_pool2d(%3, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]);
  (%4, nn.batch_flatten(%4), strided_slice(%3, begin=[8], end=[40], strides=[1], axes=[1]))
}
"""
    build_and_compare(text, weights, {"x": generator.randn(1, 16, 10, 10).astype("float32")}, True)
