"""The context that passes run under: level, required and disabled passes, options, target, instruments."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...diagnostics import Diagnostic, Span, UsageError
from ...ir import Module
from ...ir.target import Target
from ...plugin import Plugin
from ...plugin.index import indexed
from .mistakes import PassRemark, WrongContextOption
from .names import check_pass_names
from .registry import passes
from .tvm_options import KINDS, notes_on

if TYPE_CHECKING:
    from types import TracebackType

    from .selection import Selection


@dataclass(frozen=True)
class PassInfo:
    """Facts of a pass for the context: its level, its name, and the passes that must run before it.

    `needs_types` is False for a pass that takes and leaves modules which are not well typed as a whole; `runs_others` is
    True for one that only runs other passes.
    """

    opt_level: int
    name: str
    required: tuple[str, ...] = ()
    needs_types: bool = True
    traceable: bool = False
    """Kept as TVM's passes have it; nothing here reads it."""
    runs_others: bool = False
    is_prerequisite: bool = field(default=False, compare=False)
    """Nobody named it: it runs because the next pass requires it."""
    made_for: Any = field(default=None, compare=False, repr=False)
    """The pass itself, for instruments that ask it more, if there is one."""


def _decision_error(instrument: Any, arguments: Sequence[Any], result: Any) -> str:
    """The error in the result of `should_run` of an instrument from outside; empty if it has none."""
    return "returned None, not True or False" if result is None else ""


class PassInstrument(Plugin):
    """Hooks around passes. Every method may be overridden; none needs to be. What they raise reaches the caller as it is."""

    _kind = "instrument"
    _checks = MappingProxyType({"should_run": _decision_error})
    _refusals = (Exception,)

    def enter_pass_ctx(self) -> None:
        """The context was entered."""

    def exit_pass_ctx(self) -> None:
        """The context was left."""

    def should_run(self, module: Module, info: PassInfo) -> bool:
        """False keeps the pass from running (required passes run all the same)."""
        return True

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        """The pass is about to run on `module`."""

    def run_after_pass(self, module: Module, info: PassInfo) -> None:
        """The pass has run; `module` is its result, types inferred."""

    def run_before_stage(self, program: Any, stage: str) -> None:
        """A stage behind the passes is about to change `program`, a `tir.program.Program`."""

    def run_after_stage(self, program: Any, stage: str) -> None:
        """The stage has changed `program`, or made it."""

    def report(self) -> str:
        """The instrument's message at the end of a command, on standard error; nothing if empty."""
        return ""


class PassContext:
    """A context; `with PassContext(opt_level=3): …` makes it the current one of this thread.

    Everything that runs passes inside the `with` obeys it: a pass that is called, `run_passes`, `build`.

    Attributes:
        opt_level: passes of a higher level are skipped in a `Sequential` unless required.
        required_pass, disabled_pass: pass names; a name in both is refused.
        config: options of single passes, `{"relay.FuseOps.max_depth": 10}`; unknown keys and wrong kinds are refused.
        instruments: see PassInstrument.
        target: the target of the generated code.
        exported: functions that count as entry points under any name (the selection of `func(…)`).
        selection: the functions that passes see, None for all.
        require_match: whether a regular expression that selects no function is an error wherever it stands.
        warnings: messages of passes below errors.
    """

    _local = threading.local()

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] = (),
        disabled_pass: Iterable[str] = (),
        config: Mapping[str, Any] | None = None,
        instruments: Iterable[PassInstrument] = (),
        target: str | Mapping[str, Any] | Target | None = None,
        exported: Iterable[str] = (),
    ) -> None:
        self.opt_level = opt_level
        self.required_pass = _names("required_pass", required_pass)
        self.disabled_pass = _names("disabled_pass", disabled_pass)
        self.config = check_config(config or {})
        self.instruments = tuple(instruments)
        self.target = Target.parse(target) if target is not None else None
        self.exported = _names("exported", exported)
        self.selection: Selection | None = None
        self.require_match = False
        self._inferring = [0.0]
        self.warnings: list[Diagnostic] = []
        self._note_options(self.config)
        self._entering = self.instruments
        self._entered: list[ExitStack] = []
        self._check_names()

    def _check_names(self) -> None:
        check_pass_names((*sorted(self.required_pass), *sorted(self.disabled_pass)))
        both = sorted(self.required_pass & self.disabled_pass)
        if both:
            raise UsageError(f"pass {both[0]} is both required and disabled")

    @classmethod
    def current(cls) -> PassContext:
        """The innermost context that was entered in this thread, or a default one."""
        return cls.entered() or PassContext()

    @classmethod
    def entered(cls) -> PassContext | None:
        """The innermost context that was entered in this thread, or None."""
        stack = getattr(cls._local, "stack", None)
        return stack[-1] if stack else None

    def __enter__(self) -> PassContext:
        with ExitStack() as leaving:
            for i in self._entering:
                i.enter_pass_ctx()
                leaving.callback(i.exit_pass_ctx)
            # An instrument that raises is never on the stack: those before it have been told to leave.
            self._entered.append(leaving.pop_all())
        if not hasattr(self._local, "stack"):
            self._local.stack = []
        self._local.stack.append(self)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._local.stack.pop()
        self._entered.pop().close()

    @property
    def infer_seconds(self) -> float:
        """Time spent in type inference so far, in this context and in those that were made from it."""
        return self._inferring[0]

    def __repr__(self) -> str:
        shown = [f"opt_level={self.opt_level}"]
        for name in ("required_pass", "disabled_pass"):
            if getattr(self, name):
                shown.append(f"{name}={sorted(getattr(self, name))}")
        if self.config:
            shown.append(f"config={self.config}")
        if self.instruments:
            shown.append(f"instruments=[{', '.join(type(i).__name__ for i in self.instruments)}]")
        if self.target is not None:
            shown.append(f"target={str(self.target)!r}")
        return f"PassContext({', '.join(shown)})"

    def pass_enabled(self, info: PassInfo) -> bool:
        """True if a `Sequential` runs this pass: disabled wins, then required, then the level decides.

        A pass goes by its name in its `PassInfo`, and by its own where that is another.
        """
        names = {info.name, getattr(info.made_for, "name", "") or info.name}
        if not names.isdisjoint(self.disabled_pass):
            return False
        return not names.isdisjoint(self.required_pass) or self.opt_level >= info.opt_level

    def warn(self, message: str, span: Span | None = None) -> None:
        """Notes a warning, once."""
        self.note(Diagnostic(message, span, "warning", code=PassRemark))

    def note(self, diagnostic: Diagnostic) -> None:
        """Notes a warning, once."""
        if diagnostic not in self.warnings:
            self.warnings.append(diagnostic)

    def _note_options(self, keys: Iterable[str]) -> None:
        for message in notes_on(keys):
            self.warn(message)

    def option(self, key: str, default: Any) -> Any:
        """The value of a config key, or `default`."""
        return self.config.get(key, default)

    def derived(
        self,
        *,
        opt_level: int | None = None,
        selection: Selection | None = None,
        exported: Iterable[str] | None = None,
        require_match: bool | None = None,
    ) -> PassContext:
        """The same context with another level, or for other functions. It shares the warnings and is not to be entered."""
        inner = self._copy()
        inner.warnings = self.warnings
        if opt_level is not None:
            inner.opt_level = opt_level
        if selection is not None:
            inner.selection = selection
        if exported is not None:
            inner.exported = frozenset(exported)
        if require_match is not None:
            inner.require_match = require_match
        return inner

    def overridden(
        self,
        opt_level: int | None = None,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        config: Mapping[str, Any] | None = None,
        instruments: Iterable[PassInstrument] | None = None,
        target: str | Mapping[str, Any] | Target | None = None,
    ) -> PassContext:
        """This context with the given settings in place of its own; of `config`, key by key.

        It collects warnings of its own. Entering it tells only the instruments that are given here: those of this context
        have been told.
        """
        inner = self._copy()
        if opt_level is not None:
            inner.opt_level = opt_level
        if required_pass is not None:
            inner.required_pass = _names("required_pass", required_pass)
        if disabled_pass is not None:
            inner.disabled_pass = _names("disabled_pass", disabled_pass)
        if config is not None:
            inner.config = {**self.config, **check_config(config)}
            inner._note_options(config)
        if instruments is not None:
            inner.instruments = inner._entering = tuple(instruments)
        if target is not None:
            inner.target = Target.parse(target)
        inner._check_names()
        return inner

    def _copy(self) -> PassContext:
        inner = copy.copy(self)
        inner.warnings = []
        inner._entering = ()
        inner._entered = []
        return inner

    def infer_known(self, module: Module) -> Module:
        """Infers types as far as they are determined, and warns of open ones."""
        from ...infer import infer_known_types

        start = time.perf_counter()
        try:
            module, open_types = infer_known_types(module)
        finally:
            self._inferring[0] += time.perf_counter() - start
        for warning in open_types.values():
            self.note(replace(warning, level="warning"))
        return module

    def infer(self, module: Module) -> Module:
        """Infers types; the time is counted apart from the passes' own."""
        from ...infer import infer_types

        start = time.perf_counter()
        try:
            return infer_types(module)
        finally:
            self._inferring[0] += time.perf_counter() - start


def _names(parameter: str, names: Iterable[str]) -> frozenset[str]:
    """The names; a single string is refused, of which every letter would be one."""
    if isinstance(names, str):
        raise UsageError(f"{parameter} is a list of names, not the string {names!r}: write [{names!r}]")
    distinct = tuple(names)
    for name in distinct:
        if not isinstance(name, str):
            raise UsageError(f"{parameter} is a list of names, and {name!r} is none")
    return frozenset(distinct)


def check_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with its values coerced to the kinds that the passes declare. Raises UsageError for anything else."""
    if not config:
        return {}
    from ...diagnostics import nearest
    from ...ops.base import coerce

    known = _options([k for k in config if k not in KINDS])
    option_kinds = {**KINDS, **{key: option.kind for key, option in known.items()}}
    checked = {}
    for key, value in config.items():
        if key not in option_kinds:
            raise UsageError(f"unknown pass option {key}", help=nearest(key, option_kinds), code=WrongContextOption)
        try:
            checked[key] = coerce(value, option_kinds[key])
        except (TypeError, ValueError) as error:
            raise UsageError(f"pass option {key}: {error}", code=WrongContextOption) from None
    return checked


def _options(keys: Collection[str]) -> dict[str, Any]:
    """Declarations of these options by passes: from the modules that the index names, or, if it lacks one, from all passes."""
    index = indexed("option")
    modules = dict.fromkeys(index[k][0] for k in keys if k in index)
    known = {k: option for m in modules for cls in passes.defined_in(m) for k, option in cls.config.items()}
    if not known.keys() >= set(keys):
        known = {k: option for cls in passes for k, option in cls.config.items()}
    return known
