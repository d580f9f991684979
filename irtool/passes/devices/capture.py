"""Writes the plan down: copies where devices change, annotations where the device of a part is not that around it."""

from __future__ import annotations

from ...ir import (
    Call,
    Constructor,
    Expr,
    Function,
    Let,
    Op,
    Tuple,
    Var,
    children,
    free_variables,
    post_order,
    rebuild,
    rewrite,
    substitute,
)
from ...ir.meta import VirtualDevice
from ...ops.base import call, is_call_to
from ..core.lexical_devices import fix_device, without_device
from ..core.primitive_functions import is_primitive
from .configuration import UNKNOWN
from .constraints import DeviceConstraints, callee_and_arguments


class DeviceCapturer:
    """Rewrites functions by the solution of the constraints.

    `on_device` calls of the input have done their work and go. What is left can be read lexically: an expression is on the
    device of the nearest annotation around it, which is a function's, or a fixed `on_device`.
    """

    def __init__(self, constraints: DeviceConstraints) -> None:
        self.constraints = constraints
        self.memo: dict[Expr, Expr] = {}

    def run(self, function: Function) -> Function:
        """The function with its devices written down."""
        for e in post_order(function, enter=lambda e: not is_primitive(e)):
            if isinstance(e, Function) and not is_primitive(e):
                for p in e.params:
                    self.memo[p] = self._parameter(p)
        return rewrite(function, self._leave, lambda e: self._primitive(e) if is_primitive(e) else None, self.memo)

    def _primitive(self, e: Expr) -> Expr:
        """A function that is not entered. What it uses from around it, which may have got a device, it goes on using."""
        return substitute(e, {v: self.memo[v] for v in free_variables(e) if self.memo.get(v, v) is not v})

    def _parameter(self, p: Var) -> Var:
        device = self.constraints.device(p)
        return p if p.virtual_device == device else Var(p.name, p.type_annotation, p.span, None, device)

    def _seen(self, e: Expr) -> VirtualDevice:
        """The device of the replacement of `e`, once annotations are gone."""
        return self.constraints.device(without_device(e))

    def _leave(self, old: Expr, new: Expr) -> Expr:
        if is_call_to(old, "on_device"):
            body = old.args[0]
            return self.memo[body]
        if is_call_to(old, "device_copy"):
            assert isinstance(old, Call)
            device = self.constraints.device(old)
            return _same(old, self._part(device, device, self._seen(old.args[0]), old.args[0]))
        if isinstance(old, Call):
            return self._call(old)
        if isinstance(old, Function):
            return self._function(old)
        device = self.constraints.device(old)
        if isinstance(old, Let):
            # What a variable is bound to always says where it is, so that inlining it elsewhere takes that along.
            bound = self.constraints.device(old.var)
            value = self._part(UNKNOWN, bound, self._seen(old.value), old.value)
            return rebuild(old, (value, self._part(device, device, self._seen(old.body), old.body)))
        return rebuild(old, [self._part(device, device, self._seen(k), k) for k in children(old)])

    def _call(self, old: Call) -> Expr:
        device = self.constraints.device(old)
        domains = self.constraints.domains
        domain = self.constraints.callee(old)
        callee, arguments = callee_and_arguments(old)
        function = self._part(device, device, domains.device(domain), callee)
        parts = domains.parts(domain)[:-1] or (domain,) * len(arguments)
        args = [
            self._part(device, domains.device(part), self._seen(arg), arg)
            for arg, part in zip(arguments, parts, strict=True)
        ]
        if callee is old.op:
            return rebuild(old, (function, *args))
        fields = old.args[1]
        assert isinstance(fields, Tuple)
        return rebuild(old, (old.op, function, rebuild(fields, args)))

    def _function(self, old: Function) -> Function:
        device = self.constraints.device(old)
        body = self._part(device, device, self._seen(old.body), old.body)
        params = tuple(self.memo[p] for p in old.params)
        if body is old.body and params == old.params and old.virtual_device == device:
            return old
        return Function(params, body, old.ret_type, old.type_params, old.attrs, old.span, None, device)  # type: ignore[arg-type]  # a variable becomes a variable

    def _part(self, around: VirtualDevice, needed: VirtualDevice, actual: VirtualDevice, e: Expr) -> Expr:
        """The replacement of `e`, which is on the device `actual`, at a use on `needed`, below an annotation `around` it."""
        if isinstance(e, Op | Constructor):
            return e
        result = self.memo[e]
        if actual != needed:
            result = _same(e, fix_device(result, actual))
            result = call("device_copy", result, src_virtual_device=actual, dst_virtual_device=needed, span=e.span)
        if needed != around:
            result = _same(e, fix_device(result, needed))
        return result


def _same(old: Expr, new: Expr) -> Expr:
    """`old` if `new` says the same about the same expression: a plan that is complete stays as it is."""
    if isinstance(old, Call) and isinstance(new, Call) and old.op is new.op and old.attrs == new.attrs:
        return old if all(a is b for a, b in zip(old.args, new.args, strict=True)) else new
    return new
