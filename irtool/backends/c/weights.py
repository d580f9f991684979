"""Where the constants of a program live: in its source, in a source of their own, or in a file that is mapped at load."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from ...diagnostics import UsageError
from ...tir.program import Slot
from .interface import ALIGNMENT
from .scalars import HALVES, literal, stored_type

INLINE, SPLIT, FILE = "inline", "split", "file"
WAYS = (INLINE, SPLIT, FILE)

INLINE_LIMIT = 1 << 16
"""Bytes of constants up to which they stand in the source unless it is said otherwise."""

SOURCE_LIMIT = 64 << 20
"""Bytes of constants that C source is refused for: a compiler takes minutes and gigabytes for them."""

_PER_LINE = 12
_MAGIC = b"irtool weights 1"


def choose(constants: Sequence[Slot], wanted: str) -> str:
    """The way to keep these constants. `auto` picks by size. Raises UsageError for source that no compiler would bear."""
    total = sum(c.nbytes for c in constants)
    if wanted == "auto":
        return INLINE if total <= INLINE_LIMIT else FILE
    if wanted not in WAYS:
        raise UsageError(f"weights={wanted!r} is not one of auto, {', '.join(WAYS)}")
    if wanted != FILE and total > SOURCE_LIMIT:
        raise UsageError(
            f"weights of {total} bytes are too many for C source (the limit is {SOURCE_LIMIT})",
            help="use --weights=file",
        )
    return wanted if constants else INLINE


def offsets(constants: Sequence[Slot]) -> dict[Slot, int]:
    """Where each constant begins in the weights file."""
    made: dict[Slot, int] = {}
    at = ALIGNMENT
    for c in constants:
        made[c] = at
        at += -(-c.nbytes // ALIGNMENT) * ALIGNMENT
    return made


def file_parts(constants: Sequence[Slot]) -> list[Any]:
    """The weights file as a list of buffers: 64 bytes that identify it, then each constant at a multiple of 64."""
    parts: list[Any] = []
    digest = hashlib.sha256()
    for c in constants:
        data = memoryview(_bytes(c))
        parts += [data, bytes(-c.nbytes % ALIGNMENT)]
        digest.update(f"{c.dtype}{c.shape}".encode())
        digest.update(data)
    return [digest.digest() + _MAGIC.ljust(ALIGNMENT - 32, b"\0"), *parts]


def _bytes(c: Slot) -> Any:
    import numpy as np

    return np.ascontiguousarray(c.data).reshape(-1).view("uint8")


def declaration(c: Slot, name: str) -> str:
    """`const float constant_0[64]`."""
    return f"const {stored_type(c.dtype)} {name}[{max(1, c.size)}]"


def definition(c: Slot, name: str) -> str:
    """`const float constant_0[2] = { … };`"""
    values = _numbers(c) or ["0"]
    rows = ["  " + ", ".join(values[i : i + _PER_LINE]) + "," for i in range(0, len(values), _PER_LINE)]
    shape = ", ".join(map(str, c.shape))
    return "\n".join([f"{declaration(c, name)} = {{ /* [{shape}] */", *rows, "};"])


def attribute(upper: str) -> list[str]:
    """A macro in front of each constant, for whoever compiles: a section, an alignment."""
    return [
        '/* In front of each weight, such as __attribute__((section(".flash"))). */',
        f"#ifndef {upper}_WEIGHTS_ATTR",
        f"#define {upper}_WEIGHTS_ATTR",
        "#endif",
        "",
    ]


def linkage(upper: str) -> list[str]:
    """The macros of constants that are defined where they are used: nobody else sees them, unless the second is empty."""
    return [
        *attribute(upper)[:-1],
        "/* Empty: other files see the weights. */",
        f"#ifndef {upper}_WEIGHTS_LINKAGE",
        f"#define {upper}_WEIGHTS_LINKAGE static",
        "#endif",
        "",
    ]


def place(name: str, c: Slot, called: str, offset: int) -> str:
    """A macro for a constant in the weights file."""
    shape = ", ".join(map(str, c.shape))
    t = stored_type(c.dtype)
    return f"#define {called} ((const {t} *)(const void *)({name}_weights + {offset})) /* [{shape}] */"


def _numbers(c: Slot) -> list[str]:
    data = c.data.reshape(-1)
    if c.dtype in HALVES:
        return [f"0x{v:04x}" for v in data.view("uint16").tolist()]
    return [_bare(literal(v, c.dtype)) for v in data.tolist()]


def _bare(text: str) -> str:
    return text[1:-1] if text.startswith("(-") and text.endswith(")") else text


def accessors(name: str, upper: str, identity: bytes) -> str:
    """C functions that hand over the weights file: `NAME_set_weights` and `NAME_load_weights`."""
    listed = ", ".join(str(b) for b in identity)
    return f"""\
static const unsigned char *{name}_weights;

int {name}_set_weights(const void *bytes) {{
  static const unsigned char identity[32] = {{
    {listed}
  }};
  if (!bytes || memcmp(bytes, identity, sizeof identity)) return 2;
  {name}_weights = (const unsigned char *)bytes;
  return 0;
}}

#ifdef {upper}_NO_LOADER
#elif defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int {name}_load_weights(const char *path) {{
  struct stat about;
  void *bytes = MAP_FAILED;
  int file = open(path, O_RDONLY);
  if (file < 0) return 3;
  if (!fstat(file, &about) && about.st_size >= 0 && (uintmax_t)about.st_size == {upper}_WEIGHTS_SIZE)
    bytes = mmap(NULL, {upper}_WEIGHTS_SIZE, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  return bytes == MAP_FAILED ? 3 : {name}_set_weights(bytes);
}}
#else
#include <stdio.h>
#include <stdlib.h>

int {name}_load_weights(const char *path) {{
  unsigned char *bytes = malloc({upper}_WEIGHTS_SIZE + {ALIGNMENT}u);
  FILE *file = fopen(path, "rb");
  size_t got = 0;
  if (bytes) bytes += {ALIGNMENT}u - (uintptr_t)bytes % {ALIGNMENT}u;
  if (bytes && file) got = fread(bytes, 1, {upper}_WEIGHTS_SIZE, file);
  if (file) fclose(file);
  return got == {upper}_WEIGHTS_SIZE ? {name}_set_weights(bytes) : 3;
}}
#endif
"""
