"""Arithmetic as passes write it."""

from __future__ import annotations

from ...ir import Expr
from ...ops.base import call


def add(a: Expr, b: Expr) -> Expr:
    """`a + b`."""
    return call("add", a, b)


def subtract(a: Expr, b: Expr) -> Expr:
    """`a - b`."""
    return call("subtract", a, b)


def multiply(a: Expr, b: Expr) -> Expr:
    """`a * b`."""
    return call("multiply", a, b)


def divide(a: Expr, b: Expr) -> Expr:
    """`a / b`."""
    return call("divide", a, b)


def negative(a: Expr) -> Expr:
    """`-a`."""
    return call("negative", a)
