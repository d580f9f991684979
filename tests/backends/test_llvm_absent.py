"""`llvm` where neither clang nor llvmlite is installed: a library for this machine is built through C, with a note."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.backends.llvm import backend as llvm
from irtool.diagnostics import IrError
from irtool.driver.options import choose_options

MODULE = irtool.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { tanh(%x) }')


@pytest.fixture(autouse=True)
def plain_install(monkeypatch) -> None:
    monkeypatch.setattr(llvm.Clang, "find", classmethod(lambda cls, *a: None))
    monkeypatch.setattr(llvm, "has_llvmlite", lambda: False)


@pytest.mark.parametrize("target", ["llvm", {"kind": "llvm"}, "llvm{math=strict}", "llvm -mcpu=native"])
def test_it_is_built_through_c(target) -> None:
    lib = irtool.build(MODULE, target=target)
    x = np.linspace(-2, 2, 4, dtype="float32")
    np.testing.assert_allclose(lib.run([x]), np.tanh(x), rtol=1e-6)
    assert ["built through C" in w for w in lib.report["warnings"]] == [True]


def test_flags_that_both_have_are_kept() -> None:
    options = choose_options("llvm{math=strict,vector=none,winograd=off}", ())
    assert (options.backend.name, options.backend.text()) == (
        "c",
        "c{math=strict,vector=none,mcpu=native,winograd=off}",
    )


@pytest.mark.parametrize("target", ["llvm -mtriple=aarch64-linux-gnu", "llvm -mcpu=cortex-a72", "llvm -mattr=+avx"])
def test_what_is_for_another_machine_or_names_features_is_not(target) -> None:
    assert choose_options(target, ()).backend.name == "llvm"


def test_an_object_file_needs_the_tools() -> None:
    with pytest.raises(IrError, match="neither is here"):
        irtool.build(MODULE, target="llvm", emit="obj")
    assert irtool.build(MODULE, target="llvm", emit="ll").files
