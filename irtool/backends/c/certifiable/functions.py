"""Support functions in forms that MISRA C:2012 permits: one exit, no cast of a composite expression, no shift of signed numbers, a bound for
each loop. They have the names and the values of those of `formulas.support`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ....tir import dtypes
from ...c_types import value_type
from ...formulas import support
from ...formulas.support import FROM_BITS, TO_BITS, Helper, calls, define
from .expression import BITWISE, LEAST, WRAPPED

_SIGNS = {**{v: k for k, v in WRAPPED.items()}, **{v: k for k, v in BITWISE.items()}}


def definitions(helpers: Iterable[Helper]) -> list[str]:
    """Definitions of the functions and their callees, callees first."""
    return support.definitions(helpers, definition, _callees)


def definition(helper: Helper) -> str:
    """The definition of a support function. Kinds without a form here have one return and no casts in `formulas.support`."""
    make = _FORMS.get(helper.kind)
    if make is not None:
        return make(helper.kind, *helper.dtypes)
    return define(helper).replace("IRT_INLINE ", "static inline ")


def _callees(helper: Helper) -> tuple[Helper, ...]:
    kind = helper.kind
    if kind in ("floordiv", "floormod"):
        return (Helper(f"trunc{kind[5:]}", helper.dtypes),)
    if kind == "pow":
        return (Helper("mul", helper.dtypes),)
    return calls(helper)


def _head(kind: str, result: str, parameters: str) -> str:
    return f"static inline {result} {kind}({parameters}) {{\n"


def _wide(dtype: str) -> str:
    return "uint64_t" if dtypes.bits(dtype) == 64 else "uint32_t"


def _zero(dtype: str) -> str:
    return "0u" if dtypes.is_unsigned(dtype) else "0"


def _by_words(kind: str, dtype: str) -> str:
    """A sum, a product or a bitwise operator, by unsigned words."""
    t, u = value_type(dtype), _wide(dtype)
    head = _head(f"irt_{kind}_{dtype}", t, f"{t} a, {t} b")
    return f"{head}  const {u} bits = ({u})a {_SIGNS[kind]} ({u})b;\n  return ({t})bits;\n}}"


def _extreme(kind: str, dtype: str) -> str:
    t = value_type(dtype)
    sign = "<" if kind in ("min", "minimum") else ">"
    test = f"(a {sign} b) || isnan(a)" if kind in ("minimum", "maximum") else f"a {sign} b"
    return f"{_head(f'irt_{kind}_{dtype}', t, f'{t} a, {t} b')}  return ({test}) ? a : b;\n}}"


def _truncated(kind: str, dtype: str) -> str:
    """A quotient or a remainder towards zero: 0 for a divisor of 0; the least number by -1 is itself, without a remainder."""
    t, signed = value_type(dtype), not dtypes.is_unsigned(dtype)
    sign = "/" if kind == "truncdiv" else "%"
    result = f"a {sign} b"
    lines = [f"  {t} result = {_zero(dtype)};"]
    if signed:
        lines += ["  if (b == -1) {"]
        if kind == "truncdiv":
            u = _wide(dtype)
            lines += [
                f"    const {u} bits = {'UINT64_C(0)' if u == 'uint64_t' else '0u'} - ({u})a;",
                f"    result = ({t})bits;",
            ]
        else:
            lines += ["    result = 0;"]
        lines += ["  } else if (b != 0) {", f"    result = {result};", "  } else {", "    result = 0;", "  }"]
    else:
        lines += ["  if (b != 0u) {", f"    result = {result};", "  }"]
    return _head(f"irt_{kind}_{dtype}", t, f"{t} a, {t} b") + "\n".join([*lines, "  return result;", "}"])


def _floored(kind: str, dtype: str) -> str:
    """A quotient or a remainder towards the least number, from those towards zero."""
    t = value_type(dtype)
    trunc = f"irt_trunc{kind[5:]}_{dtype}"
    head = _head(f"irt_{kind}_{dtype}", t, f"{t} a, {t} b")
    if dtypes.is_unsigned(dtype):
        return f"{head}  return {trunc}(a, b);\n}}"
    if kind == "floormod":
        body = f"  {t} result = {trunc}(a, b);\n  if ((result != 0) && ((result < 0) != (b < 0))) {{\n    result += b;\n  }}\n"
        return f"{head}{body}  return result;\n}}"
    body = (
        f"  {t} result = {trunc}(a, b);\n"
        "  if ((b != 0) && (b != -1) && ((a % b) != 0) && ((a < 0) != (b < 0))) {\n    result -= 1;\n  }\n"
    )
    return f"{head}{body}  return result;\n}}"


def _left_shift(kind: str, dtype: str) -> str:
    t, u, width = value_type(dtype), _wide(dtype), dtypes.bits(dtype)
    test = f"n < {width}u" if dtypes.is_unsigned(dtype) else f"(n >= 0) && (n < {width})"
    return (
        f"{_head(f'irt_shl_{dtype}', t, f'{t} a, {t} n')}  {t} result = {_zero(dtype)};\n  if ({test}) {{\n"
        f"    const {u} bits = ({u})a << ({u})n;\n    result = ({t})bits;\n  }}\n  return result;\n}}"
    )


def _right_shift(kind: str, dtype: str) -> str:
    """Numbers below 0 are shifted as the complement of that of their complement."""
    t, u, width = value_type(dtype), _wide(dtype), dtypes.bits(dtype)
    head = _head(f"irt_shr_{dtype}", t, f"{t} a, {t} n")
    if dtypes.is_unsigned(dtype):
        return (
            f"{head}  {t} result = 0u;\n  if (n < {width}u) {{\n    const {u} bits = ({u})a >> ({u})n;\n    result = ({t})bits;\n"
            "  }\n  return result;\n}"
        )
    return (
        f"{head}  const {u} steps = ((n >= 0) && (n < {width})) ? ({u})n : {width - 1}u;\n  {u} bits = ({u})a;\n"
        "  if (a < 0) {\n    bits = ~(~bits >> steps);\n  } else {\n    bits = bits >> steps;\n  }\n"
        f"  return ({t})bits;\n}}"
    )


def _power(kind: str, dtype: str) -> str:
    t, width = value_type(dtype), dtypes.bits(dtype)
    mul = f"irt_mul_{dtype}"
    one, zero = ("1u", "0u") if dtypes.is_unsigned(dtype) else ("1", "0")
    head = _head(f"irt_pow_{dtype}", t, f"{t} a, {t} n")
    loop = (
        f"  {t} rest = n;\n  {t} x = a;\n  uint32_t k;\n  for (k = 0u; k < {width}u; ++k) /* loop bound: {width} */ {{\n"
        f"    if ((rest % {one.replace('1', '2')}) != {zero}) {{\n      result = {mul}(result, x);\n    }}\n"
        f"    x = {mul}(x, x);\n    rest = rest / {one.replace('1', '2')};\n  }}\n"
    )
    if dtypes.is_unsigned(dtype):
        return f"{head}  {t} result = 1u;\n{loop}  return result;\n}}"
    inner = "\n".join("  " + line for line in loop.rstrip("\n").split("\n"))
    return (
        f"{head}  {t} result = 1;\n  if (n >= 0) {{\n{inner}\n  }} else if (a == -1) {{\n    if ((n % 2) != 0) {{\n      result = -1;\n    }}\n"
        f"  }} else if (a != 1) {{\n    result = 0;\n  }} else {{\n    result = 1;\n  }}\n  return result;\n}}"
    )


def _count(kind: str, dtype: str) -> str:
    """The number of ones, or of zeros in front."""
    t, width = value_type(dtype), dtypes.bits(dtype)
    result = "int32_t" if kind == "clz" else t
    one = "1u" if result.startswith("u") else "1"
    mask = "" if width == 64 else f" & UINT64_C({(1 << width) - 1})"
    first = f"{width}" if kind == "clz" else _zero(dtype)
    step = (
        f"    if (x != UINT64_C(0)) {{\n      n -= {one};\n    }}\n"
        if kind == "clz"
        else f"    if ((x & UINT64_C(1)) != UINT64_C(0)) {{\n      n += {one};\n    }}\n"
    )
    return (
        f"{_head(f'irt_{kind}_{dtype}', result, f'{t} a')}  uint64_t x = (uint64_t)a{mask};\n  {result} n = {first};\n  uint32_t k;\n"
        f"  for (k = 0u; k < {width}u; ++k) /* loop bound: {width} */ {{\n{step}    x = x >> 1u;\n  }}\n  return n;\n}}"
    )


def _to_integer(kind: str, source: str, target: str) -> str:
    """The conversion of a float, with the least number of the wide type for NaN and numbers out of range."""
    f, t = value_type(source), value_type(target)
    sort, width = dtypes.parts(target)
    c = "f" if f == "float" else ""
    head = _head(f"irt_{source}_to_{target}", t, f"{f} x")
    if sort == "uint" and width == 64:
        return (
            f"{head}  {t} result = 9223372036854775808u;\n"
            f"  if ((x >= 0.0{c}) && (x < 18446744073709551616.0{c})) {{\n    result = ({t})x;\n"
            f"  }} else if ((x > -9223372036854775808.0{c}) && (x < 0.0{c})) {{\n    const int64_t y = (int64_t)x;\n    result = ({t})y;\n"
            f"  }} else {{\n    result = 9223372036854775808u;\n  }}\n  return result;\n}}"
        )
    wide, least, limit = "int32_t", LEAST["int32"], f"2147483648.0{c}"
    if width > 32 or sort == "uint":
        wide, least, limit = "int64_t", LEAST["int64"], f"9223372036854775808.0{c}"
    return f"{head}  {wide} y = {least};\n  if ((x >= -{limit}) && (x < {limit})) {{\n    y = ({wide})x;\n  }}\n  return ({t})y;\n}}"


def _reinterpreted(kind: str, source: str, target: str) -> str:
    a, b = value_type(source), value_type(target)
    head = _head(f"irt_reinterpret_{source}_{target}", b, f"{a} x")
    return f"{head}  union {{ {a} a; {b} b; }} v;\n  v.a = x;\n  return v.b;\n}}"


def _flushed(kind: str, dtype: str) -> str:
    return f"{_head(f'irt_flushed_exp_{dtype}', 'float', 'float x')}  return (x < -87.0f) ? 0.0f : expf(x);\n}}"


def _sigmoid(kind: str, dtype: str) -> str:
    t, c = value_type(dtype), "f" if dtype == "float32" else ""
    return (
        f"{_head(f'irt_sigmoid_{dtype}', t, f'{t} x')}  const {t} e = exp{c}(-fabs{c}(x));\n"
        f"  return ((x < 0.0{c}) ? e : 1.0{c}) / (1.0{c} + e);\n}}"
    )


_HALF_FROM = """static inline float irt_h2f(uint16_t h) {
  union { uint32_t u; float f; } v;
  const uint32_t sign = ((uint32_t)h & 0x8000u) << 16u;
  const uint32_t rest = (uint32_t)h & 0x7fffu;
  if (rest >= 0x7c00u) {
    v.u = sign | 0x7f800000u | ((rest & 0x3ffu) << 13u);
  } else if (rest >= 0x400u) {
    v.u = sign | ((rest << 13u) + 0x38000000u);
  } else {
    v.f = (float)rest * 5.9604644775390625e-8f;
    v.u |= sign;
  }
  return v.f;
}"""
_HALF_TO = """static inline uint16_t irt_f2h(float f) {
  union { float f; uint32_t u; } v;
  uint32_t sign;
  uint32_t bits;
  v.f = f;
  sign = (v.u >> 16u) & 0x8000u;
  bits = v.u & 0x7fffffffu;
  if (bits > 0x7f800000u) {
    bits = 0x7e00u;
  } else if (bits >= 0x477ff000u) {
    bits = 0x7c00u;
  } else if (bits < 0x38800000u) {
    v.u = bits;
    v.f += 0.5f;
    bits = v.u - 0x3f000000u;
  } else {
    bits += 0xc8000fffu + ((bits >> 13u) & 1u);
    bits = bits >> 13u;
  }
  bits = sign | bits;
  return (uint16_t)bits;
}"""
_BFLOAT_FROM = """static inline float irt_b2f(uint16_t b) {
  union { uint32_t u; float f; } v;
  v.u = (uint32_t)b << 16u;
  return v.f;
}"""
_BFLOAT_TO = """static inline uint16_t irt_f2b(float f) {
  union { float f; uint32_t u; } v;
  uint32_t bits;
  v.f = f;
  if ((v.u & 0x7fffffffu) > 0x7f800000u) {
    bits = (v.u >> 16u) | 0x40u;
  } else {
    bits = (v.u + 0x7fffu + ((v.u >> 16u) & 1u)) >> 16u;
  }
  return (uint16_t)bits;
}"""
_ODD = """static inline float irt_odd_float64(double x) {
  union { float f; uint32_t u; } v;
  const double difference = x - x;
  v.f = (float)x;
  if ((difference == 0.0) && ((double)v.f != x)) {
    if (fabs((double)v.f) > fabs(x)) {
      v.u -= 1u;
    }
    v.u |= 1u;
  }
  return v.f;
}"""

_FORMS: dict[str, Callable[..., str]] = {
    **dict.fromkeys(_SIGNS, _by_words),
    **dict.fromkeys(("min", "max", "minimum", "maximum"), _extreme),
    **dict.fromkeys(("truncdiv", "truncmod"), _truncated),
    **dict.fromkeys(("floordiv", "floormod"), _floored),
    "shl": _left_shift,
    "shr": _right_shift,
    "pow": _power,
    **dict.fromkeys(("popcount", "clz"), _count),
    "to": _to_integer,
    "reinterpret": _reinterpreted,
    "flushed_exp": _flushed,
    "sigmoid": _sigmoid,
    FROM_BITS["float16"].kind: lambda kind: _HALF_FROM,
    TO_BITS["float16"].kind: lambda kind: _HALF_TO,
    FROM_BITS["bfloat16"].kind: lambda kind: _BFLOAT_FROM,
    TO_BITS["bfloat16"].kind: lambda kind: _BFLOAT_TO,
    "odd": lambda kind, dtype: _ODD,
}
