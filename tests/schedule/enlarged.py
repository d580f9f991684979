"""Calls of every operator with large shapes, made from the cases of operators, and the work that their kernels do without vectors."""

from __future__ import annotations

import math
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

import irtool
from irtool.driver.prepare import prepare
from irtool.ir import Function, TensorType, Tuple, TupleGetItem, TupleType, Var
from irtool.ir.dtypes import numpy_dtype
from irtool.lower import lower_module
from irtool.ops import operators
from irtool.ops.base import call
from irtool.ops.cases import Case, cases_of
from irtool.passes.core.bind import bind_params
from irtool.passes.legalize import BYTE_PRODUCTS, WEIGHT_GRADIENTS
from irtool.schedule import VectorTarget, schedule_program
from irtool.tir.dtypes import is_float, itemsize
from irtool.tir.expr import Const, Load, post_order
from irtool.tir.stmt import VECTORIZED, Allocate, For, If, Let, PrimFunc, Scope, Seq, Stmt, Store, While

TARGET = VectorTarget(64, 32)
LEAST_FLOP, LEAST_BYTES = 1_000_000, 256 * 1024
"""Work of a kernel above which it must have vectors: additions and products of sums, or bytes that it stores."""
LEAST_SHARE = 0.1
"""Part of a kernel's steps that may be borders and remainders beside its vectors."""
_FACTORS = (2, 8, 16, 30, 64, 250, 1000, 50000)
_TRIED = 120
_LEAST_ELEMENTS, _MOST_ELEMENTS = 1 << 17, 1 << 22
_MOST_CONSTANTS = 1 << 19
_MOST_CASES = 12
_DIMENSIONS = re.compile(r"Tensor\[\(([^)]*)\)")
_NUMBER = re.compile(r"(?<![\w.%-])\d+(?![\w.])")


@dataclass(frozen=True)
class Enlarged:
    """A call with large shapes; `kind` is `forward`, `constants`, of all arguments but the first, or `gradient`."""

    operator: str
    kind: str
    module: irtool.Module


def enlarged_calls(name: str, count: int = 1, seed: int = 0) -> Iterator[Enlarged]:
    """Up to `count` large calls for some of the accepted cases of an operator, each with constants and the gradient if there is one."""
    cases = [case for case in cases_of(operators.get(name)) if not case.refusal]
    random.Random(seed).shuffle(cases)
    for case in cases[:_MOST_CASES]:
        for module in islice(_typed(case, seed), count):
            yield Enlarged(name, "forward", module)
            constants = _with_constants(module)
            if constants is not None:
                yield Enlarged(name, "constants", constants)
            gradient = _gradient(module)
            if gradient is not None:
                yield Enlarged(name, "gradient", gradient)


def is_cliff(module: irtool.Module) -> bool:
    """True if a kernel does more than `LEAST_FLOP`, or stores more than `LEAST_BYTES`, element by element, and these are at least
    `LEAST_SHARE` of its steps.

    Extents that only the run knows count as one. Loops count as vectors as they are scheduled.
    """
    program = lower_module(prepare(module, config={BYTE_PRODUCTS: True, WEIGHT_GRADIENTS: True}))
    schedule_program(program, TARGET)
    return any(_is_scalar(*_steps(k)) for k in program.kernels)


def _is_scalar(flop: int, stored: int, scalar: int, steps: int) -> bool:
    return (flop > LEAST_FLOP or stored > LEAST_BYTES) and scalar >= LEAST_SHARE * steps


def _typed(case: Case, seed: int) -> Iterator[irtool.Module]:
    """Modules of a case with some of its numbers multiplied that are well-typed and large; the largest one if none is."""
    rng = random.Random(zlib.crc32(case.line.encode()) + seed)
    head, arrow, body = case.program.partition("{")
    head = head.partition("->")[0].rstrip()
    largest: tuple[int, irtool.Module | None] = (0, None)
    texts: set[str] = set()
    for attempt in range(_TRIED):
        way = rng.choice((_by_value, _by_value_and_attribute, _by_axis)) if attempt else _all_by_value
        text = way(rng, head, f" {arrow}{body}")
        if text in texts:
            continue
        texts.add(text)
        try:
            module = irtool.infer_types(irtool.parse(text))
        except irtool.IrError:
            continue
        elements = _most_elements(module)
        if _LEAST_ELEMENTS <= elements <= _MOST_ELEMENTS:
            yield module
            largest = (_MOST_ELEMENTS, None)
        elif largest[0] < elements <= _MOST_ELEMENTS:
            largest = (elements, module)
    if largest[1] is not None:
        yield largest[1]


def _all_by_value(rng: random.Random, head: str, body: str) -> str:
    """All extents of arguments multiplied, by a little."""
    numbers = sorted({d for dims in _DIMENSIONS.findall(head) for d in _NUMBER.findall(dims)} - {"0", "1"})
    larger = {d: str(int(d) * rng.choice(_FACTORS[1:4])) for d in numbers}
    return _DIMENSIONS.sub(lambda m: _replaced(m[0], larger), head) + body


def _by_value(rng: random.Random, head: str, body: str) -> str:
    """Some of the extents of arguments multiplied, wherever they stand."""
    larger = _larger(rng, {d for dims in _DIMENSIONS.findall(head) for d in _NUMBER.findall(dims)})
    return _DIMENSIONS.sub(lambda m: _replaced(m[0], larger), head) + body


def _by_value_and_attribute(rng: random.Random, head: str, body: str) -> str:
    """The same, and of the numbers in attributes."""
    numbers = {d for dims in _DIMENSIONS.findall(head) for d in _NUMBER.findall(dims)}
    larger = _larger(rng, numbers | set(_NUMBER.findall(body)))
    return _DIMENSIONS.sub(lambda m: _replaced(m[0], larger), head) + _replaced(body, larger)


def _by_axis(rng: random.Random, head: str, body: str) -> str:
    """Some axes of all arguments multiplied."""
    factors = [rng.choice((1, *_FACTORS)) for _ in range(8)]

    def multiplied(m: re.Match[str]) -> str:
        axes = zip([d for d in m[1].split(",") if d.strip()], factors)
        return f"Tensor[({', '.join(str(int(d) * k) if d.strip().isdigit() else d for d, k in axes)})"

    return _DIMENSIONS.sub(multiplied, head) + body


def _larger(rng: random.Random, numbers: set[str]) -> dict[str, str]:
    """Some of the numbers, multiplied."""
    ordered = sorted(numbers - {"0"})
    return {
        d: str(int(d) * rng.choice(_FACTORS))
        for d in rng.sample(ordered, rng.randint(min(1, len(ordered)), len(ordered)))
    }


def _replaced(text: str, numbers: dict[str, str]) -> str:
    return _NUMBER.sub(lambda d: numbers.get(d[0], d[0]), text)


def _most_elements(module: irtool.Module) -> int:
    """Of an argument or result; more than are moderate if the shape of one is not known."""
    body = module["main"].body.checked_type
    types = [
        *(p.checked_type for p in module["main"].params),
        *(body.fields if isinstance(body, TupleType) else (body,)),
    ]
    sizes = [
        math.prod(t.static_shape) if t.is_static else _MOST_ELEMENTS + 1 for t in types if isinstance(t, TensorType)
    ]
    return max(sizes, default=0)


def _with_constants(module: irtool.Module) -> irtool.Module | None:
    """The module with ones for all arguments but the first, if these are tensors of floats, and not too large."""
    types = {p.name: p.checked_type for p in module["main"].params[1:]}
    if not types or not all(isinstance(t, TensorType) and is_float(t.dtype) for t in types.values()):
        return None
    if sum(math.prod(t.static_shape) for t in types.values()) > _MOST_CONSTANTS:
        return None
    rng = np.random.default_rng(0)
    return bind_params(
        module, {n: rng.uniform(0.5, 1, t.static_shape).astype(numpy_dtype(t.dtype)) for n, t in types.items()}
    )


def _gradient(module: irtool.Module) -> irtool.Module | None:
    """The gradients of a product with the results: those of the results alone begin with ones, unlike any network's."""
    try:
        return irtool.infer_types(irtool.run_passes(_weighed(module), "FirstOrderGradient"))
    except irtool.IrError:
        return None


def _weighed(module: irtool.Module) -> irtool.Module:
    """The module with its result, or each one of several, multiplied by another parameter."""
    main = module["main"]
    results = main.body.checked_type
    several = isinstance(results, TupleType)
    types = results.fields if several else [results]
    if not all(isinstance(t, TensorType) for t in types):
        return module
    factors = [Var(f"factor{n}", t) for n, t in enumerate(types)]
    tensors = [TupleGetItem(main.body, n) for n in range(len(types))] if several else [main.body]
    products = [call("multiply", x, factor) for x, factor in zip(tensors, factors)]
    body = Tuple(tuple(products)) if several else products[0]
    return irtool.infer_types(module.with_functions({"main": Function((*main.params, *factors), body)}))


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
