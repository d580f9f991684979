"""Rules of a pass, one per operator, in a module or the modules of a package: found by where they are filed, listed nowhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ...plugin.mistakes import refuse
from ...plugin.origin import is_outside, is_same_definition, place_of

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


class RuleTable(Generic[K, R]):
    """Rules by key. `package` (a module, or a package with all of its modules) is imported before the first look-up; it
    files the rules.

    `what` names a rule in messages: "the gradient of".
    """

    def __init__(self, package: str, what: str) -> None:
        self._package = package
        self._what = what
        self._rules: dict[K, R] = {}
        self._loaded = False

    def file(self, *keys: K) -> Callable[[R], R]:
        """Decorator: files a rule under keys.

        Raises TypeError for a key that has one already; PluginError where a rule from outside takes such a key, unless it is
        the same function defined again.
        """

        def file(rule: R) -> R:
            outside = is_outside(rule)
            if outside:
                self._load()  # so that a key that is taken is known
            for key in keys:
                other = self._rules.get(key)
                if other is not None and not outside:
                    raise TypeError(f"{self._what} {key} is defined twice")
                if other is not None and not is_same_definition(other, rule):
                    whose = f"that of {place_of(other)}" if is_outside(other) else "irtool's own"
                    raise refuse(rule, f"{self._what} {key} is there already: {whose}")
                self._rules[key] = rule
            return rule

        return file

    def find(self, key: K) -> R | None:
        """The rule of a key, or None."""
        self._load()
        return self._rules.get(key)

    def keys(self) -> list[K]:
        """Every key that has a rule, in the order of filing."""
        self._load()
        return list(self._rules)

    def _load(self) -> None:
        if self._loaded:
            return
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(getattr(package, "__path__", ()), f"{self._package}."):
            importlib.import_module(module.name)
        self._loaded = True
