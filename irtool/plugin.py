"""The one shape of everything that can be added to irtool: operators, passes, backends.

A plug-in is a frozen dataclass. Its fields are its attributes (of an operator), its options (of a pass) or its flags
(of a backend); its docstring is its manual; `Name{field=value other=[1, 2]}` is its text form. A `Registry` finds the
classes of one kind in the modules of its packages, so that no list of them is kept by hand: a name is looked for in the
modules that are called so or whose source spells it, and only for a name that none of them defines are all imported.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import os
import pkgutil
import re
import threading
import typing
from collections.abc import Callable, Iterator
from pkgutil import ModuleInfo
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

    `kind` is used in messages (`operator`, `pass`, `backend`). Looking a name up imports the modules that it takes to find
    it; iterating imports all modules of the packages. Two classes of one name are refused when both are imported.
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
            for module in self._modules:
                importlib.import_module(module)
            self._loaded = True

    def find(self, name: str) -> T | None:
        """The class of that name, or None."""
        found = self._classes.get(name)
        if found is not None or self._loaded:
            return found
        with self._lock:
            for module in self._candidates(name):
                importlib.import_module(module)
                if name in self._classes:
                    return self._classes[name]
            self.load()
        return self._classes.get(name)

    @functools.cached_property
    def _modules(self) -> dict[str, ModuleInfo]:
        """Every module of the packages by its full name, in alphabetical order. Imports none of them."""
        found: dict[str, ModuleInfo] = {}
        for package in self.packages:
            root, *folders = package.split(".")
            path = [os.path.join(p, *folders) for p in importlib.import_module(root).__path__]
            waiting = [(f"{package}.", path)]
            while waiting:
                prefix, path = waiting.pop()
                for module in pkgutil.iter_modules(path, prefix):
                    found[module.name] = module
                    if module.ispkg:
                        folder = module.name.rpartition(".")[2]
                        waiting.append((f"{module.name}.", [os.path.join(p, folder) for p in path]))
        return dict(sorted(found.items()))

    def _candidates(self, name: str) -> Iterator[str]:
        """The modules that are likely to define `name`, likeliest first."""
        file = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        for package in self.packages:
            if f"{package}.{file}" in self._modules:
                yield f"{package}.{file}"
        for spelling in dict.fromkeys((name, name.rpartition(".")[2])):  # a family may build `qnn.sqrt` from "sqrt"
            quoted = f'"{spelling}"'
            yield from (module for module, source in self._sources.items() if quoted in source)

    @functools.cached_property
    def _sources(self) -> dict[str, str]:
        """The source of each module; empty for a module that is installed without."""
        sources = {}
        for name, module in self._modules.items():
            spec = module.module_finder.find_spec(name, None)
            read = getattr(spec.loader if spec else None, "get_source", None)
            sources[name] = (read and read(name)) or ""
        return sources

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
