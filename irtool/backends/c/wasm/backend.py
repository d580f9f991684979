"""The WebAssembly backend as a plug-in: its flags, its files, and their compiler."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .... import __version__
from ....diagnostics import Diagnostic, IrError
from ....tir.program import Program
from ...base import ABSENT, OK, Backend, Built, Finding, Request, Runnable, Sources, VectorTarget, backend, flag
from ...fast_products import check_products, opt_flag, strassen_flag, winograd_flag, with_products
from ...interface.memory import ALIGNMENT, REGION_SIZE, check_region_size
from ...interface.names import Identifiers
from ...toolchain.compiler import split_words, vectors_of
from ..backend import C
from ..banner import LICENCE
from ..object_files import Objects
from .module import ModuleFacts, tensor_bytes, write_module, write_types
from .sections import FACTS, WEIGHTS, append_section
from .tools import LEVELS, PLAIN, WasmCompiler, find_compiler, make_compiler, missing_compiler

if TYPE_CHECKING:
    from ....selection.kernel import Selection
    from ..program import CText

_ADDRESSES = 1 << 32
_SUFFIXES = {PLAIN: ".scalar", "wasm-simd128": ".simd128"}
"""The suffix of a module's name, by the level below the build's that it is for."""


@dataclass(frozen=True, kw_only=True)
class _Source(C):
    """C as a compiler for WebAssembly takes it."""

    network: str = ""

    @property
    def compiler(self) -> WasmCompiler:
        more = [*([f"-D{self.network.upper()}_NO_LOADER"] if self.network else [])]
        more += split_words(self.cflags, "the compiler's flags")
        return make_compiler(find_compiler(self.cc), self.mcpu, self.math == "strict", more)

    @property
    def levels(self) -> tuple[()]:
        return ()

    def machine(self) -> VectorTarget:
        machine = vectors_of(LEVELS[self.mcpu][1])
        return with_products(machine, self.winograd, self.strassen, self.math, self.opt)


@dataclass
class _WasmSources(Sources):
    """The sources; `text`: the C; `objects`: those that are being compiled already."""

    text: CText | None = None
    objects: Objects | None = None


@backend("wasm")
@dataclass(frozen=True, kw_only=True)
class Wasm(Backend):
    """WebAssembly for browsers, Node and Deno, compiled from the C of the same kernels.

    It writes `NAME.wasm`, which contains the weights, `NAME.mjs`, the ES module that calls it with typed arrays, and `NAME.d.ts`, its types.
    For engines that lack the instructions of `mcpu`, there are further modules, `NAME.scalar.wasm` among them, and `NAME.mjs` loads the
    first one that the engine has the instructions for. The compiler is zig of the Python package ziglang, clang with wasm-ld and wasi-libc, or
    emscripten; `CC` and `CFLAGS` are for other programs.
    """

    emits = ("c", "wasm")
    default_emit = "wasm"
    name_rule = "it must be a C identifier, and not a word of C"

    math: str = flag("fast", "own vectorized exp, tanh, erf … (4 ULP), or those of libm", ("fast", "strict"))
    mcpu: str = flag("wasm-simd128", "instructions of the engine", tuple(LEVELS))
    fallback: bool = flag(True, "also modules for engines with fewer instructions")
    opt: str = opt_flag()
    winograd: str = winograd_flag()
    strassen: str = strassen_flag()
    region_size: str = flag("", REGION_SIZE)
    weights: str = flag(
        "auto",
        "place of weights: in the code, in NAME.bin, which NAME.mjs fetches, or (auto) in NAME.wasm",
        ("auto", "inline", "file"),
    )
    cc: str = flag("", "C compiler for WebAssembly; default: zig, clang or emcc, whichever is here")
    cflags: str = flag("", "additional flags for the C compiler")

    def fit_name(self, text: str) -> str:
        return Identifiers().fresh(text)

    def check(self, entries: Sequence[str], emit: str) -> None:
        split_words(self.cflags, "the compiler's flags")
        check_region_size(self.region_size)
        check_products(self.winograd, self.strassen, self.math)
        if emit == "wasm" and find_compiler(self.cc) is None:
            raise missing_compiler()

    def _source(self, name: str = "", level: str = "") -> _Source:
        flags = ("math", "opt", "winograd", "strassen", "region_size", "cc", "cflags")
        return _Source(
            mcpu=level or self.mcpu,
            weights="file" if self.weights == "auto" else self.weights,
            network=name,
            **{f: getattr(self, f) for f in flags},
        )

    @property
    def _levels(self) -> list[str]:
        """The levels of its modules, the highest first."""
        names = list(LEVELS)
        return [self.mcpu, *reversed(names[: names.index(self.mcpu)])] if self.fallback else [self.mcpu]

    def identity(self) -> str:
        return self._source().compiler.identity

    def examine(self) -> Iterator[Finding]:
        command = find_compiler("")
        yield Finding(
            "wasm compiler",
            OK if command is not None else ABSENT,
            command[0] if command is not None else "",
            "the backend wasm",
        )

    def machine(self) -> VectorTarget:
        return self._source().machine()

    def processors(self) -> Mapping[str, VectorTarget | None]:
        return {name: vectors_of(macros) for name, (_, macros) in LEVELS.items()}

    def supports(self, program: Program) -> list[Diagnostic]:
        functions = (program.functions[n] for n in program.entry_names)
        message = "a parameter or result of @{} is a value of a data type, which WebAssembly modules do not take"
        return [Diagnostic(message.format(f.name), level="error") for f in functions if f.values is not None]

    def selection(self, program: Program) -> Selection:
        return self._source().selection(program)

    def emit(self, program: Program, request: Request) -> _WasmSources:
        name = request.name
        source = self._source(name)
        objects = None
        if request.folder is not None and request.emit == "wasm":
            objects = request.resources.enter_context(Objects(source.compiler, request.folder, request.object_cache))
        text = source.translate(program, name, objects, request.folder)
        self._check_size(text)
        files: dict[str, list[Any] | Path] = {f"{name}.h": [text.header.encode()], f"{name}.c": [text.source.encode()]}
        weights = ""
        if text.weights and (self.weights == "file" or request.emit == "c"):
            weights = f"{name}.bin"
            files[weights] = text.weights
        return _WasmSources(
            files,
            text.entries,
            text.arena_bytes,
            text.identifiers,
            text.kernel_names,
            weights,
            {
                "opt": self.opt,
                "stored_weight_bytes": text.stored_bytes,
                "arena_lower_bound": text.live_bytes,
                "stack_bytes": text.stack_bytes,
                "region_begin": text.region_begin,
                "compile": text.compile_line,
            },
            {unit: [u.encode()] for unit, u in text.units.items()},
            text,
            objects,
        )

    def _check_size(self, text: CText) -> None:
        """Raises IrError for a network whose memory has more bytes than 32-bit addresses reach."""
        entry = text.entries[0]
        if entry.arena_size:
            return  # the lengths of a run decide it
        needed = text.stored_bytes + text.arena_bytes + ALIGNMENT + max(map(tensor_bytes, text.entries))
        if needed >= _ADDRESSES:
            raise IrError(
                f"weights, workspace and tensors have {needed} bytes, and the memory of a WebAssembly module has at most {_ADDRESSES}",
                help="smaller weights: irtool quantize, --precision int8; or fewer rows at a time",
            )

    def build(self, sources: Sources, request: Request, folder: Path) -> Built:
        assert isinstance(sources, _WasmSources) and sources.text is not None
        if request.emit == "c":
            return Built()
        text, name = sources.text, request.name
        levels: list[tuple[str, str]] = []
        files: dict[str, Path] = {}
        for level in self._levels:
            file = f"{name}{'' if level == self.mcpu else _SUFFIXES[level]}.wasm"
            files[file] = folder / file
            self._build_module(level, sources, request, folder, files[file])
            levels.append((level, file))
        facts = ModuleFacts(
            name,
            self._banner(text),
            text.entries,
            0 if text.entries[0].arena_size else text.arena_bytes + ALIGNMENT,
            levels,
            _size(text.weights),
            sources.weights,
        )
        for file, content in ((f"{name}.mjs", write_module(facts)), (f"{name}.d.ts", write_types(facts))):
            files[file] = folder / file
            files[file].write_text(content, encoding="utf-8")
        sizes = {file: path.stat().st_size for file, path in files.items()}
        return Built(files, f"{name}.wasm", report={"files": sizes})

    def _build_module(self, level: str, sources: _WasmSources, request: Request, folder: Path, target: Path) -> None:
        """Compiles the units for a level, links them, and appends the sections."""
        assert sources.text is not None
        compiler = self._source(request.name, level).compiler
        begun = sources.objects if level == self.mcpu else None
        work = folder if begun is not None else folder / level
        work.mkdir(exist_ok=True)
        (work / f"{request.name}.h").write_bytes(b"".join(sources.buffers(f"{request.name}.h")))
        with begun or Objects(compiler, work, request.object_cache) as objects:
            for file, content in sources.units.items():
                if file not in objects:
                    objects.add(file, b"".join(content))
            compiled = objects.finish()
        exports = self._exports(sources, request.name)
        units = [compiled[file] for file in sources.units]
        compiler.link_module(units, exports, target.name, sources.text.stack_bytes, work)
        if work != folder:
            (work / target.name).rename(target)
        instance = sources.entries[0].instance
        facts = {
            "instance_bytes": 0 if instance is None else instance.nbytes,
            "saved_bytes": 0 if instance is None else instance.saved_bytes,
        }
        record = json.dumps(facts).encode()
        append_section(target, FACTS, [record], len(record))
        weights = sources.text.weights
        if weights and not sources.weights:
            content = [weights.read_bytes()] if isinstance(weights, Path) else weights
            append_section(target, WEIGHTS, content, _size(weights))

    def _exports(self, sources: _WasmSources, name: str) -> list[str]:
        """The functions that callers of the module need."""
        assert sources.text is not None
        exports = [x for e in sources.entries for x in (e.run_with, e.arena_size) if x]
        exports += [f"{name}_set_weights"] if sources.text.weights else []
        exports += [f"{name}_init", f"{name}_state"] if sources.entries[0].instance is not None else []
        return exports

    def _banner(self, text: CText) -> list[str]:
        entry = text.entries[0]
        tensors = [("in ", p) for p in entry.inputs] + [("out", p) for p in entry.outputs]
        return [
            f"{text.name}: {entry.function.name}",
            "",
            *(f"  {way}  {p.name}: {p.slot.dtype}[{p.shape}]" for way, p in tensors),
            "",
            f"Written by irtool {__version__} for WebAssembly: {', '.join(self._levels)}.",
            LICENCE,
        ]

    @classmethod
    def load(cls, library: Path, name: str, weights: Path | None) -> Runnable:
        from .library import WasmLibrary

        return WasmLibrary(library, name, weights)


def _size(weights: Any) -> int:
    """The bytes of a weights file."""
    if isinstance(weights, Path):
        return weights.stat().st_size
    return sum(memoryview(part).nbytes for part in weights or ())
