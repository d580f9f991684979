"""Kinds of targets from outside, and the hook by which they lower functions of their own."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.ir import Function, Module
from irtool.ir.meta import VirtualDevice
from irtool.ir.target import Target
from irtool.ir.target_kind import TargetKind, target_kind, target_kinds
from irtool.lower.loop_nests import loop_nest
from irtool.lower.targets import per_target_modules, target_of
from irtool.plugin import PluginError
from irtool.tir.stmt import PrimFunc

VERSION = '#[version = "0.0.5"]\n'
SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def only_these_kinds() -> Iterator[None]:
    before = target_kinds.outside()
    SEEN.clear()
    yield
    target_kinds.restore(before)


def define(name: str, returned: Any = None) -> type[TargetKind]:
    @target_kind(name)
    @dataclass(frozen=True)
    class Board(TargetKind):
        """A board."""

        cores: int = 2
        fast: bool = False
        device_type = 12

        def relay_to_tir(self, module: Module, context: Any) -> Module:
            SEEN.append((name, self, str(context.target)))
            if returned is not None:
                return returned(module)
            functions = {
                n: loop_nest(f, n, context.target) if isinstance(f, Function) and f.attrs.get("Compiler") == name else f
                for n, f in module.functions.items()
            }
            return module.with_functions(functions)

    return Board


TWO = """def @main(%x: Tensor[(4), float32]) {
  let %f = fn (%q: Tensor[(4), float32], Primitive=1, Compiler="alpha", global_symbol="inner") { tanh(%q) };
  %f(@b(@a(%x)))
}
def @b(%p: Tensor[(4), float32], Primitive=1, Compiler="beta", global_symbol="b") -> Tensor[(4), float32] { exp(%p) }
def @a(%p: Tensor[(4), float32], Primitive=1, Compiler="beta", global_symbol="a") -> Tensor[(4), float32] { sqrt(%p) }
"""


@pytest.mark.promise("lowering")
def test_each_hook_runs_once_with_a_target_of_its_kind() -> None:
    define("alpha"), define("beta")
    module = irtool.run_passes(irtool.parse(VERSION + TWO), "LowerTE", target="beta -cores=8 -fast")
    assert [(name, kind.cores, kind.fast) for name, kind, _ in SEEN] == [("beta", 8, True), ("alpha", 2, False)]
    assert [target for _, _, target in SEEN] == ["beta -cores=8 -fast=1", "alpha"]
    assert isinstance(module["a"], PrimFunc) and isinstance(module["b"], PrimFunc)
    # What the hook left is compiled elsewhere.
    assert module["inner"].attrs == {"Extern": 1} and module.attrs["device_contexts"] == {"inner": "alpha"}
    assert [str(t) for t in per_target_modules(module)] == ["beta -cores=8 -fast=1", "llvm"]


@pytest.mark.promise("lowering")
def test_a_compiler_that_is_no_kind_of_target_has_no_hook() -> None:
    define("alpha")
    module = irtool.run_passes(irtool.parse(VERSION + TWO.replace('"alpha"', '"gamma"')), "InferType")
    assert irtool.run_passes(module, "RelayToTIRTargetHook") is module and not SEEN


@pytest.mark.promise("lowering")
def test_what_is_wrong_with_a_kind_is_said_of_it() -> None:
    with pytest.raises(PluginError, match="cuda is taken by a kind of target that TVM has"):
        define("cuda")
    with pytest.raises(PluginError, match=r"target kind loose: the class is no dataclass"):
        target_kind("loose")(type("Loose", (TargetKind,), {"__module__": __name__}))
    define("beta", returned=lambda module: 3)
    with pytest.raises(PluginError, match=r"target kind beta: relay_to_tir returned an int, not a Module"):
        irtool.run_passes(irtool.parse(VERSION + TWO), "LowerTE")
    define("beta", returned=lambda module: module.no_such_thing)
    with pytest.raises(PluginError, match=r"target kind beta: AttributeError"):
        irtool.run_passes(irtool.parse(VERSION + TWO), "LowerTE")


@pytest.mark.promise("lowering")
def test_options_are_the_fields_of_the_kind() -> None:
    define("beta")
    assert Target("beta").attributes == {"cores": 2, "fast": 0}
    assert Target.from_record(Target("beta -cores=5").record()) == Target("beta -cores=5")
    for wrong, message in (
        ("beta -core=5", "no option core"),
        ("beta -cores=x", "not of type int"),
        ("beta -fast=7", "bool"),
    ):
        with pytest.raises(UsageError, match=message):
            Target(wrong).of_its_kind()


def test_devices_of_the_kind_are_for_its_target() -> None:
    define("beta")
    assert str(target_of(VirtualDevice(12, 0), [Target("llvm"), Target("beta")])) == "beta"


PAGE = (
    (Path(__file__).parents[2] / "docs" / "write-a-backend.md").read_text(encoding="utf-8").split("## A target kind")[1]
)
PAGE = PAGE.split("\n## ")[0]


def block(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return text


@pytest.mark.promise("lowering")
@pytest.mark.promise("plug-ins")
@pytest.mark.parametrize("line", block("sh").splitlines(), ids=lambda line: line.split("npu.py ")[1])
def test_the_commands_of_the_page(line: str, tmp_path: Path) -> None:
    (tmp_path / "npu.py").write_text(block("python"), encoding="utf-8")
    (tmp_path / "marked.relay").write_text(block("relay"), encoding="utf-8")
    process = run_command(tmp_path, *shlex.split(line)[1:])
    assert process.returncode == 0 and not process.stderr, process.stderr
    shown = ['for (ax0: int32, 0, 2) "parallel" {', "kind='npu', keys={'npu'}"]
    if "info" in line:
        shown = ["npu: @npu_0", "llvm: @main"]
    assert all(s in process.stdout for s in shown), process.stdout


def run_command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(
        [sys.executable, "-m", "irtool", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
