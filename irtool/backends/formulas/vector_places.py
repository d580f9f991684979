"""Loads of irregularly spaced elements, as C text for a vector type (see `vector_math` for the placeholders)."""

from __future__ import annotations

from collections.abc import Sequence

from ...selection.vectors.types import VectorType
from ...tir.shuffles import PREFIX, Shuffle, find_shuffle, places_of

# gcc shuffles vectors of one type into another since version 12.
_SHUFFLED = """IRT_INLINE {{t}} irt_v{name}_{{n}}(const {{e}} *p) {{{{
#if defined(__clang__) || __GNUC__ >= 12
{lines}
#else
  return ({{t}}){{{{{items}}}}};
#endif
}}}}"""
_READ = "  typedef {{e}} some __attribute__((vector_size({width} * sizeof({{e}})), aligned(sizeof({{e}})), may_alias));"
_WIDER = "  typedef {{e}} v{size} __attribute__((vector_size({size} * sizeof({{e}}))));"


def written(name: str, t: VectorType) -> str:
    """The text of a function that loads elements at the positions in its name; empty for other names."""
    if not name.startswith(PREFIX):
        return ""
    positions = places_of(name)
    s = find_shuffle(positions)
    assert s is not None and len(positions) == t.lanes
    items = ", ".join(f"p[{k}]" for k in positions)
    return _SHUFFLED.format(name=name, lines="\n".join(_lines(s, t.lanes)), items=items)


def _lines(s: Shuffle, lanes: int) -> list[str]:
    """The reads, joined and widened to the width of the result, and shuffled.

    gcc doubles the width of a vector without an instruction, but quadruples it through memory.
    """
    reads = ", ".join(f"{'abc'[n]} = *(const some *)(p + {start})" for n, start in enumerate(s.starts))
    lines = [_READ.format(width=s.width), f"  const some {reads};"]
    here, other, size, mask = "a", "b" if len(s.starts) > 1 else "a", s.width, s.mask
    while size < lanes:
        bound = 2 * size if other == "b" else size
        size *= 2
        wider = [k if k < bound else -1 for k in range(size)]
        lines += [_WIDER.format(size=size), f"  const v{size} w{size} = {_shuffle(here, other, wider)};"]
        here = other = f"w{size}"
    if len(s.starts) == 3:
        first, mask = s.halves()
        lines.append(f"  const some d = {_shuffle('a', 'b', first)};")
        here, other = "d", "c"
    return [*lines, f"  return {_shuffle(here, other, mask)};"]


def _shuffle(a: str, b: str, mask: Sequence[int]) -> str:
    return f"__builtin_shufflevector({a}, {b}, {', '.join(map(str, mask))})"
