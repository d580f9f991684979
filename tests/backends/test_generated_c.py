"""Generated C of samples and of corpus cases: without a warning, and the same everywhere.

All programs run in workspaces and outputs painted with 0xFF bytes (NaN as floats), in buffers of exactly their sizes.
"""

from __future__ import annotations

import functools
import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.driver.prepare import is_dynamic, prepare
from irtool.ir import TensorType
from irtool.schedule import VectorTarget
from tests.backends.bundle import Bundle, assert_close, leaves

ROOT = Path(__file__).parent.parent.parent
SAMPLES = sorted((ROOT / "samples").glob("*.relay"))
CORPUS = ROOT.parent / "shared" / "corpus" / "run.jsonl.gz"

TOLERANCE = 1e-4
"""Between builds whose sums are in another order, and against the interpreter: relative and absolute, of float32."""

Case = tuple[str, Any, list[Any], list[np.ndarray]]


def value_of(t: irtool.ir.Type, seed: int) -> Any:
    generator = np.random.RandomState(seed)
    if t.dtype.startswith("float"):
        return generator.uniform(-1, 1, t.shape).astype(t.dtype)
    return generator.randint(0, 4, t.shape).astype(t.dtype)


@pytest.fixture(scope="module")
def samples() -> list[Case]:
    """Every function of the samples that C can have, on random inputs."""
    cases: list[Case] = []
    for path in SAMPLES:
        module = irtool.infer_types(irtool.parse(path.read_text(), filename=path.name))
        main = module["main"]
        if not all(isinstance(p.checked_type, TensorType) for p in main.params):
            continue  # values of data types have tests of their own
        inputs = [value_of(p.checked_type, n) for n, p in enumerate(main.params)]
        cases.append((path.stem, module, inputs, leaves(irtool.evaluate(module, inputs))))
    return cases


def tensor(value: dict[str, Any]) -> Any:
    if "tuple" in value:
        return tuple(tensor(v) for v in value["tuple"])
    return np.asarray(value["data"], dtype=value["dtype"]).reshape(value["shape"])


def corpus(step: int, first: int = 0) -> list[Case]:
    """Every so-many-th corpus case that has static shapes, with what the interpreter gives."""
    examples: list[Case] = []
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        for n, line in enumerate(lines):
            if n % step != first:
                continue
            case = json.loads(line)
            module = irtool.infer_types(irtool.parse(case["source"]))
            inputs = [tensor(v) for v in case["inputs"]]
            if "?" in str(module["main"].checked_type.ret_type):
                continue  # the bundle takes results of one size
            try:
                if not is_dynamic(prepare(module)):
                    examples.append((case["id"], module, inputs, leaves(irtool.evaluate(module, inputs))))
            except IrError:
                continue
    return examples


def bundled(cases: list[Case], folder: Path, **options: Any) -> tuple[Bundle, list[Case]]:
    bundle, taken = Bundle(folder, **options), []
    for case in cases:
        try:
            bundle.add(case[1], case[2])
        except IrError:  # it depends on values: there is no C of it without them
            continue
        taken.append(case)
    return bundle, taken


def check(results: list[list[np.ndarray]], cases: list[Case], tolerance: float = TOLERANCE) -> None:
    for got, (name, _, _, want) in zip(results, cases, strict=True):
        assert_close(got, want, tolerance, name)


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_no_warnings(samples, tmp_path, cc):
    if shutil.which(cc) is None:
        pytest.skip(f"no {cc}")
    cases = samples + (corpus(20) if CORPUS.is_file() else [])
    bundle, cases = bundled(cases, tmp_path, cc=cc)
    check(bundle.run(["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-march=native"], cc=cc), cases)


def machine_has(*flags: str) -> bool:
    about = Path("/proc/cpuinfo")
    return about.is_file() and set(flags) <= set(about.read_text().split())


@pytest.mark.parametrize(
    "options, flags, needs",
    [
        ({"vector": "none"}, ["-march=native"], ()),
        ({"mcpu": "none"}, [], ()),
        ({"mcpu": "x86-64-v3"}, ["-march=x86-64-v3"], ("avx2", "fma", "bmi2")),
        ({"mcpu": "x86-64-v4"}, ["-march=x86-64-v4"], ("avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd")),
    ],
    ids=["scalar", "plain", "v3", "v4"],
)
def test_builds_for_other_processors_agree(samples, tmp_path, options, flags, needs):
    if needs and not machine_has(*needs):
        pytest.skip("not this processor")
    cases = samples + (corpus(20, 1) if CORPUS.is_file() else [])
    (tmp_path / "native").mkdir()
    (tmp_path / "other").mkdir()
    native, cases = bundled(cases, tmp_path / "native")
    other, _ = bundled(cases, tmp_path / "other", **options)
    results = native.run(["-O1", "-march=native"])
    check(results, cases)
    for a, b, case in zip(results, other.run(["-O1", *flags]), cases, strict=True):
        assert_close(a, b, TOLERANCE, case[0])


@pytest.mark.parametrize("vector", ["auto", "none"])
def test_threads_change_nothing(samples, tmp_path, monkeypatch, vector):
    # Threads for every loop that may have them: most of these are too small to be worth it.
    eager = functools.partial(VectorTarget, parallel_updates=1, parallel_elements=1)
    for module in ("toolchain.compiler", "c.backend"):
        monkeypatch.setattr(f"irtool.backends.{module}.VectorTarget", eager)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    cases = samples + (corpus(20, 2) if CORPUS.is_file() else [])
    bundle, cases = bundled(cases, tmp_path, vector=vector)
    assert any("collapse(" in source.read_text() for source in tmp_path.glob("*.c"))
    flags = ["-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-march=native"]
    if shutil.which("clang"):  # its OpenMP library is a package of its own
        sources = [f"{name}.c" for name in bundle.names]
        subprocess.run(["clang", "-std=c99", *flags, "-fopenmp", "-fsyntax-only", *sources], cwd=tmp_path, check=True)
    for a, b, case in zip(bundle.run(flags), bundle.run([*flags, "-fopenmp"]), cases, strict=True):
        for x, y in zip(a, b, strict=True):
            assert x.tobytes() == y.tobytes(), case[0]


FOREIGN = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "arm": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
    "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
}


@pytest.mark.parametrize("processor", FOREIGN)
def test_other_processors_give_the_same(samples, tmp_path, processor):
    cc, emulator = FOREIGN[processor]
    if shutil.which(cc) is None or shutil.which(emulator) is None:
        pytest.skip(f"no {cc} or no {emulator}")
    cases = samples + (corpus(20, 3) if CORPUS.is_file() else [])
    bundle, cases = bundled(cases, tmp_path, cc=cc)
    check(bundle.run(["-O1", "-static"], cc=cc, prefix=[emulator]), cases)
