"""Registries: plug-ins of one kind by name, found where they are defined, so that no list of them is kept by hand.

A name is looked for where the index has it (see `index`), else in the modules of the registry's packages that are called so or
whose source spells it; then in what is installed (see `loading`); only for a name that none of them defines are all imported.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import re
from collections.abc import Callable, Iterator
from pkgutil import ModuleInfo
from typing import ClassVar, Generic, TypeVar

from ..diagnostics import UsageError, nearest
from .index import indexed
from .mistakes import refuse
from .origin import is_outside, is_same_definition, place_of

T = TypeVar("T", bound=type)


class Registry(Generic[T]):
    """Plug-ins of one kind by name.

    `kind` is used in messages (`operator`, `pass`, `instrument`). Looking a name up imports the modules that it takes to find
    it; iterating imports all modules of the packages, and what is installed from outside. A name has one class: a second
    one is refused, unless it is the same class defined again (a file that is loaded again, a cell that is run again), or
    comes from outside and says `override`.

    `replaced` are called with each name whose class becomes another one.
    """

    every: ClassVar[list[Registry]] = []
    install: ClassVar[Callable[[], None]] = staticmethod(lambda: None)
    """Loads installed plug-ins; does nothing from the second call on."""
    may_override: ClassVar[bool] = True
    """False while installed plug-ins are loaded: they are loaded when they are asked for, so could not do it reliably."""

    def __init__(self, kind: str, *packages: str, prefixes: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self.prefixes = prefixes
        """What other registries put before names: a name that begins so is looked for without it, too."""
        self.packages = packages
        self.replaced: list[Callable[[str], None]] = []
        self._classes: dict[str, T] = {}
        self._loaded = False
        Registry.every.append(self)

    def register(self, name: str, *aliases: str, override: bool = False) -> Callable[[T], T]:
        """Class decorator: files the class under `name` (and aliases).

        Raises PluginError if the name is taken; `override` lets a class from outside take the place of irtool's own.
        """

        def file(cls: T) -> T:
            if self._owns(cls):
                self._file_own(cls, name, *aliases)
                cls.name = name  # type: ignore[attr-defined]  # noted on the class
                return cls
            cls._kind = self.kind  # type: ignore[attr-defined]  # noted on the class
            cls.name = name  # type: ignore[attr-defined]  # noted on the class
            taken = {key: old for key in (name, *aliases) if (old := self._find_loaded(key)) is not None}
            own = [old for old in taken.values() if self._owns(old) or getattr(old, "_overrides", None) is not None]
            for key, old in taken.items():
                if not (is_same_definition(old, cls) or override):
                    raise refuse(
                        cls, f"the name {key} is taken by {self._whose(old)}", help=_how_to_override(old, self)
                    )
            if own and not self.may_override:
                raise refuse(
                    cls,
                    f"an installed plug-in cannot take the place of {self._whose(own[0])}",
                    help="a file named with --load can: then whoever runs the command knows of it",
                )
            if own:
                cls._overrides = getattr(own[0], "_overrides", None) or own[0]  # type: ignore[attr-defined]  # noted on the class
            for key in (name, *aliases):
                self._put(key, cls)
            return cls

        return file

    def _file_own(self, cls: T, *names: str) -> None:
        for key in names:
            other = self._classes.get(key)
            if other is None:
                self._classes[key] = cls
            elif self._owns(other):
                raise TypeError(f"{self.kind} {key} is defined twice: {other.__module__} and {cls.__module__}")
            else:
                raise refuse(other, f"the name {key} is taken by {self._whose(cls)}", help=_how_to_override(cls, self))

    def _put(self, key: str, cls: T | None) -> None:
        """Files a class under a name, or nothing, and notifies those who cached the old one."""
        old = self._classes.pop(key, None)
        if cls is not None:
            self._classes[key] = cls
        if old is not None and old is not cls:
            for tell in self.replaced:
                tell(key)

    def _owns(self, cls: type) -> bool:
        """True for a class that a module of the registry's packages, or of irtool, defines."""
        return not is_outside(cls) or any(f"{cls.__module__}.".startswith(f"{p}.") for p in self.packages)

    def _whose(self, cls: type) -> str:
        if not self._owns(cls):
            return f"the {self.kind} of {place_of(cls)}"
        return f"irtool's own {self.kind}" if not is_outside(cls) else f"the {self.kind} of {cls.__module__}"

    def origin_of(self, cls: type) -> str:
        """A sentence on a class from outside: its place, and the plug-in that it replaces; empty for irtool's own."""
        if self._owns(cls):
            return ""
        instead = getattr(cls, "_overrides", None)
        return f"a plug-in, {place_of(cls)}" + (f", in the place of {self._whose(instead)}" if instead else "")

    def outside(self) -> dict[str, T]:
        """The classes from outside that are filed now, by name."""
        return {name: cls for name, cls in self._classes.items() if not self._owns(cls)}

    def restore(self, before: dict[str, T]) -> None:
        """Makes the classes from outside those of an earlier `outside()`; names of irtool's own get these back."""
        for name, cls in self.outside().items():
            if before.get(name) is not cls:
                self._put(name, getattr(cls, "_overrides", None))
        for name, cls in before.items():
            if self._classes.get(name) is not cls:
                self._put(name, cls)

    def load(self) -> None:
        """Imports every module of the packages, and installed plug-ins, once."""
        if not self._loaded:
            for module in self._modules:
                importlib.import_module(module)
            self._loaded = True
        Registry.install()

    def find(self, name: str) -> T | None:
        """The class of that name, or None."""
        result = self._find_loaded(name)
        if result is None:
            Registry.install()
            result = self._classes.get(name)
        if result is None and not self._loaded:
            self.load()
            result = self._classes.get(name)
        if result is None:
            bare = next((name.removeprefix(p) for p in self.prefixes if name.startswith(p)), "")
            result = self.find(bare) if bare else None
        return result

    def _find_loaded(self, name: str) -> T | None:
        """The class of that name among those that are filed, and in the modules that are likely to define it."""
        result = self._classes.get(name)
        if result is None and not self._loaded:
            self._import_indexed(name)
            result = self._classes.get(name)
        if result is None and not self._loaded:
            for module in self._candidates(name):
                importlib.import_module(module)
                if name in self._classes:
                    return self._classes[name]
        return result

    def _import_indexed(self, name: str) -> None:
        """Imports the module that the index has for a name, if it has one of the registry's packages."""
        module, _ = indexed(self.kind).get(name, ("", ""))
        if any(module.startswith(f"{p}.") for p in self.packages):
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as error:
                if error.name != module:  # it was moved since the index was made
                    raise

    @functools.cached_property
    def _modules(self) -> dict[str, ModuleInfo]:
        """Every module of the packages by its full name, in alphabetical order. Imports none of them."""
        modules: dict[str, ModuleInfo] = {}
        for package in self.packages:
            root, *folders = package.split(".")
            path = [os.path.join(p, *folders) for p in importlib.import_module(root).__path__]
            waiting = [(f"{package}.", path)]
            while waiting:
                prefix, path = waiting.pop()
                for module in pkgutil.iter_modules(path, prefix):
                    modules[module.name] = module
                    if module.ispkg:
                        folder = module.name.rpartition(".")[2]
                        waiting.append((f"{module.name}.", [os.path.join(p, folder) for p in path]))
        return dict(sorted(modules.items()))

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
        return {name: self._source(module) for name, module in self._modules.items()}

    @staticmethod
    def _source(module: ModuleInfo) -> str:
        spec = module.module_finder.find_spec(module.name, None)
        read = getattr(spec.loader if spec else None, "get_source", None)
        return (read and read(module.name)) or ""

    def get(self, name: str) -> T:
        """The class of that name. Raises UsageError, with the nearest known name, for an unknown one."""
        cls = self.find(name)
        if cls is None:
            raise UsageError(f"unknown {self.kind} {name}", help=nearest(name, self._classes))
        return cls

    def defined_in(self, module: str) -> list[T]:
        """The classes that a module of irtool's defines; none if there is no such module."""
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
        return [cls for cls in self._classes.values() if cls.__module__ == module]

    def names(self) -> list[str]:
        """All names, sorted."""
        self.load()
        return sorted(self._classes)

    def __iter__(self) -> Iterator[T]:
        return (self._classes[n] for n in self.names())

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None


def _how_to_override(old: type, registry: Registry) -> str:
    """Advice for a class whose name is taken."""
    if not registry._owns(old):
        return "give one of them another name, or write override=True in the decorator of the one that is meant"
    return "choose another name, or write override=True in its decorator to take the other one's place"
