"""The functions of libm that intrinsics become, by the intrinsic's name."""

from __future__ import annotations

LIBM = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "erf": "erf", "erfc": "erfc", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos",
    "atan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "asinh": "asinh", "acosh": "acosh",
    "atanh": "atanh", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "round", "nearbyint": "nearbyint",
    "fabs": "fabs", "pow": "pow", "atan2": "atan2", "fmod": "fmod", "hypot": "hypot", "copysign": "copysign",
    "nextafter": "nextafter",
}  # fmt: skip
