"""The format `onnx`: a model, and a file with its weights where these are large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...diagnostics import InternalError, IrError, UsageError
from ...extras import install_line
from ...ir import Function, Module, TensorType, Type
from ...ir.tensor_names import input_dims, input_names, output_dims, output_names
from ...passes.core.mistakes import WrongPassOption
from ..base import Export, File, Request, export
from ..unsupported import Unsupported
from .biases import join_biases
from .emit import Emitter
from .form import NoForm
from .graph import Graph, Initializers, ModelNames, Value
from .loops import write_loop
from .model import External, Inside, build_model, skeleton, total_bytes
from .prepare import expand, first_order, needs_evaluation, prepare, with_quantities
from .qdq import fake_quantized, is_linear
from .site import element_type
from .values import flatten, leaves_of, nested

if TYPE_CHECKING:
    import numpy as np
    import onnx

OLDEST_OPSET = 18
"""The first opset in which reductions take their axes, and Pad its axes, as inputs."""

_LARGEST = (1 << 31) - (1 << 24)
"""Bytes that a protobuf may have, with room for the nodes."""

_MANY = 1 << 26
"""Bytes of weights from which they are written one by one: a protobuf of them all would be in memory twice."""


@export("onnx")
@dataclass(frozen=True)
class Onnx(Export):
    """A model for ONNX Runtime, OpenVINO and others; needs the package `onnx`.

    Parameters with values become initializers, others inputs. Inputs and outputs have the names of the ONNX model that the module
    was imported from, else those of parameters, and `output`. `opset` is the version of ONNX's operators, 18 or later. Weights
    of more than 2 GB in sum are written to NAME.data, as with `external_data` in any case. `text` writes the model as the text
    that `onnx.parser` reads, to look at. `quantized` is the form of the operators of `qnn`: `exact` for integer nodes with
    the values that irtool computes, `qdq` for operators on floats between QuantizeLinear and DequantizeLinear, of which engines make
    integer kernels; an 8-bit result may then differ by a unit, a sum by two.
    """

    ending: ClassVar[str] = ".onnx"

    opset: int = 20
    external_data: bool = False
    text: bool = False
    quantized: str = "exact"

    def write(self, module: Module, request: Request) -> list[File]:
        inside = None if self.text else Inside()
        model, external = self.model(module, request, inside)
        if self.text:
            from onnx import printer

            return [File(request.output, [printer.to_text(model).encode(), b"\n"], is_text=True)]
        if inside is not None and inside.arrays:
            return [File(request.output, inside.parts(model))]
        files = [File(request.output, [model.SerializeToString(deterministic=True)])]
        if external is not None and external.arrays:
            files.insert(0, File(external.location, external.parts()))
        return files

    def model(
        self, module: Module, request: Request, inside: Inside | None = None
    ) -> tuple[onnx.ModelProto, External | None]:
        """The model, and its weights as far as they are kept beside it. With `inside` many of them go there instead of the model.

        Raises UsageError if the package is missing or does not have the opset; IrError for everything without a form.
        """
        require_package(self.opset)
        if self.quantized not in ("exact", "qdq"):
            raise UsageError(
                f"option quantized of format onnx: {self.quantized} is neither exact nor qdq", code=WrongPassOption
            )
        from ... import __version__

        missing = Unsupported("ONNX")
        graph, constants = _written(prepare(module, request.entry), self, request, missing)
        if missing and needs_evaluation(module):
            again = Unsupported("ONNX")
            plain = first_order(prepare(module, request.entry))
            written = _written(plain, self, request, again)
            if not again:
                (graph, constants), missing = written, again
        missing.check()
        total = total_bytes(list(constants.values()))
        external = External(f"{request.output}.data") if self.external_data or total > _LARGEST else None
        place = external or (inside if total >= _MANY else None)
        model = build_model(graph, constants, self.opset, request.entry, ("irtool", __version__), place)
        _check(model)
        return model, external


def _written(
    module: Module, form: Onnx, request: Request, missing: Unsupported
) -> tuple[Graph, dict[str, tuple[np.ndarray, str]]]:
    """The graph of `@main`, and its constants."""
    result = result_of(module)
    module = with_quantities(module, request.weights)
    if form.quantized == "qdq":
        module = expand(fake_quantized(module), missing, is_linear)
    else:
        module = expand(module, missing)
    main = module.functions.get("main")
    if not isinstance(main, Function):
        raise IrError(f"there is no function @{request.entry} to export")
    names = ModelNames()
    graph, constants = Graph(None), Initializers(names)
    arguments = []
    called, called_dims = input_names(main), input_dims(main)
    for p in main.params:
        leaves: list[Any] = []
        types = leaves_of(p.checked_type)
        for i, t in enumerate(types):
            own = called.get(p, p.name)
            hint = own if len(types) == 1 else f"{own}.{i}"
            try:
                if not isinstance(t, TensorType):
                    raise NoForm("inputs are tensors, or tuples of these")
                element_type(t.dtype)
            except NoForm as reason:
                missing.add(f"%{p.name}", str(reason), p.span)
                leaves.append(Value(hint, getattr(t, "dtype", "float32")))
                continue
            if p.name in request.weights and isinstance(t, TensorType):
                leaves.append(constants.named(hint, request.weights[p.name], t.dtype))
            else:
                leaves.append(Value(names.fresh(hint), t.dtype))
                graph.inputs.append((leaves[-1], t))
                graph.dims[leaves[-1].name] = called_dims.get(p, ())
        arguments.append(nested(leaves, p.checked_type))
    own_names = output_names(main)
    for name in own_names:
        names.reserve(name)
    emitter = Emitter(module, names, constants, form.opset, missing, write_loop)
    value = emitter.write(main, arguments, graph)
    if not missing:
        _finish(emitter, graph, flatten(value), leaves_of(result), own_names)
        for (v, _), dims in zip(graph.outputs, output_dims(main), strict=False):
            graph.dims.setdefault(v.name, dims)
        if form.quantized == "qdq":
            join_biases(graph, constants)
    return graph, constants.arrays


def result_of(module: Module) -> Type | None:
    """The type of the results of `@main`."""
    main = module.functions.get("main")
    return main.body.checked_type if isinstance(main, Function) else None


def _finish(emitter: Emitter, graph: Graph, values: list[Any], types: list[Any], own: Sequence[str]) -> None:
    """Names the results as the model did that the module is from; else `output`, or `output_0`, `output_1` …."""
    if not values:
        emitter.missing.add("@main", "a model has an output at least, and the result is an empty tuple", None)
    renamed: dict[str, Value] = {}
    for i, (v, t) in enumerate(zip(values, types, strict=True)):
        v = renamed.get(v.name, v) if isinstance(v, Value) else v
        if not isinstance(v, Value) or not isinstance(t, TensorType):
            emitter.missing.add("@main", "results are tensors, or tuples of these", None)
            continue
        if i < len(own) and v.name == own[i] and not any(v.name == o.name for o, _ in graph.outputs):
            graph.outputs.append((v, t))  # an input or a weight, as it is
            continue
        hint = _output_name(emitter.names, i, len(values), own)
        w = emitter.writer(graph, None, "Identity", hint)
        source = next((n for n in reversed(graph.nodes) if v.name in n.outputs), None)
        if source is None or any(v.name == o.name for o, _ in graph.outputs) or _is_read(graph, v.name):
            named = w.nodes("Identity", 1, v, dtypes=[v.dtype])[0]
            source = graph.nodes[-1]
            v = named
        renamed[v.name] = Value(hint, v.dtype)
        source.outputs = [hint if n == v.name else n for n in source.outputs]
        graph.outputs.append((Value(hint, v.dtype), t))


def _output_name(names: ModelNames, i: int, count: int, own: Sequence[str]) -> str:
    """The name of a result that is made by a node."""
    if i < len(own):
        return names.claim(own[i])
    return names.fresh("output" if count == 1 else f"output_{i}")


def _is_read(graph: Graph, name: str) -> bool:
    stack = [graph]
    while stack:
        g = stack.pop()
        if any(v.name == name for v, _ in g.outputs):
            return True
        for node in g.nodes:
            if name in node.inputs:
                return True
            stack.extend(a for a in node.attributes.values() if isinstance(a, Graph))
    return False


def require_package(opset: int) -> None:
    """Raises UsageError if the package `onnx` is missing, or does not have the opset."""
    try:
        from onnx import defs
    except ImportError:
        raise UsageError("the format onnx needs the package onnx", help=install_line("onnx")) from None
    newest = defs.onnx_opset_version()
    if not OLDEST_OPSET <= opset <= newest:
        raise UsageError(
            f"opset {opset} is not among those that can be written",
            help=f"they are {OLDEST_OPSET} to {newest}",
            code=WrongPassOption,
        )


def _check(model: onnx.ModelProto) -> None:
    """Runs the checker of the package on the model; its errors are bugs of irtool. Raises InternalError."""
    from onnx import checker, shape_inference

    try:
        checker.check_model(skeleton(model), full_check=True)
    except (checker.ValidationError, shape_inference.InferenceError) as error:
        raise InternalError(f"the checker of ONNX refuses the model: {str(error).strip()[:2000]}") from None
