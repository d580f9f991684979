"""The bytes of flash and RAM that a network's compiled C takes: code by kernel, constants, static data, and the stack by the graph of calls.

The C is compiled as its users compile it, and its object file and gcc's graph of calls (`-fcallgraph-info=su`) are read. A link without a
`main` shows which functions of the C library it takes along.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....diagnostics import ToolError
from ...toolchain.compiler import Compiler
from .stack import deepest_stack

LIBRARY_STACK = 512
"""Bytes of the stack for functions of the C library, whose frames the compiler does not show."""

_CLONE = re.compile(r"(\.(isra|constprop|part|cold|lto_priv)(\.\d+)?)+$")
_SECONDS = 300


@dataclass(frozen=True)
class Sizes:
    """The bytes of an object file or a program by the names of symbols.

    Attributes:
        code, constants, data: those of functions, of constants, and of variables with first values.
        zeros: of variables that begin as zeros.
        code_bytes, constant_bytes, data_bytes, zero_bytes: those of the sections.
    """

    code: Mapping[str, int]
    constants: Mapping[str, int]
    data: Mapping[str, int]
    zeros: Mapping[str, int]
    code_bytes: int
    constant_bytes: int
    data_bytes: int
    zero_bytes: int


def measure_footprint(
    compiler: Compiler,
    folder: Path,
    sources: Mapping[str, bytes],
    kernels: Mapping[str, str],
    entries: Sequence[str],
    prefix: str,
    own: str,
) -> dict[str, Any]:
    """The record of a network's flash and RAM.

    Args:
        folder: a folder with the header, in which files may be written.
        sources: contents of the C files by name.
        kernels: the names of kernels by those of their functions.
        entries: the functions that users call.
        prefix: of the commands of the compiler's companions, such as `arm-none-eabi-`.
        own: the prefix of the network's names in C.

    Raises ToolError if the compiler fails.
    """
    if compiler.is_there and not compiler.is_gcc:
        raise ToolError(
            f"flash and RAM are read from what gcc writes, and {compiler.command[0]} is another compiler",
            help="--cc=gcc",
        )
    objects = []
    graphs = []
    for name, content in sources.items():
        (folder / name).write_bytes(content)
        target = f"{Path(name).stem}.footprint.o"
        compiler.run([*compiler.flags, "-fcallgraph-info=su", "-c", "-o", target, name], folder)
        objects.append(target)
        graphs.append((folder / target).with_suffix(".ci").read_text(encoding="utf-8", errors="replace"))
    sizes = _sizes(objects, folder, prefix)
    linked = "footprint.elf"
    library = 0
    entry_flags = [f"-Wl,-e,{entries[0]}", *(f"-Wl,-u,{e}" for e in entries)]
    try:
        compiler.run([*compiler.flags, "-nostartfiles", *entry_flags, "-o", linked, *objects, "-lm"], folder)
        whole = _sizes([linked], folder, prefix)
        total = whole.code_bytes + whole.constant_bytes + whole.data_bytes
        library = max(0, total - sizes.code_bytes - sizes.constant_bytes - sizes.data_bytes)
    except ToolError:
        library = 0  # a library that needs the system's functions: what it has is not known
    code: dict[str, int] = {}
    for function, nbytes in sizes.code.items():
        kernel = kernels.get(_CLONE.sub("", function), "")
        code[kernel] = code.get(kernel, 0) + nbytes
    other = sizes.code_bytes - sum(n for k, n in code.items() if k)
    depth, chain, calls_library = deepest_stack("\n".join(graphs), entries)
    return {
        "flash": {
            "code": {k: n for k, n in code.items() if k},
            "other_code": other,
            "constants": {c.removeprefix(own): n for c, n in sizes.constants.items()},
            "other_constants": sizes.constant_bytes - sum(sizes.constants.values()),
            "data": sizes.data_bytes,
            "library": library,
        },
        "ram": {
            "static": sizes.zero_bytes + sizes.data_bytes,
            "stack": depth + (LIBRARY_STACK if calls_library else 0),
            "stack_chain": [[kernels.get(_CLONE.sub("", f), f), n] for f, n in chain],
        },
    }


def _sizes(files: Sequence[str], folder: Path, prefix: str) -> Sizes:
    """The sizes of some files, by `nm` and `size`."""
    symbols: dict[str, dict[str, int]] = {kind: {} for kind in "trdb"}
    for line in _output([f"{prefix}nm", "-P", "-S", "--defined-only", *files], folder).splitlines():
        words = line.split()
        if len(words) == 4 and words[1].lower() in symbols:
            table = symbols[words[1].lower()]
            table[words[0]] = table.get(words[0], 0) + int(words[3], 16)
    sections = dict.fromkeys((".text", ".rodata", ".data", ".bss"), 0)
    for line in _output([f"{prefix}size", "-A", *files], folder).splitlines():
        words = line.split()
        if len(words) != 3 or not words[1].isdigit():
            continue
        for name, alike in _SECTIONS.items():
            if words[0].startswith(alike):
                sections[name] += int(words[1])
    text, rodata, data, bss = sections.values()
    return Sizes(symbols["t"], symbols["r"], symbols["d"], symbols["b"], text, rodata, data, bss)


_SECTIONS = {
    ".text": (".text", ".init", ".fini"),
    ".rodata": (".rodata", ".srodata", ".ARM.exidx", ".data.rel.ro"),
    ".data": (".data", ".sdata"),
    ".bss": (".bss", ".sbss"),
}
"""The sections of flash and RAM, and what else belongs to each."""


def _output(command: Sequence[str], folder: Path) -> str:
    """The output of a companion of the compiler. Raises ToolError."""
    try:
        answer = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{command[0]} could not be run: {error}") from None
    if answer.returncode != 0:
        raise ToolError(f"{command[0]} failed: {answer.stderr.strip()[:500]}")
    return answer.stdout
