"""The C interface of what is built: names, macros, errors, several entries, TVM's structs."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.ir import Function, Module, TensorType, Var
from irtool.ops.base import call
from tests.driver.programs import STRICT, compile_c, dense, parse, run

HOSTILE = [
    "x", "X", "x!", 'x"; system("true"); //', "int", "é", "x y", "x_y", "arena", "ARENA_SIZE", "size", "base", "out",
    "OUT", "NULL", "INT32_MAX", "uint8_t", "memcpy", "model_run", "model_main", "model_storage", "irt_max_float32",
    "stdin", "weights", "_x", "1x", "model", "if", "*/", "??/", "tvmgen_model_fused_add",
    "EXIT_SUCCESS", "M_PI", "SIGINT", "FLT_EPSILON", "PRId64", "ERANGE", "LC_ALL", "workspace", "output", "output2",
    "y", "Y", "y_2", "malloc", "printf", "isnan",
]  # fmt: skip


def test_a_c_program_uses_the_header(tmp_path: Path) -> None:
    m, weights, x = dense()
    irtool.build(m, weights, out_dir=tmp_path, emit="c", name="net", weights="inline")
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n'
        "static const float x[] = {" + ", ".join(f"{v!r}f" for v in x.ravel().tolist()) + "};\n"
        "static const int shape[NET_OUT_NDIM] = NET_OUT_SHAPE;\n"
        "static float out[NET_OUT_SIZE];\n"
        "static double arena[NET_ARENA_SIZE / sizeof(double) + 1];\n"
        "#include <stdio.h>\n"
        "int main(void) {\n"
        "  unsigned i;\n"
        "  if (NET_X_SIZE != 16 || NET_X_NDIM != 2 || shape[0] != 1 || shape[1] != 32) return 3;\n"
        "  if (net_run_with(arena, NET_ARENA_SIZE - 1, x, out) != 1 || out[0] != 0) return 4;\n"
        "  if (net_run_with(0, NET_ARENA_SIZE, x, out) != 1) return 5;\n"
        "  if (net_run_with(arena, sizeof arena, x, out) || net_run(x, out)) return 6;\n"
        '  for (i = 0; i < NET_OUT_SIZE; ++i) printf("%.9g\\n", (double)out[i]);\n'
        "  return 0;\n}\n"
    )
    done = run(compile_c(tmp_path, "main", "main.c", "net.c"))
    assert done.returncode == 0
    want = irtool.evaluate(m, {"x": x, **weights})
    np.testing.assert_allclose(np.array(done.stdout.split(), "float32"), want.ravel(), rtol=1e-4, atol=1e-5)


def test_an_arena_too_small_leaves_the_outputs_alone(tmp_path: Path) -> None:
    m = parse("def @main(%x: Tensor[(4, 8), float32]) { nn.softmax(nn.softmax(%x)) }")
    irtool.build(m, out_dir=tmp_path, name="net")
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    x, out, arena = np.ones((4, 8), "float32"), np.full((4, 8), 7, "float32"), np.zeros(1 << 16, "uint8")
    size = int(re.search(r"NET_ARENA_SIZE (\d+)u", (tmp_path / "net.h").read_text()).group(1))
    for bytes, code in ((0, 1), (size - 1, 1), (size, 0)):
        got = library.net_run_with(
            *(ctypes.c_void_p(a) for a in (arena.ctypes.data + 1, bytes, x.ctypes.data, out.ctypes.data))
        )
        assert got == code
        assert (out == 7).all() == bool(code)


STANDARD_HEADERS = ("cstdlib", "cmath", "cfloat", "csignal", "cinttypes", "clocale", "cerrno", "cstdio", "ctime")


def test_any_names_make_a_program_that_compiles(tmp_path: Path) -> None:
    params = [Var(n, TensorType((4,))) for n in HOSTILE]
    body = params[0]
    for p in params[1:]:
        body = call("add", body, p)
    m = irtool.infer_types(Module({"main": Function(tuple(params), body)}))
    artifact = irtool.build(m, out_dir=tmp_path, api="tvm", testbench=True, emit="c")
    identifiers = artifact.report["identifiers"]
    assert list(identifiers) == HOSTILE
    assert len(set(identifiers.values())) == len(HOSTILE)
    for file in tmp_path.iterdir():
        assert file.read_bytes().isascii() and b"system" not in file.read_bytes().replace(b"x___system__true_____", b"")
    program = compile_c(tmp_path, "test", "model.c", "model_test.c", "tvmgen_model.c")
    assert run(program).returncode == 0
    (tmp_path / "use.cpp").write_text(
        "".join(f"#include <{h}>\n" for h in STANDARD_HEADERS) + '#include "model.h"\n#include "tvmgen_model.h"\n'
    )
    compile_c(tmp_path, "use.o", "-c", "use.cpp", cc="c++", flags=["-Wall", "-Wextra", "-Werror"])


def test_several_entries(tmp_path: Path) -> None:
    m = parse(
        """
def @scale(%x: Tensor[(4), float32]) { multiply(%x, 2f) }
def @main(%x: Tensor[(4), float32]) { add(@scale(%x), 1f) }
def @both(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { (@scale(%x), subtract(%x, %y)) }
"""
    )
    artifact = irtool.build(m, out_dir=tmp_path, name="net", entry=["main", "both"])
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(artifact.run([x]), x * 2 + 1)
    np.testing.assert_array_equal(artifact.run({"x": x, "y": x}, entry="both")[1], x * 0)
    with pytest.raises(UsageError, match="this build has no entry function @scale"):
        artifact.run([x], entry="scale")
    header = (tmp_path / "net.h").read_text()
    assert "int net_run(const float *x, float *out);" in header
    assert "int net_run_both(const float *x, const float *y, float *out0, float *out1);" in header
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    a, b = np.empty_like(x), np.empty_like(x)
    assert library.net_run_both(*(ctypes.c_void_p(v.ctypes.data) for v in (x, x, a, b))) == 0
    np.testing.assert_array_equal(a, x * 2)
    np.testing.assert_array_equal(b, x * 0)
    (tmp_path / "use.c").write_text('#include "net.h"\nint size = NET_BOTH_OUT1_SIZE + NET_OUT_SIZE;\n')
    compile_c(tmp_path, "use.o", "-c", "use.c")
    with pytest.raises(irtool.IrError, match="no function @other"):
        irtool.build(m, entry=["main", "other"])


def test_two_networks_in_one_program(tmp_path: Path) -> None:
    for name, op in (("first", "exp"), ("second", "negative")):
        m = parse(f"def @main(%x: Tensor[(4), float32]) {{ add({op}(%x), 1f) }}")
        irtool.build(m, out_dir=tmp_path, name=name, emit="obj")
    (tmp_path / "main.c").write_text(
        '#include "first.h"\n#include "second.h"\n'
        "int main(void) {\n  float x[4] = {0, 0, 0, 0}, a[4], b[4];\n"
        "  return first_run(x, a) || second_run(x, b) || a[3] != 2 || b[3] != 1;\n}\n"
    )
    assert run(compile_c(tmp_path, "main", "main.c", "first.o", "second.o")).returncode == 0


def test_the_peers_interface(tmp_path: Path) -> None:
    m = parse("def @main(%a: Tensor[(3), float32], %b: Tensor[(3), int8]) { (exp(%a), add(%b, ones_like(%b))) }")
    irtool.build(m, out_dir=tmp_path, name="net", api="tvm", emit="c")
    (tmp_path / "main.c").write_text(
        '#include "tvmgen_net.h"\n'
        "int main(void) {\n"
        "  float a[3] = {0, 0, 0}, p[3];\n  int8_t b[3] = {1, 2, 3}, q[3];\n"
        "  struct tvmgen_net_inputs inputs = {a, b};\n"
        "  struct tvmgen_net_outputs outputs;\n"
        "  outputs.output0 = p;\n  outputs.output1 = q;\n"
        "  if (TVMGEN_NET_A_SIZE != sizeof a || TVMGEN_NET_OUTPUT1_SIZE != sizeof q) return 1;\n"
        "  if (inputs.a != (void *)a || inputs.b != (void *)b) return 2;\n"
        "  if (tvmgen_net_run(&inputs, &outputs)) return 3;\n"
        "  return p[2] != 1 || q[2] != 4;\n}\n"
    )
    assert run(compile_c(tmp_path, "main", "main.c", "net.c", "tvmgen_net.c")).returncode == 0
    with pytest.raises(UsageError, match="one function"):
        irtool.build(m, api="tvm", entry=["main", "other"])


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_no_compiler_has_anything_to_say(cc: str, tmp_path: Path) -> None:
    if shutil.which(cc) is None:
        pytest.skip(f"there is no {cc}")
    m, weights, _ = dense()
    irtool.build(m, weights, out_dir=tmp_path, emit="c", name="net", weights="file", api="tvm", testbench=True)
    for extra in ([], ["-march=native"], ["-DIRT_NO_VECTOR"], ["-DNET_NO_LOADER"]):
        for source in ("net.c", "tvmgen_net.c"):
            command = [
                cc,
                "-std=c99",
                "-Wall",
                "-Wextra",
                "-pedantic",
                "-Werror",
                *extra,
                "-c",
                "-o",
                "/dev/null",
                source,
            ]
            subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.parametrize("vector", [True, "none"])
def test_nothing_is_written_that_the_program_does_not_use(vector: bool | str, tmp_path: Path) -> None:
    """The shape to collapse to is a constant while lowering only; a network without inputs needs none mixed."""
    m = parse('def @main() { let %x = ones(shape=[2, 3], dtype="float32"); collapse_sum_like(exp(%x), %x) }')
    irtool.build(m, out_dir=tmp_path, emit="c", name="net", testbench=True, vector=vector)
    done = run(compile_c(tmp_path, "net", "net.c", "net_test.c"))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("vector", [True, "none"])
def test_an_arg_max_keeps_no_extremes(vector: bool | str, tmp_path: Path) -> None:
    m = parse("def @main(%x: Tensor[(2, 3, 4), float32]) { argmax(%x, axis=[1], keepdims=True) }")
    artifact = irtool.build(m, out_dir=tmp_path, emit="c", name="net", testbench=True, vector=vector)
    assert [b["dtype"] for b in artifact.report["buffers"]] == ["int32"]
    done = run(compile_c(tmp_path, "net", "net.c", "net_test.c", flags=[*STRICT, "-O2", "-march=native"]))
    assert done.returncode == 0, done.stdout
