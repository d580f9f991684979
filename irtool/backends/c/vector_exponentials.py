"""Single-precision exponentials and logarithms of vectors: a family of `vector_math`, which says what the texts may name."""

from __future__ import annotations

from .polynomials import horner

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
    + horner("r", _EXP_TERMS)
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
    + horner("z", _TANH_TERMS)
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
    + horner("z", _ERF_TERMS)
    + """;
  {t} c = irt_vselect_{n}(a > 3.95f, 3.95f - ({t}){{0}}, a);
  {t} large = 1.0f - irt_vbounded_exp_{n}("""
    + horner("c", _LOG_ERFC_TERMS)
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
    ("bounded_exp", "float32"): _BOUNDED_EXP,
    ("exp", "float32"): _EXP,
    ("sigmoid", "float32"): _SIGMOID,
    ("tanh", "float32"): _TANH,
    ("erf", "float32"): _ERF,
    ("log", "float32"): _LOG,
}

NEEDS: dict[str, tuple[str, ...]] = {
    "exp": ("select", "bounded_exp"),
    "log": ("select",),
    "sigmoid": ("exp", "fabs", "select"),
    "tanh": ("exp", "fabs", "select"),
    "erf": ("select", "bounded_exp", "fabs"),
}

EXACT: tuple[str, ...] = ()
