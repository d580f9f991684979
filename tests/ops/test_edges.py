"""Numbers at the edges, operator by operator: the interpreter and C, with vectors and without, do what `docs/language.md` says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir.values import value_leaves
from irtool.ops import operators
from irtool.ops.dtypes import numpy_dtype
from irtool.passes.core.bind import bind_params

pytestmark = [pytest.mark.promise("NaN and overflow"), pytest.mark.usefixtures("keeps_denormals")]

INTEGERS = tuple(f"{s}int{n}" for s in ("", "u") for n in (8, 16, 32, 64))
DTYPES = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64")
BOTH = pytest.mark.parametrize("vector", [True, False], ids=["vector", "scalar"])
NAN, INF = np.nan, np.inf


def both(text: str, inputs: list[Any], vector: bool = True, **options: Any) -> tuple[list[Any], list[Any]]:
    """The leaves of the results of a program in the interpreter and in C; one that is a dict of weights comes first."""
    module = irtool.parse(text)
    if inputs and isinstance(inputs[0], dict):
        module = bind_params(module, inputs[0])
        inputs = inputs[1:]
    module = irtool.infer_types(module)
    want = irtool.evaluate(module, inputs)
    got = irtool.build(module, vector=vector, **options).run(inputs)
    return list(value_leaves(want)), list(value_leaves(got))


def typed(x: np.ndarray) -> str:
    return f"Tensor[({', '.join(map(str, x.shape))}), {x.dtype}]"


def edges(dtype: str) -> np.ndarray:
    """48 numbers of the dtype: its ends, those of others, what is between."""
    if dtype == "bool":
        return np.resize(np.array([True, False, True]), 48)
    if "int" in dtype:
        ends = np.iinfo(dtype)
        some = {ends.min, ends.min + 1, ends.max, ends.max - 1, ends.max // 2, ends.max // 2 + 1, 0, 1, 2, 3, 7, 100}
        some |= {v for n in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63) for d in (-1, 0, 1) for v in (2**n + d, -(2**n) + d)}
        return np.resize(np.array(sorted(v for v in some if ends.min <= v <= ends.max)[-48:], dtype), 48)
    powers = [2.0**n for n in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64)]
    some_floats = [
        NAN,
        INF,
        -INF,
        -0.0,
        0.0,
        0.5,
        -0.5,
        1.5,
        -1.5,
        2.5,
        1e-45,
        -1e-39,
        65504.0,
        65520.0,
        3.4e38,
        -3.4e38,
        1e308,
    ]
    some_floats += [s * p for p in powers for s in (1, -1)] + [p * (1 - 2**-8) for p in powers] + [255.5]
    with np.errstate(over="ignore"):
        return np.array(some_floats[:48]).astype(numpy_dtype(dtype))


def same_bits(got: np.ndarray, want: np.ndarray) -> bool:
    """The same bits; any NaN is NaN."""
    if want.dtype.kind in "iub":
        return bool((got == want).all())
    nan = np.isnan(want.astype("float64"))
    kind = f"uint{8 * want.dtype.itemsize}"
    return bool((np.isnan(got.astype("float64")) == nan).all() and (got.view(kind) == want.view(kind))[~nan].all())


@BOTH
def test_casts_of_every_pair_of_dtypes(vector: bool) -> None:
    inputs = [edges(d) for d in DTYPES]
    params = ", ".join(f"%x{i}: {typed(x)}" for i, x in enumerate(inputs))
    casts = [f'cast(%x{i}, dtype="{d}")' for i in range(len(inputs)) for d in DTYPES]
    want, got = both(f"def @main({params}) {{ ({', '.join(casts)}) }}", inputs, vector, opt_level=0)
    assert len(want) == len(DTYPES) ** 2
    for n, (w, g) in enumerate(zip(want, got, strict=True)):
        source, target = DTYPES[n // len(DTYPES)], DTYPES[n % len(DTYPES)]
        assert same_bits(g, w), f"{source} to {target}: of {inputs[n // len(DTYPES)]} {g} is not {w}"


@BOTH
def test_casts_of_constants(vector: bool) -> None:
    """Folded where the program is built, they are what they are when it runs."""
    numbers = (2.5, -1.0, -1e10, 3e9, 1e19, 1e30, NAN, INF, -INF)
    casts = [f'cast({_literal(v)}, dtype="{d}")' for v in numbers for d in DTYPES]
    text = f"def @main() {{ ({', '.join(casts)}) }}"
    for level in (0, 3):
        want, got = both(text, [], vector, opt_level=level)
        assert all(map(same_bits, got, want))


def _literal(value: float) -> str:
    return f"{value!r}f"


REAL = [
    c.name
    for c in operators
    if c.__module__ == "irtool.ops.unary" and not c.name.startswith(("is", "bitwise", "logical"))
]


@BOTH
def test_functions_of_integers(vector: bool) -> None:
    """Computed in double precision and cut back: infinities and what does not fit are the least number, NaN too."""
    inputs = [edges(d) for d in INTEGERS]
    params = ", ".join(f"%x{i}: {typed(x)}" for i, x in enumerate(inputs))
    calls = [(name, i) for name in REAL for i in range(len(inputs))]
    text = f"def @main({params}) {{ ({', '.join(f'{n}(%x{i})' for n, i in calls)}) }}"
    want, got = both(text, inputs, vector, opt_level=0)
    for (name, i), w, g in zip(calls, want, got, strict=True):
        # The last digit of a double is beyond 2^53, where several integers round to one.
        near = np.abs(w.astype("float64") - g.astype("float64")) <= 1e-12 * np.abs(w.astype("float64"))
        assert near.all(), f"{name} of {inputs[i][~near]} ({INTEGERS[i]}): {g[~near]} is not {w[~near]}"


@BOTH
def test_whole_results_of_integers_are_exact(vector: bool) -> None:
    """No result that is whole is cut to the number below it."""
    x = np.array([1, 2, 4, 8, 1024, 2**20, 10, 100, 1000, 10**6, 9, 144, 10**8, 2**30], "int32")
    text = f"def @main(%x: {typed(x)}) {{ (log2(%x), log10(%x), sqrt(%x), abs(%x), round(%x)) }}"
    want, got = both(text, [x], vector)
    assert all(map(same_bits, got, want))
    assert want[0][[0, 1, 2, 3, 4, 5]].tolist() == [0, 1, 2, 3, 10, 20]
    assert want[1][[6, 7, 8, 9]].tolist() == [1, 2, 3, 6]


@BOTH
@pytest.mark.parametrize("name", ["fast_erf", "fast_tanh", "fast_exp", "erf", "tanh", "exp"])
def test_fast_functions_of_special_numbers(name: str, vector: bool) -> None:
    x = np.resize(np.array([NAN, INF, -INF, 0.0, -0.0, 1e30, -1e30, 1.0, 88.0, -104.0], "float32"), 40)
    (want,), (got,) = both(f"def @main(%x: {typed(x)}) {{ {name}(%x) }}", [x], vector)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert np.isnan(want[0])
    limit = {"exp": (INF, 0.0)}.get(name.removeprefix("fast_"), (1.0, -1.0))
    if name != "fast_exp":  # an approximation that does not overflow
        np.testing.assert_allclose(want[1:3], limit, rtol=1e-3)


@pytest.mark.parametrize("name", ["nn.softmax", "nn.log_softmax", "nn.fast_softmax"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16"])
def test_softmax_of_whole_numbers_is_refused(name: str, dtype: str) -> None:
    with pytest.raises(IrError, match="floating-point") as caught:
        irtool.infer_types(irtool.parse(f"def @main(%x: Tensor[(2, 3), {dtype}]) {{ {name}(%x) }}"))
    assert caught.value.diagnostics[0].span is not None


@BOTH
@pytest.mark.parametrize("score", ["ties", "nan"])
def test_ties_of_boxes(score: str, vector: bool) -> None:
    """Equal scores stand in the order that they came in; a score that is NaN is none; equality with the threshold removes."""
    rng = np.random.default_rng(3)
    boxes = np.zeros((2, 12, 6), "float32")
    boxes[..., 0] = rng.integers(0, 2, (2, 12))
    boxes[..., 1] = rng.choice([0.5, 0.5, 0.25, 0.75], (2, 12))
    corner = rng.integers(0, 3, (2, 12, 2))
    boxes[..., 2:4], boxes[..., 4:6] = corner, corner + 2
    if score == "nan":
        boxes[0, 3, 1] = boxes[1, 0, 1] = NAN
        boxes[0, 5, 2], boxes[1, 7, 4] = INF, NAN
    valid, indices = np.array([12, 9], "int32"), np.resize(np.arange(12, dtype="int32"), (2, 12))
    params = f"%x: {typed(boxes)}, %v: {typed(valid)}, %i: {typed(indices)}"
    calls = [
        f"vision.non_max_suppression(%x, %v, %i, {most}, {iou}f, force_suppress={force}, top_k={top}, return_indices={named}, invalid_to_bottom=True)"
        for most in (-1, 3)
        for iou in (1 / 7, 0.5, 1.0)
        for force in (True, False)
        for top, named in ((-1, True), (4, False))
    ]
    kinds = ", ".join(calls)
    want, got = both(f"def @main({params}) {{ ({kinds}) }}", [boxes, valid, indices], vector, opt_level=0)
    for n, (w, g) in enumerate(zip(want, got, strict=True)):
        np.testing.assert_array_equal(g, w, err_msg=f"result {n}")


@BOTH
def test_wide_counts_of_boxes(vector: bool) -> None:
    """Counts and names of boxes are int32, wider ones wrap, before they are looked at."""
    wide = np.array([2**63 - 2, 2**32 + 1, 2**31, 3], "int64")
    rng = np.random.default_rng(4)
    boxes = rng.uniform(0, 1, (2, 4, 6)).astype("float32")
    valid, indices, most = np.array([2**32 + 3, 4], "int64"), np.stack([wide, wide[::-1]]), np.int64(2**32 + 2)
    params = f"%x: {typed(boxes)}, %v: {typed(valid)}, %i: {typed(indices)}, %m: int64, %b: Tensor[(1, 4, 4), float32], %s: Tensor[(1, 1, 4), float32]"
    calls = [f"vision.non_max_suppression(%x, %v, %i, %m, {iou}f, force_suppress=True)" for iou in (0.5, 1.0)]
    calls += ["vision.all_class_non_max_suppression(%b, %s, %m, 0.9f, 0f)"]
    inputs = [boxes, valid, indices, most, boxes[:1, :, 2:], boxes[:1, :, 0].reshape(1, 1, 4)]
    want, got = both(f"def @main({params}) {{ ({', '.join(calls)}) }}", inputs, vector, opt_level=0)
    for n, (w, g) in enumerate(zip(want, got, strict=True)):
        np.testing.assert_array_equal(g, w, err_msg=f"result {n}")


HOSTILE_SCALES = (NAN, INF, -INF, 0.0, -1.0, 1e-30, 1e30)


@pytest.mark.parametrize("scale", HOSTILE_SCALES)
def test_quantized_operators_at_hostile_scales(scale: float) -> None:
    """What is computed in floats takes any scale, by the rules of `clip` and `cast`; what is computed in fixed point refuses
    factors that are none (`test_refusals`)."""
    x = np.arange(-24, 24, dtype="int8")
    real = np.resize(np.array([NAN, INF, -INF, 0, -0.0, 1, -1, 1e30, 0.5, 2.5, -2.5], "float32"), 48)
    weights = {"s": np.array(scale, "float32"), "z": np.array(3, "int32")}
    quantized = [
        f"qnn.{n}(%x, 0.5f, 1, %s, %z)" for n in ("tanh", "exp", "sqrt", "rsqrt", "erf", "sigmoid", "log", "abs")
    ]
    quantized += [
        f"qnn.{n}(%x, %s, %z, 0.5f, 1)"
        for n in ("tanh", "exp", "sqrt", "rsqrt", "erf", "sigmoid", "log", "abs", "hardswish")
    ]
    quantized += [f'qnn.quantize(%r, %s, %z, out_dtype="{d}")' for d in ("int8", "uint8", "int16", "int32")]
    quantized += [
        "qnn.dequantize(%x, %s, %z)",
        "qnn.simulated_quantize(%r, 1, %s, 2f)",
        "qnn.simulated_dequantize(%r, 1, %s, 2f)",
    ]
    text = f"def @main(%x: {typed(x)}, %r: {typed(real)}, %s: float32, %z: int32) {{ ({', '.join(quantized)}) }}"
    for level in (1, 3):
        want, got = both(text, [weights, x, real], opt_level=level)
        for call, w, g in zip(quantized, want, got, strict=True):
            if w.dtype.kind == "i":  # a last digit of a function may round to another whole number
                assert (np.abs(w.astype("int64") - g.astype("int64")) <= 1).all(), f"{call}: {g} is not {w}"
            else:
                np.testing.assert_allclose(g, w, rtol=1e-5, err_msg=call)


CONVOLUTIONS = {
    "plain": "nn.conv2d(%x, %w, padding=[1, 1], channels=5, kernel_size=[3, 3])",
    "strided": "nn.conv2d(%x, %w, strides=[2, 2], channels=5, kernel_size=[3, 3])",
    "scaled": "multiply(nn.conv2d(%x, %w, padding=[1, 1], channels=5, kernel_size=[3, 3]), %s)",
    "fused": "nn.relu(add(nn.conv2d(%x, %w, padding=[1, 1], channels=5, kernel_size=[3, 3]), %s))",
}
WINOGRAD = "nn.contrib_conv2d_winograd_without_weight_transform(%x, nn.contrib_conv2d_winograd_weight_transform(%w, tile_size={tile}), tile_size={tile}, padding=[1, 1], channels=5, kernel_size=[3, 3])"
CONVOLUTIONS |= {f"winograd {tile}": WINOGRAD.format(tile=tile) for tile in (2, 4)}


@pytest.mark.parametrize("opt_level", [0, 3])
@BOTH
def test_infinities_in_convolutions(vector: bool, opt_level: int) -> None:
    """Products with zeros are formed: an infinite element makes NaN where a zero meets it, in Winograd's transforms, too."""
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(1, 16, 9, 9)).astype("float32"), rng.normal(size=(5, 16, 3, 3)).astype("float32")
    s = np.array([1, 2, 0.5, -1, 0], "float32").reshape(5, 1, 1)
    x[0, 3, 4, 5], x[0, 0, 0, 0], x[0, 7, 8, 1], w[1, 2, 0, 0] = INF, -INF, NAN, INF
    params = f"%x: {typed(x)}, %w: {typed(w)}, %s: {typed(s)}"
    text = f"def @main({params}) {{ ({', '.join(CONVOLUTIONS.values())}) }}"
    want, got = both(text, [{"w": w, "s": s}, x], vector, opt_level=opt_level)
    for name, a, b in zip(CONVOLUTIONS, want, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-3, atol=2e-3, err_msg=name)


PADDED = (
    'nn.conv2d(%x, %w, padding=[1, 1], groups=32, channels=32, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWOI")',
    'nn.conv2d_transpose(%x, %t, channels=4, kernel_size=[3, 3], strides=[2, 2], data_layout="NHWC", kernel_layout="IOHW")',
)


@pytest.mark.parametrize("known", [True, False], ids=["constant", "parameter"])
@BOTH
def test_infinite_weights_beside_padding(vector: bool, known: bool) -> None:
    """A zero of padding times an infinite weight is NaN, whether the weight is known while compiling or not."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1, 9, 9, 32)).astype("float32")
    w, t = rng.normal(size=(3, 3, 32, 1)).astype("float32"), rng.normal(size=(32, 4, 3, 3)).astype("float32")
    w[0, 1, 3, 0], t[5, 2, 0, 0] = INF, -INF
    text = f"def @main(%x: {typed(x)}, %w: {typed(w)}, %t: {typed(t)}) {{ ({', '.join(PADDED)}) }}"
    want, got = both(text, [{"w": w, "t": t}, x] if known else [x, w, t], vector)
    for name, a, b in zip(PADDED, want, got, strict=True):
        assert np.isnan(a).any(), name
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4, err_msg=name)
