"""Lengths with few values: each value has kernels of its own, weights are shared, and no other value runs."""

from __future__ import annotations

import ctypes
import itertools
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.driver.extents import read_given
from irtool.infer.equal_lengths import solutions
from irtool.symbolic_int import Symbol, bound, choice_of, extent_of, samples, signs, symbol_of
from tests.command_line import irtool as irtool_command
from tests.driver.programs import compile_c, parse, run

TARGETS = ["c", pytest.param("llvm", marks=pytest.mark.skipif(shutil.which("clang") is None, reason="no clang"))]

LAYERS = """
def @main(%x: Tensor[(?, ?, 64), float32], %w: Tensor[(48, 64), float32], input_dim_names=[["batch", "seq", ""]]) {
  %0 = reshape(%x, newshape=[-1, 64]);
  %1 = nn.relu(nn.dense(%0, %w, units=48));
  (nn.softmax(%1), max(%x, axis=[1]))
}
"""


def layers() -> tuple[irtool.Module, dict[str, np.ndarray]]:
    return parse(LAYERS), {"w": np.random.RandomState(1).randn(48, 64).astype("float32")}


def expected(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.maximum(x.reshape(-1, 64) @ w.T, 0)
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True), x.max(axis=1)


@pytest.mark.parametrize("target", TARGETS)
def test_every_value_runs_kernels_of_its_own_and_no_other_value_runs(target: str, tmp_path: Path) -> None:
    module, params = layers()
    dims = {"batch": "1|4|6", "seq": "<=9"}
    artifact = irtool.build(module, params, target=target, dims=dims, out_dir=tmp_path, name="net")
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    g = np.random.RandomState(2)
    for batch, seq in itertools.product(range(-1, 9), (1, 2, 9)):
        x = g.randn(max(batch, 0), seq, 64).astype("float32")
        outs = [np.full(6 * 9 * 48, 7.25, "float32"), np.full(6 * 64, 7.25, "float32")]
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, *outs)]
        code = library.net_run(ctypes.c_int64(batch), ctypes.c_int64(seq), *pointers)
        if batch in (1, 4, 6):
            assert code == 0
            for value, out, reference in zip(artifact.run([x]), outs, expected(x, params["w"]), strict=True):
                np.testing.assert_allclose(value, reference, rtol=1e-4, atol=1e-6)
                np.testing.assert_allclose(out[: reference.size], reference.ravel(), rtol=1e-4, atol=1e-6)
                assert (out[reference.size :] == 7.25).all()
        else:
            assert code == 4 and all((o == 7.25).all() for o in outs)
            if batch >= 0:
                with pytest.raises(ValueError, match="must be batch, 1, 4 or 6, and it is"):
                    artifact.run([x])
    assert artifact.report["weight_bytes"] == params["w"].nbytes
    numbers = {m for k in artifact.report["kernels"] for m in [k["macs"]]}
    assert {batch * 9 * 48 * 64 for batch in (1, 4, 6)} <= numbers
    assert artifact.report["macs"] == irtool.build(module, params, emit="c", dims={**dims, "batch": 6}).report["macs"]


def test_memory_is_that_of_the_largest_value() -> None:
    module, params = layers()
    sizes = [
        irtool.build(module, params, emit="c", dims={"batch": d, "seq": 8}).arena_bytes for d in ("2|16", "1|5|16", 16)
    ]
    assert sizes[0] == sizes[1] == sizes[2]


def test_two_lengths_with_few_values_have_a_kernel_for_each_pair(tmp_path: Path) -> None:
    module, params = layers()
    artifact = irtool.build(module, params, dims={"batch": "1|3", "seq": "2|5"}, out_dir=tmp_path, name="net")
    header = (tmp_path / "net.h").read_text()
    assert "batch: 1 or 3, and no other length" in header and "seq: 2 or 5, and no other length" in header
    for batch, seq in itertools.product((1, 3), (2, 5)):
        x = np.random.RandomState(batch).randn(batch, seq, 64).astype("float32")
        for value, reference in zip(artifact.run([x]), expected(x, params["w"]), strict=True):
            np.testing.assert_allclose(value, reference, rtol=1e-4, atol=1e-6)
    about = [
        {"name": "batch", "low": 1, "high": 3, "choices": [1, 3]},
        {"name": "seq", "low": 2, "high": 5, "choices": [2, 5]},
    ]
    assert artifact.report["lengths"] == about
    x = np.zeros((3, 2, 64), "float32")
    for copy in (irtool.load(tmp_path), pickle.loads(pickle.dumps(artifact))):
        assert copy.run([x])[1].shape == (3, 64)
        with pytest.raises(ValueError, match="must be batch, 1 or 3, and it is 2"):
            copy.run([x[:2]])
    with pytest.raises(UsageError, match="more than 16 combinations"):
        irtool.build(module, params, emit="c", dims={"batch": "1|2|3|4|5", "seq": "1|2|3|4"})


def test_the_command_line_takes_values_and_the_test_bench_tries_them(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text('#[version = "0.0.5"]\n' + LAYERS)
    out = tmp_path / "out"
    options = ["--dim", "batch=1|4", "--dim", "seq<=5", "-o", out, "--emit=c", "--name=net", "--testbench"]
    code, _, messages = irtool_command("build", path, *options)
    assert code == 0, messages
    done = run(compile_c(out, "bench", "net_test.c", "net.c"))
    assert (done.returncode, done.stdout) == (0, "passed: 0 elements differ\n")
    for wrong, message in (
        ("batch=1|x", "cannot read the dimension"),
        ("batch=1|1", "has a value twice"),
        ("batch=0|2", "cannot be 0"),
    ):
        code, _, messages = irtool_command("build", path, "--dim", wrong, *options[2:])
        assert code == 2 and message in messages


def test_outputs_whose_extents_follow_from_values_have_common_kernels() -> None:
    m = parse("def @main(%x: Tensor[(?, 3), float32]) { argwhere(%x) }")
    artifact = irtool.build(m, shapes={"x": ("n=1|3", 3)})
    for n in (1, 3):
        x = (np.arange(3 * n) % 2).astype("float32").reshape(n, 3)
        np.testing.assert_array_equal(artifact.run([x]), np.argwhere(x))
    with pytest.raises(ValueError, match="must be n, 1 or 3"):
        artifact.run([np.zeros((2, 3), "float32")])


def test_shapes_have_values_with_and_without_a_name() -> None:
    shapes, dims = read_given({"x": ("1|4", "n=2|6", "n")}, {"b": "8|16"})
    assert [str(d) for d in shapes["x"]] == ["x_0", "n", "n"]
    (b,) = dims["b"].symbols()  # type: ignore[attr-defined]  # a formula
    assert b == Symbol("b", 8, 16, 8, (8, 16)) and b.bounds == "b=8|16" and b.least == 8
    with pytest.raises(UsageError, match="two bounds"):
        read_given({"x": ("n=1|2", "n=1|3")}, {})


def test_comparisons_are_decided_by_the_values_alone() -> None:
    n = extent_of(choice_of("n", [8, 1, 4]))
    assert signs(n - 2) == {-1, 1} and signs(n - 4) == {-1, 0, 1} and signs(n * n - 16) == {-1, 0, 1}
    assert (n == 2, n == 4, n * (n - 1) % 4 == 0) == (False, False, True)
    assert bound((8 - n) * n) == 16
    assert samples([n], 5) == [(1,), (4,), (8,)]
    s = choice_of("n", [1, 4, 8])
    assert (
        s.within(2, 9) == choice_of("n", [4, 8]) and s.within(5, 7) is None and s.within(1, 8, 8) == choice_of("n", [8])
    )
    assert [x for x in range(10) if x in s] == [1, 4, 8]


def test_lengths_that_have_to_be_equal_keep_common_values() -> None:
    a, b, common = choice_of("a", [1, 4, 8]), Symbol("b", 2, 9), choice_of("b", [4, 8])
    solution = next(solutions(extent_of(a), extent_of(b), [b, a]))
    assert {s: symbol_of(x) for s, x in solution.items()} == {a: common, b: common}
    text = "def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]) { add(%x, %y) }"
    artifact = irtool.build(parse(text), shapes={"x": ("a<=9", 4), "y": ("b=4|8", 4)})
    for rows in (4, 8):
        x = np.ones((rows, 4), "float32")
        np.testing.assert_array_equal(artifact.run([x, x]), x + x)
    for rows in (2, 3, 5):
        with pytest.raises(ValueError):
            artifact.run([x[:1].repeat(rows, 0), x[:1].repeat(rows, 0)])
