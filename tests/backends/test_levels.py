"""One library for several processors: kernels for each level, the highest that the machine has chosen when it is loaded."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c import C
from irtool.backends.c.wasm.tools import LEVELS as WASM
from irtool.backends.library import Library
from irtool.backends.toolchain.levels import find_levels
from irtool.diagnostics import UsageError
from irtool.driver.stages import STAGES
from tests.command_line import irtool as command

pytestmark = pytest.mark.promise("several processors in one library")

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 9, 9), float32], %w: Tensor[(32, 16, 3, 3), float32], %d: Tensor[(24, 32), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
  %1 = tanh(nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %d, units=24));
  nn.softmax(erf(exp(%1)))
}
"""
GENERATOR = np.random.default_rng(0)
X = GENERATOR.standard_normal((1, 16, 9, 9)).astype("float32")
W = GENERATOR.standard_normal((32, 16, 3, 3)).astype("float32")
D = GENERATOR.standard_normal((24, 32)).astype("float32")
X86 = platform.machine().lower() in ("x86_64", "amd64")
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def build_network(folder: Path, text: str = TEXT, **options: object) -> irtool.Artifact:
    weights = {"w": W, "d": D} if text is TEXT else {}
    return irtool.build(irtool.parse(text), params=weights, name="net", out_dir=folder, **options)  # type: ignore[arg-type]


def level_of(library: Library) -> str:
    function = library._library.net_level
    function.restype = ctypes.c_char_p
    return str(function().decode())


@pytest.mark.skipif(not X86, reason="the levels are those of x86-64")
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_every_level_of_plainly_compiled_sources_is_right(
    tmp_path: Path, cc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which(cc):
        pytest.skip(f"{cc} is not installed")
    artifact = build_network(tmp_path, emit="c", cc=cc, weights="file")
    line = [cc, "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", "net.so", "net.c", "-lm"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    want = irtool.evaluate(irtool.parse(TEXT), {"x": X, "w": W, "d": D})
    best = ""
    for level in (*LEVELS, "x86-64-v9"):
        monkeypatch.setenv("IRT_LEVEL", level)
        copy = Path(shutil.copy(tmp_path / "net.so", tmp_path / f"{level}.so"))
        library = Library(copy, "net", tmp_path / "net.bin")
        out = np.empty((1, 24), "float32")
        library.run([X], [out])
        np.testing.assert_allclose(out, np.asarray(want), rtol=1e-4, atol=1e-6)
        best = level_of(library)
        assert best == level or best == highest(), "the level is the one asked for, or the highest there is"
    assert best == highest(), "a name that is no level limits nothing"
    assert {w for k in artifact.report["kernels"] for w in [k["c_name"]]} <= set(names(tmp_path / "net.c"))


def highest() -> str:
    """The level of this machine, by what Linux says of it."""
    flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    supported = [n for n, needed in zip(LEVELS, ("sse4_2", "avx2", "avx512vl")) if needed in flags]
    return supported[-1]


def names(source: Path) -> list[str]:
    return [w.split("(")[0] for w in source.read_text(encoding="utf-8").split() if "(" in w]


@pytest.mark.skipif(not X86, reason="the levels are those of x86-64")
def test_levels_share_their_weights_and_a_build_for_one_processor_has_none(tmp_path: Path) -> None:
    several = build_network(tmp_path / "several", mcpu="x86-64,x86-64-v3,x86-64-v4", emit="obj", vector=True)
    one = build_network(tmp_path / "one", mcpu="x86-64-v4", emit="c")
    assert several.report["weight_bytes"] == one.report["weight_bytes"]
    text = (tmp_path / "several" / "net.c").read_text()
    assert "for x86_64, x86-64, x86-64-v3, x86-64-v4, chosen where it runs; vectors of 128, 256, 512 bits" in text
    assert "-march=x86-64 " in text
    assert "LEVEL" not in (tmp_path / "one" / "net.c").read_text()
    assert "net_level" not in (tmp_path / "one" / "net.h").read_text()


CHAIN = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 12, 12), float32], %w0: Tensor[(32, 8, 1, 1), float32], %w1: Tensor[(32, 32, 3, 3), float32],
          %w2: Tensor[(64, 32, 3, 3), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w0, channels=32, kernel_size=[1, 1]));
  %1 = nn.relu(nn.conv2d(%0, %w1, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
  nn.global_avg_pool2d(nn.conv2d(%1, %w2, strides=[2, 2], padding=[1, 1, 1, 1], channels=64, kernel_size=[3, 3]))
}
"""
CHAIN_WEIGHTS = {
    f"w{n}": GENERATOR.standard_normal(shape).astype("float32")
    for n, shape in enumerate([(32, 8, 1, 1), (32, 32, 3, 3), (64, 32, 3, 3)])
}


@pytest.mark.skipif(not X86, reason="the levels are those of x86-64")
@pytest.mark.parametrize("flags", ["winograd=2", "winograd=4"])
def test_levels_share_weights_that_are_made_for_tiles_of_vectors(tmp_path: Path, flags: str) -> None:
    bytes_by_mcpu = {}
    for mcpu in ("portable", "x86-64-v4"):
        artifact = irtool.build(
            irtool.parse(CHAIN), CHAIN_WEIGHTS, f"c{{{flags}}}", out_dir=tmp_path / mcpu, emit="c", mcpu=mcpu
        )
        bytes_by_mcpu[mcpu] = artifact.report["weight_bytes"]
        transformed = [c["name"] for c in artifact.report["constants"] if c["name"].endswith("_transformed")]
        assert transformed == ["w1_transformed", "w2_transformed"]
    assert len(set(bytes_by_mcpu.values())) == 1, bytes_by_mcpu


def test_stages_that_hold_for_all_levels_come_before_those_of_each() -> None:
    once = [stage.once for stage in STAGES]
    assert once == sorted(once, reverse=True)


def test_code_without_vectors_is_written_once(tmp_path: Path) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), int64]) { add(%x, %x) }'
    for options in ({"vector": False}, {"mcpu": "portable"}):
        build_network(tmp_path, text, emit="c", **options)
        assert "LEVEL" not in (tmp_path / "net.c").read_text() or "mcpu" in options


@pytest.mark.parametrize(
    ("mcpu", "message"),
    [
        ("x86-64-v2,x86-64-v5", "'x86-64-v5' is not one of the levels x86-64, "),
        ("x86-64-v2,armv8-a", "levels of several architectures"),
    ],
)
def test_wrong_levels_are_refused(mcpu: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_levels(mcpu, "x86_64")
    with pytest.raises(UsageError):
        irtool.build(irtool.parse(TEXT), emit="c", mcpu=mcpu)


def test_levels_of_another_architecture_than_the_compilers_are_refused() -> None:
    with pytest.raises(UsageError, match="the C compiler is for aarch64"):
        find_levels("x86-64-v2,x86-64-v3", "aarch64")


def test_the_target_may_have_levels_and_sources_are_portable_unless_it_is_said() -> None:
    from irtool.driver.options import Options, choose_backend

    backend, _, _ = choose_backend('c{mcpu="x86-64-v2,x86-64-v3"}', {})
    assert isinstance(backend, C) and backend.mcpu == "x86-64-v2,x86-64-v3"
    backend, _, _ = choose_backend("c -mcpu=x86-64-v2,x86-64-v3", {})
    assert isinstance(backend, C) and backend.mcpu == "x86-64-v2,x86-64-v3"
    for emit, mcpu in (("c", "portable"), ("so", "native"), ("obj", "native"), ("exe", "native")):
        options = Options(C(), emit=emit)
        assert isinstance(options.backend, C) and options.backend.mcpu == mcpu
    assert Options(C(mcpu="none"), emit="c").backend == C(mcpu="none")


def test_a_level_of_arm_is_chosen_where_it_runs(tmp_path: Path) -> None:
    cc = "aarch64-linux-gnu-gcc"
    if not (shutil.which(cc) and shutil.which("qemu-aarch64")):
        pytest.skip("no cross compiler, or no qemu")
    build_network(
        tmp_path, cc=cc, mcpu="armv8-a,armv8.2-a", emit="exe", testbench=True, cflags="-static", weights="inline"
    )
    for cpu in ("cortex-a53", "max"):
        done = subprocess.run(["qemu-aarch64", "-cpu", cpu, tmp_path / "net"], capture_output=True, check=False)
        assert done.returncode == 0, done.stdout
    text = (tmp_path / "net.c").read_text()
    assert "getauxval" in text and 'target("arch=armv8.2-a+fp16+dotprod")' in text


def test_processors_are_listed_with_their_vectors() -> None:
    code, out, _ = command("backends", "c", "--processors")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert code == 0 and {"native", "none", "portable"} <= rows.keys()
    if X86:
        assert rows["x86-64-v3"][:3] == ["256", "bits", "16"] and rows["x86-64-v4"][:3] == ["512", "bits", "32"]
    code, out, _ = command("backends", "wasm", "--processors")
    assert [line.split()[0] for line in out.splitlines()] == ["processor", *WASM]
    code, _, err = command("backends", "llvm", "--processors")
    assert code == 2 and "the backend llvm lists no processors" in err
