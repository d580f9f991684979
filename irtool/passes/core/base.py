"""Base classes of passes.

A pass is a frozen dataclass: its fields are its options under TVM's parameter names, its docstring is its manual
and shows before ⇒ after. A `FunctionPass` transforms one function at a time and never sees those that are marked as
finished; a `ModulePass` transforms the module; a `Composite` runs others, and a `Sequential` is one made on the spot. The
runner, not the pass, selects functions,
infers types, verifies and prints::

    @register_pass("FastMath", level=4, required=("InferType",))
    @dataclass(frozen=True)
    class FastMath(FunctionPass):
        '''Replaces exp, tanh, erf and softmax by faster, less exact forms. …'''

        def transform(self, function, module, context):
            return rewrite(function, self.leave)
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from ...diagnostics import Span, UsageError, placing
from ...hooks import Hook
from ...ir import Expr, Function, Module
from ...ir.module import describe
from ...plugin import Plugin, PluginError, Registry, type_hints
from ...plugin.mistakes import adopt, check_dataclass, refuse
from ...plugin.origin import is_outside, place_of, shown
from ...steps import counted
from .config_option import ConfigOption
from .context import PassContext, PassInfo
from .mistakes import WrongPassOption
from .names import declare_pass_name
from .option_text import show_value
from .option_values import check_options
from .registry import passes as _registered

passes: Registry[type[Pass]] = _registered
"""Every pass by name."""

_run_pass: Hook[[Pass, Module, PassContext], Module] = Hook("passes.run_pass")
_run_in_sequence: Hook[[Pass, Module, PassContext], Module] = Hook("passes.run_in_sequence")


def _judged_later(p: Any, arguments: Sequence[Any], result: Any) -> str:
    """Results of transforming are judged where they are used: a pass need not come from outside to be wrong."""
    return ""


def _wrong_passes(p: Any, arguments: Sequence[Any], result: Any) -> str:
    """The error in the result of `passes` of a sequence from outside; empty if it has none."""
    if isinstance(result, tuple | list) and all(isinstance(i, Pass) for i in result):
        return ""
    return "returned something else than a list of passes"


class Pass(Plugin):
    """Base of all passes.

    Class attributes:
        level: the opt level from which a `Sequential` runs the pass.
        required: names of the passes that a sequence runs before it (InferType runs before it in any case).
        info_name: the name in TVM's `PassInfo`, which required/disabled lists use; mostly the pass's own name.
        changes: the change of results that the pass makes by definition: empty if only the order of sums changes;
            `derivative` (gradients come with them), `training` (batch_norm normalises by its batch), `approximation`
            (they are close, and may have other data types), `interface` (functions take or return something else),
            `effects` (they happen at another time, or not at all; results of programs without any are kept).
            `CheckValues` goes by it.
        tolerance: of an approximation, the largest difference relative to the largest result.
        runs_others: whether it only runs other passes, which instruments see themselves.
        takes_open_types: whether functions may be in the module of whose types nothing decides some.
        config: keys of `PassContext.config` that the pass reads, each with its `ConfigOption`.
        written: of an instance, where it stands in the text of a pipeline; None for one made in Python.
    """

    _kind = "pass"
    _checks = MappingProxyType({"transform": _judged_later, "apply": _judged_later, "passes": _wrong_passes})
    level: ClassVar[int] = 0
    required: ClassVar[tuple[str, ...]] = ()
    info_name: ClassVar[str] = ""
    changes: ClassVar[str] = ""
    tolerance: ClassVar[float] = 1e-4
    runs_others: ClassVar[bool] = False
    takes_open_types: ClassVar[bool] = False
    config: ClassVar[Mapping[str, ConfigOption]] = {}
    written: ClassVar[Span | None] = None

    @property
    def needs_types(self) -> bool:
        """True if the module must be well typed before the pass and after it."""
        return True

    @property
    def info(self) -> PassInfo:
        """The pass's `PassInfo`."""
        return PassInfo(
            self.level,
            self.info_name or self.name,
            self.required,
            self.needs_types,
            runs_others=self.runs_others,
            made_for=self,
        )

    def apply(self, module: Module, context: PassContext) -> Module:
        """The module after the pass. Called by the runner; call the pass itself (`p(module)`) instead."""
        raise NotImplementedError

    def __call__(self, module: Module | Expr, context: PassContext | None = None) -> Module:
        """Runs the pass under `context` (the current one by default) with its prerequisites and instruments.

        A function or an expression is taken as the `@main` of a module, as `Module.from_expr` makes it.
        """
        return _run_pass(self, Module.of(module), context or PassContext.current())

    def __repr__(self) -> str:
        return f"<{self.text()}, level {self.info.opt_level}>"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # A dataclass writes its own `__repr__` unless the class itself has one; the text form says more.
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = super(cls, cls).__repr__  # type: ignore[method-assign]  # a class that has none gets that of its base

    def __post_init__(self) -> None:
        """Checks the options, so that a pass made in Python is as sound as one made of text."""
        if dataclasses.is_dataclass(self):
            self._check()

    def _check(self) -> None:
        from ...ops.base import coerce

        try:
            hints = type_hints(type(self))
        except (
            NameError,
            PluginError,
        ):  # annotations that nothing outside of the function that they stand in can resolve
            return
        for f in self.fields():
            value = getattr(self, f.name)
            try:
                coerced = coerce(value, hints[f.name])
            except (TypeError, ValueError) as error:
                raise UsageError(
                    f"option {f.name} of pass {self.name or type(self).__name__}: {error}", code=WrongPassOption
                ) from None
            if coerced is not value:
                object.__setattr__(self, f.name, coerced)

    @classmethod
    def make(cls, options: Mapping[str, Any] | None = None) -> Pass:
        """An instance with these options, checked. Raises UsageError for an unknown option or a value of the wrong kind."""
        known = {f.name: f for f in cls.fields()}
        return cls(**check_options("pass", cls.name, known, type_hints(cls), options))

    def text(self) -> str:
        """`Name{option=value …}` with the options that are not at their defaults."""
        shown = []
        for f in self.fields():
            value = getattr(self, f.name)
            if f.default is dataclasses.MISSING or value != f.default:
                shown.append(f"{f.name}={show_value(value)}")
        return f"{self.name}{{{' '.join(shown)}}}" if shown else self.name


def is_optimizable(function: Any) -> bool:
    """True if function passes see it: a Relay function not marked Compiler, Extern or SkipOptimization."""
    return isinstance(function, Function) and not any(
        function.attrs.get(mark) for mark in ("Compiler", "Extern", "SkipOptimization")
    )


class FunctionPass(Pass):
    """A pass that transforms each optimizable function on its own."""

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        """The function after the pass; the same object if nothing changed. Types need not be inferred."""
        raise NotImplementedError

    def apply(self, module: Module, context: PassContext) -> Module:
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if is_optimizable(function):
                with placing(function.span):
                    functions[name] = self.transform(function, module, context)
                if not isinstance(functions[name], Function):
                    raise wrong_result(self, self.transform, functions[name], f"a Function for @{name}")
        return module.with_functions(functions)


class ModulePass(Pass):
    """A pass that transforms the module as a whole."""

    def transform(self, module: Module, context: PassContext) -> Module:
        """The module after the pass; the same object if nothing changed. Types need not be inferred."""
        raise NotImplementedError

    def apply(self, module: Module, context: PassContext) -> Module:
        after = self.transform(module, context)
        if not isinstance(after, Module):
            raise wrong_result(self, self.transform, after, "a Module")
        return after


def wrong_result(p: Pass, made_by: Callable[..., Any], result: Any, expected: str) -> PluginError:
    """The error for a pass that gave something else than it should: a mistake of who wrote it, with the place."""
    code = getattr(inspect.unwrap(made_by), "__code__", None)
    place = f"{shown(code.co_filename)}:{code.co_firstlineno}" if code is not None else place_of(type(p))
    actual = "None" if result is None else describe(result)
    return PluginError(
        f"in the plug-in {place}, pass {p.text()}: {getattr(made_by, '__name__', 'it')} returned {actual}, not {expected}",
        help="return the argument itself if nothing changes",
    )


class Composite(Pass):
    """Passes one after the other; each runs only where the context enables it."""

    runs_others: ClassVar[bool] = True

    def passes(self) -> Sequence[Pass]:
        """The passes, in order."""
        raise NotImplementedError

    def apply(self, module: Module, context: PassContext) -> Module:
        for p in counted("pass", self.passes(), lambda p: p.info.name):
            if context.pass_enabled(p.info):
                module = _run_in_sequence(p, module, context)
        return module


_SEQUENTIAL = PassInfo(0, "sequential", (), runs_others=True)


@dataclasses.dataclass(frozen=True)
class PassList(Composite):
    """Passes one after the other. `Sequential` makes one from any way of naming passes."""

    items: tuple[Pass, ...]
    own_info: PassInfo = _SEQUENTIAL
    name: ClassVar[str] = "sequential"

    def __post_init__(self) -> None:
        """Its fields are no options of a text."""

    @property
    def info(self) -> PassInfo:
        return self.own_info

    def passes(self) -> Sequence[Pass]:
        return self.items

    def __repr__(self) -> str:
        return f"<{self.info.name}: {self.text() or 'no passes'}, level {self.info.opt_level}>"

    def text(self) -> str:
        return ",".join(p.text() for p in self.items)


def make_info(
    opt_level: int, name: str, required: Sequence[str] | None, traceable: bool = False, runs_others: bool = False
) -> PassInfo:
    """A `PassInfo` of checked parts; its name may be required and disabled from now on.

    Raises TypeError for a part of another kind, such as a string for a list of names.
    """
    if not isinstance(opt_level, int):
        raise TypeError(f"opt_level is an integer, not {describe(opt_level)}")
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a pass is a string, not {describe(name)}")
    if required is not None and (
        not isinstance(required, list | tuple) or not all(isinstance(r, str) for r in required)
    ):
        raise TypeError(f"required is a list of names of passes, not {describe(required)}")
    declare_pass_name(name)
    return PassInfo(opt_level, name, tuple(required or ()), traceable=traceable, runs_others=runs_others)


P = TypeVar("P", bound=type[Pass])


def register_pass(
    name: str,
    *,
    level: int = 0,
    required: tuple[str, ...] = (),
    info_name: str = "",
    config: Mapping[str, Any] | None = None,
    aliases: tuple[str, ...] = (),
    override: bool = False,
) -> Callable[[P], P]:
    """Class decorator: registers a pass under its name (and under `info_name`, where TVM's `PassInfo` has another, and
    `aliases`).

    `config` has the keys of `PassContext.config` that the pass reads, each with a `ConfigOption` or the kind of its value.
    `override` lets a pass from outside take the place of the one that has the name.
    """

    def file(cls: P) -> P:
        if is_outside(cls):
            adopt(cls, passes.kind, name)
            if not issubclass(cls, Pass):
                raise refuse(cls, "the class is no pass", help="derive it from FunctionPass, ModulePass or Sequential")
            check_dataclass(cls, "@register_pass(…)")
        cls.level = level
        cls.required = required
        cls.info_name = info_name
        cls.config = {key: ConfigOption.of(declared) for key, declared in (config or {}).items()}
        also = (info_name,) if info_name and info_name not in (name, "sequential") else ()
        passes.register(name, *also, *aliases, override=override)(cls)
        return cls

    return file
