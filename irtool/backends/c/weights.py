"""The constants of a program as C: definitions in a source, or the code that loads their file."""

from __future__ import annotations

from collections.abc import Iterable

from ...selection.vectors.types import HALVES
from ...tir.program import Slot
from ..c_types import bare, literal, stored_type
from ..interface import weights_digest
from ..interface.memory import ALIGNMENT
from ..interface.weights_file import stored_digest

_PER_LINE = 12


def declaration(c: Slot, name: str) -> str:
    """`const float constant_0[64]`."""
    return f"const {stored_type(c.dtype)} {name}[{max(1, c.size)}]"


def definition(c: Slot, name: str) -> str:
    """`const float constant_0[2] = { … };`"""
    values = _numbers(c) or ["0"]
    rows = ["  " + ", ".join(values[i : i + _PER_LINE]) + "," for i in range(0, len(values), _PER_LINE)]
    shape = ", ".join(map(str, c.shape))
    return "\n".join([f"{declaration(c, name)} = {{ /* [{shape}] */", *rows, "};"])


def attributes(macros: Iterable[str]) -> list[str]:
    """Macros in front of constants, for whoever compiles: a section, an alignment."""
    lines = ['/* In front of each weight, such as __attribute__((section(".flash"))). */']
    for macro in macros:
        lines += [f"#ifndef {macro}", f"#define {macro}", "#endif"]
    return [*lines, ""]


def linkage(upper: str, macros: Iterable[str]) -> list[str]:
    """The macros of constants that are defined where they are used: nobody else sees them, unless the last is empty."""
    return [
        *attributes(macros)[:-1],
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
    return [bare(literal(v, c.dtype)) for v in data.tolist()]


_TAKE = """\
static const unsigned char *{name}_weights;

static int {name}_are_own(const void *bytes) {{
  static const unsigned char identity[32] = {{
    {listed}
  }};
  return bytes && !memcmp(bytes, identity, sizeof identity);
}}

int {name}_set_weights(const void *bytes) {{
  if (!{name}_are_own(bytes)) return 2;
  {name}_weights = (const unsigned char *)bytes;
  return 0;
}}

"""
"""What takes the bytes of a weights file, if they are those of this program."""

_ACCEPT = """\
{function}/* What was read from a file first. It stays: runs read it, and what is loaded later has the same contents. */
static const unsigned char *{name}_loaded;

/* Whether what was read from a file is this program's and whole: 0 or 2. */
static int {name}_accept(const void *bytes) {{
  if (!{name}_are_own(bytes)) return 2;
{verify}  return 0;
}}

/* Sets the weights to these bytes, or to those that were loaded before. Returns whether these are in use. */
#if defined(__GNUC__) && (defined(__unix__) || defined(__APPLE__) || defined(_WIN32))
static int {name}_keep(const unsigned char *bytes) {{
  const unsigned char *first = NULL, *before = __atomic_load_n(&{name}_weights, __ATOMIC_ACQUIRE);
  const int is_first = __atomic_compare_exchange_n(&{name}_loaded, &first, bytes, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  if (is_first) first = bytes;
  if (before != first)
    (void)__atomic_compare_exchange_n(&{name}_weights, &before, first, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return is_first;
}}
#else
static int {name}_keep(const unsigned char *bytes) {{
  const int is_first = !{name}_loaded;
  if (is_first) {name}_loaded = bytes;
  {name}_weights = {name}_loaded;
  return is_first;
}}
#endif

"""
"""What checks the bytes of a file that was read, and takes them."""

_MAP = """\
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int {name}_load_weights(const char *path) {{
  struct stat about;
  void *bytes;
  int file = path ? open(path, O_RDONLY | O_NONBLOCK) : -1, code;
  if (file < 0) return 3;
  if (fstat(file, &about) || !S_ISREG(about.st_mode)) {{
    close(file);
    return 3;
  }}
  if (about.st_size < 0 || (uintmax_t)about.st_size != {upper}_WEIGHTS_SIZE) {{
    close(file);
    return 2;
  }}
  bytes = mmap(NULL, {upper}_WEIGHTS_SIZE, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (bytes == MAP_FAILED) return 3;
  code = {name}_accept(bytes);
  if (code || !{name}_keep((const unsigned char *)bytes)) munmap(bytes, {upper}_WEIGHTS_SIZE);
  return code;
}}
"""
"""The loader for systems that map files into memory."""

_READ = """\
#include <stdio.h>
#include <stdlib.h>

int {name}_load_weights(const char *path) {{
  FILE *file = path ? fopen(path, "rb") : NULL;
  unsigned char *room, *bytes = NULL;
  size_t got;
  int code = 3;
  if (!file) return 3;
  room = (unsigned char *)malloc({upper}_WEIGHTS_SIZE + {alignment}u);
  if (room) {{
    bytes = room + ({alignment}u - (uintptr_t)room % {alignment}u) % {alignment}u;
    got = fread(bytes, 1, {upper}_WEIGHTS_SIZE, file);
    if (!ferror(file)) code = got == {upper}_WEIGHTS_SIZE && fgetc(file) == EOF ? {name}_accept(bytes) : 2;
  }}
  fclose(file);
  if (code || !{name}_keep(bytes)) free(room);
  return code;
}}
"""
"""The loader for all others."""


def accessors(name: str, upper: str, head: bytes, verified: bool, stack_bytes: int) -> str:
    """C functions that hand over the weights file: `NAME_set_weights` and `NAME_load_weights`.

    Args:
        head: of the file.
        verified: what is loaded from a file is checked against its digest.
        stack_bytes: what that may have on the stack.
    """
    listed = ", ".join(str(b) for b in head[:32])
    function = verify = ""
    if verified:
        function = f"#ifndef {upper}_NO_VERIFY\n{weights_digest.c_function(f'{name}_digest', stack_bytes)}#endif\n\n"
        verify = f"""\
#ifndef {upper}_NO_VERIFY
  if ({name}_digest((const unsigned char *)bytes + {ALIGNMENT}, {upper}_WEIGHTS_SIZE - {ALIGNMENT}u)
      != UINT64_C(0x{stored_digest(head):016x})) return 2;
#endif
"""
    loader = (
        _ACCEPT.format(name=name, function=function, verify=verify),
        "#if defined(__unix__) || defined(__APPLE__)\n",
        _MAP.format(name=name, upper=upper),
        "#else\n",
        _READ.format(name=name, upper=upper, alignment=ALIGNMENT),
        "#endif\n",
    )
    take = _TAKE.format(name=name, listed=listed)
    return "".join([take, f"#ifndef {upper}_NO_LOADER\n", *loader, "#endif\n"])
