"""Passes from plain Python functions and classes, without a registered name::

    @function_pass(opt_level=1)
    def drop_relu(function, module, context):
        return rewrite(function, …)

    @module_pass(opt_level=2, name="Clean")
    class Clean:
        def __init__(self, fold):
            self.fold = fold

        def transform_module(self, module, context):
            return FoldConstant()(module, context) if self.fold else module

    module = Sequential([drop_relu, Clean(fold=True)])(module)

A decorated function is a pass; a decorated class makes passes. Their results are checked, typed and shown to instruments as
those of any other pass. `register_pass` is for passes that command lines and pipeline texts are to know by name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..ir import Function, Module
from ..ir.module import describe
from .core.base import FunctionPass, ModulePass, Pass, make_info, wrong_result
from .core.context import PassContext, PassInfo


class _Decorated(Pass):
    """A pass around a callable, with the information it was given."""

    def __init__(self, made_by: Callable[..., Any], info: PassInfo) -> None:
        self._made_by = made_by
        self._info = info

    @property
    def info(self) -> PassInfo:
        return self._info

    def text(self) -> str:
        return self._info.name


class DecoratedFunctionPass(_Decorated, FunctionPass):
    """A function pass around `f(function, module, context) -> function`."""

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        after = self._made_by(function, module, context)
        if not isinstance(after, Function):
            raise wrong_result(self, self._made_by, after, "a Function")
        return after


class DecoratedModulePass(_Decorated, ModulePass):
    """A module pass around `f(module, context) -> module`."""

    def transform(self, module: Module, context: PassContext) -> Module:
        after = self._made_by(module, context)
        if not isinstance(after, Module):
            raise wrong_result(self, self._made_by, after, "a Module")
        return after


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Makes a function pass of `f(function, module, context)`, or a class of such passes of a class with `transform_function`.

    Without `pass_func` it is the decorator. The pass sees the functions that every `FunctionPass` does. `name` is by default
    that of the function or class; `required` names passes that a sequence runs before it; `traceable` is kept in the
    `PassInfo`. Raises TypeError for a missing level, or anything that is neither function nor class.
    """
    return _decorate("function_pass", DecoratedFunctionPass, pass_func, opt_level, name, required, traceable)


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Makes a module pass of `f(module, context)`, or a class of such passes of a class with `transform_module`.

    See `function_pass`.
    """
    return _decorate("module_pass", DecoratedModulePass, pass_func, opt_level, name, required, traceable)


def create_function_pass(
    pass_func: Callable[[Function, Module, PassContext], Function],
    opt_level: int,
    name: str,
    required: Sequence[str] = (),
    traceable: bool = False,
) -> Pass:
    """The function pass around `pass_func`: TVM's `CreateFunctionPass`, in its order of arguments."""
    return function_pass(pass_func, opt_level, name, required, traceable)


def create_module_pass(
    pass_func: Callable[[Module, PassContext], Module],
    opt_level: int,
    name: str,
    required: Sequence[str] = (),
    traceable: bool = False,
) -> Pass:
    """The module pass around `pass_func`: TVM's `CreateModulePass`, in its order of arguments."""
    return module_pass(pass_func, opt_level, name, required, traceable)


def _decorate(
    decorator: str,
    base: type[_Decorated],
    made_by: Any,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str] | None,
    traceable: bool,
) -> Any:
    if opt_level is None:
        raise TypeError(f"{decorator} needs the level of the pass: @{decorator}(opt_level=0)")

    def decorate(it: Any) -> Any:
        if not callable(it):
            raise TypeError(f"{decorator} takes a function or a class, not {describe(it)}")
        own = str(getattr(it, "__name__", type(it).__name__))
        info = make_info(opt_level, own if name is None else name, required, traceable)
        return _wrap_class(decorator, base, it, info) if inspect.isclass(it) else base(it, info)

    return decorate if made_by is None else decorate(made_by)


def _wrap_class(decorator: str, base: type[_Decorated], user: type, info: PassInfo) -> type[_Decorated]:
    """A class of passes, each of which holds an instance of the user's class and calls its method."""
    method = "transform_function" if issubclass(base, FunctionPass) else "transform_module"
    if not callable(getattr(user, method, None)):
        raise TypeError(f"the class {user.__name__} needs a method {method} to be decorated with {decorator}")

    class Wrapped(base):  # type: ignore[misc, valid-type]  # a class over the base that was asked for
        def __init__(self, *args: Any, **options: Any) -> None:
            self._instance = user(*args, **options)
            super().__init__(getattr(self._instance, method), info)

        def __getattr__(self, name: str) -> Any:
            if name == "_instance":  # it could not be made
                raise AttributeError(name)
            return getattr(self._instance, name)

    functools.update_wrapper(Wrapped, user, updated=())
    return Wrapped
