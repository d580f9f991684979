"""AnnotateMemoryScope: says which tensors go to a special memory of the device."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from ..ir import Call, Clause, Constant, Expr, Function, Let, Match, Module, Var, children, rebuild, substitute
from ..ir.meta import MetaNode, VirtualDevice
from ..ir.target import Target
from ..ops.base import call
from ..trampoline import trampoline
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.lexical_devices import LexicalDevices, is_fixed, known
from .devices.configuration import UNKNOWN, device_type_of, mentioned_devices
from .devices.textures import BUFFER, Scopes, find_scopes, without_annotation


@register_pass("AnnotateMemoryScope", level=2, required=("InferType",))
@dataclass(frozen=True)
class AnnotateMemoryScope(FunctionPass):
    """Annotates values with a memory scope if another memory than the device's default one is faster for them.

    ::

        %1 = %0(%x);                     where %0 is a convolution that works on textures, and its result fits into one
            ⇒  %1 = on_device(%0(%x), virtual_device=VirtualDevice(…, memory_scope="global.texture"), constrain_result=True);

    Only textures of Adreno GPUs are such memories: the pass does nothing unless all devices of the function have the
    target `opencl -device=adreno` (or have none, and this is the target that code is made for). Kernels whose operators
    work on textures (convolutions and pools in layouts with four channels in the last axis; elementwise operators on five
    axes) then produce and take textures, if the tensors fit: `global.texture`, `global.texture-nhwc` and
    `global.texture-weight` say which axes are the rows. Parameters of the function itself are in buffers (`global`), and
    where a value in a buffer goes into a kernel that takes a texture, a `device_copy` makes one.

    Runs on programs with kernels (FuseOps) and devices (PlanDevices).
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if not _is_adreno(function, context.target):
            return function
        scopes = find_scopes(function, context.target)
        if not scopes.values:
            return function
        return _Annotator(scopes).run(function)


def _is_adreno(function: Function, target: Target | None) -> bool:
    devices = [d for d in mentioned_devices(Module({"main": function})) if known(d) is not None]
    names = {_target_name(d, target) for d in devices}
    return names - {""} == {"opencl.adreno"}


def _target_name(device: VirtualDevice, target: Target | None) -> str:
    """`opencl.adreno`: the kind of the device's target and the hardware that it names; empty if it names none."""
    if device.target is not None:
        kind = device.target.fields.get("kind", "")
        kind = kind.fields.get("name", "") if isinstance(kind, MetaNode) else kind
        hardware = (device.target.fields.get("attrs") or {}).get("device", "")
    elif target is not None and device_type_of(target.kind) == device.device_type:
        kind, hardware = target.kind, target.option("device")
    else:
        return ""
    return f"{kind}.{hardware}" if hardware else ""


Steps = Generator[Any, Any, Expr]


class _Annotator:
    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.devices = LexicalDevices()
        self.memo: dict[Expr, Expr] = {}
        self.known: dict[VirtualDevice, VirtualDevice] = {}

    def device(self, device: VirtualDevice, scope: str) -> VirtualDevice:
        """The device with this memory scope; one object for all equal ones."""
        device = replace(device, memory_scope=scope)
        return self.known.setdefault(device, device)

    def run(self, function: Function) -> Function:
        return trampoline(self.visit(function))

    def visit(self, e: Expr) -> Steps:
        done = self.memo.get(e)
        if done is None:
            done = self.memo[e] = yield self.fresh(e)
        return done

    def fresh(self, e: Expr) -> Steps:
        if is_fixed(e):
            assert isinstance(e, Call)
            with self.devices.inside(e.attrs.virtual_device):
                inner = yield self.visit(e.args[0])
            # An annotation inside says the same and the scope besides.
            if not is_fixed(inner):
                return rebuild(e, (e.op, inner))
            return e if inner.args[0] is e.args[0] and inner.attrs == e.attrs else inner
        if isinstance(e, Function):
            return (yield self.function(e))
        if isinstance(e, Call):
            return (yield self.call(e))
        if isinstance(e, Constant):
            return self.annotated(e, e)
        if isinstance(e, Let):
            return (yield self.let(e))
        parts = []
        for k in children(e):
            parts.append((yield self.visit(k)))
        if isinstance(e, Match):
            if all(a is b for a, b in zip(parts, children(e), strict=True)):
                return e
            clauses = tuple(Clause(c.pattern, b, c.span) for c, b in zip(e.clauses, parts[1:], strict=True))
            return Match(parts[0], clauses, e.complete, e.span)
        return rebuild(e, parts)

    def let(self, e: Expr) -> Steps:
        lets = []
        while isinstance(e, Let):
            self.devices.bind(e.var, self.devices.of(e.value))
            lets.append((e, (yield self.visit(e.value))))
            e = e.body
        body = yield self.visit(e)
        for let, value in reversed(lets):
            body = rebuild(let, (value, body))
        return body

    def call(self, e: Call) -> Steps:
        op = yield self.visit(e.op)
        args = []
        for arg in e.args:
            new = yield self.visit(arg)
            scope = self.scopes.arguments.get((without_annotation(arg), e))
            if scope is not None:
                here = self.devices.of(e) or UNKNOWN
                target = self.device(here, scope)
                copy = call("device_copy", new, src_virtual_device=here, dst_virtual_device=target, span=arg.span)
                new = call("on_device", copy, virtual_device=target, constrain_result=True, span=arg.span)
            args.append(new)
        return self.annotated(e, rebuild(e, (op, *args)))

    def annotated(self, old: Expr, new: Expr) -> Expr:
        """`new` as being in the scope that was found for `old`, or the one that is said around it."""
        here = self.devices.of(old) or UNKNOWN
        scope = self.scopes.values.get(old) or (here.memory_scope if isinstance(old, Call) else "")
        if not scope:
            return new
        where = self.device(here, scope)
        return call("on_device", new, virtual_device=where, constrain_result=True, span=old.span)

    def function(self, f: Function) -> Steps:
        if f.attrs.get("Primitive"):
            return self._with_params(f, f.body, {p: self.scopes.values.get(p, BUFFER) for p in f.params}, BUFFER)
        for p in f.params:
            self.devices.bind(p, p.virtual_device)
        with self.devices.inside(f.virtual_device):
            body = yield self.visit(f.body)
        return self._with_params(f, body, dict.fromkeys(f.params, BUFFER), "")

    def _with_params(self, f: Function, body: Expr, scopes: dict[Var, str], silent: str) -> Function:
        """The function with scopes noted on its parameters, but not `silent` ones."""
        fresh: dict[Var, Var] = {}
        for p, scope in scopes.items():
            device = self.device(p.virtual_device or UNKNOWN, scope)
            if scope != silent and device != p.virtual_device:
                fresh[p] = Var(p.name, p.type_annotation, p.span, None, device)
        if not fresh:
            return f if body is f.body else rebuild(f, (body,))
        params = tuple(fresh.get(p, p) for p in f.params)
        body = substitute(body, fresh)
        return Function(params, body, f.ret_type, f.type_params, f.attrs, f.span, None, f.virtual_device)
