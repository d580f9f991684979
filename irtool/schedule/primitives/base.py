"""Primitives, and the trace of their calls.

A primitive is a pure function from a block to a block, or to several; nothing is changed in place. While a trace is recorded,
each call adds a line to it, as a person would write the call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from keyword import iskeyword
from typing import Any, ParamSpec, Protocol, TypeVar

from ...diagnostics import UsageError
from ...tir.expr import Load, Var
from ...tir.stmt import Buffer
from ..core.block import Block
from .operands import operand_name

P = ParamSpec("P")
R = TypeVar("R")

PART = "part:"

_TRACE: ContextVar[list[str] | None] = ContextVar("trace", default=None)


class Watcher(Protocol):
    """An observer of the stages that are scheduled, and of the primitives called for them."""

    def begin_stage(self, kernel: str, stage: int, strategy: str, reason: str, form: Any) -> None:
        """A stage is about to be scheduled."""

    def end_stage(self) -> None:
        """The stage is scheduled."""

    def see_call(self, call: str, before: Any, after: Any) -> None:
        """A call of a primitive, its arguments, and its result."""


_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher | None) -> Iterator[None]:
    """Reports to a watcher, if any, the stages that are scheduled inside of the `with` block."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


@contextmanager
def watched_stage(kernel: str, stage: int, strategy: str, reason: str, form: Any) -> Iterator[None]:
    """Reports to the watcher, if there is one, that the `with` block schedules a stage."""
    watcher = _WATCHER.get()
    if watcher is None:
        yield
        return
    watcher.begin_stage(kernel, stage, strategy, reason, form)
    yield
    watcher.end_stage()


def primitive(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function a primitive, whose calls `tracing` records. Its first argument is the block."""

    @functools.wraps(function)
    def run(*args: P.args, **options: P.kwargs) -> R:
        trace = _TRACE.get()
        if trace is None:
            return function(*args, **options)
        watcher = _WATCHER.get()
        with tracing(), watching(None):  # calls inside a primitive do not show
            result = function(*args, **options)
        if result is not args[0] and result != [args[0]]:
            trace.append(_call(function.__name__, args[0], args[1:], options))
            if watcher is not None:
                watcher.see_call(trace[-1], args[0], result)
        return result

    run.by_hand = True  # type: ignore[attr-defined]  # functions take attributes
    return run


def makes_stages(function: Callable[P, R]) -> Callable[P, R]:
    """Makes a function a primitive that splits a stage into several. Its first argument is the form of the stage."""

    @functools.wraps(function)
    def checked(form: Any, *args: Any, **options: Any) -> R:
        arguments_of(checked, args, options)
        return function(form, *args, **options)  # type: ignore[call-arg,arg-type]  # `functools.wraps` gives it this signature

    run: Any = primitive(checked)
    run.makes_stages = True
    return run  # type: ignore[no-any-return]  # as above


def arguments_of(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a primitive by name, without the first. Raises TypeError for too many or too few arguments, UsageError for
    an argument that should be a number."""
    first, *_ = (signature := inspect.signature(function)).parameters
    named = dict(signature.bind(None, *args, **options).arguments)
    del named[first]
    for name, value in named.items():
        if signature.parameters[name].annotation == "int" and not isinstance(value, int):
            raise UsageError(f"{name} is a number, not {value}")
    return named


@contextmanager
def tracing() -> Iterator[list[str]]:
    """Records a trace of the primitives called inside of the `with` block; a trace around it does not see them."""
    lines: list[str] = []
    token = _TRACE.set(lines)
    try:
        yield lines
    finally:
        _TRACE.reset(token)


@contextmanager
def untraced() -> Iterator[None]:
    """Keeps the calls inside of the `with` block, which only try a schedule, out of every trace."""
    token = _TRACE.set(None)
    try:
        yield
    finally:
        _TRACE.reset(token)


def is_traced() -> bool:
    """True while a trace is recorded."""
    return _TRACE.get() is not None


def remark(line: str) -> None:
    """Adds a comment line to the trace, for the calls that follow."""
    trace = _TRACE.get()
    if trace is not None:
        trace.append(line)


@contextmanager
def part(parts: int) -> Iterator[None]:
    """Context for one of several parts of the stage in the trace; each part begins with the entire stage."""
    with _group(PART if parts > 1 else ""):
        yield


@contextmanager
def copy(name: str) -> Iterator[None]:
    """Context for the fill of a copy in the trace."""
    with _group(f"{name}:"):
        yield


@contextmanager
def stage(name: str, reason: str) -> Iterator[None]:
    """Context for one of the stages that a primitive split off, in the trace; `reason` becomes a comment."""
    with _group(f"{name}:", f"  # {reason}" if reason else "", always=True):
        yield


@contextmanager
def _group(header: str, remark: str = "", always: bool = False) -> Iterator[None]:
    trace = _TRACE.get()
    if trace is None or not header:
        yield
        return
    with tracing() as lines:
        yield
    if lines or always or header == PART:
        trace += [f"{header}{remark}", *(f"  {line}" for line in lines)]


def _call(name: str, block: object, args: Sequence[object], options: dict[str, Any]) -> str:
    arguments = [_argument(block, a) for a in args] + [f"{k}={_argument(block, a)}" for k, a in options.items()]
    return f"{name}({', '.join(arguments)})"


def _argument(block: object, value: object) -> str:
    if isinstance(value, Var | Buffer):
        return value.name
    if isinstance(value, Load):
        return operand_name(block.form, value) if isinstance(block, Block) else value.source.name
    if isinstance(value, tuple | list):
        return f"[{', '.join(_argument(block, x) for x in value)}]"
    if isinstance(value, str) and iskeyword(value):  # the storage scope `global` is no name in a script
        return f'"{value}"'
    return str(value)
