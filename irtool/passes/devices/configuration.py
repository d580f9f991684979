"""The devices that a module is planned for: which one is the host, which one kernels run on unless something is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...diagnostics import UsageError, nearest
from ...ir import Call, Function, Module, post_order
from ...ir.meta import MetaNode, VirtualDevice
from ...ir.target import Target
from ...ir.target_kind import target_kinds
from ...ir.tvm_target_kinds import KINDS
from ..core.context import PassContext

UNKNOWN = VirtualDevice()
"""The device of which nothing is known."""

DEVICE_TYPES = {
    "cpu": 1,
    "cuda": 2,
    "gpu": 2,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "vpi": 9,
    "rocm": 10,
    "ext_dev": 12,
    "hexagon": 14,
    "webgpu": 15,
}
"""TVM's numbers of device types."""

_HOST_KINDS = ("c", "llvm", "hybrid")
"""Kinds of targets that make code for the CPU."""


def read_device(text: str) -> VirtualDevice:
    """`cpu`, or `cuda:1` for a device other than the first. Raises UsageError for anything else."""
    match = re.fullmatch(r"(\w+)(?::(\d+))?", text)
    if match is None:
        raise UsageError(f"cannot read the device {text!r}", help="write for example cpu or cuda:1")
    if match[1] not in DEVICE_TYPES:
        raise UsageError(f"unknown device {match[1]}", help=nearest(match[1], DEVICE_TYPES))
    return VirtualDevice(DEVICE_TYPES[match[1]], int(match[2] or 0))


def device_type_of(kind: str) -> int:
    """The device type that a kind of target makes code for; -1 if it is not known."""
    if kind in KINDS:
        return 1 if kind in _HOST_KINDS else DEVICE_TYPES.get(kind, -1)
    outside = target_kinds.find(kind)
    return DEVICE_TYPES.get(kind, -1) if outside is None else outside.device_type


def show_device(device: VirtualDevice) -> str:
    """A device in a message: `cuda:1 (scope global.texture)`."""
    names = {number: name for name, number in reversed(DEVICE_TYPES.items())}
    text = names.get(
        device.device_type, f"device type {device.device_type}" if device.device_type > 0 else "any device"
    )
    if device.virtual_device_id > 0:
        text += f":{device.virtual_device_id}"
    return f"{text} (scope {device.memory_scope})" if device.memory_scope else text


def join(a: VirtualDevice, b: VirtualDevice) -> VirtualDevice | None:
    """The device that both describe, or None if they contradict each other."""
    if a is b or a == b:
        return a
    fields: list[Any] = []
    for x, y, nothing in (
        (a.device_type, b.device_type, -1),
        (a.virtual_device_id, b.virtual_device_id, -1),
        (a.target, b.target, None),
        (a.memory_scope, b.memory_scope, ""),
    ):
        if x != nothing and y != nothing and x != y:
            return None
        fields.append(y if x == nothing else x)
    return VirtualDevice(*fields)


def fill(device: VirtualDevice, default: VirtualDevice) -> VirtualDevice:
    """`device`, with its open fields taken from `default` (the target only if device types agree)."""
    kind = default.device_type if device.device_type < 0 else device.device_type
    target = device.target
    if target is None and kind == default.device_type:
        target = default.target
    return VirtualDevice(
        kind,
        default.virtual_device_id if device.virtual_device_id < 0 else device.virtual_device_id,
        target,
        device.memory_scope or default.memory_scope,
    )


class Configuration:
    """The devices of a module.

    Attributes:
        host: where shapes and sizes are computed.
        default: where kernels run that nothing is said about.
    """

    def __init__(
        self, host: VirtualDevice, default: VirtualDevice, module: Module, target: Target | None = None
    ) -> None:
        self._interned: dict[VirtualDevice, VirtualDevice] = {UNKNOWN: UNKNOWN}
        annotated = list(dict.fromkeys(mentioned_devices(module)))
        hosts = (d.target.fields.get("host") for d in annotated if d.target is not None)
        host_target = next((t for t in hosts if isinstance(t, MetaNode)), None)
        self._targets: dict[int, MetaNode] = {}
        for d in annotated:
            if d.target is not None and d.target != host_target:
                self._targets.setdefault(d.device_type, d.target)
        if host_target is not None and host.target is None:
            host = VirtualDevice(host.device_type, host.virtual_device_id, host_target, host.memory_scope)
            as_device = MetaNode("Target", {**host_target.fields, "host": host_target})
            self._targets.setdefault(host.device_type, as_device)
        if target is not None:
            self._targets.setdefault(device_type_of(target.kind), target.record())
        for d in annotated:
            self.canonical(d)
        self.host = self.canonical(host)
        self.default = self.canonical(default)

    def canonical(self, device: VirtualDevice | None) -> VirtualDevice:
        """The one object that stands for all equal devices; one without a target gets that of its type, if there is one."""
        device = device or UNKNOWN
        if device.target is None and device.device_type in self._targets:
            target = self._targets[device.device_type]
            device = VirtualDevice(device.device_type, device.virtual_device_id, target, device.memory_scope)
        return self._interned.setdefault(device, device)


def configure(module: Module, context: PassContext, host: str, default: str) -> Configuration:
    """The configuration from a pass's options, the option `relay.fallback_device_type` and the target, in this order."""
    if default:
        chosen = read_device(default)
    elif context.option("relay.fallback_device_type", 0):
        chosen = VirtualDevice(context.option("relay.fallback_device_type", 0), 0)
    elif context.target is not None and device_type_of(context.target.kind) > 0:
        chosen = VirtualDevice(device_type_of(context.target.kind), 0)
    else:
        chosen = VirtualDevice(1, 0)
    return Configuration(read_device(host), chosen, module, context.target)


def mentioned_devices(module: Module) -> Iterator[VirtualDevice]:
    """Every device that a module's annotations name, in order."""
    for function in module.relay_functions.values():
        for e in post_order(function):
            if isinstance(e, Function):
                devices = [p.virtual_device for p in e.params] + [e.virtual_device]
            elif isinstance(e, Call) and hasattr(e.attrs, "__dataclass_fields__"):
                devices = [getattr(e.attrs, name) for name in e.attrs.__dataclass_fields__ if "device" in name]
            else:
                continue
            yield from (d for d in devices if isinstance(d, VirtualDevice))
