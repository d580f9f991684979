"""From a module to the files of a build: lowering, C, what the compiler makes of it, and what goes around it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..backends.c.banner import Origin
from ..backends.c.build_file import KINDS, write_build_file
from ..backends.c.compiler import Compiler
from ..backends.c.executable import write_main
from ..backends.c.program import CText, write_program
from ..backends.c.testbench import fixed_input, write_testbench
from ..backends.c.tvm_interface import interface_stem, write_tvm_interface
from ..diagnostics import IrError, ToolError
from ..ir import Module
from ..lower.storage import storage_report
from ..schedule import Machine
from ..tir.program import HostFunction, Program
from .options import Options
from .outputs import Content, Emission, chunks
from .report import make_report
from .stages import run_stages


def emit_files(
    prepared: Module,
    source: Module,
    given: Module,
    options: Options,
    scratch: Path,
    instruments: Sequence[Any] | None = None,
) -> Emission:
    """All files of a build.

    Args:
        prepared: the module after its passes, entries under their names.
        source: the module before them, with its weights: what a test bench expects.
        given: the same without its weights: what an archive shows.
        scratch: an empty folder to compile in.
        instruments: what watches the stages; None: those of the current context.
    """
    start = time.perf_counter()
    compiler = options.compiler
    program, text = translate(prepared, options, compiler, instruments)
    lowered = time.perf_counter()
    name, entry = options.name, text.entries[0]
    files: dict[str, Content] = {f"{name}.h": [text.header.encode()], f"{name}.c": [text.source.encode()]}
    made = Emission(
        files, {e.function.name: e.function for e in text.entries}, make_report(program, text), prepared=prepared
    )
    if options.emit == "tir":
        from ..printer.program import program_text

        made.files = {f"{name}.tir": [program_text(program).encode()]}
        return made
    made.report["compile"] = text.compile_line
    made.report["sanitize"] = list(options.sanitize)
    if text.constants:
        files[f"{name}_weights.c"] = [text.constants.encode()]
    if text.weights:
        made.weights = f"{name}.bin"
        files[made.weights] = text.weights
    for kind in options.build_files:
        assert text.origin is not None
        made_for = write_build_file(kind, name, text.origin, text.sources, made.weights)
        files[f"{name}{KINDS[kind]}"] = [made_for.encode()]
    extra: list[str] = []
    if options.api == "tvm" or options.emit == "mlf":
        interface = write_tvm_interface(name, entry, text.arena_bytes, bool(text.weights))
        files[f"{interface.stem}.h"] = [interface.header.encode()]
        files[f"{interface.stem}.c"] = [interface.source.encode()]
        extra.append(f"{interface.stem}.c")
    main = ""
    if options.testbench:
        main = f"{name}_test.c"
        expected = _expected(source, options.entries[0], text)
        files[main] = [write_testbench(name, entry, expected, bool(text.weights)).encode()]
    elif options.emit == "exe":
        main = f"{name}_main.c"
        files[main] = [write_main(name, entry.function, bool(text.weights)).encode()]
    if options.emit in ("obj", "so", "exe"):
        target = {"so": f"{name}.so", "obj": f"{name}.o", "exe": name}[options.emit]
        if options.emit == "exe":
            extra.append(main)
        try:
            _compile(compiler, options, text, files, extra, target, scratch)
        except ToolError as error:
            made.failure = error
            _keep_pieces(text, name, files)
            return made
        files[target] = scratch / target
        made.library = target if options.emit == "so" else ""
        made.program = target if options.emit == "exe" else ""
    elif options.emit == "mlf":
        from .model_library import pack

        archive = f"{name}.tar"
        pack(scratch / archive, made, text, program, prepared, given, options)
        made.files = {archive: scratch / archive}
        made.weights = ""
    made.report["storage"] = storage_report(prepared, options.entries)
    made.report["seconds"] = {"lower": lowered - start, "compile": time.perf_counter() - lowered}
    return made


def translate(
    prepared: Module, options: Options, compiler: Compiler, instruments: Sequence[Any] | None = None
) -> tuple[Program, CText]:
    """The scheduled program with its memory planned, and its C."""
    machine = compiler.machine() if options.vector else Machine(0)
    program = run_stages(prepared, options.entries, machine, instruments)
    beside = [f"{interface_stem(options.name)}.c"] if options.api == "tvm" else []
    origin = Origin.of(compiler, __version__, 8 * machine.vector_bytes, beside)
    return program, write_program(
        program,
        options.name,
        options.weights,
        math=options.math,
        pieces=_pieces(program),
        origin=origin,
        verify_weights=options.verify_weights,
    )


def _pieces(program: Program) -> int:
    """How many translation units to ask for: the kernels decide; the writer makes no more than there are kernels."""
    return min(4 * (os.cpu_count() or 1), max(1, len(program.kernels) // 3))


def _compile(
    compiler: Compiler,
    options: Options,
    text: CText,
    files: Mapping[str, Content],
    extra: Sequence[str],
    target: str,
    scratch: Path,
) -> None:
    for name, content in files.items():
        if name.endswith(".h") or name in extra:
            (scratch / name).write_bytes(b"".join(chunks(content)))
    sources = [_piece(options.name, n, text) for n in range(len(text.pieces))]
    for name, piece in zip(sources, text.pieces):
        (scratch / name).write_text(piece, encoding="utf-8")
    compiler.link(options.emit, compiler.objects([*sources, *extra], scratch), target, scratch)


def _piece(name: str, n: int, text: CText) -> str:
    return f"{name}.c" if len(text.pieces) == 1 else f"{name}_part{n}.c"


def _keep_pieces(text: CText, name: str, files: dict[str, Content]) -> None:
    """After a failure: the compiler's message speaks of these files."""
    for n, piece in enumerate(text.pieces):
        files[_piece(name, n, text)] = [piece.encode()]


def _expected(source: Module, entry: str, text: CText) -> list[Any]:
    """What the interpreter gives for the fixed inputs, as flat arrays; halves as float."""
    import numpy as np

    from ..interp import evaluate

    function = text.entries[0].function
    _refuse_to_evaluate(function)
    leaves = iter([fixed_input(p, n) for n, p in enumerate(text.entries[0].inputs)])
    slots = iter(text.entries[0].inputs)
    values = [_nested(s, leaves, slots) for s in function.param_structures]
    found: list[Any] = []
    stack = [evaluate(source, values, entry=entry)]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple | list):
            stack.extend(reversed(v))
        else:
            array = np.asarray(v)
            half = array.dtype.itemsize == 2 and array.dtype.kind not in "iu"
            found.append(array.astype("float32") if half else array)
    return found


def _refuse_to_evaluate(function: HostFunction) -> None:
    """Raises IrError where this machine cannot hold what the interpreter would: the system would end the process."""
    needed = function.live_bytes + sum(s.nbytes for s in (*function.params, *function.results))
    if not hasattr(os, "sysconf"):
        return
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > have:
        raise IrError(
            f"a test bench holds what the interpreter gives: that takes {needed} bytes, and this machine has {have}"
        )


def _nested(structure: Any, leaves: Any, slots: Any) -> Any:
    """A parameter's value out of its tensors."""
    if structure is None:
        data, slot = next(leaves), next(slots).slot
        if slot.dtype == "float16":
            return data.view("float16")
        if slot.dtype == "bfloat16":
            import ml_dtypes

            return data.view(ml_dtypes.bfloat16)
        return data
    return tuple(_nested(s, leaves, slots) for s in structure)
