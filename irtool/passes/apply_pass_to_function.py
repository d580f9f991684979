"""ApplyPassToFunction: a pass on some functions of a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..diagnostics import IrError, nearest
from ..ir import Module
from .core.base import Pass
from .core.context import PassContext, PassInfo
from .core.mistakes import NoFunctionMatches
from .core.option_text import show_value
from .core.runner import run_pass
from .core.selection import Selection, select

_MOST_LISTED = 20
"""Functions that a message names."""


@dataclass(frozen=True)
class ApplyPassToFunction(Pass):
    """Runs a pass on the functions whose names match a regular expression (`re.match`, so from the start of the name).

    While the pass runs, every other function is an external one of the same type, of which nothing else is known, and the
    matching functions count as exported; afterwards the others stand in the module as they were. `func_name_regex` may be
    several expressions: a function is selected if one of them matches. Where an expression matches no function, that
    is an error if `error_if_no_function_matches_regex` or the context's `require_match` says so; where none matches, the module is returned unchanged.

    The pass is run as any other: its prerequisites run before it, on the whole module, and instruments see it.
    """

    pass_: Pass
    func_name_regex: str | tuple[str, ...]
    error_if_no_function_matches_regex: bool = False
    name: ClassVar[str] = "func"
    runs_others: ClassVar[bool] = True

    @property
    def regexes(self) -> tuple[str, ...]:
        """The expressions, at least one."""
        return (self.func_name_regex,) if isinstance(self.func_name_regex, str) else self.func_name_regex

    @property
    def needs_types(self) -> bool:
        return self.pass_.needs_types

    @property
    def info(self) -> PassInfo:
        name = f"ApplyPassTo{'|'.join(self.regexes)}"
        return PassInfo(0, name, (), self.needs_types, runs_others=True)

    def text(self) -> str:
        regexes = self.func_name_regex
        return f"func({show_value(regexes)}, {self.pass_.text()})"

    def around(self, p: Pass) -> ApplyPassToFunction:
        """Another pass on the same functions."""
        return ApplyPassToFunction(p, self.regexes)

    def apply(self, module: Module, context: PassContext) -> Module:
        outer = context.selection.outside if context.selection is not None else frozenset[str]()
        matched, idle = select(module, self.regexes, [n for n in module.functions if n not in outer])
        if idle and (self.error_if_no_function_matches_regex or context.require_match):
            names = [n for n in module.functions if n not in outer]
            have = ", ".join("@" + n for n in names[:_MOST_LISTED]) or "none"
            have += f" … ({len(names)} in all)" if len(names) > _MOST_LISTED else ""
            help = nearest(idle[0].strip("^$@"), names)
            raise IrError(
                f"no function matches {idle[0]!r}",
                notes=(f"the functions are {have}",),
                help=help,
                code=NoFunctionMatches,
            )
        if not matched:
            return module
        outside = frozenset(module.functions) - frozenset(matched)
        inner = context.derived(selection=Selection(self.regexes, outside, self.around), exported=matched)
        return run_pass(self.pass_, module, inner)
