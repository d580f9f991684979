"""One build: from inputs to files, past the cache of earlier builds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, IrError, ToolError, UsageError
from ..files import temporary_folder
from ..gc_tuning import rare_collections
from ..ir import Expr, Module
from ..steps import timed
from ..symbolic_int import Undecided
from .artifact import Artifact
from .caches import convert_caches, measure_cache_error
from .mistakes import LowRatio
from .options import TEXTS, Options
from .outputs import Content, Emission, write_files
from .precision import (
    EXACT,
    Calibration,
    Lowered,
    Watched,
    check_calibration,
    dtype_of_precision,
    is_too_low,
    low_ratio_sentence,
    lower_precision,
    measure_error,
    unchanged_sentence,
)
from .states import has_states

if TYPE_CHECKING:
    from .cache import Key


@dataclass(frozen=True)
class BuildInput:
    """The inputs of a build.

    Attributes:
        module: gives the module; called only if the cache has no such build.
        params: gives the values of parameters of the entry, by name, called after `module`; they become weights.
        identify: adds to a key of the cache what tells these two from any others.
        inputs: names of the parameters that are no weights; None if every parameter without a value is an input.
        passes: passes on the module, weights bound, before the build pipeline.
        warnings: warnings of the call of `module`; kept in the report, and so in the cache.
        calibration: gives what calibrates the precision int8, called after `module`; None for other precisions. What it gives counts
            among what `identify` tells.
        watched: shows how far the calibration is.
    """

    module: Callable[[], Module]
    params: Callable[[], Mapping[str, Any]]
    identify: Callable[[Key], None]
    inputs: Sequence[str] | None = None
    passes: str | Sequence[Any] = ()
    warnings: Sequence[str] = ()
    calibration: Callable[[], Calibration] | None = None
    watched: Watched = nullcontext

    @classmethod
    def of(
        cls,
        module: Module | Expr,
        params: Mapping[str, Any] | None = None,
        inputs: Sequence[str] | None = None,
        passes: str | Sequence[Any] = (),
        calibration: Calibration | None = None,
    ) -> BuildInput:
        """The input for a module in memory, its weights, and its calibration."""
        whole, weights = Module.of(module), params or {}

        def identify(key: Key) -> None:
            from .cache import add_calibration, add_module

            add_module(key, whole)
            key.add_arrays(weights)
            add_calibration(key, calibration)

        calibration_source = None if calibration is None else lambda: calibration
        return cls(lambda: whole, lambda: weights, identify, inputs, passes, calibration=calibration_source)


@dataclass(frozen=True)
class Session:
    """The options and the cache of a build.

    Attributes:
        options: checked.
        cache: look for the same build in the user's cache, and keep this one there.
        instruments: the instruments of passes and stages; None: those of the current context. A build from the cache runs none.
        notes: further warnings for the report, which are not kept in the cache.
        measures: whether the error of a lower precision is measured, on random inputs; it is in the report.
        also: further text files by path, of what the build made; they are written with the others, or nothing is.
        in_place: without a folder for the files, those of a library stay in the cache, and nobody may write to them.
    """

    options: Options
    cache: bool = False
    instruments: Sequence[Any] | None = None
    notes: Sequence[str] = ()
    measures: bool = False
    also: Callable[[Emission], Mapping[str, str]] | None = None
    in_place: bool = False

    def key(self, build_input: BuildInput) -> str:
        """The key of a build in the cache; empty for one that cannot be told from others."""
        return _key(build_input, self.options, self.measures)

    def earlier(self, key: str) -> Artifact | None:
        """The artifact that the cache has under this key, `Artifact.key` of an earlier one; None if it has none."""
        with ExitStack() as resources:
            build = _cached(key, resources)
            return None if build is None else self._deliver(build, key)

    def build(self, build_input: BuildInput, out_dir: str | os.PathLike[str] | None = None) -> Artifact:
        """The files, in `out_dir` or in a temporary folder that lives as long as the result. Raises the errors of `driver.build`."""
        options = self.options
        check_calibration(options.precision, build_input.calibration)
        if build_input.passes:
            from ..passes.core.resolve import resolve

            resolve(build_input.passes)  # an unknown pass is said before anything is read or made
        with rare_collections(), temporary_folder() as work, ExitStack() as resources:
            key = self.key(build_input) if self.cache else ""
            build = _cached(key, resources) if key else None
            if build is None:
                may_wait = out_dir is None and options.emit not in TEXTS
                artifact = self._emission(build_input, Path(work), may_wait)
                if isinstance(artifact, Artifact):
                    return artifact
                build = artifact
                build.report["warnings"] = [*build_input.warnings, *build.notes]
                if key and build.failure is None and not any(f.gives_data for f in build.entries.values()):
                    _keep(key, build)
            build.report["warnings"] = [*build.report["warnings"], *self.notes]
            if "footprint" in build.report and build.failure is None:
                from .footprint import check_footprint

                check_footprint(build.report)
            with timed("step", "write files"):
                return self._deliver(build, key, out_dir)

    def _deliver(self, build: Emission, key: str, out_dir: str | os.PathLike[str] | None = None) -> Artifact:
        """The artifact of a build, its files in the folder, in the cache, or in a temporary folder."""
        stays = self.in_place and out_dir is None and build.library and build.failure is None
        artifact = _deliver(build, self.options, out_dir, self.also, build.folder if stays else None)
        if build.folder is not None:
            artifact.key = key
        return artifact

    def _emission(self, build_input: BuildInput, work: Path, may_wait: bool) -> Emission | Artifact:
        """The built files, or, if the build `may_wait` until shapes are known, an artifact that builds them then."""
        # Not needed for a build that the cache has, and slow to import.
        from ..infer import require_types
        from ..ops.onnx_node import settle_waiting
        from .parameters import bind_weights
        from .prepare import is_dynamic
        from .state_lengths import with_state_lengths

        options = self.options
        with timed("step", "read the input"):
            module = build_input.module()
        source = bind_weights(module, build_input.params(), options.entries, build_input.inputs)
        source = settle_waiting(require_types(source, options.entries), options.entries[0])
        if build_input.passes:
            source = _transform(source, build_input.passes, options, self.instruments)
        own_caches = source
        if options.cache_dtype:
            source = convert_caches(
                source, options.cache_dtype, lambda m, passes: _transform(m, passes, options, self.instruments)
            )
        converted = source
        if has_states(source, options.entries):
            may_wait = False
            source = with_state_lengths(require_types(source, options.entries), options.entries[0])
        exact = source
        lowered = Lowered(source)
        if options.precision != EXACT:
            lowered = lower_precision(
                source,
                options.precision,
                options.entries,
                lambda m, passes: _transform(m, passes, options, self.instruments),
                build_input.calibration and build_input.calibration(),
                build_input.watched,
                options.backend.machine().resized(dict(options.sizes)),
            )
            source = lowered.module
        emission = self._files(source, module, work, may_wait)
        if isinstance(emission, Artifact):
            return emission
        if options.cache_dtype:
            emission.report["caches"] = {"dtype": options.cache_dtype, "error": None}
            if self.measures and emission.failure is None and not is_dynamic(source):
                cache_error = measure_cache_error(own_caches, converted, options.entries[0])
                emission.report["caches"]["error"] = asdict(cache_error)
                emission.notes = (*emission.notes, *_low_ratio(cache_error.snr, ()))
        if options.precision != EXACT:
            measured = None
            if self.measures and emission.failure is None and not is_dynamic(source):
                measured, warnings = _measured(exact, lowered, options.entries[0])
                emission.notes = (*emission.notes, *warnings)
            emission.report["precision"] = {
                "dtype": dtype_of_precision(options.precision),
                "error": measured,
                **_precision_fields(lowered),
            }
            if lowered.unchanged[0]:
                emission.notes = (*emission.notes, f"note: {unchanged_sentence(options.precision, *lowered.unchanged)}")
        return emission

    def _files(self, source: Module, module: Module, work: Path, may_wait: bool) -> Emission | Artifact:
        """The files of a module with weights; or, if the build `may_wait`, an artifact that builds them when it runs.

        Modules without lengths in their parameters wait for shapes that follow from values, and that nothing bounds.
        """
        from ..infer.lengths import symbols_of_module
        from .prepare import UnboundedExtents
        from .refusals import located, undecided_error

        try:
            return self._files_or_doubt(source, module, work, may_wait)
        except (UnboundedExtents, Undecided) as doubt:
            if may_wait and not symbols_of_module(source):
                return _deferred(source, self.options, UNKNOWN_SHAPES)
            if isinstance(doubt, Undecided):
                raise undecided_error(doubt, source, self.options.entries[0]) from doubt
            raise IrError(located(d, source, self.options.entries[0]) for d in doubt.diagnostics) from doubt

    def _files_or_doubt(self, source: Module, module: Module, work: Path, may_wait: bool) -> Emission | Artifact:
        """See `_files`. Raises UnboundedExtents or Undecided for shapes that nothing decides."""
        from ..lower.host import DependsOnValues
        from .emission import emit_files
        from .prepare import is_dynamic, prepare_entries
        from .refusals import located

        options, entry = self.options, self.options.entries[0]
        try:
            with timed("step", "passes"):
                prepared = prepare_entries(source, options, self.instruments)
        except IrError as error:
            if type(error) is not IrError:
                raise
            raise IrError(located(d, source, entry) for d in error.diagnostics) from error
        if may_wait and is_dynamic(prepared):
            return _deferred(source, options, UNKNOWN_SHAPES)
        try:
            return emit_files(prepared, source, module, options, work, self.instruments, _object_cache(self.cache))
        except UsageError:
            raise  # of no place in the module
        except IrError as error:
            if may_wait and isinstance(error, DependsOnValues):
                why = error.diagnostics[0].message
                return _deferred(source, options, f"it is compiled when it runs, for the values of its inputs: {why}")
            raise type(error)(located(d, source, entry) for d in error.diagnostics) from error


UNKNOWN_SHAPES = "shapes are not known: it is compiled when it runs, for those of its inputs"
"""The warning of a build that waits for its inputs."""


def _precision_fields(lowered: Lowered) -> dict[str, Any]:
    """The fields of a report on a lower precision beside its error."""
    fields: dict[str, Any] = {"calibrated": asdict(lowered.calibrated)} if lowered.calibrated is not None else {}
    stay, layers = lowered.unchanged
    return fields if not layers else {**fields, "layers": layers, "layers_in_float32": stay}


def _measured(exact: Module, lowered: Lowered, entry: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The error of a lower precision for the report, and warnings about a large one."""
    error = measure_error(exact, lowered.module, entry, lowered.samples)
    return asdict(error), _low_ratio(error.snr, lowered.worst() if is_too_low(error.snr) else ())


def _low_ratio(snr: float, worst: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """The warning about a ratio that is too low; none about another one."""
    if not is_too_low(snr):
        return ()
    return (str(Diagnostic(low_ratio_sentence(snr, worst), level="warning", code=LowRatio)),)


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
    emission: Emission,
    options: Options,
    out_dir: str | os.PathLike[str] | None,
    also: Callable[[Emission], Mapping[str, str]] | None = None,
    finished: Path | None = None,
) -> Artifact:
    """Writes the files, unless they are `finished` in a folder: after a failure of the compiler, the sources, which the error names."""
    texts = also(emission) if also is not None and emission.failure is None else {}
    more: dict[str, Content] = {os.path.abspath(path): [text.encode()] for path, text in texts.items()}
    holder = None
    if finished is not None:
        out_dir = finished
    elif out_dir is None:
        holder = temporary_folder()
        out_dir = holder.name
    folder = Path(out_dir)
    if finished is not None:
        written = [folder / name for name in emission.files]
    else:
        written = write_files(folder, {**emission.files, **more}, {emission.program})[: len(emission.files)]
    if emission.failure is not None:
        if holder is not None:
            holder._finalizer.detach()  # type: ignore[attr-defined]  # leaves the folder behind
        d = emission.failure.diagnostics[0]
        notes = (f"sources are kept in {folder}", *d.notes)
        raise ToolError(replace(d, notes=notes)) from emission.failure
    library = folder / emission.library if emission.library else None
    weights = folder / emission.weights if emission.weights else None
    artifact = Artifact(
        options.name, emission.entries, written, emission.report, library, weights, holder, options.backend.name
    )
    if emission.program and options.backend.runs_program:
        artifact._program = folder / emission.program
    artifact.prepared = emission.prepared
    artifact.cached = emission.cached
    if library is not None and holder is None and finished is None:
        from .saved import SUFFIX, describe

        text = describe(artifact, folder, filter(None, (emission.library, emission.weights)), emission.digests)
        artifact.files += map(str, write_files(folder, {options.name + SUFFIX: [text]}))
    return artifact


def _deferred(module: Module, options: Options, reason: str) -> Artifact:
    """An artifact that compiles when it is run: its code depends on the inputs, as `reason` explains."""
    from ..infer import infer_types
    from ..lower import lower_module
    from .emission import emit_files
    from .prepare import is_dynamic, prepare_entries
    from .refusals import undecided_error
    from .specialize import Specializer

    module = infer_types(module)

    def compile(special: Module) -> Artifact:
        try:
            prepared = prepare_entries(special, options)
            if is_dynamic(prepared):
                lower_module(prepared, options.entries)  # names the first tensor whose shape is not known
            with temporary_folder() as work:
                return _deliver(emit_files(prepared, special, special, options, Path(work)), options, None)
        except Undecided as doubt:
            raise undecided_error(doubt, special, options.entries[0]) from doubt

    return Artifact.deferred(options.name, Specializer(module, options.entries[0], compile), reason)


# ---------------------------------------------------------------------------------------------------------------------
# The cache


def _key(build_input: BuildInput, options: Options, measures: bool) -> str:
    """The key of a build, or the empty string for one that cannot be told from others."""
    from ..plugin.loading import plugin_identity
    from .cache import Key, program_identity

    plugins = plugin_identity()
    passes = [build_input.passes] if isinstance(build_input.passes, str) else build_input.passes
    if plugins is None or any(not isinstance(p, str | tuple) for p in passes):
        return ""  # a pass as an object may be made of anything: its text does not tell it from others
    key = Key()
    key.add(
        program_identity(),
        plugins,
        repr(sorted(asdict(options).items())),
        repr(build_input.inputs),
        options.backend.name,
    )
    key.add(options.backend.identity())
    if measures and (options.precision != EXACT or options.cache_dtype):
        key.add("measures")
    if build_input.passes:
        from ..passes.core.resolve import resolve

        key.add(*(p.text() for p in resolve(build_input.passes)))
    build_input.identify(key)
    return key.digest


def _cached(key: str, resources: ExitStack) -> Emission | None:
    from .cache import BuildCache

    return BuildCache().load(key, resources)


def _keep(key: str, emission: Emission) -> None:
    from .cache import BuildCache

    BuildCache().store(key, emission)


def _object_cache(is_used: bool) -> Path | None:
    """The folder of object files that builds share, if this one may keep anything."""
    from .cache import BuildCache

    return BuildCache().objects() if is_used else None
