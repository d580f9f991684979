"""Arc sine and cosine of vectors, the same text for both precisions, as C text (see `vector_math` for the placeholders).

asin a is π/2 - 2 asin √((1 - a) / 2) above 1/2, where the root is below 1/2 again; `asin_half` of a family computes it up to 1/2.
π and π/2 are sums of the nearest number and a remainder, whose sign differs between precisions.
"""

from __future__ import annotations

from .templates import fill

_ASIN = """IRT_INLINE {t} irt_vasin_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), h = 0.5{f} - 0.5{f} * a;
  {i} low = a < 0.5{f};
  {t} z = irt_vselect_{n}(low, a * a, h);
  {t} y = irt_vasin_half_{n}(irt_vselect_{n}(low, a, irt_vsqrt_{n}(h)), z);
  y = irt_vselect_{n}(low, y, $quarter - ((y + y) $sign $rest));
  return ({t})(({i})y | (({i})x & $int_min));
}}"""
_ACOS = """IRT_INLINE {t} irt_vacos_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), h = 0.5{f} - 0.5{f} * a;
  {i} low = a < 0.5{f};
  {t} z = irt_vselect_{n}(low, a * a, h);
  {t} y = irt_vasin_half_{n}(irt_vselect_{n}(low, a, irt_vsqrt_{n}(h)), z);
  {t} middle = $quarter - (({t})(({i})y ^ (({i})x & $int_min)) $sign $rest);
  y = y + y;
  return irt_vselect_{n}(low, middle, irt_vselect_{n}(x < 0.0{f}, $half - (y $sign $half_rest), y));
}}"""

_NUMBERS = {
    "float32": {
        "quarter": "1.57079637f",
        "half": "3.14159274f",
        "sign": "+",
        "rest": "4.37113883e-8f",
        "half_rest": "8.74227766e-8f",
        "int_min": "INT32_MIN",
    },
    "float64": {
        "quarter": "1.5707963267948966",
        "half": "3.141592653589793",
        "sign": "-",
        "rest": "6.123233995736766e-17",
        "half_rest": "1.2246467991473532e-16",
        "int_min": "INT64_MIN",
    },
}
"""π/2, a quarter of a turn, and π, half of one."""


def arcs(dtype: str) -> dict[tuple[str, str], str]:
    """The functions of a precision by name and dtype."""
    return {("asin", dtype): fill(_ASIN, **_NUMBERS[dtype]), ("acos", dtype): fill(_ACOS, **_NUMBERS[dtype])}
