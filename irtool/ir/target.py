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
_DEFAULTS: dict[str, dict[str, str | int]] = {
    "cuda": {"thread_warp_size": 32, "max_num_threads": 1024},
    "rocm": {
        "mtriple": "amdgcn-amd-amdhsa-hcc",
        "max_num_threads": 256,
        "max_threads_per_block": 256,
        "max_shared_memory_per_block": 65536,
        "thread_warp_size": 64,
    },
    "opencl": {"max_num_threads": 256, "thread_warp_size": 1, "texture_spatial_limit": 16384},
    "metal": {"max_num_threads": 256, "thread_warp_size": 16, "max_function_args": 31},
    "vulkan": {
        "supports_float32": 1,
        "supports_int32": 1,
        "max_num_threads": 256,
        "max_threads_per_block": 256,
        "thread_warp_size": 1,
    },
    "webgpu": {"max_num_threads": 256},
}
"""What TVM 0.10 adds to a target's options where they are not given (src/target/target_kind.cc). What it finds out from the
processors of its own machine is not among them."""


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

    @property
    def attributes(self) -> dict[str, str | int]:
        """The options as TVM has them: with its defaults, and numbers as numbers."""
        given: dict[str, str | int] = {k: int(v) if re.fullmatch(r"-?\d+", v) else v for k, v in self.options}
        return {**_DEFAULTS.get(self.kind, {}), **given}

    def record(self) -> MetaNode:
        """The target as TVM's record of it. Its host is itself where it is for the CPU, and else TVM's default, LLVM."""
        fields = {"kind": self.kind, "tag": "", "keys": self.keys, "attrs": self.attributes}
        host_fields = fields
        if _KEYS[self.kind] != ("cpu",):
            host_fields = {"kind": "llvm", "tag": "", "keys": _KEYS["llvm"], "attrs": {}}
        return MetaNode("Target", {**fields, "host": MetaNode("Target", {**host_fields, "host": None})})

    def __str__(self) -> str:
        words = [self.kind]
        if self.keys != _KEYS[self.kind]:
            words.append(f"-keys={','.join(self.keys)}")
        return " ".join(words + [f"-{k}={v}" for k, v in self.options])
