"""Backends as plug-ins: found by name, flags from several places, refusals, and one from outside."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.base import backends, find_backend
from irtool.backends.c import C
from irtool.diagnostics import UsageError
from irtool.driver.options import choose_backend
from irtool.plugin.loading import plugins_kept

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "write-a-backend.md").read_text(encoding="utf-8")
NET = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 8), float32]) { tanh(add(%x, %x)) }\n'

pytestmark = pytest.mark.promise("backends")


def test_flags_from_every_place_set_the_same_field() -> None:
    expected = C(math="strict", vector="none", mcpu="x86-64-v2")
    places: list = [
        ("c{math=strict, vector=none, mcpu=x86-64-v2}", {}),
        ("c{math=strict} -mcpu=x86-64-v2", {"vector": False}),
        ("c -mcpu=x86-64-v2", {"vector": "none", "math": "strict", "cc": None}),
        ({"kind": "c", "mcpu": "x86-64-v2"}, {"vector": "none", "math": "strict"}),
        (" c{math=strict vector=none}", {"mcpu": "x86-64-v2", "math": "strict"}),
    ]
    for target, flags in places:
        backend, text, sizes = choose_backend(target, flags)
        assert backend == expected
        assert text.split()[0] == "c" and not sizes
    assert C.make() == choose_backend("c", {})[0] == C()


def test_the_text_of_a_backend_makes_it_again() -> None:
    backend = C(math="strict", openmp=True, cflags='-DX="a b"', sanitize=("address", "undefined"), cc="gcc")
    assert choose_backend(backend.text(), {})[0] == backend
    assert C().text() == "c"


@pytest.mark.parametrize(
    ("target", "flags", "message"),
    [
        ("c{math=strict}", {"math": "fast"}, "the flag math is given twice: strict and fast"),
        ("c{mcpu=x86-64-v2} -mcpu=x86-64-v3", {}, "the flag mcpu is given twice"),
        ("c -mcpu=x86-64-v2", {"mcpu": "native"}, "the flag mcpu is given twice"),
        ("c{math=loud}", {}, "math='loud' is not one of fast, strict"),
        ("c{maths=strict}", {}, "the backend c has no flag maths"),
        ("c{openmp=3}", {}, "openmp=3 is not one of true, false"),
        ("c{sanitize=[address, dirt]}", {}, "sanitize='dirt' is not one of"),
        ("c{math}", {}, "expected '='"),
        ("cuda", {}, "unknown backend cuda"),
        ("metal -keys=x", {}, "unknown backend metal"),
        ("nvidia/nvidia-t4", {}, "unknown backend cuda"),
        ("d{math=strict}", {}, "unknown backend d"),
        ("", {}, "the target is empty"),
    ],
)
def test_refusals(target: str, flags: dict, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose_backend(target, flags)
    assert message in str(caught.value)


def test_a_target_without_a_backend_names_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "net.relay").write_text(NET)
    for command in ("build", "check"):
        done = cli(tmp_path, command, "--target=cuda", "net.relay")
        assert done.returncode == 2
        assert "unknown backend cuda" in done.stderr
        assert all(name in done.stderr for name in backends.names())
    assert [p.name for p in tmp_path.iterdir()] == ["net.relay"]
    with pytest.raises(UsageError, match="unknown backend cuda"):
        irtool.build(irtool.parse(NET), target="cuda")


def test_a_context_chooses_the_backend(quick_compiles: None) -> None:
    with irtool.PassContext(target="cuda"), pytest.raises(UsageError, match="unknown backend cuda"):
        irtool.build(irtool.parse(NET))
    with irtool.PassContext(target="cuda"):
        built = irtool.build(irtool.parse(NET), target="c")
    assert built.run([np.ones((2, 8), "float32")]).shape == (2, 8)


def test_emit_is_what_the_backend_makes() -> None:
    with pytest.raises(
        UsageError,
        match="emit='elf' is not one of tir, isel, c, asm, obj, so, exe, wheel, mlf, arduino, zephyr, esp-idf, cmsis-pack, platformio, the outputs of the backend c",
    ):
        irtool.build(irtool.parse(NET), emit="elf")


def test_every_backend_says_what_it_is_and_what_its_flags_mean() -> None:
    for cls in backends:
        assert cls.summary() and cls.emits
        for f in cls.fields():
            assert f.metadata["meaning"], f"{cls.name}: {f.name}"


def cli(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CFLAGS": "-O1", "XDG_CACHE_HOME": str(folder / ".cache")}
    full = [sys.executable, "-m", "irtool", *words]
    return subprocess.run(full, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A folder with the backend of the page and a module."""
    (text,) = [b for b in re.findall(r"^```python.*?\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if "@backend" in b]
    (tmp_path / "outline.py").write_text(text, encoding="utf-8")
    (tmp_path / "net.relay").write_text(NET)
    return tmp_path


@pytest.mark.promise("plug-ins")
def test_the_backend_of_the_page(page: Path) -> None:
    (shown,) = [b for b in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if "outline.py" in b]
    manual, plain, sized = (cli(page, *shlex.split(line)[1:]) for line in shown.splitlines())
    assert manual.returncode == plain.returncode == sized.returncode == 0, (manual.stderr, plain.stderr, sized.stderr)
    assert "schedule for vectors of so many floats" in manual.stdout
    assert "wrote out/net.md" in plain.stdout
    text = (page / "out" / "net.md").read_text()
    assert "| elementwise |" in text and "(64 bytes)" in text


@pytest.mark.promise("plug-ins")
def test_mistakes_with_a_backend_from_outside(page: Path) -> None:
    load = ("build", "--load", "outline.py", "-o", "out")
    unknown = cli(page, *load, "--target=outline", "--openmp", "net.relay")
    assert unknown.returncode == 2 and "the backend outline has no flag openmp (it has sizes, lanes)" in unknown.stderr
    emits = cli(page, *load, "--target=outline", "--emit=so", "net.relay")
    assert emits.returncode == 2 and "not one of tir, md, the outputs of the backend outline" in emits.stderr
    selected = cli(page, *load, "--target=outline", "--emit=isel", "net.relay")
    assert (
        selected.returncode == 2 and "emit='isel' is not one of tir, md, the outputs of the backend" in selected.stderr
    )
    assert "the backends c and llvm have that output" in selected.stderr
    text = (page / "outline.py").read_text().replace("lines = [", "lines = [1 / 0, ", 1)
    (page / "outline.py").write_text(text)
    wrong = cli(page, *load, "--target=outline", "net.relay")
    assert wrong.returncode == 1
    assert "in the plug-in outline.py:" in wrong.stderr and "backend outline: ZeroDivisionError" in wrong.stderr
    assert not (page / "out").exists()


def test_one_from_outside_may_build_and_load(tmp_path: Path, quick_compiles: None) -> None:
    """A backend that is C with another default, in Python."""
    (tmp_path / "own.py").write_text(
        """
from dataclasses import dataclass
from irtool.backends.base import backend, flag
from irtool.backends.c import C

@backend("exact")
@dataclass(frozen=True)
class Exact(C):
    '''C without vectors.'''

    vector: str = flag("none", "always scalar", choices=("none",))
"""
    )
    x = np.ones((2, 8), "float32")
    with plugins_kept():
        irtool.load_plugins(tmp_path / "own.py")
        built = irtool.build(irtool.parse(NET), target="exact -mcpu=x86-64", out_dir=tmp_path / "out")
        assert built.run([x]).shape == (2, 8)
        assert json.loads((tmp_path / "out" / "model.irtool.json").read_text())["backend"] == "exact"
        assert irtool.load(tmp_path / "out").run([x]).shape == (2, 8)
        assert "IRT_VECTOR" not in (tmp_path / "out" / "model.c").read_text()
    with pytest.raises(UsageError, match="unknown backend exact"):
        find_backend("exact")
