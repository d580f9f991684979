"""The codes of diagnostics: kinds of mistakes by name, each defined in the room that finds it.

    @code("E0104")
    class UnknownOperator(Code):
        '''An operator that irtool does not know. …'''

        example = '''…'''

    raise IrError(f"unknown operator {name}", span, code=UnknownOperator)

A plug-in defines its own in the same way, under a name of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pkgutil import ModuleInfo
from typing import TypeVar

from ..diagnostics import Code, InternalError, IrError, ToolError
from .mistakes import PluginError
from .origin import is_outside, mark_place
from .registry import Registry

C = TypeVar("C", bound=type[Code])


class _Codes(Registry[type[Code]]):
    """All codes. Only modules that define some are imported to list them."""

    @functools.cached_property
    def _modules(self) -> dict[str, ModuleInfo]:
        modules = super()._modules
        return {name: module for name, module in modules.items() if "\n@code(" in self._source(module)}


codes = _Codes("code", "irtool")
"""Every code by its name."""


def code(name: str, *, of: type[IrError] | None = None) -> Callable[[C], C]:
    """Class decorator: registers a kind of mistake under its name, such as `E0104`.

    `of` is an exception whose diagnostics have this code, unless they have one of their own.
    """

    def file(cls: C) -> C:
        if of is not None:
            of.code = cls
        if is_outside(cls):
            mark_place(cls)
        codes.register(name)(cls)
        return cls

    return file


@code("E0701", of=ToolError)
class ToolFails(Code):
    """An outside program is missing or failed: the C compiler, or a compiled program.

    `--cc` or `$CC` names another compiler. `--emit=c` writes the sources without compiling them.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "build --cc=no-such-compiler --no-cache -o %t %s"


@code("E0801", of=PluginError)
class WrongPlugin(Code):
    """A faulty plug-in: its file cannot be run, or one of its methods fails or returns an invalid result.

    The message gives the location in the plug-in's file.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt --load %p --passes=Broken %s"
    plugin = """\
from dataclasses import dataclass

from irtool.passes import FunctionPass, register_pass


@register_pass("Broken")
@dataclass(frozen=True)
class Broken(FunctionPass):
    '''Fails.'''

    def transform(self, function, module, context):
        return function.no_such_attribute
"""


@code("E0901", of=InternalError)
class BrokenRule(Code):
    """A pass or stage violated an invariant: its result is ill-typed or malformed, or computes something else.

    This is a bug in the pass or in irtool, not an error of the input. irtool writes a reproducer for `irtool opt`.
    """

    example = """\
#[version = "0.0.5"]
def @main(%x: float32) {
  exp(%x)
}
"""
    command = "opt --load %p --passes=Broken --reproducer %t/reproducer.relay %s"
    plugin = """\
from dataclasses import dataclass

from irtool.ir import Function, Var
from irtool.passes import FunctionPass, register_pass


@register_pass("Broken")
@dataclass(frozen=True)
class Broken(FunctionPass):
    '''Returns a variable that nothing binds.'''

    def transform(self, function, module, context):
        return Function(function.params, Var("unbound", function.ret_type), function.ret_type)
"""
