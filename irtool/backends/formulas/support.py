"""Small C functions that emitted expressions call. A program includes only those that it uses, each after its callees."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from ...tir import dtypes
from ...tir.int8_dot import DOTS, LONG_DOTS, PACKS
from ..c_types import value_type
from .matrix_tiles import add, add_in_vectors, ask_for_tiles, clear, store
from .runs import SUMS, bytes_at, dot_of, sum_of_bytes
from .templates import fill
from .words import PAIRS, WIDE, WORDS_AT, dot_of_long_words, dot_of_words, half_of, pack_of


class Helper(NamedTuple):
    """A support function: its name, and its dtypes."""

    kind: str
    dtypes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name in C: `irt_floordiv_int32`, `irt_float32_to_int8`."""
        if self.kind == "to":
            return f"irt_{'_to_'.join(self.dtypes)}"
        return "_".join(["irt", self.kind, *self.dtypes])


KEEP_BRANCHES = Helper("keep_branches")
"""An attribute of functions that gcc must not vectorize."""
KEEP_READS = Helper("keep_reads")
"""An attribute of functions in which gcc must not move reads away from their uses."""
KEEP_APART = Helper("keep_apart")
"""An attribute of functions that must not be inlined."""
PREFETCH = Helper("prefetch")
HOLD = Helper("hold")
"""A statement behind the declaration of a vector that the compiler must keep in a register."""
READ_AGAIN = Helper("read_again")
"""A statement behind which the compiler must read from memory again."""
WRITE_OUT = Helper("write_out")
"""A pragma before a loop that the compiler must unroll by a number of steps."""
KEEP_LOOP = Helper("keep_loop")
"""A pragma before a loop that the compiler must not unroll."""
END_STREAM = Helper("end_stream")
"""A barrier behind stores past the caches, which makes them visible to others."""
TILES = Helper("tiles")
"""The definitions by which programs with matrix tiles ask for these."""
TILES_BEGUN, TILES_ENDED = Helper("begin_tiles"), Helper("end_tiles")
"""The functions that configure the registers of tiles, and release them."""
CLEAR_TILES, STORE_TILES, ADD_TILES, ADD_VECTORS = "clear_tiles", "store_tiles", "add_tiles", "add_vectors"
"""The functions of blocks of sums in matrix tiles (see `matrix_tiles`); helpers of these kinds have, in place of dtypes, the kind
of the operands and the shape of the block."""
THREAD_NUMBER = Helper("thread_number")
"""The number of the current thread, in a parallel region of OpenMP; 0 elsewhere."""
FROM_BITS = {"float16": Helper("h2f"), "bfloat16": Helper("b2f")}
"""The conversion of a stored 16-bit float's bits to single precision."""
TO_BITS = {"float16": Helper("f2h"), "bfloat16": Helper("f2b")}
"""The bits of the nearest 16-bit float."""
WORD_AT = {
    dtype: Helper("word_at", (str(16 if dtype == "bfloat16" else 8),)) for dtype in ("bfloat16", "int8", "uint8")
}
"""The load of a word of numbers, by the dtype of the numbers."""
LONG_WORD_AT = Helper("word_at", ("long",))
"""The load of a word of eight bytes."""

INLINE = (
    "/* Some of these functions are used with vectors only, some without. */",
    "#ifdef __GNUC__",
    "#define IRT_INLINE static inline __attribute__((unused))",
    "#else",
    "#define IRT_INLINE static inline",
    "#endif",
    "",
)
"""The definition of the macro with which functions begin."""

# The compiler does not see the sum behind the product, so it makes no multiply-add.
_PRODUCT = """IRT_INLINE $c irt_product_$dtype($c a, $c b) {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
  $c y = a * b;
#ifdef __x86_64__
  __asm__("" : "+x"(y));
#else
  __asm__("" : "+w"(y));
#endif
  return y;
#else
  volatile $c y = a * b;
  return y;
#endif
}"""
_FIXED: dict[Helper, str] = {
    # gcc 12 turns conditional reads of short inner loops into masked loads and mixes up their masks (-O3 with AVX2).
    KEEP_BRANCHES: """
#if defined(__GNUC__) && !defined(__clang__)
#define irt_keep_branches __attribute__((noinline, optimize("no-tree-loop-if-convert")))
#else
#define irt_keep_branches
#endif""",
    # If a function calls another one once, gcc keeps the callee's constants in registers throughout the caller, and its sums in memory.
    KEEP_APART: """
#ifdef __GNUC__
#define irt_keep_apart __attribute__((noinline))
#else
#define irt_keep_apart
#endif""",
    # gcc loads more ahead than registers hold: global common subexpression elimination and scheduling before register allocation do so
    # for several unrolled steps, predictive commoning for the next steps of a loop.
    KEEP_READS: """
#if defined(__GNUC__) && !defined(__clang__)
#define irt_keep_reads __attribute__((noinline, optimize("no-gcse", "no-predictive-commoning", "no-schedule-insns")))
#else
#define irt_keep_reads
#endif""",
    PREFETCH: """
#ifdef __GNUC__
#define irt_prefetch(place, n) __builtin_prefetch((const void *)((uintptr_t)(place) + (uintptr_t)(n) * sizeof *(place)))
#else
#define irt_prefetch(place, n) ((void)(place))
#endif""",
    THREAD_NUMBER: """
#ifdef _OPENMP
#include <omp.h>
#define irt_thread_number() omp_get_thread_num()
#else
#define irt_thread_number() 0
#endif""",
    # These stores are weakly ordered.
    END_STREAM: """
#if defined(__AVX512F__) && defined(__GNUC__)
#define irt_end_stream() __builtin_ia32_sfence()
#else
#define irt_end_stream() ((void)0)
#endif""",
    # gcc 12, tuned for Zen, gives each multiply-add an operand in memory where a vector is used up to four times: as many reads as products.
    HOLD: """
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX__)
#define irt_hold(v) __asm__("" : "+v"(v))
#else
#define irt_hold(v) ((void)(v))
#endif""",
    # gcc 12 moves what the epilogue reads, such as a bias, in front of the loop over tiles, and then keeps weights on the stack for want of
    # registers: ViT takes 1.08 of the time.
    READ_AGAIN: """
#if defined(__GNUC__) && !defined(__clang__)
#define irt_read_again() __asm__ __volatile__("" ::: "memory")
#else
#define irt_read_again() ((void)0)
#endif""",
    WRITE_OUT: """
#if defined(__clang__)
#define irt_write_out(steps) _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define irt_pragma(text) _Pragma(#text)
#define irt_write_out(steps) irt_pragma(GCC unroll steps)
#else
#define irt_write_out(steps)
#endif""",
    KEEP_LOOP: """
#if defined(__clang__)
#define irt_keep_loop _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define irt_keep_loop _Pragma("GCC unroll 1")
#else
#define irt_keep_loop
#endif""",
    FROM_BITS["float16"]: """
IRT_INLINE float irt_h2f(uint16_t h) {
  union { uint32_t u; float f; } v;
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) v.u = sign | 0x7f800000u | ((rest & 0x3ffu) << 13);
  else if (rest >= 0x400u) v.u = sign | ((rest << 13) + 0x38000000u);
  else { v.f = (float)rest * 5.9604644775390625e-8f; v.u |= sign; }
  return v.f;
}""",
    TO_BITS["float16"]: """
IRT_INLINE uint16_t irt_f2h(float f) {
  union { float f; uint32_t u; } v;
  uint32_t sign, bits;
  v.f = f;
  sign = (v.u >> 16) & 0x8000u;
  bits = v.u & 0x7fffffffu;
  if (bits > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (bits >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (bits < 0x38800000u) {
    v.u = bits;
    v.f += 0.5f;
    return (uint16_t)(sign | (v.u - 0x3f000000u));
  }
  bits += 0xc8000fffu + ((bits >> 13) & 1u);
  return (uint16_t)(sign | (bits >> 13));
}""",
    FROM_BITS["bfloat16"]: """
IRT_INLINE float irt_b2f(uint16_t b) {
  union { uint32_t u; float f; } v;
  v.u = (uint32_t)b << 16;
  return v.f;
}""",
    TO_BITS["bfloat16"]: """
IRT_INLINE uint16_t irt_f2b(float f) {
  union { float f; uint32_t u; } v;
  v.f = f;
  if ((v.u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((v.u >> 16) | 0x40u);
  return (uint16_t)((v.u + 0x7fffu + ((v.u >> 16) & 1u)) >> 16);
}""",
    **dict.fromkeys((TILES_BEGUN, TILES_ENDED), ""),
    Helper("round", ("float16",)): "IRT_INLINE float irt_round_float16(float x) { return irt_h2f(irt_f2h(x)); }",
    Helper("round", ("bfloat16",)): "IRT_INLINE float irt_round_bfloat16(float x) { return irt_b2f(irt_f2b(x)); }",
    # Where float32 does not hold the number, one of its neighbours with an odd last bit: rounded again, to fewer bits, it is rounded once.
    Helper("odd", ("float64",)): """
IRT_INLINE float irt_odd_float64(double x) {
  union { float f; uint32_t u; } v;
  v.f = (float)x;
  if (x - x == 0.0 && (double)v.f != x) {
    if (fabs((double)v.f) > fabs(x)) --v.u;
    v.u |= 1u;
  }
  return v.f;
}""",
    **{Helper("product", (t,)): fill(_PRODUCT, c=value_type(t), dtype=t) for t in ("float32", "float64")},
    Helper("flushed_exp", ("float32",)): "IRT_INLINE float irt_flushed_exp_float32(float x) {\n"
    "  return x < -87.0f ? 0.0f : expf(x);\n}",
    # exp(x) / (1 + exp(x)) below 0, where exp(-x) would be infinite although the result is subnormal.
    Helper("sigmoid", ("float32",)): "IRT_INLINE float irt_sigmoid_float32(float x) {\n"
    "  float e = expf(-fabsf(x));\n  return (x < 0.0f ? e : 1.0f) / (1.0f + e);\n}",
    Helper("sigmoid", ("float64",)): "IRT_INLINE double irt_sigmoid_float64(double x) {\n"
    "  double e = exp(-fabs(x));\n  return (x < 0.0 ? e : 1.0) / (1.0 + e);\n}",
    **{Helper(name): pack_of(steps) for name, steps in PACKS.items()},
    **{Helper(name): dot_of_long_words(name) for name in LONG_DOTS},
    **{Helper(name): text for name, text in {**PAIRS, **WIDE}.items()},
    **{Helper("word_at", (width,)): text for width, text in WORDS_AT.items()},
}


_CALLS = {
    **{Helper("round", (t,)): (FROM_BITS[t], TO_BITS[t]) for t in TO_BITS},
    **{Helper(name): (Helper(half_of(name)),) for name in LONG_DOTS},
    **{Helper(name): (Helper(dot_of(name)), Helper("bytes")) for name in SUMS},
}


def _division(kind: str, dtype: str) -> str:
    t = value_type(dtype)
    name = f"irt_{kind}_{dtype}"
    signed = not dtypes.is_unsigned(dtype)
    head = f"IRT_INLINE {t} {name}({t} a, {t} b) {{\n"
    # The least value divided by -1 overflows: the quotient wraps to itself.
    guard = (
        f"  if (b == -1) return {'0' if kind in ('floormod', 'truncmod') else f'({t})(0u - (u{t})a)'};\n"
        if signed
        else ""
    )
    zero = "  if (b == 0) return 0;\n"
    if kind == "truncdiv" or (kind == "floordiv" and not signed):
        return head + zero + guard + f"  return ({t})(a / b);\n}}"
    if kind == "truncmod" or (kind == "floormod" and not signed):
        return head + zero + guard + f"  return ({t})(a % b);\n}}"
    if kind == "floordiv":
        return head + zero + guard + f"  return ({t})(a / b - ((a % b != 0) && ((a < 0) != (b < 0))));\n}}"
    return (
        head
        + zero
        + guard
        + f"  {t} r = ({t})(a % b);\n  return ({t})(r != 0 && ((r < 0) != (b < 0)) ? r + b : r);\n}}"
    )


def _extreme(kind: str, dtype: str) -> str:
    t = value_type(dtype)
    sign = "<" if kind in ("min", "minimum") else ">"
    nan = " || a != a" if kind in ("minimum", "maximum") else ""
    return f"IRT_INLINE {t} irt_{kind}_{dtype}({t} a, {t} b) {{ return a {sign} b{nan} ? a : b; }}"


def _left_shift(dtype: str) -> str:
    t, width = value_type(dtype), dtypes.bits(dtype)
    wide = "uint64_t" if width == 64 else "uint32_t"
    below = "" if dtypes.is_unsigned(dtype) else "n < 0 || "
    head = f"IRT_INLINE {t} irt_shl_{dtype}({t} a, {t} n) {{\n"
    return head + f"  return {below}n >= {width} ? 0 : ({t})(({wide})a << n);\n}}"


def _right_shift(dtype: str) -> str:
    t, width = value_type(dtype), dtypes.bits(dtype)
    head = f"IRT_INLINE {t} irt_shr_{dtype}({t} a, {t} n) {{\n"
    if dtypes.is_unsigned(dtype):
        return head + f"  return n >= {width} ? 0 : ({t})(a >> n);\n}}"
    return head + f"  return ({t})(n < 0 || n >= {width} ? (a < 0 ? -1 : 0) : a >> n);\n}}"


def _integer_power(dtype: str) -> str:
    t = value_type(dtype)
    wide = "uint64_t" if dtypes.bits(dtype) == 64 else "uint32_t"
    negative = "" if dtypes.is_unsigned(dtype) else "  if (n < 0) return a == 1 ? 1 : a == -1 ? (n & 1 ? -1 : 1) : 0;\n"
    return (
        f"IRT_INLINE {t} irt_pow_{dtype}({t} a, {t} n) {{\n{negative}"
        f"  {wide} r = 1, x = ({wide})a;\n  for (; n > 0; n = ({t})(n >> 1)) {{ if (n & 1) r *= x; x *= x; }}\n"
        f"  return ({t})r;\n}}"
    )


def _popcount(dtype: str) -> str:
    t, width = value_type(dtype), dtypes.bits(dtype)
    return (
        f"IRT_INLINE {t} irt_popcount_{dtype}({t} a) {{\n  uint64_t x = (uint64_t)a{_mask(width)};\n  int n = 0;\n"
        f"  for (; x; x &= x - 1) ++n;\n  return ({t})n;\n}}"
    )


def _clz(dtype: str) -> str:
    t, width = value_type(dtype), dtypes.bits(dtype)
    return (
        f"IRT_INLINE int32_t irt_clz_{dtype}({t} a) {{\n  uint64_t x = (uint64_t)a{_mask(width)};\n  int32_t n = {width};\n"
        f"  for (; x; x >>= 1) --n;\n  return n;\n}}"
    )


def _mask(width: int) -> str:
    return "" if width == 64 else f" & UINT64_C({(1 << width) - 1})"


_POWERS = {31: "2147483648.0", 63: "9.223372036854776e18"}
"""Powers of two as C writes them."""


def kept_apart(register: str, condition: str = "") -> str:
    """Lines of C that hide an integer `y` converted from a float from gcc for Arm, which replaces the conversions there and back
    by `trunc`, with -0.

    `register`: inline assembly's letter for the register of `y`; `condition`: a further condition for the preprocessor.
    """
    return f'#if defined(__GNUC__) && defined(__aarch64__){condition}\n  __asm__("" : "+{register}"(y));\n#endif\n'


def _to_int(source: str, target: str) -> str:
    """Float to integer without undefined behaviour: out of range and NaN give x86's value, the least one."""
    f, t = value_type(source), value_type(target)
    kind, width = dtypes.parts(target)
    c = "f" if f == "float" else ""
    if kind == "uint" and width == 64:
        return (
            f"IRT_INLINE {t} irt_{source}_to_{target}({f} x) {{\n"
            f"  if (x >= 0 && x < 18446744073709551616.0{c}) return ({t})x;\n"
            f"  return x > -9223372036854775808.0{c} && x < 0 ? ({t})(int64_t)x : UINT64_C(9223372036854775808);\n}}"
        )
    wide = "int64_t" if width > 32 or kind == "uint" else "int32_t"
    bound = 63 if wide == "int64_t" else 31
    least = "INT64_MIN" if wide == "int64_t" else "INT32_MIN"
    limit = f"{_POWERS[bound]}{c}"
    return (
        f"IRT_INLINE {t} irt_{source}_to_{target}({f} x) {{\n"
        f"  {wide} y = x >= -{limit} && x < {limit} ? ({wide})x : {least};\n"
        f"{kept_apart('r')}  return ({t})y;\n}}"
    )


def _reinterpret(source: str, target: str) -> str:
    a, b = value_type(source), value_type(target)
    return (
        f"IRT_INLINE {b} irt_reinterpret_{source}_{target}({a} x) {{\n"
        f"  union {{ {a} a; {b} b; }} v;\n  v.a = x;\n  return v.b;\n}}"
    )


_MAKERS: dict[str, Callable[..., str]] = {
    **dict.fromkeys(("floordiv", "floormod", "truncdiv", "truncmod"), _division),
    **dict.fromkeys(("min", "max", "minimum", "maximum"), _extreme),
    "shl": _left_shift,
    "shr": _right_shift,
    "pow": _integer_power,
    "popcount": _popcount,
    "clz": _clz,
    "reinterpret": _reinterpret,
    "to": _to_int,
    CLEAR_TILES: clear,
    STORE_TILES: store,
    ADD_TILES: add,
    ADD_VECTORS: add_in_vectors,
    TILES.kind: ask_for_tiles,
    "bytes": bytes_at,
    **{name: partial(dot_of_words, name) for name in DOTS},
    **{name: partial(sum_of_bytes, name) for name in SUMS},
}


def define(helper: Helper) -> str:
    """The definition of a support function."""
    fixed = _FIXED.get(helper)
    if fixed is not None:
        return fixed.strip()
    make = _MAKERS[helper.kind]
    text = make(helper.kind, *helper.dtypes) if make in (_division, _extreme) else make(*helper.dtypes)
    return text.strip()


def calls(helper: Helper) -> tuple[Helper, ...]:
    """The support functions that a support function calls."""
    if helper.kind in (CLEAR_TILES, STORE_TILES, ADD_TILES, ADD_VECTORS) or helper in (TILES_BEGUN, TILES_ENDED):
        return (TILES,)
    return _CALLS.get(helper, ())


def definitions(
    helpers: Iterable[Helper],
    write: Callable[[Helper], str] = define,
    callees: Callable[[Helper], tuple[Helper, ...]] = calls,
) -> list[str]:
    """Definitions of the functions and their callees, in an order that C accepts; `write` and `callees` give those of one function."""
    order: dict[Helper, str] = {}
    stack = [(h, False) for h in reversed(list(dict.fromkeys(helpers)))]
    while stack:
        helper, ready = stack.pop()
        if helper in order:
            continue
        if ready:
            order[helper] = write(helper)
            continue
        stack.append((helper, True))
        stack.extend((h, False) for h in callees(helper) if h not in order)
    return list(order.values())
