"""Names that a pass makes are free: a module that has them already keeps what it calls so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Module

GOLDENS = Path(__file__).parents[1] / "golden" / "passes"


def _runs() -> Iterator[tuple[Path, str, str | None]]:
    """Each golden of a pass with its passes and target."""
    for path in sorted(GOLDENS.rglob("*.relay")):
        run = re.search(r"^// RUN: irtool opt (.*)", path.read_text(), re.MULTILINE)
        words = shlex.split(run[1]) if run else []
        if any(w.startswith(("--load", "--func")) for w in words):
            continue
        options = dict(w.split("=", 1) for w in words if w.startswith("--") and "=" in w)
        if "--passes" in options:
            yield path, options["--passes"], options.get("--target")


def _new_names(before: Module, after: Module) -> tuple[set[str], set[str], set[str]]:
    """Functions, types and constructors that are new."""
    return (
        after.functions.keys() - before.functions.keys(),
        after.type_definitions.keys() - before.type_definitions.keys(),
        after.constructors.keys() - before.constructors.keys(),
    )


def _with_names(text: str, functions: set[str], types: set[str], constructors: set[str]) -> str:
    """The text with definitions of these names, which no pass would make."""
    code, mark, metadata = text.partition("#[metadata]")
    code += "".join(f"\ndef @{name}(%q: int8) -> int8 {{ %q }}\n" for name in sorted(functions))
    code += "".join(f"\ntype {name} {{ TakenBy{name}(int8), }}\n" for name in sorted(types))
    if constructors:
        code += f"\ntype TakenNames {{ {', '.join(sorted(constructors))}, }}\n"
    return code + mark + metadata


def test_names_that_are_taken_are_left_alone() -> None:
    tried = 0
    for path, passes, target in _runs():
        text = path.read_text()
        try:
            module = irtool.parse(text)
            fresh = _new_names(module, irtool.run_passes(module, passes, target=target, opt_level=4))
        except IrError:
            continue  # refused anyway: other tests say why
        if not any(fresh):
            continue
        taken = irtool.infer_types(irtool.parse(_with_names(text, *fresh)))
        before = irtool.to_text(taken, types="none")
        try:
            after = irtool.run_passes(taken, passes, target=target, opt_level=4)
        except IrError as error:
            assert error.exit_code == 1, f"{path}: {error}"  # a definition that cannot have another name
            tried += 1
            continue
        irtool.infer_types(irtool.parse(irtool.to_text(after)))
        for name in fresh[0] & after.functions.keys():
            params = getattr(after[name], "params", ())
            assert [str(p.checked_type) for p in params[:1]] in (["int8"], []), f"{path}: @{name} is another function"
        for name in fresh[1] & after.type_definitions.keys():
            constructors = after.type_definitions[name].constructors
            assert [c.name for c in constructors] == [f"TakenBy{name}"], f"{path}: {name} is another type"
        assert irtool.to_text(taken, types="none") == before
        tried += 1
    assert tried >= 30


@pytest.mark.parametrize("pipeline", ["ToCPS", "ToCPS,ToANormalForm,ToCPS"])
def test_a_twin_of_a_twin_has_a_name_of_its_own(pipeline: str) -> None:
    text = '#[version = "0.0.5"]\ndef @f(%x: int32) -> int32 { add(%x, 1) }\ndef @main(%x: int32) -> int32 { @f(%x) }\n'
    after = irtool.run_passes(irtool.parse(text), pipeline)
    assert {"f", "f_cps"} <= after.functions.keys()
    irtool.infer_types(irtool.parse(irtool.to_text(after)))
