"""C compilers: which one, what it is told, what happens where it fails; other processors."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import irtool
from irtool.backends.c.nest import KernelWriter
from irtool.backends.c.object_files import Objects
from irtool.backends.toolchain.compiler import Compiler
from irtool.diagnostics import ToolError, UsageError
from tests.driver.programs import dense, parse, run

CROSS = {
    "aarch64-linux-gnu-gcc": ("cortex-a72", "qemu-aarch64", "/usr/aarch64-linux-gnu"),
    "arm-linux-gnueabihf-gcc": ("cortex-a7", "qemu-arm", "/usr/arm-linux-gnueabihf"),
    "riscv64-linux-gnu-gcc": ("none", "qemu-riscv64", "/usr/riscv64-linux-gnu"),
}


def test_a_missing_compiler_leaves_the_sources(tmp_path: Path) -> None:
    m, weights, _ = dense()
    with pytest.raises(ToolError, match="no-such-compiler was not found") as caught:
        irtool.build(m, weights, out_dir=tmp_path, cc="no-such-compiler")
    assert caught.value.exit_code == 4
    assert {p.name for p in tmp_path.iterdir()} == {"model.c", "model.h"}
    irtool.build(m, weights, out_dir=tmp_path, cc="no-such-compiler", emit="c")


def test_a_failing_compiler_is_quoted_and_the_sources_are_kept(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *-dM*|*-dumpmachine*) exec cc "$@";; esac\necho "model.c:1: no" >&2\nexit 1\n'
    )
    compiler.chmod(0o755)
    m, weights, _ = dense()
    with pytest.raises(ToolError, match=r"model\.c:1: no") as caught:
        irtool.build(m, weights, cc=str(compiler))
    note = caught.value.diagnostics[0].notes[0]
    folder = Path(note.removeprefix("sources are kept in "))
    assert (folder / "model.c").exists() and (folder / "model.h").exists()
    shutil.rmtree(folder)


def test_an_unknown_processor_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not know the processor 'z80'"):
        irtool.build(dense()[0], out_dir=tmp_path, mcpu="z80")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("mcpu", "vector"), [("x86-64", 16), ("x86-64-v3", 32), ("x86-64-v4", 64)])
def test_vectors_follow_the_processor(mcpu: str, vector: int) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("names of x86 processors")
    assert Compiler(mcpu=mcpu).machine().vector_bytes == vector
    assert Compiler(mcpu="none").processor_flags == []


@pytest.mark.parametrize(
    ("macros", "spared", "reordered"),
    [
        ("GNUC x86_64", True, False),
        ("GNUC aarch64", True, True),
        ("GNUC clang x86_64", False, True),
        ("TINYC x86_64", False, True),
    ],
)
def test_gcc_alone_is_spared_work_that_finds_nothing(
    macros: str, spared: bool, reordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    definitions = "".join(f"#define __{m}__ 1\n" for m in macros.split())
    monkeypatch.setattr("irtool.backends.toolchain.compiler.read_macros", lambda full: (definitions, ""))
    monkeypatch.setenv("CFLAGS", "-fgcse")
    ran = Compiler(mcpu="none").object_command("a.c", "a.o")
    assert all((f in ran) == spared for f in ("-fno-tree-ccp", "-fno-tree-pre", "-fno-gcse")) and ran[-1] == "a.c"
    assert ("-fno-schedule-insns2" not in ran) == reordered
    assert not spared or ran.index("-fno-gcse") < ran.index("-fgcse")  # the user's flags have the last word


def test_flags_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-DONE='1 2'")
    monkeypatch.setenv("CC", "gcc -m64")
    compiler = Compiler(openmp=True, strict=True)
    assert compiler.command == ["gcc", "-m64"]
    assert compiler.flags[-1] == "-DONE=1 2" and "-fopenmp" in compiler.flags
    assert "-ffp-contract=off" in compiler.flags
    assert Compiler(cc="clang -v").command == ["clang", "-v"]


@pytest.mark.parametrize("cc", CROSS)
def test_other_processors_give_the_same_outputs(cc: str, tmp_path: Path) -> None:
    mcpu, emulator, root = CROSS[cc]
    if shutil.which(cc) is None or shutil.which(emulator) is None:
        pytest.skip(f"there is no {cc} or no {emulator}")
    m, weights, _ = dense()
    for processor in ("native", mcpu):
        irtool.build(m, weights, out_dir=tmp_path, cc=cc, mcpu=processor, emit="exe", testbench=True, weights="file")
        done = subprocess.run(
            [emulator, "-L", root, "./model"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("cc", CROSS)
@pytest.mark.parametrize("sample", ["simplenet", "recursion", "two_functions"])
def test_samples_on_other_processors(cc: str, sample: str, tmp_path: Path) -> None:
    mcpu, emulator, root = CROSS[cc]
    if shutil.which(cc) is None or shutil.which(emulator) is None:
        pytest.skip(f"there is no {cc} or no {emulator}")
    text = (Path(__file__).parent.parent.parent / "samples" / f"{sample}.relay").read_text()
    irtool.build(irtool.parse(text), out_dir=tmp_path, cc=cc, mcpu=mcpu, emit="exe", testbench=True)
    done = subprocess.run([emulator, "-L", root, "./model"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_strict_mathematics_against_fast(tmp_path: Path) -> None:
    m = parse("def @main(%x: Tensor[(100), float32]) { (tanh(%x), erf(%x), exp(%x), sigmoid(%x)) }")
    for math in ("fast", "strict"):
        irtool.build(m, out_dir=tmp_path, math=math, emit="exe", testbench=True)
        assert run(tmp_path / "model").returncode == 0


def test_units_are_compiled_while_others_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first unit is handed to the compiler before the last kernel is written, and the library does not depend on when."""
    monkeypatch.setattr("irtool.backends.c.units.UNIT_LENGTH", 1)
    events: list[str] = []
    add, write = Objects.add, KernelWriter.write
    monkeypatch.setattr(
        Objects, "add", lambda self, source, content: (events.append(source), add(self, source, content))
    )
    monkeypatch.setattr(KernelWriter, "write", lambda self: (events.append("kernel"), write(self))[1])
    body = "nn.softmax(cumsum(nn.softmax(%x), axis=1) * 2f)"
    m = parse(f"def @main(%x: Tensor[(3, 5), float32]) {{ {body} }}")
    for folder in ("a", "b"):
        irtool.build(m, out_dir=tmp_path / folder, mcpu="none")
    assert (tmp_path / "a" / "model.so").read_bytes() == (tmp_path / "b" / "model.so").read_bytes()
    assert events.index("model_part1.c") < len(events) - 1 - events[::-1].index("kernel")


def test_what_is_compiled_ends_with_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that fails between its first unit and its last one leaves no compiler behind."""
    command = ["sh", "-c", "echo $$ > started; exec sleep 60"]
    monkeypatch.setattr(Compiler, "object_command", lambda self, source, target: command)
    with pytest.raises(KeyError), Objects(Compiler(), tmp_path) as objects:
        objects.add("a.c", b"int a;")
        while not (tmp_path / "started").exists() or not (tmp_path / "started").read_text():
            time.sleep(0.01)
        raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)
