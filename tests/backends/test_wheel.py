"""Python packages of networks: `--emit=wheel`."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.backends.c.bindings.wheel import platform_tag
from irtool.diagnostics import UsageError

DENSE = "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w, units=4) }"
WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)
OPEN = "def @main(%x: Tensor[(?, 2), float32], %in: Tensor[(?, 2), float32]) { concatenate((%x, %in)) }"
STATE = "def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { let %n = tanh(add(%x, %h)); (%n, %n) }"
KINDS = """def @main(%x: Tensor[(2), bfloat16], %self: Tensor[(), bool], %y: Tensor[(2), uint8]) {
  (add(%x, %x), logical_not(%self), cast(%x, dtype="float16"), add(%y, %y))
}"""
TWO = "def @main(%x: Tensor[(2), float32]) { exp(%x) }\ndef @other(%x: Tensor[(2), int64]) { add(%x, 1i64) }"
SITE = str(Path(np.__file__).parents[1])


def build(text: str, folder: Path, **options: Any) -> Path:
    """The wheel of a network `net`."""
    options = {"name": "net", "emit": "wheel", "out_dir": folder, **options}
    irtool.build(irtool.parse(text), **options)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """The Python of a fresh environment that has the package; numpy is that of these tests."""
    for command in (
        ["venv", "--without-pip", folder],
        ["pip", "--python", folder, "install", "-q", "--no-deps", "--no-index", wheel],
    ):
        subprocess.run([sys.executable, "-m", *map(str, command)], check=True, capture_output=True)
    return folder / "bin" / "python"


def printed(python: Path, code: str, folder: Path) -> str:
    head = "import numpy as np, sys\nfrom net import *\n"
    tail = "\nassert 'irtool' not in sys.modules"
    command = [python, "-c", head + code + tail]
    done = subprocess.run(command, cwd=folder, env={"PYTHONPATH": SITE}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def unpacked(text: str, folder: Path, code: str, **options: Any) -> str:
    """The output of a program beside the unpacked package, without an installation."""
    with zipfile.ZipFile(build(text, folder / "built", **options)) as archive:
        archive.extractall(folder)
    return printed(Path(sys.executable), code, folder)


def test_pip_installs_it(tmp_path: Path) -> None:
    wheel = build(DENSE, tmp_path / "built", params={"w": WEIGHTS}, weights="file", target='c{wheel_version="1.2.0"}')
    assert wheel.name.startswith("net-1.2.0-py3-none-")
    python = install(wheel, tmp_path / "env")
    code = """
print(Network().run(np.arange(6, dtype=np.float32).reshape(2, 3)).astype(int).tolist(), INPUTS[0])
import importlib.metadata as m
print(m.version("net"), m.requires("net"))"""
    assert printed(python, code, tmp_path) == (
        "[[5, 14, 23, 32], [14, 50, 86, 122]] Tensor(name='x', dtype='float32', shape=(2, 3))\n1.2.0 ['numpy>=1.23']"
    )


def test_lengths_are_those_of_the_arguments(tmp_path: Path) -> None:
    code = """
network = Network()
rows = lambda n: np.full((n, 2), n, np.float32)
print(network.run(rows(1), in_=rows(2)).tolist(), OUTPUTS[0].shape)
try: network.run(rows(9), rows(1))
except NetworkError as error: print(error, error.code)"""
    lengths = {"x": ("m<=4", 2), "in": ("n<=4", 2)}
    assert unpacked(OPEN, tmp_path, code, shapes=lengths) == (
        "[[1.0, 1.0], [2.0, 2.0], [2.0, 2.0]] ('(m + n)', 2)\nnet: a length is outside of its bounds 4"
    )


def test_states(tmp_path: Path) -> None:
    code = """
network, x = Network(), np.ones(3, np.float32)
first = network.run(x)
saved = network.save()
second = network.run(x)
network.restore(saved)
again = network.run(x)
network.reset()
print((second == again).all(), (network.run(x) == first).all(), (first == second).any())
for wrong in (b"", bytes([saved[0] ^ 1]) + saved[1:]):
    try: network.restore(wrong)
    except NetworkError as error: print(error)"""
    assert unpacked(STATE, tmp_path, code, states={"h": "out1"}).splitlines()[0] == "True True False"


def test_dtypes_and_names_of_python(tmp_path: Path) -> None:
    """Halves of bfloat16 are their bits; the method's `self` is not a parameter's."""
    code = """
one = np.array([0x3f80, 0x4000], np.uint16)
twice, no, half, y = Network().run(one, np.array(True), np.array([200, 1], np.uint8))
print([hex(b) for b in twice], no, half, y, INPUTS[1].dtype, OUTPUTS[2].dtype)"""
    assert unpacked(KINDS, tmp_path, code) == "['0x4000', '0x4080'] False [1. 2.] [144   2] bool float16"


def test_several_entries(tmp_path: Path) -> None:
    code = "n = Network(); print(n.run(np.zeros(2, np.float32)), n.run_other(np.array([1, 2])))"
    assert unpacked(TWO, tmp_path, code, entry=("main", "other")) == "[1. 1.] [2 3]"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("np.zeros((2, 3))", "net: x is float32[2, 3]: float64[2, 3] is no such array"),
        ("np.zeros((3, 2), np.float32)", "net: x is float32[2, 3]: the shape [3, 2] is not [2, 3]"),
        ("np.zeros(6, np.float32)", "net: x is float32[2, 3]: float32[6] is no such array"),
        ("'text'", "net: x is float32[2, 3]: <U4[] is no such array"),
        ("None", "net: x is float32[2, 3]: object[] is no such array"),
    ],
)
def test_wrong_arguments_are_refused_before_a_run(argument: str, message: str, tmp_path: Path) -> None:
    code = f"""
try: Network().run({argument}, np.zeros((4, 3), np.float32))
except NetworkError as error: print(error, error.code)"""
    assert unpacked(DENSE, tmp_path, code) == f"{message} 0"


def test_strided_arrays_are_copied(tmp_path: Path) -> None:
    code = "x = np.arange(12, dtype=np.float32)[::2].reshape(3, 2).T; print(Network().run(x, np.eye(4, 3, dtype=np.float32)).tolist())"
    assert unpacked(DENSE, tmp_path, code) == "[[0.0, 4.0, 8.0, 0.0], [2.0, 6.0, 10.0, 0.0]]"


def test_the_record_lists_every_file(tmp_path: Path) -> None:
    """The same build is the same file, byte for byte."""
    wheel = build(DENSE, tmp_path / "one", params={"w": WEIGHTS})
    assert wheel.read_bytes() == build(DENSE, tmp_path / "two", params={"w": WEIGHTS}).read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = archive.read("net-0.0.0.dist-info/RECORD").decode().splitlines()
        assert [line.split(",")[0] for line in record] == names
        assert {"net/__init__.py", "net/net.so", "net/py.typed"} < set(names)
        sizes = {n: len(archive.read(n)) for n in names[:-1]}
    assert [int(line.split(",")[2]) for line in record[:-1]] == list(sizes.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "lambda"}, "lambda is a word of Python"),
        ({"target": "c{wheel_version=one}"}, "'one' is no version of a package"),
        ({"target": "c{workspace_pools=sram}"}, "emit=wheel needs one arena"),
        ({"board": "mps2-an386"}, "emit=wheel is for an operating system"),
    ],
)
def test_refusals(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        build(DENSE, tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_shapes_of_values_are_refused(tmp_path: Path) -> None:
    text = 'def @main(%n: Tensor[(), int64]) { arange(0i64, %n, 1i64, dtype="int64") }'
    with pytest.raises(irtool.IrError):
        build(text, tmp_path)


@pytest.mark.parametrize(
    ("triple", "tag"),
    [
        ("aarch64-linux-gnu", "linux_aarch64"),
        ("arm-linux-gnueabihf", "linux_armv7l"),
        ("riscv64-linux-gnu", "linux_riscv64"),
    ],
)
def test_platforms_of_other_processors(triple: str, tag: str) -> None:
    assert platform_tag(triple) == tag


def test_a_platform_without_python_is_refused() -> None:
    with pytest.raises(UsageError, match="no platform of Python packages is known for avr-none-eabi"):
        platform_tag("avr-none-eabi")
