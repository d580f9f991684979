"""The one shape of everything that can be added to irtool: operators, passes, backends.

A plug-in is a frozen dataclass. Its fields are its attributes (of an operator), its options (of a pass) or its flags
(of a backend); its docstring is its manual; `Name{field=value other=[1, 2]}` is its text form. A `Registry` finds the
classes of one kind by importing every module of its packages on first use, so that no list of them is kept by hand.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import threading
import typing
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from .diagnostics import UsageError, nearest

T = TypeVar("T", bound=type)


class Plugin:
    """Base of all plug-ins. Subclasses are frozen dataclasses registered with `Registry.register`."""

    name: ClassVar[str] = ""

    @classmethod
    def fields(cls) -> tuple[dataclasses.Field, ...]:
        """The dataclass fields in order of declaration."""
        return dataclasses.fields(cls)  # type: ignore[arg-type]

    @classmethod
    def manual(cls) -> str:
        """The cleaned docstring."""
        return inspect.getdoc(cls) or ""


class Registry(Generic[T]):
    """Plug-ins of one kind by name.

    `kind` is used in messages (`operator`, `pass`, `backend`); the packages are imported, with all their modules, when a
    name is looked up for the first time.
    """

    def __init__(self, kind: str, *packages: str) -> None:
        self.kind = kind
        self.packages = packages
        self._classes: dict[str, T] = {}
        self._loaded = False
        self._lock = threading.RLock()

    def register(self, name: str, *aliases: str) -> Callable[[T], T]:
        """Class decorator: files the class under `name` (and aliases). A second class of the same name is refused."""

        def file(cls: T) -> T:
            for key in (name, *aliases):
                if key in self._classes:
                    other = self._classes[key]
                    raise TypeError(f"{self.kind} {key} is defined twice: {other.__module__} and {cls.__module__}")
                self._classes[key] = cls
            cls.name = name  # type: ignore[attr-defined]
            return cls

        return file

    def load(self) -> None:
        """Imports every module of the packages, once."""
        if self._loaded:
            return
        with self._lock:
            if self._loaded:
                return
            for package in self.packages:
                root = importlib.import_module(package)
                for module in pkgutil.walk_packages(root.__path__, package + "."):
                    importlib.import_module(module.name)
            self._loaded = True

    def find(self, name: str) -> T | None:
        """The class of that name, or None."""
        if not self._loaded:
            self.load()
        return self._classes.get(name)

    def get(self, name: str) -> T:
        """The class of that name. Raises UsageError, with the nearest known name, where there is none."""
        cls = self.find(name)
        if cls is None:
            raise UsageError(f"unknown {self.kind} {name}", help=nearest(name, self._classes))
        return cls

    def names(self) -> list[str]:
        """All names, sorted."""
        self.load()
        return sorted(self._classes)

    def __iter__(self) -> Iterator[T]:
        return (self._classes[n] for n in self.names())

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None


def type_hints(cls: type) -> dict[str, Any]:
    """Resolved annotations of a plug-in's fields (cached on the class)."""
    hints = cls.__dict__.get("_resolved_hints")
    if hints is None:
        hints = typing.get_type_hints(cls)
        cls._resolved_hints = hints  # type: ignore[attr-defined]
    return hints
