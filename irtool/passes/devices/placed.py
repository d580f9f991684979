"""The device of every expression of a function, by the annotations around it."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import Call, Expr, Function, GlobalVar, Let, Op, Var, children
from ...ir.meta import VirtualDevice
from ..core.lexical_devices import is_fixed, known
from ..core.primitive_functions import is_primitive


def placed(function: Function) -> Mapping[Expr, VirtualDevice | None]:
    """The device of each expression of a function after device planning; None if no annotation determines it.

    Parameters and functions say so themselves, `on_device` that fixes its value says it of what is inside, a variable is where
    the value that a `let` binds to it is, and everything else is where what is around it is. Of an expression that is used in
    several places the first one counts. Primitive functions are not entered.
    """
    devices: dict[Expr, VirtualDevice | None] = {}
    bound: dict[Var, VirtualDevice | None] = {}

    def of(e: Expr, around: VirtualDevice | None) -> VirtualDevice | None:
        if is_fixed(e):
            return known(e.attrs.virtual_device) or around
        if isinstance(e, Var):
            return bound.get(e)
        if isinstance(e, Function) and not is_primitive(e):
            return known(e.virtual_device) or around
        return around

    stack: list[tuple[Expr, VirtualDevice | None]] = [(function, None)]
    while stack:
        e, around = stack.pop()
        if e in devices or isinstance(e, Op | GlobalVar):
            continue
        devices[e] = here = of(e, around)
        if is_primitive(e) and e is not function:
            continue
        if isinstance(e, Function):
            for p in e.params:
                bound[p] = devices[p] = known(p.virtual_device) or here
        if isinstance(e, Let):
            bound[e.var] = devices[e.var] = of(e.value, here)
        inside = here if is_fixed(e) or isinstance(e, Function) else around
        kids = (e.args[0],) if isinstance(e, Call) and is_fixed(e) else children(e)
        stack.extend((k, inside) for k in reversed(kids))
    return devices
