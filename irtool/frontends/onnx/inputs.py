"""The types of a graph's inputs, with the shapes that the user gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...deferred import np
from ...diagnostics import IrError, UsageError, nearest
from ...infer.extent_formulas import read_formula
from ...infer.named_extents import counted_lengths
from ...ir import ANY, Dim, TensorType
from ...ir.conversion import fit
from ...ir.dims import plain
from ...symbolic_int import is_known
from .memory_limit import has_room, require_shape, shown
from .mistakes import DamagedModel, UnfitInput, UnsupportedNode
from .model import Model
from .names import RelayNames
from .tensors import held_dtype


def graph_inputs(model: Model) -> dict[str, Any]:
    """The protos of the inputs that are no initializers, by name. Raises IrError if two have one name."""
    by_name: dict[str, Any] = {}
    for i in model.graph.inputs:
        if i.name in by_name:
            raise IrError(f"two inputs are called {i.name}", filename=model.name, code=DamagedModel)
        by_name[i.name] = i
    return {name: i for name, i in by_name.items() if name not in model.graph.initializers}


def default_inputs(model: Model) -> dict[str, Any]:
    """The protos of the inputs that have an initializer, which is their default since version 4 of the IR, by name."""
    return {i.name: i for i in model.graph.inputs if i.name in model.graph.initializers}


def relay_names(names: Iterable[str], taken: RelayNames | None = None) -> dict[str, str]:
    """The names of the parameters of `@main` that are inputs, by their names in the model."""
    taken = taken or RelayNames()
    return {name: taken.of(name) for name in names}


def is_open(value: Any) -> bool:
    """True for an input of which the model leaves extents, or the rank, open."""
    tensor = value.type.tensor_type
    return not tensor.HasField("shape") or any(is_open_extent(d) for d in tensor.shape.dim)


def is_open_extent(d: Any) -> bool:
    """True for an extent that the model leaves open: one without a number, or with a negative one, as some exporters write it."""
    return d.WhichOneof("value") != "dim_value" or d.dim_value < 0


def is_unsaid(d: Any, dims: Mapping[str, int]) -> bool:
    """True for an open extent whose name `dims` gives no number."""
    return is_open_extent(d) and d.dim_param not in dims


def with_lengths(value: Any, shape: Sequence[int], dims: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of an array for an input, with the lengths among `dims`: arrays of several runs differ in these."""
    axes = value.type.tensor_type.shape.dim
    if len(axes) != len(shape):
        return tuple(shape)
    lengths = {n: dims[d.dim_param] for n, d in enumerate(axes) if is_open_extent(d) and d.dim_param in dims}
    return tuple(d if is_known(lengths.get(n, 0)) else lengths[n] for n, d in enumerate(shape))


def open_names(value: Any, shape: Sequence[Dim] | None) -> list[str]:
    """The names of the extents of an input or an output, as far as they are open in `shape`; the empty string for others."""
    dims = value.type.tensor_type.shape.dim
    return [
        d.dim_param if shape is None or not isinstance(n, int) else ""
        for d, n in zip(dims, shape or dims, strict=False)
    ]


def check_given(model: Model, shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]) -> None:
    """Raises UsageError for a shape of an input, or an extent of a dimension, that the model does not have."""
    inputs = graph_inputs(model)
    for name in shapes:
        if name not in inputs:
            raise no_input(name, inputs)
    named = dict.fromkeys(d for i in inputs.values() for d in _dimension_names(i))
    counted = counted_lengths(dims, named)
    for name in dims:
        if name not in named and name not in counted:
            raise UsageError(
                f"no dimension of an input is called {name}",
                help=nearest(name, named) or _listed("open dimensions with names", named),
                code=UnfitInput,
            )


def counted_dims(model: Model, dims: Mapping[str, int]) -> dict[str, int]:
    """The bounds of lengths that follow from values, by their names, which no dimension of an input has."""
    named = {d for i in graph_inputs(model).values() for d in _dimension_names(i)}
    return {name: dims[name] for name in counted_lengths(dims, named)}


def with_formulas(model: Model, dims: Mapping[str, int]) -> dict[str, int]:
    """Extents by the names of dimensions, with those whose names are formulas of others: `past + 1`, as exporters write them."""
    result = dict(dims)
    for name in dict.fromkeys(d for i in graph_inputs(model).values() for d in _dimension_names(i)):
        formula = read_formula(name) if name not in dims else None
        if formula is None or not all(n in dims for n in formula.names):
            continue
        try:
            result[name] = formula.at(dims)
        except UsageError:
            continue  # negative for some lengths: the dimension stays open
    return result


def input_types(model: Model, shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]) -> dict[str, TensorType]:
    """The type of each input that is no initializer, by name.

    `shapes` has shapes by input, `dims` extents by the name of a dimension. Raises UsageError for a name that the model does
    not have, or a shape that contradicts the model; IrError for an input that is no tensor.
    """
    check_given(model, shapes, dims)
    inputs = graph_inputs(model)
    return {name: _input_type(i, model, shapes.get(name), dims) for name, i in inputs.items()}


def no_input(name: str, inputs: Mapping[str, Any]) -> UsageError:
    """The error that the model has no input of that name."""
    help = nearest(name, inputs) or _listed("inputs", inputs)
    return UsageError(f"the model has no input {name}", help=help, code=UnfitInput)


def _listed(what: str, names: Mapping[str, Any]) -> str:
    return f"its {what}: {', '.join(names)}" if names else f"it has no {what}"


def _dimension_names(value: Any) -> list[str]:
    return [d.dim_param for d in value.type.tensor_type.shape.dim if d.dim_param]


def _input_type(value: Any, model: Model, fixed_shape: Sequence[int] | None, dims: Mapping[str, int]) -> TensorType:
    what = f"the input {value.name}"
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        type_name = (kind or "nothing").removesuffix("_type").replace("_", " ")
        raise IrError(f"{what} is of type {type_name}, not a tensor", filename=model.name, code=UnsupportedNode)
    tensor = value.type.tensor_type
    dtype = held_dtype(tensor.elem_type, what)
    written = [_extent(d, dims, what, model) for d in tensor.shape.dim] if tensor.HasField("shape") else None
    if fixed_shape is None:
        if written is None:
            raise IrError(
                f"the model does not say the rank of {what}",
                filename=model.name,
                help=f"give its shape: --shape {value.name}=1x3x224x224",
                code=DamagedModel,
            )
        require_shape(written, what)
        return TensorType(tuple(written), dtype)
    if any(not isinstance(d, int) or isinstance(d, bool) or d < 0 for d in fixed_shape):
        raise UsageError(
            f"the shape of {what} is {tuple(fixed_shape)}: extents are integers that are not negative", code=UnfitInput
        )
    if written is not None:
        fits = len(written) == len(fixed_shape) and all(
            not isinstance(w, int) or w in (g, 0) for w, g in zip(written, fixed_shape, strict=True)
        )
        if not fits:
            has = ", ".join(str(d) for d in written)
            raise UsageError(
                f"{what} has the shape ({has}) in the model, so it cannot have {tuple(fixed_shape)}",
                help="export the model with that extent open: dynamic_shapes of torch.onnx.export, dynamic_axes where dynamo=False",
                code=UnfitInput,
            )
    if not has_room(fixed_shape):
        raise UsageError(f"{what} cannot have {shown(fixed_shape)}: that is too large", code=UnfitInput)
    return TensorType(tuple(map(plain, fixed_shape)), dtype)


def _extent(d: Any, dims: Mapping[str, int], what: str, model: Model) -> Dim:
    if d.WhichOneof("value") == "dim_value":
        return ANY if d.dim_value < 0 else d.dim_value
    return dims.get(d.dim_param, ANY) if d.dim_param else ANY


def check_values(values: Mapping[str, Any], types: Mapping[str, TensorType]) -> dict[str, np.ndarray]:
    """The values of inputs, converted where that loses nothing.

    Raises UsageError for the value of an unknown input, IrError for one that is not of the input's type.
    """
    result = {}
    for name, value in values.items():
        if name not in types:
            raise no_input(name, types)
        result[name] = fit(value, types[name], f"the input {name}")
    return result
