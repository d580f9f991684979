"""A machine that the environment describes: schedules follow it, code runs here, and what is malformed is told."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool import cli
from irtool.backends.c import C
from irtool.backends.llvm.tools import InProcess
from irtool.backends.toolchain import described
from irtool.backends.toolchain.caches import cache_sizes
from irtool.backends.toolchain.compiler import Compiler
from irtool.backends.toolchain.described import MACHINES, VARIABLE, instruction_sets, present_flags, read_description
from irtool.backends.toolchain.processor import processor_name, processor_numbers, thread_count
from irtool.diagnostics import UsageError

MLP = Path(__file__).parents[2] / "samples" / "mlp.relay"
TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 16, 9, 9), float32], %w: Tensor[(32, 16, 3, 3), float32]) {
  nn.softmax(nn.batch_flatten(nn.relu(nn.conv2d(%x, %w, padding=[1, 1]))))
}
"""


@pytest.mark.parametrize("name", MACHINES)
def test_named_machines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules are for the machine, and what is built of them runs here with the right results."""
    monkeypatch.setenv(VARIABLE, name)
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    about = read_description(name)
    machine = Compiler().machine()
    assert (processor_name(), processor_numbers(), thread_count()) == (name, {}, about.cores)
    assert cache_sizes("native") == about.caches
    assert {n: getattr(machine, n) for n, _ in about.sizes} == dict(about.sizes)
    wide = 64 if "avx512f" in about.flags else 32 if "avx" in about.flags else 16
    assert machine.vector_bytes == wide
    assert replace(machine, **dict.fromkeys(about.caches, 1)) == replace(
        C().machine(), growth=None, **dict.fromkeys(about.caches, 1)
    )
    if not shutil.which("cc"):
        return
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(s).astype("float32") for s in ((1, 16, 9, 9), (32, 16, 3, 3)))
    artifact = irtool.build(irtool.parse(TEXT), {"w": w}, cflags="-O1")
    want = irtool.evaluate(irtool.parse(TEXT), {"x": x, "w": w})
    np.testing.assert_allclose(np.asarray(artifact.run([x])), np.asarray(want), rtol=1e-4, atol=1e-7)


def test_llvm_has_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setenv(VARIABLE, "zen2,l2_cache_bytes=768K")
    machine = InProcess("native", "").machine()
    assert (machine.vector_bytes, machine.l1_cache_bytes, machine.l2_cache_bytes) == (32, 32 << 10, 768 << 10)


def test_further_words_replace_those_of_a_name() -> None:
    m = read_description("zen4, l2_cache_bytes=2M ,cores=3, multiply_adds=2, copied_reads=1.25")
    assert (m.cores, dict(m.sizes)["l2_cache_bytes"], dict(m.sizes)["multiply_adds"]) == (3, 2 << 20, 2)
    assert dict(m.sizes)["copied_reads"] == 1.25
    assert m.flags == read_description("zen4").flags


@pytest.mark.parametrize(
    "text",
    ["zen", "zen2,", ",zen2", "=", "flags=", "flags=avx2+what", "flags=avx2+asimd", "l1=32K", "l1_cache_bytes=32k",
     "l1_cache_bytes=0", "l2_cache_bytes=-1", "cores=0", "cores=many", "cores=1.5", "zen2;cores=2", "vector_bytes=64",
     "zen2,cores=99999999999999999999", "zen2,zen4", "l2_cache_bytes=9999999M", "\x1b[31m"],
)  # fmt: skip
def test_malformed_descriptions(text: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(UsageError, match=f"cannot read {VARIABLE}"):
        Compiler().machine()
    assert cli.run(["build", "--emit=c", "--mcpu=native", "-o", "/dev/null", str(MLP)]) == 2
    assert VARIABLE in capfd.readouterr().err


def test_code_has_only_instructions_of_this_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the described machine has beyond it, and of a processor that lacks what this one has."""
    monkeypatch.setattr(described, "present_flags", lambda: frozenset({"pni", "ssse3", "avx"}))
    options = read_description("sapphire-rapids").options("x86_64-linux-gnu")
    assert options == ["-march=x86-64", "-msse3", "-mssse3", "-mavx"]
    assert read_description("neoverse-v1").options("x86_64-linux-gnu") == []
    assert present_flags() <= set(instruction_sets())


def test_descriptions_tell_builds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, named = set(), set()
    for text in (*MACHINES, "zen2,l2_cache_bytes=2M", ""):
        monkeypatch.setenv(VARIABLE, text)
        keys.add(C(mcpu="native").identity())
        named.add(C(mcpu="none").identity())
    assert len(keys) == len(MACHINES) + 2
    assert len(named) == 1


def test_named_processors_and_cross_compilers_are_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "baseline,l2_cache_bytes=4M")
    assert cache_sizes("znver3") == {"l2_cache_bytes": 512 << 10}
    if shutil.which("aarch64-linux-gnu-gcc"):
        assert Compiler("aarch64-linux-gnu-gcc").machine().registers == 32
