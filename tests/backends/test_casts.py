"""Every cast of a vector gives what the interpreter gives: by way of what widths it goes is seen nowhere."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from tests.backends.instructions import ARM, require

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
TARGETS = [*INTEGERS, "float32", "float64"]
SIZE = 67


@pytest.mark.parametrize("mcpu", ["x86-64", "x86-64-v3", "native"])
def test_integers_become_any_number(mcpu, monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O1")
    params = ", ".join(f"%{d}: Tensor[({SIZE}), {d}]" for d in INTEGERS)
    pairs = [(a, b) for a in INTEGERS for b in TARGETS if a != b]
    calls = ", ".join(f'cast(%{a}, dtype="{b}")' for a, b in pairs)
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ ({calls}) }}\n'))
    inputs = {}
    for d in INTEGERS:
        info = np.iinfo(d)
        inputs[d] = np.linspace(info.min, info.max, SIZE).astype("float64").clip(info.min, float(info.max) * 0.999)
        inputs[d] = np.concatenate([inputs[d][:-3].astype(d), np.array([info.min, 0, info.max], d)])
    want = irtool.evaluate(module, inputs)
    got = irtool.build(module, mcpu=mcpu).run(inputs)
    for (a, b), x, y in zip(pairs, got, want, strict=True):
        assert np.array_equal(x, y), (a, b)


@pytest.mark.parametrize("mcpu", ["none", "cortex-a72"])
def test_whole_parts_are_made_by_way_of_integers_on_arm(mcpu: str, tmp_path: Path) -> None:
    # gcc made frintz of the two casts, which gives -0 for -0.5.
    require(ARM[0], ARM[1])
    text = (
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(40), float32]) { cast(cast(%x, dtype="int32"), dtype="float32") }'
    )
    irtool.build(irtool.parse(text), emit="c", out_dir=tmp_path, cc=ARM[0], mcpu=mcpu)
    line = [ARM[0], "-std=c99", "-O3", "-fno-math-errno", "-fno-trapping-math", "-S", "-o", "-", "model.c"]
    assembly = subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "scvtf" in assembly and "frintz" not in assembly
