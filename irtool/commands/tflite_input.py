"""A TensorFlow Lite model as the input of a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .mistakes import ClashingOptions
from .param_facts import ParamFacts
from .progress import progress_bar

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Module


@dataclass(frozen=True)
class TfliteInput:
    """A model: the bytes of its file."""

    name: str
    data: bytes

    @property
    def has_weights(self) -> bool:
        """True: constants of the file are parameters with values."""
        return True

    def key(self) -> object:
        """The bytes of the model, and the package that reads it."""
        import hashlib
        from importlib import metadata

        self.load()  # which says that the package is missing, where it is
        return self.name, hashlib.sha256(self.data).hexdigest(), metadata.version("tflite")

    def load(self) -> Any:
        """The model as the front end sees it. Raises IrError if the file is no model."""
        from ..frontends.tflite.read import read_model

        return read_model(self.data, self.name)

    def examine(
        self, param_facts: ParamFacts, is_settled: bool = False
    ) -> tuple[Module, ParamFacts, Sequence[Diagnostic]]:
        """See `InputModule`. Arrays of `--inputs` give inputs their shapes where the model leaves extents open; an input with an array in
        `--params` is a constant."""
        from ..diagnostics import UsageError
        from ..frontends.tflite.importer import from_tflite, model_inputs, relay_names
        from ..parser.params import ParameterFile

        if param_facts.dims:
            raise UsageError(
                "dimensions of TensorFlow Lite models have no names",
                help="give --shape in place of --dim",
                code=ClashingOptions,
            )
        model = self.load()
        inputs, names = model_inputs(model), relay_names(model)
        own = {relay: name for name, relay in names.items()}
        shapes = {own.get(n, n) if n not in inputs else n: s for n, s in param_facts.shapes.items()}
        for name, array in param_facts.values.items():
            input = name if name in inputs else own.get(name)
            if input is not None and inputs[input].open_axes:
                shapes.setdefault(input, tuple(getattr(array, "shape", ())))
        fixed, others = {}, ParameterFile()
        for name, array in param_facts.weights.items():
            input = name if name in inputs else own.get(name)
            if input is not None:
                fixed[input] = array
            else:
                others.join(ParameterFile(param_facts.weights.origins[name], {name: array}))
        diagnostics: list[Diagnostic] = []
        with progress_bar("importing") as step:
            module, weights = from_tflite(model, shapes, values=fixed, progress=step, say=diagnostics.append)
        merged = ParameterFile(self.name, {n: a for n, a in weights.items() if n not in others})
        merged.join(others)
        shapes = {names.get(n, n): s for n, s in shapes.items() if n not in fixed}
        return module, replace(param_facts, shapes=shapes, bound=merged, names=names), diagnostics
