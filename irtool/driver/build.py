"""`build`: the whole way from a module to a compiled library."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..backends.base import merge_flags
from ..diagnostics import IrError, ToolError, UsageError
from ..files import temporary_folder
from ..ir import Expr, Module
from ..ir.target import Target
from ..passes.context import PassContext
from ..passes.resolve import resolve
from .artifact import Artifact
from .options import TIR, Options, choose_backend
from .outputs import Content, Emission, write_files
from .tuned_table import Table, with_table


def build(
    module: Module | Expr | Callable[[], Module],
    params: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
    target: str | Mapping[str, Any] | Target | None = None,
    opt_level: int | None = None,
    out_dir: str | os.PathLike[str] | None = None,
    *,
    name: str = "model",
    entry: str | Sequence[str] = "main",
    emit: str = "",
    mcpu: str | None = None,
    vector: bool | str | None = None,
    openmp: bool | None = None,
    math: str | None = None,
    api: str | None = None,
    weights: str | None = None,
    verify_weights: bool | None = None,
    testbench: bool | None = None,
    cc: str | None = None,
    cflags: str | None = None,
    sanitize: str | Sequence[str] | None = None,
    build_file: str | Sequence[str] | None = None,
    flags: Mapping[str, Any] | None = None,
    inputs: Sequence[str] | None = None,
    cache: bool = False,
    content: bytes | None = None,
    passes: str | Sequence[Any] = (),
    required_pass: Iterable[str] | None = None,
    disabled_pass: Iterable[str] | None = None,
    config: Mapping[str, Any] | None = None,
    schedule: str = "",
    tuned: str | os.PathLike[str] | None = None,
    instruments: Iterable[Any] | None = None,
    also: Callable[[Emission], Mapping[str, str]] | None = None,
    warnings: Sequence[str] = (),
) -> Artifact:
    """Compiles a module.

    Inside `with PassContext(…):` that context governs the passes; arguments that are given override what it says (of
    `config`, key by key).

    Args:
        module: the module, which is not changed (or a function or an expression, taken as its `@main`); or a callable that
            gives it, called only if the cache has no such build.
        params: values of parameters of the entry, by name (or a function that gives them); they become weights. An
            array of another dtype is converted where that loses nothing, with a ConversionWarning.
        target: the backend, `c` unless it is said, with flags of its own, `c{math=strict}`, or in TVM's notation: text, JSON, a
            dictionary, a `Target` or a tag. `irtool backends` lists the backends and their flags.
        opt_level: level of the build pipeline, 0 to 4; 3 where neither this nor a context says otherwise.
        out_dir: folder for the files (made if missing); without one, a temporary folder that lives as long as the result.
        name: prefix of files and C names; a C identifier.
        entry: the function that `NAME_run` calls; of several, the others are `NAME_run_ENTRY`.
        emit: how far to go, as the backend has it: of `c`, that is `c` (sources only), `obj`, `so` (a shared library, the
            default), `exe` (a program that reads and writes raw files) or `mlf` (an archive in TVM's model library format);
            or `tir`, the scheduled program as text.
        mcpu: processor, as the compiler takes it; `native` is this one (of a cross compiler: its default), `none` leaves it to
            the compiler; several levels with commas between them, or `portable`: code for each level, chosen where it runs.
            By default `portable` for `emit="c"`, else `native`. This flag and those that follow are the backend's: None leaves each as the
            target says. One that the backend does not have, or that the target gives another value, is refused.
        vector: vector types where the compiler has them, or (False, `none`) scalar code only.
        openmp: compile with OpenMP threads.
        math: `fast`, own vector exp, tanh … (4 units in the last place), or `strict`, those of the C library.
        api: `flat`, the interface `int NAME_run(const float *x, float *out)`; `tvm`: TVM's structs as well.
        weights: where they are kept: `inline` in the source, `split` in a source of their own, in a `file` that is mapped
            when it is loaded; `auto` goes by their size.
        verify_weights: what is loaded from such a file is checked against its digest, which reads all of it.
        testbench: also a C program that compares the outputs for fixed inputs with the interpreter's.
        cc: the compiler; by default that of the environment variable CC, or cc.
        cflags: further flags for the compiler, behind those of the environment variable CFLAGS.
        sanitize: what the code checks while it runs: `address`, `undefined`, `leak`, `thread`, `memory`, several with commas
            between them. Only `undefined` works in a library that Python loads; the others want `emit="exe"`.
        build_file: `cmake`, `make` or both: also `NAME.cmake`, `NAME.mk`, by which other builds take the sources in.
        flags: further flags of the backend by name, for one that has others.
        inputs: names of the parameters that are no weights; where given, every other one needs a value in `params`.
        cache: look for the same build in the user's cache, and keep this one there.
        content: what `module` and `params` are made from; needed for caching where they are functions.
        passes: what runs on the module, weights bound, before the build pipeline; as `run_passes` takes it. Entries keep
            their names, and `source` of the functions that are built is what these passes made.
        required_pass, disabled_pass: passes that the pipeline runs whatever the level, and those that it leaves out.
        config: options of single passes, `{"relay.FuseOps.max_depth": 8}`.
        schedule: primitives for chosen stages of kernels, in place of irtool's strategies: text such as `build --explain`
            prints; see `irtool.schedule.script`.
        tuned: a file that `irtool tune` wrote: kernels that were measured on this machine get the choice that was fastest.
            Where it has none for this machine, a warning says so.
        instruments: instruments for the passes. The cache knows nothing of them: a build that it has runs no pass.
        also: gives further text files by path, of what the build made; they are written with the others, or nothing is.
        warnings: what was said when `module` was called; kept in the report, and so in the cache.

    Raises:
        IrError: the module is rejected, or something in it cannot be compiled (all of it is listed).
        UsageError: a wrong option.
        ToolError: the compiler is missing or failed; its message and the folder of the sources are in the error.
    """
    if isinstance(module, Expr) or not callable(module):
        module = Module.of(module)
    governing = PassContext.entered()
    if target is None:
        target = governing.target if governing is not None and governing.target is not None else "c"
    backend, target, sizes = choose_backend(
        target,
        merge_flags(
            flags or {},
            {
                "mcpu": mcpu,
                "vector": vector,
                "openmp": openmp,
                "math": math,
                "api": api,
                "weights": weights,
                "verify_weights": verify_weights,
                "testbench": testbench,
                "cc": cc,
                "cflags": cflags,
                "sanitize": sanitize,
                "build_file": build_file,
            },
        ),
    )
    context = (governing or PassContext(opt_level=3)).overridden(
        opt_level, required_pass, disabled_pass, config, target=target
    )
    options = Options(
        backend=backend,
        target=target,
        sizes=sizes,
        opt_level=context.opt_level,
        name=name,
        entries=(entry,) if isinstance(entry, str) else tuple(entry),
        emit=emit,
        required_pass=tuple(sorted(context.required_pass)),
        disabled_pass=tuple(sorted(context.disabled_pass)),
        config=tuple(sorted(context.config.items())),
        schedule=schedule,
    )
    unmeasured: list[str] = []
    if tuned is not None:
        options, unmeasured = with_table(options, Table.read(tuned), os.fspath(tuned))
    instruments = tuple(instruments) if instruments is not None else None
    if passes:
        resolve(passes)  # an unknown pass is said before anything is read or made
    with temporary_folder() as work, ExitStack() as held:
        key = _key(module, params, inputs, options, passes, content) if cache else ""
        made = _cached(key, held) if key else None
        if made is None:
            # Not needed for a build that the cache has, and slow to import.
            from ..infer import require_types
            from ..lower.host import DependsOnValues
            from .emission import emit_files
            from .parameters import bind_weights
            from .prepare import is_dynamic, prepare_entries
            from .refusals import located

            given = module if isinstance(module, Module) else module()
            source = bind_weights(given, (params() if callable(params) else params) or {}, options.entries, inputs)
            source = require_types(source, options.entries)
            if passes:
                source = _transform(source, passes, options, instruments)
            try:
                prepared = prepare_entries(source, options, instruments)
            except IrError as error:
                if type(error) is not IrError:
                    raise
                raise IrError(located(d, source, options.entries[0]) for d in error.diagnostics) from error
            is_run = out_dir is None and options.emit != TIR
            if is_run and is_dynamic(prepared):
                return _deferred(source, options)
            try:
                made = emit_files(prepared, source, given, options, Path(work), instruments)
            except UsageError:
                raise  # of no place in the module
            except IrError as error:
                if is_run and isinstance(error, DependsOnValues):
                    return _deferred(source, options)
                raise type(error)(located(d, source, options.entries[0]) for d in error.diagnostics) from error
            made.report["warnings"] = [*warnings, *made.notes]
            if key and made.failure is None and not any(f.gives_data for f in made.entries.values()):
                _keep(key, made)
        made.report["warnings"] = [*made.report["warnings"], *unmeasured]
        return _deliver(made, options, out_dir, also)


def _transform(
    module: Module, passes: str | Sequence[Any], options: Options, instruments: Iterable[Any] | None
) -> Module:
    """The module after the passes requested in addition to the pipeline."""
    from ..passes import run_passes

    return run_passes(
        module,
        passes,
        opt_level=options.opt_level,
        required_pass=options.required_pass,
        disabled_pass=options.disabled_pass,
        config=dict(options.config),
        target=options.target,
        instruments=instruments,
    )


def _deliver(
    made: Emission,
    options: Options,
    out_dir: str | os.PathLike[str] | None,
    also: Callable[[Emission], Mapping[str, str]] | None = None,
) -> Artifact:
    """Writes the files: after a failure of the compiler, the sources, which the error names."""
    texts = also(made) if also is not None and made.failure is None else {}
    more: dict[str, Content] = {os.path.abspath(path): [text.encode()] for path, text in texts.items()}
    holder = None
    if out_dir is None:
        holder = temporary_folder()
        out_dir = holder.name
    folder = Path(out_dir)
    written = write_files(folder, {**made.files, **more}, {made.program})[: len(made.files)]
    if made.failure is not None:
        if holder is not None:
            holder._finalizer.detach()  # type: ignore[attr-defined]  # leaves the folder behind
        d = made.failure.diagnostics[0]
        notes = (f"sources are kept in {folder}", *d.notes)
        raise ToolError(replace(d, notes=notes)) from made.failure
    library = folder / made.library if made.library else None
    weights = folder / made.weights if made.weights else None
    artifact = Artifact(
        options.name, made.entries, written, made.report, library, weights, holder, options.backend.name
    )
    if made.program and options.backend.runs_program:
        artifact._program = folder / made.program
    artifact.prepared = made.prepared
    artifact.cached = made.cached
    if library is not None and holder is None:
        from .saved import SUFFIX, describe

        text = describe(artifact, folder, filter(None, (made.library, made.weights)))
        artifact.files += map(str, write_files(folder, {options.name + SUFFIX: [text]}))
    return artifact


def _deferred(module: Module, options: Options) -> Artifact:
    """An artifact that compiles when it is run: shapes depend on the inputs."""
    from ..infer import infer_types
    from ..lower import lower_module
    from .emission import emit_files
    from .prepare import is_dynamic, prepare_entries
    from .specialize import Specializer

    module = infer_types(module)

    def compile(special: Module) -> Artifact:
        prepared = prepare_entries(special, options)
        if is_dynamic(prepared):
            lower_module(prepared, options.entries)  # names the first tensor whose shape is not known
        with temporary_folder() as work:
            return _deliver(emit_files(prepared, special, special, options, Path(work)), options, None)

    return Artifact.deferred(options.name, Specializer(module, options.entries[0], compile))


# ---------------------------------------------------------------------------------------------------------------------
# The cache


def _key(
    module: Module | Callable[[], Module],
    params: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None,
    inputs: Sequence[str] | None,
    options: Options,
    passes: str | Sequence[Any],
    content: bytes | None,
) -> str:
    from ..plugin.loading import plugin_identity
    from .cache import Key, add_module, program_identity

    plugins = plugin_identity()
    if plugins is None or any(
        not isinstance(p, str | tuple) for p in ([passes] if isinstance(passes, str) else passes)
    ):
        return ""  # a pass as an object may be made of anything: its text does not tell it from others
    key = Key()
    key.add(program_identity(), plugins, repr(sorted(asdict(options).items())), repr(inputs), options.backend.name)
    key.add(options.backend.identity())
    if passes:
        key.add(*(p.text() for p in resolve(passes)))
    if content is not None:
        key.add(content)
    if isinstance(module, Module):
        add_module(key, module)
    if not callable(params):
        key.add_arrays(params or {})
    return key.digest if content is not None or (isinstance(module, Module) and not callable(params)) else ""


def _cached(key: str, held: ExitStack) -> Emission | None:
    from .cache import BuildCache

    return BuildCache().load(key, held)


def _keep(key: str, made: Emission) -> None:
    from .cache import BuildCache

    BuildCache().store(key, made)
