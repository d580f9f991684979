"""Imports irtool so that it notes which of its pieces run, in this process and in those that it starts.

A `sitecustomize` calls `install`; where `IRTOOL_PROBES` names a folder, a process that ends writes there what it ran.
Code with probes is kept beside: it is made once.
"""

from __future__ import annotations

import atexit
import marshal
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

HITS: dict[str, bytearray] = {}
"""For each file of irtool that is imported a byte for each of its pieces: whether it ran."""


def install(root: str, own: str) -> None:
    """Modules of the irtool in a folder are imported with probes; `own` is where their code is kept."""
    sys.meta_path.insert(0, _Finder(root, own))
    if folder := os.environ.get("IRTOOL_PROBES"):
        atexit.register(_write, folder, os.getpid())


def taken() -> dict[str, list[int]]:
    """The numbers of the pieces that ran since this was last asked, by file."""
    lines_taken = {}
    for path, hits in HITS.items():
        if 1 in hits:
            lines_taken[path] = [n for n, hit in enumerate(hits) if hit]
            hits[:] = bytes(len(hits))
    return lines_taken


def _write(folder: str, process: int) -> None:
    if os.getpid() == process and (lines_taken := taken()):
        with open(os.path.join(folder, f"{process}.part"), "wb") as file:
            marshal.dump(lines_taken, file)
        os.rename(file.name, file.name.removesuffix("part") + "hits")


class _Finder:
    def __init__(self, root: str, own: str) -> None:
        self.root = root
        self.own = own

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "irtool" and not name.startswith("irtool."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None and spec.origin.startswith(os.path.join(self.root, "irtool")):
            spec.loader = _Loader(name, spec.origin)
            spec.loader.relative = os.path.relpath(spec.origin, self.root)
            spec.loader.cached_path = os.path.join(self.own, name)
        return spec


class _Loader(SourceFileLoader):
    relative: str
    cached_path: str

    def get_code(self, fullname: str) -> CodeType:
        try:
            with open(self.cached_path, "rb") as file:
                size, code = marshal.load(file)
        except (OSError, ValueError, EOFError):
            size, code = self._make()
        HITS.setdefault(self.relative, bytearray(size))
        return code  # type: ignore[no-any-return]

    def _make(self) -> tuple[int, CodeType]:
        import ast

        from tests.mutants.blocks import blocks, probed

        with open(self.path, encoding="utf-8") as file:
            source = file.read()
        probed_code = len(blocks(ast.parse(source))), probed(source, self.path)
        part = f"{self.cached_path}.{os.getpid()}"
        with open(part, "wb") as cache_file:
            marshal.dump(probed_code, cache_file)
        os.replace(part, self.cached_path)
        return probed_code

    def exec_module(self, module: ModuleType) -> None:
        code = self.get_code(module.__name__)
        module.__dict__["__hits__"] = HITS[self.relative]
        exec(code, module.__dict__)
