"""Squares of elements whose rows become columns, as C text for a type of vectors (see `vector_math` for the placeholders)."""

from __future__ import annotations

from ..vectors.squares import Mask, stages
from ..vectors.types import VectorType

_MIXED = """IRT_INLINE {{t}} irt_v{name}_{{n}}({{t}} a, {{t}} b) {{{{
#ifdef __clang__
  return __builtin_shufflevector(a, b, {mask});
#else
  return __builtin_shuffle(a, b, ({{i}}){{{{{mask}}}}});
#endif
}}}}"""


def written(name: str, t: VectorType) -> str:
    """The text of a function that copies a square, or is part of that; empty for other names."""
    if name == "square":
        return _square(t)
    mask = _masks(t).get(name) if name.startswith("mix_") else None
    return _MIXED.format(name=name, mask=", ".join(map(str, mask))) if mask is not None else ""


def needs(name: str, t: VectorType) -> tuple[str, ...]:
    """What such a function calls."""
    return tuple(_masks(t)) if name == "square" else ()


def _masks(t: VectorType) -> dict[str, Mask]:
    """The ways in which two vectors are mixed, by name: `mix_8_low` and `mix_8_high` exchange blocks of eight."""
    found: dict[str, Mask] = {}
    for stage in stages(t):
        pair = stage[0]
        found[_name(pair.lows, "low")] = pair.lows
        found[_name(pair.lows, "high")] = pair.highs
    return found


def _name(lows: Mask, which: str) -> str:
    """Blocks are as long as the elements that stay together."""
    return f"mix_{next((k for k in range(1, len(lows)) if lows[k] != k), len(lows))}_{which}"


def _square(t: VectorType) -> str:
    n = t.lanes
    lines = [
        "IRT_INLINE void irt_v{name}_{n}({e} *to, size_t down, const {e} *from, size_t rows) {{",
        f"  {{t}} {', '.join(f'a{k}, b{k}' for k in range(n))};",
        *(f"  a{k} = *(const {{t}}_u *)(from + {k} * rows);" for k in range(n)),
    ]
    here, there = "a", "b"
    for stage in stages(t):
        for x in stage:
            for which, target in (("low", x.low), ("high", x.high)):
                name = _name(x.lows, which)
                lines.append(f"  {there}{target} = irt_v{name}_{{n}}({here}{x.a}, {here}{x.b});")
        here, there = there, here
    lines += [f"  *({{t}}_u *)(to + {k} * down) = {here}{k};" for k in range(n)]
    return "\n".join([*lines, "}}"])
