"""A program as C text: the header, the source, the files that build it in several pieces at once, and the weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any

from ...selection.nests import computes_in_floats
from ...selection.teams import runs_in_teams, shared_work
from ...steps import counted
from ...symbolic_int import upper
from ...tir import dtypes
from ...tir.errors import WEIGHTS_ERROR
from ...tir.native_halves import HALF
from ...tir.pools import Pool
from ...tir.program import Program, Slot, constants_in_use, runs_of
from ...tir.stack import stack_bytes
from ...tir.symbols import symbols_of_program
from ...tir.value_notes import noted_lengths, pool_of_notes
from ..formulas import vector_halves, vector_math, vector_types
from ..formulas.support import INLINE, definitions
from ..interface import weights_file
from ..interface.comment import comment
from ..interface.entry import EntryPoint, entry_points, summary, write_header
from ..interface.expanded_weights import StoredWeights
from ..interface.kernel_comment import describe
from ..interface.memory import arena_frames, region_bytes
from ..interface.names import Identifiers
from ..interface.objects import object_functions
from ..interface.pools import WorkspacePool, size_macros, struct, with_region, workspace_pools
from ..interface.states import OF_INSTANCES
from ..interface.symbols import constant_symbol, kernel_symbol
from ..interface.tables import uses_objects
from ..interface.value_notes import define_own_reader, define_own_reader_of_pools
from ..toolchain.levels import ProcessorLevel, choose_level, define_levels
from . import opaque, weights
from .arena_size import define_arena_size
from .banner import Origin
from .certifiable.functions import definitions as plain_definitions
from .certifiable.hosts import WORD, StaticRunWriter, storage
from .certifiable.refusals import check_rules
from .certifiable.text import short_symbol, with_headers
from .constant_pools import ConstantPool, ConstantPools
from .hosting import HostWriter
from .line_directives import first_place, numbered
from .nest import KernelWriter
from .profile_hooks import clock_requirements, declare_hooks, define_hooks
from .runs import RunWriter, own_storage, position, storages, store_lengths
from .runtime import runtime
from .states import define_functions
from .team import REGION_WORK, count_threads, run_together
from .units import Named, Units
from .values import define_table, run_on_values
from .variant import Variant, section


@dataclass(frozen=True, kw_only=True)
class CText:
    """The C text of a program.

    Attributes:
        header: `NAME.h`.
        source: `NAME.c`, the full program.
        constants: `NAME_weights.c`, or empty.
        declarations: `NAME_weights.h`, or empty: the constants are declared where they are used.
        weights: buffers of `NAME.bin`, or its path if it is written already, or empty.
        units: the same program as `source` and `constants`, as translation units that are compiled in parallel, by file name.
        entries: the entry points, `NAME_run` first.
        identifiers: the names of the entry's parameters in C.
        kernel_names: the names of the kernels in C.
        arena_bytes: workspace of one run, for the level that needs most.
        live_bytes: the most bytes of it that are alive at one time, for the level with most of them.
        stack_bytes: the most stack of a run, for the level that takes most.
        stored_bytes: the bytes of the weights as they are stored.
        sources: names of the C files of the library.
        origin: the processor and the compiler.
        pools: the pools of the workspace, if any.
        region_begin: the offset of the region in a workspace in one piece.
        constant_pools: the pools of the weights, if any.
        has_hooks: compiled with `-DNAME_PROFILE`, it records the times of kernels.
    """

    name: str
    header: str
    source: str
    constants: str
    weights: list[Any] | Path
    units: dict[str, str]
    entries: list[EntryPoint]
    identifiers: dict[str, str]
    kernel_names: dict[str, str] = field(default_factory=dict)
    arena_bytes: int = 0
    live_bytes: int = 0
    stack_bytes: int = 0
    stored_bytes: int = 0
    sources: list[str] = field(default_factory=list)
    origin: Origin | None = None
    pools: Sequence[WorkspacePool] = ()
    region_begin: int = 0
    constant_pools: Sequence[ConstantPool] = ()
    declarations: str = ""
    has_hooks: bool = False

    @property
    def compile_line(self) -> str:
        """The command that compiles the sources; empty without an origin."""
        return self.origin.compile_line(self.sources) if self.origin else ""


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Options of the C text of a program.

    Attributes:
        keep: the storage of constants, see `weights`.
        region_size: bytes of the region in the static arena; 0: as many as most programs need, see `interface.memory`.
        math: `fast` for own vectorized functions, `strict` for libm.
        unit_length: characters of kernels in a translation unit; 0: the program is a single one.
        expands: weights with an expansion are stored plain in a file, and computed when it is loaded.
        verify_weights: check the digest of weights that are loaded from a file.
        origin: the facts of the comment at the beginning of each file.
        levels: levels of processors, lowest first: those of `program.lesser`, last first, and of the program itself.
        threads: the text will be compiled with OpenMP: a run is one parallel region, if its loops allow that.
        unit_done: gets the file name and the text of each unit of kernels as soon as it is written.
        constant_pools: the pools of constants in the C text.
        certifiable: the text keeps the rules of `certifiable`.
        hooks: the text has `profile_hooks`.
        line_directives: kernels seem to be at their places in the source, see `line_directives`.
    """

    keep: str = "auto"
    region_size: int = 0
    math: str = "fast"
    unit_length: int = 0
    origin: Origin | None = None
    expands: bool = False
    verify_weights: bool = True
    levels: Sequence[ProcessorLevel] = ()
    threads: bool = False
    unit_done: Callable[[str, str], None] = lambda name, text: None
    constant_pools: Sequence[Pool] = ()
    certifiable: bool = False
    hooks: bool = False
    line_directives: bool = False


def write_program(
    program: Program, name: str = "model", options: TextOptions = TextOptions(), folder: Path | None = None
) -> CText:
    """The C text of a program.

    Args:
        program: a scheduled program with planned memory.
        name: prefix of all external names; a C identifier.
        options: the options of the text.
        folder: the folder for the weights file, if there is one; None: its contents are in the result.
    """
    return _Writer(program, name, options).write(folder)


class _Writer:
    def __init__(self, program: Program, name: str, options: TextOptions) -> None:
        self.in_team = options.threads and all(map(runs_in_teams, (program, *program.lesser)))
        self.flushes = options.math != "strict" and any(
            computes_in_floats(p.kernels) for p in (program, *program.lesser)
        )
        self.certifiable = options.certifiable
        self.has_hooks = options.hooks and bool(program.kernels)
        self.line_directives = options.line_directives
        if self.certifiable:
            check_rules(program, name, program.entry_names)
        self.origin = options.origin
        self.verify_weights = options.verify_weights
        self.program = program
        self.name = name
        self.upper = name.upper()
        self.math = options.math
        self.keep = weights_file.choose(program.constants, options.keep)
        self.constant_pools = ConstantPools(name, program.constants, options.constant_pools)
        own = (
            "run",
            "run_with",
            "set_weights",
            "load_weights",
            "weights",
            "storage",
            "workspace_pools",
            *weights_file.INTERNAL,
            *_LEVELS,
            "threads",
            "region_used",
            "value_out_of_bounds",
            "value_out_of_bounds_in_pools",
            "own_value_out_of_bounds",
        )
        instances = OF_INSTANCES if any(f.states for f in program.functions.values()) else ()
        self.names = Identifiers("arena", "arena_end", *(f"{name}_{x}" for x in (*own, *instances)))
        self.constants: dict[Slot, str] = {}
        self._numbers = count()
        """Numbers of the constants in short names."""
        self.stored = StoredWeights.of(program.constants, options.expands and self.keep == weights_file.FILE)
        self.levels: list[ProcessorLevel] = []
        # Units are compiled while later kernels are written: what is in all of them is known before.
        self.region_bytes = max(region_bytes(p, options.region_size) for p in (program, *program.lesser))
        self.uses_objects = uses_objects(program)
        self.table = self.names.fresh(f"{name}_objects") if self.uses_objects else ""
        self.units = Units(name, self._tools, options.unit_length, options.unit_done)
        self.variants = self._variants(options.levels)
        if program.lesser:
            self.levels = [v.level for v in self.variants if v.level is not None]
            for v in self.variants:
                for k in v.kernels:
                    self.units.add(v, k)
        self.pools = workspace_pools([v.program for v in self.variants], name, self.names)
        if self.pools and self.region_bytes:
            self.pools = with_region(self.pools, self.region_bytes)
        frames = functools.reduce(upper, (arena_frames(v.program) for v in self.variants))
        self.arena_bytes = sum(p.bytes for p in self.pools) or frames + self.region_bytes
        self.stack_bytes = max(stack_bytes(v.program) for v in self.variants)
        split = [f"{name}_weights.c"] if self.keep == weights_file.SPLIT else []
        self.sources = [f"{name}.c", *split, *(options.origin.extra_sources if options.origin else ())]
        self.banner = options.origin.lines(self.sources) if options.origin else []

    def write(self, folder: Path | None) -> CText:
        # The compiler is running by now: it needs the weights only for the last unit.
        self.units.close()
        stored = None
        if self.keep == weights_file.FILE:
            weights_path = folder / f"{self.name}.bin" if folder is not None else None
            stored = weights_file.WeightsFile(self.stored.constants, weights_path)
        constants = self._constants(stored)
        entries = entry_points(self.program, self.name, self.names, [p.pool for p in self.constant_pools.pools])
        host = "\n".join(self._functions())
        runs = "\n".join([*(self._run(e) for e in entries), *self._own_reader()])
        for e in entries:
            if e.instance is not None:
                runs += "\n" + define_functions(e.instance, self.constants.__getitem__)
        higher = self.variants[1:]
        top = [*self._feature_macros, f'#include "{self.name}.h"', "#include <math.h>", "#include <string.h>", ""]
        choice = [choose_level(self.name, self.levels)] if higher else []
        own = [] if entries[0].arena_size else storages(self.name, self.pools, self.arena_bytes)
        if self.certifiable:
            own = storage(self.name)
        hooks = define_hooks(self.name, self.variants) if self.has_hooks else []
        body = [*hooks, *constants.inside, host, *choice, *own, runs]
        tools = self._tools([(v, k) for v in self.variants for k in v.kernels])
        kernels = [line for v in self.variants for line in section(v, v.kernels)]
        plain = [*top, *tools, *kernels, *body]
        source = numbered("\n".join([*self._banner(), *plain]), f"{self.name}.c")
        units = self.units.finish("\n".join(plain), [*top, *self._run_tools, *self._level_lines], body)
        if self.certifiable:
            top_of_weights = f'#include "{self.name}_weights.h"' if constants.declarations else ""
            source = with_headers(source, self.name, top_of_weights)
            units = {n: with_headers(t, self.name, top_of_weights) for n, t in units.items()}
        if constants.outside:
            units[f"{self.name}_part{len(units)}.c"] = constants.outside
        header = self._header(entries, stored.size if stored else 0)
        identifiers = {p.slot.name: p.name for p in entries[0].inputs}
        called = {k.name: w.name for k, w in self.variants[-1].writers.items()}
        return CText(
            name=self.name,
            header=header,
            source=source,
            constants=constants.outside,
            weights=stored.content if stored else [],
            units=units,
            entries=entries,
            identifiers=identifiers,
            kernel_names=called,
            arena_bytes=self.arena_bytes,
            live_bytes=max(v.program.live_bytes for v in self.variants),
            stack_bytes=self.stack_bytes,
            stored_bytes=sum(c.nbytes for c in self.stored.constants),
            sources=self.sources,
            origin=self.origin,
            pools=self.pools,
            region_begin=self.region_begin,
            constant_pools=self.constant_pools.pools,
            declarations=constants.declarations,
            has_hooks=self.has_hooks,
        )

    def _header(self, entries: Sequence[EntryPoint], weights_bytes: int) -> str:
        about = summary(self.program, self.name, self.arena_bytes, entries[0])
        return write_header(
            self.name,
            entries,
            self.program,
            arena_bytes=self.arena_bytes,
            stack_bytes=self.stack_bytes,
            region_bytes=self.region_bytes,
            region_begin=self.region_begin,
            weights_bytes=weights_bytes,
            expanded_bytes=self.stored.expanded_bytes,
            summary=[*about, *([""] if self.banner else []), *self.banner],
            levels=[level.name for level in self.levels],
            pool_macros=[*size_macros(self.pools), *self.constant_pools.size_macros()],
            pool_struct=struct(self.name, self.pools),
            alignment=WORD if self.certifiable else 0,
            hooks=declare_hooks(self.name) if self.has_hooks else [],
        )

    @property
    def _feature_macros(self) -> list[str]:
        """Macros that make system headers declare functions beyond C99."""
        mapped = {"_POSIX_C_SOURCE": f"200809L {_WHY_POSIX}"} if self.keep == weights_file.FILE else {}
        released = {"_DEFAULT_SOURCE": f"1 {_WHY_DEFAULT}"} if self.stored.sources else {}
        for_clock = clock_requirements(self.name) if self.has_hooks and not mapped else []
        required = [f"#ifndef {m}\n#define {m} {value}\n#endif" for m, value in {**mapped, **released}.items()]
        return [*for_clock, *required]

    @property
    def _is_arm(self) -> bool:
        return self.origin is not None and self.origin.processor.startswith("aarch64")

    def _banner(self) -> list[str]:
        return [*comment(self.banner), ""] if self.banner else []

    # -- kernels -------------------------------------------------------------------------------------------------------

    def _variants(self, levels: Sequence[ProcessorLevel]) -> list[Variant]:
        """The text of each level, lowest first; one alone if there are no levels, or no vectors that tell them apart."""
        lesser = list(reversed(self.program.lesser))
        if not lesser:
            return [self._variant(self.program, None, "")]
        base = self._variant(lesser[0], levels[0], "")
        higher = [
            self._variant(program, level, level.suffix)
            for program, level in zip([*lesser[1:], self.program], levels[1:], strict=True)
        ]
        if not any(v.vector_types for v in higher):
            base.level = None
            return [base]
        return [base, *higher]

    def _variant(self, program: Program, level: ProcessorLevel | None, suffix: str) -> Variant:
        runs = runs_of(program)
        functions = {n: self.names.fresh(f"{self.name}_{n}{suffix}") for n in program.functions}
        variant = Variant(program, level, suffix, functions)
        for n, k in enumerate(counted("sources of kernels", program.kernels), 1):
            symbol = short_symbol(k, self.name, n) if self.certifiable else kernel_symbol(k, self.name)
            name = self.names.fresh(f"{symbol}{suffix}")
            writer = KernelWriter(k, name, self.math == "strict", not suffix, self.in_team, self.certifiable)
            uses = runs.get(k, [])
            place = first_place(uses) if self.line_directives else None
            source = variant.add(k, writer, "\n".join(comment(describe(k, uses))), place)
            if writer.in_team:
                variant.tasks[k] = self.names.fresh(f"{name}_task")
            if not self.program.lesser:
                self.units.add(variant, source)
        return variant

    @property
    def _run_tools(self) -> list[str]:
        """The common parts of all runs."""
        flushing = [runtime("denormals.c")] if self.flushes else []
        team = [runtime("team.c")] if self.in_team else []
        region = [runtime("region.c")] if self.region_bytes else []
        if self.uses_objects:
            region += object_functions().values()
        return [*INLINE, *flushing, *team, *region] if flushing or team or region else []

    @property
    def _level_lines(self) -> list[str]:
        return define_levels(self.levels) if self.levels else []

    def _tools(self, kernels: Sequence[Named]) -> list[str]:
        """The requirements of some kernels: vector types, functions on vectors, support functions."""
        own = [k for v, k in kernels if not v.suffix]
        types = {t: None for _, k in kernels for t in k.types} if self.levels else {}
        functions = {f: None for k in own for f in k.functions}
        used = {t: None for k in own for t in k.types}
        support = {s: None for _, k in kernels for s in k.support}
        if self.certifiable:
            texts = plain_definitions(support)
            return [line for text in texts for line in (text, "")]
        # Functions on vectors may call these; other support functions follow.
        before = definitions(vector_halves.HELPERS if any(dtype == HALF for dtype, _ in {**types, **used}) else ())
        helpers = "\n".join(
            [
                *self._level_lines,
                *_type_section(types),
                *before,
                *_vector_section(used, functions, _notice(self.name, self.origin), not types, self._is_arm),
                *(d for d in definitions(support) if d not in before),
            ]
        )
        inline = [*(() if self._run_tools else INLINE), helpers, ""] if helpers else []
        return [*self._run_tools, *inline]

    # -- constants and functions ---------------------------------------------------------------------------------------

    def _constants(self, stored: weights_file.WeightsFile | None) -> _Constants:
        if stored is not None:
            self.constants = {c: self._constant(c) for c in self.program.constants}
            slots = [self._place(c, n) for c, n in self.constants.items()]
            return _Constants(
                [
                    weights.accessors(
                        self.name, self.upper, stored.head, self.verify_weights, self.program.spare_bytes, self.stored
                    ),
                    *slots,
                    "",
                ],
                "",
            )
        called = {c: self._constant(c) for c in self.program.constants}
        self.constants = called
        attribute = self.constant_pools.attributes(self.program.constants, f"{self.upper}_WEIGHTS_ATTR")
        macros = list(dict.fromkeys(attribute.values()))
        label = self.certifiable  # short names say nothing
        texts = [f"{attribute[c]} {weights.definition(c, n, with_name=label)}" for c, n in called.items()]
        hidden = {c: opaque.hide(c, n) for c, n in called.items() if opaque.is_copied_wrongly(c.data)}
        tools = opaque.DEFINITION.splitlines() if hidden else []
        if self.keep == weights_file.INLINE:
            linkage = weights.linkage(self.upper, macros) if texts else []
            own = {c: f"{self.upper}_WEIGHTS_LINKAGE {t}" for c, t in zip(called, texts, strict=True)}
            own |= {c: f"{own[c]}\n{macro}" for c, macro in hidden.items()}
            base = dict.fromkeys(constants_in_use(self.variants[0].program)) if len(self.variants) > 1 else own
            above = [t for c, t in own.items() if c not in base]
            guarded = ["#if IRT_LEVELS", *above, "#endif"] if above else []
            return _Constants([*tools, *linkage, *(t for c, t in own.items() if c in base), *guarded], "")
        declared = [f"extern {attribute[c]} {weights.declaration(c, n)};" for c, n in called.items()]
        if self.certifiable and declared:
            return self._constants_with_header(declared, texts, macros)
        lines = [
            *self._banner(),
            f"/* The weights of {self.name}. */",
            *weights.attributes(macros),
            "#include <math.h>",
            "#include <stdint.h>",
            "",
            *declared,
            "",
            *texts,
        ]
        inside = [*tools, *weights.attributes(macros), *declared, *hidden.values(), ""]
        return _Constants(inside, "\n".join([*lines, ""]))

    def _constants_with_header(self, declared: list[str], texts: list[str], macros: list[str]) -> _Constants:
        """Constants in a source of their own, whose declarations are in its header alone."""
        guard = f"{self.upper}_WEIGHTS_H"
        about = [*self._banner(), f"/* The weights of {self.name}. */"]
        header = [
            *about,
            f"#ifndef {guard}",
            f"#define {guard}",
            "#include <stdint.h>",
            "",
            *weights.attributes(macros),
            *declared,
            "#endif",
        ]
        lines = [*about, f'#include "{self.name}_weights.h"', "", *texts]
        if any("NAN" in t or "INFINITY" in t for t in texts):
            lines.insert(len(about), "#include <math.h>")
        return _Constants([], "\n".join([*lines, ""]), "\n".join([*header, ""]))

    def _place(self, c: Slot, called: str) -> str:
        """The macro of a constant of the weights file, or of one that is computed from it."""
        if c in self.stored.sources:
            return weights.place_expanded(self.name, c, called, self.stored.expanded_offsets[c])
        return weights.place(self.name, c, called, self.stored.offsets[c])

    def _constant(self, c: Slot) -> str:
        if self.certifiable:  # external names differ in their first 31 characters
            return self.names.fresh(f"{self.name}_c{next(self._numbers)}")
        return self.names.fresh(constant_symbol(c, self.name))

    def _functions(self) -> list[str]:
        lines_of: list[str] = define_table(self.program, self.table) if self.uses_objects else []
        noted, pool = noted_lengths(self.program), pool_of_notes(self.program)
        for v in self.variants:
            writers = [
                HostWriter(
                    f,
                    v,
                    self.names,
                    self.constants.__getitem__,
                    checks_frame=self.program.checks_frame(f),
                    in_team=self.in_team,
                    table=self.table,
                    noted=noted,
                    pool_of_notes=pool,
                    certifiable=self.certifiable,
                    line_directives=self.line_directives,
                )
                for f in v.program.functions.values()
            ]
            prototypes = [f"{w.signature};" for w in writers] if len(writers) > 1 else []
            lines = [*v.write_tasks(), *prototypes, *([""] if prototypes else []), *(w.write() for w in writers)]
            lines_of += ["#if IRT_LEVELS", *lines, "#endif", ""] if v.suffix else lines
        return [*lines_of, *([count_threads(self.name, self._most_threads)] if self.in_team and self._pays else [])]

    def _own_reader(self) -> list[str]:
        """The function that reads the note of a value outside of its bounds from the network's own memory, if runs leave notes."""
        if not noted_lengths(self.program):
            return []
        pool = pool_of_notes(self.program)
        if pool is None:
            return [define_own_reader(self.name, own_storage(self.name))]
        return [define_own_reader_of_pools(self.name, self.pools[pool].name, self.pools[pool].symbol)]

    @property
    def _most_threads(self) -> int:
        """The most threads of a run, each of which has its part of the workspace."""
        return max(k.placement.threads for k in self.program.kernels if k.placement is not None)

    @cached_property
    def _pays(self) -> bool:
        """True if a run in several threads is faster than in one."""
        return shared_work(self.program) >= REGION_WORK

    def _run(self, e: EntryPoint) -> str:
        """The functions that run an entry point, after their common parts."""
        check = f"  if (!{self.name}_weights) return {WEIGHTS_ERROR};\n" if self.keep == weights_file.FILE else ""
        notes = pool_of_notes(self.program) if noted_lengths(self.program) else None
        if self.certifiable:
            static = StaticRunWriter(self.name, e, check, self.pools, self.arena_bytes, notes)
            return static.write(self._call(self.variants[0], e, static))
        writer = RunWriter(self.name, e, check, self.pools, self.arena_bytes, notes)
        higher = self.variants[1:]
        calls = [self._call(v, e, writer) for v in self.variants]
        around = ""
        if e.function.values is not None:
            wrapped = [self._on_values(v, e, writer) for v in self.variants]
            around = "".join(text for text, _ in wrapped)
            calls = [call for _, call in wrapped]
        levels = "".join(
            f"  if ({self.name}_level_number == {n}) return {calls[n]};\n"
            for n, v in reversed(list(enumerate(higher, 1)))
        )
        levels = f"#if IRT_LEVELS\n{levels}#endif\n" if levels else ""
        last = f"{levels}  return {calls[0]};\n"
        before = ""
        if self.in_team or self.flushes:
            each = self.names.fresh(f"{e.run}_steps")
            declared = [*writer.memory, *(["irt_worker *worker"] if self.in_team else [])]
            apart = "irt_apart " if self.flushes else ""
            before = (
                f"static {apart}int {each}({', '.join(filter(None, (e.declarations, *declared)))}) {{\n{last}}}\n\n"
            )
            last = self._enter(each, ", ".join(x for x in (e.arguments, *writer.handed) if x))
        if e.positions or e.same_lengths:
            step = self.names.fresh(f"{e.run}_alone")
            parameters = ", ".join([e.declarations, *writer.memory])
            before += f"static int {step}({parameters}) {{\n{last}}}\n\n"
            last = store_lengths(e, f"{step}({', '.join([e.arguments, *writer.handed])})")
        sizes = f"{define_arena_size(e, self._arena_of(e))}\n" if e.arena_size else ""
        return around + before + sizes + writer.write(last)

    def _arena_of(self, e: EntryPoint) -> int:
        """The workspace of one run of the entry, on the level that needs most."""
        return functools.reduce(upper, (v.program.functions[e.function.name].frame_bytes for v in self.variants))

    @property
    def region_begin(self) -> int:
        """The offset of the region in a workspace in one piece, the same for all entries and levels; 0 without a region."""
        if not self.region_bytes:
            return 0
        home = next((n for n, p in enumerate(self.pools) if p.region), None)
        end = self.arena_bytes if home is None else sum(p.bytes for p in self.pools[: home + 1])
        return end - self.region_bytes

    def _region(self) -> str:
        """The expression that opens the region: at its beginning in the workspace, up to the end of that, or of the pool that it lies in."""
        for n, p in enumerate(self.pools):
            if p.region:
                return f"irt_open(room[{n}] + {p.bytes - p.region}, room[{n}] + {p.bytes})"
        return f"irt_open(base + {self.region_begin}, end)"

    def _on_values(self, v: Variant, e: EntryPoint, writer: RunWriter) -> tuple[str, str]:
        """The function that runs an entry of one level on values, and its call."""
        name = self.names.fresh(f"{e.run}_on_values{v.suffix}")
        team = (["irt_worker *worker"], ["worker"]) if self.in_team else ([], [])
        parameters = ", ".join([e.declarations, *writer.memory, *team[0]])
        text = run_on_values(name, e, self.table, self._region(), parameters, partial(self._call, v, e, writer))
        text = f"#if IRT_LEVELS\n{text}#endif\n" if v.suffix else text
        return text, f"{name}({', '.join([e.arguments, *writer.handed, *team[1]])})"

    def _call(
        self,
        v: Variant,
        e: EntryPoint,
        writer: RunWriter,
        region: str = "",
    ) -> str:
        """The call of an entry's function of one level, with the region if there is one already."""
        memory = writer.memory_of(v.program.functions[e.function.name])
        own = {f.length.symbol: position(e, f) for f in e.positions}
        lengths = [s.name if s in e.symbols else own.get(s, str(s.low)) for s in symbols_of_program(v.program)]
        tensors = [p.name for p in e.tensors]
        states = [f"{e.instance.variable}->{f.name}" for f in e.instance.fields] if e.instance is not None else []
        opened = [region or self._region()] if self.region_bytes else []
        arguments = [*lengths, *tensors, *states, *memory, *opened, *(["worker"] if self.in_team else [])]
        return f"{v.functions[e.function.name]}({', '.join(arguments)})"

    def _enter(self, each: str, arguments: str) -> str:
        """The statements that call the function with the steps of a run: in a team, in the required mode, or both."""
        if self.in_team:
            return run_together(self.name, f"{each}({arguments}, %s)", self._pays, self.flushes)
        return (
            f"  {{\n    const irt_mode before = irt_flush();\n    const int code = {each}({arguments});\n"
            "    irt_restore(before);\n    return code;\n  }\n"
        )


@dataclass(frozen=True)
class _Constants:
    inside: list[str]
    outside: str
    declarations: str = ""


_LEVELS = ("level", "levels", "level_number", "choose_level")
"""The names, behind `NAME_`, of functions and data around levels of processors."""

_WHY_POSIX = "/* for mmap */"
_WHY_DEFAULT = "/* for madvise */"


def _notice(name: str, origin: Origin | None) -> list[str]:
    """The message of a compiler without vectors on code with vectors; IRT_NO_NOTICE silences it."""
    flags = [f for f in origin.flags if f.startswith(("-march=", "-mcpu=", "-mavx"))] if origin else []
    how = f"; compile it with {' '.join(flags)}" if flags else ""
    notice = _quoted(f"{name}.c is made for vectors and compiled without them, so it is slow{how}")
    return ["#if !defined(IRT_NO_VECTOR) && !defined(IRT_NO_NOTICE)", f'#pragma message("{notice}")', "#endif"]


def _quoted(text: str) -> str:
    """Text for a string of C, without characters that would end it."""
    return "".join(c for c in text if c not in '"\\')


def _type_section(types: dict[tuple[str, int], None]) -> list[str]:
    """Vector types, which need no processor features before they are used."""
    if not types:
        return []
    definitions = [vector_types.define_type(dtype, lanes) for dtype, lanes in sorted(types)]
    return ["#if defined(__GNUC__) && !defined(IRT_NO_VECTOR)", *definitions, "#endif", ""]


def _vector_section(
    types: dict[tuple[str, int], None],
    functions: dict[tuple[str, str, int], None],
    notice: list[str],
    defines_types: bool,
    is_arm: bool,
) -> list[str]:
    """Vector types and functions on vectors, for compilers that have them."""
    if not types:
        return []
    # Vectors wider than the processor's would be slower than the loops, and change how functions are called.
    widest = max(lanes * dtypes.itemsize(dtype) for dtype, lanes in types)
    needed = " && defined(__AVX512F__)" if widest > 32 else " && defined(__AVX__)" if widest > 16 else ""
    if is_arm and widest > 16:
        needed = f" && defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS >= {8 * widest}"
    lines = [f"#if defined(__GNUC__) && !defined(IRT_NO_VECTOR){needed}", "#define IRT_VECTOR 1"]
    lines += [vector_types.define_type(dtype, lanes) for dtype, lanes in sorted(types)] if defines_types else []
    definitions: dict[tuple[str, str, int], str] = {}
    for name, dtype, lanes in functions:
        definitions.update(vector_math.define(name, dtype, lanes))
    return [*lines, *definitions.values(), "#else", "#define IRT_VECTOR 0", *notice, "#endif", ""]
