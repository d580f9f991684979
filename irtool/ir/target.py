"""What code is made for, in the peer's notation: `llvm -keys=arm_cpu,cpu -mcpu=cortex-a72`.

Passes read `kind` and `keys` (layouts and legalizations differ by them); the C backend reads `mcpu`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from ..diagnostics import UsageError, nearest
from .meta import MetaNode

_KEYS = {
    "c": ("cpu",),
    "llvm": ("cpu",),
    "cuda": ("cuda", "gpu"),
    "rocm": ("rocm", "gpu"),
    "opencl": ("opencl", "gpu"),
    "metal": ("metal", "gpu"),
    "vulkan": ("vulkan", "gpu"),
    "webgpu": ("webgpu", "gpu"),
    "hexagon": ("hexagon",),
    "ext_dev": (),
    "hybrid": (),
}


@dataclass(frozen=True)
class Target:
    """A target: its kind, the keys that strategies are looked up by, and its options."""

    kind: str
    keys: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def parse(text: str | Target) -> Target:
        """Reads the notation above; raises UsageError for an unknown kind or a malformed option."""
        if isinstance(text, Target):
            return text
        words = shlex.split(text)
        if not words:
            raise UsageError("the target is empty", help="write for example --target=c or --target=llvm")
        kind = words[0]
        if kind not in _KEYS:
            raise UsageError(f"unknown target {kind}", help=nearest(kind, _KEYS))
        options: dict[str, str] = {}
        for word in words[1:]:
            match = re.fullmatch(r"-{1,2}([\w-]+)(?:=(.*))?", word)
            if match is None:
                raise UsageError(f"cannot read the target option {word}", help="options look like -mcpu=native")
            options[match[1]] = match[2] if match[2] is not None else "1"
        keys = [k for k in options.pop("keys", "").split(",") if k]
        if "device" in options:
            keys.insert(0, options["device"])
        keys += [k for k in _KEYS[kind] if k not in keys]
        return Target(kind, tuple(dict.fromkeys(keys)), tuple(sorted(options.items())))

    def option(self, name: str, default: str = "") -> str:
        """The value of an option, or `default`."""
        return dict(self.options).get(name, default)

    def record(self) -> MetaNode:
        """The target as the peer's record of it, with itself as the host where it is for the CPU."""
        fields = {"kind": self.kind, "tag": "", "keys": self.keys, "attrs": dict(self.options)}
        host = MetaNode("Target", {**fields, "host": None}) if _KEYS[self.kind] == ("cpu",) else None
        return MetaNode("Target", {**fields, "host": host})

    def __str__(self) -> str:
        words = [self.kind]
        if self.keys != _KEYS[self.kind]:
            words.append(f"-keys={','.join(self.keys)}")
        return " ".join(words + [f"-{k}={v}" for k, v in self.options])
