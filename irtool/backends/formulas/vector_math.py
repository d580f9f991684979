"""Functions of vectors that expressions need, as C text per vector type.

In the texts `{t}` is the float vector type, `{i}` the integer type of the same width, `{n}` the suffix of functions' names, `{f}`
the suffix of numbers, `{lanes}` the number of elements. The functions are accurate to 4 units in the last place: after the usual
reduction of the argument they use polynomials fitted in the relative error (weighted least squares, made minimax by Lawson's
iteration). They handle infinities, NaN and subnormal results.

Each family is a module: with a table, `FUNCTIONS`, of texts by name and dtype, or with `written`, which builds the text for a
vector type. The callees of a function, and its vector types, are read from its text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import cache

from ...selection.vectors.types import VectorType, compute_dtype
from ...tir import dtypes
from ...tir.expr import Call
from ..c_types import value_type
from . import (
    vector_channels,
    vector_conversions,
    vector_dots,
    vector_double_logarithms,
    vector_double_powers,
    vector_double_waves,
    vector_doubles,
    vector_exponentials,
    vector_halves,
    vector_lanes,
    vector_logarithms,
    vector_matrices,
    vector_places,
    vector_power_tables,
    vector_powers,
    vector_rounding,
    vector_shifts,
    vector_squares,
    vector_tables,
    vector_trigonometry,
)
from .vector_types import find_types, read_type, vector_type

_SELECT = """IRT_INLINE {t} irt_vselect_{n}({i} m, {t} a, {t} b) {{
  return ({t})((m & ({i})a) | (~m & ({i})b));
}}"""
# gcc does not find x86's instruction behind the masks; other compilers and processors lose nothing by them.
_EXTREME = """IRT_INLINE {t} irt_v{name}_{n}({t} a, {t} b) {{
{short}  {i} m = a {sign} b;
  return ({t})((m & ({i})a) | (~m & ({i})b));{end}
}}"""
# x86's instruction gives the second operand where either is NaN: the first one has to be kept.
_NAN_EXTREME = """IRT_INLINE {t} irt_v{name}_{n}({t} a, {t} b) {{
{short}  {i} m = (a {sign} b) | (a != a);
  return ({t})((m & ({i})a) | (~m & ({i})b));{end}
}}"""
_X86 = {
    16: ("__SSE2__", "{}(a, b)"),
    32: ("__AVX__", "{}256(a, b)"),
    64: ("__AVX512F__", "{}512_mask(a, b, a, {every}, 4)"),
}
"""By the bytes of a vector: the macro of processors that have it, and the compiler's name for its instruction."""
_HELIUM_EXTREME = """#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__)
  __asm__("{operation} %q0, %q0, %q1" : "+w"(a) : "w"(b));
  return a;
#else
"""
"""Minima and maxima of integers in 16 bytes: gcc compares and selects."""
_KEEPING = {
    16: ("__SSE4_1__", "__builtin_ia32_blendvp{letter}({}, a, ({t})(a != a))"),
    32: ("__AVX__", "__builtin_ia32_blendvp{letter}256({}, a, ({t})(a != a))"),
    64: (
        "__AVX512F__",
        "__builtin_ia32_{short}p{letter}512_mask(a, b, a, {mask}__builtin_ia32_cmpp{letter}512_mask(a, a, 7, {lanes}, 4), 4)",
    ),
}
"""The same for `a` if it is NaN; the first placeholder is for the instruction above."""
_MASKS = {
    "float32": {"every": "-1", "mask": "(short)", "lanes": "0xffff"},
    "float64": {"every": "0xff", "mask": "", "lanes": "0xff"},
}
"""For vectors of 64 bytes: all lanes, for minima and maxima; a cast of a comparison's mask to theirs; all lanes, for comparisons.

gcc's types of masks differ: some are `short`, others `unsigned short` or `unsigned char`.
"""
_FABS = "IRT_INLINE {t} irt_vfabs_{n}({t} x) {{ return ({t})(({i})x & {int_max}); }}"
_SQRT = """IRT_INLINE {t} irt_vsqrt_{n}({t} x) {{
  {t} y;
  int k;
  for (k = 0; k < {lanes}; ++k) y[k] = sqrt{f}(x[k]);
  return y;
}}"""
_RSQRT = "IRT_INLINE {t} irt_vrsqrt_{n}({t} x) {{ return 1.0{f} / irt_vsqrt_{n}(x); }}"

# A vector that is used several times: gcc for x86 would read it again for each use.
_LOAD = """IRT_INLINE {t} irt_vload_{n}(const {e} *p) {{
  {t} v = *(const {t}_u *)p;
#if defined(__x86_64__) && defined(__AVX512F__)
  __asm__("" : "+v"(v));
#elif defined(__x86_64__)
  __asm__("" : "+x"(v));
#endif
  return v;
}}"""

# Every second element, from two vectors of neighbours; the second one ends with the last element that is wanted.
_EVEN = """IRT_INLINE {t} irt_veven_{n}(const {e} *p) {{
  const {t} a = *(const {t}_u *)p, b = *(const {t}_u *)(p + {lanes} - 1);
#ifdef __clang__
  return __builtin_shufflevector(a, b, {evens});
{permuted}#else
  return __builtin_shuffle(a, b, ({i}){{{evens}}});
#endif
}}"""
# gcc makes two permutations across halves and a blend of that shuffle, whose masks take two registers from the sums of a tile.
_EVEN_X86 = """#elif defined(__AVX2__)
  typedef float floats __attribute__((vector_size(32)));
  typedef double pairs __attribute__((vector_size(32)));
  return ({t})__builtin_ia32_permdf256((pairs)__builtin_ia32_shufps256((floats)a, (floats)b, 0xd8), 0xd8);
"""
# Every third element, from three vectors; the last one ends with the last element that is wanted.
_THIRD = """IRT_INLINE {t} irt_vthird_{n}(const {e} *p) {{
  const {t} a = *(const {t}_u *)p, b = *(const {t}_u *)(p + {lanes}), c = *(const {t}_u *)(p + 2 * {lanes} - 2);
#ifdef __clang__
  const {t} d = __builtin_shufflevector(a, b, {thirds});
  return __builtin_shufflevector(d, c, {rest});
#else
  const {t} d = __builtin_shuffle(a, b, ({i}){{{thirds}}});
  return __builtin_shuffle(d, c, ({i}){{{rest}}});
#endif
}}"""
# Of a NaN, NaN.
_CLAMP = """IRT_INLINE {t} irt_vclamp_{n}({t} x, {e} least, {e} most) {{
  return irt_vmax_{n}(least - ({t}){{0}}, irt_vmin_{n}(most - ({t}){{0}}, x));
}}"""
# The first elements only; the count is a literal where this is called, so that the copy is an instruction or two.
_PUT = "IRT_INLINE void irt_vput_{n}({e} *p, {t} v, size_t count) {{ memcpy(p, &v, count * sizeof *p); }}"

_FAMILIES = (
    vector_conversions,
    vector_double_logarithms,
    vector_double_powers,
    vector_double_waves,
    vector_doubles,
    vector_exponentials,
    vector_lanes,
    vector_logarithms,
    vector_powers,
    vector_rounding,
    vector_shifts,
    vector_trigonometry,
)

_WRITTEN = (
    vector_squares.written,
    vector_places.written,
    vector_channels.written,
    vector_dots.written,
    vector_halves.written,
    vector_matrices.written,
    vector_power_tables.written,
    vector_tables.written,
)
"""Functions of families whose texts depend on the vector type: the text of a function; empty for others."""

FUNCTIONS: dict[tuple[str, str], str] = {
    **{("fabs", d): _FABS for d in ("float32", "float64")},
    **{("sqrt", d): _SQRT for d in ("float32", "float64")},
    **{("rsqrt", d): _RSQRT for d in ("float32", "float64")},
    **{key: text for family in _FAMILIES for key, text in family.FUNCTIONS.items()},
}

EXACT = frozenset(
    {"fabs", "sqrt", "rsqrt", *vector_rounding.EXACT}.union(
        name for family in (vector_conversions, vector_shifts) for name, _ in family.FUNCTIONS
    )
)
"""Functions with the results of the C library, which `--math=strict` uses as well."""

_ON_EVERY_TYPE = {
    "select": _SELECT,
    "min": _EXTREME,
    "max": _EXTREME,
    "minimum": _NAN_EXTREME,
    "maximum": _NAN_EXTREME,
    "clamp": _CLAMP,
    "even": _EVEN,
    "third": _THIRD,
    "load": _LOAD,
    "put": _PUT,
}


def function_for(call: Call, strict: bool) -> tuple[str, tuple[int, ...]] | None:
    """The function of vectors that computes a call, and the numbers of the arguments that it takes; None without one. If
    `strict`, only functions with the C library's results."""
    dtype = compute_dtype(call.args[0].dtype)
    if (call.name, dtype) not in FUNCTIONS or (strict and call.name not in EXACT):
        return None
    name, taken = vector_powers.cheapest(call)
    return (name, taken) if (name, dtype) in FUNCTIONS else (call.name, tuple(range(len(call.args))))


def c_name(name: str, dtype: str, lanes: int) -> str:
    """The name of the function in C: `irt_vexp_f32x16`."""
    return f"irt_v{name}_{vector_type(dtype, lanes)[4:]}"


@cache
def define(name: str, dtype: str, lanes: int) -> Sequence[tuple[tuple[str, str, int], str]]:
    """Definitions of the function and of its callees, by key, in an order that C accepts."""
    text = _text(name, dtype, lanes)
    called = {(f, *read_type(t)) for f, t in _CALL.findall(text)} - {(name, dtype, lanes)}
    return [*(d for function in sorted(called) for d in define(*function)), ((name, dtype, lanes), text)]


@cache
def types(name: str, dtype: str, lanes: int) -> Set[VectorType]:
    """The vector types of the function and of its callees."""
    return {t for _, text in define(name, dtype, lanes) for t in find_types(text)}


_CALL = re.compile(r"\birt_v(\w+?)_([fiu]\d+x\d+)\b")
"""The name of a function of vectors: its own name, and its type."""


def _text(name: str, dtype: str, lanes: int) -> str:
    """The definition of a function."""
    own = VectorType(dtype, lanes)
    written = next(filter(None, (text(name, own) for text in _WRITTEN)), "")
    text = written or _ON_EVERY_TYPE.get(name) or FUNCTIONS[(name, dtype)]
    wide = dtypes.bits(dtype) == 64
    short, end = _instruction(name, dtype, lanes) if text in (_EXTREME, _NAN_EXTREME) else ("", "")
    return text.format(
        name=name,
        sign="<" if name in ("min", "minimum") else ">",
        short=short,
        end=end,
        t=vector_type(dtype, lanes),
        i=vector_type(f"int{dtypes.bits(dtype)}", lanes),
        e=value_type(dtype),
        n=vector_type(dtype, lanes)[4:],
        lanes=lanes,
        permuted=_EVEN_X86.format(t=vector_type(dtype, lanes)) if dtypes.bits(dtype) == 32 and lanes == 8 else "",
        int_max="INT64_MAX" if wide else "INT32_MAX",
        f="" if wide else "f",
        evens=", ".join(str(2 * k if 2 * k < lanes else 2 * k + 1) for k in range(lanes)),
        thirds=", ".join(str(3 * k if 3 * k < 2 * lanes else 0) for k in range(lanes)),
        rest=", ".join(str(k if 3 * k < 2 * lanes else 3 * k - lanes + 2) for k in range(lanes)),
    )


def _instruction(name: str, dtype: str, lanes: int) -> tuple[str, str]:
    """The text before and after the masks of a minimum or maximum, if the compiler has a name for the instruction."""
    width = lanes * dtypes.itemsize(dtype)
    if not dtypes.is_float(dtype) and width == 16 and dtypes.bits(dtype) < 64:
        operation = f"v{name[:3]}.{'u' if dtypes.is_unsigned(dtype) else 's'}{dtypes.bits(dtype)}"
        return _HELIUM_EXTREME.format(operation=operation), "\n#endif"
    if not dtypes.is_float(dtype) or width not in _X86:
        return "", ""
    macro, call = _X86[width]
    letter = "d" if dtype == "float64" else "s"
    called = call.format(f"__builtin_ia32_{name[:3]}p{letter}", **_MASKS[dtype])
    if name in ("minimum", "maximum"):
        macro, called = (
            _KEEPING[width][0],
            _KEEPING[width][1].format(
                called, short=name[:3], letter=letter, t=vector_type(dtype, lanes), **_MASKS[dtype]
            ),
        )
    short = f"#if defined({macro}) && !defined(__clang__)\n  return {called};\n"
    if width == 16 and name in ("min", "max"):
        # Of relaxed instructions, compilers choose those that give either operand where one is NaN.
        short += (
            f"#elif defined(__wasm_simd128__)\n  return __builtin_wasm_p{name}_f{dtypes.bits(dtype)}x{lanes}(b, a);\n"
        )
    return f"{short}#else\n", "\n#endif"
