"""The C backend as a plug-in: its flags, its files, and those of the compiler."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...boards.board import Board
from ...boards.listing import find_board
from ...boards.project import LINKER_SCRIPT, STARTUP, link_flags
from ...boards.tools import require_tool
from ...byte_sizes import read_size
from ...diagnostics import UsageError
from ...symbolic_int import is_known, nominal
from ...tir.pools import Pool, pool_record
from ...tir.program import Program
from ...tir.vector_target import MOST_THREADS
from ..base import ASSEMBLY, Backend, Built, Finding, Request, Sources, VectorTarget, backend, flag
from ..fast_products import (
    check_products,
    opt_flag,
    stores_plain,
    strassen_flag,
    winograd_flag,
    with_products,
)
from ..interface.entry import EntryPoint
from ..interface.memory import ALIGNMENT, REGION_SIZE, check_region_size, region_bytes
from ..interface.names import Identifiers
from ..interface.weights_file import INLINE
from ..library import ERRORS
from ..timing import TimingConditions, TimingJob
from ..toolchain.compiler import NATIVE_NAMES, Compiler, companion_prefix, split_words
from ..toolchain.levels import LEVELS, PORTABLE, ProcessorLevel, find_levels
from ..toolchain.processor import processor_count, processor_name, processor_numbers, thread_count
from .banner import Origin, without_folder
from .bindings import BINDINGS
from .bindings.network import bound_network
from .bindings.python import write_python
from .bindings.tvm_ffi import write_tvm_ffi
from .bindings.wheel import check_package, platform_tag, write_wheel
from .build_file import BUILT, KINDS, build_file_name, write_build_file
from .executable import described_lengths, write_main
from .object_files import Objects
from .packages.layout import KINDS as KINDS_OF_LIBRARIES
from .packages.layout import library_files
from .pool_flags import read_pools
from .testbench import trial_lengths, write_testbench
from .tvm_interface import interface_stem, write_tvm_interface

if TYPE_CHECKING:
    from ...selection.kernel import Selection
    from .program import CText

SANITIZERS = ("address", "undefined", "leak", "thread", "memory")
"""The values of `sanitize`; a compiler need not have all of them."""


_FEW_THREADS, _USUAL_THREADS = 4, 16
"""The most threads of a run, which have parts of the workspace: the least for this machine, which may have more, and the number
for others."""

_TIMED = "kernel"
"""The name of the timed program."""


@dataclass
class CSources(Sources):
    """The sources with the facts that the compiler needs.

    `extra_sources`: further sources of the library; `main`: the source of the program; `objects`: those that are being compiled
    already; `notes`: those for the user; `module`: the module of a Python package.
    """

    text: CText | None = None
    extra_sources: tuple[str, ...] = ()
    main: str = ""
    objects: Objects | None = None
    notes: tuple[str, ...] = ()
    module: str = ""


@backend("c")
@dataclass(frozen=True, kw_only=True)
class C(Backend):
    """Portable C99 with libc and libm as its only dependencies, compiled by the system's C compiler.

    It writes `NAME.h` and `NAME.c`, with the compiler's vector types, if any, and a scalar version of every vectorized
    kernel. Weights are in the source, in a source file of their own, or in `NAME.bin`.
    """

    emits = ("c", "asm", "obj", "so", "exe", "wheel", "mlf", *KINDS_OF_LIBRARIES)
    name_rule = "it must be a C identifier, and not a word of C"

    math: str = flag("fast", "own vectorized exp, tanh, erf … (4 ULP), or those of libm", ("fast", "strict"))
    vector: str = flag("auto", "the compiler's vector types, if any, or scalar code only", ("auto", "none"))
    mcpu: str = flag(
        "",
        "processor, by the compiler's name; `none`: the compiler's default; `portable`, or levels such as "
        "x86-64-v2,x86-64-v3: code for each, chosen when it is loaded; default: native, for emit=c and wheel portable",
    )
    opt: str = opt_flag(", and on a device without an operating system code of the least size (-Os)")
    winograd: str = winograd_flag()
    strassen: str = strassen_flag()
    workspace_pools: tuple[str, ...] = flag(
        (), "names of memory pools for temporaries, each in the first one that it fits in; default: one arena"
    )
    workspace_pools_size_hint_bytes: tuple[str, ...] = flag(
        (), "sizes of workspace pools: NAME:BYTES; other pools: as needed"
    )
    constant_pools: tuple[str, ...] = flag(
        (), "names of memory pools for weights in the C, each in the first one that it fits in"
    )
    constant_pools_size_hint_bytes: tuple[str, ...] = flag((), "sizes of constant pools: NAME:BYTES")
    region_size: str = flag("", REGION_SIZE)
    openmp: bool = flag(False, "compile with OpenMP threads")
    api: str = flag(
        "flat",
        "NAME_run(x, out), or also TVM's tvmgen_NAME_run(inputs, outputs), or functions of apache-tvm-ffi",
        ("flat", "tvm", "tvm-ffi"),
    )
    weights: str = flag(
        "auto",
        "place of weights: NAME.c, NAME_weights.c or NAME.bin; auto: by size",
        ("auto", "inline", "split", "file"),
    )
    verify_weights: bool = flag(True, "verify the digest of NAME.bin on loading")
    testbench: bool = flag(False, "also write NAME_test.c, which compares the outputs with the interpreter's")
    cc: str = flag("", "C compiler; default: $CC, or cc")
    cflags: str = flag("", "additional flags for the C compiler, after $CFLAGS")
    sanitize: tuple[str, ...] = flag((), "sanitizers; all but undefined require --emit=exe", SANITIZERS)
    build_file: tuple[str, ...] = flag(
        (), "also write NAME.cmake, NAME.mk, meson.build or NAME.pc, by which other builds take the network in", KINDS
    )
    bindings: tuple[str, ...] = flag(
        (),
        "also write wrappers for other languages: NAME.hpp (C++17), NAME.f90 (Fortran 2008), NAME.rs (Rust)",
        tuple(BINDINGS),
    )
    hooks: bool = flag(True, "in the C, hooks that time kernels where it is compiled with -DNAME_PROFILE")
    line_directives: bool = flag(
        False,
        "#line directives: debuggers and profilers show lines of the source, or nodes of a model, in place of the C",
    )
    wheel_version: str = flag("0.0.0", "version of the Python package of emit=wheel")
    board: str = flag(
        "",
        "board, by its name (`irtool boards`) or a file: its processor and compiler, start-up code, linker script, Makefile",
    )
    profile: str = flag(
        "optimised",
        "fast code, or C for certification: scalar, with static bounds, by MISRA C:2012 (implies vector=none, math=strict and weights=split), "
        "with flow facts NAME.ffx and a traceability matrix NAME_trace.json",
        ("optimised", "certifiable"),
    )
    ram_limit: str = flag("", "bytes of RAM that the network may take, such as 64K; default: the board's")
    flash_limit: str = flag("", "bytes of flash for code and constants, such as 256K; default: the board's")

    def fit_name(self, text: str) -> str:
        return Identifiers().fresh(text)

    def check(self, entries: Sequence[str], emit: str) -> None:
        self._check_board(emit)
        self._check_profile(emit)
        self._check_library(emit)
        self._limits()
        if self.build_file and emit == "mlf":
            raise UsageError("an archive has no build file: build_file has no meaning with emit=mlf")
        if "pkg-config" in self.build_file and emit not in BUILT:
            raise UsageError(
                f"pkg-config is for libraries, and emit={emit} has none", help="--emit=so, obj, or --build-file=meson"
            )
        if self.bindings and (emit == "mlf" or self.workspace_pools):
            what = "an archive" if emit == "mlf" else "a workspace in pools"
            raise UsageError(f"{what} has no bindings: leave out --bindings={','.join(self.bindings)}")
        if emit == "wheel" and self.workspace_pools:
            raise UsageError("a workspace in pools has no module for Python: emit=wheel needs one arena")
        if self.api == "tvm" and len(entries) > 1:
            raise UsageError("TVM's interface has one function: name one entry only, or use api=flat")
        split_words(self.cflags, "the compiler's flags")
        check_region_size(self.region_size)
        check_products(self.winograd, self.strassen, self.math)
        both = {p.name.upper() for p in self._pools()} & {p.name.upper() for p in self._constant_pools()}
        if both:
            raise UsageError(f"a pool is for constants or for the workspace: {min(both).lower()} is among both")
        if self.constant_pools and self.weights == "file":
            raise UsageError("weights in a file are in no pool: with --constant-pools, use --weights=inline or split")

    def _check_library(self, emit: str) -> None:
        """Raises UsageError for flags that a library for another build system has no place for."""
        if emit not in KINDS_OF_LIBRARIES:
            return
        if self.weights == "file":
            raise UsageError(
                f"emit={emit} is for devices without a file system for weights", help="--weights=inline or split"
            )
        excluded = {
            "board": self.board,
            "openmp": self.openmp,
            f"api={self.api}": self.api != "flat",
            "sanitize": self.sanitize,
            "ram_limit": self.ram_limit,
            "flash_limit": self.flash_limit,
        }
        for what, is_so in excluded.items():
            if is_so:
                raise UsageError(f"emit={emit} has no place for {what}: its build system decides", help="--emit=c")

    def _check_profile(self, emit: str) -> None:
        """Raises UsageError for flags that C for certification has no place for."""
        if not self._is_certifiable:
            return
        excluded = {
            "openmp": self.openmp,
            f"api={self.api}": self.api != "flat",
            "weights=file": self.weights == "file",
            "workspace_pools": bool(self.workspace_pools),
            "emit=mlf": emit == "mlf",
            "line_directives": self.line_directives,
            f"mcpu={self.mcpu}": "," in self.mcpu,
        }
        for what, is_so in excluded.items():
            if is_so:
                raise UsageError(
                    f"profile=certifiable has no place for {what}", help="docs/certification.md has its rules"
                )

    @property
    def _is_certifiable(self) -> bool:
        return self.profile == "certifiable"

    def _check_board(self, emit: str) -> None:
        """Raises UsageError for outputs and flags of operating systems, ToolError for a missing compiler."""
        board = self._board
        if board is None:
            return
        if emit in ("so", "wheel", "mlf"):
            raise UsageError(
                f"emit={emit} is for an operating system, and the board {board.name} has none",
                help="--emit=c, obj or exe",
            )
        if self.weights == "file":
            raise UsageError(f"the board {board.name} has no file system for weights", help="--weights=inline or split")
        if self.openmp:
            raise UsageError(f"openmp is for an operating system, and the board {board.name} has none")
        if not self.cc:
            require_tool(board.compiler, board.packages, f"the board {board.name}")

    @property
    def _board(self) -> Board | None:
        return find_board(self.board) if self.board else None

    @property
    def usual_emit(self) -> str:
        return "c" if self.board else ""

    @property
    def keeps_denormals(self) -> bool:
        return self.math == "strict"

    @property
    def runs_program(self) -> bool:
        return not self.testbench

    @property
    def compiler(self) -> Compiler:
        """The C compiler, with the options of this build."""
        more = split_words(self.cflags, "the compiler's flags")
        board = self._board
        if self._is_certifiable:  # loops stay as they are written
            more = ["-O2", "-fno-tree-vectorize", *more]
        if board is not None:
            more = [*board.flags, *more]
        if self.sanitize:
            # A program that continues after an error would exit with 0.
            more += [
                f"-fsanitize={','.join(self.sanitize)}",
                "-fno-sanitize-recover=all",
                "-fno-omit-frame-pointer",
                "-g",
            ]
        if self.opt == "size" and self._is_for_device(more):
            more = ["-Os", *more]
        cc, linking = (self.cc, []) if board is None else (self.cc or board.compiler, link_flags(board))
        return Compiler(cc, self._processor, self.openmp, self.math == "strict", tuple(more), tuple(linking))

    def _is_for_device(self, flags: Sequence[str]) -> bool:
        """True if the compiler makes code for machines without an operating system."""
        board = self._board
        command = self.cc or (board.compiler if board is not None else "")
        return Compiler(command, "none", more=tuple(flags)).is_freestanding

    @property
    def _processor(self) -> str:
        """The processor for the compiler: none for a portable build, the lowest of several levels."""
        if self.mcpu == PORTABLE:
            return "none"
        lowest = find_levels(self.mcpu, "")[:1]
        board = self._board
        return lowest[0].name if lowest else self.mcpu or (board.processor if board is not None else "native")

    @property
    def levels(self) -> tuple[ProcessorLevel, ...]:
        """The levels of processors of the output, lowest first; none if it is for one processor."""
        if self.vector != "auto" or (self.mcpu != PORTABLE and "," not in self.mcpu):
            return ()
        architecture = self.compiler.target.split("-")[0] or platform.machine().lower()
        return find_levels(self.mcpu, NATIVE_NAMES.get(architecture, architecture))

    def fitted(self, emit: str) -> C:
        """The backend for an output; users compile sources for unknown machines."""
        if self._is_certifiable and (self.vector, self.math) != ("none", "strict"):
            weights = "split" if self.weights == "auto" else self.weights
            mcpu = "none" if not self.mcpu and not self.board and emit == "c" else self.mcpu
            has_test = self.testbench or emit == "c"
            plain = replace(self, vector="none", math="strict", weights=weights, mcpu=mcpu, testbench=has_test)
            return plain.fitted(emit)
        board = self._board
        if board is not None:
            has_test = self.testbench or emit == "c"
            weights = INLINE if self.weights == "auto" else self.weights
            return replace(self, mcpu=self.mcpu or board.processor, weights=weights, testbench=has_test)
        if emit in KINDS_OF_LIBRARIES:
            weights = INLINE if self.weights == "auto" else self.weights
            vector = self.vector if self.mcpu else "none"  # this machine's vectors say nothing of the device
            return replace(self, mcpu=self.mcpu or "none", weights=weights, vector=vector)
        return self if self.mcpu else replace(self, mcpu=PORTABLE if emit in ("c", "wheel") else "native")

    def identity(self) -> str:
        return f"{self.compiler.identity}{self._board or ''}"

    def examine(self) -> Iterator[Finding]:
        from ..toolchain.examination import examine_compiler

        return examine_compiler(Compiler())

    def features(self) -> Mapping[str, Callable[[], bool]]:
        from ..toolchain.examination import compiler_features

        return compiler_features(Compiler())

    def _pools(self) -> tuple[Pool, ...]:
        return read_pools("workspace_pools", self.workspace_pools, self.workspace_pools_size_hint_bytes)

    def _constant_pools(self) -> tuple[Pool, ...]:
        return read_pools("constant_pools", self.constant_pools, self.constant_pools_size_hint_bytes)

    def machine(self) -> VectorTarget:
        if self.vector != "auto":
            return VectorTarget(0, pools=self._pools())
        levels = self.levels
        return self._fitted_machine(levels[-1].machine if levels else self.compiler.machine())

    def processors(self) -> Mapping[str, VectorTarget | None]:
        architecture = self.compiler.target.split("-")[0]
        levels = [x.name for x in LEVELS if x.macro == f"__{NATIVE_NAMES.get(architecture, architecture)}__"]
        names = dict.fromkeys(["native", "none", *levels, *self.compiler.known_processors])
        machines: dict[str, VectorTarget | None] = {PORTABLE: None}
        for name in names:
            with suppress(UsageError):  # of another mode of the processor
                machines[name] = replace(self, mcpu=name).compiler.machine()
        return machines

    def lesser_machines(self) -> Sequence[VectorTarget]:
        return [self._fitted_machine(level.machine) for level in reversed(self.levels[:-1])]

    def _fitted_machine(self, machine: VectorTarget) -> VectorTarget:
        """The processor, with the flags for products and threads."""
        if self.openmp:
            here = max(_FEW_THREADS, min(processor_count(), MOST_THREADS))
            machine = replace(machine, threads=here if self.mcpu == "native" else _USUAL_THREADS)
        machine = replace(machine, pools=self._pools())
        return with_products(machine, self.winograd, self.strassen, self.math, self.opt)

    def processor_numbers(self) -> Mapping[str, str]:
        return processor_numbers() if self.mcpu == "native" else {}

    def processor(self) -> str:
        if self.mcpu == "native":
            name = processor_name()
        else:
            name = self.mcpu if self.mcpu not in ("", "none") else self.compiler.processor
        return f"{name}, {thread_count()} threads" if self.openmp else name

    def translate(
        self, program: Program, name: str, objects: Objects | None = None, folder: Path | None = None
    ) -> CText:
        """The program as C text. Its units of kernels are added to `objects` as they are written; its weights file is written
        into the folder, if there is one."""
        # Slow to import, and not needed for a build that the cache has.
        from .program import TextOptions, write_program
        from .units import UNIT_LENGTH

        further_files = {"tvm": [f"{interface_stem(name)}.c"], "tvm-ffi": [f"{name}_tvm_ffi.c"]}.get(self.api, [])
        levels = self.levels if program.lesser else ()
        vectors = [(level.name, 8 * level.machine.vector_bytes) for level in levels]
        origin = Origin.of(self.compiler, __version__, 8 * self.machine().vector_bytes, further_files, vectors)
        options = TextOptions(
            keep=INLINE if self.constant_pools and self.weights == "auto" else self.weights,
            math=self.math,
            region_size=int(self.region_size or 0),
            unit_length=UNIT_LENGTH,
            origin=origin,
            expands=stores_plain(self.opt),
            verify_weights=self.verify_weights,
            levels=levels,
            threads=self.openmp,
            unit_done=lambda unit, text: objects.add(unit, text.encode()) if objects is not None else None,
            constant_pools=self._constant_pools(),
            certifiable=self._is_certifiable,
            hooks=self.hooks and not self._is_certifiable,
            line_directives=self.line_directives,
        )
        return write_program(program, name, options, folder)

    def selection(self, program: Program) -> Selection:
        from ...selection.teams import runs_in_teams
        from .nest import select_for_c

        return select_for_c(self.math == "strict", has_team=self.openmp and runs_in_teams(program))

    def emit(self, program: Program, request: Request) -> CSources:
        from .board_program import board_files, notes_on_floats

        name = request.name
        if request.emit == "wheel":
            check_package(name, self.wheel_version)
        objects = None
        if request.folder is not None and request.emit in _TARGETS and request.emit != ASSEMBLY:
            objects = request.resources.enter_context(Objects(self.compiler, request.folder, request.object_cache))
        text = self.translate(program, name, objects, request.folder)
        entry = text.entries[0]
        if entry.arena_size:
            self._refuse_bounds(request.emit, entry)
        files: dict[str, list[Any] | Path] = {f"{name}.h": [text.header.encode()], f"{name}.c": [text.source.encode()]}
        weights = f"{name}.bin" if text.weights else ""
        weight_files = {f"{name}_weights.c": text.constants, f"{name}_weights.h": text.declarations}
        files |= {file: [content.encode()] for file, content in weight_files.items() if content}
        files |= self._evidence(program, request, text)
        if weights:
            files[weights] = text.weights
        for kind in self.build_file:
            assert text.origin is not None
            made_for = write_build_file(kind, name, text.origin, text.sources, weights, request.emit)
            files[build_file_name(kind, name)] = [made_for.encode()]
        files |= self._bindings(name, text)
        interfaces = self._interfaces(name, request.emit, text)
        files |= interfaces
        further_files = [file for file in interfaces if file.endswith(".c")]
        main = ""
        if self.testbench:
            main = f"{name}_test.c"
            narrow = {b.dtype for k in program.kernels for b in k.params}
            trials = [(v, s) for v in trial_lengths(entry.function) for s in request.samples(entry.function, v)]
            files[main] = [write_testbench(name, entry, trials, bool(text.weights), narrow, text.has_hooks).encode()]
        elif request.emit == "exe":
            main = f"{name}_main.c"
            failures = sorted(program.failures)
            lengths = described_lengths(program)
            files[main] = [write_main(name, entry, bool(text.weights), failures, lengths, text.has_hooks).encode()]
        board = self._board
        if board is not None and request.emit != "obj":
            files |= board_files(board, request, text, self.compiler, main)
            further_files.append(STARTUP)
        if request.emit in KINDS_OF_LIBRARIES:
            files = library_files(request.emit, name, entry, files, text.sources, text.stack_bytes)
        return CSources(
            files,
            text.entries,
            text.arena_bytes,
            text.identifiers,
            text.kernel_names,
            weights,
            self._report(program, text),
            {unit: [u.encode()] for unit, u in text.units.items()},
            text,
            tuple(further_files),
            main,
            objects,
            () if board is None else notes_on_floats(board, program),
            write_python(bound_network(name, text)) if request.emit == "wheel" else "",
        )

    def _evidence(self, program: Program, request: Request, text: CText) -> dict[str, list[Any]]:
        """Flow facts and the traceability matrix of C for certification."""
        if not self._is_certifiable:
            return {}
        from .certifiable.evidence import flow_facts, traceability

        name = request.name
        sources = {f"{name}.h": text.header, f"{name}.c": text.source}
        sources |= {f"{name}_weights.c": text.constants} if text.constants else {}
        sources |= {f"{name}_weights.h": text.declarations} if text.declarations else {}
        matrix = traceability(
            name,
            program,
            sources=sources,
            functions=text.kernel_names,
            model=request.model_digest(),
            options=self.text(),
            compile_line=shlex.join(without_folder(w) for w in shlex.split(text.compile_line)),
            test=f"{name}_test.c" if self.testbench else "",
            memory={"arena": int(text.arena_bytes), "stack": text.stack_bytes},
        )
        facts = flow_facts(name, text.source)
        return {f"{name}.ffx": [facts.encode()], f"{name}_trace.json": [matrix.encode()]}

    def _interfaces(self, name: str, emit: str, text: CText) -> dict[str, list[Any] | Path]:
        """The files of the interface of TVM, or of tvm-ffi."""
        entry = text.entries[0]
        if self.api == "tvm" or emit == "mlf":
            if entry.instance is not None:
                raise UsageError("TVM's interface has no states", help="build with api=flat, and not with emit=mlf")
            interface = write_tvm_interface(name, entry, text.arena_bytes, bool(text.weights))
            return {
                f"{interface.stem}.h": [interface.header.encode()],
                f"{interface.stem}.c": [interface.source.encode()],
            }
        if self.api == "tvm-ffi":
            return {f"{name}_tvm_ffi.c": [write_tvm_ffi(name, text.entries, ERRORS, bool(text.weights)).encode()]}
        return {}

    def _bindings(self, name: str, text: CText) -> dict[str, list[Any] | Path]:
        """The files of wrappers for other languages."""
        if not self.bindings:
            return {}
        network = bound_network(name, text)
        return {f"{name}.{ending}": [BINDINGS[ending](network).encode()] for ending in self.bindings}

    def _report(self, program: Program, text: CText) -> dict[str, Any]:
        board = self._board
        return {
            **({"board": board.record()} if board is not None else {}),
            "opt": self.opt,
            "stored_weight_bytes": text.stored_bytes,
            "arena_lower_bound": text.live_bytes,
            "stack_bytes": text.stack_bytes,
            "region_bytes": region_bytes(program, int(self.region_size or 0)),
            "region_begin": text.region_begin,
            "workspace_pools": [pool_record(p.pool, p.bytes) for p in text.pools],
            "constant_pools": [pool_record(p.pool, p.bytes) for p in text.constant_pools],
            "compile": text.compile_line,
            "sanitize": list(self.sanitize),
        }

    def _refuse_bounds(self, emit: str, entry: EntryPoint) -> None:
        """Raises UsageError for an output that needs bounds of lengths."""
        what = "an archive (emit=mlf)" if emit == "mlf" else ""
        what = f"an example (emit={emit})" if emit in KINDS_OF_LIBRARIES else what
        if entry.instance is not None or entry.function.values is not None:
            of = "with states" if entry.instance is not None else "of values"
            what = what or f"a program {of} (emit=exe)" * (emit == "exe") or f"a test bench {of}" * self.testbench
        if what:
            raise UsageError(
                f"{what} has memory of known sizes, and needs bounds of all lengths", help="--dim 'seq<=512'"
            )

    def timing(self, program: Program, conditions: TimingConditions) -> TimingJob:
        from .timer import write_timer

        text = replace(
            self, weights="inline", api="flat", testbench=False, constant_pools=(), constant_pools_size_hint_bytes=()
        ).translate(program, _TIMED)
        files = {
            f"{_TIMED}.h": text.header,
            f"{_TIMED}.c": text.source,
            "main.c": write_timer(_TIMED, text.entries[0], conditions),
        }
        compiler = self.compiler
        command = [*compiler.command, *compiler.flags, "-o", "timer", "main.c", f"{_TIMED}.c", "-lm"]
        return TimingJob({n: t.encode() for n, t in files.items()}, (tuple(command),), "timer")

    def build(self, sources: Sources, request: Request, folder: Path) -> Built:
        assert isinstance(sources, CSources)
        facts = self._footprint(sources, request, folder)
        target = _TARGETS.get(request.emit, "").format(request.name)
        if not target:
            return Built(notes=sources.notes, report=facts)
        for file in sources.files:
            if file.endswith(".h") or file == LINKER_SCRIPT:
                (folder / file).write_bytes(b"".join(sources.buffers(file)))
        if request.emit == ASSEMBLY:
            (folder / f"{request.name}.c").write_bytes(b"".join(sources.buffers(f"{request.name}.c")))
            self.compiler.assemble(f"{request.name}.c", target, folder)
            return Built({target: folder / target}, notes=sources.notes, report=facts)
        units = {**sources.units, **{n: sources.buffers(n) for n in sources.extra_sources}}
        if request.emit == "exe":
            units[sources.main] = sources.buffers(sources.main)
        with sources.objects or Objects(self.compiler, folder, request.object_cache) as objects:
            for file, content in units.items():
                if file not in objects:
                    objects.add(file, b"".join(content))
            files = objects.finish()
        kind = "so" if request.emit == "wheel" else request.emit
        self.compiler.link(kind, [files[file] for file in units], target, folder)
        if request.emit == "wheel":
            target = self._wheel(sources, request.name, folder)
        built = {target: folder / target}
        is_library, is_program = request.emit == "so", request.emit == "exe"
        return Built(built, target if is_library else "", target if is_program else "", sources.notes, facts)

    def _wheel(self, sources: CSources, name: str, folder: Path) -> str:
        """Writes the package of the linked library and returns its file name."""
        contents = {"__init__.py": [sources.module.encode()], f"{name}.so": [(folder / f"{name}.so").read_bytes()]}
        if sources.weights:
            contents[sources.weights] = sources.buffers(sources.weights)
        return write_wheel(folder, name, self.wheel_version, platform_tag(self.compiler.target), contents)

    def _limits(self) -> tuple[int | None, int | None]:
        """The limits of flash and RAM in bytes, None without a limit. Raises UsageError for another text than a number of bytes."""
        limits: list[int | None] = []
        board = self._board
        for name, memory in (("flash_limit", board and board.flash), ("ram_limit", board and board.ram)):
            text = getattr(self, name)
            limit = read_size(text) if text else memory.size if memory else None
            if text and not limit:
                raise UsageError(f"{name}={text!r} is no number of bytes, such as 65536 or 64K")
            limits.append(limit)
        return limits[0], limits[1]

    def _footprint(self, sources: CSources, request: Request, folder: Path) -> dict[str, Any]:
        """The bytes of flash and RAM for the report; nothing for a build without a board and without limits.

        Raises ToolError if the compiler fails, or is not gcc.
        """
        flash_limit, ram_limit = self._limits()
        text = sources.text
        if (flash_limit is None and ram_limit is None) or text is None:
            return {}
        (folder / f"{request.name}.h").write_bytes(b"".join(sources.buffers(f"{request.name}.h")))
        board = self._board
        compiler = self.compiler
        prefix = board.prefix if board is not None else companion_prefix(compiler.command[0])
        contents = {n: b"".join(sources.buffers(n)) for n in text.sources if n in sources.files}
        kernels = {c_name: name for name, c_name in text.kernel_names.items()}
        names = [name for e in text.entries for name in (e.run, e.run_with) if name]
        from .footprint.measure import measure_footprint

        record = measure_footprint(compiler, folder, contents, kernels, names, prefix, f"{request.name}_")
        entry = text.entries[0]
        record["flash"]["limit"] = flash_limit
        record["ram"] |= {
            "limit": ram_limit,
            "arena": record["ram"]["static"] and text.arena_bytes + ALIGNMENT if is_known(text.arena_bytes) else 0,
            "states": entry.instance.nbytes if entry.instance is not None else 0,
            "inputs": sum(nominal(p.slot.nbytes) for p in entry.inputs),
            "outputs": sum(nominal(p.slot.nbytes) for p in entry.outputs),
        }
        return {"footprint": record}


_TARGETS = {ASSEMBLY: "{}.s", "so": "{}.so", "wheel": "{}.so", "obj": "{}.o", "exe": "{}"}
"""The name of the compiled file, by output."""
