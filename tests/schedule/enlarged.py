"""Calls of every operator with large shapes, made from the cases of operators, and the work that their kernels do without vectors."""

from __future__ import annotations

import math
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import irtool
from irtool.driver.prepare import prepare
from irtool.ir import TensorType
from irtool.lower import lower_module
from irtool.ops import operators
from irtool.ops.cases import Case, cases_of
from irtool.schedule import VectorTarget, schedule_program
from irtool.tir.dtypes import itemsize
from irtool.tir.expr import Const, Load, post_order
from irtool.tir.stmt import VECTORIZED, Allocate, For, If, Let, PrimFunc, Scope, Seq, Stmt, Store, While

TARGET = VectorTarget(64, 32)
LEAST_FLOP, LEAST_BYTES = 1_000_000, 256 * 1024
"""Work of a kernel above which it must have vectors: additions and products of sums, or bytes that it stores."""
LEAST_SHARE = 0.1
"""Part of a kernel's steps that may be borders and remainders beside its vectors."""
_FACTORS = (8, 16, 30)
_TRIED = 12
_MOST_ELEMENTS = 1 << 22
_DIMENSIONS = re.compile(r"Tensor\[\(([^)]*)\)")


@dataclass(frozen=True)
class Enlarged:
    """A call with large shapes; `kind` is `forward` or `gradient`."""

    operator: str
    kind: str
    module: irtool.Module


def enlarged_calls(name: str, count: int = 1, seed: int = 0) -> Iterator[Enlarged]:
    """Up to `count` large calls for each accepted case of an operator, each with the gradient if there is one."""
    for case in cases_of(operators.get(name)):
        if not case.refusal:
            for module in islice(_typed(case, seed), count):
                yield Enlarged(name, "forward", module)
                gradient = _gradient(module)
                if gradient is not None:
                    yield Enlarged(name, "gradient", gradient)


def is_cliff(module: irtool.Module) -> bool:
    """True if a kernel does more than `LEAST_FLOP`, or stores more than `LEAST_BYTES`, element by element, and these are at least
    `LEAST_SHARE` of its steps.

    Extents that only the run knows count as one. Loops count as vectors as they are scheduled.
    """
    program = lower_module(prepare(module))
    schedule_program(program, TARGET)
    return any(_is_scalar(*_steps(k)) for k in program.kernels)


def _is_scalar(flop: int, stored: int, scalar: int, steps: int) -> bool:
    return (flop > LEAST_FLOP or stored > LEAST_BYTES) and scalar >= LEAST_SHARE * steps


def _typed(case: Case, seed: int) -> Iterator[irtool.Module]:
    """Modules of a case with some of its dimensions multiplied, those that are well-typed and not too large."""
    rng = random.Random(zlib.crc32(case.line.encode()) + seed)
    types = " ".join(str(t) for _, t, _ in case.parameters)
    extents = {int(d) for dims in _DIMENSIONS.findall(types) for d in re.findall(r"\d+", dims)}
    sizes = sorted(d for d in extents if d > 1)
    for attempt in range(_TRIED if sizes else 0):
        chosen = sizes if not attempt else rng.sample(sizes, rng.randint(1, len(sizes)))
        larger = {d: d * rng.choice(_FACTORS) for d in chosen}
        head, arrow, body = case.program.partition("{")
        text = (
            _DIMENSIONS.sub(lambda m, n=larger: _multiplied(m, n), head.partition("->")[0].rstrip())
            + " "
            + arrow
            + body
        )
        try:
            module = irtool.infer_types(irtool.parse(text))
        except irtool.IrError:
            continue
        if _is_moderate(module):
            yield module


def _multiplied(dims: re.Match[str], larger: dict[int, int]) -> str:
    return re.sub(r"\d+", lambda d: str(larger.get(int(d[0]), int(d[0]))), dims[0])


def _is_moderate(module: irtool.Module) -> bool:
    types = [*(p.checked_type for p in module["main"].params), module["main"].body.checked_type]
    return all(
        not isinstance(t, TensorType) or (t.is_static and math.prod(t.static_shape) <= _MOST_ELEMENTS) for t in types
    )


def _gradient(module: irtool.Module) -> irtool.Module | None:
    try:
        return irtool.infer_types(irtool.run_passes(module, "FirstOrderGradient"))
    except irtool.IrError:
        return None


def _steps(kernel: PrimFunc) -> tuple[int, int, int, int]:
    """The FLOP of sums and the bytes stored outside of vector loops, the steps outside of these, and all steps."""
    flop = stored = scalar = steps = 0
    stack: list[tuple[Stmt, int, bool]] = [(kernel.body, 1, False)]
    while stack:
        s, times, vector = stack.pop()
        if isinstance(s, Seq):
            stack += [(x, times, vector) for x in s.stmts]
        elif isinstance(s, For):
            extent = int(s.extent.value) if isinstance(s.extent, Const) else 1
            stack.append((s.body, times * extent, vector or s.kind == VECTORIZED))
        elif isinstance(s, If):
            stack += [(x, times, vector) for x in (s.then, s.other) if x is not None]
        elif isinstance(s, Let | Allocate | While):
            stack.append((s.body, times, vector))
        elif isinstance(s, Store):
            steps += times
            if vector:
                continue
            scalar += times
            if any(isinstance(e, Load) and e.source is s.buffer for e in post_order(s.value)):
                flop += 2 * times
            elif s.buffer.scope not in (Scope.LOCAL, Scope.REGISTER):
                stored += itemsize(s.buffer.dtype) * times
    return flop, stored, scalar, steps
