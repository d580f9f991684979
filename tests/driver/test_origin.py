"""Generated C says where it comes from and how it is compiled, other builds take it in, and it can be placed and checked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c.banner import Origin, without_folder
from irtool.backends.c.build_file import write_build_file
from irtool.backends.interface.comment import comment
from irtool.diagnostics import ToolError, UsageError
from irtool.driver.build import build
from tests.command_line import irtool as command

pytestmark = pytest.mark.promise("C says its origin")

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 64), float32], %kernel: Tensor[(32, 64), float32]) {
  nn.relu(nn.dense(%x, %kernel, units=32))
}
"""
MAIN = """#include "net.h"
#include <stdio.h>
int main(void) {
  static float x[NET_X_SIZE], out[NET_OUT_SIZE];
  int n;
  for (n = 0; n < (int)NET_X_SIZE; ++n) x[n] = (float)(n % 7);
  if (net_run(x, out)) return 1;
  for (n = 0; n < (int)NET_OUT_SIZE; ++n) printf("%.3f\\n", (double)out[n]);
  return 0;
}
"""
KERNEL = np.random.RandomState(0).uniform(-1, 1, (32, 64)).astype("float32")
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


def build_network(folder: Path, text: str = TEXT, **options: object) -> irtool.Artifact:
    options = {"emit": "c", "name": "net", "params": {"kernel": KERNEL}, **options}
    return build(irtool.parse(text, filename="net.relay"), out_dir=folder, **options)  # type: ignore[arg-type]


def shell(line: str, folder: Path) -> str:
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def expected() -> np.ndarray:
    x = (np.arange(256) % 7).astype("float32").reshape(4, 64)
    return np.maximum(x @ KERNEL.T, 0).ravel()


def assert_right(printed: str) -> None:
    np.testing.assert_allclose(np.array(printed.split(), float), expected(), atol=5e-3)


@pytest.mark.parametrize("weights", ["inline", "split", "file"])
@pytest.mark.parametrize("api", ["flat", "tvm"])
def test_the_printed_line_compiles_what_was_written(tmp_path: Path, weights: str, api: str) -> None:
    source, values, out = tmp_path / "net.relay", tmp_path / "w.npz", tmp_path / "out"
    source.write_text(TEXT)
    np.savez(values, kernel=KERNEL)
    options = ["--emit=c", f"--weights={weights}", f"--api={api}", "-o", out]
    code, printed, err = command("build", source, "--params", values, *options)
    assert code == 0, err
    line = re.search(rf"^compile it, in {out}, with: (.*)$", printed, re.M)
    assert line
    assert shell(line[1], out) == ""
    objects = {f"{path.stem}.o" for path in out.glob("*.c")}
    assert {path.name for path in out.glob("*.o")} == objects
    for name in ("net.h", "net.c", *(["net_weights.c"] if weights == "split" else [])):
        text = (out / name).read_text()
        assert f" * Compile: {line[1]}\n" in text and f"irtool {irtool.__version__} " in text
        assert "irtool claims no rights" in text and str(tmp_path) not in text


def test_a_build_of_sources_that_is_quiet_prints_nothing(tmp_path: Path) -> None:
    (tmp_path / "net.relay").write_text(TEXT)
    assert command("build", tmp_path / "net.relay", "--emit=c", "-q", "-o", tmp_path / "out") == (0, "", "")


def test_the_banner_says_what_the_code_is_made_for(tmp_path: Path) -> None:
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    about = {}
    for mcpu, vector, openmp in (("x86-64-v3", True, False), ("x86-64", True, True), ("x86-64", False, False)):
        folder = tmp_path / f"{mcpu}{vector}"
        build_network(folder, cc="gcc", mcpu=mcpu, vector=vector, openmp=openmp)
        about[mcpu, vector] = (folder / "net.h").read_text()
    if "x86_64" not in about["x86-64-v3", True]:
        pytest.skip("the processors are those of x86-64")
    assert "for x86_64, x86-64-v3; vectors of 256 bits; one thread." in about["x86-64-v3", True]
    assert "for x86_64, x86-64; vectors of 128 bits; OpenMP." in about["x86-64", True]
    assert "-fopenmp" in about["x86-64", True] and "Link:    -fopenmp -lm" in about["x86-64", True]
    assert "no vectors; one thread." in about["x86-64", False]


def test_banners_hold_neither_folders_nor_ends_of_comments() -> None:
    assert without_folder("-I/home/me/include") == "-I.../include"
    assert without_folder("--sysroot=/opt/x/y") == "--sysroot=.../y"
    assert without_folder("/usr/bin/gcc") == ".../gcc"
    assert [without_folder(w) for w in ("-O3", "include/a.h", "-Iinclude/b")] == ["-O3", "include/a.h", "-Iinclude/b"]
    assert comment(["-Da*/ int x; /*"]) == ["/*", " * -Da* / int x; / *", " */"]


def test_the_same_build_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("a", "b/c"):
        build_network(tmp_path / folder, build_file="cmake,make", cflags=f"-I{tmp_path / folder}/include")
    for name in ("net.h", "net.c"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b/c" / name).read_bytes()


def test_the_header_is_cxx_too(tmp_path: Path) -> None:
    if not (shutil.which("g++") and shutil.which("gcc")):
        pytest.skip("g++ is not installed")
    build_network(tmp_path, cc="gcc")
    (tmp_path / "app.cpp").write_text(MAIN)
    shell(f"g++ {' '.join(STRICT)} -std=c++11 -c app.cpp", tmp_path)
    shell("gcc -std=c99 -c net.c && g++ -o app app.o net.o -lm", tmp_path)
    assert_right(shell("./app", tmp_path))


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_a_notice_where_vectors_are_not_taken(tmp_path: Path, cc: str) -> None:
    if not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    if "__x86_64__" not in shell(f"{cc} -dM -E -x c /dev/null", tmp_path):
        pytest.skip("the processors are those of x86-64")
    build_network(tmp_path, cc=cc, mcpu="x86-64-v3")
    strict = f"{cc} -std=c99 -O1 {' '.join(STRICT)} -c net.c"
    output = shell(strict, tmp_path)  # a notice is no error
    assert "net.c is made for vectors and compiled without them" in output and "-march=x86-64-v3" in output
    for flag in ("-march=x86-64-v3", "-DIRT_NO_VECTOR", "-DIRT_NO_NOTICE"):
        assert shell(f"{strict} {flag}", tmp_path) == ""


@pytest.mark.parametrize("weights", ["inline", "split"])
@pytest.mark.parametrize("openmp", [False, True])
def test_cmake_and_make_take_the_sources_in(tmp_path: Path, weights: str, openmp: bool) -> None:
    lib = tmp_path / "lib folder" if not openmp else tmp_path / "lib"
    artifact = build_network(lib, weights=weights, openmp=openmp, build_file=("cmake", "make"), cflags='-DQUOTED="a b"')
    assert {"net.cmake", "net.mk"} <= {os.path.basename(f) for f in artifact.files}
    (tmp_path / "app.c").write_text(MAIN)
    if shutil.which("make") and openmp:  # make knows no folders with spaces
        (tmp_path / "Makefile").write_text(
            "all: app\ninclude lib/net.mk\napp: app.o $(NET_OBJECTS)\n\t$(CC) -o $@ $^ $(NET_LDLIBS)\n"
            "app.o: app.c\n\t$(CC) $(NET_CPPFLAGS) -c $<\n"
        )
        assert "-O3" in shell("make", tmp_path)
        assert_right(shell("./app", tmp_path))
    if shutil.which("cmake"):
        (tmp_path / "CMakeLists.txt").write_text(
            f'cmake_minimum_required(VERSION 3.13)\nproject(app C)\ninclude("{lib.name}/net.cmake")\n'
            "add_executable(app app.c)\ntarget_link_libraries(app PRIVATE net)\n"
        )
        shell("cmake -S . -B made -DCMAKE_BUILD_TYPE=Debug && cmake --build made", tmp_path)
        assert_right(shell("made/app", tmp_path))


def test_build_files_name_the_weights_and_spell_flags_for_their_readers() -> None:
    origin = Origin("1", "", 0, False, ("gcc", "-m64"), ("-DA=$x", '-DB="q"', "-DC=#"))
    cmake = write_build_file("cmake", "net", origin, ["net.c"], "net.bin")
    assert 'set(NET_WEIGHTS "${CMAKE_CURRENT_LIST_DIR}/net.bin")' in cmake
    assert '  "-m64"\n  "-DA=\\$x"\n  "-DB=\\"q\\""\n' in cmake
    mk = write_build_file("make", "net", origin, ["net.c"], "net.bin")
    assert "NET_WEIGHTS := $(NET_DIR)net.bin" in mk
    assert "NET_CFLAGS := -m64 '-DA=$$x' '-DB=\"q\"' '-DC=\\#'" in mk


def test_build_files_for_an_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an archive has no build file"):
        build_network(tmp_path, emit="mlf", build_file="make")
    with pytest.raises(UsageError, match="build_file='cmke' is not one of cmake, make"):
        build_network(tmp_path, build_file="cmke")


def test_workspace_and_weights_are_placed_by_macros(tmp_path: Path) -> None:
    if not (shutil.which("gcc") and shutil.which("objdump")):
        pytest.skip("gcc and objdump are not installed")
    text = TEXT.replace(
        "nn.relu(nn.dense(%x, %kernel, units=32))", "nn.relu(nn.dense(nn.softmax(%x), %kernel, units=32))"
    )
    for weights, source in (("inline", "net.c"), ("split", "net_weights.c")):
        build_network(tmp_path, text, cc="gcc", weights=weights)
        place = """'-DNET_WEIGHTS_ATTR=__attribute__((section(".flash"), aligned(128)))'"""
        shell(f"gcc -std=c99 {place} -c {source} -o placed.o", tmp_path)
        section = re.search(r" \.flash +([0-9a-f]+).* 2\*\*(\d+)$", shell("objdump -h placed.o", tmp_path), re.M)
        assert section and int(section[1], 16) >= KERNEL.nbytes and int(section[2]) >= 7
    build_network(tmp_path, text, cc="gcc", weights="inline")
    place = """'-DNET_ARENA_ATTR=__attribute__((section(".ram2")))'"""
    shell(f"gcc -std=c99 {place} -c net.c -o placed.o", tmp_path)
    assert ".ram2" in shell("objdump -h placed.o", tmp_path)
    # Of another file: the workspace is in the program.
    (tmp_path / "app.c").write_text(MAIN + "unsigned char net_storage[NET_ARENA_SIZE];\n")
    shell("gcc -std=c99 -DNET_ARENA_LINKAGE=extern -DNET_WEIGHTS_LINKAGE= app.c net.c -lm -o app", tmp_path)
    symbols = shell("nm app", tmp_path)
    assert " B net_storage" in symbols and re.search(r" R \w+$", symbols, re.M)


def has_sanitizer(tmp_path: Path, kind: str) -> bool:
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }")
    line = f"{os.environ.get('CC', 'cc')} -fsanitize={kind} empty.c -o empty && ./empty"
    return subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, check=False).returncode == 0


def test_flags_and_sanitizers_reach_the_compiler(tmp_path: Path) -> None:
    artifact = build_network(tmp_path, sanitize="address,undefined", cflags="-DFIRST -DSECOND='a b'")
    line = artifact.report["compile"]
    assert "-DFIRST '-DSECOND=a b' -fsanitize=address,undefined -fno-sanitize-recover=all" in line
    with pytest.raises(UsageError, match="sanitize='adress' is not one of") as refused:
        build_network(tmp_path, sanitize="adress")
    assert "address" in str(refused.value.diagnostics[0].help)
    with pytest.raises(UsageError, match="cannot read the compiler's flags"):
        build_network(tmp_path, cflags="'")
    with pytest.raises(ToolError):
        build_network(tmp_path, emit="so", cflags="-no-such-flag=1")


def test_a_program_with_sanitizers_runs_by_itself(tmp_path: Path) -> None:
    if not has_sanitizer(tmp_path, "address,undefined"):
        pytest.skip("the compiler has no sanitizers")
    x = np.arange(256, dtype="float32").reshape(4, 64) % 7
    artifact = build_network(tmp_path, emit="exe", sanitize=("address", "undefined"), weights="file")
    np.testing.assert_allclose(artifact.run([x]).ravel(), expected(), atol=5e-3)
    artifact = build_network(tmp_path / "so", emit="so", sanitize="address")
    with pytest.raises(UsageError, match="a library with the address sanitizer cannot be loaded"):
        artifact.run([x])


def test_what_a_sanitizer_finds_is_said(tmp_path: Path) -> None:
    if not has_sanitizer(tmp_path, "undefined"):
        pytest.skip("the compiler has no sanitizers")
    (tmp_path / "broken.c").write_text(
        "int main(int n, char **v) { volatile int k = 2147483647; (void)v; k += n; return 0; }"
    )
    flags = " ".join(
        f for f in build_network(tmp_path, sanitize="undefined").report["compile"].split() if "sanitize" in f
    )
    shell(f"{os.environ.get('CC', 'cc')} {flags} broken.c -o broken", tmp_path)
    from irtool.backends.process import run_program

    with pytest.raises(ToolError, match=r"ended with code 1: .*signed integer overflow"):
        run_program(tmp_path / "broken", None, [], 0)


def test_run_compares_through_a_program_with_sanitizers(tmp_path: Path) -> None:
    if not has_sanitizer(tmp_path, "address,undefined"):
        pytest.skip("the compiler has no sanitizers")
    source = tmp_path / "net.relay"
    source.write_text(TEXT)
    code, printed, err = command(
        "run", source, "--compare=interp,c", "--sanitize=address,undefined", "--cflags=-O1", "-q"
    )
    assert (code, printed.strip()) == (0, "interp and c agree"), err
    code, _, err = command("run", source, "--sanitize=address")
    assert code == 2 and "--via=c" in err
    code, _, err = command("build", source, "--sanitize=adress", "-o", tmp_path / "out")
    assert code == 2 and "address" in err and not (tmp_path / "out").exists()


def test_flags_and_sanitizers_are_in_the_key_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    builds = tmp_path / "cache" / "irtool" / "builds"
    for n, options in enumerate(({}, {"cflags": "-DA"}, {"sanitize": "undefined"}, {"build_file": "make"}), start=1):
        for _ in range(2):
            line = build_network(tmp_path / "out", cache=True, **options).report["compile"]
        assert len(list(builds.iterdir())) == n
        assert ("-DA" in line, "-fsanitize=undefined" in line) == ("cflags" in options, "sanitize" in options)
