"""Targets of code, in TVM's notation: `llvm -keys=arm_cpu,cpu -mcpu=cortex-a72`.

Passes read `kind` and `keys` (layouts and legalizations differ by them); the C backend reads `mcpu`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..diagnostics import UsageError, nearest
from .meta import MetaNode
from .target_kind import TargetKind, target_kinds
from .target_tags import TAGS
from .tvm_target_kinds import DEFAULTS, KINDS


@dataclass(frozen=True, init=False)
class Target:
    """A target: its kind, the keys that strategies are looked up by, its options, the tag it was named by, and its host.

    `Target("cuda -arch=sm_75", host="llvm")`, `Target({"kind": "llvm", "mcpu": "skylake"})`, `Target("nvidia/nvidia-t4")`.
    """

    kind: str
    keys: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    tag: str = ""
    host: Target | None = None

    def __init__(
        self, target: str | Mapping[str, Any] | Target, host: str | Mapping[str, Any] | Target | None = None
    ) -> None:
        """Reads a target as `parse` does; `host` is the target of the code around its kernels.

        Raises UsageError for an unknown kind or tag, a malformed option, or a second host that differs.
        """
        options = _read(target)
        other = None if host is None else _read(host)
        own = options.pop("host", None)
        if own is not None and other is not None and Target(own) != Target(other):
            raise UsageError(f"the target has the host {Target(own)} already: it cannot have {Target(other)}")
        options["host"] = own or other
        self._fill(options)

    def _fill(self, config: dict[str, Any]) -> None:
        config = dict(config)
        kind, host, tag = config.pop("kind"), config.pop("host", None), config.pop("tag", "")
        known = _keys_of(kind)
        if known is None:
            names = [*KINDS, *TAGS, *target_kinds.outside()]
            raise UsageError(f"unknown target {kind}", help=nearest(str(kind), names))
        keys = _words(config.pop("keys", ()))
        if "device" in config:
            keys.insert(0, str(config["device"]))
        keys += [k for k in known if k not in keys]
        options = sorted((str(k), _value(k, v)) for k, v in config.items())
        for name, value in (
            ("kind", kind),
            ("keys", tuple(dict.fromkeys(keys))),
            ("options", tuple(options)),
            ("tag", str(tag)),
            ("host", Target(host) if host is not None else None),
        ):
            object.__setattr__(self, name, value)

    @staticmethod
    def parse(target: str | Mapping[str, Any] | Target) -> Target:
        """A target from the notation above, its JSON, a dictionary of its fields, or a tag such as `nvidia/nvidia-t4`.

        Raises UsageError for an unknown kind or tag, or a malformed option.
        """
        return target if isinstance(target, Target) else Target(target)

    def option(self, name: str, default: str = "") -> str:
        """The value of an option, or `default`."""
        return dict(self.options).get(name, default)

    @property
    def attributes(self) -> dict[str, str | int]:
        """The options as in TVM: with its defaults, and numbers as numbers."""
        options: dict[str, str | int] = {k: int(v) if re.fullmatch(r"-?\d+", v) else v for k, v in self.options}
        return {**_defaults_of(self.kind), **options}

    def of_its_kind(self) -> TargetKind | None:
        """The target as the class of its kind, if that comes from outside; its options are the fields.

        Raises UsageError for an option that the class does not have, or a value of another type.
        """
        cls = target_kinds.find(self.kind) if self.kind not in KINDS else None
        return None if cls is None else cls.with_options(dict(self.options))

    def record(self) -> MetaNode:
        """The target as TVM's record of it. Its host, where none is given, is itself if it is for the CPU, else LLVM."""
        fields = {"kind": self.kind, "tag": self.tag, "keys": self.keys, "attrs": self.attributes}
        if self.host is not None:
            host_fields = {**self.host.record().fields}
        elif _keys_of(self.kind) == ("cpu",):
            host_fields = fields
        else:
            host_fields = {"kind": "llvm", "tag": "", "keys": KINDS["llvm"], "attrs": {}}
        return MetaNode("Target", {**fields, "host": MetaNode("Target", {**host_fields, "host": None})})

    @classmethod
    def from_record(cls, record: MetaNode) -> Target:
        """The target that a record of TVM stands for, as texts and devices have them; `record()` gives it back completed.

        Raises UsageError for a record of an unknown kind, or one that a text refers to and does not hold.
        """
        if record.type_key != "Target" or record.missing is not None:
            raise UsageError(f"{record!r} says nothing of a target")
        fields = record.fields
        kind: Any = fields.get("kind", "")
        kind = kind.fields.get("name", "") if isinstance(kind, MetaNode) else kind
        target_fields = {
            str(k): v.fields.get("value", v) if isinstance(v, MetaNode) else v for k, v in _entries(fields)
        }
        usual = _defaults_of(kind)
        unusual = {k: v for k, v in target_fields.items() if usual.get(k) != v}
        host = fields.get("host")
        # The host that every target of the kind has is not one that was asked for.
        own = cls.from_record(host) if isinstance(host, MetaNode) else None
        target = cls({**unusual, "kind": kind, "keys": tuple(fields.get("keys") or ()), "tag": fields.get("tag") or ""})
        return target if own is None or target.default_host() == own else cls(target, own)

    def default_host(self) -> Target:
        """The default host of its kernels: itself if it is for the CPU, else LLVM."""
        if _keys_of(self.kind) == ("cpu",):
            return Target({k: v for k, v in _read(self).items() if k != "host"})
        return Target("llvm")

    def __str__(self) -> str:
        parts = [self.kind]
        if self.keys != _keys_of(self.kind):
            parts.append(f"-keys={','.join(self.keys)}")
        return " ".join(parts + [f"-{k}={v}" for k, v in self.options])

    def __repr__(self) -> str:
        return f"Target({str(self)!r}{f', host={str(self.host)!r}' if self.host is not None else ''})"


def _entries(fields: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    attrs = fields.get("attrs")
    return list(attrs.items()) if isinstance(attrs, Mapping) else []


def _keys_of(kind: Any) -> tuple[str, ...] | None:
    """The keys of a kind of target; None if there is no such kind."""
    known = KINDS.get(kind)
    if known is None and isinstance(kind, str) and kind.isidentifier():
        cls = target_kinds.find(kind)
        return None if cls is None else cls.keys
    return known


def _defaults_of(kind: str) -> dict[str, Any]:
    if kind in KINDS:
        return DEFAULTS.get(kind, {})
    cls = target_kinds.find(kind)
    return {} if cls is None else cls.defaults()


def _read(target: Any) -> dict[str, Any]:
    """The fields of a target, with those of a tag as defaults."""
    if isinstance(target, Target):
        result: dict[str, Any] = {"kind": target.kind, "keys": target.keys, **dict(target.options)}
        return {**result, "tag": target.tag, **({"host": target.host} if target.host is not None else {})}
    if isinstance(target, Mapping):
        return _read_mapping(target)
    if not isinstance(target, str):
        raise UsageError(f"a target is a text, a dictionary or a Target, not {type(target).__name__} {target!r:.40}")
    if target.lstrip().startswith("{"):
        try:
            read = json.loads(target)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the target is no JSON: {error}") from None
        return _read_mapping(read)
    if target.strip() in TAGS:
        return {**TAGS[target.strip()], "tag": target.strip()}
    try:
        parts = shlex.split(target)
    except ValueError as error:
        raise UsageError(f"cannot read the target {target}: {error}") from None
    if not parts:
        raise UsageError("the target is empty", help="write for example --target=c or --target=llvm")
    if "/" in parts[0] and parts[0] not in TAGS:
        raise UsageError(f"unknown target tag {parts[0]}", help=nearest(parts[0], TAGS))
    result = dict(TAGS.get(parts[0], {"kind": parts[0]}))
    if parts[0] in TAGS:
        result["tag"] = parts[0]
    for word in parts[1:]:
        match = re.fullmatch(r"-{1,2}([\w-]+)(?:=(.*))?", word)
        if match is None:
            raise UsageError(f"cannot read the target option {word}", help="options look like -mcpu=native")
        result[match[1]] = match[2] if match[2] is not None else "1"
    return result


def _read_mapping(fields: Mapping[str, Any]) -> dict[str, Any]:
    if "tag" in fields and "kind" not in fields:
        if fields["tag"] not in TAGS:
            raise UsageError(f"unknown target tag {fields['tag']}", help=nearest(str(fields["tag"]), TAGS))
        return {**TAGS[fields["tag"]], **fields}
    if not isinstance(fields.get("kind"), str):
        raise UsageError("a target needs a kind: {'kind': 'llvm', 'mcpu': 'skylake'}")
    return dict(fields)


def _words(keys: Any) -> list[str]:
    return [str(k) for k in (keys.split(",") if isinstance(keys, str) else keys) if k]


def _value(name: str, value: Any) -> str:
    """The value of an option as it stands in text."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"the target option {name} is {value!r:.40}: a string or a number is expected")
