"""The arguments of a build: as a list, and as one value."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.driver.build import build_with
from irtool.driver.build_options import BuildOptions

MODULE = irtool.parse(
    '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32], %w: Tensor[(4), float32]) { %x * %w }\n'
)
WEIGHTS = {"w": np.arange(4, dtype="float32")}


def test_arguments_are_the_fields_with_their_defaults() -> None:
    module, *others = inspect.signature(irtool.build).parameters.values()
    assert module.name == "module"
    assert [(p.name, p.default) for p in others] == [(f.name, f.default) for f in dataclasses.fields(BuildOptions)]


@pytest.mark.parametrize("emit", ["tir", "c"])
def test_options_build_what_arguments_build(emit: str) -> None:
    options = BuildOptions(WEIGHTS, "c", 2, name="net", emit=emit, mcpu="none", flags={"math": "strict"})
    first = build_with(MODULE, options)
    second = irtool.build(MODULE, WEIGHTS, "c", 2, name="net", emit=emit, mcpu="none", flags={"math": "strict"})
    texts = [{Path(p).name: Path(p).read_bytes() for p in a.files} for a in (first, second)]
    assert texts[0] == texts[1]
    assert texts[0]


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((MODULE,), {"nam": "net"}, r"^build\(\) got an unexpected keyword argument 'nam'"),
        ((MODULE, {}, "c", 3, "out", "net"), {}, r"^build\(\) takes from 1 to 5 positional arguments but 6 were given"),
        ((), {}, r"^build\(\) missing 1 required positional argument: 'module'"),
    ],
)
def test_messages_about_arguments_name_the_function(arguments: tuple, named: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        irtool.build(*arguments, **named)


def test_the_order_of_tvm_is_refused() -> None:
    with pytest.raises(UsageError, match="params are arrays by name, not a str"):
        irtool.build(MODULE, "llvm")  # type: ignore[arg-type]  # the mistake that is tested


def test_a_module_may_be_named() -> None:
    assert irtool.build(module=MODULE, params=WEIGHTS, emit="c").files


def test_a_flag_by_name_is_that_of_the_mapping() -> None:
    """`math=None` says nothing: it is no second value."""
    texts = [
        next(Path(p) for p in a.files if p.endswith(".c")).read_text()
        for a in (
            irtool.build(MODULE, WEIGHTS, emit="c", flags={"vector": "none", "math": "strict"}),
            irtool.build(MODULE, WEIGHTS, emit="c", vector="none", math="strict"),
        )
    ]
    assert texts[0] == texts[1]
    with pytest.raises(UsageError, match="given twice"):
        irtool.build(MODULE, WEIGHTS, emit="c", flags={"math": "strict"}, math="fast")
