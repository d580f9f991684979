"""Functions of networks that read a row of tokens behind those of the steps before, such as decoders of text, as inline functions of the header.

The states of such a network are caches whose rows a step writes behind those that count, so that one number says how much was read. A step takes
tokens alone, and gives scores whose shape does not depend on their number::

    NAME_prefill(net, n, tokens, scores)     reads any number of tokens, as many in a step as its bound allows
    NAME_decode(net, token, scores)          reads one
    NAME_rewind(net, position)               forgets all but the first tokens

They are written once, in the header, for every backend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ...symbolic_int import Symbol, SymbolicInt, extent_of
from ...tir import dtypes
from ..c_types import stored_type
from ..sources import Parameter
from .states import STATE_FULL, Instance, LengthField

_TOKENS, _COUNT, _SCORES = "tokens", "n", "scores"


class Steps(Protocol):
    """The functions of a step, as an entry point has them."""

    @property
    def run(self) -> str: ...
    @property
    def run_with(self) -> str: ...
    @property
    def arena_size(self) -> str: ...
    @property
    def inputs(self) -> tuple[Parameter, ...]: ...
    @property
    def outputs(self) -> tuple[Parameter, ...]: ...
    @property
    def symbols(self) -> tuple[Symbol, ...]: ...
    @property
    def instance(self) -> Instance | None: ...
    @property
    def positions(self) -> tuple[LengthField, ...]: ...
    @property
    def same_lengths(self) -> tuple[LengthField, ...]: ...


@dataclass(frozen=True)
class Decoder:
    """A step that reads tokens.

    Attributes:
        most: the most tokens of a step.
        has_length: a parameter of the step is the number of its tokens.
    """

    entry: Steps
    most: int
    has_length: bool


def position_of(e: Steps) -> LengthField | None:
    """The number of rows that count in all states of an entry; None unless the states are nothing else."""
    if e.instance is None or e.same_lengths or len(e.positions) != 1 or len(e.instance.lengths) != 1:
        return None
    return e.positions[0] if all(f.state.is_written for f in e.instance.fields) else None


def decoder_of(e: Steps) -> Decoder | None:
    """The step of an entry as one that reads tokens; None if it takes or gives something else."""
    position = position_of(e)
    if position is None or len(e.inputs) != 1 or len(e.outputs) != 1 or len(e.symbols) > 1:
        return None
    (tokens,), (scores,) = e.inputs, e.outputs
    if not dtypes.is_int(tokens.slot.dtype) or any(isinstance(d, SymbolicInt) for d in scores.slot.shape):
        return None
    added = position.length.next - extent_of(position.length.symbol)
    if tokens.slot.size != added:
        return None
    if not e.symbols:
        return Decoder(e, 1, False) if added == 1 else None
    (count,) = e.symbols
    is_any = count.low <= 1 and count.step == 1 and not count.choices and count.is_bounded
    return Decoder(e, count.high, True) if added == extent_of(count) and is_any else None


def declare_decoder(e: Steps) -> list[str]:
    """The functions of an entry that they fit, for a header, behind those of its steps."""
    position = position_of(e)
    if position is None or e.instance is None:
        return []
    decoder = decoder_of(e)
    name, upper, net = e.instance.name, e.instance.name.upper(), e.instance.variable
    place = f"{net}->{position.name}"
    lines = [
        "",
        "/* Forgets all but the first rows of the states: a step continues there. More rows than there are is out of bounds. */",
        f"static inline int {name}_rewind({e.instance.declaration}, int64_t position) {{",
        f"  if (position < 0 || position > {place}) return {upper}_OUT_OF_BOUNDS;",
        f"  {place} = position;",
        "  return 0;",
        "}",
    ]
    if decoder is None:
        return lines
    (tokens,), (scores,) = e.inputs, e.outputs
    row = f"const {stored_type(tokens.slot.dtype)} *{_TOKENS}, {stored_type(scores.slot.dtype)} *{_SCORES}"
    for with_arena in (False, True):
        if e.arena_size and not with_arena:
            continue
        suffix = "_with" if with_arena else ""
        memory, own = ("void *arena, size_t size, ", "arena, size, ") if with_arena else ("", "")
        step = e.run_with if with_arena else e.run
        many = "count, " if decoder.has_length else ""
        if not with_arena:
            lines += [
                "",
                f"/* Reads {_COUNT} tokens behind those before, at most {decoder.most} of them in a step, and gives the scores behind the last one. An",
                " * error leaves the state as it was. */",
            ]
        else:
            lines += ["", "/* The same in the caller's workspace. */"]
        lines += [
            f"static inline int {name}_prefill{suffix}({memory}{e.instance.declaration}, int64_t {_COUNT}, {row}) {{",
            f"  const int64_t before = {place};",
            "  int64_t k = 0;",
            f"  if ({_COUNT} < 1 || before < 0 || before > {position.length.capacity}) return {upper}_OUT_OF_BOUNDS;",
            f"  if ({_COUNT} > {position.length.capacity} - before) return {upper}_{STATE_FULL};",
            f"  while (k < {_COUNT}) {{",
            f"    const int64_t count = {_COUNT} - k < {decoder.most} ? {_COUNT} - k : {decoder.most};",
            f"    const int code = {step}({own}{net}, {many}{_TOKENS} + k, {_SCORES});",
            "    if (code) {",
            f"      {place} = before;",
            "      return code;",
            "    }",
            "    k += count;",
            "  }",
            "  return 0;",
            "}",
        ]
        one = f"{stored_type(tokens.slot.dtype)} token, {stored_type(scores.slot.dtype)} *{_SCORES}"
        lines += [
            "/* Reads one token. */" if not with_arena else "/* Reads one token in the caller's workspace. */",
            f"static inline int {name}_decode{suffix}({memory}{e.instance.declaration}, {one}) {{",
            f"  return {name}_prefill{suffix}({own}{net}, 1, &token, {_SCORES});",
            "}",
        ]
    return lines
