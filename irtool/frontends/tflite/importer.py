"""From a model of TensorFlow Lite to a module of Relay, with `@main` and its parameters."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...diagnostics import Diagnostic, IrError, UsageError, nearest
from ...gc_tuning import rare_collections
from ...infer import infer_afresh
from ...ir import Expr, Function, Module, TensorType, Tuple, Var, post_order
from ...ir.conversion import fit
from ...ir.tensor_names import INPUTS, OUTPUTS, STATES
from ..onnx.failures import collected
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from ..onnx.names import RelayNames
from ..onnx.program import Functions
from ..onnx.value import Value, parameter_array
from .constants import constant_array, has_form
from .graph import Failures, GraphImporter
from .model import Model, Tensor
from .read import read_model
from .states import States
from .support import names_of, require_support

if TYPE_CHECKING:
    import numpy as np

Imported = tuple[Module, dict[str, "np.ndarray"]]
"""A module and its weights."""


def from_tflite(
    model: str | os.PathLike[str] | bytes | Any,
    shapes: Mapping[str, Sequence[int]] | None = None,
    constants: bool = False,
    values: Mapping[str, np.ndarray] | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[Diagnostic], None] | None = None,
) -> Imported:
    """The module of a TensorFlow Lite model, and the values of those parameters of `@main` that are weights.

    `model` is a path, an open file, the bytes of one, or what `read_model` made of one. `shapes` gives other shapes for inputs, by name; else
    the shapes are those in the file, in which open extents are 1. `values` gives inputs that become constants. Constants of the file are
    parameters, but for single numbers and small integers, or constants in the text with `constants`. Variables are states: parameters with a
    value for the next call.

    Raises IrError with everything that has no form in Relay, or is damaged; UsageError for a shape of an unknown input, and where the
    packages `tflite` or `flatbuffers` are missing.
    """
    messages: list[Diagnostic] = []
    try:
        with rare_collections():
            read = read_model(model)
            require_support(read)
            importer = _Importer(read, shapes or {}, constants, values or {}, progress, say or messages.append)
            return importer.run()
    finally:
        for d in messages:
            warnings.warn("\n".join((str(d), *d.notes, d.help)), stacklevel=2)


def model_inputs(model: Model) -> dict[str, Tensor]:
    """The inputs by name. Raises IrError if two have one name."""
    graph = model.subgraphs[0]
    by_name: dict[str, Tensor] = {}
    for i in graph.inputs:
        tensor = graph.tensors[i]
        if tensor.name in by_name:
            raise IrError(f"two inputs are called {tensor.name}", filename=model.name, code=DamagedModel)
        by_name[tensor.name] = tensor
    return by_name


def relay_names(model: Model) -> dict[str, str]:
    """The names of the parameters of `@main` that are inputs, by their names in the model."""
    names = RelayNames()
    return {name: names.of(name) for name in model_inputs(model)}


_SMALL = 4096
"""Elements up to which a tensor of int32 or int64 is a constant: it is most likely a shape, axes, or indices."""


class _Importer:
    def __init__(
        self,
        model: Model,
        shapes: Mapping[str, Sequence[int]],
        constants: bool,
        values: Mapping[str, np.ndarray],
        progress: Callable[[int, int], None] | None,
        say: Callable[[Diagnostic], None],
    ) -> None:
        self.model, self.constants, self.progress, self.say = model, constants, progress, say
        self.names = RelayNames()
        self.inputs = model_inputs(model)
        self.types = {name: self._type(t, shapes) for name, t in self.inputs.items()}
        for name in (*shapes, *values):
            if name not in self.inputs:
                raise UsageError(f"the model has no input {name}", help=nearest(name, self.inputs))
        self.values = {n: fit(a, self.types[n], n) for n, a in values.items()}
        self.weights: dict[Var, np.ndarray] = {}
        self.done = 0

    def _type(self, tensor: Tensor, shapes: Mapping[str, Sequence[int]]) -> TensorType:
        if not has_form(tensor.dtype):
            message = f"the input {tensor.name} is of {tensor.dtype}, which Relay does not have"
            raise IrError(message, filename=self.model.name, code=UnsupportedNode)
        shape = tuple(shapes.get(tensor.name, tensor.shape))
        fixed = [d for i, d in enumerate(tensor.shape) if i not in tensor.open_axes]
        if len(shape) != len(tensor.shape) or fixed != [d for i, d in enumerate(shape) if i not in tensor.open_axes]:
            declared = tuple("?" if i in tensor.open_axes else d for i, d in enumerate(tensor.shape))
            raise UsageError(f"the input {tensor.name} has the shape {declared}, which {shape} does not fit")
        return TensorType(shape, "int8" if tensor.dtype == "int4" else tensor.dtype)

    def run(self) -> Imported:
        graph = self.model.subgraphs[0]
        failures: Failures = []
        functions = Functions()
        bound: dict[int, Value] = {}
        params: dict[str, Var] = {}
        for name, tensor in self.inputs.items():
            relay_name, t = self.names.of(name), self.types[name]
            if name in self.values:
                bound[tensor.index] = Value.constant(self.values[name], t.dtype)
            else:
                params[name] = Var(relay_name, t, None, t)
                bound[tensor.index] = Value(params[name])
        bound.update({t.index: self._constant(t) for t in graph.tensors if self._is_weight(t, bound)})
        states = States(self.names)
        importer = GraphImporter(self.model, graph, failures, functions, states, self._step)
        results = importer.convert(bound)
        if failures:
            raise IrError(collected(failures, self.model.name, "operators", names_of))
        outputs = [v.expr for v in results if v is not None]
        if not outputs:
            raise IrError("the model has no outputs", filename=self.model.name, code=DamagedModel)
        variables = list(states.all.values())
        names = [graph.tensors[i].name for i in graph.outputs] + [f"{s.param.name}_next" for s in variables]
        outputs += [s.value.expr for s in variables]
        body: Expr = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
        used = {e for e in post_order(body) if isinstance(e, Var)}
        weights = [v for v in self.weights if v in used]
        attrs: dict[str, Any] = {OUTPUTS: names}
        if any(name != p.name for name, p in params.items()):
            attrs[INPUTS] = [*params, *(s.param.name for s in variables)]
        if variables:
            attrs[STATES] = [-1] * len(params) + [len(outputs) - len(variables) + i for i in range(len(variables))]
        main = Function((*params.values(), *(s.param for s in variables), *weights), body, attrs=attrs)
        module = infer_afresh(Module({"main": main, **functions.used_by(body, main.params)}))
        values = {v.name: parameter_array(v, self.weights[v]) for v in weights}
        values |= {s.param.name: s.first for s in variables if s.first.any()}
        return module, values

    def _is_weight(self, tensor: Tensor, bound: Mapping[int, Value]) -> bool:
        """True for a constant that may be a parameter; others are made where an operator wants them."""
        if tensor.data is None or tensor.index in bound or self.constants:
            return False
        count = math.prod(tensor.shape)
        if not has_form(tensor.dtype) or count <= 1:
            return False
        return count > _SMALL or tensor.dtype not in ("int32", "int64", "bool")

    def _constant(self, tensor: Tensor) -> Value:
        """A weight: a parameter with known elements."""
        try:
            array, dtype = constant_array(tensor)
        except IrError as error:
            raise IrError([replace(d, filename=self.model.name) for d in error.diagnostics]) from None
        t = TensorType(tensor.shape, dtype)
        var = Var(self.names.of(tensor.name), t, None, t)
        self.weights[var] = array
        return Value(var, array, parameter=True)

    def _step(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, len(self.model.subgraphs[0].operators))
