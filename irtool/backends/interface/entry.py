"""The interface of a compiled program in C: its entry points, their parameters, and the macros that describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...symbolic_int import (
    Symbol,
    SymbolicInt,
    Undecided,
    bound,
    extent_of,
    is_known,
    planned,
    symbols_of,
    value_at,
)
from ...tir.errors import (
    BRANCH_ERROR,
    ELEMENTS_ERROR,
    LENGTH_ERROR,
    MATCH_ERROR,
    REGION_ERROR,
    UNEQUAL_ERROR,
    VALUE_ERROR,
)
from ...tir.pools import Pool
from ...tir.program import Program, Slot
from ...tir.region import HEADER
from ...tir.symbols import has_open_lengths, lengths_of_values, symbols_of_function, symbols_of_program
from ...tir.value_notes import noted_lengths, origins_of_lengths
from .. import sources
from ..c_types import stored_type
from .comment import comment, inside
from .decoding import NO_SUCH_TOKEN, declare_decoder, refuses_tokens
from .memory import ALIGNMENT, STATIC_LIMIT
from .names import Identifiers, sanitize
from .states import (
    OTHER_STATE,
    STATE_FULL,
    Instance,
    LengthField,
    declare_functions,
    declare_instance,
    instance_of,
)
from .value_notes import declare_readers
from .values import LOCAL as OF_VALUES
from .values import OTHER_VALUES, VALUES_FULL, VARIABLE, DataInterface, data_interface

OUT_OF_BOUNDS = "OUT_OF_BOUNDS"
"""The name, behind that of the program, of the error of a length beyond its bounds."""
UNEQUAL_LENGTHS = "UNEQUAL_LENGTHS"
"""The same of lengths that are not equal, as the network needs them."""

REGION_FULL, NO_CLAUSE = "REGION_FULL", "NO_CLAUSE"
"""The names, behind that of the program, of the errors of a full region, and of a value that no clause of a match fits."""
VALUE_OUT_OF_BOUNDS = "VALUE_OUT_OF_BOUNDS"
"""The same for an extent that follows from values."""
TOO_FEW_ELEMENTS = "TOO_FEW_ELEMENTS"
"""The same for an axis with fewer elements than a result needs."""

_SHARED_MACROS = (
    "ARENA_SIZE",
    "STACK_SIZE",
    "WEIGHTS_SIZE",
    "EXPANDED_SIZE",
    "NO_LOADER",
    "NO_VERIFY",
    "H",
    "OK",
    "RUN",
)
_REGION_MACROS = ("REGION_SIZE", REGION_FULL, NO_CLAUSE)
_STANDARD = ("NULL", "stdin", "stdout", "stderr", "memcpy", "memcmp", "malloc", "base", "end", "size", "arena")
_LOCAL = ("before", "code", "team", "own", "alone", "threads", "worker")
"""Variables of the functions that begin a run."""
_IN_POOLS = ("pools", "room")
"""Further variables, for a workspace in pools."""


@dataclass(frozen=True)
class Parameter(sources.Parameter):
    """One tensor that the caller passes: its name in C, and the prefix of its macros."""

    macro: str


@dataclass(frozen=True)
class EntryPoint(sources.EntryPoint):
    """A function of the network for callers in C. `run_in_pools` takes a struct of pools before its tensors; empty for a
    workspace in one piece."""

    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    run_in_pools: str = ""
    symbols: tuple[Symbol, ...] = ()
    """The lengths that a run decides, in the order in which shapes of its tensors have them first."""
    instance: Instance | None = None
    """The states that a step keeps for the next one."""
    data: DataInterface | None = None
    """The values that callers of the program have; None if all parameters and results are tensors."""

    @property
    def tensors(self) -> tuple[Parameter, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def declarations(self) -> str:
        """`const float *x, float *out`; empty without inputs and outputs."""
        parameters = [] if self.instance is None else [self.instance.declaration]
        parameters += [self.data.declaration] if self.data is not None and self.function.values is not None else []
        parameters += [f"int64_t {s.name}" for s in self.symbols]
        parameters += [f"const {stored_type(p.slot.dtype)} *{p.name}" for p in self.inputs]
        parameters += [f"{stored_type(p.slot.dtype)} *{p.name}" for p in self.outputs]
        return ", ".join(parameters)

    @property
    def arguments(self) -> str:
        """`x, out`."""
        memory = [] if self.instance is None else [self.instance.variable]
        memory += [VARIABLE] if self.function.values is not None else []
        return ", ".join((*memory, *(s.name for s in self.symbols), *(p.name for p in self.tensors)))

    @property
    def positions(self) -> tuple[LengthField, ...]:
        """The lengths that a step reads from its instance, and changes."""
        return () if self.instance is None else tuple(f for f in self.instance.lengths if f.length.is_position)

    @property
    def same_lengths(self) -> tuple[LengthField, ...]:
        """The lengths that have to be the same in all steps of an instance."""
        return () if self.instance is None else tuple(f for f in self.instance.lengths if not f.length.is_position)

    @property
    def empty_at_zero(self) -> tuple[Symbol, ...]:
        """The symbols without a least length for which 0 leaves no element in any output: a run does nothing then."""
        return tuple(s for s in self.symbols if s.least == 0 and all(_is_empty(p.slot.shape, s) for p in self.outputs))


def entry_points(
    program: Program, name: str, names: Identifiers, constant_pools: Sequence[Pool] = ()
) -> list[EntryPoint]:
    """The entry points of a program, `NAME_run` first; functions get their names from `names`. Pools have macros of their own.

    The first entry is `NAME_run`, or `NAME_step` if it has states; another one, `@encode`, is `NAME_run_encode`.
    """
    of_pools = [f"{p.name.upper()}_POOL" for p in (*program.pools, *constant_pools)]
    macros = Identifiers(*(f"{name.upper()}_{m}{s}" for m in (*_SHARED_MACROS, *of_pools) for s in ("", "_SIZE")))
    program_symbols = symbols_of_program(program)
    macros.take(
        f"{name.upper()}_{OUT_OF_BOUNDS}",
        f"{name.upper()}_{UNEQUAL_LENGTHS}",
        f"{name.upper()}_{NO_SUCH_TOKEN}",
        f"{name.upper()}_{VALUE_OUT_OF_BOUNDS}",
        f"{name.upper()}_{TOO_FEW_ELEMENTS}",
        *(f"{m}_{x}" for m in _length_macros(name, program_symbols) for x in ("MIN", "MAX", "STEP")),
    )
    if program.uses_region:
        macros.take(*(f"{name.upper()}_{m}" for m in _REGION_MACROS))
    data = data_interface(program, name, names)
    if data is not None:
        macros.take(*data.macros)
    entries = []
    for n, entry in enumerate(program.entry_names):
        f = program.functions[entry]
        verb = "step" if f.states else "run"
        run = f"{name}_{verb}" if n == 0 else names.fresh(f"{name}_run_{sanitize(entry)}")
        local = names.inner(
            *_STANDARD,
            *_LOCAL,
            *(s.name for s in program_symbols),
            *(_IN_POOLS if program.pools else ()),
            *(OF_VALUES if data is not None else ()),
        )
        instance = instance_of(f, name, local.fresh("net")) if f.states else None
        prefix = name.upper() + ("" if n == 0 else "_" + run[len(name) + 5 :].upper())
        inputs = [_parameter(s, s.name, prefix, local, macros) for s in f.params]
        outputs = [_parameter(s, f.result_name(k), prefix, local, macros) for k, s in enumerate(f.results)]
        with_arena = f"{name}_{verb}_with" if n == 0 else names.fresh(f"{run}_with")
        in_pools = names.fresh(f"{run}_in_pools") if program.pools else ""
        arena_size = ""
        if has_open_lengths(program):
            arena_size = names.fresh(f"{name}_arena_size" + ("" if n == 0 else f"_{sanitize(entry)}"))
        entries.append(
            EntryPoint(
                f,
                run,
                tuple(inputs),
                tuple(outputs),
                with_arena,
                instance,
                arena_size=arena_size,
                run_in_pools=in_pools,
                symbols=tuple(symbols_of_function(f)),
                data=data,
            )
        )
    return entries


def _parameter(slot: Slot, name_hint: str, prefix: str, local: Identifiers, macros: Identifiers) -> Parameter:
    name = local.fresh(name_hint)
    return Parameter(slot, name, free_macro(f"{prefix}_{name.upper()}", macros))


def free_macro(base: str, macros: Identifiers) -> str:
    """A macro prefix whose macros (`_SIZE`, `_NDIM`, `_SHAPE`) do not exist yet; `x` and `X` differ in C."""
    name, n = base, 1
    while macros.taken(f"{name}_SIZE") or macros.taken(f"{name}_NDIM") or macros.taken(f"{name}_SHAPE"):
        n += 1
        name = f"{base}_{n}"
    macros.take(f"{name}_SIZE", f"{name}_NDIM", f"{name}_SHAPE")
    return name


def summary(program: Program, name: str, arena_bytes: int, entry: EntryPoint) -> list[str]:
    """The facts in a file's first comment: kernels, bytes of memory, inputs and outputs."""
    count, total = len(program.kernels), sum(c.nbytes for c in program.constants)
    return [
        f"{name}: a network of {count} kernel{'s' * (count != 1)}, {arena_bytes} bytes of workspace, {total} bytes of weights.",
        "",
        *(f"  in   {p.name}: {p.slot.dtype}[{p.shape}]" for p in entry.inputs),
        *(f"  out  {p.name}: {p.slot.dtype}[{p.shape}]" for p in entry.outputs),
    ]


def write_header(
    name: str,
    entries: Sequence[EntryPoint],
    program: Program,
    *,
    arena_bytes: int,
    stack_bytes: int,
    weights_bytes: int,
    region_bytes: int = 0,
    region_begin: int = 0,
    summary: Sequence[str],
    levels: Sequence[str] = (),
    pool_macros: Sequence[str] = (),
    pool_struct: Sequence[str] = (),
    expanded_bytes: int = 0,
    alignment: int = 0,
    hooks: Sequence[str] = (),
) -> str:
    """The text of `NAME.h`.

    Args:
        stack_bytes: the most stack that a run takes of its thread.
        weights_bytes: size of the weights file, 0 without one.
        expanded_bytes: bytes of the weights that are computed from those of the file when it is loaded.
        region_bytes: size of the region, 0 without one.
        region_begin: its offset in a workspace.
        summary: lines of the comment at its beginning.
        levels: levels of processors, one of which is chosen when the program is loaded.
        pool_macros: sizes of pools.
        pool_struct: the struct of the workspace's pools (see `pools`).
        alignment: bytes at a multiple of which the caller's workspace begins; 0: anywhere.
        hooks: declarations of functions for profiles.
    """
    upper = name.upper()
    lines = comment(summary)
    lines += [f"#ifndef {upper}_H", f"#define {upper}_H", "", "#include <stddef.h>", "#include <stdint.h>"]
    has_functions = entries[0].data is not None or _has_used(arena_bytes, region_bytes) or noted_lengths(program)
    lines += ["#include <string.h>", ""] if has_functions else [""]
    arena = [] if entries[0].arena_size else _arena_macro(upper, arena_bytes)
    lines += [*arena, *_sizes(name, stack_bytes, weights_bytes, region_bytes, pool_macros, bool(pool_struct))]
    lines += _expanded_size(upper, expanded_bytes) if expanded_bytes else []
    lines += _region_errors(upper, program, region_bytes)
    lines += _lengths(name, entries)
    lines += _equations(name, entries, program)
    lines += _lengths_of_values(name, program)
    data = entries[0].data
    lines += data.header() if data is not None else []
    for e in entries:
        lines += _macros(e)
        lines += declare_instance(e.instance) if e.instance is not None else []
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    lines += _error_list(name, entries, program, region_bytes, alignment)
    lines[-1] += "" if weights_bytes else ". */"
    computed = f"\n * It returns 1 without memory for {upper}_EXPANDED_SIZE bytes." if expanded_bytes else ""
    if weights_bytes:
        lines += [
            " * 2: the weights are not set, not those of this program, or damaged (a file of another size is, too)",
            " * 3: the weights file cannot be opened or read. */",
            "",
            f"/* Loads {name}.bin (mapped into memory where the system can), before the first run. What is refused changes",
            " * nothing. What is loaded stays: loading it again changes nothing, and any number of threads may do so at once,",
            f" * before runs of their own and during those of others.{computed} */",
            f"int {name}_load_weights(const char *path);",
            "",
            f"/* Or: takes the bytes of {name}.bin, which stay the caller's; they must begin at a multiple of 64. Only their head",
            f" * is looked at. Not while a run is going on.{computed} */",
            f"int {name}_set_weights(const void *bytes);",
        ]
    lines += ["", *data.functions()] if data is not None else []
    if _has_used(arena_bytes, region_bytes):
        lines += ["", *_region_used(name, region_begin)]
    lines += pool_struct
    lines += declare_readers(name, program)
    lines += _runs(name, entries, arena_bytes)
    if levels:
        lines += [
            "",
            f"/* The level of processors whose kernels run here: one of {', '.join(levels)}. IRT_LEVEL in the",
            " * environment names the highest that may be chosen. */",
            f"const char *{name}_level(void);",
        ]
    lines += hooks
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _runs(name: str, entries: Sequence[EntryPoint], arena_bytes: int) -> list[str]:
    """Declarations of the functions that run an entry or take a step, and of those on instances."""
    lines: list[str] = []
    for e in entries:
        lines += declare_functions(e.instance) if e.instance is not None else []
    own = "a workspace of its own"
    if not entries[0].arena_size and arena_bytes > STATIC_LIMIT:
        own += ", which the first run takes from malloc"
    for e in entries:
        if e.arena_size:
            lines += [*_run_of_open_lengths(e, len(entries) > 1), *declare_decoder(e)]
            continue
        separator = ", " if e.declarations else ""
        lines += [
            "",
            f"/* @{_comment(e.function.name)} in {own}: not for two threads at once. */"
            if len(entries) > 1
            else f"/* Runs in {own}: not for two threads at once. */",
            f"int {e.run}({e.declarations or 'void'});",
            "/* The same in the caller's workspace: for any number of threads at once, each with a workspace of its own. */",
            f"int {e.run_with}(void *arena, size_t size{separator}{e.declarations});",
        ]
        if e.run_in_pools:
            lines += [
                "/* The same in the caller's pools. */",
                f"int {e.run_in_pools}(const struct {name}_workspace_pools *pools{separator}{e.declarations});",
            ]
        lines += declare_decoder(e)
    return lines


def _run_of_open_lengths(e: EntryPoint, is_named: bool) -> list[str]:
    """Declarations of the functions that give the bytes of workspace and run in it."""
    of = f" of @{_comment(e.function.name)}" if is_named else ""
    return [
        "",
        f"/* Bytes of workspace that one run{of} needs for these lengths; 0 if one is out of bounds, or memory has no addresses for as many",
        " * bytes. */",
        f"size_t {e.arena_size}({', '.join(f'int64_t {s.name}' for s in e.symbols)});",
        "/* Runs in the caller's workspace of at least as many bytes, at any address: for any number of threads at once, each with a workspace",
        " * of its own. */",
        f"int {e.run_with}(void *arena, size_t size, {e.declarations});",
    ]


def _expanded_size(upper: str, expanded_bytes: int) -> list[str]:
    return [
        "/* Bytes of memory that weights take beside the file: those that are computed when it is loaded. */",
        f"#define {upper}_EXPANDED_SIZE {expanded_bytes}u",
        "",
    ]


def _arena_macro(upper: str, arena_bytes: int) -> list[str]:
    size = f"#define {upper}_ARENA_SIZE {arena_bytes + ALIGNMENT}u"
    return ["/* Bytes of workspace that one run needs. */", size, ""]


def _sizes(
    name: str, stack_bytes: int, weights_bytes: int, region_bytes: int, pool_macros: Sequence[str], in_pool: bool
) -> list[str]:
    """Macros for the bytes that a program takes of each kind of memory beside the arena."""
    upper = name.upper()
    return [
        *pool_macros,
        *(_region_size(upper, region_bytes, in_pool) if region_bytes else []),
        "/* Bytes of stack that a run takes at most, with all that it calls. */",
        f"#define {upper}_STACK_SIZE {stack_bytes}u",
        "",
        *([f"/* Bytes of the weights file {name}.bin. */"] if weights_bytes else []),
        *([f"#define {upper}_WEIGHTS_SIZE {weights_bytes}u", ""] if weights_bytes else []),
    ]


def _error_list(
    name: str, entries: Sequence[EntryPoint], program: Program, region_bytes: int, alignment: int
) -> list[str]:
    """The beginning of a comment: the errors of runs, that of a small workspace last."""
    upper, failures = name.upper(), program.failures
    lines = ["/* Every function returns 0, or an error:"]
    if BRANCH_ERROR in failures:
        lines.append(
            f" * {BRANCH_ERROR}: a branch was taken that is impossible with the shapes of this program (nothing is written),"
        )
    if any(e.symbols or e.positions for e in entries):
        lines.append(f" * {upper}_{OUT_OF_BOUNDS}: a length is outside of its bounds (nothing is written),")
    if any(e.instance is not None for e in entries):
        lines.append(f" * {upper}_{OTHER_STATE}: the bytes are no saved state of this network (nothing is restored),")
    if any(e.positions for e in entries):
        lines.append(f" * {upper}_{STATE_FULL}: the states have no room for the step (nothing is written),")
    if any(map(refuses_tokens, entries)):
        lines.append(f" * {upper}_{NO_SUCH_TOKEN}: a token is outside of the vocabulary (nothing is read),")
    if any(_has_equations(e) for e in entries) or UNEQUAL_ERROR in failures:
        lines.append(f" * {upper}_{UNEQUAL_LENGTHS}: lengths are not equal that have to be (nothing is written),")
    if lengths_of_values(program):
        lines.append(
            f" * {upper}_{VALUE_OUT_OF_BOUNDS}: a value decides an extent that is outside of its bounds (nothing is written),"
        )
    if ELEMENTS_ERROR in failures:
        lines.append(
            f" * {upper}_{TOO_FEW_ELEMENTS}: a result needs elements of an axis without as many (nothing is written),"
        )
    if region_bytes:
        lines.append(
            f" * {upper}_{REGION_FULL}: data and recursion of the run do not fit in the region (nothing is written),"
        )
    if MATCH_ERROR in failures:
        lines.append(f" * {upper}_{NO_CLAUSE}: no clause of a match fits (nothing is written),")
    if entries[0].data is not None:
        lines.append(
            f" * {upper}_{OTHER_VALUES}: the values are not of the types of the parameters (nothing is written),"
        )
        lines.append(f" * {upper}_{VALUES_FULL}: the results do not fit in the memory for values (which is as before),")
    misplaced = f", or does not begin at a multiple of {alignment} bytes" if alignment else ""
    return [*lines, f" * 1: the workspace is too small{misplaced} (nothing is written)"]


def _has_used(arena_bytes: int, region_bytes: int) -> bool:
    """True if the region has one place in a workspace for all runs."""
    return bool(region_bytes) and not isinstance(arena_bytes, SymbolicInt)


def _region_used(name: str, begin: int) -> list[str]:
    return [
        "/* The most bytes of the region that the last run in a caller's workspace used at one time: a --region-size that it fits in. */",
        f"static inline int64_t {name}_region_used(const void *arena) {{",
        "  const unsigned char *base = (const unsigned char *)arena;",
        "  int64_t numbers[4];",
        f"  base += ({ALIGNMENT}u - (uintptr_t)base % {ALIGNMENT}u) % {ALIGNMENT}u;",
        f"  memcpy(numbers, base + {begin}, sizeof numbers);",
        f"  return numbers[2] - {HEADER} - numbers[3];",
        "}",
    ]


def _region_size(upper: str, region_bytes: int, in_pool: bool) -> list[str]:
    comment_lines = [
        "/* Bytes of the region at the end of that workspace, in which the data and the frames of recursion of a run lie. A larger",
        " * workspace has a larger region. */",
    ]
    if in_pool:
        comment_lines = [
            "/* Bytes of the region, among those of one pool, in which the data and the frames of recursion of a run lie. */"
        ]
    return [
        *comment_lines,
        f"#define {upper}_REGION_SIZE {region_bytes}u",
        "",
    ]


def _region_errors(upper: str, program: Program, region_bytes: int) -> list[str]:
    """Macros for the errors of runs that work on a region."""
    lines = []
    if region_bytes:
        lines += [f"#define {upper}_{REGION_FULL} {REGION_ERROR}"]
    if MATCH_ERROR in program.failures:
        lines += [f"#define {upper}_{NO_CLAUSE} {MATCH_ERROR}"]
    if ELEMENTS_ERROR in program.failures:
        lines += [f"#define {upper}_{TOO_FEW_ELEMENTS} {ELEMENTS_ERROR}"]
    return ["/* Errors of a run. */", *lines, ""] if lines else []


def _macros(e: EntryPoint) -> list[str]:
    lines = []
    for kind, tensors in (("Inputs", e.inputs), ("Outputs", e.outputs)):
        if not tensors:
            continue
        lines.append(f"/* {kind}: elements and shape. */")
        for p in tensors:
            if any(isinstance(d, SymbolicInt) for d in p.slot.shape):
                if not is_known(planned(p.slot.size)):
                    lines.append(f"/* {p.name}: {p.slot.dtype}[{p.shape}] */")
                    lines.append(f"#define {p.macro}_NDIM {len(p.slot.shape)}")
                    continue
                lines.append(
                    f"#define {p.macro}_MAX_SIZE {bound(p.slot.size)}u /* {p.slot.dtype}[{p.shape}], at the upper bounds */"
                )
                lines.append(f"#define {p.macro}_NDIM {len(p.slot.shape)}")
                continue
            lines.append(f"#define {p.macro}_SIZE {p.slot.size}u /* {p.slot.dtype} */")
            lines.append(f"#define {p.macro}_NDIM {len(p.slot.shape)}")
            if p.slot.shape:
                lines.append(f"#define {p.macro}_SHAPE {{{p.shape}}}")
        lines.append("")
    return lines


def _lengths(name: str, entries: Sequence[EntryPoint]) -> list[str]:
    """Macros for bounds of lengths, and the comment on lengths of 0."""
    symbols = list(dict.fromkeys(s for e in entries for s in e.symbols))
    if not symbols:
        return _error_of_bounds(name, symbols) if any(e.positions for e in entries) else []
    empty = [s.name for s in symbols if all(s in e.empty_at_zero for e in entries if s in e.symbols)]
    lines = ["/* Lengths that the caller of a run decides, within these bounds; shapes have formulas of them."]
    if empty:
        zeros = " or ".join(f"{s} = 0" for s in empty)
        lines.append(f" * With {zeros} no output has an element: a run returns 0 and does nothing.")
    lines += [f" *   {s.name}: {s.range}, and no other length" for s in symbols if s.choices]
    lines[-1] += " */"
    for s, macro in zip(symbols, _length_macros(name, symbols), strict=True):
        lines += [f"#define {macro}_MIN {s.low}", f"#define {macro}_MAX {s.high}"]
        lines += [f"#define {macro}_STEP {s.step}"] if s.step > 1 else []
    return [
        *lines,
        "",
        *_error_of_bounds(name, symbols),
    ]


def _error_of_bounds(name: str, symbols: Sequence[Symbol]) -> list[str]:
    """The macro for the error of lengths beyond their bounds."""
    return [
        "/* The error of a length outside of its bounds, or that is no multiple of its step. */"
        if any(s.step > 1 and not s.choices for s in symbols)
        else "/* The error of a length outside of its bounds. */",
        f"#define {name.upper()}_{OUT_OF_BOUNDS} {LENGTH_ERROR}",
        "",
    ]


def _has_equations(e: EntryPoint) -> bool:
    return bool(e.function.demands or e.same_lengths)


def _equations(name: str, entries: Sequence[EntryPoint], program: Program) -> list[str]:
    """The macro for the error of lengths that are not equal, and which have to be."""
    equations = [f"{a} == {b}" for e in entries for a, b in e.function.demands]
    equations += [f"one {f.length.symbol.name} in all steps of an instance" for e in entries for f in e.same_lengths]
    if UNEQUAL_ERROR in program.failures:
        equations.append("the equalities that extents which follow from values need")
    if not equations:
        return []
    return [
        f"/* The error of lengths without {', '.join(equations)}. */",
        f"#define {name.upper()}_{UNEQUAL_LENGTHS} {UNEQUAL_ERROR}",
        "",
    ]


def _lengths_of_values(name: str, program: Program) -> list[str]:
    """The comment on extents that follow from values, and the macro of their error."""
    lengths = lengths_of_values(program)
    if not lengths:
        return []
    origins = origins_of_lengths(program)
    places = {s: f", {inside(origins[s])}" if s in origins else "" for s in lengths}
    bounds = [f" *   {s.name}: {s.low} to {s.high}{places[s]}" for s in lengths]
    return [
        "/* Extents that follow from values, within these bounds. An output that has one is memory of its MAX_SIZE elements; a run",
        " * fills the first ones, row by row, and writes the extents to the output of that name with _shape behind it.",
        *bounds,
        " */",
        "/* The error of a value outside of them. */",
        f"#define {name.upper()}_{VALUE_OUT_OF_BOUNDS} {VALUE_ERROR}",
        "",
    ]


def _length_macros(name: str, symbols: Sequence[Symbol]) -> list[str]:
    """The prefix of the macros of each length, which differ even where names differ by case only."""
    macros = Identifiers()
    return [macros.fresh(f"{name.upper()}_{s.name.upper()}") for s in symbols]


def _is_empty(shape: Sequence[int], symbol: Symbol) -> bool:
    """True if the shape has no element when this length is 0, whatever the others are."""
    for d in shape:
        values = {s: extent_of(s) for s in symbols_of([d])}
        try:
            if symbol in values and value_at(d, {**values, symbol: 0}) == 0:
                return True
        except (ZeroDivisionError, Undecided):
            continue
    return False


def _comment(text: str) -> str:
    """Text that is allowed in a C comment."""
    return sanitize(text) if not text.isidentifier() or not text.isascii() else text
