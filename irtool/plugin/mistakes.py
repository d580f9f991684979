"""Mistakes in plug-ins from outside: said to be theirs, with the place, and never called a bug of irtool.

The methods of a plug-in that irtool calls are guarded from the moment its class exists: what they raise, and results that
they must not give, become a `PluginError`. Plug-ins of irtool itself are left as they are, and cost nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..diagnostics import Diagnostic, IrError
from .origin import file_of, mark_place, outside_frame, place_of, shown

Complaint = Callable[[Any, Sequence[Any], Any], str]
"""From a plug-in, the arguments and the result of a method: the error in the result, or the empty string."""


class PluginError(IrError):
    """A plug-in from outside is wrong: exit code 1. For a pass, `failed` is the pass, `module` its input, and `context` the
    context that it ran under."""

    failed: Any = None
    module: Any = None
    context: Any = None


def describe(cls: Any) -> str:
    """`operator my.swish`, `pass Foo`: the name of a plug-in in messages."""
    kind = getattr(cls, "_kind", "") or "plug-in"
    return f"{kind} {getattr(cls, 'name', '') or cls.__name__}"


def adopt(cls: Any, kind: str, name: str) -> None:
    """Notes the future kind, name and place of a class from outside, for messages about it."""
    cls._kind, cls.name = kind, name
    if "_place" not in cls.__dict__:
        mark_place(cls)


def refuse(cls: Any, message: str, help: str = "") -> PluginError:
    """The error in a class itself."""
    return PluginError(f"in the plug-in {place_of(cls)}, {describe(cls)}: {message}", help=help)


def blame(cls: type, error: BaseException) -> PluginError:
    """The error that a plug-in's own code raised `error`; the place is the innermost line of its file."""
    frame = outside_frame(error.__traceback__, [file_of(cls)])
    place = f"{shown(frame[0])}:{frame[1]}" if frame else place_of(cls)
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PluginError(f"in the plug-in {place}, {describe(cls)}: {message}")


def blame_code(error: BaseException, what: str = "") -> PluginError | None:
    """The same for code that is no plug-in's class (a function that was handed in); None if it was all irtool's."""
    frame = outside_frame(error.__traceback__)
    if frame is None:
        return None
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PluginError(f"in the plug-in {shown(frame[0])}:{frame[1]}{', ' if what else ''}{what}: {message}")


def blame_all(cls: type, diagnostics: Sequence[Diagnostic]) -> PluginError:
    """Diagnostics about a result of a plug-in, which name the plug-in."""
    first, *rest = diagnostics
    head = f"in the plug-in {place_of(cls)}, {describe(cls)}: {first.message}"
    return PluginError([dataclasses.replace(first, message=head), *rest])


def guard_methods(cls: type, checks: Mapping[str, Complaint], passed: tuple[type[BaseException], ...]) -> None:
    """Guards those of the methods that the class itself defines. Errors of the kinds `passed` go through as they are."""
    for name, complaint in checks.items():
        method = cls.__dict__.get(name)
        if callable(method) and not hasattr(method, "_guarded"):
            setattr(cls, name, _guarded(method, complaint, passed))


def _guarded(method: Any, complaint: Complaint, passed: tuple[type[BaseException], ...]) -> Any:
    passed = (IrError, MemoryError, *passed)

    @functools.wraps(method)
    def guarded(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            result = method(self, *arguments, **named)
        except passed:
            raise
        except Exception as error:
            raise blame(type(self), error) from error
        wrong = complaint(self, arguments, result)
        if wrong:
            raise refuse(type(self), f"{method.__name__} {wrong}")
        return result

    guarded._guarded = True  # type: ignore[attr-defined]  # noted on the class
    return guarded


def check_dataclass(cls: type, decorator: str, frozen: bool = True) -> None:
    """Raises PluginError unless the class is a dataclass of its own (frozen, if it must be)."""
    expected = "@dataclass(frozen=True)" if frozen else "@dataclass"
    if "__dataclass_fields__" not in cls.__dict__:
        raise refuse(cls, "the class is no dataclass", help=f"write {expected} below {decorator}, above the class")
    if frozen and not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]  # the standard library keeps it there, and types do not say so
        raise refuse(cls, "the dataclass is not frozen", help=f"write {expected}")
