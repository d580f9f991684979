"""Lengths that nothing bounds: the workspace is a function of them, the caller gives it, and every length that memory has room for runs."""

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
from irtool.diagnostics import IrError, ToolError, UsageError
from irtool.driver.extents import read_given
from irtool.lower.placing import Interval
from irtool.lower.placing_formulas import place_formulas
from irtool.symbolic_int import LARGEST, Symbol, SymbolicInt, extent_of, is_open, planned, signs, upper, value_at
from tests.command_line import irtool as irtool_command
from tests.driver.lengths import NETWORKS, leaves
from tests.driver.programs import compile_c, parse, run

TARGETS = ["c", pytest.param("llvm", marks=pytest.mark.skipif(shutil.which("clang") is None, reason="no clang"))]

ROWS = """
def @main(%x: Tensor[(?, ?, 32), float32], %w: Tensor[(48, 32), float32], %v: Tensor[(16, 48), float32],
          input_dim_names=[["batch", "seq", ""]]) {
  %0 = nn.dense(reshape(%x, newshape=[-1, 32]), %w, units=48);
  (nn.softmax(nn.dense(nn.relu(%0), %v, units=16)), mean(%x, axis=[1]))
}
"""


def weights() -> dict[str, np.ndarray]:
    g = np.random.RandomState(1)
    return {"w": g.randn(48, 32).astype("float32"), "v": g.randn(16, 48).astype("float32")}


def expected(x: np.ndarray) -> Any:
    fixed = ROWS.replace("(?, ?, 32)", str(x.shape))
    return irtool.evaluate(parse(fixed), {"x": x, **weights()})


def arena_size(library: ctypes.CDLL, *lengths: int) -> int:
    function = library.net_arena_size
    function.restype = ctypes.c_size_t
    return int(function(*map(ctypes.c_int64, lengths)))


@pytest.mark.parametrize("target", TARGETS)
def test_the_caller_gives_as_much_memory_as_the_function_says(target: str, tmp_path: Path) -> None:
    dims = {"batch": "?", "seq": "?"}
    artifact = irtool.build(parse(ROWS), weights(), target=target, dims=dims, out_dir=tmp_path, name="net")
    header = (tmp_path / "net.h").read_text()
    assert "size_t net_arena_size(int64_t batch, int64_t seq);" in header
    assert "ARENA_SIZE" not in header and "int net_run(" not in header
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    for batch, seq in ((1, 1), (2, 7), (3, 40), (1, 700)):
        x = np.random.RandomState(seq).randn(batch, seq, 32).astype("float32")
        reference = expected(x)
        for value, e in zip(artifact.run([x]), reference, strict=True):
            np.testing.assert_allclose(value, e, rtol=1e-4, atol=1e-5)
        outs = [np.full(e.size + 16, 7.25, "float32") for e in reference]
        size = arena_size(library, batch, seq)
        arena = np.full(size + 64, 7, np.uint8)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (x, *outs)]
        lengths = ctypes.c_int64(batch), ctypes.c_int64(seq)
        start = ctypes.c_void_p(arena.ctypes.data)
        assert library.net_run_with(start, ctypes.c_size_t(size - 1), *lengths, *pointers) == 1
        assert all((o == 7.25).all() for o in outs)
        assert library.net_run_with(start, ctypes.c_size_t(size), *lengths, *pointers) == 0
        assert (arena[size:] == 7).all() and all((o[e.size :] == 7.25).all() for o, e in zip(outs, reference))
    for wrong in ((-1, 3), (1, 0), (1, 1 << 31), (1 << 31, 1), ((1 << 31) - 1, (1 << 31) - 1), (-(1 << 62), 1 << 62)):
        assert arena_size(library, *wrong) == 0
        if 0 not in wrong:
            no_tensors = [ctypes.c_void_p(0)] * 3
            out_of_bounds = library.net_run_with(
                start, ctypes.c_size_t(1 << 40), *map(ctypes.c_int64, wrong), *no_tensors
            )
            assert out_of_bounds == 4
    assert arena_size(library, 1 << 20, 1 << 20) > 1 << 40  # no formula overflows 32 bits


@pytest.mark.parametrize("name", ["add", "branch", "convolution", "image", "last rows", "softmax"])
def test_networks_give_the_interpreters_values_in_the_memory_of_bounded_builds(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    artifact = irtool.build(parse(network.text), network.params(), shapes=network.shapes, out_dir=tmp_path, name="net")
    for length in (1, 3, 20, 45):
        inputs = network.inputs(length)
        for value, e in zip(leaves(artifact.run(inputs)), leaves(network.expected(inputs)), strict=True):
            np.testing.assert_allclose(value, e, rtol=1e-4, atol=2e-5 * max(1.0, float(np.abs(e).max(initial=0))))
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    shapes = {x: tuple("n<=512" if d == "n" else d for d in s) for x, s in network.shapes.items()}
    bounded = irtool.build(parse(network.text), network.params(), shapes=shapes, emit="tir").arena_bytes
    assert arena_size(library, 512) <= 1.02 * bounded + 64
    assert "malloc" not in (tmp_path / "net.c").read_text()


def test_saved_builds_run_at_any_length(tmp_path: Path) -> None:
    network = NETWORKS["joined"]
    artifact = irtool.build(parse(network.text), shapes={"x": ("?", 6)}, out_dir=tmp_path, name="net")
    assert artifact.report["lengths"] == [{"name": "x_0", "low": 1, "usual": 512}]
    assert artifact.report["arena_formula"] == "128 * ((24 * x_0 + 63) / 64)"
    for copy in (irtool.load(tmp_path), pickle.loads(pickle.dumps(artifact))):
        assert is_open(copy._entries["main"].params[0].shape[0])
        for length in (2, 600, 5):
            inputs = network.inputs(length)
            np.testing.assert_allclose(copy.run(inputs), network.expected(inputs), rtol=1e-4, atol=1e-5)
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    assert (
        library.net_run_with(ctypes.c_void_p(0), ctypes.c_size_t(0), ctypes.c_int64(0), *[ctypes.c_void_p(0)] * 2) == 0
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"emit": "mlf"}, "an archive"),
        ({"emit": "c", "flags": {"workspace_pools": "sram"}}, "workspace pools"),
        ({"emit": "c", "states": {"x": "out"}}, "states"),
    ],
)
def test_outputs_with_memory_of_known_size_need_bounds(options: dict[str, Any], message: str) -> None:
    m = parse("def @main(%x: Tensor[(?, 3), float32]) { exp(tanh(%x)) }")
    with pytest.raises((UsageError, IrError), match=message):
        irtool.build(m, shapes={"x": ("n", 3)}, name="net", **options)


def test_programs_allocate_for_the_lengths_of_a_run(tmp_path: Path) -> None:
    dims = {"batch": "?", "seq": "?"}
    irtool.build(parse(ROWS), dims=dims, out_dir=tmp_path, name="net", emit="exe", sanitize=("address", "undefined"))
    g = np.random.RandomState(0)
    names = ("x", "w", "v", "out0", "out1")

    def program(*lengths: int) -> Any:
        return run(tmp_path / "net", *map(str, lengths), *(str(tmp_path / f"{n}.raw") for n in names))

    for name, a in weights().items():
        a.tofile(tmp_path / f"{name}.raw")
    for batch, seq in ((1, 1), (3, 7), (2, 40)):
        x = g.randn(batch, seq, 32).astype("float32")
        x.tofile(tmp_path / "x.raw")
        ended = program(batch, seq)
        assert ended.returncode == 0, ended.stderr
        for n, e in enumerate(expected(x)):
            actual = np.fromfile(tmp_path / f"out{n}.raw", "float32").reshape(e.shape)
            np.testing.assert_allclose(actual, e, rtol=1e-4, atol=1e-5)
    assert program(2, 41).returncode == 3 and program(0, 40).returncode == 4
    assert program(LARGEST, LARGEST).returncode == 1 and "memory" in program(LARGEST, LARGEST).stderr


def test_test_benches_try_several_lengths_without_bounds(tmp_path: Path) -> None:
    dims = {"batch": "?", "seq": "?"}
    irtool.build(
        parse(ROWS), weights(), dims=dims, out_dir=tmp_path, name="net", emit="c", testbench=True, weights="inline"
    )
    text = (tmp_path / "net_test.c").read_text()
    assert text.count("net_arena_size(") == text.count("free(arena)") == 4
    assert "passed" in run(compile_c(tmp_path, "test", "net_test.c", "net.c")).stdout


def test_the_interface_of_tvm_allocates_for_the_lengths_of_a_run(tmp_path: Path) -> None:
    m = parse("def @main(%x: Tensor[(?, 3), float32]) { exp(sum(tanh(%x), axis=[1])) }")
    irtool.build(m, shapes={"x": ("n", 3)}, out_dir=tmp_path, name="net", emit="c", api="tvm")
    main = """
#include "tvmgen_net.h"
#include <math.h>
static float x[64 * 3], y[64];
int main(void) {
  struct tvmgen_net_inputs in = {0, x};
  struct tvmgen_net_outputs out = {y};
  int n;
  for (n = 0; n < 64 * 3; ++n) x[n] = 0.5f;
  for (in.n = 1; in.n <= 64; in.n *= 2) {
    if (tvmgen_net_run(&in, &out)) return 1;
    for (n = 0; n < in.n; ++n) if (fabsf(y[n] - expf(3 * tanhf(0.5f))) > 1e-4f) return 2;
  }
  in.n = -1;
  return tvmgen_net_run(&in, &out) == 0;
}
"""
    (tmp_path / "main.c").write_text(main)
    assert "WORKSPACE_SIZE" not in (tmp_path / "tvmgen_net.h").read_text()
    assert run(compile_c(tmp_path, "main", "main.c", "net.c", "tvmgen_net.c")).returncode == 0


def test_the_command_line_takes_names_without_bounds(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, ?, 8), float32], input_dim_names=[["batch", "seq", ""]]) '
        "{ %0 = exp(%x); (nn.relu(%0), mean(%0, axis=[1])) }"
    )
    for options in (["--dim", "batch,seq"], ["--shape", "x=?,?,8"]):
        code, _, messages = irtool_command("build", path, *options, "-o", tmp_path / "out", "--emit=c", "--name=net")
        assert code == 0, messages
    main = """
#include "net.h"
#include <stdio.h>
static unsigned char arena[1 << 20];
static float x[8 * 90], out0[8 * 90], out1[8 * 3];
int main(void) {
  int64_t seq;
  for (seq = 1; seq <= 30; ++seq)
    if (net_run_with(arena, net_arena_size(3, seq), 3, seq, x, out0, out1)) return 1;
  return net_arena_size(NET_X_0_MAX, NET_X_1_MAX) != 0;
}
"""
    (tmp_path / "out" / "main.c").write_text(main)
    assert run(compile_c(tmp_path / "out", "main", "main.c", "net.c")).returncode == 0


def test_names_and_question_marks_have_no_bound() -> None:
    shapes, dims = read_given({"x": ("?", "n", "2*n", "m<=4")}, {"b": "?"})
    open_ones = [*shapes["x"][:3], dims["b"]]
    assert [str(d) for d in open_ones] == ["x_0", "n", "2 * n", "b"] and all(map(is_open, open_ones))
    assert not is_open(shapes["x"][3]) and planned(shapes["x"][3]) == 4 and planned(shapes["x"][2]) is shapes["x"][2]


def random_formula(g: random.Random, n: Any) -> Any:
    """A sum of quotients of quotients, whose signs differ."""
    value = n * g.randrange(1, 9)
    for _ in range(g.randrange(1, 5)):
        inner = (n * g.randrange(1, 4) + g.randrange(0, 9)) // g.randrange(2, 7)
        inner = inner // g.randrange(1, 5) if g.randrange(2) else (n - n // 6 * 6) // g.randrange(1, 5)
        value = value + g.randrange(-9, 10) * inner + g.randrange(-20, 20)
    return value


@pytest.mark.parametrize("seed", range(60))
def test_signs_of_formulas_without_bounds_are_those_of_numbers(seed: int) -> None:
    symbols = [Symbol("a", 1, 40, is_bounded=False), Symbol("b", 2, 30, is_bounded=False)]
    g = random.Random(seed)
    n = extent_of(symbols[0]) * extent_of(symbols[1]) if g.randrange(2) else extent_of(symbols[0])
    f = random_formula(random.Random(seed), n)
    numbers = itertools.product(range(1, 41), range(2, 31))
    values = {value_at(f, dict(zip(symbols, x, strict=True))) for x in numbers}
    assert {(v > 0) - (v < 0) for v in values} <= signs(f)
    if n is not f and str(n) == "a":
        far = Symbol("a", 1, (1 << 31) - 1, is_bounded=False)
        g = random_formula(random.Random(seed), extent_of(far))  # type: ignore[assignment]  # a formula
        some = [1, 2, 3, 50, 1000, 12345, 1 << 20, (1 << 31) - 1]
        assert {(v > 0) - (v < 0) for v in (value_at(g, {far: x}) for x in some)} <= signs(g)  # type: ignore[arg-type]


def test_comparisons_of_rows_in_tiles_are_decided() -> None:
    n = extent_of(Symbol("n", 1, (1 << 31) - 1, is_bounded=False))
    rest = n - n // 9 * 9
    assert n // 9 * 9 <= n and rest // 8 * 8 <= rest // 4 * 4 and n // 2727 * 2727 <= n // 9 * 9
    assert not signs(rest - 8) & {1} and signs(n - 9) == {-1, 0, 1}
    assert n * 64 < 1 << 62 and not n * n * n > 1 << 62


@pytest.mark.parametrize("seed", range(30))
def test_places_do_not_overlap_at_any_length(seed: int) -> None:
    g = random.Random(seed)
    a, b = (Symbol(x, 1, (1 << 31) - 1, is_bounded=False) for x in "ab")
    sizes = [
        extent_of(a) * 64,
        extent_of(a) * extent_of(b) * 64,
        extent_of(b) * 128 + 64,
        extent_of(a) * 4 // 64 * 64 + 64,
        320,
        0,
    ]
    items = [Interval(g.choice(sizes), t := g.randrange(12), t + g.randrange(4)) for _ in range(14)]
    total, _ = place_formulas(items)
    for lengths in ((1, 1), (7, 3), (512, 512), (3, 9000), (9000, 3)):
        values = dict(zip((a, b), lengths, strict=True))
        spans = [
            (value_at(i.offset, values), value_at(i.offset + i.size, values), i)
            for i in items
            if value_at(i.size, values)
        ]
        assert all(end <= value_at(total, values) and begin % 64 == 0 for begin, end, _ in spans)
        for (begin, end, i), (low, high, j) in itertools.combinations(spans, 2):
            assert end <= low or high <= begin or i.last < j.first or j.last < i.first


def test_an_upper_formula_is_no_less_than_either() -> None:
    a, b = (extent_of(Symbol(x, 1, 50, is_bounded=False)) for x in "ab")
    for x, y in itertools.combinations([4 * a, a * b, 3 * a + 2 * b, b - 1, a * a, 40, 2 * a - 1], 2):
        most = upper(x, y)
        for m, n in itertools.product((1, 2, 7, 50), repeat=2):
            values = dict(zip([*a.symbols(), *b.symbols()], (m, n), strict=True))
            assert value_at(most, values) >= max(value_at(x, values), value_at(y, values))
    assert upper(4 * a, 8 * a) == 8 * a and isinstance(upper(a, b), SymbolicInt)


def test_too_large_lengths_are_an_error_in_python(tmp_path: Path) -> None:
    artifact = irtool.build(parse("def @main(%x: Tensor[(?), float32]) { exp(tanh(%x)) }"), shapes={"x": ("n",)})
    serving = artifact._load()
    with pytest.raises(ToolError, match="exceed all memory"):
        serving._network.arena_size("model_arena_size", [1 << 31])  # type: ignore[attr-defined]  # not part of its protocol
