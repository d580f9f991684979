"""Models whose dimensions are lengths that only the run knows: they compute what a model with these numbers computes."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.driver.prepare import prepare
from irtool.interp.random_inputs import random_inputs
from irtool.ir import TensorType, post_order, tuple_leaves
from irtool.symbolic_int import SymbolicInt, symbolic, symbols_of, value_at

onnx = pytest.importorskip("onnx")
N, M = symbolic("n", 1, 16), symbolic("m", 1, 5)


def model(signature: str, body: str, opset: int = 17) -> bytes:
    text = f'<ir_version: 8, opset_import: ["": {opset}]> net {signature} {{ {body} }}'
    return onnx.parser.parse_model(text).SerializeToString()


def check_lengths(source: bytes, dims: Mapping[str, int]) -> None:
    """The module of lengths has no open extent, and at several lengths its values, and those of what builds make of it, are those of models
    pinned to them.
    """
    module, weights = irtool.from_onnx(source, dims=dims)
    types = [t for e in post_order(module["main"].body) if e.checked_type for t in tuple_leaves(e.checked_type)]
    assert all(t.is_static for t in types if isinstance(t, TensorType)), irtool.to_text(module)
    symbols = symbols_of(dims.values())
    built = prepare(module, weights)
    for pick in (lambda s: s.low, lambda s: min(s.low + 1, s.high), lambda s: min(s.low + 6, s.high), lambda s: s.high):
        numbers = {name: value_at(d, {s: pick(s) for s in symbols}) for name, d in dims.items()}
        pinned, same = irtool.from_onnx(source, dims=numbers)
        inputs = {p.name: v for p, v in zip(pinned["main"].params, random_inputs(pinned["main"], 1), strict=True)}
        expected = irtool.evaluate(pinned, inputs | same)
        for actual in (irtool.evaluate(module, inputs | weights), irtool.evaluate(built, inputs)):
            for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (actual, expected)), strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


CASES = {
    "a batch of sequences without first states": (
        "(float[m,n,2] x, float[2,12,2] w, float[2,12,3] r) => (float[a,2,b,3] y)",
        'y = LSTM<hidden_size = 3, direction = "bidirectional">(x, w, r)',
    ),
    "an extent that is the smaller of two": (
        "(float[n,4] x, float[1] z) => (float[a] y, float[b] u)",
        """s = Shape<start = 0, end = 1>(x)
        five = Constant<value = int64[1] {5}>()
        t = Min(s, five)
        y = Expand(z, t)
        v = Max(s, five)
        u = Expand(z, v)""",
    ),
    "a slice beyond the end": (
        "(float[n,4] x) => (float[a,4] y)",
        """begin = Constant<value = int64[1] {2}>()
        end = Constant<value = int64[1] {6}>()
        axes = Constant<value = int64[1] {0}>()
        y = Slice(x, begin, end, axes)""",
    ),
    "shape, gather, concat and reshape, as torch exports a view": (
        "(float[1,n,12] x) => (float[1,a,3,4] y)",
        """s = Shape(x)
        i = Constant<value = int64[1] {1}>()
        length = Gather(s, i)
        one = Constant<value = int64[1] {1}>()
        heads = Constant<value = int64[2] {3, 4}>()
        target = Concat<axis = 0>(one, length, heads)
        y = Reshape(x, target)""",
    ),
    "a remaining extent": (
        "(float[n,12] x) => (float[a,4] y)",
        "t = Constant<value = int64[2] {-1, 4}>() y = Reshape(x, t)",
    ),
    "a copied extent": (
        "(float[n,12] x) => (float[a,3,4] y)",
        "t = Constant<value = int64[3] {0, 3, 4}>() y = Reshape(x, t)",
    ),
    "a mask is broadcast where its shape is not -1": (
        "(float[1,n] x) => (float[2,a] y)",
        """s = Shape(x)
        wanted = Constant<value = int64[2] {2, -1}>()
        minus = Constant<value = int64[1] {-1}>()
        keeps = Equal(wanted, minus)
        target = Where(keeps, s, wanted)
        y = Expand(x, target)""",
    ),
    "positions up to the length": (
        "(float[n,3] x) => (int64[a] y)",
        """s = Shape(x)
        zero = Constant<value = int64 {0}>()
        one = Constant<value = int64 {1}>()
        length = Gather<axis = 0>(s, zero)
        y = Range(zero, length, one)""",
    ),
    "positions behind others": (
        "(float[n,3] x, float[m,3] z) => (int64[a] y)",
        """s = Shape(x)
        t = Shape(z)
        zero = Constant<value = int64 {0}>()
        two = Constant<value = int64 {2}>()
        past = Gather<axis = 0>(s, zero)
        more = Gather<axis = 0>(t, zero)
        end = Add(past, more)
        last = Add(end, more)
        y = Range(past, last, two)""",
    ),
    "the first rows of a table": (
        "(float[n,3] x) => (float[a,3] y)",
        """table = Constant<value = float[16,1] {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}>()
        s = Shape<start = 0, end = 1>(x)
        zero = Constant<value = int64[1] {0}>()
        rows = Slice(table, zero, s, zero)
        y = Mul(x, rows)""",
    ),
    "the half of a length, rounded": (
        "(float[n,4] x) => (float[a,2] y)",
        """s = Shape<start = 0, end = 1>(x)
        two = Constant<value = int64[1] {2}>()
        half = Div(s, two)
        rest = Mod(s, two)
        four = Constant<value = int64[1] {4}>()
        whole = Mul(half, four)
        more = Mul(rest, two)
        count = Add(whole, more)
        target = Concat<axis = 0>(count, two)
        y = Reshape(x, target)""",
        {"n": 2 * symbolic("n", 1, 8)},
    ),
    "a length in floats": (
        "(float[n,4] x) => (float[a,4] y)",
        """s = Shape<start = 0, end = 1>(x)
        f = Cast<to = 1>(s)
        by = Constant<value = float[1] {0.5}>()
        h = Mul(f, by)
        u = Ceil(h)
        count = Cast<to = 7>(u)
        zero = Constant<value = int64[1] {0}>()
        y = Slice(x, zero, count, zero)""",
    ),
    "a tensor of ones as large as another": (
        "(float[n,m] x) => (float[a,b] y)",
        "s = Shape(x) o = ConstantOfShape<value = float[1] {1.0}>(s) y = Add(x, o)",
    ),
    "the number of elements": (
        "(float[n,m] x) => (float[a] y)",
        """c = Size(x)
        z = Constant<value = int64[1] {0}>()
        t = Unsqueeze(c, z)
        y = Reshape(x, t)""",
    ),
    "the product of a shape": (
        "(float[n,m] x) => (float[a] y)",
        "s = Shape(x) t = ReduceProd<keepdims = 1, axes = [0]>(s) y = Reshape(x, t)",
    ),
    "the larger one of a length and its bound below": (
        "(float[n,2] x) => (float[a] y)",
        """s = Shape<start = 0, end = 1>(x)
        one = Constant<value = int64[1] {1}>()
        two = Constant<value = int64[1] {2}>()
        l = Max(s, one)
        c = Mul(l, two)
        y = Reshape(x, c)""",
    ),
    "parts of given extents": (
        "(float[n,4] x) => (float[a,4] y, float[b,4] z)",
        """s = Shape<start = 0, end = 1>(x)
        one = Constant<value = int64[1] {1}>()
        rest = Sub(s, one)
        parts = Concat<axis = 0>(one, rest)
        y, z = Split<axis = 0>(x, parts)""",
    ),
    "all but the last": (
        "(float[n,4] x) => (float[a,4] y)",
        """zero = Constant<value = int64[1] {0}>()
        last = Constant<value = int64[1] {-1}>()
        y = Slice(x, zero, last, zero)""",
    ),
    "repetitions as many as another's length": (
        "(float[1,4] x, float[n,3] z) => (float[a,4] y)",
        """s = Shape<start = 0, end = 1>(z)
        one = Constant<value = int64[1] {1}>()
        times = Concat<axis = 0>(s, one)
        y = Tile(x, times)""",
    ),
    "a length scales data": (
        "(float[n,4] x) => (float[n,4] y)",
        "s = Shape<start = 0, end = 1>(x) f = Cast<to = 1>(s) y = Div(x, f)",
    ),
    "rows flattened": ("(float[n,3,4] x) => (float[a,4] y)", "y = Flatten<axis = 2>(x)"),
    "images enlarged by a scale": (
        "(float[1,2,n,m] x) => (float[1,2,a,b] y)",
        """scales = Constant<value = float[4] {1.0, 1.0, 2.0, 3.0}>()
        y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , scales)""",
    ),
    "images in the size of others": (
        "(float[1,2,n,m] x, float[1,3,k,k] z) => (float[1,2,a,b] y)",
        """s = Shape(z)
        two = Constant<value = int64[1] {2}>()
        four = Constant<value = int64[1] {4}>()
        zero = Constant<value = int64[1] {0}>()
        size = Slice(s, two, four, zero)
        t = Shape(x)
        front = Slice(t, zero, two, zero)
        sizes = Concat<axis = 0>(front, size)
        y = Resize<mode = "linear", coordinate_transformation_mode = "half_pixel">(x, , , sizes)""",
        {"n": N, "m": M, "k": symbolic("k", 1, 7)},
    ),
    "convolution, pool and mean over all": (
        "(float[1,2,n] x, float[3,2,3] w) => (float[1,3,1] y)",
        """c = Conv<pads = [1, 1], strides = [2]>(x, w)
        p = MaxPool<kernel_shape = [3], pads = [1, 1], strides = [2]>(c)
        y = GlobalAveragePool(p)""",
    ),
    "attention over a length": (
        "(float[2,n,4] q, float[2,n,4] k, float[2,n,4] v) => (float[2,n,4] y)",
        """t = Transpose<perm = [0, 2, 1]>(k)
        scores = MatMul(q, t)
        p = Softmax<axis = -1>(scores)
        y = MatMul(p, v)""",
    ),
    "a recurrence over a length": (
        "(float[n,2,3] x, float[1,12,3] w, float[1,12,4] r) => (float[n,1,2,4] y, float[1,2,4] h)",
        "y, h = GRU<hidden_size = 4>(x, w, r)",
    ),
    "a recurrence in both directions": (
        "(float[n,2,3] x, float[2,16,3] w, float[2,16,4] r) => (float[n,2,2,4] y, float[2,2,4] h)",
        'y, h = LSTM<hidden_size = 4, direction = "bidirectional">(x, w, r)',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_pinned_models(name: str) -> None:
    signature, body, *dims = CASES[name]
    source = model(signature, body)
    names = {d.dim_param for i in onnx.load_from_string(source).graph.input for d in i.type.tensor_type.shape.dim}
    check_lengths(source, dims[0] if dims else {n: d for n, d in (("n", N), ("m", M)) if n in names})


def test_shapes_given_whole() -> None:
    source = model("(float[?,4] x) => (float[a] y)", "t = Constant<value = int64[1] {-1}>() y = Reshape(x, t)")
    module, _ = irtool.from_onnx(source, shapes={"x": (N, 4)})
    assert str(module["main"].ret_type) == "Tensor[(4 * n), float32]"
    assert irtool.evaluate(module, [np.ones((3, 4), "float32")]).shape == (12,)


def test_a_loop_is_not_written_out_by_the_bound() -> None:
    source = model(*CASES["a recurrence over a length"])
    few, many = (irtool.from_onnx(source, dims={"n": symbolic("n", 1, high)})[0] for high in (3, 1 << 20))
    assert len(irtool.to_text(few).splitlines()) == len(irtool.to_text(many).splitlines())


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("c = Equal(s, five) t = Where(c, two, s)", "n == 5"),
        ("c = Less(s, five) t = Where(c, two, s)", "n < 5"),
    ],
)
def test_a_shape_that_depends_on_an_uncertain_comparison_is_refused(body: str, words: str) -> None:
    source = model(
        "(float[n,4] x, float[1] z) => (float[a] y)",
        f"""s = Shape<start = 0, end = 1>(x)
        five = Constant<value = int64[1] {{5}}>()
        two = Constant<value = int64[1] {{2}}>()
        {body}
        y = Expand(z, t)""",
    )
    with pytest.raises(irtool.IrError, match="the shape of Expand depends on") as error:
        irtool.from_onnx(source, dims={"n": N})
    assert words in str(error.value)
    module, _ = irtool.from_onnx(source, dims={"n": symbolic("n", 6, 9)})  # where the outcome is certain
    assert isinstance(module["main"].ret_type.shape[0], int)


def test_a_comparison_of_lengths_is_data_where_no_shape_depends_on_it() -> None:
    source = model(
        "(float[n,4] x) => (float[n,4] y)",
        """s = Shape<start = 0, end = 1>(x)
        five = Constant<value = int64[1] {5}>()
        c = Less(s, five)
        zero = Constant<value = float[1] {0.0}>()
        y = Where(c, x, zero)""",
    )
    check_lengths(source, {"n": N})


def test_lengths_that_are_never_equal_do_not_meet() -> None:
    source = model("(float[n,4] x, float[m,4] z) => (float[n,4] y)", "y = Add(x, z)")
    with pytest.raises(irtool.IrError, match="n and m") as error:
        irtool.from_onnx(source, dims={"n": symbolic("n", 6, 16), "m": symbolic("m", 2, 5)})
    assert "the same name" in error.value.diagnostics[0].help
    both = symbolic("n", 1, 5)
    check_lengths(source, {"n": both, "m": both})


def test_a_shape_of_the_model_is_not_a_length() -> None:
    source = model("(float[16,4] x) => (float[16,4] y)", "y = Relu(x)")
    with pytest.raises(UsageError, match="cannot have"):
        irtool.from_onnx(source, shapes={"x": (N, 4)})
    assert not isinstance(irtool.from_onnx(source)[0]["main"].ret_type.shape[0], SymbolicInt)


EQUATIONS = {
    "sum": ("(float[n,3] x, float[m,3] z) => (float[a,3] y)", "y = Add(x, z)", lambda n, m: n == m),
    "concatenation": (
        "(float[n,3] x, float[m,3] z) => (float[a,6] y)",
        "y = Concat<axis = 1>(x, z)",
        lambda n, m: n == m,
    ),
    "pairs": (
        "(float[n,3] x, float[m,3] z) => (float[a,3] y)",
        "t = Constant<value = int64[3] {-1, 2, 3}>() p = Reshape(x, t) s = ReduceMax<axes = [1], keepdims = 0>(p) y = Add(s, z)",
        lambda n, m: n == 2 * m,
    ),
    "halves that meet the whole": (
        "(float[1,2,n] x, float[m,3] z) => (float[1,4,a] y, float[m,3] w)",
        """p = MaxPool<kernel_shape = [2], strides = [2]>(x)
        k = Constant<value = float[3] {1, 1, 2}>()
        roi = Constant<value = float[0] {}>()
        r = Resize<mode = "nearest">(p, roi, k)
        y = Concat<axis = 1>(x, r)
        w = Relu(z)""",
        lambda n, m: n % 2 == 0,
    ),
}
"""Models, and the numbers of their dimensions that they hold for."""


@pytest.mark.parametrize("name", EQUATIONS)
def test_dimensions_that_have_to_be_equal_are_checked_in_each_run(name: str) -> None:
    signature, body, holds = EQUATIONS[name]
    source = model(signature, body)
    notes: list[str] = []
    module, weights = irtool.from_onnx(source, dims={"n": "<=8", "m": "<=4"}, say=lambda d: notes.append(d.message))
    assert len([n for n in notes if n.endswith("in each run, or the shapes do not fit")]) >= 1
    artifact = irtool.build(module, weights, vector=False)
    for n, m in ((1, 1), (2, 1), (3, 3), (4, 2), (8, 4), (6, 1), (3, 4)):
        g = np.random.RandomState(n)
        numbers = {"n": n, "m": m}
        written = [s.split(",") for s in re.findall(r"\[([^]]*)\]", signature.split("=>")[0])]
        inputs = [g.randn(*(numbers.get(d) or int(d) for d in s)).astype("float32") for s in written]
        if holds(n, m):
            pinned, same = irtool.from_onnx(source, dims={"n": n, "m": m})
            expected = irtool.evaluate(pinned, {**dict(zip("xz", inputs, strict=True)), **same})
            for a, b in zip(
                *(v if isinstance(v, tuple) else (v,) for v in (artifact.run(inputs), expected)), strict=True
            ):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        else:
            with pytest.raises(IrError):
                artifact.run(inputs)


def named(source: bytes, **names: str) -> bytes:
    """The model with other names of dimensions: exporters write formulas, which the text of a model cannot have."""
    proto = onnx.load_model_from_string(source)
    for i in proto.graph.input:
        for d in i.type.tensor_type.shape.dim:
            if d.dim_param in names:
                d.dim_param = names[d.dim_param]
    return proto.SerializeToString()


FORMULA = model(
    "(float[past,3] x, float[seq,3] z, float[total,3] m) => (float[a,3] y)",
    "c = Concat<axis = 0>(x, z) y = Mul(c, m)",
)


@pytest.mark.parametrize("name", ["past + seq", "past+seq", "seq + past"])
def test_a_dimension_whose_name_is_a_formula_has_its_extent(name: str) -> None:
    source = named(FORMULA, total=name)
    pinned, _ = irtool.from_onnx(source, dims={"past": 4, "seq": 2})
    assert [str(p.type_annotation) for p in pinned["main"].params][-1] == "Tensor[(6, 3), float32]"
    module, weights = irtool.from_onnx(source, dims={"past": "<=4", "seq": "<=3"})
    artifact = irtool.build(module, weights, vector=False)
    assert [e["name"] for e in artifact.report["lengths"]] == ["past", "seq"]
    g = np.random.RandomState(1)
    for past, seq in ((1, 1), (4, 3), (2, 3)):
        x, z, m = (g.randn(n, 3).astype("float32") for n in (past, seq, past + seq))
        np.testing.assert_allclose(artifact.run([x, z, m]), np.concatenate((x, z)) * m, rtol=1e-6)
        with pytest.raises(ValueError, match="%m of @main is"):
            artifact.run([x, z, m[1:]])


@pytest.mark.parametrize(
    ("name", "dims"), [("past - seq", {"past": "<=4", "seq": "<=3"}), ("past + other", {"past": 4, "seq": 2})]
)
def test_other_names_of_dimensions_stay_open(name: str, dims: Mapping[str, int | str]) -> None:
    module, _ = irtool.from_onnx(named(FORMULA, total=name), dims=dims, open_extents=True)
    assert not module["main"].params[-1].type_annotation.is_static


def test_extents_that_are_given_count_more_than_formulas() -> None:
    with pytest.raises(IrError):
        irtool.from_onnx(named(FORMULA, total="past + seq"), dims={"past": 4, "seq": 2, "past + seq": 7})


def test_a_formula_beside_an_extent_that_values_decide() -> None:
    """A slice of as many rows as values choose, up to a formula of a length."""
    source = model(
        "(float[n,4] x, float[9] m, float[9,2] z) => (float[a,2] y)",
        """rows = NonZero(m)
        zero = Constant<value = int64[1] {0}>()
        one = Constant<value = int64[1] {1}>()
        two = Constant<value = int64[1] {2}>()
        row = Squeeze(rows, zero)
        chosen = Gather(z, row)
        s = Shape<start = 0, end = 1>(x)
        twice = Mul(s, two)
        end = Sub(twice, one)
        y = Slice(chosen, zero, end, zero)""",
    )
    module, _ = irtool.from_onnx(source, dims={"n": symbolic("n", 1, 4)})
    artifact = irtool.build(module)
    g = np.random.RandomState(0)
    z = g.rand(9, 2).astype("float32")
    for n in (1, 2, 4):
        for m in (np.zeros(9), np.eye(9)[3], np.ones(9)):
            x = g.rand(n, 4).astype("float32")
            expected = z[m > 0][: 2 * n - 1]
            np.testing.assert_array_equal(artifact.run({"x": x, "m": m.astype("float32"), "z": z}), expected)


def test_a_slice_whose_bounds_are_values_of_a_tensor_with_a_length() -> None:
    """An axis that is not sliced is taken whole, whatever its extent."""
    source = model(
        "(float[n,4] x, int64[1] b, int64[1] e) => (float[c,d] y)",
        "axes = Constant<value = int64[1] {1}>() y = Slice(x, b, e, axes)",
    )
    module, weights = irtool.from_onnx(source, dims={"n": "<=8"})
    artifact = irtool.build(module, params=weights)
    assert artifact.report["kernels"]
    for n, begin, end in ((1, 0, 4), (8, 1, 3), (5, -3, -1), (3, 2, 1)):
        x = np.arange(4 * n, dtype="float32").reshape(n, 4)
        np.testing.assert_array_equal(artifact.run([x, np.array([begin]), np.array([end])]), x[:, begin:end])
