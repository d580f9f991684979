"""Calls of kernels: of primitive functions, and of lowered ones through `call_lowered`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...ir import Call, Expr, Function, GlobalVar, Module, Tuple, Var
from ...ir.meta import MetaNode
from ...ops.base import is_call_to
from .primitive_functions import RESHAPE_ONLY, is_primitive, without_wrong_mark


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel.

    Attributes:
        function: the callee: a global name, a primitive function, or a variable that stands for one.
        args: the arguments.
        attrs: the attributes of the primitive function.
        metadata: notes of lowering about the kernel.
    """

    function: Expr
    args: tuple[Expr, ...]
    attrs: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @property
    def only_reshapes(self) -> bool:
        """True if the kernel gives its first argument another shape and does nothing else."""
        return bool(self.attrs.get(RESHAPE_ONLY))


def kernel_call(e: Expr, module: Module, bound: Mapping[Var, Expr]) -> KernelCall | None:
    """The kernel that `e` calls, if any; `bound` has the primitive functions that are values of variables."""
    if is_call_to(e, "call_lowered"):
        assert isinstance(e, Call)
        if not isinstance(e.args[0], GlobalVar) or not isinstance(e.args[1], Tuple):
            return None
        metadata = e.attrs.metadata if isinstance(e.attrs.metadata, Mapping) else {}
        return KernelCall(e.args[0], e.args[1].fields, _fields(metadata.get("relay_attrs")), metadata)
    if not isinstance(e, Call):
        return None
    function: Any = e.op
    if isinstance(function, GlobalVar):
        function = module.functions.get(function.name)
    elif isinstance(function, Var):
        function = bound.get(function)
    if not isinstance(function, Function) or not is_primitive(function):
        return None
    return KernelCall(e.op, e.args, without_wrong_mark(function).attrs, {})


def _fields(attrs: Any) -> Mapping[str, Any]:
    """Attributes, however the text spells them: a record of its own, or under the key `__dict__`."""
    while True:
        if isinstance(attrs, MetaNode):
            attrs = attrs.fields
        elif isinstance(attrs, Mapping) and isinstance(attrs.get("__dict__"), MetaNode | Mapping):
            attrs = attrs["__dict__"]
        else:
            return attrs if isinstance(attrs, Mapping) else {}
