"""Transposes of square blocks of elements, as C text for a vector type (see `vector_math` for the placeholders)."""

from __future__ import annotations

from collections.abc import Sequence

from ...selection.vectors.squares import (
    Exchange,
    Mask,
    begins_with_halves,
    is_in_pieces,
    piece_lanes,
    plan_square,
    stages,
)
from ...selection.vectors.types import VectorType
from ...tir.memory import CACHE_LINE
from .vector_types import vector_type

_MIXED = """IRT_INLINE {{t}} irt_v{name}_{{n}}({{t}} a, {{t}} b) {{{{
#ifdef __clang__
  return __builtin_shufflevector(a, b, {mask});
#else
  return __builtin_shuffle(a, b, ({{i}}){{{{{mask}}}}});
#endif
}}}}"""
# Halves of two rows. To put a half from memory beside another is not a shuffle for processors; gcc tells since version 12, if the
# elements are large.
_PAIR = """IRT_INLINE {{t}} irt_v{name}_{{n}}(const {{e}} *p, const {{e}} *q) {{{{
#if defined(__clang__) || __GNUC__ >= 12
  typedef int64_t half __attribute__((vector_size({half} * sizeof({{e}})), aligned(sizeof({{e}})), may_alias));
  return ({{t}})__builtin_shufflevector(*(const half *)(p + {start}), *(const half *)(q + {start}), {every});
#else
  return __builtin_shuffle(*(const {{t}}_u *)p, *(const {{t}}_u *)q, ({{i}}){{{{{mask}}}}});
#endif
}}}}"""
# Pieces of 16 bytes of four rows. gcc shuffles loaded vectors unless it is told the instructions that load one beside another.
_PIECES = """IRT_INLINE {t} irt_vpieces_{n}(const {e} *p, size_t next) {{
  typedef int64_t piece __attribute__((vector_size(16), aligned(sizeof({e})), may_alias));
  const piece a = *(const piece *)p, b = *(const piece *)(p + next);
  const piece c = *(const piece *)(p + 2 * next), d = *(const piece *)(p + 3 * next);
#if defined(__clang__)
  typedef int64_t half __attribute__((vector_size(32)));
  const half low = __builtin_shufflevector(a, b, 0, 1, 2, 3), high = __builtin_shufflevector(c, d, 0, 1, 2, 3);
  return ({t})__builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#elif defined(__AVX512F__)
  typedef long long two __attribute__((vector_size(16)));
  typedef long long four __attribute__((vector_size(32)));
  typedef long long eight __attribute__((vector_size(64)));
  typedef int32_t words __attribute__((vector_size(16)));
  typedef int32_t wide __attribute__((vector_size(32)));
  const four low = __builtin_ia32_insert128i256((four)__builtin_ia32_si256_si((words)a), (two)b, 1);
  const four high = __builtin_ia32_insert128i256((four)__builtin_ia32_si256_si((words)c), (two)d, 1);
  return ({t})__builtin_ia32_inserti64x4_mask((eight)__builtin_ia32_si512_256si((wide)low), high, 1, (eight){{0}}, -1);
#else
  typedef int64_t whole __attribute__((vector_size(64)));
  return ({t})(whole){{a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]}};
#endif
}}"""
# The rows of such a square must be lines of memory; where they are not, it is copied as others are.
_STREAMED = """IRT_INLINE void irt_v{{name}}_{{n}}({{e}} *to, size_t down, const {{e}} *from, size_t rows) {{{{
  {{t}} s[{columns}];
  size_t k;
  if (((uintptr_t)to | (uintptr_t)(down * sizeof *to)) % {line}) {{{{
    irt_v{square}_{{n}}(to, down, from, rows);
    return;
  }}}}
  irt_v{square}_{{n}}(({{e}} *)s, {lanes}, from, rows);
  for (k = 0; k < {columns}; ++k) irt_vstream_{{n}}(to + k * down, s[k]);
}}}}"""
_STREAM = """IRT_INLINE void irt_vstream_{n}({e} *to, {t} v) {{
#if defined(__AVX512F__) && defined(__clang__)
  __builtin_nontemporal_store(v, ({t} *)to);
#elif defined(__AVX512F__)
  typedef long long line __attribute__((vector_size(64)));
  __builtin_ia32_movntdq512((line *)to, (line)v);
#else
  *({t} *)to = v;
#endif
}}"""
_SQUARES = {"square": 1, "half_square": 2, "quarter_square": 4}
_ENDS = ("low", "high")

Stages = list[list[Exchange]]


def written(name: str, t: VectorType) -> str:
    """The text of a function that copies a square, or is a part of such a copy; empty for other names."""
    if name in _SQUARES:
        columns = t.lanes // _SQUARES[name]
        return _large(t) if is_in_pieces(t) and columns == t.lanes else _in_registers(t, columns, name)
    if name == "stream":
        return _STREAM
    if name.startswith("stream_"):
        square = name.removeprefix("stream_")
        columns = t.lanes // _SQUARES[square]
        return _STREAMED.format(square=square, columns=columns, lanes=t.lanes, line=CACHE_LINE)
    if name == "pieces":
        return _PIECES
    if name == "strip":
        return _strip(t)
    if name in ("pair_low", "pair_high"):
        start = 0 if name == "pair_low" else t.lanes // 2
        exchange = stages(t)[0][0]
        mask = exchange.lows if start == 0 else exchange.highs
        every = _listed(range(_quads(t).lanes))
        return _PAIR.format(name=name, half=t.lanes // 2, start=start, every=every, mask=_listed(mask))
    mixed = _masks(t).get(name) if name.startswith("mix_") else None
    return _MIXED.format(name=name, mask=_listed(mixed)) if mixed is not None else ""


def _quads(t: VectorType) -> VectorType:
    """The same bytes as 64-bit integers, which processors shuffle across a vector at once."""
    return VectorType("int64", t.lanes * t.bits // 64)


def _listed(numbers: range | Mask) -> str:
    return ", ".join(map(str, numbers))


def _masks(t: VectorType) -> dict[str, Mask]:
    """The shuffles of two vectors, by name: `mix_8_low` and `mix_8_high` exchange blocks of eight."""
    return _mixes(stages(t))


def _mixes(chosen: Stages) -> dict[str, Mask]:
    masks: dict[str, Mask] = {}
    for stage in chosen:
        pair = stage[0]
        masks[_name(pair.lows, "low")] = pair.lows
        masks[_name(pair.lows, "high")] = pair.highs
    return masks


def _left(t: VectorType) -> Stages:
    """The stages behind the loads, which join halves of rows if possible."""
    return stages(t)[1:] if begins_with_halves(t) else stages(t)


def _inner(t: VectorType) -> Stages:
    """The stages within pieces, of the first piece."""
    piece = piece_lanes(t)
    return [[x for x in s if x.a < piece] for s in stages(t) if s[0].b < piece]


def _outer(t: VectorType) -> Stages:
    """The stages behind the loads that exchange pieces, for the first vector of each piece."""
    piece = piece_lanes(t)
    return [[x for x in s if x.a % piece == 0] for s in _left(t) if s[0].b >= piece]


def _block(t: VectorType, stage: list[Exchange]) -> int:
    """The length of the blocks that a stage exchanges, in 64-bit integers."""
    return next(k for k, low in enumerate(stage[0].lows) if low != k) * t.bits // 64


def _name(lows: Mask, which: str) -> str:
    """The name of a shuffle: blocks are as long as the elements that stay together."""
    return f"mix_{next((k for k in range(1, len(lows)) if lows[k] != k), len(lows))}_{which}"


def _in_registers(t: VectorType, columns: int, name: str) -> str:
    """`columns` columns of a square, in registers all the time."""
    plan = plan_square(t, columns)
    lines = [
        f"IRT_INLINE void irt_v{name}_{{n}}({{e}} *to, size_t down, const {{e}} *from, size_t rows) {{{{",
        f"  {{t}} {', '.join(f'a{k}, b{k}' for k in range(columns))};",
    ]
    for k, parts in enumerate(plan.parts):
        (a, first), (b, _) = parts[0], parts[-1]
        if len(parts) == 1:
            load = f"*(const {{t}}_u *)(from + {a} * rows)"
        elif len(parts) == 2:
            load = f"irt_vpair_{'high' if first else 'low'}_{{n}}(from + {a} * rows, from + {b} * rows)"
        else:
            load = f"irt_vpieces_{{n}}(from + {a} * rows, {parts[1][0] - a} * rows)"
        lines.append(f"  a{k} = {load};")
    return "\n".join([*lines, *_network(plan.stages, columns)])


def _network(left: Sequence[Sequence[Exchange]], columns: int) -> list[str]:
    """The lines that exchange elements of `a0`, `a1`, … in stages and store the results as rows."""
    lines = []
    here, target_name = "a", "b"
    for stage in left:
        for x in stage:
            for which, target in (("low", x.low), ("high", x.high)):
                name = _name(x.lows, which)
                lines.append(f"  {target_name}{target} = irt_v{name}_{{n}}({here}{x.a}, {here}{x.b});")
        here, target_name = target_name, here
    return [*lines, *(f"  *({{t}}_u *)(to + {k} * down) = {here}{k};" for k in range(columns)), "}}"]


def _strip(t: VectorType) -> str:
    """As many rows of the transpose as a piece has elements, from vectors whose pieces are in position."""
    piece = piece_lanes(t)
    lines = [
        "IRT_INLINE void irt_vstrip_{n}({e} *to, size_t down, const {t} *from) {{",
        f"  {{t}} {', '.join(f'a{k}, b{k}' for k in range(piece))};",
        *(f"  a{k} = from[{k}];" for k in range(piece)),
    ]
    return "\n".join([*lines, *_network(_inner(t), piece)])


def _large(t: VectorType) -> str:
    """A square of more vectors than registers: pieces of 16 bytes are exchanged on the way into a buffer, and elements within
    them on the way out.

    Every row is read at once, and every row of the transpose written at once.
    """
    n, piece, wide = t.lanes, piece_lanes(t), vector_type(*_quads(t))
    count = n // piece
    lines = [
        "IRT_INLINE void irt_vsquare_{n}({e} *to, size_t down, const {e} *from, size_t rows) {{",
        f"  {{t}} s[{n}];",
        "  size_t k;",
        f"  for (k = 0; k < {piece}; ++k) {{{{",
        f"    {wide} {', '.join(f'a{k}, b{k}' for k in range(count))};",
    ]
    rows_of_piece = ["k", *(f"(k + {k})" for k in range(piece, n, piece))]
    for x in (x for x in stages(t)[0] if x.a % piece == 0):
        for which, target in (("low", x.low), ("high", x.high)):
            rows = f"from + {rows_of_piece[x.a // piece]} * rows, from + {rows_of_piece[x.b // piece]} * rows"
            lines.append(f"    a{target // piece} = ({wide})irt_vpair_{which}_{{n}}({rows});")
    here, target_name = "a", "b"
    for stage in _outer(t):
        for x in stage:
            for which, target in (("low", x.low), ("high", x.high)):
                mixed = f"irt_vmix_{_block(t, stage)}_{which}_{wide[4:]}({here}{x.a // piece}, {here}{x.b // piece})"
                lines.append(f"    {target_name}{target // piece} = {mixed};")
        here, target_name = target_name, here
    lines += [
        *(f"    s[{rows_of_piece[k].strip('()')}] = ({{t}}){here}{k};" for k in range(count)),
        "  }}",
        f"  for (k = 0; k < {n}; k += {piece}) irt_vstrip_{{n}}(to + k * down, down, s + k);",
        "}}",
    ]
    return "\n".join(lines)
