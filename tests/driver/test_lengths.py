"""Builds with lengths that a run decides: the same values at every length, in C and in LLVM, and nothing beyond the outputs' ends."""

from __future__ import annotations

import ctypes
import json
import pickle
import re
import shutil
import tarfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.driver.artifact import Artifact
from irtool.driver.lengths import Lengths
from irtool.symbolic_int import Symbol, shifted, symbolic
from tests.driver.lengths import BOUND, BUILDS, NETWORKS, Network, files, leaves
from tests.driver.programs import compile_c, parse, run

CANARY = 7.25
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
TARGETS = ["c", pytest.param("llvm", marks=needs_clang)]


def near(values: Any) -> float:
    """The error of long sums, some of which almost cancel out."""
    return 2e-5 * max(1.0, float(np.abs(values).max(initial=0)))


def called(library: ctypes.CDLL, function: str, length: int, arrays: list[np.ndarray], *before: Any) -> int:
    """The result of an entry point."""
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
    return getattr(library, function)(*before, ctypes.c_int64(length), *pointers)


@pytest.mark.parametrize("how", [pytest.param(h, marks=needs_clang if h == "llvm" else ()) for h in BUILDS])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_length_gives_the_interpreters_values(name: str, how: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    artifact = network.build(out_dir=tmp_path, **BUILDS[how])
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    for length in range(1, BOUND + 1):
        inputs = network.inputs(length)
        expected = [np.asarray(e) for e in leaves(network.expected(inputs))]
        for e, a in zip(expected, leaves(artifact.run(inputs)), strict=True):
            assert a.shape == e.shape
            np.testing.assert_allclose(a, e, rtol=1e-4, atol=near(e))
        padded = [np.full(e.size + 64, CANARY, "float32") for e in expected]
        arrays = [np.ascontiguousarray(v) for v in inputs.values()]
        assert called(library, "net_run", length, [*arrays, *padded]) == 0
        for e, p in zip(expected, padded, strict=True):
            np.testing.assert_allclose(p[: e.size], e.ravel(), rtol=1e-4, atol=near(e))
            assert (p[e.size :] == CANARY).all()


def without_estimates(report: Mapping[str, Any]) -> str:
    """A report without times, and without costs: these are floats, for which Python takes the `int` of a formula."""
    report = json.loads(json.dumps({k: v for k, v in report.items() if k != "seconds"}))
    for kernel in report["kernels"]:
        for stage in kernel["stages"]:
            stage["estimates"] = []
    return json.dumps(report)


@pytest.mark.parametrize("emit", ["tir", "isel", "c", "ll"])
@pytest.mark.parametrize("name", NETWORKS)
def test_no_text_depends_on_the_int_of_a_formula(name: str, emit: str, tmp_path: Path) -> None:
    """The shifts are small: costs are floats, which Python computes from the `int`, and a choice may follow from one that differs much."""
    texts, reports = [], []
    for by in (0, 1, 3):
        folder = tmp_path / str(by)
        with shifted(by):
            artifact = NETWORKS[name].build("llvm" if emit == "ll" else "c", out_dir=folder, emit=emit)
            reports.append(without_estimates(artifact.report))
        texts.append(files(folder))
    assert reports[1] == reports[0] and reports[2] == reports[0]
    assert texts[0] and texts[1] == texts[0] and texts[2] == texts[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_sanitizers_see_nothing_at_any_length(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    artifact = network.build(out_dir=tmp_path, emit="exe", sanitize="address,undefined")
    for length in (1, 2, BOUND // 2, BOUND):
        inputs = network.inputs(length)
        for e, a in zip(leaves(network.expected(inputs)), leaves(artifact.run(inputs)), strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-4, atol=near(e))


@pytest.mark.parametrize("target", TARGETS)
def test_lengths_beyond_the_bounds_are_an_error_and_change_nothing(target: str, tmp_path: Path) -> None:
    network = Network("def @main(%x: Tensor[(?, 6), float32]) { exp(%x) }", {"x": ("n", 6)})
    network.build(target, out_dir=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    header = (tmp_path / "net.h").read_text()
    assert "#define NET_OUT_OF_BOUNDS 4\n" in header
    x, out = np.zeros((BOUND + 1, 6), "float32"), np.full((BOUND + 1, 6), CANARY, "float32")
    for length, code in ((-1, 4), (BOUND + 1, 4), (1 << 40, 4), (-(1 << 62), 4), (0, 0)):
        assert called(library, "net_run", length, [x, out]) == code
        assert called(library, "net_run_with", length, [x, out], None, ctypes.c_size_t(0)) == code
        assert (out == CANARY).all()


def test_a_length_of_0_is_an_error_where_outputs_have_elements(tmp_path: Path) -> None:
    one = Network(
        "def @main(%x: Tensor[(?, 6), float32], %y: Tensor[(4), float32]) { (exp(%x), exp(%y)) }",
        {"x": ("n", 6), "y": (4,)},
    )
    artifact = one.build(out_dir=tmp_path)
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    x, y = np.zeros((1, 6), "float32"), np.zeros(4, "float32")
    a, b = np.full(6, CANARY, "float32"), np.full(4, CANARY, "float32")
    assert called(library, "net_run", 0, [x, y, a, b]) == 4 and (b == CANARY).all()
    with pytest.raises(IrError):
        artifact.run([x[:0], y])
    least = irtool.build(
        parse("def @main(%x: Tensor[(?, 6), float32]) { exp(%x) }"), shapes={"x": ("2<=n<=5", 6)}, vector=False
    )
    assert [least.run([np.zeros((n, 6), "float32")]).shape for n in (2, 5)] == [(2, 6), (5, 6)]
    for n in (0, 1, 6):
        with pytest.raises(IrError, match="must be n, from 2 to 5, and it is"):
            least.run([np.zeros((n, 6), "float32")])


def test_a_c_program_uses_the_header(tmp_path: Path) -> None:
    """The example of docs/building.md."""
    irtool.build(
        parse("def @main(%x: Tensor[(?, 64), float32]) { exp(%x) }"),
        shapes={"x": ("seq<=512", 64)}, out_dir=tmp_path, emit="c", name="net", vector=False,
    )  # fmt: skip
    page = (Path(__file__).parents[2] / "docs" / "building.md").read_text()
    program = re.search(r"```c\n((?:(?!```).)*NET_SEQ_MAX.*?)```", page, re.DOTALL)
    assert program is not None
    (tmp_path / "main.c").write_text(program[1])
    done = run(compile_c(tmp_path, "main", "main.c", "net.c"))
    assert (done.returncode, done.stdout) == (0, "ok\n")
    (tmp_path / "twice.cc").write_text('#include "net.h"\n#include "net.h"\nint main() { return NET_SEQ_MIN - 1; }\n')
    assert (
        run(compile_c(tmp_path, "twice", "twice.cc", cc="c++", flags=["-Wall", "-Wextra", "-Werror"])).returncode == 0
    )


def test_the_header_documents_lengths(tmp_path: Path) -> None:
    NETWORKS["waves"].build(out_dir=tmp_path, emit="c")
    header = (tmp_path / "net.h").read_text()
    for line in (
        "#define NET_N_MIN 1",
        f"#define NET_N_MAX {BOUND}",
        f"#define NET_X_MAX_SIZE {6 * BOUND}u /* float32[n, 6], at the upper bounds */",
        f"#define NET_OUT_MAX_SIZE {6 * BOUND}u /* float32[n, 6], at the upper bounds */",
        " * NET_OUT_OF_BOUNDS: a length is outside of its bounds (nothing is written),",
        "int net_run(int64_t n, const float *x, float *out);",
        "int net_run_with(void *arena, size_t size, int64_t n, const float *x, float *out);",
    ):
        assert line in header.splitlines()


def test_lengths_are_parameters_in_the_order_in_which_they_appear(tmp_path: Path) -> None:
    m = parse(
        "def @main(%x: Tensor[(?, 6), float32], %y: Tensor[(?, 6), float32], %z: Tensor[(?, 6), float32]) "
        "{ (exp(%y), add(%x, %z)) }"
    )
    shapes = {"x": ("late<=4", 6), "y": ("early<=3", 6), "z": ("late", 6)}
    artifact = irtool.build(m, shapes=shapes, out_dir=tmp_path, name="net", vector=False)
    assert "int net_run(int64_t late, int64_t early, const float *x" in (tmp_path / "net.h").read_text()
    x, y = np.ones((2, 6), "float32"), np.ones((3, 6), "float32")
    assert [a.shape for a in artifact.run({"x": x, "y": y, "z": x})] == [(3, 6), (2, 6)]
    with pytest.raises(ValueError, match=r"%z of @main is \[late, 6\]: its axis 0 must be late = 2, and it is 3"):
        artifact.run({"x": x, "y": y, "z": y})


def test_wrong_shapes_name_the_tensor_the_axis_and_both_extents() -> None:
    artifact = NETWORKS["add"].build()
    x = np.zeros((3, 6), "float32")
    for arrays, message in (
        ([x, x[:2]], r"%y of @main is \[n, 6\]: its axis 0 must be n = 3, and it is 2"),
        (
            [np.zeros((21, 6), "float32"), x],
            r"%x of @main is \[n, 6\]: its axis 0 must be n, from 1 to 20, and it is 21",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            artifact.run(arrays)
    for arrays in ([x, x[:, :5].copy()], [x, x.astype("float64")], [x[0], x]):
        with pytest.raises(IrError):
            artifact.run(arrays)
    assert artifact.run({"y": x, "x": x}).shape == (3, 6)
    assert artifact.run([x[::1], np.asfortranarray(x)]).shape == (3, 6)


def test_any_number_of_threads_run_other_lengths() -> None:
    network = NETWORKS["waves"]
    artifact = network.build()
    wrong: list[int] = []

    def work(length: int) -> None:
        inputs = network.inputs(length)
        expected = network.expected(inputs)
        wrong.extend(length for _ in range(50) if not np.allclose(artifact.run(inputs), expected, atol=1e-5))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 5, 13, BOUND)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_saved_builds_keep_their_formulas(tmp_path: Path) -> None:
    network = NETWORKS["waves"]
    artifact = network.build(out_dir=tmp_path / "a")
    artifact.save(tmp_path / "b")
    copies: list[Artifact] = [
        irtool.load(tmp_path / "a"),
        irtool.load(tmp_path / "b"),
        pickle.loads(pickle.dumps(artifact)),
    ]
    inputs = network.inputs(3)
    for copy in copies:
        np.testing.assert_array_equal(copy.run(inputs), artifact.run(inputs))
        with pytest.raises(ValueError):
            copy.run(network.inputs(BOUND + 1))
        assert repr(copy) == "<Artifact net(x: float32[n, 6]) -> float32[n, 6]>"
    with pytest.raises(IrError, match="a run decides n"):
        artifact.graph_json()
    report = json.loads(json.dumps(artifact.report))
    assert report["lengths"] == [{"name": "n", "low": 1, "high": BOUND}]
    assert report["inputs"][0]["shape"] == ["n", 6] and report["inputs"][0]["bytes"] == 24 * BOUND
    assert "lengths" not in irtool.build(parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")).report


def test_the_cache_tells_bounds_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    m = parse("def @main(%x: Tensor[(?, 6), float32]) { exp(%x) }")

    def build(bound: str) -> Artifact:
        return irtool.build(m, shapes={"x": (bound, 6)}, vector=False, cache=True)

    assert not build("n<=8").cached and not build("n<=9").cached and not build("2<=n<=9").cached
    again = build("n<=9")
    assert again.cached and again.run([np.zeros((9, 6), "float32")]).shape == (9, 6)


def test_the_test_bench_tries_several_lengths(tmp_path: Path) -> None:
    NETWORKS["waves"].build(out_dir=tmp_path, emit="c", testbench=True)
    text = (tmp_path / "net_test.c").read_text()
    assert [int(n) for n in re.findall(r"net_run\((\d+),", text)] == [1, 10, 20, 5]
    done = run(compile_c(tmp_path, "bench", "net_test.c", "net.c"))
    assert (done.returncode, done.stdout) == (0, "passed: 0 elements differ\n")
    source = (tmp_path / "net.c").read_text()
    (tmp_path / "net.c").write_text(source.replace("tanhf", "sinhf"))
    assert "tanhf" in source
    assert run(compile_c(tmp_path, "bench", "net_test.c", "net.c")).returncode == 1


def test_tvms_interface_has_lengths_among_the_inputs(tmp_path: Path) -> None:
    NETWORKS["waves"].build(out_dir=tmp_path, emit="c", api="tvm")
    (tmp_path / "main.c").write_text(
        '#include "tvmgen_net.h"\n#include <math.h>\n'
        "int main(void) {\n"
        "  float x[18] = {0}, out[18];\n"
        "  struct tvmgen_net_inputs in = {3, x};\n"
        "  struct tvmgen_net_outputs to = {out};\n"
        "  if (tvmgen_net_run(&in, &to) || fabsf(out[17] - tanhf(1)) > 1e-6f) return 1;\n"
        "  in.n = 21;\n"
        "  return tvmgen_net_run(&in, &to) != 4;\n}\n"
    )
    assert run(compile_c(tmp_path, "main", "main.c", "net.c", "tvmgen_net.c")).returncode == 0


def test_each_entry_takes_its_own_lengths(tmp_path: Path) -> None:
    m = parse("def @main(%x: Tensor[(?, 6), float32]) { exp(%x) }\ndef @other(%y: Tensor[(4), float32]) { tanh(%y) }")
    artifact = irtool.build(
        m, shapes={"x": ("n<=9", 6)}, entry=["main", "other"], out_dir=tmp_path, name="net", vector=False
    )
    header = (tmp_path / "net.h").read_text()
    assert "int net_run(int64_t n, const float *x, float *out);" in header
    assert "int net_run_other(const float *y, float *out);" in header
    assert artifact.run([np.zeros((5, 6), "float32")]).shape == (5, 6)
    np.testing.assert_allclose(artifact.run([np.ones(4, "float32")], "other"), np.tanh(np.ones(4)), rtol=1e-6)


def test_pools_are_planned_at_the_bounds(tmp_path: Path) -> None:
    pools = {"workspace_pools": ("small", "large"), "workspace_pools_size_hint_bytes": ("small:512",)}
    network = NETWORKS["branch"]
    artifact = network.build(out_dir=tmp_path, flags=pools)
    assert (
        "int net_run_in_pools(const struct net_workspace_pools *pools, int64_t n," in (tmp_path / "net.h").read_text()
    )
    for length in (1, BOUND):
        inputs = network.inputs(length)
        np.testing.assert_allclose(artifact.run(inputs), network.expected(inputs), rtol=1e-4, atol=1e-5)


def test_the_arena_is_that_of_a_build_pinned_to_the_bound() -> None:
    network = NETWORKS["branch"]
    bounded = network.build().arena_bytes
    pinned = {x: tuple(BOUND if d == "n" else d for d in s) for x, s in network.shapes.items()}
    assert 0 < bounded <= 1.02 * irtool.build(parse(network.text), shapes=pinned, vector=False).arena_bytes


@pytest.mark.parametrize(
    "name",
    [
        "for",
        "i",
        "x",
        "out",
        "size",
        "base",
        "arena",
        "exp",
        "seed",
        "next",
        "y0",
        "entry",
        "time",
        "sequence length",
        "9",
        "NULL",
    ],
)
def test_any_name_of_a_length_is_an_identifier(name: str, tmp_path: Path) -> None:
    m = parse(f'def @main(%x: Tensor[(?, 6), float32], input_dim_names=[["{name}", ""]]) {{ exp(%x) }}')
    artifact = irtool.build(
        m, dims={name: "<=5"}, out_dir=tmp_path, emit="exe", testbench=True, name="net", vector=False
    )
    assert run(tmp_path / "net").stdout == "passed: 0 elements differ\n"
    assert artifact.report["lengths"][0]["high"] == 5


@pytest.mark.parametrize(
    ("shapes", "dims", "message"),
    [
        ({"x": ("n<=0", 6)}, {}, "the bound of n is 0"),
        ({"x": ("n<=-3", 6)}, {}, "the bound of n is -3"),
        ({"x": ("n<=many", 6)}, {}, "'many' is no bound"),
        ({"x": ("n<=4294967296", 6)}, {}, "the largest one is 2147483647"),
        ({"x": ("5<=n<=4", 6)}, {}, "no length is both"),
        ({"x": ("-1<=n<=4", 6)}, {}, "the least length"),
        ({"x": ("n<=3", 6)}, {"n": "<=4"}, "two bounds"),
        ({"x": ("n", 6)}, {"n": 4}, "n is 4 and a length"),
        ({}, {"m": "<=4"}, "no dimension of a parameter of @main is called m"),
        ({}, {"n": "m<=4"}, "cannot read"),
        ({}, {"n": "<4"}, "cannot read the extent"),
    ],
)  # fmt: skip
def test_wrong_bounds_are_refused(shapes: Mapping[str, Any], dims: Mapping[str, Any], message: str) -> None:
    m = parse('def @main(%x: Tensor[(?, 6), float32], input_dim_names=[["n", ""]]) { exp(%x) }')
    with pytest.raises(UsageError, match=message):
        irtool.build(m, shapes=shapes, dims=dims, emit="c")


def test_an_open_extent_says_how_it_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(IrError) as error:
        irtool.build(parse("def @main(%x: Tensor[(?, 6), float32]) { exp(%x) }"), out_dir=tmp_path, emit="c")
    assert "--shape 'x=?<=512,6'" in str(error.value.diagnostics[0].help)


def test_a_model_library_has_sizes_at_the_bounds(tmp_path: Path) -> None:
    with shifted(7):
        NETWORKS["dense"].build(out_dir=tmp_path, emit="mlf")
    with tarfile.open(tmp_path / "net.tar") as archive:
        member = archive.extractfile("./metadata.json")
        assert member is not None
        about = json.loads(member.read())
    memory = about["modules"]["net"]["memory"]
    assert memory["functions"]["main"][0]["io_size_bytes"] == 4 * BOUND * (64 + 32) and "sids" not in memory


def test_lengths_are_solved_from_formulas() -> None:
    n, m = symbolic("n", 1, 20), symbolic("m", 2, 9)
    lengths = Lengths(
        "main", [Symbol("n", 1, 20), Symbol("m", 2, 9)], ["x", "y", "z"], [(2 * n + 1, 3), (n * m, m), (n // 4,)]
    )
    assert lengths.solve([(7, 3), (12, 4), (0,)]) == (3, 4)
    assert lengths.extent(n * m + 5)((3, 4)) == 17 and lengths.extent(8)((3, 4)) == 8 and lengths.extent(m)((3, 4)) == 4
    for shapes, message in (
        (
            [(8, 3), (12, 4), (0,)],
            r"%x of @main is \[\(2 \* n \+ 1\), 3\]: its axis 0 must be \(2 \* n \+ 1\), with n from 1 to 20, and it is 8",
        ),
        ([(7, 3), (11, 4), (0,)], r"%y of @main is \[.*\]: its axis 0 must be .* = 12 \(.*\), and it is 11"),
        ([(7, 3), (12, 4), (1,)], r"%z of @main is .*: its axis 0 must be \(n / 4\) = 0 \(n = 3\), and it is 1"),
        ([(7, 3), (3, 1), (0,)], r"%y of @main .* its axis 1 must be m, from 2 to 9, and it is 1"),
    ):
        with pytest.raises(ValueError, match=message):
            lengths.solve(shapes)
    with pytest.raises(ValueError, match="do not decide m"):
        Lengths("main", [Symbol("n", 1, 20), Symbol("m", 2, 9)], ["x"], [(n, 3)]).solve([(4, 3)])


LARGE = {
    "dense": (
        "def @main(%x: Tensor[(?, 768), float32], %w: Tensor[(3072, 768), float32]) { nn.relu(nn.dense(%x, %w, units=3072)) }",
        {"x": ("n<=512", 768)},
        {"w": (3072, 768)},
    ),
    "attention": (
        "def @main(%q: Tensor[(12, ?, 64), float32], %k: Tensor[(12, ?, 64), float32], %v: Tensor[(12, ?, 64), float32]) "
        "{ %0 = nn.batch_matmul(%q, %k, transpose_b=True); "
        "nn.batch_matmul(nn.softmax(multiply(%0, 0.125f)), %v, transpose_b=False) }",
        dict.fromkeys("qkv", (12, "n<=512", 64)),
        {},
    ),
    "heads": (
        "def @main(%x: Tensor[(1, ?, 768), float32]) "
        "{ transpose(reshape(%x, newshape=[1, -1, 12, 64]), axes=[0, 2, 3, 1]) }",
        {"x": (1, "n<=512", 768)},
        {},
    ),
    "images": (
        "def @main(%x: Tensor[(?, 64, 56, 56), float32], %w: Tensor[(128, 64, 3, 3), float32]) "
        "{ nn.conv2d(%x, %w, padding=[1, 1], channels=128, kernel_size=[3, 3]) }",
        {"x": ("n<=8", 64, 56, 56)},
        {"w": (128, 64, 3, 3)},
    ),
    "tiles": (
        "def @main(%x: Tensor[(?, 28, 28, 64), float32], %w: Tensor[(3, 3, 64, 64), float32]) "
        '{ nn.conv2d(%x, %w, padding=[1, 1], channels=64, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO") }',
        {"x": ("n<=8", 28, 28, 64)},
        {"w": (3, 3, 64, 64)},
    ),
    "sound": (
        "def @main(%x: Tensor[(1, ?, 128), float32], %w: Tensor[(3, 128, 128), float32]) "
        '{ nn.conv1d(%x, %w, channels=128, kernel_size=[3], data_layout="NWC", kernel_layout="WIO") }',
        {"x": (1, "9<=n<=4000", 128)},
        {"w": (3, 128, 128)},
    ),
    "heads of images": (
        "def @main(%x: Tensor[(?, 197, 768), float32]) { reshape(transpose(reshape(%x, newshape=[-1, 197, 12, 64]), "
        "axes=[0, 2, 1, 3]), newshape=[-1, 197, 64]) }",
        {"x": ("n<=8", 197, 768)},
        {},
    ),
    "enlarged": (
        "def @main(%x: Tensor[(?, 64, 16, 16), float32], %w: Tensor[(64, 32, 2, 2), float32]) "
        '{ nn.conv2d_transpose(%x, %w, channels=32, kernel_size=[2, 2], strides=[2, 2], kernel_layout="IOHW") }',
        {"x": ("n<=8", 64, 16, 16)},
        {"w": (64, 32, 2, 2)},
    ),
}
"""Networks beyond the sizes from which on threads, caches and prefetches matter: text, shapes, weights."""


OPEN = {"HalveProducts"}
"""Stages that need to know the rows of a product: that of Strassen's algorithm."""


@pytest.mark.parametrize("name", LARGE)
def test_no_offer_of_a_strategy_depends_on_a_length(name: str) -> None:
    """The strategy of the lowest estimate schedules the stage: none gives way to a slower one because it would need to know a length, and no
    stage of the schedule leaves a kernel as it is for that reason."""
    text, shapes, weights = LARGE[name]
    params = {n: np.zeros(s, "float32") for n, s in weights.items()}
    report = irtool.build(parse(text), params, shapes=shapes, emit="c", mcpu="x86-64-v3").report
    reasons = [s["reason"] for k in report["kernels"] for s in k["stages"]]
    assert reasons and not [r for r in reasons if "depends on a length" in r]
    assert all(k["stages"] for k in report["kernels"])
    assert {q["stage"] for q in report["open_questions"]} <= OPEN


def test_vectors_are_compared_with_formulas() -> None:
    """The mask of causal attention, beside the sums of a tile: the row of an element is a formula of the length behind the whole tiles."""
    module = parse("""def @main(%x: Tensor[(2, ?, 8), float32], %k: Tensor[(2, ?, 8), float32]) {
      %0 = nn.batch_matmul(%x, %k, transpose_b=True);
      %1 = trilu(ones_like(%0), 0, upper=False);
      add(%0, where(equal(%1, 0f), -1000f, 0f)) }""")
    artifact = irtool.build(module, shapes={"x": (2, "s<=48", 8), "k": (2, "s<=48", 8)})
    g = np.random.RandomState(0)
    for s in (1, 3, 17, 48):
        inputs = [g.randn(2, s, 8).astype("float32") for _ in range(2)]
        np.testing.assert_allclose(artifact.run(inputs), irtool.evaluate(module, inputs), rtol=1e-5, atol=1e-5)
