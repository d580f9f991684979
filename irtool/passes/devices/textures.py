"""The choice of tensors for the textures of an Adreno GPU, and of the flattening of each.

A texture is a two-dimensional image of elements of four channels each. A tensor fits if it has five axes with four elements
along the last; its other axes are divided into rows and columns in one of three ways. Kernels that have implementations on
textures produce and take them; a value that any other kernel takes as well stays in a buffer, or is copied for that one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir import Call, Constant, Expr, Function, If, Let, Op, TensorType, Type, Var, children
from ...ir.meta import VirtualDevice
from ...ir.target import Target
from ...ir.types import distinct_leaves
from ...ops.base import Pattern, is_call_to
from ...trampoline import trampoline
from ..core.lexical_devices import LexicalDevices, is_fixed
from ..core.primitive_functions import is_primitive

BUFFER = "global"
TEXTURE = "global.texture"

TEXTURE_SIZE = 16384
"""Textures have fewer rows and columns than this, unless the target says otherwise (`texture_spatial_limit`)."""

_LAYOUTS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]] = {
    "relay.attrs.Conv2DAttrs": (
        ("data_layout", "kernel_layout"),
        (("NCHW4c", "OIHW4o"), ("NHWC4c", "HWOI4o"), ("NHWC4c", "HWIO4o"), ("NHWC4c", "OIHW4o")),
    ),
    "relay.attrs.Conv2DWinogradAttrs": (
        ("data_layout", "kernel_layout"),
        (("NCHW4c", "OIHW4o"), ("NCHW4c", "HWIO4o"), ("NHWC4c", "OIHW4o"), ("NHWC4c", "HWIO4o")),
    ),
    "relay.attrs.GlobalPool2DAttrs": (("layout",), (("NCHW4c",),)),
    "relay.attrs.MaxPool2DAttrs": (("layout",), (("NCHW4c",),)),
    "relay.attrs.AvgPool2DAttrs": (("layout",), (("NCHW4c",),)),
}
"""Operators, by their attributes, that have implementations on textures in some layouts only, and in which."""


@dataclass
class Scopes:
    """The memory scopes of a function.

    Attributes:
        values: the scope of the value of an expression (of each field of a tuple).
        arguments: scopes that one call needs an argument in, although the argument itself is elsewhere.
    """

    values: dict[Expr, str] = field(default_factory=dict)
    arguments: dict[tuple[Expr, Call], str] = field(default_factory=dict)


def find_scopes(function: Function, target: Target | None) -> Scopes:
    """The scopes of everything in a function of which something is to be said."""
    finder = _Finder(target)
    trampoline(finder.walk(function))
    return finder.finish()


Steps = Generator[Any, Any, None]


class _Finder:
    """Walks from results to arguments, so that the users of a value are mostly known when it is met.

    Attributes:
        produced: the scope that an expression gives its value in.
        consumers: the scopes that its users ask for.
        parameters: the parameters of kernels that an expression is the argument of.
        accepted: the scope in which the parameter of a kernel can be a texture, and the calls with these.
    """

    def __init__(self, target: Target | None) -> None:
        self.target = target
        self.devices = LexicalDevices()
        self.seen: set[Expr] = set()
        self.kernels: dict[Function, bool] = {}
        self.produced: dict[Expr, str] = {}
        self.consumers: dict[Expr, list[str]] = {}
        self.parameters: dict[Expr, list[Var]] = {}
        self.accepted: dict[Var, tuple[str, list[Call]]] = {}

    def walk(self, e: Expr) -> Steps:
        if e in self.seen:
            return
        self.seen.add(e)
        if is_fixed(e):
            assert isinstance(e, Call)
            with self.devices.inside(e.attrs.virtual_device):
                yield self.walk(e.args[0])
        elif isinstance(e, Call):
            yield self.call(e)
        elif isinstance(e, Constant):
            self.constant(e)
        elif isinstance(e, Function):
            if not e.attrs.get("Primitive"):
                for p in e.params:
                    self.devices.bind(p, p.virtual_device)
                with self.devices.inside(e.virtual_device):
                    yield self.walk(e.body)
        elif isinstance(e, Let):
            while isinstance(e, Let):
                self.devices.bind(e.var, self.devices.of(e.value))
                yield self.walk(e.value)
                e = e.body
            yield self.walk(e)
        else:
            for k in children(e) if not isinstance(e, If) else (e.cond, e.true_branch, e.false_branch):
                yield self.walk(k)

    def call(self, e: Call) -> Steps:
        if isinstance(e.op, Function) and is_primitive(e.op):
            on_textures = self.on_textures(e.op)
            if on_textures:
                self.kernel(e, e.op)
            for arg in map(without_annotation, e.args):
                self.consumers.setdefault(arg, []).append(TEXTURE if on_textures else BUFFER)
        else:
            to = e.attrs.dst_virtual_device if is_call_to(e, "device_copy") else None
            if to is not None and to.memory_scope:
                self.produced[e] = to.memory_scope
            yield self.walk(e.op)
        for arg in e.args:
            yield self.walk(arg)
        for arg in map(without_annotation, e.args):
            if arg in self.consumers and _common(self.consumers[arg]) != TEXTURE:
                self.produced.pop(arg, None)

    def kernel(self, e: Call, kernel: Function) -> None:
        """A call of a kernel that works on textures: scopes of its result and of its parameters."""
        device = self.devices.of(e)
        type = e.checked_type
        self.produced[e] = self.scope(type, device) if isinstance(type, TensorType) else TEXTURE
        for arg, param in zip(map(without_annotation, e.args), kernel.params, strict=True):
            self.parameters.setdefault(arg, []).append(param)
            for t in distinct_leaves(param.known_type):
                scope = self.scope(t, device) if isinstance(t, TensorType) else BUFFER
                if scope != BUFFER:
                    calls = self.accepted[param][1] if param in self.accepted else []
                    self.accepted[param] = (scope, [*calls, e] if e not in calls else calls)

    def constant(self, e: Constant) -> None:
        if e not in self.consumers:
            return
        if _common(self.consumers[e]) == BUFFER:
            self.produced[e] = BUFFER
            return
        scope = self.scope(e.checked_type, self.devices.of(e))
        if scope != BUFFER:
            self.produced[e] = scope

    def on_textures(self, kernel: Function) -> bool:
        """True if a kernel has an implementation on textures: the operator that its arguments reach first decides."""
        if kernel not in self.kernels:
            uses_texture = False
            seen: set[Expr] = set()
            stack: list[Expr] = [kernel.body]
            while stack:
                e = stack.pop()
                if e in seen:
                    continue
                seen.add(e)
                if isinstance(e, Call):
                    uses_texture = _supports_textures(e)
                    stack.extend(reversed(e.args))
                else:
                    stack.extend(reversed(children(e)))
            self.kernels[kernel] = uses_texture
        return self.kernels[kernel]

    def scope(self, type: Type | None, device: VirtualDevice | None) -> str:
        """The scope that a tensor fits into: the flattening whose rows and columns differ least, or a buffer."""
        if device is None or not isinstance(type, TensorType) or len(type.shape) != 5:
            return BUFFER
        extents = [d for d in type.shape if isinstance(d, int)]
        if len(extents) != 5 or extents[4] != 4:
            return BUFFER
        a, b, c, d, _ = extents
        limit = self.texture_size(device)
        best: tuple[int, str] | None = None
        for rows, columns, name in ((a * b * c, d, ""), (a * b, c * d, "-nhwc"), (a, b * c * d, "-weight")):
            difference = abs(rows - columns)
            if rows < limit and columns < limit and (best is None or difference <= best[0]):
                best = (difference, name)
        return BUFFER if best is None else TEXTURE + best[1]

    def texture_size(self, device: VirtualDevice) -> int:
        attrs = device.target.fields.get("attrs") if device.target is not None else None
        stated = (attrs or {}).get("texture_spatial_limit")
        if stated is None and self.target is not None:
            stated = self.target.option("texture_spatial_limit") or None
        return TEXTURE_SIZE if stated is None else int(stated)

    def finish(self) -> Scopes:
        """The scopes, when everything has been seen."""
        for e, asked in self.consumers.items():
            if e in self.produced and _common(asked) not in self.produced[e]:
                self.produced[e] = _common(asked)
        scopes = Scopes({p: scope for p, (scope, _) in self.accepted.items()})
        scopes.values.update(self.produced)
        for e, asked in self.consumers.items():
            if TEXTURE in asked:
                scopes.values.setdefault(e, BUFFER)
        for arg, params in self.parameters.items():
            if arg not in scopes.values:
                continue
            for p in params:
                scopes.values[p] = scopes.values[arg]
                if scopes.values[arg] == BUFFER and p in self.accepted:
                    # The kernel takes a texture: the value is copied into one for it.
                    scopes.values[p], calls = self.accepted[p]
                    scopes.arguments.update({(arg, call): scopes.values[p] for call in calls})
        return scopes


def _supports_textures(e: Call) -> bool:
    known = _LAYOUTS.get(getattr(e.attrs, "attrs_name", ""))
    if known is not None:
        names, layouts = known
        return tuple(getattr(e.attrs, name) for name in names) in layouts
    if not isinstance(e.op, Op):
        return False
    pattern = e.op.operator.pattern
    is_simple = pattern is not None and pattern <= Pattern.INJECTIVE
    return is_simple and isinstance(e.checked_type, TensorType) and len(e.checked_type.shape) == 5


def without_annotation(e: Expr) -> Expr:
    """The expression inside fixed `on_device` annotations."""
    while is_fixed(e):
        e = e.args[0]
    return e


def _common(asked: Sequence[str]) -> str:
    """The scope that suits all users."""
    return TEXTURE if all(TEXTURE in scope for scope in asked) else BUFFER
