"""What operators on layout, indices and images return, in numbers worked out elsewhere, and what their rules refuse."""

import numpy as np
import pytest

from irtool.infer import infer_expr
from irtool.ir import ANY, DimVar, TensorType, Tuple, TupleType, Var
from irtool.ops import call, operators
from irtool.ops.layout import Layout, LayoutError, convert, convert_shape, convertible, source_indices


def run(name, *inputs, **attributes):
    return operators.get(name).make(attributes).evaluate(*inputs)


def infer(name, *shapes, dtype="float32", **attributes):
    def var(shape):
        if isinstance(shape, list):
            return Tuple(tuple(var(s) for s in shape))
        return Var("x", shape if isinstance(shape, TensorType | TupleType) else TensorType(shape, dtype))

    return infer_expr(call(name, *map(var, shapes), **attributes)).checked_type


@pytest.mark.parametrize(
    "shape, newshape, expected",
    [
        ((2, 3, 4), (4, 0, 2), (4, 3, 2)),
        ((2, 3, 4), (6, 1, -1), (6, 1, 4)),
        ((2, 3, 4), (3, -1, 8), (3, 1, 8)),
        ((2, 3, 4), (-2,), (2, 3, 4)),
        ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1)),
        ((2, 3, 4), (-3, 4), (6, 4)),
        ((2, 3, 4, 5), (-3, -3), (6, 20)),
        ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
        ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)),
        ((ANY, 3, 4), (-3, 4), (ANY, 4)),
        ((ANY, 3), (0, -1), (ANY, 3)),
        ((4, ANY), (-1, 2), (ANY, 2)),
    ],
)
def test_codes_of_reshape(shape, newshape, expected):
    assert infer("reshape", shape, newshape=list(newshape)) == TensorType(expected)


def test_codes_are_matched_from_the_back():
    assert infer("reshape", (10, 5, 4), newshape=[-1, 0]).shape == (40, 5)
    assert infer("contrib_reverse_reshape", (10, 5, 4), newshape=[-1, 0]).shape == (50, 4)


def test_zero_is_a_dimension_where_allowed():
    assert infer("reshape", (0, 3), newshape=[3, 0], allowzero=True).shape == (3, 0)


def test_concatenation_of_unknown_dimensions():
    assert infer("concatenate", [(ANY, 3), (ANY, ANY)], axis=0).shape == (ANY, 3)
    assert infer("concatenate", [(1, 3), (1, ANY)], axis=0).shape == (2, ANY)


def test_symbolic_dimensions_stay_symbolic():
    n = DimVar("n")
    assert infer("transpose", (n, 3), axes=[1, 0]).shape == (3, n)
    assert infer("reshape", (n, 4), newshape=[-1, 2]).shape[0] is not ANY


@pytest.mark.parametrize("begin, end, stride", [(1, 4, 1), (-3, -1, 1), (4, 0, -1), (-1, -6, -2), (0, 99, 3)])
def test_strided_slice_is_numpys(begin, end, stride):
    x = np.arange(10).reshape(5, 2)
    out = run("strided_slice", x, begin=[begin], end=[end], strides=[stride], axes=[0])
    np.testing.assert_array_equal(out, x[begin:end:stride])


def test_strided_slice_by_sizes():
    x = np.arange(60).reshape(3, 4, 5)
    out = run("strided_slice", x, begin=[1, 0, 2], end=[-1, 2, 1], strides=[2, 2, 2], slice_mode="size", axes=None)
    np.testing.assert_array_equal(out, x[1:, :2, 2:3])


def test_layouts():
    layout = Layout.parse("NCHW16c")
    assert (len(layout), layout.primals, layout.factor("C"), layout.factor("H")) == (5, "NCHW", 16, -1)
    assert layout.index("c") == 4 and str(layout.split("H", 4, 2)) == "NCHW2h16c"
    assert str(Layout.parse("C").expand_primal(layout)) == "NHWC"
    assert convertible(layout, Layout.parse("NHWC")) and not convertible(layout, Layout.parse("NHW"))
    assert convert_shape((1, 10, 3, 3), "NCHW", "NCHW4c") == (1, 3, 3, 3, 4)
    assert convert_shape((1, 3, 3, 3, 4), "NCHW4c", "NHWC") == (1, 3, 3, 12)


@pytest.mark.parametrize("name", ["N4C", "NCHWc", "NCHW4w4k", "NC-W"])
def test_what_is_no_layout(name):
    with pytest.raises(LayoutError):
        Layout.parse(name)


@pytest.mark.parametrize(
    "source, target", [("OIHW", "OIHW4i8o"), ("OIHW", "HWOI2i4o2i"), ("OIHW4i8o", "OIHW2o4i"), ("OIHW", "IOHW")]
)
def test_conversion_reads_from_the_source_indices(source, target):
    x = np.arange(8 * 8 * 2 * 3).reshape(8, 8, 2, 3)
    x = convert(x, "OIHW", source)
    y = convert(x, source, target)
    assert y.shape == convert_shape(x.shape, source, target)
    np.testing.assert_array_equal(y, x[source_indices(np.indices(y.shape), source, target)])
    np.testing.assert_array_equal(convert(y, target, source), x)


def test_take_modes():
    x = np.array([10, 20, 30])
    indices = np.array([-1, 0, 5])
    np.testing.assert_array_equal(run("take", x, indices, axis=0, mode="clip"), [10, 10, 30])
    np.testing.assert_array_equal(run("take", x, indices, axis=0, mode="wrap"), [30, 10, 30])
    batched = run("take", np.array([[1, 2], [3, 4]]), np.array([[0, 0], [1, 1]]), axis=1, batch_dims=1)
    np.testing.assert_array_equal(batched, [[1, 1], [4, 4]])


def test_scatter_skips_what_is_out_of_range():
    x = np.zeros(3)
    np.testing.assert_array_equal(run("scatter", x, np.array([0, -1, 7]), np.array([1.0, 2.0, 3.0])), [1, 0, 2])
    np.testing.assert_array_equal(run("scatter_add", x, np.array([1, 1, -9]), np.array([1.0, 2.0, 3.0])), [0, 3, 0])


def test_scatter_nd():
    indices = np.array([[0, 1, 1], [1, 0, 0]])
    out = run("scatter_nd", np.zeros((2, 2), "int32"), indices, np.array([5, 6, 7], "int32"), mode="add")
    np.testing.assert_array_equal(out, [[0, 5], [13, 0]])


def test_matrix_set_diag_aligns():
    out = run(
        "matrix_set_diag", np.full((3, 4), 7), np.array([[0, 9, 1], [6, 5, 8], [1, 2, 3], [4, 5, 0]]), k1=-1, k2=2
    )
    np.testing.assert_array_equal(out, [[1, 6, 9, 7], [4, 2, 5, 1], [7, 5, 3, 8]])


@pytest.mark.parametrize(
    "method, mode, size, expected",
    [
        ("nearest_neighbor", "asymmetric", 8, [0, 0, 1, 1, 2, 2, 3, 3]),
        ("nearest_neighbor", "align_corners", 7, [0, 1, 1, 2, 2, 3, 3]),
        ("linear", "half_pixel", 8, [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]),
        ("linear", "align_corners", 7, [0, 0.5, 1, 1.5, 2, 2.5, 3]),
        ("linear", "asymmetric", 2, [0, 2]),
        ("linear", "half_pixel", 2, [0.5, 2.5]),
        ("linear", "pytorch_half_pixel", 1, [0]),
        ("cubic", "align_corners", 4, [0, 1, 2, 3]),
    ],
)
def test_resizing(method, mode, size, expected):
    x = np.arange(4, dtype="float32").reshape(1, 1, 4)
    out = run(
        "image.resize1d",
        x,
        size=[size],
        roi=[0.0, 0.0],
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method="",
    )
    np.testing.assert_allclose(out[0, 0], expected, atol=1e-6)


def test_grid_sample_of_the_identity_grid_is_the_image():
    image = np.random.default_rng(0).random((2, 3, 4, 5)).astype("float32")
    identity = np.tile(np.array([[1, 0, 0], [0, 1, 0]], "float32"), (2, 1, 1))
    grid = run("image.affine_grid", identity, target_shape=[4, 5])
    for method in ("bilinear", "nearest", "bicubic"):
        out = run("image.grid_sample", image, grid, method=method, padding_mode="border")
        np.testing.assert_allclose(out, image, atol=1e-4)


def test_suppression_keeps_the_best_of_overlapping_boxes():
    boxes = np.array(
        [
            [
                [0, 0.8, 1, 20, 25, 45],
                [1, 0.7, 30, 60, 50, 80],
                [0, 0.4, 4, 21, 19, 40],
                [2, 0.9, 35, 61, 52, 79],
                [1, 0.5, 100, 60, 70, 110],
            ]
        ],
        "float32",
    )
    scalars = np.int32(-1).reshape(()), np.float32(0.7).reshape(())
    indices = np.arange(5, dtype="int32")[None]
    inputs = boxes, np.array([4], "int32"), indices, *scalars
    selected, count = run("vision.non_max_suppression", *inputs, force_suppress=True, top_k=2)
    np.testing.assert_array_equal(selected, [[3, 0, -1, -1, -1]])
    assert count == [[2]]
    out = run("vision.non_max_suppression", *inputs, force_suppress=True, top_k=2, return_indices=False)
    np.testing.assert_array_equal(out[0, :2], boxes[0, [3, 0]])
    assert (out[0, 2:] == -1).all()


def test_roi_align_of_a_plane_is_its_value_at_the_bin_centres():
    y, x = np.mgrid[0:8, 0:8].astype("float32")
    plane = (2 * y + 3 * x)[None, None]
    roi = np.array([[0, 1, 1, 5, 5]], "float32")
    out = run("vision.roi_align", plane, roi, pooled_size=[2, 2], spatial_scale=1.0, sample_ratio=2)
    np.testing.assert_allclose(out[0, 0], [[2 * 2 + 3 * 2, 2 * 2 + 3 * 4], [2 * 4 + 3 * 2, 2 * 4 + 3 * 4]], atol=1e-5)


def test_space_and_batch_are_inverse():
    x = np.arange(2 * 4 * 6 * 3).reshape(2, 4, 6, 3)
    batches = run("nn.space_to_batch_nd", x, block_shape=[2, 3], paddings=[[0, 2], [3, 0]])
    np.testing.assert_array_equal(run("nn.batch_to_space_nd", batches, block_shape=[2, 3], crops=[[0, 2], [3, 0]]), x)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_space_and_depth_are_inverse(layout):
    x = np.arange(2 * 4 * 4 * 4).reshape(2, 4, 4, 4)
    deep = run("nn.space_to_depth", x, block_size=2, layout=layout)
    np.testing.assert_array_equal(run("nn.depth_to_space", deep, block_size=2, layout=layout), x)


def test_bits_are_packed_with_the_first_element_on_top():
    x = np.array([[1, 0, 0, 0, 0, 0, 2, 3]])
    out = run("nn.bitpack", x, bits=2, pack_axis=1, bit_axis=2, pack_type="uint8")
    np.testing.assert_array_equal(out, [[[0b10000001, 0b00000011]]])
