"""A program as LLVM IR text, and the header of its entry points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...selection.nests import computes_in_floats
from ...tir.errors import LENGTH_ERROR, STATE_FULL_ERROR, UNEQUAL_ERROR, WEIGHTS_ERROR, WORKSPACE_ERROR
from ...tir.kernel import Kernel
from ...tir.program import Program, Slot, runs_of
from ...tir.stack import stack_bytes
from ...tir.symbols import has_open_lengths, symbols_of_program
from ...tir.value_notes import BYTES, noted_lengths
from ..interface import weights_file as kept
from ..interface.comment import inside
from ..interface.entry import EntryPoint, entry_points, summary, write_header
from ..interface.expanded_weights import StoredWeights
from ..interface.kernel_comment import describe
from ..interface.memory import ALIGNMENT, STATIC_LIMIT, arena_bytes, region_bytes
from ..interface.names import Identifiers
from ..interface.states import OF_INSTANCES
from ..interface.symbols import constant_symbol, kernel_symbol
from ..interface.tables import table_of, uses_objects
from ..interface.values import VARIABLE
from . import denormals, weights
from .arena_size import define_arena_size
from .builder import Builder, Head
from .expansions import expansions
from .formulas import arguments, parameters, write_formula
from .hosting import HostWriter
from .library import Library
from .nest import KernelWriter
from .refusals import refuse, refuse_outside
from .region import open_region
from .states import define_functions, field_addresses, length_addresses, store_lengths
from .values import define_table, run_on_values


@dataclass(frozen=True)
class LlvmText:
    """The LLVM IR of a program: `NAME.ll`, `NAME.h`, the buffers of `NAME.bin`, the names in them, and the bytes of weights as they are stored."""

    source: str
    header: str
    weights: list[Any] | Path
    entries: list[EntryPoint]
    arena_bytes: int
    kernel_names: dict[str, str] = field(default_factory=dict)
    identifiers: dict[str, str] = field(default_factory=dict)
    stack_bytes: int = 0
    stored_bytes: int = 0
    region_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class LlvmOptions:
    """Options of the LLVM IR of a program.

    Attributes:
        keep: the storage of constants: `auto`, `inline` or `file`.
        strict: no own functions in place of libm's, no products and sums that are rounded once.
        verified: check the digest of weights that are loaded from a file.
        triple: the target triple; empty: the compiler's default.
        attributes: attributes of every function, such as `"target-cpu"="x86-64-v3"`.
        banner: lines of the comments at the beginning of the files.
        region_size: bytes of the region; 0: as many as most programs need.
        macros: the macros of a C compiler for the processor, each between spaces: instructions follow from them.
        expands: weights with an expansion are stored plain in a file, and computed when it is loaded.
    """

    keep: str
    strict: bool
    verified: bool
    triple: str
    attributes: str
    banner: list[str]
    macros: str
    region_size: int = 0
    expands: bool = False


class ProgramWriter:
    """Writes one scheduled program with planned memory."""

    def __init__(self, program: Program, name: str, options: LlvmOptions) -> None:
        self.program = program
        self.name = name
        self.options = options
        self.keep = kept.choose(program.constants, options.keep)
        own = (
            "run",
            "run_with",
            "set_weights",
            "load_weights",
            "weights",
            "storage",
            "identity",
            "mode",
            "region_used",
            "value_out_of_bounds",
            "own_value_out_of_bounds",
            *kept.INTERNAL,
        )
        instances = OF_INSTANCES if any(f.states for f in program.functions.values()) else ()
        self.names = Identifiers("arena", "arena_end", *(f"{name}_{x}" for x in (*own, *instances)))
        self.library = Library(not options.strict, options.macros)
        flushes = not options.strict and computes_in_floats(program.kernels)
        self.architecture = denormals.architecture(options.triple) if flushes else ""
        """The architecture whose mode of denormal numbers a run switches; empty if it switches none."""
        self.arena_bytes = arena_bytes(program, options.region_size)
        self.region_bytes = region_bytes(program, options.region_size)
        self.region_begin = self.arena_bytes - self.region_bytes if self.region_bytes else 0
        self.stack_bytes = stack_bytes(program)
        self.table = self.names.fresh(f"{name}_objects") if uses_objects(program) else ""
        self.functions = {n: self.names.fresh(f"{name}_{n}") for n in program.functions}
        self.kernels: dict[Kernel, str] = {}
        self.constants: dict[Slot, str] = {}
        self.in_file = self.keep == kept.FILE
        self.stored = StoredWeights.of(program.constants, options.expands and self.in_file)

    def write(self, folder: Path | None = None) -> LlvmText:
        """The text of the program; the weights file is written into the folder, if there is one."""
        kernels = self._kernels()
        stored = None
        if self.keep == kept.FILE:
            weights_path = folder / f"{self.name}.bin" if folder is not None else None
            stored = kept.WeightsFile(self.stored.constants, weights_path)
        constants = self._constants(stored)
        entries = entry_points(self.program, self.name, self.names)
        host = [line for f in self.program.functions.values() for line in (*self._function(f), "")]
        runs = [line for e in entries for line in self._run(e)]
        runs += self._own_reader()
        for e in entries:
            if e.instance is not None:
                runs += define_functions(e.instance, self._constant, self.library)
        library = self.library.lines()
        about = [*summary(self.program, self.name, self.arena_bytes, entries[0]), "", *self.options.banner]
        lines = [
            *(f"; {inside(line)}".rstrip() for line in about),
            *([f'target triple = "{self.options.triple}"'] if self.options.triple else []),
            "",
            *self.library.declarations(),
            *(denormals.declarations(self.architecture) if self.architecture else []),
            "",
            *constants,
            *([define_table(table_of(self.program), self.table)] if self.table else []),
            *self._storage(),
            "",
            *library,
            *kernels,
            *host,
            *runs,
        ]
        return LlvmText(
            self._with_attributes(lines),
            write_header(
                self.name,
                entries,
                self.program,
                arena_bytes=self.arena_bytes,
                stack_bytes=self.stack_bytes,
                region_bytes=self.region_bytes,
                region_begin=self.region_begin,
                weights_bytes=stored.size if stored else 0,
                expanded_bytes=self.stored.expanded_bytes,
                summary=about,
            ),
            stored.content if stored else [],
            entries,
            self.arena_bytes,
            {k.name: symbol for k, symbol in self.kernels.items()},
            {p.slot.name: p.name for p in entries[0].inputs},
            self.stack_bytes,
            sum(c.nbytes for c in self.stored.constants),
            self.region_bytes,
        )

    def _with_attributes(self, lines: list[str]) -> str:
        if self.options.attributes:
            lines = [f"{x.signature} {self.options.attributes} {{" if isinstance(x, Head) else x for x in lines]
        return "\n".join([*lines, ""])

    def _kernels(self) -> list[str]:
        runs = runs_of(self.program)
        lines: list[str] = []
        for k in self.program.kernels:
            symbol = self.kernels[k] = self.names.fresh(kernel_symbol(k, self.name))
            lines += [f"; {inside(line)}" for line in describe(k, runs.get(k, []))]
            lines += [*KernelWriter(k, symbol, self.library, self.options.strict).write(), ""]
        return lines

    def _constants(self, stored: kept.WeightsFile | None) -> list[str]:
        for c in self.program.constants:
            self.constants[c] = self.names.fresh(constant_symbol(c, self.name))
        if stored is None:
            return [weights.definition(c, symbol) for c, symbol in self.constants.items()]
        digest = f"{self.name}_digest" if self.options.verified else ""
        lines = weights.digest_function(digest, self.program.spare_bytes) if digest else []
        expands = bool(self.stored.sources)
        accessors = weights.accessors(self.name, stored.size, stored.head, digest and f"@{digest}", expands)
        return [*lines, *accessors, *expansions(self.name, self.stored)]

    def _constant(self, c: Slot, b: Builder) -> str:
        if not self.in_file:
            return f"@{self.constants[c]}"
        if c in self.stored.sources:
            base, offset = b.value(f"load ptr, ptr @{self.name}_expanded", "expanded"), self.stored.expanded_offsets[c]
        else:
            base, offset = b.value(f"load ptr, ptr @{self.name}_weights", "weights"), self.stored.offsets[c]
        return b.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}", c.name)

    def _function(self, f: Any) -> list[str]:
        checks = self.program.checks_frame(f)
        lengths = symbols_of_program(self.program)
        return HostWriter(
            f,
            self.functions,
            self.kernels,
            self._constant,
            self.library,
            checks,
            lengths,
            in_region=self.region_bytes > 0,
            collect=(self.table, self.program.writes_handles),
            noted=noted_lengths(self.program),
        ).write()

    def _storage(self) -> list[str]:
        size = self.arena_bytes + ALIGNMENT
        if has_open_lengths(self.program):
            return []
        if self.arena_bytes <= STATIC_LIMIT:
            return [f"@{self.name}_storage = internal global [{size} x i8] zeroinitializer, align {ALIGNMENT}"]
        malloc = [] if self.in_file else ["declare ptr @malloc(i64)"]
        return [f"@{self.name}_storage = internal global ptr null ; too large for a static array", *malloc]

    def _run(self, e: EntryPoint) -> list[str]:
        """`NAME_run_with` and `NAME_run`."""
        instance = [] if e.instance is None else [e.instance.variable]
        instance += [VARIABLE] if e.function.values is not None else []
        names = [*instance, *(s.name for s in e.symbols), *(p.name for p in e.tensors)]
        pointers = [f"ptr %{p.name}" for p in e.tensors]
        tensors = [*(f"ptr %{i}" for i in instance), *parameters(e.symbols), *pointers]
        b = Builder("arena", "size", "entry", *names)
        self._require_weights(b)
        addresses = length_addresses(b, e.instance) if e.instance is not None else {}
        positions = {f.length.symbol.name: addresses[f.length.symbol.name] for f in e.positions}
        _check_lengths(b, e, positions)
        _check_state_lengths(b, e, addresses)
        for s in e.empty_at_zero:
            refuse(b, b.value(f"icmp eq i64 %{s.name}, 0"), 0)
        refuse(b, b.value("icmp eq ptr %arena, null"), WORKSPACE_ERROR)
        refuse(b, b.value(f"icmp ult i64 %size, {self._least_size(b, e)}"), WORKSPACE_ERROR)
        end = b.value("getelementptr inbounds i8, ptr %arena, i64 %size", "end")
        begin = b.value("ptrtoint ptr %arena to i64")
        over = b.value(f"add i64 {begin}, {ALIGNMENT - 1}")
        skipped = b.value(f"sub i64 {b.value(f'and i64 {over}, {-ALIGNMENT}')}, {begin}")
        base = b.value(f"getelementptr inbounds i8, ptr %arena, i64 {skipped}", "base")
        passed = {s.name for s in e.symbols} | positions.keys()
        lengths = [
            arguments(b, [s], positions)[0] if s.name in passed else f"i64 {s.low}"
            for s in symbols_of_program(self.program)
        ]
        states = field_addresses(b, e.instance) if e.instance is not None else []
        region = []
        if self.region_bytes:
            memory = self._open(b, e, base, end, positions)
            region = [f"ptr {memory}"]

        def call() -> str:
            handed = [f"ptr %{p.name}" for p in e.tensors]
            every = ", ".join([*lengths, *handed, *states, f"ptr {base}", f"ptr {end}", *region])
            before = denormals.flush(b, self.architecture) if self.architecture else ""
            # If the steps were inlined here, arithmetic could move past the switches.
            apart = " noinline" if before else ""
            code = b.value(f"call i32 @{self.functions[e.function.name]}({every}){apart}", "code")
            if before:
                denormals.restore(b, self.architecture, before)
            return code

        if e.function.values is None:
            code = call()
        else:
            code = run_on_values(b, e, self.library, memory, f"@{self.table}", call)
        store_lengths(b, [*e.positions, *e.same_lengths], addresses, positions, code)
        b.ret(f"i32 {code}")
        lines = b.text(f"define i32 @{e.run_with}({', '.join(['ptr %arena', 'i64 %size', *tensors])}) nounwind")
        if e.arena_size:
            return [*define_arena_size(e, e.function.frame_bytes), *lines, ""]
        return [*lines, "", *self._run_in_own(e, names, tensors), ""]

    def _open(self, b: Builder, e: EntryPoint, base: str, end: str, positions: Mapping[str, str]) -> str:
        """Opens the region of a run; its address."""
        offset = write_formula(b, self.region_begin, positions)
        memory = b.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}", "region")
        open_region(b, memory, end)
        return memory

    def _require_weights(self, b: Builder) -> None:
        """Refuses a run without the weights of a file."""
        if self.in_file:
            missing = b.value(f"icmp eq ptr {b.value(f'load ptr, ptr @{self.name}_weights')}, null")
            refuse(b, missing, WEIGHTS_ERROR)

    def _least_size(self, b: Builder, e: EntryPoint) -> str:
        """The bytes of workspace that a run needs. Refuses lengths for which memory has no addresses for as many."""
        if not e.arena_size:
            return str(self.arena_bytes + ALIGNMENT)
        size = b.value(f"call i64 @{e.arena_size}({', '.join(parameters(e.symbols))})")
        refuse(b, b.value(f"icmp eq i64 {size}, 0"), LENGTH_ERROR)
        return size

    def _run_in_own(self, e: EntryPoint, names: Sequence[str], tensors: Sequence[str]) -> list[str]:
        """`NAME_run`, in the workspace of the library; `names` and `tensors` are its parameters."""
        size = self.arena_bytes + ALIGNMENT
        b = Builder("entry", *names)
        storage = f"@{self.name}_storage"
        if self.arena_bytes > STATIC_LIMIT:
            first = b.value(f"load ptr, ptr {storage}")
            take, run = b.fresh("take"), b.fresh("run")
            b.branch(b.value(f"icmp eq ptr {first}, null"), take, run)
            b.start(take)
            b.do(f"store ptr {b.value(f'call ptr @malloc(i64 {size})')}, ptr {storage}")
            b.start(run)
            storage = b.value(f"load ptr, ptr {storage}")
        handed = ", ".join([f"ptr {storage}", f"i64 {size}", *tensors])
        b.ret(f"i32 {b.value(f'call i32 @{e.run_with}({handed})', 'code')}")
        return b.text(f"define i32 @{e.run}({', '.join(tensors)}) nounwind")

    def _own_reader(self) -> list[str]:
        """The function that reads the note of a value outside of its bounds from the workspace of the library, if runs leave notes."""
        if not noted_lengths(self.program):
            return []
        b = Builder("entry", "value")
        storage = f"@{self.name}_storage"
        if self.arena_bytes > STATIC_LIMIT:
            storage = b.value(f"load ptr, ptr {storage}")
        end = self.arena_bytes + ALIGNMENT
        words = [
            b.value(f"load i64, ptr {b.value(f'getelementptr inbounds i8, ptr {storage}, i64 {end - k}')}, align 1")
            for k in (BYTES, BYTES - 8)
        ]
        b.do(f"store i64 {words[1]}, ptr %value")
        b.ret(f"i64 {words[0]}")
        return [*b.text(f"define i64 @{self.name}_own_value_out_of_bounds(ptr %value) nounwind"), ""]


def _check_lengths(b: Builder, e: EntryPoint, positions: Mapping[str, str]) -> None:
    """Refuses lengths outside of their bounds, and those that are not equal where they have to be; `positions` are in the instance."""
    for s in e.symbols:
        refuse_outside(b, s, 0 if s in e.empty_at_zero else s.low, LENGTH_ERROR)
    for declared, extent in e.function.demands:
        sides = write_formula(b, declared, positions), write_formula(b, extent, positions)
        refuse(b, b.value(f"icmp ne i64 {', '.join(sides)}"), UNEQUAL_ERROR)


def _check_state_lengths(b: Builder, e: EntryPoint, addresses: Mapping[str, str]) -> None:
    """Refuses a step for which the states have no room, or with lengths other than those of the first step."""
    positions = {f.length.symbol.name: addresses[f.length.symbol.name] for f in e.positions}
    for f in e.positions:
        now = b.value(f"load i64, ptr {positions[f.length.symbol.name]}", f.name)
        refuse(b, b.value(f"icmp slt i64 {now}, 0"), LENGTH_ERROR)
        refuse(b, b.value(f"icmp sgt i64 {now}, {f.length.capacity}"), LENGTH_ERROR)
    for f in e.positions:
        refuse(
            b,
            b.value(f"icmp sgt i64 {write_formula(b, f.length.next, positions)}, {f.length.capacity}"),
            STATE_FULL_ERROR,
        )
    for f in e.same_lengths:
        now = b.value(f"load i64, ptr {addresses[f.length.symbol.name]}", f.name)
        differs = b.value(f"icmp ne i64 {now}, %{f.length.symbol.name}")
        begun = b.value(f"icmp ne i64 {now}, 0")
        refuse(b, b.value(f"and i1 {differs}, {begun}"), UNEQUAL_ERROR)
