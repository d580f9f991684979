"""Functions of vectors that expressions need, as C text per vector type.

In the texts `{t}` is the float vector type, `{i}` the integer one of the same width, `{n}` what the type adds to a
function's name. The single-precision functions are accurate to 4 units in the last place: after the usual reduction of
the argument, polynomials fitted to the function in the relative error (weighted least squares, made minimax by Lawson's
iteration). They handle infinities, NaN and results that are subnormal.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...tir import dtypes

_SELECT = """static inline {t} irt_vselect_{n}({i} m, {t} a, {t} b) {{
  return ({t})((m & ({i})a) | (~m & ({i})b));
}}"""
# gcc does not find x86's instruction behind the masks; other compilers and processors lose nothing by them.
_EXTREME = """static inline {t} irt_v{name}_{n}({t} a, {t} b) {{
{short}  {i} m = a {sign} b;
  return ({t})((m & ({i})a) | (~m & ({i})b));{end}
}}"""
_X86 = {16: ("__SSE2__", "{}(a, b)"), 32: ("__AVX__", "{}256(a, b)"), 64: ("__AVX512F__", "{}512_mask(a, b, a, -1, 4)")}
"""By the bytes of a vector: the macro that says that the processor has it, and the compiler's name for its instruction."""
_FABS = "static inline {t} irt_vfabs_{n}({t} x) {{ return ({t})(({i})x & {int_max}); }}"
_SQRT = """static inline {t} irt_vsqrt_{n}({t} x) {{
  {t} y;
  int k;
  for (k = 0; k < {lanes}; ++k) y[k] = {sqrt}(x[k]);
  return y;
}}"""
_RSQRT = "static inline {t} irt_vrsqrt_{n}({t} x) {{ return {one} / irt_vsqrt_{n}(x); }}"

# A vector that is used several times: gcc for x86 would read it again for each use.
_LOAD = """static inline {t} irt_vload_{n}(const {e} *p) {{
  {t} v = *(const {t}_u *)p;
#if defined(__x86_64__) && defined(__AVX512F__)
  __asm__("" : "+v"(v));
#elif defined(__x86_64__)
  __asm__("" : "+x"(v));
#endif
  return v;
}}"""

# Every second element, from two vectors of neighbours; the second one ends with the last element that is wanted.
_EVEN = """static inline {t} irt_veven_{n}(const {e} *p) {{
  const {t} a = *(const {t}_u *)p, b = *(const {t}_u *)(p + {lanes} - 1);
#ifdef __clang__
  return __builtin_shufflevector(a, b, {evens});
#else
  return __builtin_shuffle(a, b, ({i}){{{evens}}});
#endif
}}"""
# The first elements only; the count is a literal where this is called, so that the copy is an instruction or two.
_PUT = "static inline void irt_vput_{n}({e} *p, {t} v, size_t count) {{ memcpy(p, &v, count * sizeof *p); }}"


def _horner(x: str, coefficients: Sequence[float]) -> str:
    """The polynomial with these coefficients (of the constant first) at `x`."""
    text = f"{coefficients[-1]!r}f"
    for c in reversed(coefficients[:-1]):
        text = f"({text} * {x} + {c!r}f)"
    return text


_EXP_TERMS = (1.0, 1.0, 0.49999991059303284, 0.16666416823863983, 0.04166824370622635, 0.008375036530196667,
              0.001383656752295792)  # fmt: skip
_TANH_TERMS = (1.0, -0.3333325982093811, 0.13331128656864166, -0.05372109264135361, 0.02059105411171913,
               -0.005660051014274359)  # fmt: skip
_ERF_TERMS = (1.1283791065216064, -0.3761262595653534, 0.1128358542919159, -0.026853812858462334,
              0.005188330076634884, -0.0008010214078240097, 7.853924034861848e-05)  # fmt: skip
_LOG_ERFC_TERMS = (-0.00034151977160945535, -1.127089262008667, -0.6381447911262512, -0.1031067743897438,
                   0.021838072687387466, -0.002947660395875573, 0.00018637940229382366)  # fmt: skip
"""log(1 - erf x) from 1 to 3.95; beyond, erf is 1 in single precision."""

# exp(x) = (2^k · exp r)² where x/2 = k · log 2 + r: k is half as large, so that 2^k is a normal number even where the
# result is subnormal or infinite. The sum `z` has k + 127 in its lowest bits.
_BOUNDED_EXP = (
    """static inline {t} irt_vbounded_exp_{n}({t} x) {{
  {t} z = x * 0.72134752f + 12583039.0f, k = z - 12583039.0f;
  {t} r = (x * 0.5f - k * 0.693359375f) + k * 2.12194440e-4f;
  {t} p = """
    + _horner("r", _EXP_TERMS)
    + """;
  p = p * ({t})(({i})z << 23);
  return p * p;
}}"""
)
_EXP = """static inline {t} irt_vexp_{n}({t} x) {{
  {t} y = irt_vselect_{n}(x > 89.0f, 89.0f - ({t}){{0}}, x);
  return irt_vbounded_exp_{n}(irt_vselect_{n}(x < -104.0f, -104.0f - ({t}){{0}}, y));
}}"""
# 1 / (1 + exp(-x)) as exp(x) / (1 + exp(x)) below 0, where exp(-x) would be infinite although the result is subnormal.
_SIGMOID = """static inline {t} irt_vsigmoid_{n}({t} x) {{
  {t} e = irt_vexp_{n}(-irt_vfabs_{n}(x));
  return irt_vselect_{n}(x < 0.0f, e, 1.0f - ({t}){{0}}) / (1.0f + e);
}}"""
_TANH = (
    """static inline {t} irt_vtanh_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), z = x * x;
  {t} small = x * """
    + _horner("z", _TANH_TERMS)
    + """;
  {t} large = 1.0f - 2.0f / (irt_vexp_{n}(a + a) + 1.0f);
  large = ({t})(({i})large | (({i})x & INT32_MIN));
  return irt_vselect_{n}(a < 0.625f, small, large);
}}"""
)
_ERF = (
    """static inline {t} irt_verf_{n}({t} x) {{
  {t} a = irt_vfabs_{n}(x), z = x * x;
  {t} small = x * """
    + _horner("z", _ERF_TERMS)
    + """;
  {t} c = irt_vselect_{n}(a > 3.95f, 3.95f - ({t}){{0}}, a);
  {t} large = 1.0f - irt_vbounded_exp_{n}("""
    + _horner("c", _LOG_ERFC_TERMS)
    + """);
  large = ({t})(({i})large | (({i})x & INT32_MIN));
  return irt_vselect_{n}(a < 1.0f, small, large);
}}"""
)
_LOG = """static inline {t} irt_vlog_{n}({t} x) {{
  {i} tiny = x < 1.17549435e-38f;
  {t} y = irt_vselect_{n}(tiny, x * 33554432.0f, x);
  {i} bits = ({i})y - 0x3f3504f3;
  {i} e = (bits >> 23) - (tiny & 25);
  {t} m = ({t})((bits & 0x7fffff) + 0x3f3504f3), k = __builtin_convertvector(e, {t});
  {t} f = m - 1.0f, s = f / (2.0f + f), z = s * s, h = 0.5f * f * f;
  {t} r = z * (0.666666667f + z * (0.4f + z * (0.285714286f + z * 0.22222222f)));
  {t} y1 = k * 0.693359375f + (f - (h - (s * (h + r) - k * 2.12194440e-4f)));
  y1 = irt_vselect_{n}(x == INFINITY, x, irt_vselect_{n}(x == 0.0f, -INFINITY - ({t}){{0}}, y1));
  return irt_vselect_{n}(x >= 0.0f, y1, NAN - ({t}){{0}});
}}"""

FUNCTIONS: dict[tuple[str, str], str] = {
    **{("fabs", d): _FABS for d in ("float32", "float64")},
    **{("sqrt", d): _SQRT for d in ("float32", "float64")},
    **{("rsqrt", d): _RSQRT for d in ("float32", "float64")},
    ("bounded_exp", "float32"): _BOUNDED_EXP,
    ("exp", "float32"): _EXP,
    ("sigmoid", "float32"): _SIGMOID,
    ("tanh", "float32"): _TANH,
    ("erf", "float32"): _ERF,
    ("log", "float32"): _LOG,
}

EXACT = ("fabs", "sqrt", "rsqrt")
"""Those that give what the C library's functions give."""

_ON_EVERY_TYPE = {"select": _SELECT, "min": _EXTREME, "max": _EXTREME, "even": _EVEN, "load": _LOAD, "put": _PUT}

_NEEDS = {
    "rsqrt": ("sqrt",),
    "exp": ("select", "bounded_exp"),
    "log": ("select",),
    "sigmoid": ("exp", "fabs", "select"),
    "tanh": ("exp", "fabs"),
    "erf": ("select", "bounded_exp", "fabs"),
}


def define(name: str, dtype: str, lanes: int) -> list[tuple[tuple[str, str, int], str]]:
    """Definitions of the function and of what it calls, by key, in an order in which C accepts them."""
    from .scalars import value_type
    from .vectors import vector_type

    text = _ON_EVERY_TYPE.get(name) or FUNCTIONS[(name, dtype)]
    wide = dtypes.bits(dtype) == 64
    short, end = _instruction(name, dtype, lanes) if text is _EXTREME else ("", "")
    made = text.format(
        name=name,
        sign="<" if name == "min" else ">",
        short=short,
        end=end,
        t=vector_type(dtype, lanes),
        i=vector_type(f"int{dtypes.bits(dtype)}", lanes),
        e=value_type(dtype),
        n=vector_type(dtype, lanes)[4:],
        lanes=lanes,
        int_max="INT64_MAX" if wide else "INT32_MAX",
        sqrt="sqrt" if wide else "sqrtf",
        one="1.0" if wide else "1.0f",
        evens=", ".join(str(2 * k if 2 * k < lanes else 2 * k + 1) for k in range(lanes)),
    )
    needed = [d for n in _NEEDS.get(name, ()) for d in define(n, dtype, lanes)]
    return [*needed, ((name, dtype, lanes), made)]


def _instruction(name: str, dtype: str, lanes: int) -> tuple[str, str]:
    """What stands before and after the masks of a minimum or maximum, where the compiler has a name for the instruction."""
    width = lanes * dtypes.itemsize(dtype)
    if not dtypes.is_float(dtype) or width not in _X86:
        return "", ""
    macro, call = _X86[width]
    called = call.format(f"__builtin_ia32_{name}p{'d' if dtype == 'float64' else 's'}")
    return f"#if defined({macro}) && !defined(__clang__)\n  return {called};\n#else\n", "\n#endif"
