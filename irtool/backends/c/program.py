"""A program as C text: the header, the source, and the weights file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...diagnostics import UsageError
from ...tir import dtypes
from ...tir.program import (
    CONSTANT,
    PARAM,
    RESULT,
    Branch,
    CallFunction,
    CopySlot,
    HostFunction,
    Program,
    RunKernel,
    Slot,
)
from . import vector_math, vectors
from .names import Names
from .nest import KernelWriter
from .scalars import literal, stored_type
from .support import definitions

_ALIGNMENT = 64
_PER_LINE = 12


@dataclass(frozen=True)
class CText:
    """What the backend writes. `weights` is empty unless weights are kept in a file of their own."""

    name: str
    header: str
    source: str
    weights: bytes
    identifiers: dict[str, str]
    """What each parameter of the entry is called in C."""


def write_program(
    program: Program, name: str = "model", inline_limit: int = 1 << 16, stack_frames: int = 64, strict: bool = False
) -> CText:
    """The C of a program.

    Constants together larger than `inline_limit` bytes go to a weights file. `stack_frames`: how many frames of its
    recursive functions the static arena has room for. `strict`: the C library's exp, tanh … instead of own vector ones.
    """
    return _Writer(program, name, inline_limit, stack_frames, strict).write()


class _Writer:
    def __init__(self, program: Program, name: str, inline_limit: int, stack_frames: int, strict: bool) -> None:
        if Names().fresh(name) != name:
            raise UsageError(
                f"{name!r} cannot be the name of the output: it must be a C identifier, and not a word of C"
            )
        self.program = program
        self.name = name
        self.upper = name.upper()
        self.strict = strict
        self.names = Names(f"{name}_run", f"{name}_run_with", f"{name}_set_weights", "arena", "arena_end")
        self.support: dict[str, None] = {}
        self.split = sum(c.nbytes for c in program.constants) > inline_limit
        self.kernels: dict[Any, KernelWriter] = {}
        self.functions = {n: self.names.fresh(f"{name}_fn_{n}") for n in program.functions}
        self.constants: dict[Slot, str] = {}
        self.offsets: dict[Slot, int] = {}
        self.entry = program.functions[program.entry]
        self.arena_bytes = self.entry.frame_bytes
        if any(f.recursive for f in program.functions.values()):
            deepest = max(f.frame_bytes for f in program.functions.values() if f.recursive)
            self.arena_bytes = self.entry.frame_bytes + max(deepest, _ALIGNMENT) * stack_frames

    # -- the whole -----------------------------------------------------------------------------------------------------

    def write(self) -> CText:
        kernels = []
        types: dict[tuple[str, int], None] = {}
        functions: dict[tuple[str, str, int], None] = {}
        for k in self.program.kernels:
            made = self.kernels[k] = KernelWriter(k, self.names.fresh(k.name), self.support, self.strict)
            kernels.append(made.write())
            types.update(made.vector_types)
            functions.update(made.vector_functions)
        constants = self._constants()
        bodies = [self._function(f) for f in self.program.functions.values()]
        prototypes = [f"{self._signature(f)};" for f in self.program.functions.values()]
        entry, identifiers = self._entry()
        source = "\n".join(
            [
                f'#include "{self.name}.h"',
                "#include <math.h>",
                "#include <string.h>",
                "",
                *_vector_section(types, functions),
                *definitions(self.support),
                "",
                *constants,
                *kernels,
                *prototypes,
                "",
                *bodies,
                entry,
            ]
        )
        return CText(self.name, self._header(identifiers), source, self._weights(), identifiers)

    # -- constants -----------------------------------------------------------------------------------------------------

    def _constants(self) -> list[str]:
        lines: list[str] = []
        if self.split:
            at = 0
            for c in self.program.constants:
                self.offsets[c] = at
                at += -(-c.nbytes // _ALIGNMENT) * _ALIGNMENT
            return [f"static const unsigned char *{self.name}_weights;", ""]
        for c in self.program.constants:
            name = self.constants[c] = self.names.fresh(c.name)
            values = [literal(v, c.dtype) if c.dtype not in _RAW else str(v) for v in _numbers(c)] or ["0"]
            lines.append(f"static const {stored_type(c.dtype)} {name}[{max(1, c.size)}] = {{")
            lines += ["  " + ", ".join(values[i : i + _PER_LINE]) + "," for i in range(0, len(values), _PER_LINE)]
            lines.append("};")
        return lines

    def _weights(self) -> bytes:
        if not self.split:
            return b""
        parts: list[bytes] = []
        for c in self.program.constants:
            parts.append(c.data.tobytes())
            parts.append(bytes(-c.nbytes % _ALIGNMENT))
        return b"".join(parts)

    # -- functions -----------------------------------------------------------------------------------------------------

    def _signature(self, f: HostFunction) -> str:
        params = [f"const {stored_type(s.dtype)} *i{n}" for n, s in enumerate(f.params)]
        params += [f"{stored_type(s.dtype)} *o{n}" for n, s in enumerate(f.results)]
        params += ["unsigned char *arena", "unsigned char *arena_end"]
        return f"static int {self.functions[f.name]}({', '.join(params)})"

    def _function(self, f: HostFunction) -> str:
        places: dict[Slot, str] = {s: f"i{n}" for n, s in enumerate(f.params)}
        places.update({s: f"o{n}" for n, s in enumerate(f.results)})
        lines = [f"{self._signature(f)} {{"]
        checks_frame = f.recursive or f is self.entry
        if f.frame_bytes and checks_frame:
            lines.append(f"  if ((size_t)(arena_end - arena) < {f.frame_bytes}u) return 1;")
        else:
            lines.append("  (void)arena;")
        lines.append("  (void)arena_end;")
        stack: list[tuple[Any, int]] = [(s, 1) for s in reversed(f.body)]
        while stack:
            s, depth = stack.pop()
            pad = "  " * depth
            if isinstance(s, str):
                lines.append(pad + s)
            elif isinstance(s, RunKernel):
                args = [self._pointer(x, places, False) for x in s.inputs]
                args += [self._pointer(x, places, True) for x in s.outputs]
                if self.kernels[s.kernel].has_workspace:
                    args.append(f"arena + {s.workspace}")
                lines.append(f"{pad}{self.kernels[s.kernel].name}({', '.join(args)});")
            elif isinstance(s, CallFunction):
                args = [self._pointer(x, places, False) for x in s.inputs]
                args += [self._pointer(x, places, True) for x in s.outputs]
                args += [f"arena + {s.frame}", "arena_end"]
                lines.append(f"{pad}{{ int e = {self.functions[s.function]}({', '.join(args)}); if (e) return e; }}")
            elif isinstance(s, CopySlot):
                target, source = self._pointer(s.target, places, True), self._pointer(s.source, places, False)
                if target != source and s.target.nbytes:
                    lines.append(f"{pad}memcpy({target}, {source}, {s.target.nbytes}u);")
            else:
                assert isinstance(s, Branch)
                lines.append(f"{pad}if (*{self._pointer(s.cond, places, False)}) {{")
                stack += [("}", depth), *((x, depth + 1) for x in reversed(s.other)), ("} else {", depth)]
                stack += [(x, depth + 1) for x in reversed(s.then)]
        lines += ["  return 0;", "}", ""]
        return "\n".join(lines)

    def _pointer(self, slot: Slot, places: dict[Slot, str], written: bool) -> str:
        slot = slot.resolve()
        if slot.kind in (PARAM, RESULT):
            return places[slot]
        t = stored_type(slot.dtype)
        if slot.kind == CONSTANT:
            if self.split:
                return f"(const {t} *)(const void *)({self.name}_weights + {self.offsets[slot]})"
            return self.constants[slot]
        return f"({'' if written else 'const '}{t} *)({'' if written else 'const '}void *)(arena + {slot.offset})"

    # -- the entry -----------------------------------------------------------------------------------------------------

    def _parameters(self, names: Sequence[str]) -> str:
        f = self.entry
        params = [f"const {stored_type(s.dtype)} *{n}" for s, n in zip(f.params, names)]
        params += [f"{stored_type(s.dtype)} *{n}" for s, n in zip(f.results, names[len(f.params) :])]
        return ", ".join(params)

    def _entry(self) -> tuple[str, dict[str, str]]:
        f = self.entry
        local = Names("arena", "arena_end", "size", "storage", "base")
        c_names = [local.fresh(s.name) for s in f.params]
        c_names += [local.fresh("out" if len(f.results) == 1 else f"out{n}") for n in range(len(f.results))]
        self.entry_parameters = self._parameters(c_names)
        args = ", ".join([*c_names, "base", "end"])
        separator = ", " if c_names else ""
        weights = f"  if (!{self.name}_weights) return 2;\n" if self.split else ""
        text = ""
        if self.split:
            text += f"void {self.name}_set_weights(const void *bytes) {{\n"
            text += f"  {self.name}_weights = (const unsigned char *)bytes;\n}}\n\n"
        text += (
            f"int {self.name}_run_with(void *arena, size_t size{separator}{self.entry_parameters}) {{\n"
            f"  unsigned char *base = (unsigned char *)arena, *end = base + size;\n"
            f"{weights}"
            f"  if (size < {self.upper}_ARENA_SIZE) return 1;\n"
            f"  base += ({_ALIGNMENT}u - (uintptr_t)base % {_ALIGNMENT}u) % {_ALIGNMENT}u;\n"
            f"  return {self.functions[f.name]}({args});\n}}\n\n"
            f"int {self.name}_run({self.entry_parameters or 'void'}) {{\n"
            f"  static unsigned char storage[{self.upper}_ARENA_SIZE];\n"
            f"  return {self.name}_run_with(storage, sizeof storage{separator}{', '.join(c_names)});\n}}\n"
        )
        return text, {s.name: n for s, n in zip(f.params, c_names)}

    def _header(self, identifiers: dict[str, str]) -> str:
        guard = f"{self.upper}_H"
        f = self.entry
        lines = [
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stddef.h>",
            "#include <stdint.h>",
            "",
            "/* Bytes of workspace of one run. */",
            f"#define {self.upper}_ARENA_SIZE {self.arena_bytes + _ALIGNMENT}u",
        ]
        if self.split:
            total = sum(-(-c.nbytes // _ALIGNMENT) * _ALIGNMENT for c in self.program.constants)
            lines += [
                f"/* Bytes of the weights file {self.name}.bin. */",
                f"#define {self.upper}_WEIGHTS_SIZE {total}u",
            ]
        lines += ["", "/* Elements of each parameter, in order: inputs, then outputs. */"]
        for s, n in zip(f.params, identifiers.values()):
            lines.append(f"#define {self.upper}_{n.upper()}_SIZE {s.size}u /* {s.dtype}[{_dims(s)}] */")
        for k, s in enumerate(f.results):
            label = "OUT" if len(f.results) == 1 else f"OUT{k}"
            lines.append(f"#define {self.upper}_{label}_SIZE {s.size}u /* {s.dtype}[{_dims(s)}] */")
        separator = ", " if self.entry_parameters else ""
        lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        lines += ["/* Every function returns 0, or: 1 workspace too small, 2 weights not set. */", ""]
        if self.split:
            lines += [
                f"/* Hands over the contents of {self.name}.bin, which must stay in memory, aligned to 64 bytes. */",
                f"void {self.name}_set_weights(const void *bytes);",
                "",
            ]
        lines += [
            "/* Runs the network in a workspace of its own (not for two threads at once). */",
            f"int {self.name}_run({self.entry_parameters or 'void'});",
            "",
            "/* The same in the caller's workspace. */",
            f"int {self.name}_run_with(void *arena, size_t size{separator}{self.entry_parameters});",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            "#endif",
            "",
        ]
        return "\n".join(lines)


def _vector_section(types: dict[tuple[str, int], None], functions: dict[tuple[str, str, int], None]) -> list[str]:
    """Vector types and functions on vectors, for compilers that have them."""
    if not types:
        return []
    # Vectors wider than the processor's would be slower than the loops, and change how functions are called.
    widest = max(lanes * dtypes.itemsize(dtype) for dtype, lanes in types)
    needed = " && defined(__AVX512F__)" if widest > 32 else " && defined(__AVX__)" if widest > 16 else ""
    lines = [f"#if defined(__GNUC__) && !defined(IRT_NO_VECTOR){needed}", "#define IRT_VECTOR 1"]
    lines += [vectors.define_type(dtype, lanes) for dtype, lanes in sorted(types)]
    made: dict[tuple[str, str, int], str] = {}
    for name, dtype, lanes in functions:
        made.update(vector_math.define(name, dtype, lanes))
    return [*lines, *made.values(), "#else", "#define IRT_VECTOR 0", "#endif", ""]


_RAW = ("float16", "bfloat16")


def _numbers(c: Slot) -> list[Any]:
    data = c.data.reshape(-1)
    if c.dtype in _RAW:
        return data.view("uint16").tolist()
    return data.tolist()


def _dims(s: Slot) -> str:
    return ", ".join(map(str, s.shape))
