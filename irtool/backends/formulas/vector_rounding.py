"""Exact functions of vectors, as C text (see `vector_math` for the placeholders).

Rounding: compilers recognize a loop over the lanes if the processor has an instruction. On other processors, adding 2^23 (2^52 in
double precision) to a smaller number, and subtracting it again, rounds the number to the nearest integer; larger numbers are
integers, infinite or NaN.
"""

from __future__ import annotations

from ...tir import dtypes
from .templates import fill

_KINDS = {
    "float32": {"limit": "8388608.0f", "half": "0.5f", "one": "1.0f", "far": "1024.0f", "upper": "~0xfff", "suffix": "f"},
    "float64": {
        "limit": "4503599627370496.0", "half": "0.5", "one": "1.0", "far": "1024.0", "upper": "~INT64_C(0x7ffffff)",
        "suffix": "",
    },
}  # fmt: skip
"""Words of the texts by dtype. `upper` masks the upper half of a number's digits."""

_ROUND = """IRT_INLINE {t} irt_v${name}_{n}({t} x) {{
#if defined(__SSE4_1__) || defined(__aarch64__) || defined(__powerpc64__)
  {t} y;
  int k;
  for (k = 0; k < {lanes}; ++k) y[k] = ${name}${suffix}(x[k]);
  return y;
#else
  {t} a = irt_vfabs_{n}(x), y = irt_vnearest_{n}(a);
${body}  y = ({t})(({i})y | (({i})x & ~{int_max}));
  return irt_vselect_{n}(a < $limit, y, x);
#endif
}}"""
_NEAREST = "IRT_INLINE {t} irt_vnearest_{n}({t} a) {{ return (a + $limit) - $limit; }}"


def _step(sign: str, condition: str) -> str:
    """A step of one with a sign, for lanes that satisfy a condition."""
    return f"  y {sign}= ({{t}})(({condition}) & ({{i}})($one - ({{t}}){{{{0}}}}));\n"


_TRUNC = _step("-", "y > a")
# Floor and ceil are what is nearest, or one away from zero or towards it.
_BODIES = {
    "nearbyint": "",
    "trunc": _TRUNC,
    "round": _TRUNC + _step("+", "a - y >= $half"),
    "floor": _TRUNC + _step("+", "(y < a) & (x < 0)"),
    "ceil": _TRUNC + _step("+", "(y < a) & (x > 0)"),
}

_COPYSIGN = """IRT_INLINE {t} irt_vcopysign_{n}({t} x, {t} y) {{
  return ({t})((({i})x & {int_max}) | (({i})y & ~{int_max}));
}}"""
# The products of a quotient below 2^10 with the halves of the divisor's digits are exact, and so are the differences, as
# the quotient is the nearest one: what is left, at most half of the divisor, has no digit below the divisor's last.
_FMOD = """IRT_INLINE {t} irt_vfmod_{n}({t} x, {t} y) {{
  {t} a = irt_vfabs_{n}(x), b = irt_vfabs_{n}(y), q = irt_vnearest_{n}(a / b);
  {t} upper = ({t})(({i})b & $upper), r = (a - q * upper) - q * (b - upper);
  r = irt_vselect_{n}(r < 0, r + b, r);
  r = ({t})(({i})r | (({i})x & ~{int_max}));
  return irt_vany_{n}(~((a < $far * b) & (b < INFINITY))) ? irt_vfar_fmod_{n}(x, y, r) : r;
}}"""
_FAR_FMOD = """static __attribute__((noinline, unused)) {t} irt_vfar_fmod_{n}({t} x, {t} y, {t} r) {{
  int k;
  for (k = 0; k < {lanes}; ++k) r[k] = fmod${suffix}(x[k], y[k]);
  return r;
}}"""
# The compiler does not see the sum behind the product, so it makes no multiply-add.
_PRODUCT = """IRT_INLINE {t} irt_vproduct_{n}({t} a, {t} b) {{
  {t} y = a * b;
#if defined(__x86_64__) && ({lanes} <= $lanes || (defined(__AVX__) && {lanes} <= 2 * $lanes))
  __asm__("" : "+x"(y));
#elif defined(__x86_64__) && defined(__AVX512F__) && {lanes} <= 4 * $lanes
  __asm__("" : "+v"(y));
#elif defined(__aarch64__) && {lanes} <= $lanes
  __asm__("" : "+w"(y));
#elif defined(__GNUC__)
  volatile {t} z = y;
  y = z;
#endif
  return y;
}}"""
_QUESTIONS = {"isnan": "x != x", "isinf": "irt_vfabs_{n}(x) == INFINITY", "isfinite": "irt_vfabs_{n}(x) < INFINITY"}
_QUESTION = "IRT_INLINE {i} irt_v${name}_{n}({t} x) {{ return $answer; }}"


def _texts(dtype: str) -> dict[str, str]:
    values = _KINDS[dtype]
    texts = {name: fill(_ROUND, name=name, body=fill(body, **values), **values) for name, body in _BODIES.items()}
    texts |= {name: fill(_QUESTION, name=name, answer=answer) for name, answer in _QUESTIONS.items()}
    others = {"nearest": _NEAREST, "copysign": _COPYSIGN, "fmod": _FMOD, "far_fmod": _FAR_FMOD, "product": _PRODUCT}
    lanes = str(16 // dtypes.itemsize(dtype))
    return texts | {name: fill(text, lanes=lanes, **values) for name, text in others.items()}


FUNCTIONS: dict[tuple[str, str], str] = {(name, d): text for d in _KINDS for name, text in _texts(d).items()}

EXACT: tuple[str, ...] = (*_BODIES, *_QUESTIONS, "copysign", "fmod", "product")
