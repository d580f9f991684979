"""An ONNX model as the input of a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .param_facts import ParamFacts, digest
from .progress import progress_bar

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Module


@dataclass(frozen=True)
class OnnxInput:
    """A model in a file, or in `data` where it came through a pipe; with `training`, imported for a training step."""

    name: str
    data: bytes | None = None
    training: bool = False

    @property
    def has_weights(self) -> bool:
        """True: initializers are parameters with values."""
        return True

    def key(self) -> object:
        """The bytes of the model, of the files beside it, and the package that reads it."""
        import hashlib
        from importlib import metadata

        content = digest(self.name) if self.data is None else hashlib.sha256(self.data).hexdigest()
        files = []
        if self.data is None and _has_files(self.name, content):
            from ..frontends.onnx.external_files import external_files

            files = [(path, digest(path)) for path in external_files(self.load())]
        try:
            version = metadata.version("onnx")
        except metadata.PackageNotFoundError:  # a package without metadata, or none, which is an error
            from ..frontends.onnx.package import onnx_package

            version = onnx_package().__version__
        return self.name, self.training, content, files, version

    def load(self) -> Any:
        """The model as the front end sees it. Raises IrError if the file is no model."""
        from ..frontends.onnx.load import load_model
        from ..frontends.onnx.read import read_model

        return read_model(*load_model(self.name if self.data is None else self.data, self.name))

    def examine(
        self, param_facts: ParamFacts, is_settled: bool = False
    ) -> tuple[Module, ParamFacts, Sequence[Diagnostic]]:
        """See `InputModule`. What `--params` has for inputs is there while the model is imported, so that it can decide shapes."""
        from ..frontends.onnx.batches import batch_of_one
        from ..frontends.onnx.importer import attempt_of, conversion_with, from_onnx
        from ..frontends.onnx.inputs import check_given, default_inputs, graph_inputs, relay_names, with_formulas
        from ..frontends.onnx.shape_suggestions import require_extents
        from ..parser.params import ParameterFile

        model = self.load()
        inputs = graph_inputs(model)
        names = relay_names(inputs)
        defaults = default_inputs(model)
        known = _Known(param_facts, names, inputs, defaults)
        check_given(model, known.shapes, param_facts.dims)
        param_facts = replace(param_facts, dims=with_formulas(model, param_facts.dims))
        diagnostics: list[Diagnostic] = []
        if is_settled:
            known.shapes |= batch_of_one(model, known.shapes, param_facts.dims, known.values, diagnostics.append)
            convert = conversion_with(known.shapes, param_facts.dims, known.values)
            require_extents(
                model, known.shapes, param_facts.dims, known.values, attempt_of(model, known.values), convert
            )
        with progress_bar("importing") as step:
            module, weights = from_onnx(
                model,
                known.shapes,
                param_facts.dims,
                values=known.values,
                progress=step,
                say=diagnostics.append,
                open_extents=not is_settled,
                training=self.training,
            )
        # arrays of inputs take the place of defaults
        anew = known.other_weights.keys() | {n for n in param_facts.values if n in defaults}
        merged = ParameterFile(self.name, {n: a for n, a in weights.items() if n not in anew})
        merged.join(known.other_weights)
        shapes = {names.get(n, n): s for n, s in known.shapes.items() if n not in known.values}
        return module, replace(param_facts, shapes=shapes, bound=merged, names=names), diagnostics


class _Known:
    """Facts about a model's parameters from a command line, by the model's names.

    Attributes:
        values: of inputs that become constants.
        other_weights: the other weights that are given.
        shapes: of inputs: those given, and those of arrays where the model leaves the shape open and the run does not decide it.
    """

    def __init__(
        self, param_facts: ParamFacts, names: Mapping[str, str], inputs: Mapping[str, Any], defaults: Mapping[str, Any]
    ) -> None:
        from ..frontends.onnx.inputs import is_open, with_lengths
        from ..parser.params import ParameterFile

        own = {relay: name for name, relay in names.items()}
        self.values: dict[str, Any] = {}
        self.other_weights = ParameterFile()
        for name, array in param_facts.weights.items():
            input = name if name in inputs else own.get(name)
            if input is None and name in defaults:
                input = name
            if input is not None:
                self.values[input] = array
            else:
                self.other_weights.join(ParameterFile(param_facts.weights.origins[name], {name: array}))
        self.shapes = {own.get(n, n) if n not in inputs else n: s for n, s in param_facts.shapes.items()}
        for name, array in param_facts.values.items():
            input = name if name in inputs else own.get(name, "")
            if input in inputs and is_open(inputs[input]):
                shape = with_lengths(inputs[input], tuple(getattr(array, "shape", ())), param_facts.dims)
                self.shapes.setdefault(input, shape)


def _has_files(path: str, content: str) -> bool:
    """True if a model, `content` its digest, may keep weights in files beside it. Searching it takes as long as hashing it: the answer
    is kept."""
    from ..driver.cache_folder import CachedTexts

    texts, key = CachedTexts(), ("files beside", content)
    answer = texts.read(*key) if content else None
    if answer is None:
        answer = "yes" if _contains(path, b"location") else "no"  # the key of a file beside the model
        if content:
            texts.write(answer, *key)
    return answer == "yes"


def _contains(path: str, word: bytes) -> bool:
    """True if the file has these bytes, or cannot be searched: looking takes a tenth of the time of parsing a model."""
    import mmap

    from ..files import open_file

    try:
        with open_file(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(word) >= 0
    except (OSError, ValueError):
        return True
