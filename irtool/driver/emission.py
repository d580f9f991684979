"""From a module to the files of a build: lowering, the backend's sources, and the compiled files."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends.base import Draw, Request, Sample
from ..diagnostics import IrError, ToolError, UsageError
from ..ir import Module, Var, tuple_leaves
from ..lower.function_info import storage_report
from ..schedule.scripts.script import scripted
from ..schedule.scripts.tuned import tuned
from ..selection.text import selected_text
from ..steps import timed
from ..symbolic_int import Symbol, bound, symbols_of, value_at
from ..tir.program import HostFunction, Program
from .denormals import flush_constants
from .enlarged_weights import notes_on_size
from .options import ISEL, TEXTS, Options
from .outputs import Content, Emission, Made
from .report import make_report
from .stages import run_stages
from .value_samples import sample_of_values

if TYPE_CHECKING:
    from ..interp.random_inputs import RandomTensor


_MOST_NAMES = 20
"""Kernels that a message names."""


def emit_files(
    prepared: Module,
    source: Module,
    without_weights: Module,
    options: Options,
    scratch: Path,
    instruments: Sequence[Any] | None = None,
    object_cache: Path | None = None,
) -> Emission:
    """All files of a build.

    Args:
        prepared: the module after its passes, entries under their names.
        source: the module before them, with its weights: the reference of a test bench.
        without_weights: the same without its weights, for an archive.
        scratch: an empty folder to compile in.
        instruments: the instruments of the stages; None: those of the current context.
        object_cache: a folder of object files that builds share.
    """
    start = time.perf_counter()
    backend, name = options.backend, options.name
    with scripted(options.schedule), tuned(dict(options.tuned)):
        machine = backend.machine().resized(dict(options.sizes))
        lesser = [m.resized(dict(options.sizes)) for m in backend.lesser_machines()]
        with timed("step", "stages"):
            program = run_stages(
                prepared, options.entries, machine, instruments, lesser if options.emit not in TEXTS else ()
            )
    if options.emit in TEXTS:
        functions = {n: program.functions[n] for n in options.entries}
        text = _program_text(program, options).encode()
        return Emission({f"{name}.{options.emit}": [text]}, functions, make_report(program, name), prepared=prepared)
    missing = backend.supports(program)
    if missing:
        raise IrError(missing)
    notes = () if backend.keeps_denormals else flush_constants(program)
    lowered = time.perf_counter()
    with ExitStack() as resources:
        samples = partial(_samples, source, without_weights, options.entries[0])
        request = Request(name, options.emit, samples, scratch, resources, object_cache, partial(_model_digest, source))
        with timed("step", "write sources"):
            sources = backend.emit(program, request)
        notes = (*notes, *notes_on_size(program, sources))
        emission = Emission(
            _contents(sources.files, scratch),
            {e.function.name: e.function for e in sources.entries},
            {**make_report(program, name, sources), **sources.report},
            weights=sources.weights,
            prepared=prepared,
            notes=notes,
        )
        if options.emit == "mlf":
            from .model_library import pack

            archive = f"{name}.tar"
            pack(scratch / archive, emission, sources, program, prepared, without_weights, options)
            emission.files = {archive: scratch / archive}
            emission.weights = ""
        else:
            try:
                if options.emit != backend.emits[0]:
                    emission.digests = _digests(emission.files)  # compilers are at work meanwhile
                with timed("step", "compile and link"):
                    built = backend.build(sources, request, scratch)
            except ToolError as error:
                emission.failure = error
                emission.files |= sources.units  # the compiler's message speaks of these
                return emission
            emission.files |= _contents(built.files, scratch)
            emission.library, emission.program, emission.notes = built.library, built.program, (*notes, *built.notes)
            emission.report |= built.report
    emission.report["storage"] = storage_report(prepared, options.entries)
    emission.report["seconds"] = {"lower": lowered - start, "compile": time.perf_counter() - lowered}
    return emission


def _model_digest(module: Module) -> str:
    from ..printer import to_text

    return hashlib.sha256(to_text(module).encode()).hexdigest()


def _program_text(program: Program, options: Options) -> str:
    """The text of the program: as it is scheduled, or after instruction selection; of the chosen kernels alone, if some are chosen."""
    from ..printer.program import nest_text, program_text

    selection = options.backend.selection(program) if options.emit == ISEL else None
    kernel_text = nest_text if selection is None else partial(selected_text, selection)
    if not options.kernel:
        return program_text(program, kernel_text)
    chosen = [k for k in program.kernels if re.search(options.kernel, k.name)]
    if not chosen:
        names = [k.name for k in program.kernels]
        more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        raise UsageError(
            f"no kernel's name has a match of {options.kernel!r}",
            help=f"the kernels are {', '.join([*names[:_MOST_NAMES], *more])}"
            if names
            else "the program has no kernels",
        )
    return "\n".join(map(kernel_text, chosen))


def _contents(files: Mapping[str, list[Any] | Path], scratch: Path) -> dict[str, Content]:
    """The files of a backend; those in the folder that is emptied afterwards can be moved."""
    return {n: Made(c) if isinstance(c, Path) and scratch in c.parents else c for n, c in files.items()}


def _digests(files: Mapping[str, Content]) -> dict[str, str]:
    """The SHA-256 of the files that are written already, by name: weights."""
    result: dict[str, str] = {}
    for name, content in files.items():
        if isinstance(content, Made):
            with open(content.path, "rb") as file:
                result[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return result


_STEPS = 4
"""The steps of a network with states that a test bench takes."""


def _samples(
    source: Module, weightless: Module, entry: str, function: HostFunction, lengths: Mapping[Symbol, int]
) -> list[Sample]:
    """The values that `irtool run` draws for an entry's parameters with its first seed, and the interpreter's results; of a network with
    states, those of the first steps, each with a seed of its own."""
    from ..interp.evaluate import evaluate
    from ..interp.random_inputs import random_inputs, random_tensors

    _refuse_to_evaluate(function, lengths)
    if function.states:
        return _samples_of_steps(source, weightless, entry, function, lengths)
    if lengths:
        from ..infer.lengths import with_lengths

        source = with_lengths(source, lengths)
    main, written = source[entry], weightless[entry]
    indices = {p.name: n for n, p in enumerate(written.params)}
    if function.values is not None:
        inputs = random_inputs(main, 0, source, indices)
        return [sample_of_values(function, inputs, lambda values: evaluate(source, values, entry=entry))]
    tensors = random_tensors(main, 0, source, indices)
    return [_sample(tensors, function, lambda values: evaluate(source, values, entry=entry))]


def _samples_of_steps(
    source: Module, weightless: Module, entry: str, function: HostFunction, lengths: Mapping[Symbol, int]
) -> list[Sample]:
    """The samples of a network with states: of its first steps, as many as its states have room for."""
    from ..infer.lengths import with_lengths
    from ..interp.random_inputs import random_inputs, random_tensors
    from ..interp.steps import Positions, Steps
    from ..ir.tensor_names import state_outputs

    steps, positions = Steps(source, entry), Positions(source[entry])
    states = {p.name for p in state_outputs(source[entry])}
    indices = {p.name: n for n, p in enumerate(weightless[entry].params)}
    samples: list[Sample] = []
    for seed in range(_STEPS):
        here = {**lengths, **positions.values}
        if samples and positions.are_full(here):
            break
        module = with_lengths(source, here) if here else source
        main = module[entry]
        if function.values is not None:
            values = zip(main.params, random_inputs(main, seed, module, indices), strict=True)
            sample = sample_of_values(function, [v for p, v in values if p.name not in states], steps.step)
        else:
            drawn = iter(random_tensors(main, seed, module, indices))
            tensors = [t for p in main.params for t in _of_param(p, drawn) if p.name not in states]
            sample = _sample(tensors, function, steps.step)
        samples.append(replace(sample, positions=dict(positions.values), is_first=not samples))
        positions.advance(here)
    return samples


def _of_param(p: Var, tensors: Iterator[RandomTensor]) -> list[RandomTensor]:
    """The tensors of a parameter, taken from those of all."""
    return list(islice(tensors, len(list(tuple_leaves(p.known_type)))))


def _sample(tensors: Sequence[RandomTensor], function: HostFunction, run: Callable[[Sequence[Any]], Any]) -> Sample:
    """These inputs with the outputs of `run`."""
    import numpy as np

    arrays = [t.values() for t in tensors]
    leaves = iter(arrays)
    values = [_nested(s, leaves) for s in function.param_structures]
    outputs: list[Any] = []
    stack = [run(values)]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple | list):
            stack.extend(reversed(v))
        else:
            array = np.asarray(v)
            half = array.dtype.itemsize == 2 and array.dtype.kind not in "iu"
            outputs.append(array.astype("float32") if half else array)
    return Sample([_draw(t) or array for t, array in zip(tensors, arrays, strict=True)], outputs)


def _draw(t: RandomTensor) -> Draw | None:
    """The draw of a tensor; None if elements depend on each other, and for whole numbers of more than 32 bits."""
    evenly = t.range
    if evenly is None or (evenly.whole and evenly.high - evenly.low > 1 << 32):
        return None
    return Draw(t.seed, evenly.low, evenly.high, evenly.whole)


def _refuse_to_evaluate(function: HostFunction, lengths: Mapping[Symbol, int]) -> None:
    """Raises IrError if the interpreter would need more memory for these lengths than this machine has."""

    def size(nbytes: int) -> int:
        known = all(s in lengths for s in symbols_of([nbytes]))
        return int(value_at(nbytes, lengths)) if known else bound(nbytes)

    needed = sum(map(size, (function.live_bytes, *(s.nbytes for s in (*function.params, *function.results)))))
    if not hasattr(os, "sysconf"):
        return
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > have:
        raise IrError(f"the test bench needs the interpreter's results, {needed} bytes; this machine has {have}")


def _nested(structure: Any, leaves: Iterator[Any]) -> Any:
    """The value of a parameter, from its tensors."""
    return next(leaves) if structure is None else tuple(_nested(s, leaves) for s in structure)
