"""Caches of processors: of this machine, and of those that are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from irtool.backends.llvm.tools import InProcess
from irtool.backends.toolchain import caches
from irtool.backends.toolchain.caches import cache_sizes
from irtool.backends.toolchain.compiler import Compiler
from tests.backends.instructions import X86

pytestmark = pytest.mark.usefixtures("own_machine")


def core(folder: Path, siblings: str, *levels: tuple[str, str, str, str]) -> Path:
    """What Linux has of a core: its threads, and of each cache the level, the type, the size and who shares it."""
    (folder / "topology").mkdir(parents=True)
    (folder / "topology" / "thread_siblings_list").write_text(siblings + "\n")
    for n, values in enumerate(levels):
        (folder / "cache" / f"index{n}").mkdir(parents=True)
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
            (folder / "cache" / f"index{n}" / name).write_text(value + "\n")
    return folder


USUAL = (("1", "Data", "48K", "0,4"), ("1", "Instruction", "64K", "0,4"))


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (("2", "Unified", "2048K", "0,4"), 2 << 20),  # threads of one core share it
        (("2", "Unified", "2M", "0-7"), 1 << 19),  # four cores of two threads do
        (("2", "Unified", "512K", "what"), 1 << 19),
    ],
)
def test_a_core_has_its_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: tuple[str, str, str, str], expected: int
) -> None:
    monkeypatch.setattr(caches, "_CPU", core(tmp_path / "cpu", "0,4", *USUAL, second))
    assert cache_sizes("native") == {"l1_cache_bytes": 48 << 10, "l2_cache_bytes": expected}


@pytest.mark.parametrize("size", ["", "a lot", "-1K", "4K", "900M", "2G"])
def test_what_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    """No number, or one that no cache of a core has: the sizes of others are used."""
    monkeypatch.setattr(caches, "_CPU", core(tmp_path / "cpu", "0,4", *USUAL, ("2", "Unified", size, "0")))
    monkeypatch.setattr(caches, "_of_library", lambda level: 0)
    assert cache_sizes("native") == {"l1_cache_bytes": 48 << 10}


def test_a_system_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "_CPU", tmp_path / "none")
    assert set(cache_sizes("native")) <= {"l1_cache_bytes", "l2_cache_bytes"}
    monkeypatch.delattr("os.sysconf")
    monkeypatch.setattr(caches, "_CPU", tmp_path / "none either")
    assert cache_sizes("native") == {}


def test_processors_by_name() -> None:
    assert cache_sizes("znver3") == {"l2_cache_bytes": 512 << 10}
    assert cache_sizes("sapphirerapids") == {"l1_cache_bytes": 48 << 10, "l2_cache_bytes": 2 << 20}
    assert cache_sizes("x86-64-v3") == cache_sizes("cortex-a72") == cache_sizes("none") == {}


@pytest.mark.skipif(not X86, reason="names of x86 processors")
def test_they_are_part_of_the_machine() -> None:
    for machine in (Compiler("gcc", "znver3").machine(), InProcess("znver3", "").machine()):
        assert (machine.l1_cache_bytes, machine.l2_cache_bytes) == (32 << 10, 512 << 10)
    here = cache_sizes("native")
    assert {n: getattr(Compiler().machine(), n) for n in here} == here
    assert Compiler(mcpu="none").machine().l2_cache_bytes == 1 << 20


def test_they_tell_builds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines that share a cache of builds and differ in their caches alone have builds of their own."""
    before, named = Compiler().identity, Compiler(mcpu="none").identity
    monkeypatch.setattr("irtool.backends.toolchain.compiler.cache_sizes", lambda mcpu: {"l2_cache_bytes": 3 << 20})
    assert Compiler().identity != before
    assert Compiler(mcpu="none").identity == named
