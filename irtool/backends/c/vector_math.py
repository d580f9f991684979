"""Functions of vectors that expressions need, as C text per vector type.

`{t}` is the float vector type, `{i}` the integer one of the same width, `{n}` the part of the name after `irt_v…_`.
"""

from __future__ import annotations

from ...tir import dtypes

_SELECT = """static inline {t} irt_vselect_{n}({i} m, {t} a, {t} b) {{
  return ({t})((m & ({i})a) | (~m & ({i})b));
}}"""
_MIN = "static inline {t} irt_vmin_{n}({t} a, {t} b) {{ {i} m = a < b; return ({t})((m & ({i})a) | (~m & ({i})b)); }}"
_MAX = "static inline {t} irt_vmax_{n}({t} a, {t} b) {{ {i} m = a > b; return ({t})((m & ({i})a) | (~m & ({i})b)); }}"
_FABS = "static inline {t} irt_vfabs_{n}({t} x) {{ return ({t})(({i})x & {int_max}); }}"
_SQRT = """static inline {t} irt_vsqrt_{n}({t} x) {{
  {t} y;
  int k;
  for (k = 0; k < {lanes}; ++k) y[k] = {sqrt}(x[k]);
  return y;
}}"""
_RSQRT = "static inline {t} irt_vrsqrt_{n}({t} x) {{ return {one} / irt_vsqrt_{n}(x); }}"

FUNCTIONS: dict[tuple[str, str], str] = {}
for _d in ("float32", "float64"):
    FUNCTIONS[("fabs", _d)] = _FABS
    FUNCTIONS[("sqrt", _d)] = _SQRT
    FUNCTIONS[("rsqrt", _d)] = _RSQRT

_NEEDS = {"rsqrt": ("sqrt",)}


def define(name: str, dtype: str, lanes: int) -> list[tuple[tuple[str, str, int], str]]:
    """Definitions of the function and of what it calls, by key, in an order in which C accepts them."""
    from .vectors import vector_type

    text = {"select": _SELECT, "min": _MIN, "max": _MAX}.get(name) or FUNCTIONS[(name, dtype)]
    wide = dtypes.bits(dtype) == 64
    made = text.format(
        t=vector_type(dtype, lanes),
        i=vector_type(f"int{dtypes.bits(dtype)}", lanes),
        n=vector_type(dtype, lanes)[4:],
        lanes=lanes,
        int_max="INT64_MAX" if wide else "INT32_MAX",
        sqrt="sqrt" if wide else "sqrtf",
        one="1.0" if wide else "1.0f",
    )
    needed = [d for n in _NEEDS.get(name, ()) for d in define(n, dtype, lanes)]
    return [*needed, ((name, dtype, lanes), made)]
