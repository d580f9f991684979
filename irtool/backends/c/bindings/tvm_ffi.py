"""`NAME_tvm_ffi.c`: the entry points by the stable ABI of the package apache-tvm-ffi, without its headers.

A function `__tvm_ffi_NAME_run` takes the tensors of `NAME_run`, in its order, and checks each of them: DLPack tensors of the caller, so that
nothing is copied. Source of the ABI: include/tvm/ffi/c_api.h of apache-tvm-ffi 0.1, and dlpack.h 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ....diagnostics import UsageError
from ....symbolic_int import SymbolicInt, symbols_of
from ...c_types import stored_type
from ...interface.entry import EntryPoint, Parameter

_KINDS = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
"""Type codes of DLPack."""

_SHARED = """\
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The ABI of tvm-ffi: a value, and a tensor of DLPack. */
struct ffi_any {
  int32_t type;
  uint32_t length; /* of a text of up to 7 bytes, which is in the value */
  union {
    int64_t number;
    const char *object;
    char text[8];
  } value;
};
struct ffi_tensor {
  char *data;
  int32_t device, device_id;
  int32_t rank;
  uint8_t kind, bits;
  uint16_t lanes;
  const int64_t *shape, *strides;
  uint64_t offset;
};
enum { FFI_DLTENSOR = 7, FFI_RAW_STR = 8, FFI_SMALL_STR = 11, FFI_STR = 65, FFI_TENSOR = 70, FFI_HEADER = 24, FFI_CPU = 1 };

#ifdef __GNUC__
__attribute__((weak)) /* of libtvm_ffi, which the caller has loaded */
#endif
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

static int ffi_fail(const char *kind, const char *what, const char *problem) {
  char message[512];
  snprintf(message, sizeof message, "@NAME@: %s%s", what, problem);
#ifdef __GNUC__
  if (!TVMFFIErrorSetRaisedFromCStr) return -1;
#endif
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static const struct ffi_tensor *ffi_tensor(const struct ffi_any *a) {
  if (a->type == FFI_DLTENSOR) return (const struct ffi_tensor *)(const void *)a->value.object;
  if (a->type == FFI_TENSOR) return (const struct ffi_tensor *)(const void *)(a->value.object + FFI_HEADER);
  return NULL;
}

/* The problem of a tensor; empty if it has none. */
static const char *ffi_check(const struct ffi_tensor *t, int kind, int bits, int rank) {
  int64_t step = 1;
  int i;
  if (!t) return "the argument is no tensor";
  if (t->device != FFI_CPU) return "the tensor is on another device";
  if (t->kind != kind || t->bits != bits || t->lanes != 1) return "the tensor has another dtype";
  if (t->rank != rank) return "the tensor has another rank";
  for (i = rank - 1; t->strides && i >= 0; i--) {
    if (t->shape[i] != 1 && t->strides[i] != step) return "the tensor is not contiguous";
    step *= t->shape[i];
  }
  return "";
}
"""


def write_tvm_ffi(name: str, entries: Sequence[EntryPoint], errors: Mapping[int, str], has_weights: bool) -> str:
    """The text of the file. Raises UsageError for entries whose arguments are more than tensors of known extents."""
    for entry in entries:
        _check(entry)
    lines = [f'#include "{name}.h"', _SHARED.replace("@NAME@", name)]
    lines += ["static const char *ffi_message(int code) {", "  switch (code) {"]
    lines += [f"  case {code}: return {json.dumps(message)};" for code, message in errors.items()]
    lines += ['  default: return "an unknown error";', "  }", "}", ""]
    for entry in entries:
        lines += _function(name, entry)
    if has_weights:
        lines += _loader(name)
    return "\n".join(lines)


def _check(entry: EntryPoint) -> None:
    problem = ""
    if entry.instance is not None:
        problem = "states"
    elif entry.function.values is not None:
        problem = "values of data types"
    elif entry.arena_size:
        problem = "lengths without bounds"
    elif {s.name for s in entry.symbols} - {str(d) for p in entry.inputs for d in p.slot.shape}:
        problem = "lengths that are no extents of an input"
    elif any(set(symbols_of([d])) - set(entry.symbols) for p in entry.tensors for d in p.slot.shape):
        problem = "shapes that values decide"
    if problem:
        raise UsageError(
            f"the interface of tvm-ffi has tensors, and @{entry.function.name} has {problem}", help="--api=flat"
        )


def _function(name: str, entry: EntryPoint) -> list[str]:
    count = len(entry.tensors)
    lines = [
        f"/* {entry.run}: {', '.join(f'{p.name} {p.slot.dtype}[{p.shape}]' for p in entry.tensors)} */",
        f"int __tvm_ffi_{entry.run}(void *self, const struct ffi_any *args, int32_t count, struct ffi_any *result);",
        f"int __tvm_ffi_{entry.run}(void *self, const struct ffi_any *args, int32_t count, struct ffi_any *result) {{",
        f"  const struct ffi_tensor *t[{max(1, count)}];" if count else "",
        "  const char *problem;" if count else "",
        "  int code;",
        "  (void)self;",
        "" if count else "  (void)args;",
        f'  if (count != {count}) return ffi_fail("TypeError", "{count} tensors are expected: ", {json.dumps(_signature(entry))});',
    ]
    labels = [json.dumps(f"{p.name}, {p.slot.dtype}[{p.shape}]: ") for p in entry.tensors]
    for index, (p, label) in enumerate(zip(entry.tensors, labels, strict=True)):
        kind, bits = _code(p)
        lines += [
            f"  t[{index}] = ffi_tensor(&args[{index}]);",
            f"  problem = ffi_check(t[{index}], {kind}, {bits}, {len(p.slot.shape)});",
            f'  if (*problem) return ffi_fail("TypeError", {label}, problem);',
        ]
    lines.append("  {")
    derived: dict[str, str] = {}
    lengths = {s.name for s in entry.symbols}
    for index, p in enumerate(entry.inputs):
        for axis, extent in enumerate(p.slot.shape):
            if isinstance(extent, SymbolicInt) and str(extent) in lengths:
                derived.setdefault(str(extent), f"t[{index}]->shape[{axis}]")
    lines += [f"    const int64_t {length} = {source};" for length, source in derived.items()]
    for index, (p, label) in enumerate(zip(entry.tensors, labels, strict=True)):
        differs = [f"t[{index}]->shape[{axis}] != {_extent(d)}" for axis, d in enumerate(p.slot.shape)]
        if differs:
            lines.append(
                f'    if ({" || ".join(differs)}) return ffi_fail("ValueError", {label}, "the tensor has another shape");'
            )
    arguments = [s.name for s in entry.symbols]
    arguments += [_pointer(p, index, "const " if p in entry.inputs else "") for index, p in enumerate(entry.tensors)]
    lines += [
        f"    code = {entry.run}({', '.join(arguments)});",
        "  }",
        '  if (code) return ffi_fail("RuntimeError", ffi_message(code), "");',
        "  memset(result, 0, sizeof *result);",
        "  return 0;",
        "}",
        "",
    ]
    return [line for index, line in enumerate(lines) if line or index == len(lines) - 1]


def _signature(entry: EntryPoint) -> str:
    return ", ".join(p.name for p in entry.tensors)


def _extent(d: int) -> str:
    return f"({d})" if isinstance(d, SymbolicInt) else str(d)


def _pointer(p: Parameter, index: int, const: str) -> str:
    return f"({const}{stored_type(p.slot.dtype)} *)(void *)(t[{index}]->data + t[{index}]->offset)"


def _code(p: Parameter) -> tuple[int, int]:
    """The type code and the bits of a dtype in DLPack."""
    dtype = p.slot.dtype
    if dtype == "bool":
        return _KINDS["bool"], 8
    kind = dtype.rstrip("0123456789")
    return _KINDS[kind], int(dtype[len(kind) :])


def _loader(name: str) -> list[str]:
    return [
        "/* Loads the weights from a file, before the first run. */",
        f"int __tvm_ffi_{name}_load_weights(void *self, const struct ffi_any *args, int32_t count, struct ffi_any *result);",
        f"int __tvm_ffi_{name}_load_weights(void *self, const struct ffi_any *args, int32_t count, struct ffi_any *result) {{",
        "  const char *path = NULL;",
        "  int code;",
        "  (void)self;",
        "  if (count == 1 && args->type == FFI_RAW_STR) path = args->value.object;",
        "  if (count == 1 && args->type == FFI_SMALL_STR) path = args->value.text;",
        "  if (count == 1 && args->type == FFI_STR) memcpy(&path, args->value.object + FFI_HEADER, sizeof path);",
        '  if (!path) return ffi_fail("TypeError", "load_weights takes the path of a file", "");',
        f"  code = {name}_load_weights(path);",
        '  if (code) return ffi_fail("RuntimeError", ffi_message(code), "");',
        "  memset(result, 0, sizeof *result);",
        "  return 0;",
        "}",
        "",
    ]
