"""The stack that compiled networks take keeps to its bound, and to what their headers say, as gcc measures it."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.backends.interface.weights_digest import Digest, c_function
from irtool.driver.artifact import Artifact

from .stack_usage import deepest_stack

NETWORKS = {
    "winograd": """def @main(%x: Tensor[(1, 32, 28, 28), float32], %w: Tensor[(32, 32, 3, 3), float32]) {
      %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
      %1 = nn.relu(nn.conv2d(%0, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
      nn.conv2d(%1, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]) }""",
    "attention": """def @main(%x: Tensor[(4, 96, 32), float32], %w: Tensor[(4, 96, 32), float32]) {
      nn.batch_matmul(nn.softmax(nn.batch_matmul(%x, %w, transpose_b=True)), %x, transpose_b=False) }""",
    "strassen": """def @main(%x: Tensor[(256, 256), float32], %w: Tensor[(256, 256), float32]) {
      nn.dense(%x, %w, units=256) }""",
    "lstm": """def @main(%x: Tensor[(1, 64), float32], %w: Tensor[(512, 64), float32]) {
      %0 = split(nn.dense(%x, %w, units=512), indices_or_sections=4, axis=1);
      multiply(sigmoid(%0.3), tanh(multiply(sigmoid(%0.0), tanh(%0.2)))) }""",
    "int8": """def @main(%x: Tensor[(1, 32, 14, 14), int8], %w: Tensor[(32, 32, 3, 3), int8]) {
      %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3], out_dtype="int32");
      cast(clip(right_shift(%0, 8), a_min=-128f, a_max=127f), dtype="int8") }""",
    "float64": """def @main(%x: Tensor[(16, 64), float64], %w: Tensor[(64), float64]) {
      power(exp(nn.softmax(%x)), sin(%w)) }""",
}
FLAGS = {"winograd": "winograd=4", "strassen": "strassen=on"}
TARGETS = ["mcpu=skylake-avx512", "mcpu=haswell", "mcpu=none", "mcpu=haswell,openmp=1"]
"""Processors that gcc knows on any machine with its architecture."""

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")


def build(network: str, flags: str, folder: Path) -> Artifact:
    module = irtool.parse('#[version = "0.0.5"]\n' + NETWORKS[network])
    weights = module.functions["main"].params[1]
    kind = weights.checked_type
    shape = tuple(int(d) for d in kind.shape)
    data: Any = np.random.default_rng(0).standard_normal(shape)
    data = (data * 20).astype("int8") if kind.dtype == "int8" else data.astype(kind.dtype)
    return irtool.build(module, {weights.name: data}, f"c{{{flags}}}", emit="c", name="net", out_dir=folder)


def stated(folder: Path) -> int:
    size = re.search(r"#define NET_STACK_SIZE (\d+)u", (folder / "net.h").read_text())
    assert size is not None
    return int(size[1])


def measured(artifact: Artifact, folder: Path, entry: str = "net_run") -> int:
    command = [w for w in shlex.split(artifact.report["compile"]) if w != "-c" and not w.endswith(".c")]
    command[0] = "gcc" if command[0] == "cc" else command[0]
    return deepest_stack(command, folder / "net.c", entry)[0]


def is_x86() -> bool:
    import platform

    return platform.machine() in ("x86_64", "AMD64")


@pytest.mark.parametrize(
    ("network", "flags"),
    [
        *((n, "mcpu=skylake-avx512") for n in NETWORKS),
        *((n, t) for n in ("winograd", "int8") for t in TARGETS[1:]),
        ("winograd", "mcpu=portable"),
    ],
)
@pytest.mark.skipif(not is_x86(), reason="the processors are those of another architecture")
def test_stack_is_what_the_header_says(network: str, flags: str, tmp_path: Path) -> None:
    own = f",{FLAGS[network]}" if network in FLAGS else ""
    artifact = build(network, f"cc=gcc,{flags}{own}", tmp_path)
    assert measured(artifact, tmp_path) <= stated(tmp_path) <= 1 << 16
    assert artifact.report["stack_bytes"] == stated(tmp_path)


@pytest.mark.parametrize("network", ["winograd", "attention", "int8"])
@pytest.mark.skipif(not is_x86(), reason="the processor is one of another architecture")
def test_a_small_bound_holds(network: str, tmp_path: Path) -> None:
    artifact = build(network, "cc=gcc,mcpu=haswell,stack_bytes=2048", tmp_path)
    assert measured(artifact, tmp_path) <= stated(tmp_path) <= 2048


@pytest.mark.parametrize("processor", ["cortex-m4", "cortex-m0"])
@pytest.mark.parametrize("network", ["winograd", "int8"])
@pytest.mark.skipif(not shutil.which("arm-none-eabi-gcc"), reason="no compiler for microcontrollers")
def test_microcontrollers_have_two_kilobytes(processor: str, network: str, tmp_path: Path) -> None:
    artifact = build(network, f"cc=arm-none-eabi-gcc,mcpu={processor},weights=inline", tmp_path)
    assert measured(artifact, tmp_path) <= stated(tmp_path) <= 2048


def test_weights_are_loaded_within_the_bound(tmp_path: Path) -> None:
    artifact = build("strassen", "cc=gcc,mcpu=none,stack_bytes=2048,weights=file", tmp_path)
    assert measured(artifact, tmp_path, "net_load_weights") <= 2048


@pytest.mark.parametrize("bound", [1 << 16, 2048])
@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("network", ["winograd", "attention", "strassen"])
def test_results_do_not_depend_on_the_place_of_arrays(network: str, bound: int, threads: int, tmp_path: Path) -> None:
    own = f",{FLAGS[network]}" if network in FLAGS else ""
    module = irtool.parse('#[version = "0.0.5"]\n' + NETWORKS[network])
    draw = np.random.default_rng(1).standard_normal
    values = [
        draw(tuple(int(d) for d in p.checked_type.shape)).astype("float32") for p in module.functions["main"].params
    ]
    known = {module.functions["main"].params[1].name: values[1]}
    flags = f",openmp=1,threads={threads}" if threads else ""
    artifact = irtool.build(module, known, f"c{{stack_bytes={bound}{flags}{own}}}", out_dir=tmp_path)
    plain = irtool.build(module, known, "c{vector=none}")
    x = values[0]
    expected = plain.run([x])
    np.testing.assert_allclose(artifact.run([x]), expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_each_thread_has_a_part_of_the_arena() -> None:
    def scratch(threads: int) -> dict[str, int]:
        module = irtool.parse('#[version = "0.0.5"]\n' + NETWORKS["winograd"])
        weights = {module.functions["main"].params[1].name: np.ones((32, 32, 3, 3), "float32")}
        target = f"c{{mcpu=none,winograd=4,stack_bytes=12000,threads={threads}}}"
        report = irtool.build(module, weights, target, emit="tir").report
        return {b["name"]: b["bytes"] for b in report["buffers"]}

    two, five = scratch(2), scratch(5)
    own = [name for name in two if two[name] != five[name]]
    assert own
    assert all(2 * five[n] == 5 * two[n] for n in own)


@pytest.mark.parametrize("room", [2048, 128, 1])
def test_digests_do_not_depend_on_lanes_at_a_time(room: int, tmp_path: Path) -> None:
    import ctypes
    import subprocess

    data = np.random.default_rng(2).integers(0, 256, 64 * 777, dtype="uint8")
    digest = Digest()
    digest.add(data)
    text = c_function("digest", room).replace("static ", "", 1)
    (tmp_path / "d.c").write_text(f"#include <stdint.h>\n#include <string.h>\n{text}")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", "d.so", "d.c"], cwd=tmp_path, check=True)
    function = ctypes.CDLL(str(tmp_path / "d.so")).digest
    function.restype = ctypes.c_uint64
    assert function(data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes)) == digest.value()
