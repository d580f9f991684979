"""Attributes with `?` in them: what irtool accepts reads back with the types that it printed."""

from __future__ import annotations

import random
from typing import Any

import pytest

import irtool
from irtool.infer.recheck import recheck_types
from tests.fuzz.calls import Argument, DrawnCall, Tensor, accepted_calls, names

CALLS = 6


class _Any:
    """What prints as `?`."""

    def __str__(self) -> str:
        return "?"


OPEN = _Any()


def _opened(value: Any, rng: random.Random, share: float) -> Any:
    """An attribute's value, some of its numbers `?`."""
    if isinstance(value, list | tuple):
        return [_opened(v, rng, share) for v in value]
    return OPEN if type(value) is int and rng.random() < share else value


def _widened(a: Argument, rng: random.Random, share: float) -> Argument:
    if isinstance(a, tuple):
        return tuple(_widened(b, rng, share) for b in a)
    return Tensor(tuple(OPEN if rng.random() < share else d for d in a.shape), a.dtype)  # type: ignore[misc]


def texts(name: str) -> list[str]:
    """Calls that the operator accepts, with some numbers in them open."""
    rng = random.Random(name)
    known = accepted_calls(name)
    programs = []
    for call in rng.sample(known, min(CALLS, len(known))):
        for in_attributes, in_types in ((1.0, 0.0), (0.5, 0.0), (0.5, 0.3), (0.0, 0.5)):
            arguments = tuple(_widened(a, rng, in_types) for a in call.arguments)
            attributes = {k: _opened(v, rng, in_attributes) for k, v in call.attributes.items()}
            programs.append(DrawnCall(name, arguments, attributes).text())
    return programs


def _read(text: str) -> irtool.ir.Module:
    return irtool.infer_types(irtool.parse(text))


@pytest.mark.parametrize("name", names())
def test_what_is_printed_reads_back(name: str) -> None:
    for text in texts(name):
        try:
            module = _read(text)
        except irtool.IrError as error:
            assert error.exit_code == 1, text
            continue
        printed = irtool.to_text(module)
        again = _read(printed)
        assert irtool.to_text(again) == printed, text
        assert again["main"].checked_type == module["main"].checked_type, text
        assert not recheck_types(module, ["main"]), text
