"""Compiled C computes what the interpreter does."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, ToolError, UsageError

FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1"]


pytestmark = pytest.mark.usefixtures("quick_compiles")


def module(body: str, header: str = "") -> irtool.Module:
    return irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\n{header}\n{body}'))


def same(a, b, tolerance: float = 1e-5) -> None:
    if isinstance(b, tuple):
        assert isinstance(a, tuple) and len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y, tolerance)
        return
    assert a.shape == np.shape(b) and a.dtype == np.asarray(b).dtype
    np.testing.assert_allclose(np.asarray(a, "float64"), np.asarray(b, "float64"), rtol=tolerance, atol=tolerance)


def check(m: irtool.Module, inputs, tolerance: float = 1e-5, **options) -> "object":
    artifact = irtool.build(m, **options)
    same(artifact.run(inputs), irtool.evaluate(m, inputs), tolerance)
    return artifact


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).randn(*shape).astype("float32")


NET = """
def @main(%x: Tensor[(1, 16, 9, 9), float32], %w: Tensor[(32, 16, 3, 3), float32], %b: Tensor[(32), float32],
          %v: Tensor[(40, 32, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  %1 = nn.relu(nn.bias_add(%0, %b));
  %2 = nn.max_pool2d(%1, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %3 = nn.conv2d(%2, %v, padding=[0, 0, 0, 0], channels=40, kernel_size=[1, 1]);
  (%3, nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(%3))))
}
"""


@pytest.fixture
def net():
    weights = {"w": normal(32, 16, 3, 3, seed=1), "b": normal(32, seed=2), "v": normal(40, 32, 1, 1, seed=3)}
    return module(NET), weights, normal(1, 16, 9, 9, seed=4)


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("vector", [True, False])
def test_convolutions_with_blocked_layouts(net, level, vector):
    m, weights, x = net
    artifact = irtool.build(m, params=weights, opt_level=level, vector=vector)
    same(artifact.run([x]), irtool.evaluate(m, {"x": x, **weights}), 1e-4)


def test_weights_as_inputs(net):
    m, weights, x = net
    artifact = irtool.build(m)
    same(artifact.run({"x": x, **weights}), irtool.evaluate(m, {"x": x, **weights}), 1e-4)


def test_no_warnings_and_a_header_for_cplusplus(net, tmp_path):
    m, weights, _ = net
    irtool.build(m, params=weights, out_dir=tmp_path, emit="c", name="net")
    for extra in (["-march=native"], [], ["-DIRT_NO_VECTOR"]):
        subprocess.run(["cc", *FLAGS, *extra, "-c", "-o", "/dev/null", "net.c"], cwd=tmp_path, check=True)
    (tmp_path / "use.cpp").write_text('#include "net.h"\nint (*run)(const float *, float *, float *) = net_run;\n')
    subprocess.run(["c++", "-Wall", "-Wextra", "-Werror", "-c", "-o", "/dev/null", "use.cpp"], cwd=tmp_path, check=True)


def test_scalar_and_vector_builds_are_clean_under_the_sanitizers(net, tmp_path):
    m, weights, _ = net
    irtool.build(m, params=weights, out_dir=tmp_path, emit="c", name="net")
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include <stdio.h>\n#include <stdlib.h>\n'
        "static float x[NET_X_SIZE], a[NET_OUT0_SIZE], b[NET_OUT1_SIZE];\n"
        "int main(void) {\n"
        "#ifdef NET_WEIGHTS_SIZE\n"
        '  FILE *f = fopen("net.bin", "rb");\n'
        "  unsigned char *w = malloc(NET_WEIGHTS_SIZE + 64);\n"
        "  w += 64 - (size_t)w % 64;\n"
        "  if (!f || fread(w, 1, NET_WEIGHTS_SIZE, f) != NET_WEIGHTS_SIZE) return 9;\n"
        "  if (net_run(x, a, b) != 2) return 8;\n"
        "  net_set_weights(w);\n"
        "#endif\n"
        "  if (net_run_with(a, 16, x, a, b) != 1) return 7;\n"
        "  return net_run(x, a, b);\n}\n"
    )
    sanitize = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    for extra in (["-march=native"], ["-DIRT_NO_VECTOR"]):
        command = ["cc", "-std=c99", *sanitize, *extra, "-o", "net", "net.c", "main.c", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        subprocess.run(["./net"], cwd=tmp_path, check=True, env=environment)


def test_branches_calls_and_recursion():
    m = module(
        """
def @power(%x: Tensor[(3), float32], %n: int32) -> Tensor[(3), float32] {
  if (equal(%n, 0)) { ones_like(%x) } else { multiply(%x, @power(%x, subtract(%n, 1))) }
}
def @main(%x: Tensor[(3), float32], %n: int32) {
  let %y = @power(%x, %n);
  (if (less(%n, 3)) { %y } else { add(%x, %y) }, %x)
}
"""
    )
    artifact = irtool.build(m)
    for n in (0, 2, 5):
        inputs = [np.array([1.0, 2.0, -1.5], "float32"), np.array(n, "int32")]
        same(artifact.run(inputs), irtool.evaluate(m, inputs))


def test_too_deep_a_recursion_is_an_error_not_a_crash():
    m = module(
        """
def @main(%n: int32) -> int32 {
  if (equal(%n, 0)) { %n } else { add(1, @main(subtract(%n, 1))) }
}
"""
    )
    with pytest.raises(ToolError, match="the region is full"):
        irtool.build(m).run([np.array(100000, "int32")])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float64"])
def test_arithmetic_of_each_dtype(dtype):
    m = module(
        f"""
def @main(%x: Tensor[(37), {dtype}], %y: Tensor[(37), {dtype}]) {{
  (add(%x, %y), subtract(%x, %y), multiply(%x, %y), maximum(%x, %y), less(%x, %y), cast(%x, dtype="float32"))
}}
"""
    )
    generator = np.random.RandomState(1)
    if dtype.startswith("float"):
        inputs = [generator.randn(37).astype(dtype) for _ in range(2)]
    else:
        info = np.iinfo(dtype)
        inputs = [generator.randint(info.min, info.max, 37, dtype=dtype) for _ in range(2)]
    with np.errstate(over="ignore"):
        check(m, inputs, 0.0)


@pytest.mark.usefixtures("keeps_denormals")
def test_functions_are_accurate():
    m = module(
        """
def @main(%x: Tensor[(4099), float32]) {
  (exp(%x), tanh(%x), erf(%x), sigmoid(%x), log(abs(%x)), sqrt(abs(%x)), rsqrt(abs(%x)))
}
"""
    )
    x = np.concatenate(
        [np.linspace(-20, 20, 4090), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 88.5, -103.0, 120.0]]
    ).astype("float32")
    for vector in (True, False):
        got = irtool.build(m, vector=vector).run([x])
        wide = x.astype("float64")
        with np.errstate(all="ignore"):
            erf = np.vectorize(__import__("math").erf)(wide)
            want = [
                np.exp(wide), np.tanh(wide), erf, 1 / (1 + np.exp(-wide)),
                np.log(np.abs(wide)), np.sqrt(np.abs(wide)), 1 / np.sqrt(np.abs(wide)),
            ]  # fmt: skip
            for name, g, w in zip(["exp", "tanh", "erf", "sigmoid", "log", "sqrt", "rsqrt"], got, want, strict=True):
                rounded = w.astype("float32")
                finite = np.isfinite(rounded)
                np.testing.assert_array_equal(np.isnan(g), np.isnan(rounded), name)
                np.testing.assert_array_equal(
                    g[~finite & ~np.isnan(rounded)], rounded[~finite & ~np.isnan(rounded)], name
                )
                units = np.abs(g[finite] - w[finite]) / np.spacing(np.abs(rounded[finite]))
                assert units.max() <= 4, (name, vector, units.max(), x[finite][units.argmax()])


def test_results_do_not_depend_on_what_is_in_the_workspace(net, tmp_path):
    import ctypes

    m, weights, x = net
    artifact = irtool.build(m, params=weights, out_dir=tmp_path, name="net")
    want = artifact.run([x])
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    if (tmp_path / "net.bin").exists():
        data = np.fromfile(tmp_path / "net.bin", "uint8")
        buffer = np.zeros(data.size + 64, "uint8")
        start = -buffer.ctypes.data % 64
        buffer[start : start + data.size] = data
        library.net_set_weights(ctypes.c_void_p(buffer.ctypes.data + start))
    arena = np.full(artifact.arena_bytes + 64, 0xFF, "uint8")
    outputs = [np.empty_like(w) for w in want]
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (arena,)]
    code = library.net_run_with(
        *pointers, ctypes.c_size_t(arena.size), *[ctypes.c_void_p(a.ctypes.data) for a in (x, *outputs)]
    )
    assert code == 0
    same(tuple(outputs), want, 0.0)


def test_shapes_that_only_inputs_know():
    m = module("def @main(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }")
    artifact = irtool.build(m)
    for rows in (1, 3):
        x = normal(rows, 4)
        same(artifact.run([x]), np.maximum(x, 0))


def test_dynamic_shapes_name_the_flag_that_pins_them(tmp_path):
    m = module("def @main(%x: Tensor[(?, 4), float32]) { nn.relu(%x) }")
    with pytest.raises(IrError) as caught:
        irtool.build(m, out_dir=tmp_path)
    assert "--shape x=1,4" in caught.value.diagnostics[0].help


def test_compiler_problems_keep_the_sources(monkeypatch, tmp_path):
    m = module("def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }")
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(ToolError, match="no-such-compiler"):
        irtool.build(m, out_dir=tmp_path)
    monkeypatch.setenv("CC", "cc")
    monkeypatch.setenv("CFLAGS", "-no-such-flag")
    with pytest.raises(ToolError, match="no-such-flag") as caught:
        irtool.build(m, out_dir=tmp_path)
    assert caught.value.exit_code == 4
    assert (tmp_path / "model.c").exists() and not list(tmp_path.glob("*.so")) and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["int", "a b", "x;y", "über", ""])
def test_names_of_the_output_must_be_identifiers(name):
    m = module("def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }")
    with pytest.raises(UsageError, match="identifier"):
        irtool.build(m, name=name, emit="c")


def test_names_of_parameters_never_reach_c_unescaped(tmp_path):
    from irtool.ir import Function, Module, TensorType, Var
    from irtool.ops.base import call

    params = [Var(n, TensorType((4,))) for n in ('x"; system("true"); //', "int", "é", "x y", "x_y")]
    body = params[0]
    for p in params[1:]:
        body = call("add", body, p)
    m = irtool.infer_types(Module({"main": Function(tuple(params), body)}))
    artifact = irtool.build(m, out_dir=tmp_path)
    assert "system(" not in Path(tmp_path, "model.c").read_text()
    assert len(set(artifact.report["identifiers"].values())) == 5
    same(artifact.run([normal(4)] * 5), normal(4) * 5)


def test_wrong_inputs_are_named():
    artifact = irtool.build(module("def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }"))
    with pytest.raises(IrError, match=r"%x is Tensor\[\(4\), float32\], but its value is float32\[5\]"):
        artifact.run([normal(5)])
    with pytest.raises(IrError, match=r"@main takes 1 input \(%x\), 2 given"):
        artifact.run([normal(4), normal(4)])
    with pytest.raises(IrError, match="no parameter %y"):
        artifact.run({"y": normal(4)})


def test_the_same_module_gives_the_same_text(net, tmp_path):
    m, weights, _ = net
    texts = []
    for n in range(2):
        irtool.build(m, params=weights, out_dir=tmp_path / str(n), emit="c")
        texts.append((tmp_path / str(n) / "model.c").read_text())
    assert texts[0] == texts[1]


def test_a_program_reads_and_writes_raw_files(net, tmp_path):
    m, weights, x = net
    artifact = irtool.build(m, params=weights, out_dir=tmp_path, emit="exe", name="net")
    x.tofile(tmp_path / "x.raw")
    arguments = ["net.bin"] if (tmp_path / "net.bin").exists() else []
    subprocess.run(["./net", *arguments, "x.raw", "a.raw", "b.raw"], cwd=tmp_path, check=True)
    want = irtool.evaluate(m, {"x": x, **weights})
    for name, w in zip(("a.raw", "b.raw"), want, strict=True):
        same(np.fromfile(tmp_path / name, "float32").reshape(w.shape), w, 1e-4)
    missing = subprocess.run(
        ["./net", *arguments, "none.raw", "a.raw", "b.raw"], cwd=tmp_path, check=False, capture_output=True
    )
    assert missing.returncode == 3 and b"none.raw" in missing.stderr
    for size in (4 * x.size - 1, 4 * x.size + 1):
        (tmp_path / "other.raw").write_bytes(bytes(size))
        wrong = subprocess.run(
            ["./net", *arguments, "other.raw", "a.raw", "b.raw"], cwd=tmp_path, check=False, capture_output=True
        )
        assert wrong.returncode == 3 and b"other.raw: expected" in wrong.stderr
    many = subprocess.run(["./net", *arguments, *["x.raw"] * 4], cwd=tmp_path, check=False, capture_output=True)
    assert many.returncode == 4 and b"usage: net" in many.stderr
    for got, w in zip(artifact.run([x]), want, strict=True):
        same(got, w, 1e-4)


def test_threads_change_nothing(net):
    m, weights, x = net
    serial = irtool.build(m, params=weights).run([x])
    threads = irtool.build(m, params=weights, openmp=True).run([x])
    for a, b in zip(serial, threads, strict=True):
        np.testing.assert_array_equal(a, b)


def test_strict_mathematics_is_the_librarys(tmp_path):
    m = module("def @main(%x: Tensor[(64), float32]) { tanh(%x) }")
    irtool.build(m, out_dir=tmp_path, emit="c", math="strict")
    text = (tmp_path / "model.c").read_text()
    assert "tanhf(" in text and "irt_vtanh" not in text
