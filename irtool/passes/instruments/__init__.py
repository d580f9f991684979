"""Instruments: observers, checks and limits of running passes. One file each.

An instrument that command lines know by name is registered::

    @register_instrument("Count")
    @dataclass
    class Count(PassInstrument):
        '''Counts the passes that ran.'''

        ran: int = field(default=0, init=False)

        def run_after_pass(self, module, info):
            self.ran += 1

        def report(self):
            return f"{self.ran} passes"

Its options are the fields that `__init__` takes, those aside that begin with `_` or hold functions.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ...plugin import Registry, type_hints
from ...plugin.mistakes import adopt, check_dataclass, refuse
from ...plugin.origin import is_outside
from ..core.context import PassInstrument
from ..core.option_values import check_options

instruments: Registry[type[PassInstrument]] = Registry("instrument", "irtool.passes.instruments")
"""Every instrument by name."""

I = TypeVar("I", bound=type[PassInstrument])


def register_instrument(name: str, *, override: bool = False) -> Callable[[I], I]:
    """Class decorator: registers an instrument, a dataclass that need not be frozen, under its name."""

    def file(cls: I) -> I:
        if is_outside(cls):
            adopt(cls, instruments.kind, name)
            if not issubclass(cls, PassInstrument):
                raise refuse(cls, "the class is no instrument", help="derive it from irtool.passes.PassInstrument")
            check_dataclass(cls, "@register_instrument(…)", frozen=False)
        instruments.register(name, override=override)(cls)
        return cls

    return file


def instrument_options(cls: type[PassInstrument]) -> dict[str, dataclasses.Field]:
    """The fields that a command line may give."""
    hints = type_hints(cls)
    return {f.name: f for f in cls.fields() if f.init and f.name[0] != "_" and not _is_function(hints[f.name])}


def _is_function(hint: Any) -> bool:
    return collections.abc.Callable in (typing.get_origin(hint), *map(typing.get_origin, typing.get_args(hint)))


def make_instrument(name: str, options: Mapping[str, Any] | None = None) -> PassInstrument:
    """The instrument of that name with these options.

    Raises UsageError for an unknown name or option, an option that is missing, or a value of the wrong kind.
    """
    cls = instruments.get(name)
    return cls(**check_options("instrument", name, instrument_options(cls), type_hints(cls), options))


def parse_instrument(text: str) -> PassInstrument:
    """The instrument that a text such as `Printing{after=[FuseOps] changed=diff}` asks for."""
    from ..core.pipeline import parse_call

    return make_instrument(*parse_call(text))


__all__ = ["instrument_options", "instruments", "make_instrument", "parse_instrument", "register_instrument"]
