"""Functions that lower layers call and higher layers provide: `str(module)`, `x + y`, pickling.

A node knows nothing of the printer, of operators or of inference. It declares a `Hook`, a function with a name and a purpose::

    text_of: Hook[[Module], str] = Hook("ir.text_of")

and `irtool/providers.py` says which function that is. The function is imported at the first call, so that nothing is imported
for a program that never makes one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from .providers import PROVIDERS

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class Hook(Generic[P, R]):
    """A function that is provided from above. `name` begins with the room that declares it; no other hook has it."""

    __slots__ = ("_provided", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._provided: Any = None

    def get(self) -> Any:
        """The function or class itself. Raises KeyError where no layer provides one."""
        if self._provided is None:
            module, _, name = PROVIDERS[self.name].partition(":")
            self._provided = getattr(importlib.import_module(module), name)
        return self._provided

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        function: Callable[P, R] = self._provided or self.get()
        return function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Hook({self.name!r})"
