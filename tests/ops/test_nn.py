"""Neural-network and quantized operators: the inferred type is the type of what the reference returns, compiled code
agrees with the reference, and references agree with plain loops over their definition."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.diagnostics import IrError
from irtool.infer import infer_expr, infer_types
from irtool.ir import Constant, Function, Module, Tuple, Var
from irtool.ops import call, operators
from irtool.ops.nn.convolve import convolve, convolve_transposed, convolve_weight_gradient
from irtool.ops.qnn.fixed_point import fixed_point_multiply, multiplier_and_shift, requantize
from tests.ops.layers import ALL, CASES, QUANTIZED, convolutions, type_of

LABELS = [f"{name}-{i}" for i, (name, _, _) in enumerate(ALL)]


def constant(value):
    return Tuple(tuple(map(constant, value))) if isinstance(value, tuple) else Constant(value)


def reference(name, arguments, attributes):
    return operators.get(name).make(attributes).evaluate(*arguments)


@pytest.mark.parametrize(("name", "arguments", "attributes"), ALL, ids=LABELS)
def test_type_is_the_references(name, arguments, attributes):
    inferred = infer_expr(call(name, *map(constant, arguments), **attributes)).checked_type
    assert inferred == type_of(reference(name, arguments, attributes))


def leaves(value):
    return [x for v in value for x in leaves(v)] if isinstance(value, tuple | list) else [value]


@pytest.mark.promise("agreement")
@pytest.mark.parametrize("opt_level", [0, 3])
def test_compiled_code_agrees_with_the_references(opt_level, tmp_path):
    """Without passes; and with all of them those whose result has a layout of its own, in blocks that it may not fill."""
    params, results, inputs = [], [], []
    cases = CASES if opt_level == 0 else [c for c in CASES if "out_layout" in c[2]]
    for n, (name, arguments, attributes) in enumerate(cases):
        mine = [Var(f"x{n}_{i}", type_of(a)) for i, a in enumerate(arguments)]
        params += mine
        inputs += arguments
        results.append(call(name, *mine, **attributes))
    module = infer_types(Module({"main": Function(tuple(params), Tuple(tuple(results)))}))
    got = irtool.build(module, opt_level=opt_level, out_dir=tmp_path).run(inputs)
    for (name, arguments, attributes), out in zip(cases, got, strict=True):
        want = leaves(reference(name, arguments, attributes))
        for w, g in zip(want, leaves(out), strict=True):
            assert g.shape == w.shape, name
            if w.dtype.kind == "f":
                tolerance = 1e-2 if w.dtype.itemsize == 2 else 2e-4
                np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance, err_msg=name)
            else:
                np.testing.assert_array_equal(g, w, err_msg=name)


@pytest.mark.parametrize("math", ["fast", "strict"])
def test_compiled_quantized_code_is_bit_exact(math):
    """Sums of floats are exact with strict arithmetic only: otherwise they are fused and reordered."""
    params, results, inputs = [], [], []
    for n, (name, arguments, attributes) in enumerate(QUANTIZED):
        parts = leaves(arguments[0])
        mine = [Var(f"x{n}_{i}", type_of(a)) for i, a in enumerate(parts)]
        params += mine
        inputs += parts
        data = Tuple(tuple(mine)) if isinstance(arguments[0], tuple) else mine[0]
        results.append(call(name, data, *map(constant, arguments[1:]), **attributes))
    module = infer_types(Module({"main": Function(tuple(params), Tuple(tuple(results)))}))
    got = irtool.build(module, math=math).run(inputs)
    for (name, arguments, attributes), out in zip(QUANTIZED, got, strict=True):
        for want, g in zip(leaves(reference(name, arguments, attributes)), leaves(out), strict=True):
            assert g.dtype == want.dtype, name
            tolerance = 1e-4 if want.dtype.kind == "f" and math == "fast" else 0
            np.testing.assert_allclose(g, want, rtol=tolerance, atol=tolerance, err_msg=name)


def naive_convolution(x, w, strides, pads, dilation, groups):
    """The definition, element by element, in float64."""
    padded = np.pad(x.astype("float64"), [(0, 0), (0, 0), *pads])
    outputs, depth, *kernel = w.shape
    out = [
        (n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(padded.shape[2:], kernel, strides, dilation, strict=True)
    ]
    y = np.zeros((x.shape[0], outputs, *out))
    for n, o, *position in np.ndindex(*y.shape):
        first = o // (outputs // groups) * depth
        for c, *tap in np.ndindex(depth, *kernel):
            where = [a * s + t * d for a, s, t, d in zip(position, strides, tap, dilation, strict=True)]
            y[(n, o, *position)] += padded[(n, first + c, *where)] * w[(o, c, *tap)]
    return y


@pytest.mark.parametrize(
    ("shape", "weights", "strides", "pads", "dilation", "groups"),
    [
        ((2, 4, 5, 6), (6, 2, 3, 2), (2, 1), ((1, 0), (0, 2)), (1, 2), 2),
        ((1, 4, 5, 5), (8, 1, 3, 3), (1, 2), ((1, 1), (1, 1)), (1, 1), 4),
        ((1, 3, 7), (2, 3, 3), (2,), ((1, 2),), (2,), 1),
        ((1, 2, 3, 4, 5), (2, 2, 2, 2, 2), (1, 1, 2), ((0, 1), (0, 0), (1, 1)), (1, 1, 1), 1),
    ],
)
def test_convolution_is_its_definition_and_the_gradients_are_its_adjoints(
    shape, weights, strides, pads, dilation, groups
):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(shape), rng.standard_normal(weights)
    y = convolve(x, w, strides, pads, dilation, groups, "float64")
    np.testing.assert_allclose(y, naive_convolution(x, w, strides, pads, dilation, groups), atol=1e-12)
    g = rng.standard_normal(y.shape)
    kernel = weights[2:]
    rest = [
        (n + sum(p) - (k - 1) * d - 1) % s
        for n, p, k, d, s in zip(shape[2:], pads, kernel, dilation, strides, strict=True)
    ]
    back = convolve_transposed(g, w, strides, pads, rest, dilation, groups, "float64")
    assert back.shape == shape
    np.testing.assert_allclose((back * x).sum(), (g * y).sum())
    by_weights = convolve_weight_gradient(g, x, kernel, strides, pads, dilation, groups, "float64")
    np.testing.assert_allclose((by_weights * w).sum(), (g * y).sum())


def test_integer_convolution_wraps_like_its_dtype():
    x = np.full((1, 64, 3, 3), 127, "int8")
    w = np.full((1, 64, 3, 3), 127, "int8")
    exact = 127 * 127 * 64 * 9
    assert convolve(x, w, (1, 1), ((0, 0),) * 2, (1, 1), 1, "int32").item() == exact
    assert convolve(x, w, (1, 1), ((0, 0),) * 2, (1, 1), 1, "int8").item() == np.int64(exact).astype("int8")


@pytest.mark.parametrize("tile", [2, 3, 4, 6])
def test_winograd_convolves(tile):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1, 3, 9, 8)).astype("float32")
    w = rng.standard_normal((5, 3, 3, 3)).astype("float32")
    packed = reference("nn.contrib_conv2d_winograd_weight_transform", [w], {"tile_size": tile})
    attributes = {"padding": [1, 1], "channels": 5, "kernel_size": [3, 3]}
    got = reference(
        "nn.contrib_conv2d_winograd_without_weight_transform", [x, packed], {"tile_size": tile, **attributes}
    )
    np.testing.assert_allclose(got, reference("nn.conv2d", [x, w], attributes), atol=1e-4)


def test_deformable_convolution_without_offsets_is_a_convolution():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1, 4, 6, 6)).astype("float32")
    w = rng.standard_normal((3, 4, 3, 3)).astype("float32")
    still = np.zeros((1, 18, 6, 6), "float32")
    got = reference("nn.deformable_conv2d", [x, still, w], {"padding": [1, 1]})
    np.testing.assert_allclose(got, reference("nn.conv2d", [x, w], {"padding": [1, 1]}), atol=1e-5)


def test_deformable_convolution_fades_out_beyond_the_last_row():
    x, w = np.ones((1, 1, 3, 3), "float32"), np.ones((1, 1, 1, 1), "float32")
    for move, row in ((0.25, [1, 1, 0.75]), (-0.25, [0, 1, 1]), (1.0, [1, 1, 0])):
        offset = np.zeros((1, 2, 3, 3), "float32")
        offset[:, 0] = move
        got = reference("nn.deformable_conv2d", [x, offset, w], {})
        np.testing.assert_allclose(got[0, 0, :, 0], row)


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
@pytest.mark.parametrize("factor", [1.0, 0.5, 0.25, 3.0, 0.3, 1e-6, 1e-12, 700.0])
def test_fixed_point_multiplication_rounds_exactly(rounding, factor):
    multiplier, shift = multiplier_and_shift(factor)
    for x in itertools.chain(range(-40, 41), (-(2**20), 2**20 - 1)):
        exact, bits = x * multiplier, 31 - shift
        if rounding == "UPWARD" or exact >= 0:
            want = (exact + (1 << (bits - 1))) >> bits
        else:
            want = -((-exact + (1 << (bits - 1))) >> bits)
        assert int(fixed_point_multiply(np.array(x, "int32"), np.array(factor), rounding)) == want


def test_requantize_to_the_same_scale_changes_nothing():
    x = np.arange(-128, 128, dtype="int8")
    scale, zero = np.float32(0.37), np.int32(5)
    assert (requantize(x, scale, zero, scale, zero, "int8") == x).all()


@settings(max_examples=150, deadline=None)
@given(convolutions())
def test_type_of_a_convolution_is_the_references(case):
    name, arguments, attributes = case
    inferred = infer_expr(call(name, *map(constant, arguments), **attributes)).checked_type
    assert inferred == type_of(reference(name, arguments, attributes))


@st.composite
def pools(draw):
    """Pooling of drawn rank, layout and geometry, with its argument."""
    rank = draw(st.integers(1, 3))
    letters = "DHW"[3 - rank :]
    layout = draw(st.permutations("NC" + letters).map("".join))
    kernel = draw(st.tuples(*[st.integers(1, 3)] * rank))
    dilation = draw(st.tuples(*[st.integers(1, 2)] * rank))
    sizes = [draw(st.integers(max(1, (k - 1) * d + 1), 8)) for k, d in zip(kernel, dilation, strict=True)]
    attributes = {
        "pool_size": kernel,
        "strides": draw(st.tuples(*[st.integers(1, 3)] * rank)),
        "dilation": dilation,
        "padding": draw(st.tuples(*[st.integers(0, k - 1) for k in kernel * 2])),
        "layout": layout,
        "ceil_mode": draw(st.booleans()),
    }
    kind = draw(st.sampled_from(["max", "avg"]))
    if kind == "avg":
        attributes["count_include_pad"] = draw(st.booleans())
    extents = {"N": 2, "C": 3, **dict(zip(letters, sizes, strict=True))}
    dtype = draw(st.sampled_from(["float32", "int8", "float16"]))
    data = np.random.default_rng(0).integers(-99, 99, [extents[c] for c in layout]).astype(dtype)
    return f"nn.{kind}_pool{rank}d", data, attributes


@settings(max_examples=150, deadline=None)
@given(pools())
def test_type_of_a_pool_is_the_references(case):
    name, data, attributes = case
    inferred = infer_expr(call(name, constant(data), **attributes)).checked_type
    assert inferred == type_of(reference(name, [data], attributes))


SPOILT = st.sampled_from(
    [0, -1, 2, 7, 2**40, "NHWC", "NCHW3c", "XY", "", [], [0, 0], [1, 1, 1], [-3, 1], None, 0.5, True]
)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_spoilt_call_is_accepted_or_refused_with_a_diagnostic(data):
    name, arguments, attributes = data.draw(st.sampled_from(ALL))
    fields = [f.name for f in operators.get(name).fields()]
    spoilt = dict(attributes)
    if fields and data.draw(st.booleans()):
        spoilt[data.draw(st.sampled_from(fields))] = data.draw(SPOILT)
    else:
        arguments = list(arguments)
        i = data.draw(st.integers(0, len(arguments) - 1))
        arguments[i] = data.draw(st.sampled_from([real_scalar, real_matrix, (real_matrix,), *arguments]))
    try:
        infer_expr(call(name, *map(constant, arguments), **spoilt))
    except IrError as error:
        assert len(str(error)) > 10


real_scalar = np.array(1, "float32")
real_matrix = np.ones((3, 4), "float32")
