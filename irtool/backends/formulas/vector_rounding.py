"""Functions of vectors that are exact, as C text (see `vector_math` for the placeholders).

Rounding: compilers find a processor's instruction behind a loop over the lanes, where there is one. Elsewhere, a number
below 2^23 (2^52 in double precision) with that added and taken away again has been rounded to the nearest integer; the
others are integers, infinite or NaN.
"""

from __future__ import annotations

_KINDS = {
    "float32": {"LIMIT": "8388608.0f", "HALF": "0.5f", "ONE": "1.0f", "FAR": "1024.0f", "UPPER": "~0xfff", "SUFFIX": "f"},
    "float64": {
        "LIMIT": "4503599627370496.0", "HALF": "0.5", "ONE": "1.0", "FAR": "1024.0", "UPPER": "~INT64_C(0x7ffffff)",
        "SUFFIX": "",
    },
}  # fmt: skip
"""Words of the texts by dtype. UPPER masks the upper half of a number's digits."""

_ROUND = """static inline {t} irt_vNAME_{n}({t} x) {{
#if defined(__SSE4_1__) || defined(__aarch64__) || defined(__powerpc64__)
  {t} y;
  int k;
  for (k = 0; k < {lanes}; ++k) y[k] = NAMESUFFIX(x[k]);
  return y;
#else
  {t} a = irt_vfabs_{n}(x), y = irt_vnearest_{n}(a);
BODY  y = ({t})(({i})y | (({i})x & ~{int_max}));
  return irt_vselect_{n}(a < LIMIT, y, x);
#endif
}}"""
_NEAREST = "static inline {t} irt_vnearest_{n}({t} a) {{ return (a + LIMIT) - LIMIT; }}"
_ONE_WHERE = "({t})((CONDITION) & ({i})(ONE - ({t}){{0}}))"
_TRUNC = f"  y -= {_ONE_WHERE};\n".replace("CONDITION", "y > a")
_AWAY = f"  y += {_ONE_WHERE};\n"
# Floor and ceil are what is nearest, or one away from zero or towards it.
_BODIES = {
    "nearbyint": "",
    "trunc": _TRUNC,
    "round": _TRUNC + _AWAY.replace("CONDITION", "a - y >= HALF"),
    "floor": _TRUNC + _AWAY.replace("CONDITION", "(y < a) & (x < 0)"),
    "ceil": _TRUNC + _AWAY.replace("CONDITION", "(y < a) & (x > 0)"),
}

_COPYSIGN = """static inline {t} irt_vcopysign_{n}({t} x, {t} y) {{
  return ({t})((({i})x & {int_max}) | (({i})y & ~{int_max}));
}}"""
# The products of a quotient below 2^10 with the halves of the divisor's digits are exact, and so are the differences, as
# the quotient is the nearest one: what is left, at most half of the divisor, has no digit below the divisor's last.
_FMOD = """static inline {t} irt_vfmod_{n}({t} x, {t} y) {{
  {t} a = irt_vfabs_{n}(x), b = irt_vfabs_{n}(y), q = irt_vnearest_{n}(a / b);
  {t} upper = ({t})(({i})b & UPPER), r = (a - q * upper) - q * (b - upper);
  r = irt_vselect_{n}(r < 0, r + b, r);
  r = ({t})(({i})r | (({i})x & ~{int_max}));
  return irt_vany_{n}(~((a < FAR * b) & (b < INFINITY))) ? irt_vfar_fmod_{n}(x, y, r) : r;
}}"""
_FAR_FMOD = """static __attribute__((noinline, unused)) {t} irt_vfar_fmod_{n}({t} x, {t} y, {t} r) {{
  int k;
  for (k = 0; k < {lanes}; ++k) r[k] = fmodSUFFIX(x[k], y[k]);
  return r;
}}"""
_QUESTIONS = {"isnan": "x != x", "isinf": "irt_vfabs_{n}(x) == INFINITY", "isfinite": "irt_vfabs_{n}(x) < INFINITY"}
_QUESTION = "static inline {i} irt_vNAME_{n}({t} x) {{ return ANSWER; }}"


def _texts(dtype: str) -> dict[str, str]:
    texts = {name: _ROUND.replace("BODY", body).replace("NAME", name) for name, body in _BODIES.items()}
    texts |= {name: _QUESTION.replace("NAME", name).replace("ANSWER", a) for name, a in _QUESTIONS.items()}
    texts |= {"nearest": _NEAREST, "copysign": _COPYSIGN, "fmod": _FMOD, "far_fmod": _FAR_FMOD}
    for word, meaning in _KINDS[dtype].items():
        texts = {name: text.replace(word, meaning) for name, text in texts.items()}
    return texts


FUNCTIONS: dict[tuple[str, str], str] = {(name, d): text for d in _KINDS for name, text in _texts(d).items()}

NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_BODIES, ("fabs", "select", "nearest")),
    "fmod": ("fabs", "select", "nearest", "any", "far_fmod"),
    "isinf": ("fabs",),
    "isfinite": ("fabs",),
}

EXACT: tuple[str, ...] = (*_BODIES, *_QUESTIONS, "copysign", "fmod")
