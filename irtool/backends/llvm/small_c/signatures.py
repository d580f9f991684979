"""The types of functions, by the heads of their definitions."""

from __future__ import annotations

from .types import Type

_SIGNATURES: dict[str, tuple[Type, list[Type]]] = {}


def signature(name: str) -> tuple[Type, list[Type]]:
    """The types of a function of ours, by the head of its definition; noted by `declare`."""
    return _SIGNATURES[name]


def note(name: str, result: Type, params: list[Type]) -> None:
    """Notes the types of a function."""
    _SIGNATURES[name] = result, params
