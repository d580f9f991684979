"""The types of functions, from the heads of their definitions."""

from __future__ import annotations

from .types import Type

_SIGNATURES: dict[str, tuple[Type, list[Type]]] = {}


def signature(name: str) -> tuple[Type, list[Type]]:
    """The types of one of our functions, from the head of its definition; `declare` records them."""
    return _SIGNATURES[name]


def note(name: str, result: Type, params: list[Type]) -> None:
    """Records the types of a function."""
    _SIGNATURES[name] = result, params
