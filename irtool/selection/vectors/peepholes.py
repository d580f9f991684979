"""Peepholes on the steps of a vectorized loop.

Each takes a step with rewritten operands, and returns the steps in its place, the last of which has the value: a new step or one
of the operands. None: no match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...tir import dtypes
from ...tir.expr import Const, Expr
from ...tir.int8_dot import STEPS
from ...tir.simplify import Simplifier
from ...tir.word_functions import DOTS
from .ir import Apply, Arithmetic, Assign, Bitcast, Convert, LoadVector, Pack, Shift, Step, Value, constant_of
from .types import VectorType

Peephole = Callable[[Step], Sequence[Step] | None]

_TO_MEMORY = {"f2h": ("round_float16", "h2f"), "f2b": ("round_bfloat16", "b2f")}
"""Functions that store 16-bit floats, with those that round to them and load them."""


def accumulate(s: Step) -> Sequence[Step] | None:
    """a + dot(0, x, y)  ⇒  dot(a, x, y)"""
    dot = s.b if isinstance(s, Arithmetic) and s.op == "+" else None
    if not isinstance(s, Arithmetic) or not isinstance(dot, Apply) or dot.named:
        return None
    if dot.function[0] not in DOTS or constant_of(dot.args[0]) != 0:
        return None
    return [Apply(s.type, dot.function, (s.a, *dot.args[1:]))]


def round_once(s: Step) -> Sequence[Step] | None:
    """f2h(round_float16(x))  ⇒  f2h(x)"""
    value = _stored(s, 0)
    return [replace(s, args=value.args)] if isinstance(s, Apply) and value is not None and not value.named else None


def keep_bits(s: Step) -> Sequence[Step] | None:
    """f2h(h2f(x))  ⇒  x

    Nothing but the payload of NaN changes, and on processors without instructions for them the conversions take a hundred
    instructions.
    """
    if isinstance(s, Bitcast):
        bits = s.value.value if isinstance(s.value, Bitcast) else None
        return [bits] if bits is not None and bits.type == s.type else None
    value = _stored(s, 1)
    return [value.args[0]] if isinstance(s, Apply) and value is not None and value.args[0].type == s.type else None


def _stored(s: Step, which: int) -> Apply | None:
    """The operand of a function of `_TO_MEMORY`, if it is the value of the function of that number beside it."""
    names = _TO_MEMORY.get(s.function[0]) if isinstance(s, Apply) else None
    value = s.args[0] if isinstance(s, Apply) and names else None
    return value if isinstance(value, Apply) and names and value.function[0] == names[which] else None


def load_once(s: Step) -> Sequence[Step] | None:
    """register = load x  ⇒  register = load x, once: x is worth a register, and is not read again for each use."""
    v = s.value if isinstance(s, Assign) else None
    if (
        not isinstance(s, Assign)
        or not isinstance(v, LoadVector)
        or v.once
        or v.words
        or not v.is_whole
        or v.stride != 1
    ):
        return None
    once = replace(v, once=True)
    return [once, replace(s, value=once)]


def load_words(s: Step) -> Sequence[Step] | None:
    """pack(load x[4i], load x[4i + 1], …)  ⇒  load words x[4i …]: contiguous numbers are loaded at once."""
    if not isinstance(s, Pack):
        return None
    numbers, source = s.numbers, s.numbers[0].type
    if source.dtype == "float32":
        if not all(isinstance(v, Apply) and v.function[0] == "b2f" and not v.named for v in numbers):
            return None
        numbers = tuple(v.args[0] for v in numbers if isinstance(v, Apply))
    first, base = numbers[0], _first_place(numbers)
    if base is None or not isinstance(first, LoadVector):
        return None
    if source.dtype == "float32" or len(numbers) == STEPS:
        return [LoadVector(s.type, first.buffer, base, 1, first.count, words=True)]
    count = len(numbers)
    loaded = LoadVector(VectorType(source.dtype, count * s.type.lanes), first.buffer, base, 1, count * first.count)
    wide = [Convert(VectorType("int16", loaded.type.lanes), loaded)] if source.bits < 16 else []
    return [loaded, *wide, Bitcast(s.type, [loaded, *wide][-1])]


def _first_place(numbers: Sequence[Value]) -> Expr | None:
    """The offset of the first of several loads of contiguous numbers, in the order of the lanes' words; None for others."""
    first, simplify = numbers[0], Simplifier()
    if not isinstance(first, LoadVector):
        return None
    for n, v in enumerate(numbers):
        if not isinstance(v, LoadVector) or v.named or not v.is_whole or v.places or v.stride != len(numbers):
            return None
        behind = simplify(_place(v) - _place(first))
        if v.buffer is not first.buffer or not isinstance(behind, Const) or behind.value != n:
            return None
    return simplify(_place(first))


def _place(v: LoadVector) -> Expr:
    return v.base + v.channel.number if v.channel is not None else v.base


def join_words(s: Step) -> Sequence[Step] | None:
    """pack(a, b)  ⇒  a | b << 16: numbers from several places."""
    if not isinstance(s, Pack):
        return None
    steps: list[Value] = []

    def add(v: Value) -> Value:
        steps.append(v)
        return v

    t, source = s.type, s.numbers[0].type
    u = VectorType("uint32", t.lanes)
    if len(s.numbers) == STEPS:
        u = t
        parts = [add(Convert(t, add(Bitcast(VectorType("uint8", t.lanes), v)))) for v in s.numbers]
    elif source.dtype == "float32":
        parts = [add(Shift(u, ">>", add(Bitcast(u, v)), 16)) for v in s.numbers]
    else:
        parts = [add(Bitcast(u, add(Convert(t, v)))) for v in s.numbers]
        if not dtypes.is_unsigned(source.dtype):
            parts[0] = add(Shift(u, ">>", add(Shift(u, "<<", parts[0], 16)), 16))
    total, width = parts[0], t.bits // len(parts)
    for n, part in enumerate(parts[1:], 1):
        total = add(Arithmetic(u, "|", total, add(Shift(u, "<<", part, n * width))))
    return steps if u == t else [*steps, Bitcast(t, total)]


PEEPHOLES: tuple[Peephole, ...] = (accumulate, round_once, keep_bits, load_once, load_words, join_words)
