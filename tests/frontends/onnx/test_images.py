"""Images in other sizes, sampled at points, and the boxes and regions in them."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.driver import unsupported
from tests.frontends.onnx.agreement import check, evaluated, inputs_of, parse

pytestmark = pytest.mark.promise("networks in ONNX")


def resize(attributes: str, scales: str = "", sizes: str = "", opset: int = 19, shape: str = "1,2,5,7") -> str:
    inputs = f"s = Constant<value = {scales or sizes}>()"
    call = f"Resize<{attributes}>(x, , s)" if scales else f"Resize<{attributes}>(x, , , s)"
    return f"net (float[{shape}] x) => (float[a,b,c,d] y) {{ {inputs} y = {call} }}"


RESIZES = {
    "cubic that ends beyond": resize('mode="cubic", cubic_coeff_a=-0.5', "float[4] {1, 1, 0.7, 1.3}"),
    "linear over all four axes": resize('mode="linear"', sizes="int64[4] {2, 3, 4, 9}"),
    "shrunk without aliases": resize('mode="linear", antialias=1, axes=[3,2]', sizes="int64[2] {3, 2}"),
    "cubic without what is outside": resize('mode="cubic", exclude_outside=1', sizes="int64[4] {1, 2, 8, 9}"),
    "half a pixel, symmetric": resize(
        'mode="linear", coordinate_transformation_mode="half_pixel_symmetric"', "float[4] {1, 1, 0.45, 1.6}"
    ),
    "as large as fits": resize(
        'mode="nearest", axes=[2,3], keep_aspect_ratio_policy="not_larger", nearest_mode="floor"',
        sizes="int64[2] {8, 8}",
    ),
}


@pytest.mark.parametrize("case", RESIZES)
def test_sizes(case: str) -> None:
    check(RESIZES[case], 19, 1e-4)


def test_what_image_resize_computes_it_computes() -> None:
    module = check(resize('mode="linear"', "float[4] {1, 1, 2, 2}"), 19)
    assert "image.resize2d" in irtool.to_text(module)


def test_what_is_less_than_a_pixel_beyond_the_last_is_beyond() -> None:
    attributes = 'mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0'
    graph = f"""net (float[1, 1, 1, 5] x) => (float[1, 1, 1, 4] y) {{
        r = Constant<value = float[8] {{0, 0, 0, 0.5, 1, 1, 1, 1.1}}>()
        s = Constant<value = int64[4] {{1, 1, 1, 4}}>()
        y = Resize<{attributes}>(x, r, , s)
    }}"""
    x = np.arange(5, dtype="float32").reshape(1, 1, 1, 5)
    (y,) = evaluated(parse(graph, 19), {"x": x})
    np.testing.assert_allclose(y.ravel(), [2, 2.8, 3.6, 9], rtol=1e-5)


def test_upsample_before_there_were_coordinates() -> None:
    graph = "net (float[1,1,2,2] x) => (float[a,b,c,d] y) { y = Upsample<scales=[1.0,1.0,2.0,3.0]>(x) }"
    x = np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
    (y,) = evaluated(parse(graph, 7), {"x": x})
    np.testing.assert_array_equal(y, x.repeat(2, 2).repeat(3, 3))


BOXES = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [0, 2, 1, 3], [0, 0, 1, 0.5]]], "float32")


@pytest.mark.parametrize("compiled", [False, True])
def test_boxes_of_negative_scores_are_suppressed_too(compiled: bool) -> None:
    graph = """net (float[1,4,4] boxes, float[1,1,4] scores, float[1] iou) => (int64[n,3] y) {
        most = Constant<value = int64[1] {4}>()
        y = NonMaxSuppression(boxes, scores, most, iou) }"""
    scores = np.array([[[-1, -2, -3, -0.5]]], "float32")
    inputs = {"boxes": BOXES, "scores": scores, "iou": np.array([0.5], "float32")}
    (y,) = evaluated(parse(graph), inputs, compiled)
    # Box 0 overlaps box 3 by exactly a half, which is not more than that; box 1 overlaps both by more.
    np.testing.assert_array_equal(y, [[0, 0, 3], [0, 0, 0], [0, 0, 2]])


@pytest.mark.parametrize(
    ("most", "expected"), [("2", [[0, 0, 3], [0, 0, 0]]), ("1", [[0, 0, 3]]), ("0", []), (None, [])]
)
def test_so_many_boxes_are_chosen_as_may_be(most: str | None, expected: list[list[int]]) -> None:
    constant = f"most = Constant<value = int64[1] {{{most}}}>()" if most else ""
    graph = f"""net (float[1,4,4] boxes, float[1,1,4] scores, float[1] iou) => (int64[n,3] y) {{
        {constant} y = NonMaxSuppression(boxes, scores, {"most" if most else ""}, iou) }}"""
    scores = np.array([[[-1, -2, -3, -0.5]]], "float32")
    (y,) = evaluated(parse(graph), {"boxes": BOXES, "scores": scores, "iou": np.array([0.5], "float32")})
    np.testing.assert_array_equal(y, np.array(expected, "int64").reshape(-1, 3))


def test_regions_of_less_than_a_pixel_are_sampled_where_they_are() -> None:
    graph = """net (float[2,3,6,7] x, float[2,4] rois, int64[2] n) => (float[a,b,c,d] y) {
        y = RoiAlign<output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.5>(x, rois, n) }"""
    model = parse(graph)
    rng = np.random.default_rng(0)
    inputs = {
        "x": rng.standard_normal((2, 3, 6, 7)).astype("float32"),
        "rois": np.array([[1, 2, 1.5, 2.5], [0, 1, 11, 9]], "float32"),
        "n": np.array([1, 0]),
    }
    from onnx.reference import ReferenceEvaluator

    np.testing.assert_allclose(evaluated(model, inputs)[0], ReferenceEvaluator(model).run(None, inputs)[0], 1e-4, 1e-5)


def test_a_size_that_is_computed_is_refused() -> None:
    graph = "net (float[1,2,5,7] x, float[4] s) => (float[a,b,c,d] y) { y = Resize(x, , s) }"
    with pytest.raises(IrError, match="must be known"):
        irtool.from_onnx(parse(graph))


@pytest.mark.parametrize(
    ("corners", "across", "down"),
    [(0, [-0.75, -0.25, 0.25, 0.75], [-2 / 3, 0, 2 / 3]), (1, [-1, -1 / 3, 1 / 3, 1], [-1, 0, 1])],
)
def test_where_an_affine_map_takes_pixels(corners: int, across: list[float], down: list[float]) -> None:
    """Extents of three rows and four columns go from -1 to 1: with the middles of the outermost pixels, or with their edges."""
    graph = f"""net (float[1, 2, 3] theta) => (float[a, b, c, d] y) {{
        size = Constant<value_ints = [1, 5, 3, 4]>()
        y = AffineGrid<align_corners = {corners}>(theta, size) }}"""
    theta = np.array([[[2, 10, 100], [-1, 20, 200]]], "float32")
    (actual,) = evaluated(parse(graph, 20), {"theta": theta})
    x, y = np.meshgrid(across, down)
    expected = np.stack([2 * x + 10 * y + 100, 20 * y - x + 200], -1)[None]
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


SUPPRESSED = """net (float[1, 8, 4] b, float[8] s) => (int64[n, 3] y) {{
    limit = Constant<value = float[1] {{-0.3}}>()
    chosen = Greater(s, limit)
    at = NonZero(chosen)
    first = Constant<value_ints = [0]>()
    places = Squeeze(at, first)
    boxes = Gather<axis = 1>(b, places)
    kept = Gather(s, places)
    axes = Constant<value_ints = [0, 1]>()
    scores = Unsqueeze(kept, axes)
    most = Constant<value = int64[1] {{5}}>()
    overlap = Constant<value = float[1] {{0.4}}>()
    y = NonMaxSuppression(boxes, scores, most, overlap{threshold})
}}"""


@pytest.mark.parametrize("threshold", ["", ", limit"])
def test_suppression_among_boxes_whose_number_follows_from_scores(threshold: str) -> None:
    """As torchvision's detectors do it: boxes of a score that is large enough, negative ones among them."""
    module = check(SUPPRESSED.format(threshold=threshold))
    assert not unsupported(module)


COMPUTED = """net (float[1, 2, 5, 7] x, int64[2] size, int64[4] whole) => (float[a, b, c, d] y) {{
    shape = Shape(x)
    zero = Constant<value_ints = [0]>()
    two = Constant<value_ints = [2]>()
    front = Slice(shape, zero, two)
    all = Concat<axis = 0>(front, size)
    y = Resize<{}>(x, , , {})
}}"""


@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ('mode = "linear"', "all"),
        ('mode = "linear", axes = [2, 3]', "size"),
        ('mode = "cubic", coordinate_transformation_mode = "pytorch_half_pixel"', "all"),
        ('mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"', "all"),
    ],
)
def test_resize_to_a_height_and_width_that_are_computed(attributes: str, sizes: str) -> None:
    """As torchvision pastes masks into boxes."""
    from onnx.reference import ReferenceEvaluator

    model = parse(COMPUTED.format(attributes, sizes), 18)
    inputs = {**inputs_of(model), "size": np.array([8, 3]), "whole": np.array([1, 2, 8, 3])}
    (expected,) = ReferenceEvaluator(model).run(None, inputs)
    (actual,) = evaluated(model, inputs)
    np.testing.assert_allclose(actual, expected, 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ('mode = "linear"', "whole"),
        ('mode = "linear", axes = [3, 2]', "size"),
        ('mode = "linear", antialias = 1', "all"),
        ('mode = "linear", keep_aspect_ratio_policy = "not_larger"', "all"),
    ],
)
def test_resize_to_other_computed_sizes_is_refused(attributes: str, sizes: str) -> None:
    """Whatever may change the batch, or is more than Relay's operator computes."""
    with pytest.raises(IrError, match="the sizes of Resize is computed while the program runs"):
        irtool.from_onnx(parse(COMPUTED.format(attributes, sizes), 18))
