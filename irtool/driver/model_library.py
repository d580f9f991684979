"""TVM's model library format: one tar archive of sources, headers, parameters and metadata."""

from __future__ import annotations

import json
import os
import tarfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..backends.base import Sources
from ..ir import Module
from ..parser.params import encode_params
from ..printer import to_text
from ..symbolic_int import bound
from ..tir.program import Program, kernels_in_use
from .options import Options
from .outputs import Content, Emission, Made, chunks

_VERSION = 7
_CPU = 1


def pack(
    target: Path,
    emission: Emission,
    sources: Sources,
    program: Program,
    prepared: Module,
    without_weights: Module,
    options: Options,
) -> None:
    """Writes the archive of a build; `without_weights` is the input module, without its weights.

    ::

        metadata.json                     memory, target, executor
        codegen/host/include/*.h          NAME.h and TVM's interface, tvmgen_NAME.h
        codegen/host/src/NAME_lib*.c      sources; they need libc and libm only
        executor-config/graph/NAME.graph  where the network is a graph
        parameters/NAME.params            the weights by name (or NAME.bin, which NAME_load_weights takes)
        src/NAME.relay                    the module that was built, its weights being parameters

    It is the same for the same build: its times are those of SOURCE_DATE_EPOCH, or the epoch.
    """
    name = options.name
    entries: dict[str, Content] = {}
    n = 0
    for file, data in emission.files.items():
        if file.endswith(".h"):
            entries[f"codegen/host/include/{file}"] = data
        elif file.endswith(".c") and not file.endswith("_test.c"):
            entries[f"codegen/host/src/{name}_lib{n}.c"] = data
            n += 1
        elif file.endswith(".c"):
            entries[f"test/{file}"] = data
        else:
            entries[f"parameters/{file}"] = data
    constants = {} if emission.weights else {c.name: c.data for c in program.constants}
    entries[f"parameters/{name}.params"] = [encode_params(constants)]
    entries[f"src/{name}.relay"] = [to_text(without_weights).encode()]
    graph = _graph(prepared, options.entries[0])
    if graph:
        entries[f"executor-config/graph/{name}.graph"] = [graph.encode()]
    about = json.dumps(_metadata(sources, program, options, graph), indent=2, sort_keys=True)
    entries["metadata.json"] = [about.encode()]
    _archive(target, entries)


def _graph(prepared: Module, entry: str) -> str:
    from ..diagnostics import IrError
    from .graph import graph_json

    try:
        return graph_json(prepared, entry)
    except IrError:
        return ""  # branches and calls: only the compiled function runs those


def _metadata(sources: Sources, program: Program, options: Options, graph: str) -> dict[str, Any]:
    entry = program.functions[options.entries[0]]
    memory: dict[str, Any] = {
        "functions": {
            "main": [
                {
                    "device": _CPU,
                    "workspace_size_bytes": sources.arena_bytes,
                    "constants_size_bytes": sum(c.nbytes for c in program.constants),
                    "io_size_bytes": sum(bound(s.nbytes) for s in (*entry.params, *entry.results)),
                }
            ],
            "operator_functions": [
                {
                    "function_name": sources.kernel_names[k.name],
                    "workspace": [{"device": _CPU, "workspace_size_bytes": k.workspace}],
                }
                for k in kernels_in_use(program)
            ],
        }
    }
    if graph:
        memory["sids"] = _storage(json.loads(graph))
    return {
        "version": _VERSION,
        "modules": {
            options.name: {
                "model_name": options.name,
                "export_datetime": time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(_now())),
                "memory": memory,
                "target": [options.target],
                "executors": ["aot"],
                "style": "full-model",
            }
        },
    }


def _storage(graph: dict[str, Any]) -> list[dict[str, Any]]:
    """Bytes of each piece of memory, and the input bound to it."""
    from ..tir import dtypes

    attrs, rows = graph["attrs"], graph["node_row_ptr"]
    bound = {rows[n]: graph["nodes"][n]["name"] for n in graph["arg_nodes"]}
    storages: dict[int, dict[str, Any]] = {}
    for storage_index, (sid, shape, dtype) in enumerate(
        zip(attrs["storage_id"][1], attrs["shape"][1], attrs["dltype"][1], strict=True)
    ):
        size = dtypes.itemsize(dtype)
        for d in shape:
            size *= d
        storage = storages.setdefault(sid, {"storage_id": sid, "size_bytes": 0})
        storage["size_bytes"] = max(storage["size_bytes"], size)
        if storage_index in bound:
            storage["input_binding"] = bound[storage_index]
    return list(storages.values())


def _now() -> int:
    try:
        return int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    except ValueError:
        return 0


def _archive(target: Path, entries: Mapping[str, Content]) -> None:
    folders: set[str] = set()
    with tarfile.open(target, mode="w") as tar:
        for name in sorted(entries):
            parts = name.split("/")
            for n in range(1, len(parts)):
                folder = "/".join(parts[:n])
                if folder not in folders:
                    folders.add(folder)
                    tar.addfile(_item(f"./{folder}", tarfile.DIRTYPE, 0o755))
            content = entries[name]
            item = _item(f"./{name}", tarfile.REGTYPE, 0o644)
            if isinstance(content, Made):
                item.size = content.path.stat().st_size
                with open(content.path, "rb") as file:
                    tar.addfile(item, file)
                continue
            buffers = [memoryview(b).cast("B") for b in chunks(content) if len(b)]
            item.size = sum(map(len, buffers))
            tar.addfile(item, _Reader(buffers))  # type: ignore[arg-type]  # tarfile only reads, and asks for a whole IO


class _Reader:
    """Buffers as a file: weights are not copied into one piece."""

    def __init__(self, buffers: Sequence[memoryview]) -> None:
        self._left = list(reversed(buffers))

    def read(self, size: int) -> bytes:
        """The next bytes, `size` of them where there are as many."""
        data = bytearray()
        while self._left and len(data) < size:
            part = self._left.pop()
            taken = part[: size - len(data)]
            if len(taken) < len(part):
                self._left.append(part[len(taken) :])
            data += taken
        return bytes(data)


def _item(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    item = tarfile.TarInfo(name)
    item.type, item.mode, item.mtime = kind, mode, _now()
    item.uname = item.gname = "root"
    return item
