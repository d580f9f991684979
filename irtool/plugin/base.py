"""The base of all plug-ins: a dataclass whose fields are its attributes, options or flags."""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, ClassVar

from .mistakes import Complaint, blame, guard_methods
from .origin import is_outside, mark_place


class Plugin:
    """Base of all plug-ins. Subclasses are frozen dataclasses registered with `Registry.register`.

    Class attributes, underlined because fields of plug-ins may have any name:
        _kind: its name in messages: operator, pass, instrument.
        _overrides: the class of the same name that it replaces, if it declares so.
        _checks: methods by name whose results are checked, and whose exceptions are blamed on the plug-in, where the class
            comes from outside; `_refusals`: exceptions that are no mistakes.
    """

    name: ClassVar[str] = ""
    _kind: ClassVar[str] = ""
    _overrides: ClassVar[type | None] = None
    _checks: ClassVar[Mapping[str, Complaint]] = {}
    _refusals: ClassVar[tuple[type[BaseException], ...]] = ()

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if is_outside(cls):
            mark_place(cls)
            guard_methods(cls, cls._checks, cls._refusals)

    @classmethod
    def fields(cls) -> tuple[dataclasses.Field, ...]:
        """The dataclass fields in order of declaration."""
        return dataclasses.fields(cls)  # type: ignore[arg-type]  # plug-ins are dataclasses: `check_dataclass` sees to it

    @classmethod
    def manual(cls) -> str:
        """The cleaned docstring."""
        return inspect.getdoc(cls) or ""

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the manual, on one line."""
        return " ".join(cls.manual().split("\n\n")[0].split())


def _resolve_fields(cls: type) -> dict[str, Any]:
    """The types of dataclass fields, each resolved where the class that declares it is defined.

    `typing.get_type_hints(cls)` resolves every class variable of every base as well, which takes most of the time that a plug-in
    needs for its first use.
    """
    hints: dict[str, Any] = {}
    waiting = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]  # plug-ins are dataclasses, as above
    for base in cls.__mro__:
        written = {n: t for n, t in inspect.get_annotations(base).items() if n in waiting}
        waiting -= written.keys()
        module = getattr(sys.modules.get(base.__module__), "__dict__", {})
        hints |= typing.get_type_hints(types.SimpleNamespace(__annotations__=written), dict(vars(base)), module)
    return hints


def type_hints(cls: type) -> dict[str, Any]:
    """Resolved annotations of a plug-in's fields (cached on the class)."""
    hints = cls.__dict__.get("_resolved_hints")
    if hints is None:
        try:
            hints = _resolve_fields(cls)
        except Exception as error:
            if is_outside(cls):
                raise blame(cls, error) from error
            raise
        cls._resolved_hints = hints  # type: ignore[attr-defined]  # noted on the class
    return hints
