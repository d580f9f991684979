"""Selection of the functions of a module that a pass transforms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import UsageError
from ...ir import ExternFunction, Function, Module


@dataclass(frozen=True)
class Selection:
    """The functions that passes leave alone, `outside`, and the regular expressions that left them out.

    Functions that passes add are inside. `around` gives the pass that runs another one on this selection.
    """

    regexes: tuple[str, ...]
    outside: frozenset[str]
    around: Callable[[Any], Any] = field(compare=False, repr=False)

    def narrow(self, module: Module) -> Module:
        """The module as a pass sees it: each function outside is an external one of the same type."""
        return module.with_functions(
            {n: _extern(f) if n in self.outside else f for n, f in module.functions.items()},
        )

    def widen(self, narrowed: Module, module: Module) -> Module:
        """The transformed narrowed module, with the functions outside as they are in `module`, in their places."""
        inside = {n: f for n, f in narrowed.functions.items() if n not in self.outside}
        unselected = {
            n: f if n in self.outside else inside[n]
            for n, f in module.functions.items()
            if n in self.outside or n in inside
        }
        whole = narrowed.with_functions({**unselected, **inside})
        same_types = narrowed.type_definitions is module.type_definitions and narrowed.attrs is module.attrs
        return module.with_functions(whole.functions) if same_types and narrowed.metadata is module.metadata else whole


def _extern(f: Any) -> Any:
    return ExternFunction.of(f) if isinstance(f, Function) else f


def select_functions(module: Module, regex: str) -> list[str]:
    """Names of the functions that match, from the start of the name (`re.match`); external functions never do.

    Raises UsageError for a malformed expression.
    """
    try:
        pattern = re.compile(regex)
    except re.error as error:
        raise UsageError(f"the regular expression {regex!r} is malformed: {error}") from None
    return [n for n, f in module.functions.items() if pattern.match(n) and not isinstance(f, ExternFunction)]


def select(module: Module, regexes: Sequence[str], among: Iterable[str]) -> tuple[list[str], list[str]]:
    """The functions, of those in `among`, that any of the expressions matches, and the expressions that match none."""
    matched_names: dict[str, None] = {}
    idle = []
    allowed = frozenset(among)
    for regex in regexes:
        matched = [n for n in select_functions(module, regex) if n in allowed]
        matched_names.update(dict.fromkeys(matched))
        if not matched:
            idle.append(regex)
    return [n for n in module.functions if n in matched_names], idle
