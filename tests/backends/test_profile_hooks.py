"""Hooks of C compiled with `-DNAME_PROFILE`: each call of a kernel is in the log, and nothing else changes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import irtool
from irtool.benchmark.profile_log import Profile, read_profile

CHAIN = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) {
  let %a = nn.relu(nn.dense(%x, %w, units=64));
  nn.softmax(nn.dense(%a, %w, units=64))
}
"""
LOOP = """#[version = "0.0.5"]
def @loop(%i: int32, %x: Tensor[(8), float32]) -> Tensor[(8), float32] {
  if (less(%i, 5)) { @loop(add(%i, 1), tanh(%x)) } else { %x }
}
def @main(%x: Tensor[(8), float32]) { @loop(0, %x) }
"""
WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-Wno-unknown-pragmas", "-DIRT_NO_NOTICE")

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


def compiled(text: str, folder: Path, *flags: str, cc: str = "gcc", **options: Any) -> Path:
    """The program of a test bench, compiled with these flags."""
    irtool.build(
        irtool.parse(text, filename="net.relay"), name="net", emit="c", testbench=True, out_dir=folder, **options
    )
    command = [cc, "-std=c99", "-O1", *WARNINGS, *flags, "net.c", "net_test.c", "-o", "net", "-lm"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "net"


def log_of(program: Path) -> Profile:
    run = subprocess.run([program], capture_output=True, text=True, check=True)
    assert run.stdout == "passed: 0 elements differ\n"
    return read_profile(run.stderr, "net.log")


@pytest.mark.parametrize("options", [{}, {"mcpu": "none"}, {"vector": "none"}, {"openmp": True}, {"opt_level": 0}])
def test_each_call_has_an_event(options: dict[str, Any], tmp_path: Path) -> None:
    log = log_of(compiled(CHAIN, tmp_path, "-DNET_PROFILE", *["-fopenmp"] * options.get("openmp", False), **options))
    called = [log.kernels[c.kernel] for c in log.calls]
    assert [k.operators for k in called][:1] != [""] and len(called) >= 2 and log.hz == 10**9 and log.lost == 0
    assert all(c.begin <= c.end for c in log.calls) and log.calls == sorted(log.calls, key=lambda c: c.end)
    assert "net.relay:3" in called[0].lines and "net.relay:4" in called[-1].lines


def test_each_turn_of_a_loop_is_a_call(tmp_path: Path) -> None:
    log = log_of(compiled(LOOP, tmp_path, "-DNET_PROFILE"))
    tanh = [n for n, k in enumerate(log.kernels) if "tanh" in k.operators]
    assert sum(c.kernel in tanh for c in log.calls) == 5


def test_the_last_calls_stay(tmp_path: Path) -> None:
    everything = log_of(compiled(LOOP, tmp_path, "-DNET_PROFILE"))
    log = log_of(compiled(LOOP, tmp_path, "-DNET_PROFILE", "-DNET_PROFILE_EVENTS=3"))
    assert len(log.calls) == 3 and log.lost == len(everything.calls) - 3
    assert [c.kernel for c in log.calls] == [c.kernel for c in everything.calls[-3:]]


def test_users_have_clocks_of_their_own(tmp_path: Path) -> None:
    """A counter of 32 bits that begins again amid the run."""
    (tmp_path / "clock.h").write_text("#include <stdint.h>\nextern uint32_t ticks;\n")
    (tmp_path / "clock.c").write_text("#include <stdint.h>\nuint32_t ticks = 0xfffffff0u;\n")
    flags = (
        "-DNET_PROFILE",
        "-DNET_PROFILE_CLOCK()=(ticks += 5u)",
        "-DNET_PROFILE_HZ=1000",
        "-include",
        "clock.h",
        "clock.c",
    )
    log = log_of(compiled(LOOP, tmp_path, *flags))
    assert log.hz == 1000 and {c.end - c.begin for c in log.calls} == {5}
    assert [c.begin for c in log.calls] == [10 * n for n in range(len(log.calls))]


def test_without_the_macro_nothing_of_hooks_is_in_the_binary(tmp_path: Path) -> None:
    def code(folder: str, *flags: str, **flags_of_backend: bool) -> bytes:
        place = tmp_path / folder
        irtool.build(
            irtool.parse(CHAIN, filename="net.relay"), name="net", emit="c", out_dir=place, flags=flags_of_backend
        )
        subprocess.run(["gcc", "-O2", "-c", "net.c", "-o", "net.o", "-DIRT_NO_NOTICE", *flags], cwd=place, check=True)
        return (place / "net.o").read_bytes()

    assert code("with", hooks=True) == code("without", hooks=False)
    assert b"net_profile_write" in code("with", "-DNET_PROFILE", hooks=True)
    assert b"net_profile_write" not in code("without", "-DNET_PROFILE", hooks=False)


@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="needs arm-none-eabi-gcc")
def test_a_device_needs_a_clock(tmp_path: Path) -> None:
    irtool.build(irtool.parse(CHAIN, filename="net.relay"), name="net", emit="c", mcpu="none", out_dir=tmp_path)
    command = [
        "arm-none-eabi-gcc",
        "-mcpu=cortex-m4",
        "-mthumb",
        "-std=c99",
        "-DNET_PROFILE",
        "-DIRT_NO_NOTICE",
        "-c",
        "net.c",
    ]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode and "define NET_PROFILE_CLOCK() as the count of a timer" in refused.stderr
    clock = "-DNET_PROFILE_CLOCK()=(*(volatile unsigned *)0xE0001004)"
    subprocess.run([*command, clock, *WARNINGS], cwd=tmp_path, check=True)
    assert (
        "irt_events" in subprocess.run(["nm", "net.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    )


def test_names_do_not_end_the_strings(tmp_path: Path) -> None:
    text = CHAIN.replace("%x", "%input")
    module = irtool.parse(text, filename='a "odd" ??) \\ näme\t.relay')
    irtool.build(module, name="net", emit="c", testbench=True, out_dir=tmp_path)
    command = ["gcc", "-std=c99", *WARNINGS, "-DNET_PROFILE", "net.c", "net_test.c", "-o", "net", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    log = log_of(tmp_path / "net")
    assert 'a "odd" ??) \\ näme .relay:3' in log.kernels[0].lines
