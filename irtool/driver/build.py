"""`build`: the whole way from a module to a compiled library."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..diagnostics import IrError, UsageError
from ..ir import Module
from ..lower import lower_module
from ..lower.memory import plan_memory
from ..schedule import Machine, schedule_program
from ..tir.program import Program
from .artifact import Artifact
from .prepare import is_dynamic, prepare
from .specialize import Specializer

_INLINE_LIMIT = 1 << 16
"""Bytes of constants up to which they stand in the C source."""


def build(
    module: Module,
    params: Mapping[str, Any] | None = None,
    target: str = "c",
    opt_level: int = 3,
    out_dir: str | os.PathLike | None = None,
    *,
    name: str = "model",
    entry: str = "main",
    emit: str = "so",
    mcpu: str = "native",
    vector: bool = True,
    openmp: bool = False,
    math: str = "fast",
    api: str = "flat",
    instruments: Iterable[Any] = (),
) -> Artifact:
    """Compiles a module.

    Args:
        module: the module; it is not changed.
        params: values of parameters of the entry, by name; they become weights.
        target: `c`.
        opt_level: level of the build pipeline, 0 to 4.
        out_dir: folder for the files (made if missing); without one, a temporary folder that lives as long as the result.
        name: prefix of files and C names; a C identifier.
        entry: the function that `NAME_run` calls.
        emit: `c` (sources only), `obj`, `so` (a shared library) or `exe` (a program that reads and writes raw files).
        mcpu: processor, as the compiler's `-march` takes it; `none` leaves it to the compiler.
        vector: vector types where the compiler has them, or scalar code only.
        openmp: compile with OpenMP threads.
        math: `fast`, own vector exp, tanh … (4 units in the last place), or `strict`, those of the C library.
        api: `flat`, the interface `int NAME_run(const float *x, float *out)`.
        instruments: instruments for the passes.

    Raises:
        IrError: the module is rejected, or something in it cannot be compiled (all of it is listed).
        UsageError: a wrong option.
        ToolError: the C compiler is missing or failed; its message and the folder of the sources are in the error.
    """
    from ..backends.c.compiler import Compiler
    from ..backends.c.executable import write_main
    from ..backends.c.program import write_program

    if target.split()[0] not in ("c", "llvm"):
        raise UsageError(f"unknown target {target!r}", help="the target is c")
    if emit not in ("c", "so", "obj", "exe"):
        raise UsageError(f"emit={emit} is not supported: c, obj, so or exe")
    if api != "flat":
        raise UsageError(f"api={api} is not supported: flat")
    if math not in ("fast", "strict"):
        raise UsageError(f"math={math} is not supported: fast or strict")
    start = time.perf_counter()
    prepared = prepare(module, params, opt_level, entry, target, instruments)
    if out_dir is None and is_dynamic(prepared):
        return _deferred(
            module, params, target, opt_level, name, entry, mcpu=mcpu, vector=vector, openmp=openmp, math=math
        )
    compiler = Compiler(mcpu=mcpu, openmp=openmp, strict=math == "strict")
    machine = compiler.machine() if vector else Machine(0)
    program = lower_module(prepared)
    schedule_program(program, machine)
    plan_memory(program)
    text = write_program(program, name, math=math)
    lowered = time.perf_counter()

    holder = None
    if out_dir is None:
        holder = tempfile.TemporaryDirectory(prefix="irtool-")
        out_dir = holder.name
    folder = Path(out_dir)
    files: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IrError(f"cannot make the folder {folder}: {error.strerror or error}") from None
    files.append(_write(folder / f"{name}.h", text.header.encode()))
    source = _write(folder / f"{name}.c", text.source.encode())
    files.append(source)
    weights = None
    if text.weights:
        weights = _write(folder / f"{name}.bin", b"".join(text.weights))
        files.append(weights)
    library = None
    if emit != "c":
        sources = [source]
        if emit == "exe":
            main = write_main(name, program.functions["main"], weights is not None)
            sources.append(_write(folder / f"{name}_main.c", main.encode()))
            files.append(sources[-1])
        made = folder / {"so": f"{name}.so", "obj": f"{name}.o", "exe": name}[emit]
        try:
            compiler.link(emit, compiler.objects([s.name for s in sources], folder), made.name, folder)
        except IrError:
            if holder is not None:
                _keep(holder)
            raise
        files.append(made)
        library = made if emit == "so" else None
    report = make_report(program, text.identifiers)
    report["seconds"] = {"lower": lowered - start, "compile": time.perf_counter() - lowered}
    return Artifact(name, program.functions["main"], files, report, library, weights, holder)


def _deferred(
    module: Module,
    params: Mapping[str, Any] | None,
    target: str,
    opt_level: int,
    name: str,
    entry: str,
    **options: Any,
) -> Artifact:
    """An artifact that compiles when it is run: shapes depend on the inputs."""
    from ..infer import infer_types
    from ..passes.bind import bind_params

    module = infer_types(bind_params(module, params, entry) if params else module)

    def compile(special: Module) -> Artifact:
        prepared = prepare(special, None, opt_level, entry, target)
        if is_dynamic(prepared):
            lower_module(prepared)  # names the first tensor whose shape is not known
        return build(special, None, target, opt_level, name=name, entry=entry, **options)

    return Artifact.deferred(name, Specializer(module, entry, compile))


def make_report(program: Program, identifiers: dict[str, str]) -> dict[str, Any]:
    """What was built."""
    entry = program.functions[program.entry]
    return {
        "arena_bytes": program.arena_bytes,
        "arena_lower_bound": entry.live_bytes,
        "weight_bytes": sum(c.nbytes for c in program.constants),
        "inputs": [{"name": s.name, "shape": list(s.shape), "dtype": s.dtype} for s in entry.params],
        "outputs": [{"name": s.name, "shape": list(s.shape), "dtype": s.dtype} for s in entry.results],
        "identifiers": identifiers,
        "kernels": [
            {
                "name": k.name,
                "operators": k.attrs.get("operators", []),
                "strategy": k.attrs.get("strategy", "loops"),
                "reason": k.attrs.get("reason", ""),
                "workspace_bytes": k.attrs.get("workspace", 0),
            }
            for k in program.kernels
        ],
    }


def _keep(holder: Any) -> None:
    """Leaves a temporary folder behind, for the sources in it."""
    holder._finalizer.detach()


def _write(path: Path, data: bytes) -> Path:
    """Writes a file whole or not at all."""
    try:
        handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(data)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(unfinished, 0o666 & ~mask)
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
    except OSError as error:
        raise IrError(f"cannot write {path}: {error.strerror or error}") from None
    return path
