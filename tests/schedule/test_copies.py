"""Reductions that read a copy of an operand, or combine windows row by row: what they compute, and that they do so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool

MACHINES = ["x86-64-v3", "native"]


@pytest.fixture(autouse=True)
def quick_compiles(monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O1")


def compiled(text: str, shapes: dict, exact: bool = False, dtype: str = "float32", **options) -> str:
    """Compares the compiled network with the interpreter; its kernels' strategies."""
    generator = np.random.RandomState(5)
    inputs = {}
    for name, shape in shapes.items():
        values = generator.randn(*shape) * (50 if dtype.startswith("int") else 1)
        inputs[name] = values.astype(dtype)
    params = ", ".join(f"%{n}: Tensor[{s}, {dtype}]" for n, s in shapes.items())
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}\n')
    artifact = irtool.build(module, **options)
    want, got = irtool.evaluate(module, inputs), artifact.run(inputs)
    if exact:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, atol=1e-5 * max(1.0, float(np.abs(want).max())), rtol=0)
    return " ".join(k["strategy"] for k in artifact.report["kernels"])


@pytest.mark.parametrize("mcpu", MACHINES)
@pytest.mark.parametrize(
    "shape, attributes",
    [
        ((1, 4, 56, 56), "pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]"),
        ((2, 3, 28, 28), "pool_size=[3, 3], padding=[1, 1, 1, 1]"),
        ((1, 3, 27, 27), "pool_size=[3, 3], strides=[2, 2], ceil_mode=True"),
        ((1, 3, 30, 19), "pool_size=[2, 3], strides=[1, 2], padding=[0, 1, 1, 0]"),
        ((1, 2, 20, 20), "pool_size=[3, 3], padding=[2, 2, 2, 2], dilation=[2, 2]"),
        ((1, 2, 33, 40), "pool_size=[5, 5], strides=[2, 2], padding=[2, 2, 2, 2]"),
        ((1, 2, 33, 60), "pool_size=[3, 3], strides=[3, 3]"),
        ((1, 2, 33, 59), "pool_size=[5, 5], strides=[3, 3], padding=[2, 2, 2, 2]"),
    ],
)
def test_windows_are_combined_row_by_row(shape, attributes, mcpu):
    assert compiled(f"nn.max_pool2d(%x, {attributes})", {"x": shape}, exact=True, mcpu=mcpu) == "separable_windows"
    if "dilation" not in attributes:
        assert compiled(f"nn.avg_pool2d(%x, {attributes})", {"x": shape}, mcpu=mcpu) == "separable_windows"


@pytest.mark.parametrize("mcpu", MACHINES)
@pytest.mark.parametrize(
    "shape, attributes, dtype",
    [
        ((1, 31, 43, 3), "pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]", "float32"),
        ((2, 20, 21, 2), "pool_size=[5, 3], padding=[2, 1, 2, 1]", "float32"),
        ((1, 32, 40, 4), "pool_size=[8, 8], strides=[8, 8]", "float32"),
        ((1, 31, 43, 3), "pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]", "int8"),
        ((1, 17, 70, 3), "pool_size=[3, 3], strides=[2, 2], padding=[0, 0, 1, 1], ceil_mode=True", "float64"),
        ((1, 30, 25, 3), "pool_size=[3, 5], strides=[1, 2], padding=[1, 2, 1, 2], dilation=[2, 1]", "float32"),
    ],
)
def test_windows_of_colours_are_combined_rows_first(shape, attributes, dtype, mcpu):
    attributes += ', layout="NHWC"'
    strategy = compiled(f"nn.max_pool2d(%x, {attributes})", {"x": shape}, exact=True, dtype=dtype, mcpu=mcpu)
    assert strategy == "separable_windows"
    if dtype == "float32" and "dilation" not in attributes:
        assert compiled(f"nn.avg_pool2d(%x, {attributes})", {"x": shape}, mcpu=mcpu) == "separable_windows"


@pytest.mark.parametrize("mcpu", MACHINES)
def test_rows_of_colours_keep_what_is_no_number(mcpu):
    module = irtool.parse(
        """#[version = "0.0.5"]
        def @main(%x: Tensor[(1, 20, 30, 3), float32]) {
          nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1], layout="NHWC")
        }"""
    )
    x = np.random.RandomState(1).choice(np.array([np.nan, np.inf, -np.inf, 1, -2], "float32"), (1, 20, 30, 3))
    np.testing.assert_array_equal(irtool.build(module, mcpu=mcpu).run([x]), irtool.evaluate(module, [x]))


@pytest.mark.parametrize("mcpu", MACHINES)
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "float64"])
@pytest.mark.parametrize("shape", [(1, 5, 20, 3), (2, 3, 7, 5), (1, 4, 33, 2)])
def test_few_colours_are_enlarged_in_vectors(shape, dtype, mcpu):
    for factor in (2, 4):
        text = f'nn.upsampling(%x, scale_h={factor}f, scale_w={factor}f, layout="NHWC")'
        assert compiled(text, {"x": shape}, exact=True, dtype=dtype, mcpu=mcpu) == "elementwise"


def test_windows_of_volumes_and_of_sequences():
    assert (
        compiled(
            "nn.max_pool3d(%x, pool_size=[3, 3, 3], strides=[2, 2, 2], padding=[1, 1, 1, 1, 1, 1])",
            {"x": (1, 2, 9, 12, 20)},
            exact=True,
        )
        == "separable_windows"
    )
    compiled("nn.avg_pool1d(%x, pool_size=[3], strides=[2], padding=[1, 1])", {"x": (2, 3, 50)})


def test_integers_are_pooled_exactly():
    compiled(
        "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])",
        {"x": (1, 3, 20, 20)},
        exact=True,
        dtype="int32",
    )


@pytest.mark.parametrize("mcpu", MACHINES)
@pytest.mark.parametrize("size, stride", [(14, 1), (15, 1), (28, 2), (29, 2), (7, 1)])
def test_depthwise_convolutions_read_padded_rows(size, stride, mcpu):
    strategy = compiled(
        f"nn.conv2d(%x, %w, strides=[{stride}, {stride}], padding=[1, 1, 1, 1], groups=6, channels=6, kernel_size=[3, 3])",
        {"x": (1, 6, size, size), "w": (6, 1, 3, 3)},
        mcpu=mcpu,
    )
    assert strategy == "packed_tile"


@pytest.mark.parametrize("mcpu", MACHINES)
@pytest.mark.parametrize(
    "window, strides, dilation", [((5, 5), (1, 1), 1), ((7, 3), (2, 2), 1), ((3, 3), (3, 3), 1), ((3, 5), (1, 2), 2)]
)
def test_depthwise_windows_slide(window, strides, dilation, mcpu):
    compiled(
        f"nn.conv2d(%x, %w, strides={list(strides)}, padding=[2, 2, 2, 2], dilation=[{dilation}, {dilation}], groups=3, "
        f"channels=3, kernel_size={list(window)})",
        {"x": (1, 3, 30, 33), "w": (3, 1, *window)},
        mcpu=mcpu,
    )


@pytest.mark.parametrize("mcpu", MACHINES)
@pytest.mark.parametrize("m, n, k", [(32, 48, 40), (17, 23, 31), (64, 130, 65), (40, 33, 700)])
def test_products_with_a_matrix_that_is_not_constant(m, n, k, mcpu):
    text = f"nn.dense(%x, %w, units={n})"
    strategy = compiled(text, {"x": (m, k), "w": (n, k)}, mcpu=mcpu)
    assert strategy == "packed_tile" or mcpu == "native", "the estimates of this processor may prefer another"


def test_a_matrix_from_the_last_cache_is_not_read_for_each_row():
    """The few rows are transposed, and each element of the matrix is read once for all of them. Vectors of 512 bits are copied faster."""
    shapes = {"x": (9, 1100), "w": (800, 1100)}
    assert compiled("nn.dense(%x, %w, units=800)", shapes, mcpu="x86-64-v3") == "register_tile"


def test_products_of_batches():
    text = "nn.batch_matmul(%x, %y, transpose_b=True)"
    assert compiled(text, {"x": (3, 20, 24), "y": (3, 37, 24)}) == "packed_tile"


def test_a_row_times_a_matrix_is_not_copied():
    assert compiled("nn.dense(%x, %w, units=64)", {"x": (1, 96), "w": (64, 96)}) == "row_reduction"


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 13, 16, 21, 37])
@pytest.mark.parametrize("mcpu", MACHINES)
def test_padding_and_concatenation_are_cut_into_loops_without_conditions(width, mcpu):
    compiled("nn.pad(%x, 1.5f, pad_width=[[0, 0], [2, 1], [1, 3]])", {"x": (2, 3, width)}, exact=True, mcpu=mcpu)
    compiled("concatenate((%x, %y, %x), axis=-1)", {"x": (3, width), "y": (3, 9)}, exact=True, mcpu=mcpu)


@settings(max_examples=15, deadline=None)
@given(
    st.tuples(st.integers(1, 3), st.integers(5, 24), st.integers(8, 40)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)),
    st.booleans(),
)
def test_windows_of_any_form(shape, window, strides, padding, average):
    padding = [min(p, window[n % 2] - 1) for n, p in enumerate(padding)]
    op, more = ("nn.avg_pool2d", ", count_include_pad=True") if average else ("nn.max_pool2d", "")
    compiled(
        f"{op}(%x, pool_size={list(window)}, strides={list(strides)}, padding={padding}{more})", {"x": (1, *shape)}
    )


def test_heads_of_attention_are_no_blocks():
    """With 12 heads and 37 tokens, blocks of four heads would be possible; a copy of one matrix is better."""
    text = "nn.batch_matmul(nn.relu(%x), nn.relu(%y), transpose_b=True)"
    assert "packed_tile" in compiled(text, {"x": (12, 37, 24), "y": (12, 37, 24)})


@pytest.mark.parametrize("mcpu", MACHINES)
@pytest.mark.parametrize("shape", [(16, 32), (37, 50), (5, 4), (64, 3), (130, 17)])
def test_transposed_operands_are_read_in_squares(shape, mcpu):
    compiled("transpose(%x, axes=[1, 0])", {"x": shape}, exact=True, mcpu=mcpu)
    transposed_shape = shape[::-1]
    compiled(
        "subtract(transpose(%x, axes=[1, 0]), nn.relu(%y))", {"x": shape, "y": transposed_shape}, exact=True, mcpu=mcpu
    )
    compiled("transpose(%x, axes=[0, 2, 1])", {"x": (3, *shape)}, exact=True, mcpu=mcpu)
    compiled("transpose(%x, axes=[1, 0])", {"x": shape}, exact=True, dtype="int32", mcpu=mcpu)
    compiled('cast(transpose(%x, axes=[1, 0]), dtype="float32")', {"x": shape}, exact=True, dtype="int8", mcpu=mcpu)
    compiled("transpose(%x, axes=[1, 0])", {"x": shape}, exact=True, dtype="float64", mcpu=mcpu)


def test_a_transposed_operand_may_be_read_twice():
    compiled("add(%x, transpose(%x, axes=[1, 0]))", {"x": (33, 33)}, exact=True)
    compiled(
        "multiply(transpose(%x, axes=[1, 0]), add(transpose(%x, axes=[1, 0]), %y))",
        {"x": (20, 33), "y": (33, 20)},
        exact=True,
    )


def test_padded_channels_of_a_depthwise_convolution_need_no_workspace():
    """The copy of a channel is read with that channel's results only: it is on the stack, not the image's copy in the arena."""
    generator = np.random.RandomState(4)
    x, w = generator.randn(1, 48, 56, 56).astype("float32"), generator.randn(48, 1, 7, 7).astype("float32")
    module = irtool.parse(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 48, 56, 56), float32], %w: Tensor[(48, 1, 7, 7), float32]) {\n'
        "  nn.conv2d(%x, %w, padding=[3, 3, 3, 3], groups=48, channels=48, kernel_size=[7, 7])\n}\n"
    )
    artifact = irtool.build(module)
    assert artifact.arena_bytes < 1 << 18
    want = irtool.evaluate(module, {"x": x, "w": w})
    np.testing.assert_allclose(artifact.run({"x": x, "w": w}), want, atol=1e-4, rtol=0)
