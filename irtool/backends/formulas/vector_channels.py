"""Loads of one of several interleaved channels, as C text for a vector type (see `vector_math` for the placeholders).

`channel_3_1` loads elements 1, 4, 7, …: from three full vectors, which the loads of all channels share.
"""

from __future__ import annotations

from ...selection.vectors.channels import Channel, Pick, picks
from ...selection.vectors.types import VectorType

_LOAD = """IRT_INLINE {{t}} irt_v{name}_{{n}}(const {{e}} *p) {{{{
  const {{t}} {loads};
#ifdef __clang__
{clang}
#else
{gcc}
#endif
}}}}"""


def written(name: str, t: VectorType) -> str:
    """The text of a function that loads a channel; empty for other names."""
    channel = Channel.of(name)
    if channel is None:
        return ""
    loads = ", ".join(f"v{k} = *(const {{t}}_u *)(p + {k * t.lanes})" for k in range(channel.count))
    clang, gcc = [], []
    for s in picks(channel, t.lanes):
        mask = ", ".join(map(str, s.mask))
        clang.append(_line(s, f"__builtin_shufflevector(v{s.a}, v{s.b}, {mask})", channel))
        gcc.append(_line(s, f"__builtin_shuffle(v{s.a}, v{s.b}, ({{i}}){{{{{mask}}}}})", channel))
    return _LOAD.format(name=name, loads=loads, clang="\n".join(clang), gcc="\n".join(gcc))


def _line(s: Pick, result: str, channel: Channel) -> str:
    return f"  const {{t}} v{s.result} = {result};" if s.result != channel.last else f"  return {result};"
