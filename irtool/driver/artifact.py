"""The result of a build."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import IrError, UsageError, nearest
from ..hooks import Hook
from ..tir.program import HostFunction
from .serving import Serving
from .signature import Signature

if TYPE_CHECKING:
    from ..backends.base import Runnable
    from .instance import Instance
    from .specialize import Special

_graph_executor: Hook[[Artifact], Any] = Hook("driver.graph_executor")
_save: Hook[[Artifact, str | os.PathLike[str]], list[str]] = Hook("driver.save")
_contents: Hook[[Artifact], dict[str, bytes]] = Hook("driver.contents")
_unpack: Hook[[Mapping[str, bytes]], Artifact] = Hook("driver.unpack")


class Artifact:
    """A compiled module.

    Attributes:
        files: paths of everything written, in order.
        report: the build as a dict: kernels, arena, weights, sizes.
        arena_bytes: workspace of one run, in bytes.
    """

    def __init__(
        self,
        name: str,
        entries: Mapping[str, HostFunction],
        files: Sequence[Path],
        report: dict[str, Any],
        library: Path | None,
        weights: Path | None,
        holder: Any = None,
        backend: str = "c",
    ) -> None:
        self.name = name
        self.files = [str(f) for f in files]
        self.report = report
        self.arena_bytes: int = report["arena_bytes"]
        self._entries = entries
        self._signatures: dict[str, Signature] = {}
        self._plain_runs: dict[str, Callable[[Sequence[Any] | Mapping[str, Any]], Any]] = {}
        """The runs of entries on tensors without lengths, states and programs, which have nothing to look up."""
        self._library_path = library
        self._weights = weights
        self._backend = backend
        self._is_plain: bool | None = None
        self._serving: Serving | None = None
        self._loading = threading.Lock()
        self._specializer: Any = None
        self._holder = holder
        """Keeps a temporary folder alive for as long as the artifact."""
        self._program: Path | None = None
        """The program that reads and writes raw files, where one was built."""
        self._counter: list[str] | None = None
        """Gets what a program for a board prints of the instructions that it counts; None if it counts none."""
        self.time_limit: float | None = None
        """Seconds after which a run of the program is ended; None: no limit, on a board 120."""
        self.prepared: Any = None
        """The module after its passes; None if the build came from the cache or was loaded."""
        self.cached = False
        """True for an earlier build of the same module, found in the cache."""
        self.key = ""
        """The name of this build in the user's cache; empty if it is not there."""
        self._graph_folder: Path | None = None
        """The folder that holds the graph and its constants."""

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Name, shape, dtype and bytes of each input tensor of the first entry."""
        return self.report.get("inputs", [])

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """Name, shape, dtype and bytes of each output tensor of the first entry."""
        return self.report.get("outputs", [])

    @property
    def region_used(self) -> int:
        """The most bytes of the region for data and recursion that a run of this artifact used at one time, so far: a `region_size` that
        its runs fit in. 0 for a network without a region, before a run, and for a program."""
        return 0 if self._serving is None else self._serving.region_used

    def graph_json(self) -> str:
        """The graph for TVM's graph executor. Raises IrError for a network that is not straight-line code, or a graph that was not kept."""
        if self._graph_folder is not None:
            return (self._graph_folder / f"{self.name}.graph.json").read_text(encoding="utf-8")
        from .graph import graph_json

        return graph_json(self._module(), next(iter(self._entries)))

    def params(self) -> dict[str, Any]:
        """The constants of that graph, after the passes, by their names in it: `p0`, `p1`, …. Raises as `graph_json` does."""
        if self._graph_folder is not None:
            from ..parser.params import read_params

            return dict(read_params(self._graph_folder / f"{self.name}.params"))
        from .graph import graph_constants

        return graph_constants(self._module(), next(iter(self._entries)))

    get_graph_json = graph_json
    get_params = params

    def __getitem__(self, name: str) -> Any:
        """`lib["default"](device)`, as TVM's scripts make the module that a graph executor runs; see `relay.tvm.contrib`."""
        if name not in ("default", self.name):
            raise KeyError(f'a build has one factory: lib["default"], not lib[{name!r}]')
        return _graph_executor(self)

    def __getattr__(self, name: str) -> Any:
        """Raises an AttributeError that names the counterpart of a name of TVM's."""
        from ..ir.tvm_names import missing_attribute

        raise missing_attribute(self, name)

    def function_metadata(self) -> dict[str, Any]:
        """Inputs and outputs of each function, and the bytes of its workspace, inputs, outputs and constants."""
        return {
            name: {
                "inputs": about["inputs"],
                "outputs": about["outputs"],
                "workspace_bytes": about["frame_bytes"],
                "io_bytes": sum(t["bytes"] for t in (*about["inputs"], *about["outputs"])),
                "constant_bytes": self.report["weight_bytes"],
            }
            for name, about in self.report.get("entries", {}).items()
        }

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes the library, its weights and their description into a folder that `irtool.load` opens in any process.

        Returns the paths written. Raises IrError for a build without a library, and for one whose shapes depend on inputs.
        """
        return _save(self, folder)

    def __reduce__(self) -> Any:
        """Pickled, an artifact carries its files and needs nothing else. Raises as `save` does."""
        return _unpack.get(), (_contents(self),)

    def _repr_html_(self) -> str:
        """Tables, for notebooks."""
        from .html import to_html

        return to_html(self.name, self.report)

    def __repr__(self) -> str:
        takes = ", ".join(f"{t['name']}: {_shown(t)}" for t in self.inputs)
        gives = ", ".join(map(_shown, self.outputs))
        return (
            f"<Artifact {self.name}({takes}) -> {gives}>"
            if self._entries
            else f"<Artifact {self.name}, compiled when it runs>"
        )

    def _module(self) -> Any:
        if self.prepared is None:
            raise IrError("the module of this build was not kept: the build was loaded or came from the cache")
        return self.prepared

    @classmethod
    def deferred(cls, name: str, specializer: Any, reason: str) -> Artifact:
        """An artifact that compiles when it runs, for the shapes or values of its inputs; `reason` says why."""
        artifact = cls(name, {}, [], {"arena_bytes": 0, "kernels": [], "warnings": [reason]}, None, None)
        artifact._specializer = specializer
        return artifact

    def run(
        self,
        inputs: Sequence[Any] | Mapping[str, Any] = (),
        entry: str = "",
        runner: Sequence[str] = (),
        **named: Any,
    ) -> Any:
        """Runs an entry (the first one, unless it is named): one value per runtime input, in order or by name. Any number of threads
        may call it at once; each run has a workspace of its own, which later runs use again.

        Names are those of the parameters, or of the inputs in the model that the module was made from; where they are
        identifiers, `run(x=…, y=…)` says the same as `run({"x": …, "y": …})`.

        Returns what the interpreter does: an array, or a tuple of values. Inputs are taken by the interpreter's rule: an array
        of another dtype is converted where that loses nothing, with a ConversionWarning (see `ir.conversion`). Of a network with
        states, it is the first step of a new instance.

        Raises IrError for a wrong number, shape or dtype of inputs; ToolError where the library cannot be loaded or fails. Of
        a build with `emit="exe"`, the program is run, in a process of its own; `runner` is put before the program, as words: an
        emulator, or what takes it to a device.
        """
        if named:
            inputs = self._joined(inputs, named)
        plain = self._plain_runs.get(entry)
        if plain is not None and not runner:
            return plain(inputs)
        if self._specializer is not None:
            return self._specializer.run(inputs, runner)
        name, entry = entry, entry or next(iter(self._entries))
        if entry not in self._entries:
            raise UsageError(f"this build has no entry function @{entry}", help=nearest(entry, self._entries))
        signature = self._signatures.get(entry)
        if signature is None:
            signature = self._signatures[entry] = Signature(entry, self._entries[entry])
        if self._program is not None and entry == next(iter(self._entries)):
            return self._run_program(self._program, signature, inputs, runner)
        if runner:
            raise UsageError("a runner runs programs, and this build has none", help="build with emit=exe")
        if self._entries[entry].states:
            return self.instance().step(inputs)
        serving = self._serving or self._load()
        if signature.values is not None:
            arrays, outputs, lengths, memory = signature.call_on_values(inputs)
            address = memory.open(self.arena_bytes)  # the region, in which the results lie, is a part of it
            serving.run(arrays, outputs, self.report["entries"][entry], lengths, address)
            return signature.result(outputs, memory)
        if signature.lengths is not None:
            arrays, outputs, lengths = signature.call(inputs)
            serving.run(arrays, outputs, self.report["entries"][entry], lengths)
            return signature.result(outputs)
        plain = self._plain_runs[name] = _plain_run(signature, serving, self.report["entries"][entry])
        return plain(inputs)

    def exact_inputs(self, values: Mapping[str, Any]) -> list[Any] | None:
        """The inputs of the first entry in order, if these are all of them, arrays of their shapes and dtypes. None where some are missing,
        would be converted, or are no tensors, and for networks with lengths or states."""
        if not self._entries:
            return None
        f = next(iter(self._entries.values()))
        is_plain = f.values is None and not f.states and all(form is None for form in f.param_structures)
        if not is_plain or values.keys() != {s.name for s in f.params}:
            return None
        arrays = [values[s.name] for s in f.params]
        fits = all((str(a.dtype), a.shape) == (s.dtype, tuple(s.shape)) for a, s in zip(arrays, f.params, strict=True))
        return arrays if fits else None

    def instance(self) -> Instance:
        """A new instance of a network with states (`build(states=…)`): its steps go on from each other. Any number of them share the
        weights. Raises UsageError for a network without states, and as `run` does."""
        from .instance import Instance

        entry = next(iter(self._entries), "")
        if not entry or not self._entries[entry].states:
            raise UsageError("this build has no states", help='build(module, states={"h": "h_out"})')
        signature = self._signatures.get(entry)
        if signature is None:
            signature = self._signatures[entry] = Signature(entry, self._entries[entry])
        return Instance(
            self._serving or self._load(), signature, self.report, self.report["entries"][entry]["run_with"]
        )

    @staticmethod
    def _joined(inputs: Sequence[Any] | Mapping[str, Any], named: dict[str, Any]) -> Mapping[str, Any]:
        """Inputs given by name in both ways. Raises UsageError if others are given by their order."""
        if not isinstance(inputs, Mapping):
            if len(inputs):
                raise UsageError("inputs are given in order and by name", help="give all by name, or all in order")
            return named
        twice = [n for n in named if n in inputs]
        if twice:
            raise UsageError(f"the input {twice[0]} is given twice")
        return {**inputs, **named}

    def specialized(self, inputs: Sequence[Any]) -> Special:
        """The artifact for these inputs, with the inputs that it takes: this one, unless it is compiled when it runs."""
        from .specialize import Special

        if self._specializer is None:
            return Special(self, list(inputs), [], None)
        special: Special = self._specializer.special(inputs)
        return special

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """`run` of the first entry: inputs in order, or by name. Raises as `run` does, and UsageError for both ways at once."""
        if inputs and named:
            raise UsageError("inputs are given in order or by name, not both")
        return self.run(named or inputs)

    def _load(self) -> Serving:
        """Loads the library, if no other thread has meanwhile."""
        with self._loading:
            if self._serving is not None:
                return self._serving
            alone = [s for s in self.report.get("sanitize", ()) if s != "undefined"]
            if alone:
                raise UsageError(
                    f"a library with the {alone[0]} sanitizer cannot be loaded into Python", help="build with emit=exe"
                )
            if self._library_path is None:
                raise UsageError("this build has no library to run: it was built as sources only")
            region = self.report.get("region_bytes", 0)
            begin = self.report.get("region_begin", self.arena_bytes - region)
            noted = self.report.get("value_lengths", ())
            self._serving = Serving(self._opened(self._library_path), self.arena_bytes, region, begin, noted)
            return self._serving

    def _opened(self, library: Path) -> Runnable:
        """The library. A plain one is opened without its backend, which imports all that a build needs."""
        from ..backends.base import Backend, find_backend

        loader = Backend if self._is_plain else find_backend(self._backend)
        return loader.load(library, self.name, self._weights)

    @property
    def is_plain(self) -> bool:
        """True if the library is opened as any shared library is; False if only its backend can open it."""
        if self._is_plain is None:
            from ..backends.base import find_backend

            self._is_plain = self._library_path is not None and find_backend(self._backend).is_plain(self._library_path)
        return self._is_plain

    def _run_program(
        self, program: Path, signature: Signature, inputs: Sequence[Any] | Mapping[str, Any], runner: Sequence[str]
    ) -> Any:
        import numpy as np

        from ..backends.process import run_program

        stored: Sequence[tuple[Sequence[int], Any]] = signature.stored
        memory = signature.new_memory()
        arrays = signature.arrays(inputs) if memory is None else signature.arrays_of_values(inputs, memory)
        words: list[str] = []
        if signature.lengths is not None:
            lengths = signature.lengths.solve([a.shape for a in arrays])
            stored, words = signature.stored_at(lengths), list(map(str, lengths))
        if memory is not None and signature.takes_values:
            arrays = [memory.image(), *arrays]
        gives = memory is not None and signature.gives_values
        board = None
        if "board" in self.report and not runner:
            from ..boards.running import TIME_LIMIT, BoardRun

            limit = self.time_limit or TIME_LIMIT
            board = BoardRun(
                self.report, program, limit, self._counter is not None, [] if self._counter is None else self._counter
            )
        outputs = run_program(
            program, self._weights, arrays, len(stored) + gives, runner, words, board, self.time_limit
        )
        if memory is not None and gives:
            memory.replace(outputs.pop())
        arrays = [np.frombuffer(d, t) for d, (_, t) in zip(outputs, stored)]
        arrays = [a.reshape(s) if a.size == math.prod(s) else a for a, (s, _) in zip(arrays, stored)]
        return signature.result(arrays, memory if gives else None)


def _plain_run(
    signature: Signature, serving: Serving, entry: dict[str, Any]
) -> Callable[[Sequence[Any] | Mapping[str, Any]], Any]:
    """The run of an entry on tensors without lengths: a function of its inputs."""
    arrays, new_outputs, result, run = signature.arrays, signature.outputs, signature.result, serving.runner(entry)

    def plain(inputs: Sequence[Any] | Mapping[str, Any]) -> Any:
        tensors, outputs = arrays(inputs), new_outputs()
        run(tensors, outputs)
        return result(outputs)

    return plain


def _shown(tensor: Mapping[str, Any]) -> str:
    """A tensor of the report as `float32[seq, 64]`."""
    return f"{tensor['dtype']}[{', '.join(map(str, tensor['shape']))}]"
