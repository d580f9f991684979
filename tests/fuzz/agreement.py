"""Whether checking, the interpreter and the compiler agree on one call: all accept it, or all refuse it with a place."""

from __future__ import annotations

import random
import re
import resource
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import Diagnostic, IrError
from irtool.driver.prepare import is_dynamic
from irtool.driver.refusals import find_unsupported
from irtool.ir import ANY, Module, TensorType, TupleType, Type
from irtool.ops.base import RelationError
from irtool.passes.core.bind import bind_params
from tests.fuzz.calls import DrawnCall, Tensor, draw_call, names

SECONDS = 20.0
MEMORY = 4 << 30
LARGEST = 1 << 22
"""Elements beyond which nothing is evaluated."""


@dataclass(frozen=True)
class Agreement:
    """What became of a call.

    Attributes:
        kind: accepted (by all), refused (by its type rule or before), uncomputed (typed, refused by interpreter and compiler),
            interpreted (not compiled, for a reason that is known: see `_limit_of_c`),
            large (typed, too large to be evaluated here), or failed.
        message: the refusals, or what is wrong.
        seed: what the call was drawn with.
        text: the module.
    """

    kind: str
    message: str
    text: str
    operator: str = ""
    seed: int = 0
    pipeline: tuple[str, ...] = ()


class LateError(BaseException):
    """It took too long; no `except Exception` may hold it up."""


@contextmanager
def limited(seconds: float = SECONDS, memory: int = MEMORY) -> Iterator[None]:
    """Within it, LateError after so much time of the processor, MemoryError beyond so much memory."""

    def late(*_: Any) -> None:
        raise LateError(f"more than {seconds:g} s")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (_in_use() + memory, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _in_use() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[0]) * resource.getpagesize()


def try_operator(name: str, seed: int) -> Agreement:
    """The call of this operator that the seed draws."""
    drawn = draw_call(name, random.Random(f"{name} {seed}"))
    agreement = try_call(drawn, seed)
    return Agreement(agreement.kind, agreement.message, agreement.text, name, seed)


def try_some(seed: int) -> Agreement:
    """A call of an operator that the seed chooses."""
    return try_operator(random.Random(seed).choice(names()), seed)


def write_disagreement(agreement: Agreement, folder: Path) -> Path:
    """Writes the call with the command that shows it; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"call_{agreement.operator}_{agreement.seed}.relay"
    head = [f"// {line}" for line in agreement.message.splitlines()]
    run = ["// RUN: irtool check --target=c %s", "// RUN: irtool run --compare interp,c %s"]
    path.write_text("\n".join([*head, *run]) + "\n" + agreement.text)
    return path


def try_call(drawn: DrawnCall, seed: int = 0) -> Agreement:
    """Checks, evaluates and builds the call."""
    values = drawn.values(seed)
    text = drawn.text()
    weights = {f"x{i}": values[i] for i in drawn.constants}
    agreement = try_text(text, [v for i, v in enumerate(values) if i not in drawn.constants], weights, drawn.operator)
    if drawn.constants:
        text += f"// weights: {', '.join(f'%x{i}' for i in sorted(drawn.constants))}\n"
    return Agreement(agreement.kind, agreement.message, text)


def try_text(
    text: str, inputs: Sequence[Any] | None = None, weights: Mapping[str, Any] | None = None, operator: str = ""
) -> Agreement:
    """Checks, evaluates and builds the module of a text, on random inputs if none are given."""
    try:
        with limited():
            kind, message = _try(text, inputs, weights or {}, operator)
    except (Exception, LateError) as error:  # noqa: BLE001 - whatever leaves irtool is what is looked for
        kind, message = "failed", f"{type(error).__name__}: {error}"
    return Agreement(kind, message, text)


class _Wrong(Exception):
    pass


def _try(text: str, inputs: Sequence[Any] | None, weights: Mapping[str, Any], operator: str) -> tuple[str, str]:
    try:
        module = irtool.infer_types(bind_params(irtool.parse(text, "call.relay"), weights))
    except IrError as error:
        return "refused", _placed("check", error)
    printed = irtool.to_text(module)
    if irtool.to_text(irtool.infer_types(irtool.parse(printed))) != printed:
        raise _Wrong("the typed text reads back as another")
    result = module["main"].body.checked_type
    if size_of(result) > LARGEST:
        _compile(module)
        return "large", ""
    run, ran = "", None
    try:
        ran = irtool.evaluate(module, _inputs(module) if inputs is None else inputs)
    except IrError as error:
        run = _placed("interpreter", error)
        if isinstance(error.__cause__, MemoryError):
            return "large", run  # which says so, with a place
        deliberate = isinstance(error.__cause__, IrError | RelationError | NotImplementedError | None)
        if not deliberate and not is_dynamic(module):
            raise _Wrong(f"interpreter: {type(error.__cause__).__name__}: {run}") from error
    if not run and not _fits(result, ran):
        raise _Wrong(f"interpreter: {_described(ran)} is not of the type {result}")
    built = _compile(module)
    if built and not run and (limit := _limit_of_c(operator, module, built)):
        return "interpreted", limit
    if run and is_dynamic(module):
        return "interpreted", run
    if bool(run) != bool(built):
        raise _Wrong(f"interpreter: {run or 'accepts'}\n  C: {built or 'accepts'}")
    return ("uncomputed", f"{run}\n  C: {built}") if run else ("accepted", "")


def _inputs(module: Module) -> list[Any]:
    drawn = [Tensor(tuple(p.checked_type.shape), p.checked_type.dtype) for p in module["main"].params]
    return DrawnCall("", tuple(drawn), {}).values(0)


def _compile(module: Module) -> str:
    """What `build` and `check --target=c` say, empty if they accept it."""
    built = ""
    try:
        with TemporaryDirectory() as folder:
            irtool.build(module, emit="c", opt_level=3, out_dir=folder)
    except IrError as error:
        built = _placed("build", error)
    problems = find_unsupported(module)
    for d in problems:
        _place("check --target=c", d)
    if bool(problems) != bool(built):
        raise _Wrong(f"build: {built or 'accepts'}\n  check --target=c: {'; '.join(map(str, problems)) or 'accepts'}")
    return built


def _limit_of_c(operator: str, module: Module, refusal: str) -> str:
    """Why C may refuse what the interpreter takes; empty if nothing excuses it."""
    if is_dynamic(module):
        return "a shape is known only when the program runs"
    if operator.startswith("qnn.") and "must be a constant" in refusal:
        return "scales and zero points are folded into integers when code is made"
    if operator.startswith(("memory.", "vm.")) and "cannot be compiled to C" in refusal:
        return "an instruction of TVM's virtual machine, run so that passes can be checked"
    if re.search(r"tensors of u?int4 cannot be compiled to C", refusal):
        return "constants may be of 4 bits, parameters of C functions are whole bytes"
    return ""


def _placed(who: str, error: IrError) -> str:
    if error.exit_code != 1:
        raise _Wrong(f"{who}: exit code {error.exit_code}: {error}") from error
    for d in error.diagnostics:
        _place(who, d)
        if "has no tensor expression for these types" in d.message:
            raise _Wrong(f"{who}: {error}") from error
    return str(error)


def _place(who: str, d: Diagnostic) -> None:
    if d.span is None:
        raise _Wrong(f"{who}: no place: {d}")


def size_of(t: Type | None) -> int:
    """How many elements there are in all tensors of a type."""
    if isinstance(t, TupleType):
        return sum(map(size_of, t.fields))
    size = 1
    for d in t.shape if isinstance(t, TensorType) else ():
        size *= d if isinstance(d, int) else 1
    return size


def _fits(t: Type | None, value: Any) -> bool:
    if isinstance(t, TupleType):
        return isinstance(value, tuple) and len(value) == len(t.fields) and all(map(_fits, t.fields, value))
    if not isinstance(t, TensorType) or not isinstance(value, np.ndarray):
        return not isinstance(t, TensorType)
    same = value.ndim == len(t.shape) and all(d is ANY or d == n for d, n in zip(t.shape, value.shape, strict=True))
    return same and str(value.dtype) == t.dtype


def _described(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_described, value))})"
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
