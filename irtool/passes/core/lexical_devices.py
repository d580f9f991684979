"""The device that an expression is on, by the annotations around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeGuard

from ...ir import Call, Constructor, Expr, Function, GlobalVar, Op, Var
from ...ir.meta import VirtualDevice
from ...ops.base import call, is_call_to

Device = VirtualDevice | None


def known(device: Device) -> Device:
    """The device, or None if it says nothing."""
    return None if device is None or device.is_unconstrained else device


def without_device(e: Expr) -> Expr:
    """`e` without the device annotations around it."""
    while is_call_to(e, "on_device"):
        e = e.args[0]
    return e


def is_fixed(e: Expr) -> TypeGuard[Call]:
    """True if `e` is an `on_device` that says where both its body and its value are."""
    return is_call_to(e, "on_device") and e.attrs.constrain_body and e.attrs.constrain_result


def fix_device(e: Expr, device: Device) -> Expr:
    """`e` annotated as being on `device`; as it is where there is nothing to say, or where its binding says it.

    An annotation directly below is merged into the new one.
    """
    if device is None or isinstance(e, Op | Constructor | GlobalVar | Var | Function):
        return e
    if is_call_to(e, "on_device"):
        assert isinstance(e, Call)
        inner = e.attrs.constrain_body
        return call("on_device", e.args[0], virtual_device=device, constrain_result=True, constrain_body=inner)
    return call("on_device", e, virtual_device=device, constrain_result=True, constrain_body=True)


class LexicalDevices:
    """Follows a walk from the outside to the inside: enter functions, annotations and `let`s as they come."""

    def __init__(self) -> None:
        self._around: list[Device] = []
        self._bound: dict[Var, Device] = {}

    @contextmanager
    def inside(self, device: Device) -> Iterator[None]:
        """Puts all expressions walked in the block on that device, unless an inner annotation has another."""
        device = known(device)
        if device is None:
            yield
            return
        self._around.append(device)
        yield
        self._around.pop()

    def bind(self, var: Var, device: Device) -> None:
        """The variable stands for something on that device."""
        if known(device) is not None:
            self._bound[var] = device

    def of(self, e: Expr) -> Device:
        """The device of `e` at this point of the walk."""
        if is_fixed(e):
            return known(e.attrs.virtual_device)
        if isinstance(e, Var):
            return self._bound.get(e)
        if isinstance(e, Function) and not e.attrs.get("Primitive"):
            return known(e.virtual_device)
        if isinstance(e, GlobalVar):
            return None
        return self._around[-1] if self._around else None
