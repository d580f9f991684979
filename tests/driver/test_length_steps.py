"""Lengths in steps, and extents that are formulas of lengths: values at every length, in C and in LLVM, and what is refused."""

from __future__ import annotations

import ctypes
import itertools
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.driver.extents import read_given
from irtool.infer.extent_formulas import read_formula
from irtool.symbolic_int import Symbol, SymbolicInt, bound, extent_of, interval, signs
from tests.command_line import irtool as irtool_command
from tests.driver.programs import compile_c, parse, run

TARGETS = ["c", pytest.param("llvm", marks=pytest.mark.skipif(shutil.which("clang") is None, reason="no clang"))]

POOLED = (
    "def @main(%x: Tensor[(2, ?), float32], %y: Tensor[(2, ?), float32]) { "
    "%0 = reshape(%x, newshape=[2, -1, 4]); %1 = sum(%0, axis=[2]); "
    "%2 = repeat(%1, repeats=4, axis=1); add(%x, add(%2, %y)) }"
)
"""Holds for widths that are multiples of 4 only."""


def pooled(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x + np.repeat(x.reshape(2, -1, 4).sum(axis=2), 4, axis=1) + y


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    g = np.random.RandomState(3)
    return [g.randn(*s).astype("float32") for s in shapes]


@pytest.mark.parametrize("target", TARGETS)
def test_every_multiple_gives_numpys_values_and_no_other_length_runs(target: str, tmp_path: Path) -> None:
    shapes = {"x": (2, "w<=24:4"), "y": (2, "w")}
    artifact = irtool.build(parse(POOLED), target=target, shapes=shapes, out_dir=tmp_path, name="net")
    header = (tmp_path / "net.h").read_text()
    for line in ("#define NET_W_MIN 4", "#define NET_W_MAX 24", "#define NET_W_STEP 4", "#define NET_X_NDIM 2"):
        assert line in header.splitlines()
    assert "float32[2, w]" in header
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    for width in range(-4, 30):
        x, y = arrays((2, max(width, 0)), (2, max(width, 0)))
        out = np.full(80, 7.25, "float32")
        code = library.net_run(ctypes.c_int64(width), *(a.ctypes.data_as(ctypes.c_void_p) for a in (x, y, out)))
        if width in range(4, 25, 4):
            assert code == 0
            np.testing.assert_allclose(artifact.run([x, y]), pooled(x, y), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(out[: x.size], pooled(x, y).ravel(), rtol=1e-5, atol=1e-5)
            assert (out[x.size :] == 7.25).all()
        else:
            assert code == (0 if width == 0 else 4) and (out == 7.25).all()
            if width > 0:
                with pytest.raises(ValueError, match="must be w, from 4 to 24, in steps of 4, and it is"):
                    artifact.run([x, y])


def test_halves_of_images_meet_the_whole(tmp_path: Path) -> None:
    """The form of a U-Net, which holds for even heights and widths only."""
    text = (
        "def @main(%x: Tensor[(1, 4, ?, ?), float32], %w: Tensor[(8, 8, 3, 3), float32]) { "
        "%0 = nn.avg_pool2d(%x, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]); "
        "%1 = nn.upsampling(%0, scale_h=2.0, scale_w=2.0); "
        "nn.conv2d(concatenate((%x, %1), axis=1), %w, padding=[1, 1], channels=8, kernel_size=[3, 3]) }"
    )
    params = {"w": np.random.RandomState(1).randn(8, 8, 3, 3).astype("float32")}
    artifact = irtool.build(parse(text), params, shapes={"x": (1, 4, "h<=14:2", "w<=20:2")}, out_dir=tmp_path)
    for h, w in itertools.product((2, 4, 14), (2, 6, 18, 20)):
        (x,) = arrays((1, 4, h, w))
        expected = irtool.evaluate(parse(text.replace("(1, 4, ?, ?)", f"(1, 4, {h}, {w})")), {"x": x, **params})
        np.testing.assert_allclose(artifact.run([x]), expected, rtol=1e-4, atol=1e-4)
    unsaid = irtool.build(parse(text), params, shapes={"x": (1, 4, "h<=15", "w<=20")}, emit="c")
    assert unsaid.report["lengths"] == [
        {"name": "h", "low": 2, "high": 14, "step": 2},
        {"name": "w", "low": 2, "high": 20, "step": 2},
    ]


def test_saved_builds_and_reports_keep_the_step(tmp_path: Path) -> None:
    artifact = irtool.build(parse(POOLED), shapes={"x": (2, "8<=w<=24:4"), "y": (2, "w")}, out_dir=tmp_path, name="net")
    x, y = arrays((2, 12), (2, 12))
    assert artifact.report["lengths"] == [{"name": "w", "low": 8, "high": 24, "step": 4}]
    for copy in (irtool.load(tmp_path), pickle.loads(pickle.dumps(artifact))):
        np.testing.assert_allclose(copy.run([x, y]), pooled(x, y), rtol=1e-5, atol=1e-5)
        for wrong in (4, 10, 28):
            with pytest.raises(ValueError, match="in steps of 4"):
                copy.run(arrays((2, wrong), (2, wrong)))


def test_the_test_bench_and_the_program_take_multiples(tmp_path: Path) -> None:
    irtool.build(
        parse(POOLED),
        shapes={"x": (2, "w<=24:4"), "y": (2, "w")},
        out_dir=tmp_path,
        name="net",
        emit="c",
        testbench=True,
    )
    done = run(compile_c(tmp_path, "bench", "net_test.c", "net.c"))
    assert (done.returncode, done.stdout) == (0, "passed: 0 elements differ\n")
    program = irtool.build(
        parse(POOLED), shapes={"x": (2, "w<=24:4"), "y": (2, "w")}, out_dir=tmp_path / "exe", name="net", emit="exe"
    )
    x, y = arrays((2, 20), (2, 20))
    np.testing.assert_allclose(program.run([x, y]), pooled(x, y), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_extents_are_formulas_of_lengths(target: str, tmp_path: Path) -> None:
    text = (
        "def @main(%a: Tensor[(?, 3), float32], %b: Tensor[(?, 3), float32], %m: Tensor[(?), float32], "
        "%t: Tensor[(?), float32]) "
        "{ (multiply(concatenate((%a, %b), axis=0), expand_dims(%m, axis=1)), exp(%t)) }"
    )
    shapes = {"a": ("past<=6", 3), "b": ("seq<=5", 3), "m": ("past+seq",), "t": ("2*past*seq+1",)}
    artifact = irtool.build(parse(text), target=target, shapes=shapes, out_dir=tmp_path, name="net")
    assert "int net_run(int64_t past, int64_t seq, const float *a," in (tmp_path / "net.h").read_text()
    for past, seq in itertools.product((1, 2, 6), (1, 4, 5)):
        a, b, m, t = arrays((past, 3), (seq, 3), (past + seq,), (2 * past * seq + 1,))
        joined, powers = artifact.run([a, b, m, t])
        np.testing.assert_allclose(joined, np.concatenate((a, b)) * m[:, None], rtol=1e-6)
        np.testing.assert_allclose(powers, np.exp(t), rtol=1e-5)
        with pytest.raises(ValueError, match=r"%m of @main is \[\(past \+ seq\)\]: its axis 0 must be"):
            artifact.run([a, b, np.zeros(past + seq + 1, "float32"), t])


def test_a_bounded_multiple_bounds_its_length(tmp_path: Path) -> None:
    artifact = irtool.build(
        parse("def @main(%x: Tensor[(?, 3), float32]) { exp(%x) }"), shapes={"x": ("8<=4*h<=22", 3)}, out_dir=tmp_path
    )
    assert artifact.report["lengths"] == [{"name": "h", "low": 2, "high": 5}]
    assert artifact.run([np.zeros((12, 3), "float32")]).shape == (12, 3)
    for rows in (4, 10, 24):
        with pytest.raises(IrError, match=r"must be 4 \* h, with h from 2 to 5"):
            artifact.run([np.zeros((rows, 3), "float32")])


def test_dimensions_of_a_name_are_formulas_too() -> None:
    m = parse('def @main(%x: Tensor[(?, ?), float32], input_dim_names=[["n", "total"]]) { exp(%x) }')
    artifact = irtool.build(m, dims={"n": "<=8:2", "total": "n+3"})
    assert artifact.run([np.zeros((4, 7), "float32")]).shape == (4, 7)
    with pytest.raises(ValueError):
        artifact.run([np.zeros((4, 8), "float32")])


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (("n<=10:4",), "no multiples of its step 4"),
        (("3<=n<=12:4",), "no multiples of its step 4"),
        (("n<=8:0",), "the step of n is 0"),
        (("n<=8:-2",), "the step of n is -2"),
        (("n<=8:x",), "'x' is no bound of n"),
        (("n<=8:2", "n<=8:4"), "two bounds"),
        (("n<=8", "n-2"), r"the extent n-2 is negative for some lengths"),
        (("n*m<=8",), "has bounds of a formula"),
        (("n+1<=8",), "has bounds of a formula"),
        (("4*n<=8:4",), "has bounds of a formula"),
        (("4*n<=3",), "n would have no value"),
    ],
)
def test_wrong_steps_and_formulas_are_refused(shape: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_given({"x": shape}, {})


@pytest.mark.parametrize("text", ["2*h", "past+seq", "4*h+1", "a*b-c", "a-1", "2*a.b*c+3*d"])
def test_formulas_print_as_they_are_read(text: str) -> None:
    formula = read_formula(text)
    assert formula is not None and str(formula) == text and read_formula(str(formula)) == formula
    assert read_formula(text.replace("+", " + ").replace("*", " * ")) == formula


@pytest.mark.parametrize("text", ["4", "", "2h", "h+", "h//2", "(h)", "h**2", "h^2", "h<=2"])
def test_other_texts_are_no_formulas(text: str) -> None:
    assert read_formula(text) is None


def test_the_command_line_takes_steps_and_formulas(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text('#[version = "0.0.5"]\n' + POOLED)
    out = tmp_path / "out"
    options = ["--shape", "y=2,w", "-o", out, "--emit=c"]
    code, _, messages = irtool_command("build", path, "--shape", "x=2,w<=24:4", *options)
    assert code == 0, messages
    assert "w % 4 != 0" in next(out.glob("*.c")).read_text()
    code, _, messages = irtool_command("build", path, "--shape", "x=2,w<=22:4", *options)
    assert code == 2 and "4<=w<=20:4" in messages


def random_formula(g: random.Random, leaves: list[Any]) -> Any:
    """A sum, product or quotient of lengths that is not negative."""
    value = g.choice(leaves)
    for _ in range(g.randrange(1, 5)):
        operand = g.choice([*leaves, g.randrange(1, 9)])
        how = g.randrange(4)
        value = value + operand if how == 0 else value * operand if how == 1 else value // g.randrange(1, 9)
        if how == 3:
            value = value + 2 * operand
    return value


@pytest.mark.parametrize("seed", range(60))
def test_formulas_in_steps_have_the_values_of_numbers(seed: int) -> None:
    """The formula, its C text, its bound, its interval and its signs, against numbers."""
    symbols = [Symbol("a", 6, 18, 3), Symbol("b", 4, 12, 4), Symbol("c", 1, 3)]
    f = random_formula(random.Random(seed), [extent_of(s) for s in symbols])
    values = []
    for lengths in itertools.product(*(range(s.low, s.high + 1, s.step) for s in symbols)):
        numbers = dict(zip(symbols, lengths, strict=True))
        expected = random_formula(random.Random(seed), list(lengths))
        assert (f.at(numbers) if isinstance(f, SymbolicInt) else f) == expected
        assert eval(str(f).replace("/", "//"), dict(zip("abc", lengths, strict=True))) == expected
        values.append(expected)
    low, high = interval(f)
    assert low <= min(values) and max(values) <= high and bound(f) == max(values)
    probe = f - values[len(values) // 2]
    assert signs(probe) >= {int(np.sign(v - values[len(values) // 2])) for v in values}
