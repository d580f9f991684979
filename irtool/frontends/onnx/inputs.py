"""The types of a graph's inputs, with the shapes that the user gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...diagnostics import IrError, UsageError, nearest
from ...ir import ANY, Dim, TensorType
from .mistakes import DamagedModel, UnsupportedNode
from .model import Model
from .tensors import dtype_of


def input_types(model: Model, shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]) -> dict[str, TensorType]:
    """The type of each input that is no initializer, by name.

    `shapes` has shapes by input, `dims` extents by the name of a dimension. Raises UsageError for a name that the model does
    not have, or a shape that contradicts the model; IrError for an input that is no tensor.
    """
    graph = model.graph
    inputs = {i.name: i for i in graph.inputs if i.name not in graph.initializers}
    for name in shapes:
        if name not in inputs:
            raise UsageError(f"the model has no input {name}", help=nearest(name, inputs) or _listed("inputs", inputs))
    named = dict.fromkeys(d for i in inputs.values() for d in _dimension_names(i))
    for name in dims:
        if name not in named:
            raise UsageError(
                f"no dimension of an input is called {name}", help=nearest(name, named) or _listed("dimensions", named)
            )
    seen: set[str] = set()
    for i in graph.inputs:
        if i.name in seen:
            raise IrError(f"two inputs are called {i.name}", filename=model.name, code=DamagedModel)
        seen.add(i.name)
    return {name: _input_type(i, model, shapes.get(name), dims) for name, i in inputs.items()}


def _listed(what: str, names: Mapping[str, Any]) -> str:
    return f"its {what}: {', '.join(names)}" if names else f"it has no {what}"


def _dimension_names(value: Any) -> list[str]:
    return [d.dim_param for d in value.type.tensor_type.shape.dim if d.dim_param]


def _input_type(value: Any, model: Model, given: Sequence[int] | None, dims: Mapping[str, int]) -> TensorType:
    what = f"the input {value.name}"
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        found = (kind or "nothing").removesuffix("_type").replace("_", " ")
        raise IrError(f"{what} is of type {found}, not a tensor", filename=model.name, code=UnsupportedNode)
    tensor = value.type.tensor_type
    dtype = dtype_of(tensor.elem_type, what)
    written = [_extent(d, dims, what, model) for d in tensor.shape.dim] if tensor.HasField("shape") else None
    if given is None:
        if written is None:
            raise IrError(
                f"the model does not say the rank of {what}",
                filename=model.name,
                help=f"give its shape: --shape {value.name}=1x3x224x224",
                code=DamagedModel,
            )
        return TensorType(tuple(written), dtype)
    if any(not isinstance(d, int) or isinstance(d, bool) or d < 0 for d in given):
        raise UsageError(f"the shape of {what} is {tuple(given)}: extents are integers that are not negative")
    if written is not None:
        fits = len(written) == len(given) and all(
            not isinstance(w, int) or w == g for w, g in zip(written, given, strict=True)
        )
        if not fits:
            has = ", ".join(str(d) for d in written)
            raise UsageError(f"{what} has the shape ({has}) in the model, so it cannot have {tuple(given)}")
    return TensorType(tuple(int(d) for d in given), dtype)


def _extent(d: Any, dims: Mapping[str, int], what: str, model: Model) -> Dim:
    if d.WhichOneof("value") == "dim_value":
        if d.dim_value < 0:
            raise IrError(f"{what} has an extent of {d.dim_value}", filename=model.name, code=DamagedModel)
        return d.dim_value
    return dims.get(d.dim_param, ANY) if d.dim_param else ANY


def check_values(values: Mapping[str, Any], types: Mapping[str, TensorType]) -> None:
    """Raises UsageError for the value of an input that there is not, or one that is not of the input's type."""
    for name, array in values.items():
        if name not in types:
            raise UsageError(f"the model has no input {name}", help=nearest(name, types) or _listed("inputs", types))
        t = types[name]
        fits = len(t.shape) == array.ndim and all(
            not isinstance(d, int) or d == n for d, n in zip(t.shape, array.shape, strict=True)
        )
        if not fits or str(array.dtype) not in (t.dtype, "uint16" if t.dtype == "bfloat16" else t.dtype):
            raise UsageError(f"the input {name} is {t}, which an array {array.shape} of {array.dtype} is not")
