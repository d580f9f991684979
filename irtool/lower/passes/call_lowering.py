"""Calls of kernels become `call_lowered`: the four kinds of calls that TVM's LowerTE rewrites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...diagnostics import IrError
from ...ir import (
    Call,
    Expr,
    Function,
    GlobalVar,
    Let,
    Module,
    Op,
    Tuple,
    Var,
    children,
    post_order,
    rewrite,
    with_function,
)
from ...ir.meta import LoweredText, VirtualDevice
from ...ir.structural import structural_equal
from ...ir.target import Target
from ...ops.base import call, is_call_to
from ...passes.core.lexical_devices import without_device
from ...passes.core.primitive_functions import RESHAPE_ONLY, is_primitive, without_wrong_mark
from ...passes.devices.placed import placed
from ...tir.stmt import PrimFunc
from ..loop_nests import LoopNests
from ..targets import is_target, target_of

Kernel = Function | PrimFunc | LoweredText


class CallLowering:
    """Lowers the calls of kernels in the functions of one module.

    Attributes:
        external: functions for other compilers that are called, by their `global_symbol`.
        existing_nests: loop nests of the module that are called and did not say their target, with it.
    """

    def __init__(self, module: Module, nests: LoopNests, targets: Sequence[Target]) -> None:
        self.module = module
        self.nests = nests
        self.targets = targets
        self.external: dict[str, Function] = {}
        self.existing_nests: dict[str, PrimFunc] = {}
        self._bound: dict[Var, Kernel] = {}
        self._escaping: set[Expr] = set()
        self._devices: Mapping[Expr, VirtualDevice | None] = {}

    def run(self, f: Function) -> Function:
        """The function with its calls of kernels lowered; the `let`s of kernels are gone where only calls used them."""
        self._bound = {}
        order = post_order(f, enter=lambda e: not _is_closed(e))
        for e in reversed(order):  # outer `let`s before inner ones
            if isinstance(e, Let):
                kernel = self._kernel(e.value)
                if kernel is not None:
                    self._bound[e.var] = kernel
        if not self._bound and not any(isinstance(e, Call) and self._kernel(e.op) is not None for e in order):
            return f
        self._escaping = {k for e in order for k in _used_as_values(e) if isinstance(k, Var)}
        self._devices = placed(f)
        return rewrite(f, self._leave, lambda e: e if _is_closed(e) else None)

    def _kernel(self, e: Expr) -> Kernel | None:
        """The kernel that an expression stands for, or None."""
        result: Any = e
        if isinstance(e, GlobalVar):
            result = self.module.functions.get(e.name)
        elif isinstance(e, Var):
            result = self._bound.get(e)
        if isinstance(result, PrimFunc | LoweredText):
            return result
        if not isinstance(result, Function) or not (result.attrs.get("Extern") or is_primitive(result)):
            return None
        return None if is_call_to(result.body, "debug") else result

    def _leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, Let) and isinstance(old, Let) and old.var in self._bound and old.var not in self._escaping:
            return new.body
        if not isinstance(new, Call) or isinstance(new.op, Op):
            return new
        kernel = self._kernel(new.op)
        if kernel is None:
            return new
        if new.type_args:
            raise IrError("a kernel is not polymorphic: it cannot be called with type arguments", new.span)
        if isinstance(kernel, PrimFunc | LoweredText):
            return self._call_of_nest(kernel, new)
        copied = without_device(kernel.body)
        if is_call_to(copied, "device_copy"):
            return Call(copied.op, new.args, copied.attrs, (), new.span)
        if "Compiler" in kernel.attrs:
            return self._compiled_elsewhere(kernel, new)
        if kernel.attrs.get("Extern"):
            if not isinstance(new.op, GlobalVar):
                raise IrError(
                    "an external function must be a global function of the module: this one has no name", new.span
                )
            return _lowered_call(new.op.name, new, kernel.attrs, ())
        device = self._devices.get(old)
        name = self.nests.get(kernel, target_of(device, self.targets), device)
        return new if name is None else _lowered_call(name, new, without_wrong_mark(kernel).attrs, (name,))

    def _call_of_nest(self, kernel: PrimFunc | LoweredText, e: Call) -> Expr:
        """A call of a loop nest that the module has already."""
        if not isinstance(e.op, GlobalVar):
            return e
        name = e.op.name
        attrs: Mapping[str, Any] = {}
        if isinstance(kernel, PrimFunc):
            if not is_target(kernel.attrs.get("target")):
                target = target_of(self._devices.get(e), self.targets).record()
                kernel = self.existing_nests.setdefault(name, kernel.with_body(kernel.body, target=target))
            attrs = kernel.attrs
        return _lowered_call(name, e, attrs, (name,))

    def _compiled_elsewhere(self, kernel: Function, e: Call) -> Expr:
        """A call of a function that another compiler compiles: of its symbol."""
        stated = kernel.attrs.get("global_symbol") or (e.op.name if isinstance(e.op, GlobalVar) else "")
        if not stated:
            message = (
                f"a function for {kernel.attrs['Compiler']} lacks the attribute global_symbol, the name it is called by"
            )
            raise IrError(message, kernel.span)
        name = str(stated)
        other: Any = self.external.get(name, self.module.functions.get(name))
        if other is not None and other is not kernel and not _same(other, kernel):
            raise IrError(f"there are two different functions @{name}", kernel.span or e.span)
        self.external.setdefault(name, kernel)
        return _lowered_call(name, e, kernel.attrs, ())


def _is_closed(e: Expr) -> bool:
    """True if nothing inside of it is lowered: kernels, and external functions."""
    return isinstance(e, Function) and (is_primitive(e) or bool(e.attrs.get("Extern")))


def _used_as_values(e: Expr) -> tuple[Expr, ...]:
    """The operands of an expression except its callee."""
    return e.args if isinstance(e, Call) else children(e)


def _same(a: Any, b: Function) -> bool:
    return isinstance(a, Function) and structural_equal(with_function(a, attrs={}), with_function(b, attrs={}))


def _lowered_call(name: str, e: Call, attrs: Mapping[str, Any], nests: Sequence[str]) -> Call:
    """`call_lowered` in the place of `e`, of a kernel with these attributes; `nests` are loop nests that belong to it."""
    metadata: dict[str, Any] = {}
    if attrs.get(RESHAPE_ONLY) and "Compiler" not in attrs:
        metadata[RESHAPE_ONLY] = 1
    metadata["relay_attrs"] = {"__dict__": dict(attrs)}
    metadata["all_prim_fn_vars"] = tuple(GlobalVar(n) for n in nests)
    return call("call_lowered", GlobalVar(name), Tuple(e.args, e.span), metadata=metadata, span=e.span)
