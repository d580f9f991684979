"""Attributes as values: which of them say something that the defaults do not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..symbolic_int import SymbolicInt
from .dims import Int64

if TYPE_CHECKING:
    from .expr import Constant

ALWAYS_STATED = {"always stated": True}
"""Metadata of a field that text states though it has a default: earlier readers know none."""


def since(version: str) -> dict[str, str]:
    """Metadata of a field that operators have from that version of TVM on, later than the operator itself."""
    return {"since": version}


def until(version: str) -> dict[str, str]:
    """Metadata of a field that operators have up to that version of TVM."""
    return {"until": version}


OWN = {"own": True}
"""Metadata of a field that TVM does not have: text states it only where it is not the default."""


def formulas(values: Any) -> list[SymbolicInt]:
    """The extents that only the run knows, in a list of attributes and in lists inside of it."""
    result = []
    stack = [values]
    while stack:
        v = stack.pop()
        if v.__class__ is SymbolicInt:
            result.append(v)
        elif isinstance(v, tuple | list):
            stack.extend(v)
    return result


def constants(values: Iterable[Any]) -> list[Constant]:
    """The constants among attributes, in their order, and in lists and dictionaries inside of these."""
    from .expr import Constant

    result = []
    stack = [*values][::-1]
    while stack:
        v = stack.pop()
        if isinstance(v, Constant):
            result.append(v)
        elif isinstance(v, Mapping):
            stack.extend([*v.values()][::-1])
        elif isinstance(v, tuple | list):
            stack.extend(v[::-1])
    return result


_PLAN: dict[type, list[tuple[str, bool, Any]]] = {}


def _plan(cls: type) -> list[tuple[str, bool, Any]]:
    """For each field of an attribute class: its name, whether it has a default, and the default."""
    plan = []
    for f in dataclasses.fields(cls):
        if f.metadata.get("always stated"):
            plan.append((f.name, False, None))
        elif f.default is not dataclasses.MISSING:
            plan.append((f.name, True, f.default))
        elif f.default_factory is not dataclasses.MISSING:
            plan.append((f.name, True, f.default_factory()))
        else:
            plan.append((f.name, False, None))
    _PLAN[cls] = plan
    return plan


def stated(attrs: Any) -> list[tuple[str, Any]]:
    """The attributes of a call that text has to state, in order: those without a default, and those that differ from it."""
    if isinstance(attrs, dict):
        return list(attrs.items())
    cls = attrs.__class__
    out = []
    for name, has_default, default in _PLAN.get(cls) or _plan(cls):
        value = getattr(attrs, name)
        if has_default and (value is default or (value == default and not _holds_wide(value))):
            continue
        out.append((name, value))
    return out


def _holds_wide(value: Any) -> bool:
    """True if a 64-bit literal stands somewhere in `value`: equal to the default as a number, but not as text."""
    stack = [value]
    while stack:
        v = stack.pop()
        if v.__class__ is Int64:
            return True
        if isinstance(v, tuple | list):
            stack.extend(v)
    return False


_VERSIONED: dict[type, dict[str, Any]] = {}


def described(attrs: Any) -> list[tuple[str, Any]]:
    """All attributes of a call, defaults included, in order; those that not every version has, only where they say something."""
    versioned = _VERSIONED.get(attrs.__class__)
    if versioned is None:
        fields = dataclasses.fields(attrs)
        versioned = {f.name: f.default for f in fields if "since" in f.metadata or "until" in f.metadata}
        _VERSIONED[attrs.__class__] = versioned
    # not __dataclass_fields__, which has variables of the class, too
    names = _PLAN.get(attrs.__class__) or _plan(attrs.__class__)
    values = [(name, getattr(attrs, name)) for name, _, _ in names]
    return [(n, v) for n, v in values if n not in versioned or v != versioned[n]] if versioned else values
