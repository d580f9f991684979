"""Operators on single elements: streams of a million of them, broadcasting, choices and conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..single import Single, between
from .convolutions import FRAME
from .statistics import MATRIX

_WHOLE = between(-1000, 1000, "int32")


def _unary(name: str, call: Callable[..., Any], body: str = "") -> Single:
    """A million elements, all positive where the operator needs that."""
    return Single(f"{name} 1M", (MATRIX,), body or f"{name}(%a)", call)


ELEMENTS = (
    _unary("exp", lambda t, f, a: a.exp()),
    _unary("log", lambda t, f, a: a.abs().log(), "log(abs(%a))"),
    _unary("log2", lambda t, f, a: a.abs().log2(), "log2(abs(%a))"),
    _unary("sqrt", lambda t, f, a: a.abs().sqrt(), "sqrt(abs(%a))"),
    _unary("rsqrt", lambda t, f, a: a.abs().rsqrt(), "rsqrt(abs(%a))"),
    _unary("sigmoid", lambda t, f, a: a.sigmoid()),
    _unary("tanh", lambda t, f, a: a.tanh()),
    _unary("erf", lambda t, f, a: a.erf()),
    _unary("sin", lambda t, f, a: a.sin()),
    _unary("cos", lambda t, f, a: a.cos()),
    _unary("tan", lambda t, f, a: a.tan()),
    _unary("atan", lambda t, f, a: a.atan()),
    _unary("sinh", lambda t, f, a: a.sinh()),
    _unary("asinh", lambda t, f, a: a.asinh()),
    _unary("floor", lambda t, f, a: a.floor()),
    _unary("round", lambda t, f, a: a.round(), "round(%a)"),
    _unary("relu", lambda t, f, a: a.relu(), "nn.relu(%a)"),
    _unary("leaky_relu", lambda t, f, a: f.leaky_relu(a, 0.1), "nn.leaky_relu(%a, alpha=0.1f)"),
    _unary("hardswish", lambda t, f, a: f.hardswish(a)),
    _unary("silu", lambda t, f, a: f.silu(a), "multiply(%a, sigmoid(%a))"),
    _unary("gelu", lambda t, f, a: f.gelu(a), "multiply(multiply(%a, 0.5f), add(erf(multiply(%a, 0.70710678f)), 1f))"),
    _unary("softplus", lambda t, f, a: f.softplus(a), "log(add(exp(%a), 1f))"),
    _unary("clip", lambda t, f, a: a.clamp(-1, 1), "clip(%a, a_min=-1f, a_max=1f)"),
    _unary("isnan", lambda t, f, a: a.isnan()),
    _unary("to float16", lambda t, f, a: a.half(), 'cast(%a, dtype="float16")'),
    _unary("to int32", lambda t, f, a: a.int(), 'cast(%a, dtype="int32")'),
    Single("add 1M", (MATRIX, MATRIX), "add(%a, %b)", lambda t, f, a, b: a + b),
    Single("power 1M", (MATRIX, MATRIX), "power(abs(%a), %b)", lambda t, f, a, b: a.abs() ** b),
    Single("where 1M", (MATRIX, MATRIX), "where(greater(%a, 0f), %a, %b)", lambda t, f, a, b: t.where(a > 0, a, b)),
    Single("maximum 1M", (MATRIX, MATRIX), "maximum(%a, %b)", lambda t, f, a, b: t.maximum(a, b)),
    Single("less 1M", (MATRIX, MATRIX), "less(%a, %b)", lambda t, f, a, b: a < b),
    Single("floor_mod 1M", (MATRIX, MATRIX), "floor_mod(%a, add(abs(%b), 1f))", lambda t, f, a, b: a % (b.abs() + 1)),
    Single("floor_divide int32", (MATRIX, MATRIX), "floor_divide(%a, %b)", lambda t, f, a, b: a // b, values={"a": _WHOLE, "b": between(1, 9, "int32")}),
    Single("bitwise_and int32", (MATRIX, MATRIX), "bitwise_and(%a, %b)", lambda t, f, a, b: a & b, values={"a": _WHOLE, "b": _WHOLE}),
    Single("divide broadcast", ((64, 64, 64), (64, 1)), "divide(%a, %b)", lambda t, f, a, b: a / b),
    Single("multiply channels", (FRAME, (64, 1, 1)), "multiply(%a, %b)", lambda t, f, a, b: a * b),
    Single("add column and row", ((1024, 1), (1, 1024)), "add(%a, %b)", lambda t, f, a, b: a + b),
    Single("prelu", (FRAME, (64,)), "nn.prelu(%a, %b)", lambda t, f, a, b: f.prelu(a, b)),
)  # fmt: skip
