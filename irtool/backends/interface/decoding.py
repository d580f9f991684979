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
from ...tir.errors import TOKEN_ERROR
from ...tir.program import HostFunction
from ..c_types import stored_type
from ..sources import Parameter
from .states import STATE_FULL, Instance, LengthField

NO_SUCH_TOKEN = "NO_SUCH_TOKEN"
_TOKENS, _COUNT, _SCORES = "tokens", "n", "scores"


class Steps(Protocol):
    """The functions of a step, as an entry point has them."""

    @property
    def function(self) -> HostFunction: ...
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
        vocabulary: the number of different tokens; None if nothing says it.
        has_length: a parameter of the step is the number of its tokens.
    """

    entry: Steps
    most: int
    vocabulary: int | None
    has_length: bool


def position_of(e: Steps) -> LengthField | None:
    """The number of rows that count in all states of an entry; None unless the states are nothing else."""
    return e.positions[0] if e.instance is not None and e.function.position is not None else None


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
    vocabulary = _vocabulary(e.function, tokens.slot.dtype)
    if not e.symbols:
        return Decoder(e, 1, vocabulary, False) if added == 1 else None
    (count,) = e.symbols
    is_any = count.low <= 1 and count.step == 1 and not count.choices and count.is_bounded
    return Decoder(e, count.high, vocabulary, True) if added == extent_of(count) and is_any else None


def _vocabulary(f: HostFunction, dtype: str) -> int | None:
    """The size of the vocabulary, if numbers of the dtype may lie outside."""
    limit = f.index_limits.get(f.param_names[0])
    low, high = dtypes.int_range(dtype)
    return limit if limit is not None and (low < 0 or limit <= high) else None


def refuses_tokens(e: Steps) -> bool:
    """True if the functions of an entry know its vocabulary."""
    decoder = decoder_of(e)
    return decoder is not None and decoder.vocabulary is not None


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
    if decoder.vocabulary is not None:
        lines += [
            "",
            f"/* The error of a token that is not from 0 to {decoder.vocabulary - 1}. */",
            f"#define {upper}_{NO_SUCH_TOKEN} {TOKEN_ERROR}",
        ]
    for with_arena in (False, True):
        if with_arena or not e.arena_size:
            lines += _functions(decoder, position, with_arena)
    return lines


def _functions(decoder: Decoder, position: LengthField, with_arena: bool) -> list[str]:
    """`NAME_prefill` and `NAME_decode`, in a workspace of their own or in the caller's."""
    e = decoder.entry
    assert e.instance is not None
    name, upper, net = e.instance.name, e.instance.name.upper(), e.instance.variable
    place = f"{net}->{position.name}"
    lines: list[str] = []
    (tokens,), (scores,) = e.inputs, e.outputs
    row = f"const {stored_type(tokens.slot.dtype)} *{_TOKENS}, {stored_type(scores.slot.dtype)} *{_SCORES}"
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
        *_check_tokens(decoder, upper),
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


def _check_tokens(decoder: Decoder, upper: str) -> list[str]:
    """The statement that refuses tokens outside of the vocabulary, before anything is read."""
    if decoder.vocabulary is None:
        return []
    low, high = dtypes.int_range(decoder.entry.inputs[0].slot.dtype)
    tests = [f"{_TOKENS}[k] < 0"] if low < 0 else []
    tests += [f"{_TOKENS}[k] >= {decoder.vocabulary}"] if decoder.vocabulary <= high else []
    return [
        f"  for (; k < {_COUNT}; ++k)",
        f"    if ({' || '.join(tests)}) return {upper}_{NO_SUCH_TOKEN};",
        "  k = 0;",
    ]
