"""The constants of a program in C: definitions in a source, or the code that loads their file."""

from __future__ import annotations

from collections.abc import Iterable

from ...selection.vectors.types import HALVES
from ...tir.program import Slot
from ..c_types import bare, literal, stored_type
from ..interface import weights_digest
from ..interface.memory import ALIGNMENT
from ..interface.weights_file import stored_digest
from .runtime import fill_runtime

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
    """Macros in front of constants, for users who compile the source: a section, an alignment."""
    lines = ['/* In front of each weight, such as __attribute__((section(".flash"))). */']
    for macro in macros:
        lines += [f"#ifndef {macro}", f"#define {macro}", "#endif"]
    return [*lines, ""]


def linkage(upper: str, macros: Iterable[str]) -> list[str]:
    """The macros of constants in the source that uses them: they are static, unless the last macro is defined as empty."""
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


def accessors(name: str, upper: str, head: bytes, verified: bool, stack_bytes: int) -> str:
    """C functions that set the weights: `NAME_set_weights` and `NAME_load_weights`.

    Args:
        head: the head of the file.
        verified: check the digest of weights that are loaded from a file.
        stack_bytes: the most stack of the check.
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
    values = {"name": name, "upper": upper, "listed": listed, "digest": function, "verify": verify}
    return fill_runtime("weights.c", alignment=ALIGNMENT, **values)
