"""numpy, imported when something of it is used first: `from ..deferred import np` costs nothing.

Importing numpy takes as long as reading and transforming a small module, and most passes on most modules never compute. Where
only some functions of a module need it they may as well import it themselves; this is for those where most of them do.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Deferred(ModuleType):
    """A module that looks its attributes up in the one of its name, each once."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))


class _Late:
    """The functions of a module, each looked up when it is called: for tables that are made on import."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            return getattr(self._module, name)(*arguments, **options)

        call.__name__ = name
        return call


if TYPE_CHECKING:
    import numpy as late
    import numpy as np
else:
    np = _Deferred("numpy")
    late = _Late(np)

__all__ = ["late", "np"]
