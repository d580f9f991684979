"""From a model of ONNX to a module of Relay, with `@main` and its parameters."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...diagnostics import Diagnostic, IrError
from ...driver.extents import read_given
from ...gc_tuning import rare_collections
from ...infer import infer_afresh
from ...infer.equal_lengths import replaced, settle
from ...infer.named_extents import with_value_bounds
from ...ir import Expr, Function, Module, TensorType, Tuple, Var, post_order
from ...ir.expr import with_function
from ...ir.tensor_names import INPUT_DIMS, INPUT_SHAPES, INPUTS, OUTPUT_DIMS, OUTPUTS
from ...symbolic_int import Symbol, symbols_of, uncertain_equalities_kept
from .advice import advised, impossible_branch, waiting_nodes
from .calls import check_calls
from .elements import NARROW
from .failures import collected
from .graph import GraphImporter, Scope
from .groups import recognised
from .initializers import initializer_array, initializer_dtype, initializer_narrow, initializer_shape
from .inputs import check_values, counted_dims, default_inputs, input_types, open_names, relay_names, with_formulas
from .load import load_model
from .mistakes import DamagedModel, DrawnNumbers, NumberedLabels
from .model import Model, Node, names_of
from .names import RelayNames
from .packed_weights import Weights
from .program import Functions
from .ranks import Convert, with_ranks
from .read import read_model
from .shape_suggestions import Attempt
from .support import unsupported
from .value import Value, parameter_array

if TYPE_CHECKING:
    import numpy as np


def from_onnx(
    model: str | os.PathLike[str] | bytes | Any,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    dims: Mapping[str, int | str] | None = None,
    constants: bool = False,
    values: Mapping[str, np.ndarray] | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[Diagnostic], None] | None = None,
    open_extents: bool = False,
    training: bool = False,
) -> tuple[Module, dict[str, np.ndarray]]:
    """The module of an ONNX model, and the values of those parameters of `@main` that are weights.

    `model` is a path, an open file, the bytes of one, a ModelProto, an ONNXProgram of `torch.onnx.export`, or what `read_model` made of one. `shapes` gives the shapes of inputs
    by name, `dims` the extents of dimensions that have names in the model; an extent may be a length that the run decides, up to a bound:
    `{"seq": "<=512"}`, `{"x": ("batch<=8", 64)}`. What neither gives and the model leaves open is
    `?`, named by the attributes `input_dim_names` and `output_dim_names` of `@main`. Where a node needs an extent that is open, that
    is an error; with `open_extents` a call of `onnx.node` stands for the node until the extents are known. Inputs that `values` has are constants: so an input that decides shapes can be known.

    The parameters of `@main` are the inputs of the graph, then its initializers, as far as they are used; with `constants`
    initializers are constants in the text instead. Names are those of the model, with what Relay's names cannot have
    replaced by `_`; the attribute `output_tensor_names` of `@main` has those of the outputs, and `input_tensor_names` those of
    the inputs where one was replaced. `progress` is called with the
    number of nodes that are done, and of all, and `say` with warnings; without it these are warnings of Python. With `training`, batch
    normalizations and dropouts are `nn.batch_norm` and `nn.dropout` in any mode, for `irtool.training.train_step`, and weights of one
    element are parameters, too.

    Raises IrError with everything that has no form in Relay, or is damaged; UsageError for a shape of an unknown input, and where the package `onnx` is missing.
    """
    messages: list[Diagnostic] = []
    try:
        with rare_collections():
            if not isinstance(model, Model):
                model = read_model(*load_model(model))
            check_calls(model)
            missing = unsupported(model)
            if missing:
                raise IrError(missing)
            known_shapes, known_dims = read_given(shapes or {}, dims or {})
            known_dims = with_formulas(model, known_dims)
            values, say = values or {}, say or messages.append
            if open_extents:
                model = with_ranks(
                    model, {*known_shapes, *values}, conversion_with(known_shapes, known_dims, values), say
                )
            module, weights = _run(
                _Importer(
                    model, known_shapes, known_dims, constants, values, progress, say, open_extents, training=training
                )
            )
            return with_value_bounds(module, "main", counted_dims(model, known_dims))[0], weights
    finally:
        for d in messages:
            warnings.warn("\n".join((str(d), *d.notes, d.help)), stacklevel=2)


def _run(importer: _Importer) -> Imported:
    """The imported model. Where it needs lengths to be equal, it is imported again with these."""
    order = symbols_of(d for t in importer.types.values() for d in t.shape if isinstance(d, int))
    if not order:
        return importer.run()
    results: dict[_Importer, Imported | IrError] = {}

    def errors_in(tried: _Importer) -> list[Diagnostic]:
        with uncertain_equalities_kept():
            try:
                results[tried] = tried.run()
            except IrError as error:
                results[tried] = error
                if not tried.failures:
                    raise
        return [replace(d, span=n.place) for d, n in tried.failures]

    settled = settle(importer, _Importer.with_lengths, errors_in, order, importer.say)
    last, narrower = settled or (importer, {})
    importer.waiting = last.waiting
    result = results[last]
    if isinstance(result, IrError):
        raise result
    if settled is None:
        return result
    module, weights = result
    main = module["main"]
    inputs = [t.shape for name, t in importer.types.items() if name not in importer.values]
    rows = [*inputs, *(p.type_annotation.shape for p in main.params[len(inputs) :])]
    shapes = [[[replaced(d, narrower) for d in row]] for row in rows]
    return module.with_function("main", with_function(main, attrs={**main.attrs, INPUT_SHAPES: shapes})), weights


def attempt_of(model: Model, values: Mapping[str, np.ndarray]) -> Attempt:
    """A function that imports the model with other shapes, and these inputs as constants."""
    return lambda shapes: from_onnx(model, shapes, values=values, say=lambda d: None)


def conversion_with(
    shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int], values: Mapping[str, np.ndarray]
) -> Convert:
    """Imports of a model with given shapes and values, all else being open; each gives the nodes that wait for more."""

    def convert(model: Model) -> Mapping[Node, str]:
        importer = _Importer(model, shapes, dims, False, values, None, None, True)
        _run(importer)
        return importer.waiting

    return convert


Imported = tuple[Module, dict[str, "np.ndarray"]]
"""A module and its weights."""


class _Importer:
    def __init__(
        self,
        model: Model,
        shapes: Mapping[str, Sequence[int]],
        dims: Mapping[str, int],
        constants: bool,
        values: Mapping[str, np.ndarray],
        progress: Callable[[int, int], None] | None,
        say: Callable[[Diagnostic], None] | None,
        open_extents: bool,
        *,
        training: bool = False,
    ) -> None:
        self.training = training
        self.model = model
        self.constants = constants
        self.dims = dims
        self.failures: list[tuple[Diagnostic, Node]] = []
        self.names = RelayNames()
        self.types = input_types(model, shapes, dims)
        defaults = {name: self._default_type(name) for name in default_inputs(model) if name in values}
        self.values = check_values(values, self.types | defaults)
        self.given_anew = default_inputs(model) if model.ir_version >= _DEFAULTS else {}
        self.weights = Weights(self.names)
        self.done = 0
        self.progress = progress
        self.say = say
        self.open_extents = open_extents
        self.waiting: Mapping[Node, str] = {}
        """The nodes that wait for open extents, after `run`, with the reasons."""

    def with_lengths(self, extents: Mapping[Symbol, int]) -> _Importer:
        """An import in which lengths of the inputs are these extents."""
        other = copy(self)
        other.failures, other.names, other.done = [], RelayNames(), 0
        other.weights = Weights(other.names)
        other.types = {
            n: TensorType(tuple(replaced(d, extents) for d in t.shape), t.dtype) for n, t in self.types.items()
        }
        return other

    def run(self) -> Imported:
        graph = self.model.graph
        open_ = {name: t for name, t in self.types.items() if name not in self.values}
        names = relay_names(self.types, self.names)
        params = {name: Var(names[name], t, None, t) for name, t in open_.items()}
        scope = Scope()
        narrow = {i.name: NARROW.get(i.type.tensor_type.elem_type) for i in graph.inputs}
        scope.values.update({name: Value(v, narrow=narrow[name]) for name, v in params.items()})
        constants = {name: Value.constant(a, self._default_type(name).dtype) for name, a in self.values.items()}
        scope.values.update({name: replace(v, narrow=narrow[name]) for name, v in constants.items()})
        taken = self.types.keys() | self.values.keys()
        scope.values.update({n: self._initializer(p) for n, p in graph.initializers.items() if n not in taken})
        importer = GraphImporter(
            self.model, scope, self.model.opsets, self.failures, progress=self._step, may_wait=self.open_extents
        )
        importer.functions.training = self.training
        for i in graph.inputs:
            for axis, d in enumerate(i.type.tensor_type.shape.dim if i.name in params else ()):
                if d.dim_param:
                    importer.functions.symbols.name(params[i.name], axis, d.dim_param)
        results = importer.convert_nodes(graph.nodes, scope, [o.name for o in graph.outputs])
        types = {name: t for name, t in self.types.items() if name not in self.values}
        if self.failures:
            raise IrError(
                collected(
                    advised(self.failures, self.model, types, self._attempt, self.dims),
                    self.model.name,
                    "nodes",
                    names_of,
                )
            )
        outputs = [v.expr for v in results if v is not None]
        if not outputs:
            raise IrError("the graph has no outputs", filename=self.model.name, code=DamagedModel)
        body: Expr = outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))
        used = {e for e in post_order(body) if isinstance(e, Var)}
        weights = [v for v in self.weights if v in used]
        main = Function((*params.values(), *weights), body, attrs=self._own_names(params))
        main = recognised(main)
        module = infer_afresh(Module({"main": main, **importer.functions.used_by(body, main.params)}))
        self.waiting = importer.functions.waiting
        if self.say is not None:
            for d in self._notes(importer.functions, types):
                self.say(d)
        return module, {v.name: parameter_array(v, self.weights[v]) for v in weights}

    def _notes(self, functions: Functions, types: Mapping[str, TensorType]) -> Iterator[Diagnostic]:
        """Notes and warnings about the module."""
        if functions.waiting:
            yield waiting_nodes(functions.waiting, self.model, types, self._attempt, self.dims)
        for node, error in functions.impossible.items():
            yield impossible_branch(node, error, self.model)
        if functions.drawing:
            yield drawn_numbers(list(functions.drawing), self.model.name)
        yield from numbered_labels(functions.numbered, self.model.name)

    def _attempt(self, shapes: Mapping[str, Sequence[int]]) -> object:
        """Imports the model with these shapes: for examples in messages."""
        return _Importer(self.model, shapes, {}, self.constants, self.values, None, None, False).run()

    def _own_names(self, params: Mapping[str, Var]) -> dict[str, Any]:
        """The attributes with the names of the model; those of inputs only where Relay cannot have one."""
        graph = self.model.graph
        names = {OUTPUTS: [o.name for o in graph.outputs]}
        is_changed = any(name != p.name for name, p in params.items())
        result: dict[str, Any] = {INPUTS: list(params), **names} if is_changed else names
        protos = {i.name: i for i in graph.inputs}
        inputs = [open_names(protos[name], self.types[name].shape) for name in params]
        outputs = [open_names(o, None) for o in graph.outputs]
        still_open = {n for names in inputs for n in names}
        outputs = [[n if n in still_open or n not in self.dims else "" for n in names] for names in outputs]
        if any(map(any, inputs)):
            result[INPUT_DIMS] = inputs
            if any(map(any, outputs)):
                result[OUTPUT_DIMS] = outputs
        return result

    def _default_type(self, name: str) -> TensorType:
        """The type of an input, which for one with a default is that of the default."""
        proto = self.model.graph.initializers.get(name)
        if proto is None:
            return self.types[name]
        return TensorType(initializer_shape(proto), initializer_dtype(proto))

    def _initializer(self, proto: Any) -> Value:
        """A weight as a parameter with known elements; numbers of shapes, and single numbers, as constants."""
        array, dtype = initializer_array(proto, self.model), initializer_dtype(proto)
        name = proto.values.name if hasattr(proto, "indices") else proto.name
        may_be_given = dtype.startswith(("float", "bfloat")) and name in self.given_anew
        is_number = array.ndim == 0 if self.training else array.size <= 1
        small = (is_number and not may_be_given) or (
            array.dtype.kind in "iub" and array.ndim <= 1 and array.size <= _SMALL
        )
        if self.constants or small:
            return replace(Value.constant(array, dtype), narrow=initializer_narrow(proto))
        t = TensorType(initializer_shape(proto), dtype)
        var = Var(self.names.of(name), t, None, t)
        self.weights[var] = array
        return Value(var, array, parameter=True, narrow=initializer_narrow(proto), weights=self.weights)

    def _step(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, len(self.model.graph.nodes))


def drawn_numbers(nodes: Sequence[Node], filename: str) -> Diagnostic:
    """The warning that these nodes draw random numbers."""
    count = "1 node draws" if len(nodes) == 1 else f"{len(nodes)} nodes draw"
    return Diagnostic(
        f"{count} random numbers, the same ones in every run: {names_of(nodes)}",
        nodes[0].place,
        "warning",
        ("they follow from the node's attribute seed, or where it has none from its place among those that draw",),
        "make noise an input of the model where runs are to differ, or scale it by 0 to compare with other tools",
        filename,
        DrawnNumbers,
    )


def numbered_labels(nodes: Mapping[Node, Sequence[str]], filename: str) -> list[Diagnostic]:
    """The warnings that numbers replace labels, one for each list of labels."""
    lists: dict[tuple[str, ...], Node] = {}
    for node, labels in nodes.items():
        lists.setdefault(tuple(labels), node)
    return [
        Diagnostic(
            f"classes have strings as labels, in whose place numbers stand: {numbered_list(labels)}",
            node.place,
            "warning",
            filename=filename,
            code=NumberedLabels,
        )
        for labels, node in lists.items()
    ]


def numbered_list(labels: Sequence[str]) -> str:
    """Labels with their numbers, the first of them."""
    shown = ", ".join(f"{i} is {label!r}" for i, label in enumerate(labels[:_LABELS]))
    return shown + (f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else "")


_LABELS = 20
"""Labels that a warning lists."""

_DEFAULTS = 4
"""The version of the IR since which an initializer need not be an input, so that one which is stands for a default."""

_SMALL = 4096
"""Elements up to which a vector of integers is a constant: it is most likely a shape, axes, or indices."""
