"""The constants of a program in C: definitions in a source, or the code that loads their file."""

from __future__ import annotations

from collections.abc import Iterable

from ...selection.vectors.types import HALVES
from ...tir.program import Slot
from ..c_types import bare, literal, stored_type
from ..interface import weights_digest
from ..interface.comment import inside
from ..interface.expanded_weights import StoredWeights
from ..interface.memory import ALIGNMENT
from ..interface.weights_file import stored_digest
from .runtime import fill_runtime

_PER_LINE = 12


def declaration(c: Slot, name: str) -> str:
    """`const float constant_0[64]`."""
    return f"const {stored_type(c.dtype)} {name}[{max(1, c.size)}]"


def definition(c: Slot, name: str, with_name: bool = False) -> str:
    """`const float constant_0[2] = { … };`, with its name in the program in the comment, if that is asked for."""
    values = _numbers(c) or ["0"]
    rows = ["  " + ", ".join(values[i : i + _PER_LINE]) + "," for i in range(0, len(values), _PER_LINE)]
    shape = ", ".join(map(str, c.shape))
    label = f"{inside(c.name)}: " if with_name else ""
    return "\n".join([f"{declaration(c, name)} = {{ /* {label}[{shape}] */", *rows, "};"])


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


def place_expanded(name: str, c: Slot, called: str, offset: int) -> str:
    """A macro for a constant that the library computes from the weights file."""
    shape = ", ".join(map(str, c.shape))
    return f"#define {called} ((const float *)(const void *)({name}_expanded + {offset})) /* [{shape}] */"


def accessors(name: str, upper: str, head: bytes, verified: bool, stack_bytes: int, stored: StoredWeights) -> str:
    """C functions that set the weights: `NAME_set_weights` and `NAME_load_weights`.

    Args:
        head: the head of the file.
        stored: the constants of the file, and those that are computed from them.
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
    values |= _expanding(name, upper, stored)
    return fill_runtime("weights.c", alignment=ALIGNMENT, **values)


def _expanding(name: str, upper: str, stored: StoredWeights) -> dict[str, str]:
    """The parts of these functions that compute weights from those of the file."""
    if not stored.sources:
        return dict.fromkeys(("expansions", "set", "expand_mapped", "expand_read"), "")
    factors = ["  " + ", ".join(map(repr, row)) + "," for matrix in stored.factors for row in matrix]
    rows = [
        "  { " + ", ".join(f"{n}u" for n in (source, place, x.blocks, x.size, x.rows, x.columns, first)) + " },"
        for source, place, x, first in stored.expansions
    ]
    functions = fill_runtime(
        "expansions.c",
        name=name,
        upper=upper,
        alignment=ALIGNMENT,
        count=f"{len(rows)}u",
        factors="\n".join(factors),
        rows="\n".join(rows),
    )
    reserve = f"""\
  if (!{name}_expanded) {{
    unsigned char *room;
    {name}_expanded = {name}_reserve(&room);
    if (!{name}_expanded) return 1;
  }}
  {name}_expand((const unsigned char *)bytes, {name}_expanded, 0);
"""
    return {
        "expansions": functions,
        "set": reserve,
        "expand_mapped": f"  if (!code) code = {name}_expand_once((const unsigned char *)bytes, 1);\n",
        "expand_read": f"    if (!code) code = {name}_expand_once(bytes, 0);\n",
    }
