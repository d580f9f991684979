"""`tensorize`: every intrinsic in place of the loop that it stands for, in schedules by hand, built and run."""

import ml_dtypes
import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.schedule.instructions.dot_kinds import intrinsics
from irtool.tir.bf16_dot import DOT_PAIR
from irtool.tir.int8_dot import ALL_DOTS, NARROW
from irtool.tir.int16_dot import DOT_WIDE

V = '#[version = "0.0.5"]\n'
CASES = {
    "matrices": ("nn.dense(%x, %w, units=16{})", (5, 64), (16, 64), "split(k, [{}, {n}], [k_o, k_i])"),
    "columns beside each other": (
        "nn.matmul(%x, %w, units=16{})",
        (5, 32),
        (32, 16),
        "split(k, [{}, {n}], [k_o, k_i])",
    ),
    "a window, padded": (
        "nn.conv1d(%x, %w, groups=16, channels=16, kernel_size=[8], padding=[4, 3]{})",
        (1, 16, 21),
        (16, 1, 8),
        "split(k0, [{}, {n}], [k_o, k_i])",
    ),
    "channels, padded": (
        "nn.conv2d(%x, %w, channels=16, kernel_size=[3, 3], padding=[1, 1]{})",
        (1, 16, 6, 7),
        (16, 16, 3, 3),
        "split(rc, [{}, {n}], [k_o, k_i])",
    ),
}
EXTENTS = {"matrices": 64, "columns beside each other": 32, "a window, padded": 8, "channels, padded": 16}
VECTORS = {"matrices": "ax1", "columns beside each other": "ax1", "a window, padded": "", "channels, padded": ""}
_SIZES = "blocked_updates=1000000000, paired_products=2"
TARGETS = {"scalar": "c{vector=none}", "C": f"c{{{_SIZES}}}", "LLVM": f"llvm{{{_SIZES}}}"}
"""Thresholds keep all products from becoming words before anything is scheduled, and numbers of 16 bits as they are, whatever
instructions the processor has."""


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Every third one is an extreme one, of integers."""
    g = np.random.default_rng(seed)
    if dtype == "bfloat16":
        return g.standard_normal(shape).astype(ml_dtypes.bfloat16)
    limits = np.iinfo(dtype)
    random = g.integers(limits.min, limits.max + 1, shape)
    return np.where(g.random(shape) < 1 / 3, g.choice([limits.min, limits.max], shape), random).astype(dtype)


def taken(name: str) -> tuple[str, str]:
    return {**ALL_DOTS, DOT_WIDE: ("int16", "int16")}.get(name, ("bfloat16", "bfloat16"))


@pytest.mark.promise("primitives")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", sorted(intrinsics()))
def test_an_intrinsic_gives_what_its_loop_gives(name: str, case: str, target: str) -> None:
    call, data, weights, cut = CASES[case]
    a, b = taken(name)
    sums = ', out_dtype="float32"' if name == DOT_PAIR else ', out_dtype="int32"'
    text = f"{V}def @main(%x: Tensor[{data}, {a}], %w: Tensor[{weights}, {b}]) {{ {call.format(sums)} }}"
    values = {"x": numbers(a, data, 1), "w": numbers(b, weights, 2)}
    n = intrinsics()[name].numbers
    lines = [cut.format(EXTENTS[case] // n, n=n), f"tensorize(k_i, {name})"]
    if VECTORS[case] and target != "scalar":
        lines += [f"cache_write({VECTORS[case]})", f"vectorize({VECTORS[case]})"]
    schedule = ".*:\n" + "".join(f"  {line}\n" for line in lines)
    module = irtool.parse(text)
    want = np.asarray(irtool.evaluate(module, values))
    plain = np.asarray(irtool.build(module, target="c{vector=none}").run(values))
    got = np.asarray(irtool.build(module, target=TARGETS[target], schedule=schedule).run(values))
    if name == DOT_PAIR:
        np.testing.assert_allclose(got, want, rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(got, plain, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(got, want)


def test_every_intrinsic_of_the_backends_has_a_meaning() -> None:
    from irtool.backends.formulas import vector_dots, vector_matrices
    from irtool.selection.vectors.types import VectorType

    written = {n for n in (*ALL_DOTS, DOT_PAIR, DOT_WIDE) if vector_dots.written(n, VectorType("int32", 8))}
    written |= set(vector_matrices.PRODUCTS.values())
    # That weights are narrow, no nest says: who writes a schedule cannot promise it.
    assert written - {NARROW} == set(intrinsics()) == {*ALL_DOTS, DOT_PAIR, DOT_WIDE} - {NARROW}


def test_other_numbers_are_refused() -> None:
    text = f'{V}def @main(%x: Tensor[(2, 8), int8], %w: Tensor[(8, 8), int8]) {{ nn.dense(%x, %w, units=8, out_dtype="int32") }}'
    schedule = ".*:\n  split(k, [2, 4])\n  tensorize(k_i, dot4_u8s8)\n"
    with pytest.raises(UsageError, match="line 3 of the schedule: a step of k_i is not one of dot4_u8s8"):
        irtool.build(irtool.parse(text), emit="tir", schedule=schedule)
