"""What backends write for many small programs, in digits: `python -m tests.backends.texts` writes them to `texts.txt`.

One line a program: for some settings — a backend and a machine — six digits of all it writes, banners left out; or the code
of the error. Where digits differ, `python -m tests.backends.texts PROGRAM SETTING` prints the text: compare it with that of
the commit before.
"""

from __future__ import annotations

import functools
import hashlib
import random
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.backends.c.backend import C
from irtool.backends.llvm.backend import Llvm
from irtool.backends.sources import Request
from irtool.diagnostics import IrError
from irtool.driver.prepare import is_dynamic, prepare
from irtool.driver.stages import run_stages
from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, Var
from irtool.ops import call
from irtool.schedule import VectorTarget
from tests.fuzz.calls import draw_call, names
from tests.ops import nn_cases, structural_cases
from tests.schedule.plans import module_text, networks

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILE = HERE / "texts.txt"
ACCEPTED, REFUSED, SEEDS = 2, 2, range(24)
"""How many calls of each operator are written down, and from how many seeds they are taken."""


@dataclass(frozen=True)
class FixedC(C):
    """C for a machine that is given; no compiler is asked."""

    made_for: VectorTarget = field(default_factory=VectorTarget)

    def machine(self) -> VectorTarget:
        return self.made_for


@dataclass(frozen=True)
class FixedLlvm(Llvm):
    """LLVM IR for a machine that is given."""

    made_for: VectorTarget = field(default_factory=VectorTarget)

    def machine(self) -> VectorTarget:
        return self.made_for


SETTINGS: dict[str, C | Llvm] = {
    "c": FixedC(math="strict", made_for=VectorTarget(0)),
    "c 16": FixedC(made_for=VectorTarget(16, 16)),
    "c 64": FixedC(math="strict", weights="split", made_for=VectorTarget(64, 32)),
    "llvm 32": FixedLlvm(made_for=VectorTarget(32, 16)),
}
"""Each program is written for the first of them, and for two of the others."""


@functools.cache
def programs() -> dict[str, Any]:
    """For each name a text, or operator, arguments and attributes."""
    found: dict[str, Any] = {f"network {key}": module_text(key) for key in networks()}
    for n, case in enumerate([*nn_cases.CASES, *nn_cases.QUANTIZED]):
        found[f"layer {n} {case[0]}"] = case
    for path in sorted((ROOT / "samples").glob("*.relay")):
        found[f"sample {path.stem}"] = path.read_text(encoding="utf-8")
    seeds = (ROOT / "tests" / "fuzz" / "seeds" / "language.relay").read_text(encoding="utf-8")
    for n, text in enumerate(re.split(r"^// -+\n", seeds, flags=re.M)):
        found[f"language {n}"] = text
    for name in structural_cases.DRAWINGS:
        found[f"moved {name}"] = (name, *structural_cases.draw_case(name, random.Random(7).randint))
    return found


@functools.cache
def expected() -> dict[str, str]:
    """The lines of `texts.txt`."""
    return {text.partition(" | ")[0]: text for text in FILE.read_text(encoding="utf-8").splitlines()}


def lines() -> Iterator[str]:
    """What `texts.txt` ought to say."""
    yield from map(line, programs())
    for name in names():
        left = {True: REFUSED, False: ACCEPTED}
        for seed in SEEDS:
            made = line(f"call {name} {seed}")
            refused = "refused" in made
            if left[refused]:
                left[refused] -= 1
                yield made


def module_of(key: str) -> Module:
    """A program as a module with types. Raises IrError."""
    kind, name, *seed = key.split(" ")
    made = draw_call(name, random.Random(f"{name} {seed[0]}")).text() if kind == "call" else programs()[key]
    if isinstance(made, str):
        return irtool.infer_types(irtool.parse(made))
    name, arguments, attributes = made
    params: list[Var] = []

    def argument(value: Any) -> Expr:
        if isinstance(value, tuple):
            return Tuple(tuple(map(argument, value)))
        if name.startswith("qnn.") and value.ndim < 2:
            return Constant(value)
        params.append(Var(f"x{len(params)}", TensorType(value.shape, value.dtype.name)))
        return params[-1]

    expression = call(name, *map(argument, arguments), **attributes)
    return irtool.infer_types(Module({"main": Function(tuple(params), expression)}))


def written(key: str) -> Iterator[tuple[str, str]]:
    """The settings, and what is written of a program with each; nothing of what has no static code. Raises IrError."""
    prepared = prepare(module_of(key))
    if is_dynamic(prepared):
        return
    first, *others = SETTINGS
    left_out = others[zlib.crc32(key.encode()) % len(others)]
    for setting in [first, *(s for s in others if s != left_out)]:
        backend = SETTINGS[setting]
        request = Request("model", backend.emits[0], expected=_nothing)
        program = run_stages(prepared, ["main"], backend.machine())
        files = backend.emit(program, request).files
        yield setting, "\n".join(f"{name}\n{_plain(b''.join(map(bytes, text)))}" for name, text in files.items())


def line(key: str) -> str:
    """What `texts.txt` says of a program."""
    try:
        digits = [f"{setting}: {_digits(text)}" for setting, text in written(key)]
    except IrError as error:
        digits = [f"refused: {_code(error)}"]
    return " | ".join([key, *(digits or ["dynamic"])])


def _code(error: IrError) -> str:
    """The code of the first mistake."""
    mistake = error.diagnostics[0].code
    return "without a code" if mistake is None else f"{mistake.name} {mistake.__name__}"


def _nothing(*_: Any) -> list[np.ndarray]:
    return []


def _plain(text: bytes) -> str:
    """Text without what depends on the machine and on the version."""
    return re.sub(r"\A(/\*.*?\*/\n|(;.*\n)+)", "", text.decode(), flags=re.S)


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(dict(written(sys.argv[1]))[sys.argv[2]])
    else:
        FILE.write_text("".join(f"{text}\n" for text in lines()), encoding="utf-8")
