"""`build`: the whole way from a module to a compiled library, as Python calls it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ParamSpec, Protocol

from ..ir import Expr, Module
from .artifact import Artifact
from .build_options import BuildOptions
from .extents import with_given_extents
from .session import BuildInput, Session
from .states import with_states

P = ParamSpec("P")


class Build(Protocol[P]):
    """A function of a module and the fields of options."""

    def __call__(self, module: Module | Expr, *args: P.args, **kwargs: P.kwargs) -> Artifact: ...


def build_with(module: Module | Expr, options: BuildOptions) -> Artifact:
    """Compiles a module as `build` does, whose arguments are the fields of the options."""
    checked, notes = options.checked()
    watching = None if options.instruments is None else tuple(options.instruments)
    if options.shapes or options.dims:
        first = options.entry if isinstance(options.entry, str) else options.entry[0]
        module = with_given_extents(Module.of(module), first, options.shapes or {}, options.dims or {})
    if options.states:
        first = options.entry if isinstance(options.entry, str) else options.entry[0]
        module = with_states(Module.of(module), first, options.states)
    build_input = BuildInput.of(module, options.params, options.inputs, options.passes, options.calibration)
    return Session(checked, cache=options.cache, instruments=watching, notes=notes).build(build_input, options.out_dir)


def _by_arguments(
    options: Callable[P, BuildOptions],
) -> Callable[[Callable[[Module | Expr, BuildOptions], Artifact]], Build[P]]:
    """Decorator: the function takes the fields of the options as arguments, with their types and defaults."""

    def decorate(run: Callable[[Module | Expr, BuildOptions], Artifact]) -> Build[P]:
        def build(module: Module | Expr, *args: P.args, **kwargs: P.kwargs) -> Artifact:
            return run(module, options(*args, **kwargs))

        module, _ = inspect.signature(run).parameters.values()
        fields = inspect.signature(options).parameters.values()
        build.__signature__ = inspect.Signature([module, *fields], return_annotation="Artifact")  # type: ignore[attr-defined]  # read by inspect
        build.__doc__, build.__module__, build.__qualname__ = run.__doc__, run.__module__, run.__qualname__
        return build

    return decorate


@_by_arguments(BuildOptions)
def build(module: Module | Expr, options: BuildOptions) -> Artifact:
    """Compiles a module.

    Inside `with PassContext(…):` that context governs the passes; arguments that are given override what it says (of
    `config`, key by key).

    Args:
        module: the module, which is not changed (or a function or an expression, taken as its `@main`).
        params: values of parameters of the entry, by name; they become weights. An array of another dtype is converted where
            that loses nothing, with a ConversionWarning.
        target: the backend, `c` unless it is said, with flags of its own, `c{math=strict}`, or in TVM's notation: text, JSON, a
            dictionary, a `Target` or a tag. `irtool backends` lists the backends and their flags.
        opt_level: level of the build pipeline, 0 to 4; 3 where neither this nor a context says otherwise.
        out_dir: folder for the files (made if missing); without one, a temporary folder that lives as long as the result.
        name: prefix of files and C names; a C identifier.
        entry: the function that `NAME_run` calls; of several, the others are `NAME_run_ENTRY`.
        emit: how far to go, as the backend has it: of `c`, that is `c` (sources only), `obj`, `so` (a shared library, the
            default), `exe` (a program that reads and writes raw files), `wheel` (a Python package), `mlf` (an archive in TVM's model library
            format), or a library for `arduino`, `zephyr`, `esp-idf`, `cmsis-pack` or `platformio`;
            or a text: `tir`, the scheduled program, or `isel`, the program after instruction selection.
        kernel: a regular expression: of a text, only the kernels whose names have a match of it.
        mcpu: processor, as the compiler takes it; `native` is this one (of a cross compiler: its default), `none` leaves it to
            the compiler; several levels with commas between them, or `portable`: code for each level, chosen when it is loaded.
            By default `portable` for `emit="c"` and `"wheel"`, else `native`. This flag and those that follow are the backend's: None leaves each as the
            target says. One that the backend does not have, or that the target gives another value, is refused.
        vector: vector types where the compiler has them, or (False, `none`) scalar code only.
        openmp: compile with OpenMP threads.
        math: `fast`, own vector exp, tanh … (4 units in the last place), or `strict`, those of the C library.
        opt: `balanced` (the default), weights that are transformed for speed are stored plain, and transformed when the library loads
            them, those that gain most up to 60 MB or 55 % more than plain ones; `size`, none are transformed; `speed`, all are stored
            transformed.
        api: `flat`, the interface `int NAME_run(const float *x, float *out)`; `tvm`: TVM's structs as well; `tvm-ffi`: functions for the
            package apache-tvm-ffi as well.
        weights: where they are kept: `inline` in the source, `split` in a source of their own, in a `file` that is mapped
            when it is loaded; `auto` goes by their size.
        verify_weights: what is loaded from such a file is checked against its digest, which reads all of it.
        testbench: also a C program that compares the outputs for the inputs that `irtool run` draws with the interpreter's.
        cc: the compiler; by default that of the environment variable CC, or cc.
        cflags: further flags for the compiler, behind those of the environment variable CFLAGS.
        sanitize: what the code checks while it runs: `address`, `undefined`, `leak`, `thread`, `memory`, several with commas
            between them. Only `undefined` works in a library that Python loads; the others want `emit="exe"`.
        build_file: `cmake`, `make`, `meson`, `pkg-config`, or several: also `NAME.cmake`, `NAME.mk`, `meson.build`, by which other builds take
            the sources in, or `NAME.pc`, for a library or an object file.
        bindings: `hpp`, `f90`, `rs`, or several: also wrappers for C++, Fortran and Rust, `NAME.hpp`, …; see docs/calling.md.
        board: the name of a board (`irtool boards`), or the path of a file that describes one: its processor and compiler; with the C come
            start-up code, a linker script and a Makefile. `emit` is `c`, unless it is said, or `exe`: `Artifact.run` runs that in its emulator.
        profile: `"certifiable"`: scalar C with static bounds by MISRA C:2012, and evidence beside it (docs/certification.md).
        ram_limit, flash_limit: bytes, or a text such as `"64K"`, that the network may take at most; by default the board's.
        flags: further flags of the backend by name, for one that has others.
        inputs: names of the parameters that are no weights; where given, every other one needs a value in `params`.
        shapes: shapes of parameters of the entry, by name. An extent is a number, or a text such as `"?<=8"` or `"batch<=8"`: a length
            that the run decides, up to that bound.
        dims: the same for dimensions that have names in the model, as `import` and `from_onnx` keep them: `{"seq": "<=512"}`.
        states: inputs that stay in the memory of an instance, by name, each with the name of the output that is its value in the next
            step: `{"h": "h_out"}`; `"auto"`: the pairs that `irtool info` lists. An output without a name in the model is `out`, or `out1` by its number. See `Artifact.instance`.
        cache_dtype: `float16`, `bfloat16`, `float32` or `int8`: caches, states to which steps add rows, are kept so; `int8`: with a scale
            for each row of a head. Empty: as the model has them.
        cache: look for the same build in the user's cache, and keep this one there.
        precision: `bfloat16` or `float16`: operands of products are rounded to it, sums and what is between products stay in
            float32, and so do inputs and results, and layers that the processor does not compute faster, unless
            `{layers=all}` stands behind; or `int8`: convolutions and products of matrices are computed in 8 bits, as
            `irtool.quantize` rounds them. See docs/precision.md.
        calibration: of precision `int8`, what it finds ranges from: `random` (the default); arrays by name of an input, each one
            sample or several along a further axis in front; or a list of such.
        passes: what runs on the module, weights bound, before the build pipeline; as `run_passes` takes it. Entries keep
            their names, and `source` of the functions that are built is what these passes made.
        required_pass, disabled_pass: passes that the pipeline runs whatever the level, and those that it leaves out.
        config: options of single passes, `{"relay.FuseOps.max_depth": 8}`.
        schedule: primitives for chosen stages of kernels, in place of irtool's strategies: text such as `build --explain`
            prints; see `irtool.schedule.scripts.script`.
        tuned: a file that `irtool tune` wrote: kernels that were measured on this machine get the choice that was fastest.
            `shipped` is the table that comes with irtool.
            Where it has none for this machine, a warning says so.
        instruments: instruments for the passes. The cache knows nothing of them: a build that it has runs no pass.

    Raises:
        IrError: the module is rejected, or something in it cannot be compiled (all of it is listed).
        UsageError: a wrong option.
        ToolError: the compiler is missing or failed; its message and the folder of the sources are in the error.
    """
    return build_with(module, options)
