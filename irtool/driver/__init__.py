"""From a Relay module to a library that runs: passes, lowering, backend, C compiler.

build          the way from a module to an artifact, as Python calls it
session        one build: its input, the cache, its result
build_options  the arguments of a build, as one value
options        the same, checked
parameters     weights into the entry functions
prepare        passes before lowering
emission       from a lowered module to all the files
report         the build in numbers and names
graph          the same network for TVM's graph executor
model_library  everything in one archive of TVM's format
cache          earlier builds
refusals       constructs that cannot be compiled, with reasons
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..namespace import submodules

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Module

__all__ = ["graph_json", "unsupported"]


def graph_json(module: Module, entry: str = "main") -> str:
    """The graph of a fused function in TVM's graph-executor format; see `graph`."""
    from .graph import graph_json as graph_of

    return graph_of(module, entry)


def unsupported(module: Module, target: str = "c", **options: Any) -> list[Diagnostic]:
    """The parts of a typed module that cannot be compiled; see `refusals`."""
    from .refusals import find_unsupported

    return find_unsupported(module, target, **options)


__getattr__ = submodules(__name__)
