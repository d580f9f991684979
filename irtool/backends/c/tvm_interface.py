"""TVM's C interface around a compiled program: a struct of inputs, a struct of outputs, one function."""

from __future__ import annotations

from dataclasses import dataclass

from ...symbolic_int import SymbolicInt, bound, is_open
from ..c_types import stored_type
from ..interface.comment import inside
from ..interface.entry import EntryPoint, Parameter, free_macro
from ..interface.names import Identifiers, sanitize
from ..interface.values import VARIABLE


@dataclass(frozen=True)
class TvmInterface:
    """`tvmgen_NAME.h` and `tvmgen_NAME.c`, which calls `NAME_run`."""

    stem: str
    header: str
    source: str


def interface_stem(name: str) -> str:
    """The stem of the names of that interface's files."""
    return f"tvmgen_{name.lower()}"


def write_tvm_interface(name: str, entry: EntryPoint, arena_bytes: int, has_weights: bool = False) -> TvmInterface:
    """The interface of one entry point. Fields have the parameters' names; outputs those of the model from which the network was
    imported, or `output`, or `output0`, ….

    Lengths that a run decides are fields of the struct of inputs, in front of its tensors, and so is the memory for values of data types:
    the fields of these point to handles.

    `has_weights`: the weights are in a file that must be loaded first.
    """
    stem = interface_stem(name)
    upper = stem.upper()
    fields = Identifiers()
    memory = fields.fresh(VARIABLE) if entry.data is not None and entry.function.values is not None else ""
    lengths = {s: fields.fresh(s.name) for s in entry.symbols}
    inputs = [fields.fresh(sanitize(p.slot.name)) for p in entry.inputs]
    fields = Identifiers()
    outputs = [fields.fresh(sanitize(entry.function.result_name(n, "output"))) for n in range(len(entry.outputs))]
    macros = Identifiers(f"{upper}_WORKSPACE_SIZE")
    lines = [f"#ifndef {upper}_H_", f"#define {upper}_H_", "#include <stdint.h>", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    if entry.data is not None and memory:
        lines += [f"struct {entry.data.struct}; /* memory for values of data types: see {name}.h */", ""]
    for what, tensors, names in (("Input", entry.inputs, inputs), ("Output", entry.outputs, outputs)):
        for p, n in zip(tensors, names):
            lines += _size_of(entry, p, what, n, upper, macros)
        lines += ["", f"/* {what} tensor pointers. */", f"struct {stem}_{what.lower()}s {{"]
        fields_of = [f"  int64_t {lengths[s]}; /* {s.range} */" for s in entry.symbols if what == "Input"]
        if memory and what == "Input":
            assert entry.data is not None
            fields_of.insert(
                0, f"  struct {entry.data.struct} *{memory}; /* where the values of inputs and outputs lie */"
            )
        lines += [*fields_of, *(f"  void *{n};" for n in names)] or ["  void *unused; /* there are none */"]
        lines += ["};", ""]
    lines += [
        *([f"/* The weights are in a file: call {name}_load_weights (see {name}.h) first. */"] if has_weights else []),
        "/* Runs the network. Returns 0 on success. */",
        f"int32_t {stem}_run(struct {stem}_inputs *inputs, struct {stem}_outputs *outputs);",
        "",
        *_workspace_size(upper, entry, arena_bytes),
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    arguments = [f"inputs->{x}" for x in (*([memory] if memory else []), *(lengths[s] for s in entry.symbols))]
    arguments += [f"(const {stored_type(p.slot.dtype)} *)inputs->{n}" for p, n in zip(entry.inputs, inputs)]
    arguments += [f"({stored_type(p.slot.dtype)} *)outputs->{n}" for p, n in zip(entry.outputs, outputs)]
    unused = ["  (void)inputs;"] * (not inputs and not lengths and not memory) + ["  (void)outputs;"] * (not outputs)
    source = [
        f'#include "{stem}.h"',
        f'#include "{name}.h"',
        *(["#include <stdlib.h>"] if entry.arena_size else []),
        "",
        f"int32_t {stem}_run(struct {stem}_inputs *inputs, struct {stem}_outputs *outputs) {{",
        *unused,
        *_run(entry, arguments, [f"inputs->{lengths[s]}" for s in entry.symbols]),
        "}",
        "",
    ]
    return TvmInterface(stem, "\n".join(lines), "\n".join(source))


def _size_of(entry: EntryPoint, p: Parameter, what: str, name: str, upper: str, macros: Identifiers) -> list[str]:
    """The comment on a tensor or a value, and the macro of a tensor's bytes where bounds of lengths are known."""
    t = entry.function.values.type_of(p.slot) if entry.function.values is not None else None
    if t is not None:
        return [f"/* {what} {name}: an int64_t, the handle of a value of the type {inside(t.text)}. */"]
    if is_open(p.slot.nbytes):
        return [f"/* {what} tensor {name}: {p.slot.dtype}[{p.shape}], {p.slot.nbytes} bytes. */"]
    most = " at the upper bounds" if isinstance(p.slot.size, SymbolicInt) else ""
    macro = free_macro(f"{upper}_{name.upper()}", macros)
    return [
        f"/* {what} tensor {name}: bytes of {p.slot.dtype}[{p.shape}]{most}. */",
        f"#define {macro}_{'MAX_SIZE' if most else 'SIZE'} {bound(p.slot.nbytes)}",
    ]


def _workspace_size(upper: str, entry: EntryPoint, arena_bytes: int) -> list[str]:
    """The lines of the header about the workspace."""
    if entry.arena_size:
        return ["/* The workspace is a function of the lengths: each run allocates it by malloc, and frees it. */"]
    return [
        "/* Bytes of workspace, which the network brings itself. */",
        f"#define {upper}_WORKSPACE_SIZE {arena_bytes}",
    ]


def _run(entry: EntryPoint, arguments: list[str], lengths: list[str]) -> list[str]:
    """The statements of a run. For lengths out of bounds the size is 0, and the run says so."""
    if not entry.arena_size:
        return [f"  return {entry.run}({', '.join(arguments)});"]
    return [
        f"  const size_t size = {entry.arena_size}({', '.join(lengths)});",
        "  void *const arena = size ? malloc(size) : NULL;",
        f"  const int32_t code = {entry.run_with}({', '.join(['arena', 'size', *arguments])});",
        "  free(arena);",
        "  return code;",
    ]
