"""Builds of one network: the passes run once, the schedule once for each stage or strategy that is switched off."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.backends.base import Request, Sample, Sources
from irtool.driver.artifact import Artifact
from irtool.driver.denormals import flush_constants
from irtool.driver.options import choose_options
from irtool.driver.parameters import bind_weights
from irtool.driver.precision import EXACT, lower_precision
from irtool.driver.prepare import prepare_entries
from irtool.driver.report import make_report
from irtool.driver.stages import run_stages
from irtool.infer import require_types
from irtool.ir import Module
from irtool.passes import run_passes
from irtool.schedule import SCHEDULE, strategies, without
from irtool.schedule.scripts.tuned import noting
from irtool.schedule.strategies.base import choose_strategy

from .changes import Changes

_NAME, _ENTRY = "model", "main"


def switches() -> list[str]:
    """The names of all stages of a program, in order, then of all strategies."""
    return [s.name for s in SCHEDULE] + [cls.name for cls in strategies]


@dataclass
class Build:
    """A scheduled network, written as C.

    Attributes:
        digest: of the code and weights; builds that run alike have equal ones.
        report: the build report.
        c_bytes: of all C files.
        active: the stages that changed the program, and the strategies that some stage of some kernel got, those of stages that
            one stage is made of included.
    """

    digest: str
    report: dict[str, Any]
    c_bytes: int
    active: set[str]
    _sources: Sources
    _request: Request
    _backend: Any
    _resources: ExitStack
    _folder: tempfile.TemporaryDirectory[str]

    def compile(self) -> Artifact:
        """The network as a library. Raises ToolError if the compiler refuses it."""
        folder = Path(self._folder.name)
        self._backend.build(self._sources, replace(self._request, emit="so"), folder)
        weights = folder / self._sources.weights if self._sources.weights else None
        entries = {e.function.name: e.function for e in self._sources.entries}
        return Artifact(_NAME, entries, [], self.report, folder / f"{_NAME}.so", weights, self)

    def close(self) -> None:
        """Removes its files."""
        self._resources.close()
        self._folder.cleanup()


class Builder:
    """Schedules one module in one precision. `inputs` are its inputs, for one thread, in the order of the parameters without a weight."""

    def __init__(
        self, module: Module, weights: Mapping[str, Any], inputs: Sequence[Any], precision: str = EXACT
    ) -> None:
        names = [p.name for p in module[_ENTRY].params if p.name not in weights]
        self.inputs = dict(zip(names, inputs, strict=True))
        self._options = options = choose_options(
            "c", ({}, {"mcpu": "native"}), name=_NAME, entries=(_ENTRY,), emit="c", precision=precision
        )
        source = require_types(bind_weights(module, weights, options.entries), options.entries)
        if precision != EXACT:
            source = lower_precision(source, precision, options.entries, partial(run_passes, opt_level=3)).module
        self._prepared = prepare_entries(source, options)

    @staticmethod
    def of_onnx(model: Path, precision: str = EXACT) -> Builder:
        """That of an ONNX file, with inputs in the `.npz` beside it."""
        inputs = dict(np.load(model.with_suffix(".npz")))
        module, weights = irtool.from_onnx(model, shapes={n: a.shape for n, a in inputs.items()})
        return Builder(module, weights, list(inputs.values()), precision)

    def build(self, off: Sequence[str] = ()) -> Build:
        """The network with these stages and strategies switched off; `active` is that of a build with all. Raises whatever scheduling
        raises."""
        folder, resources = tempfile.TemporaryDirectory(), ExitStack()
        backend, changes = self._options.backend, Changes()
        watching = () if off else (changes,)
        with without(*off):
            with noting() as stages:
                program = run_stages(self._prepared, (_ENTRY,), backend.machine(), watching)
            active = changes.stages | {choose_strategy(s)[0].name for s in (() if off else tuple(stages))}
        flush_constants(program)
        request = Request(_NAME, "c", _no_sample, Path(folder.name), resources)
        sources = backend.emit(program, request)
        digest, c_bytes = _read(sources, Path(folder.name))
        report = make_report(program, _NAME, sources)
        return Build(digest, report, c_bytes, active, sources, request, backend, resources, folder)


def _read(sources: Sources, folder: Path) -> tuple[str, int]:
    """A digest of all files but headers, which say of the code how large it is, and the size of those in C."""
    digest, c_bytes = hashlib.sha256(), 0
    for name, content in sorted({**sources.files, **sources.units}.items()):
        if name.endswith(".h"):
            continue
        digest.update(name.encode())
        if isinstance(content, Path):
            with content.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
            continue
        for part in content:
            digest.update(part)
            c_bytes += memoryview(part).nbytes if name.endswith(".c") else 0
    return digest.hexdigest(), c_bytes


def _no_sample(function: Any) -> Sample:
    raise AssertionError("there is no test bench")
