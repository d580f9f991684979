"""Dotted names as attributes: `passes.qnn.Legalize`, `relay.nn.conv2d`, without a list of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .diagnostics import nearest


class Namespace:
    """The values whose names begin with `prefix`, as attributes.

    `find(name)` gives the value of a whole name, or None; `names()` all whole names. Neither is called before an attribute is
    asked for; a name that `find` knows is returned without asking for all.
    """

    def __init__(
        self, title: str, find: Callable[[str], Any], names: Callable[[], Iterable[str]], prefix: str = ""
    ) -> None:
        self._title = title
        self._find = find
        self._names = names
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        whole = self._prefix + name
        value = self._find(whole)
        if value is None:
            if not any(n.startswith(whole + ".") for n in self._names()):
                title = f"{self._title}.{self._prefix}".rstrip(".")
                help = nearest(whole, self._names())
                raise AttributeError(f"{title} has no {name}" + (f": {help}" if help else ""), name=name, obj=self)
            value = Namespace(self._title, self._find, self._names, whole + ".")
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        start = len(self._prefix)
        return sorted({n[start:].split(".")[0] for n in self._names() if n.startswith(self._prefix)})

    def __repr__(self) -> str:
        return f"<the names under {self._title}.{self._prefix}>".replace(".>", ">")


def submodules(package: str, **exported: Sequence[str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: its modules are attributes, each imported when it is asked for first.

    `irtool.lower.storage.plan` needs no more than `import irtool` then. `exported`: the names of each module that are attributes of the
    package, too.
    """
    homes = {name: module for module, names in exported.items() for name in names}

    def get(name: str) -> Any:
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        whole = f"{package}.{name}"
        if not name.startswith("_"):
            try:
                return importlib.import_module(whole)
            except ModuleNotFoundError as error:
                if error.name != whole:
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
