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
from irtool.backends.sources import Request, Sample
from irtool.diagnostics import IrError
from irtool.driver.prepare import is_dynamic, prepare
from irtool.driver.stages import run_stages
from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, Var
from irtool.ops import call
from irtool.schedule import VectorTarget
from tests.ops import structural_cases
from tests.ops.cases import layers
from tests.ops.verdicts import CALLS, calls
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

WEIGHTED = (
    *("convolution", "odd channels", "1 x 1", "dilated", "groups", "depthwise", "row-major channels", "sequence"),
    *("transposed", "dense", "one row", "product", "normalized", "two layers", "layer and rest", "blocks", "bytes"),
    *("layer of bytes", "odd 1 x 1", "rest after a product", "depthwise, then all channels", "product of few"),
)
"""Networks that are written with constants for weights, too."""


@functools.cache
def programs() -> dict[str, Any]:
    """For each name a text, or operator, arguments and attributes."""
    found: dict[str, Any] = {f"network {key}": module_text(key) for key in networks()}
    found |= {f"weighted {key}": module_text(key) for key in WEIGHTED}
    found |= layers()
    for path in sorted((ROOT / "samples").glob("*.relay")):
        found[f"sample {path.stem}"] = path.read_text(encoding="utf-8")
    seeds = (ROOT / "tests" / "fuzz" / "seeds" / "language.relay").read_text(encoding="utf-8")
    for n, text in enumerate(re.split(r"^// -+\n", seeds, flags=re.M)):
        found[f"language {n}"] = text
    for name in structural_cases.DRAWINGS:
        found[f"moved {name}"] = (name, *structural_cases.draw_case(name, random.Random(7).randint))
    return found | {f"call {name}": text for name, text in calls().items()}


@functools.cache
def expected() -> dict[str, str]:
    """The lines of `texts.txt`."""
    return {text.partition(" | ")[0]: text for text in FILE.read_text(encoding="utf-8").splitlines()}


def module_of(made: Any) -> Module:
    """A program as a module with types. Raises IrError."""
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


def written(key: str, made: Any = None) -> Iterator[tuple[str, str]]:
    """The settings, and what is written of a program with each; nothing of what has no static code. Raises IrError."""
    module = module_of(programs()[key] if made is None else made)
    prepared = prepare(module, params=_weights(module) if key.startswith("weighted ") else {})
    if is_dynamic(prepared):
        return
    first, *others = SETTINGS
    left_out = others[zlib.crc32(key.encode()) % len(others)]
    for setting in [first, *(s for s in others if s != left_out)]:
        backend = SETTINGS[setting]
        request = Request("model", backend.emits[0], sample=_nothing)
        program = run_stages(prepared, ["main"], backend.machine())
        files = backend.emit(program, request).files
        yield setting, "\n".join(f"{name}\n{_plain(b''.join(map(bytes, text)))}" for name, text in files.items())


def line(key: str, made: Any = None) -> str:
    """What `texts.txt` says of a program, or would say of one that is new."""
    try:
        digits = [f"{setting}: {_digits(text)}" for setting, text in written(key, made)]
    except IrError as error:
        digits = [f"refused: {_code(error)}"]
    return " | ".join([key, *(digits or ["dynamic"])])


def _code(error: IrError) -> str:
    """The code of the first mistake."""
    mistake = error.diagnostics[0].code
    return "without a code" if mistake is None else f"{mistake.name} {mistake.__name__}"


def _weights(module: Module) -> dict[str, np.ndarray]:
    """Small whole numbers for all parameters but the first."""
    found = {}
    for p in list(module["main"].params)[1:]:  # type: ignore[union-attr]
        t = p.checked_type
        assert isinstance(t, TensorType)
        shape = [int(d) for d in t.shape]  # type: ignore[arg-type]
        found[p.name] = (np.arange(np.prod(shape)) * 7 % 23 - 11).astype(t.dtype).reshape(shape)
    return found


def _nothing(*_: Any) -> Sample:
    return Sample([], [])


def _plain(text: bytes) -> str:
    """Text without what depends on the machine and on the version: the banner, and how to compile it."""
    return re.sub(r"\A(/\*[\s\S]*?\*/\n|(;.*\n)+)|^#pragma message.*$", "", text.decode(), flags=re.M)


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _drawn() -> Iterator[str]:
    """Some calls of each operator, as seeds draw them: those that have code, and those that are refused."""
    from tests.fuzz.calls import draw_call, names

    for name in names():
        left = {True: REFUSED, False: ACCEPTED}
        for seed in SEEDS:
            text = draw_call(name, random.Random(f"{name} {seed}")).text()
            refused = "refused" in line("call", text)
            if left[refused]:
                left[refused] -= 1
                yield f"// call {name} {seed}\n{text}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--draw"]:
        CALLS.write_text("".join(_drawn()), encoding="utf-8")
    elif sys.argv[1:]:
        print(dict(written(sys.argv[1]))[sys.argv[2]])
    else:
        FILE.write_text("".join(f"{line(key)}\n" for key in programs()), encoding="utf-8")
