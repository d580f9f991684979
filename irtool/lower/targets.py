"""The targets of a module: which ones there are, which one a device's code is for, which functions are for which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard

from ..ir import Module
from ..ir.meta import MetaNode, VirtualDevice
from ..ir.target import Target
from ..ir.tvm_target_kinds import KINDS
from ..passes.devices.configuration import DEVICE_TYPES, device_type_of, mentioned_devices
from ..tir.stmt import PrimFunc

DEFAULT = "c"
"""The kind of target that code is for where nothing says."""


def target_of(device: VirtualDevice | None, targets: Iterable[Target]) -> Target:
    """The target that code for a device is for: its own; else the first of `targets` that is for devices of its type; else the
    plain one of its type. Where nothing is known of the device, the first of `targets`."""
    known = list(targets)
    if device is not None and is_target(device.target):
        return Target.from_record(device.target)
    if device is None or device.device_type < 0:
        return known[0] if known else Target(DEFAULT)
    for target in known:
        if device_type_of(target.kind) == device.device_type:
            return target
    if device.device_type == DEVICE_TYPES["cpu"]:
        return known[0].default_host() if known else Target(DEFAULT)
    kinds_of_device = (k for k in KINDS if device_type_of(k) == device.device_type)
    return Target(next(kinds_of_device, "ext_dev"))


def targets_of(module: Module, target: Target | None = None) -> list[Target]:
    """The targets that a module is for, without repetition: the given one, those of its devices, those of loop nests."""
    records: list[MetaNode | None] = [] if target is None else [target.record()]
    records += [d.target for d in mentioned_devices(module)]
    records += [f.attrs.get("target") for f in module.functions.values() if isinstance(f, PrimFunc)]
    return list(dict.fromkeys(Target.from_record(r) for r in records if is_target(r)))


def is_target(record: Any) -> TypeGuard[MetaNode]:
    """True if it is a record of a target that the text has."""
    return isinstance(record, MetaNode) and record.type_key == "Target" and record.missing is None


def per_target_modules(module: Module, target: Target | None = None) -> dict[Target, Module]:
    """A lowered module split by the targets of its functions, in order of their names.

    Loop nests are for the target in their attributes. The Relay functions, which call them, are for the host: that of `target`,
    or of the first target that is named; where that is the target of loop nests, too, they are in one module. Functions that
    are only declared, or compiled elsewhere, are with the Relay functions. Each module has the attributes of the whole.
    """
    named = targets_of(module, target)
    host = host_of(named)
    groups: dict[Target, dict[str, Any]] = {}
    for name, f in sorted(module.functions.items()):
        record = f.attrs.get("target") if isinstance(f, PrimFunc) else None
        if isinstance(f, PrimFunc):
            owner = Target.from_record(record) if is_target(record) else target_of(None, named)
        else:
            owner = host
        groups.setdefault(owner, {})[name] = f
    return {t: Module(fs, module.type_definitions, module.attrs, module.metadata) for t, fs in groups.items()}


def host_of(targets: Iterable[Target]) -> Target:
    """The host of the kernels for these targets: that of the first one with a host, or the default of the first."""
    known = list(targets)
    for t in known:
        if t.host is not None:
            return t.host
    return known[0].default_host() if known else Target(DEFAULT)
