"""Logarithms of vectors to the bases e, 2 and 10, the same texts for both precisions, as C text (see `vector_math` for the placeholders).

Most vectors have positive normal numbers only: 2^k · m, where a family's `log_normal` gives log m and k. Other vectors are
recomputed outside of the loop, by code for subnormal numbers, zeros, infinities, NaN and numbers below 0.
"""

from __future__ import annotations

from .templates import fill

_PARTS = """IRT_INLINE {t} irt_vlog_parts_{n}({t} x, {t} *k) {{
  {i} tiny = x < $least;
  {t} l = irt_vlog_normal_{n}(irt_vselect_{n}(tiny, x * $up, x), k);
  *k -= ({t})(tiny & ({i})($down - ({t}){{0}}));
  return l;
}}"""
# Logarithms of numbers without parts: 0, infinity, negative numbers, NaN.
_ENDS = """IRT_INLINE {t} irt_vlog_ends_{n}({t} x, {t} y) {{
  y = irt_vselect_{n}(x == INFINITY, x, irt_vselect_{n}(x == 0.0{f}, -INFINITY - ({t}){{0}}, y));
  return irt_vselect_{n}(x >= 0.0{f}, y, NAN - ({t}){{0}});
}}"""
# Whether a lane is no positive normal number. gcc 12 makes more than a comparison of it.
_UNUSUAL = """IRT_INLINE int irt_vunusual_{n}({t} x) {{
  typedef uint${bits}_t unsigned_bits __attribute__((vector_size(sizeof({t}))));
  {i} above = ({i})((unsigned_bits)x - $first), count = $count - ({i}){{0}};
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__) && {lanes} == $widest
  typedef $all all __attribute__((vector_size(64)));
  return __builtin_ia32_ucmp${letter}512_mask((all)above, (all)count, 5, $every) != 0;
#else
  return irt_vany_{n}(({i})((unsigned_bits)above >= (unsigned_bits)count));
#endif
}}"""
_FAR = """static __attribute__((noinline, unused)) {t} irt_vfar_${name}_{n}({t} x) {{
  {t} k, l = irt_vlog_parts_{n}(x, &k);
  return irt_vlog_ends_{n}(x, $sum);
}}"""
_LOG = """IRT_INLINE {t} irt_v${name}_{n}({t} x) {{
  {t} k, l = irt_vlog_normal_{n}(x, &k), y = $sum;
  if (irt_vunusual_{n}(x)) y = irt_vfar_${name}_{n}(x);
  return y;
}}"""

_SUMS = {
    "float32": {
        "log": "k * 0.693359375f + (l - k * 2.12194440e-4f)",
        "log2": "k + l * 1.44269504f",
        "log10": "k * 0.301025390625f + (l * 0.434294482f + k * 4.60503898e-6f)",
    },
    "float64": {
        "log": "k * 6.93147180369123816490e-01 + (l + k * 1.90821492927058770002e-10)",
        "log2": "k + l * 1.44269504088896340736",
        "log10": "k * 0.3010299955494702 + (l * 0.43429448190325182765 + k * 1.1451100898021838e-10)",
    },
}
"""Sums of k and log m. The first parts of log 2 and log10 2 are short, so that their products with k are exact."""
_WORDS = {
    "float32": {
        "least": "1.17549435e-38f",
        "up": "33554432.0f",
        "down": "25.0f",
        "bits": "32",
        "first": "0x00800000u",
        "count": "0x7f000000",
        "widest": "16",
        "all": "int",
        "letter": "d",
        "every": "0xffff",
    },
    "float64": {
        "least": "2.2250738585072014e-308",
        "up": "18014398509481984.0",
        "down": "54.0",
        "bits": "64",
        "first": "0x0010000000000000u",
        "count": "0x7fe0000000000000",
        "widest": "8",
        "all": "long long",
        "letter": "q",
        "every": "0xff",
    },
}

NAMES = ("log", "log2", "log10")


def bases(dtype: str) -> dict[tuple[str, str], str]:
    """The functions of a precision by name and dtype."""
    words, sums = _WORDS[dtype], _SUMS[dtype]
    texts = {"log_parts": _PARTS, "log_ends": _ENDS, "unusual": _UNUSUAL}
    functions = {name: fill(text, **words) for name, text in texts.items()}
    for name in NAMES:
        functions[f"far_{name}"] = fill(_FAR, name=name, sum=sums[name])
        functions[name] = fill(_LOG, name=name, sum=sums[name])
    return {(name, dtype): text for name, text in functions.items()}
