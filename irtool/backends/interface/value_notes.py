"""Functions of a network, in C, that read the note of a value which decides an extent outside of its bounds (see `tir.value_notes`)."""

from __future__ import annotations

from ...tir.program import Program
from ...tir.symbols import lengths_of_values
from ...tir.value_notes import BYTES, noted_lengths, pool_of_notes
from .memory import ALIGNMENT


def declare_readers(name: str, program: Program) -> list[str]:
    """The functions, for a header: of a run in a caller's workspace, in pools, and in the network's own memory; none if runs leave no notes."""
    if not noted_lengths(program):
        return []
    names = ", ".join(s.name for s in lengths_of_values(program))
    lines = [
        "",
        f"/* After the error {name.upper()}_VALUE_OUT_OF_BOUNDS of a run in a caller's workspace of `size` bytes: the number, from 0, of the",
        f" * extent among {names}, and the value that it would have had. */",
        f"static inline int64_t {name}_value_out_of_bounds(const void *arena, size_t size, int64_t *value) {{",
        "  int64_t note[2];",
        f"  memcpy(note, (const unsigned char *)arena + size - {BYTES}, {BYTES});",
        "  *value = note[1];",
        "  return note[0];",
        "}",
    ]
    pool = pool_of_notes(program)
    if pool is not None:
        lines += [
            "",
            "/* The same of a run in a caller's pools. */",
            f"static inline int64_t {name}_value_out_of_bounds_in_pools(const struct {name}_workspace_pools *pools, int64_t *value) {{",
            f"  const unsigned char *place = (const unsigned char *)pools->{program.pools[pool].name};",
            "  int64_t note[2];",
            f"  place += ({ALIGNMENT}u - (uintptr_t)place % {ALIGNMENT}u) % {ALIGNMENT}u;",
            f"  memcpy(note, place, {BYTES});",
            "  *value = note[1];",
            "  return note[0];",
            "}",
        ]
    return [
        *lines,
        "",
        "/* The same of a run in a workspace of its own. */",
        f"int64_t {name}_own_value_out_of_bounds(int64_t *value);",
    ]


def define_own_reader(name: str, storage: str) -> str:
    """The function that reads the note of a run in the network's own memory, of the name `storage`."""
    return (
        f"int64_t {name}_own_value_out_of_bounds(int64_t *value) {{\n"
        f"  return {name}_value_out_of_bounds({storage}, {name.upper()}_ARENA_SIZE, value);\n}}\n"
    )


def define_own_reader_of_pools(name: str, field: str, storage: str) -> str:
    """The same for memory in pools, of which the one in this field of their struct has the note."""
    struct = f"struct {name}_workspace_pools"
    return (
        f"int64_t {name}_own_value_out_of_bounds(int64_t *value) {{\n"
        f"  {struct} pools;\n"
        f"  pools.{field} = {storage};\n"
        f"  return {name}_value_out_of_bounds_in_pools(&pools, value);\n}}\n"
    )
