"""Data, functions as values and references that depend on inputs: the compiled programs do what the interpreter does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import ToolError, UsageError
from tests.backends.bundle import Bundle, assert_close, leaves
from tests.backends.data_programs import PROGRAMS, TYPES, program

CLEAN = ["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror"]
SANITIZE = ["-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.mark.parametrize(
    "cc, flags, options",
    [
        ("gcc", [*CLEAN, *SANITIZE], {"opt_level": 3}),
        ("gcc", [*CLEAN, "-march=native", "-fopenmp"], {"opt_level": 0}),
        ("clang", [*CLEAN, "-march=native"], {"opt_level": 2}),
    ],
    ids=["sanitizers", "threads", "clang"],
)
def test_programs_compute_what_the_interpreter_does(tmp_path: Path, cc: str, flags: list[str], options: dict) -> None:
    if shutil.which(cc) is None:
        pytest.skip(f"no {cc}")
    bundle = Bundle(tmp_path, cc=cc, **options)
    expected = []
    for name in PROGRAMS:
        module, runs = program(name)
        for inputs in runs:
            bundle.add(module, inputs)
            expected.append((f"{name}, {inputs}", leaves(irtool.evaluate(module, inputs))))
    for got, (name, want) in zip(bundle.run(flags, cc=cc), expected, strict=True):
        assert_close(got, want, 1e-5, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_llvm_computes_it_too(name: str) -> None:
    module, runs = program(name)
    artifact = irtool.build(module, target="llvm")
    assert artifact.files, "it is not compiled anew for each value"
    for inputs in runs:
        assert_close(leaves(artifact.run(inputs)), leaves(irtool.evaluate(module, inputs)), 1e-5, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sources_in_several_units_share_the_region(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irtool.backends.c.units.UNIT_LENGTH", 1)
    module, runs = program(name)
    artifact = irtool.build(module, mcpu="none")
    for inputs in runs:
        assert_close(leaves(artifact.run(inputs)), leaves(irtool.evaluate(module, inputs)), 1e-5, name)


HEAD = "def @hd[A](%l: List[A]) -> A { match? (%l) { Cons(%x, _) => { %x }, } }\ndef @main(%n: int32) { @hd(@up(%n)) }"


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_a_value_that_no_clause_fits_is_an_error(target: str, tmp_path: Path) -> None:
    artifact = irtool.build(irtool.parse(TYPES + HEAD), target=target, out_dir=tmp_path)
    assert artifact.run([np.int32(3)]) == 3
    with pytest.raises(ToolError, match="no clause of a match fits"):
        artifact.run([np.int32(0)])
    assert "#define MODEL_NO_CLAUSE 11" in (tmp_path / "model.h").read_text()


def test_programs_say_which_error_it_was(tmp_path: Path) -> None:
    text = HEAD.replace("@hd(@up(%n))", "(@hd(@up(%n)), @sum(@up(%n)))")
    irtool.build(irtool.parse(TYPES + text), emit="exe", out_dir=tmp_path, flags={"region_size": 4000})
    for n, code, message in ((3, 0, ""), (0, 11, "no clause of a match fits"), (200, 10, "the region is full")):
        np.int32(n).tofile(tmp_path / "n.raw")
        words = [str(tmp_path / "model"), "n.raw", "out0.raw", "out1.raw"]
        ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == code and ended.stderr.startswith(message), ended


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_a_region_that_is_full_is_an_error_and_the_next_run_begins_afresh(target: str) -> None:
    """An element takes 24 bytes, and its frame in the sum of the list 16."""
    module = irtool.parse(TYPES + "def @main(%n: int32) { @sum(@up(%n)) }")
    artifact = irtool.build(module, target=target, flags={"region_size": 40 * 101})
    for n in (3, 100, 110, 50, 1000, 100):
        if n <= 100:
            assert artifact.run([np.int32(n)]) == n * (n + 1) // 2
        else:
            with pytest.raises(ToolError, match="the region is full"):
                artifact.run([np.int32(n)])


def test_what_a_function_leaves_is_released_when_it_returns() -> None:
    """Each of many calls makes a list that takes a quarter of the region."""
    text = """
def @many(%k: int32, %n: int32, %s: int32) -> int32 {
  if (equal(%k, 0)) { %s } else { @many(%k - 1, %n, %s + @sum(@up(%n))) }
}
def @one(%n: int32) -> int32 { @sum(@up(%n)) }
def @main(%k: int32, %n: int32) { @many(%k, %n, 0) }
"""
    artifact = irtool.build(irtool.parse(TYPES + text), flags={"region_size": 24 * 400})
    assert artifact.run([np.int32(3), np.int32(100)]) == 3 * 5050


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_functions_without_captures_need_no_region(target: str) -> None:
    """An input decides which function is called, and all values are constants."""
    text = """
def @pick(%n: int32) -> fn(float32) -> float32 { if (equal(%n, 0)) { @pick(%n + 1) } else { fn (%x: float32) { %x * 2f } } }
def @main(%n: int32) { @pick(%n)(1f) }
"""
    artifact = irtool.build(irtool.parse(TYPES + text), target=target)
    assert artifact.files and artifact.run([np.int32(0)]) == 2


@pytest.mark.parametrize("size", ["0", "-1", "many", str(1 << 50)])
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_sizes_of_regions_are_checked(target: str, size: str) -> None:
    with pytest.raises(UsageError, match="is not a number of bytes"):
        irtool.build(irtool.parse(TYPES + HEAD), target=target, flags={"region_size": size})
