"""Suggested options for a command line that needs every extent, with numbers that work when they are pasted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...diagnostics import Diagnostic, IrError
from ...ir.example_shapes import usual_extent
from .inputs import graph_inputs, is_open_extent, is_unsaid
from .mistakes import UnknownExtent
from .model import Model
from .ranks import Convert, with_ranks, without_rank

Attempt = Callable[[Mapping[str, Sequence[int]]], object]
"""Imports the model with these shapes of its inputs; raises IrError where that fails."""

_LONGEST = 2000
"""Nodes of a model up to which examples are tried before they are given."""
_MOST_WEIGHTS = 8
"""Extents of weights that are tried after these."""
_TRIED = (None, 64, 32, 16, 1, 128, 2)
"""What open extents behind the first are in examples: None for a number that is usual for such an axis."""


def require_extents(
    model: Model,
    shapes: Mapping[str, Sequence[int]],
    dims: Mapping[str, int],
    values: Mapping[str, Any],
    attempt: Attempt,
    convert: Convert,
) -> None:
    """Raises IrError for inputs with unknown extents; its help has the options to add to the command line.

    `values` has the inputs that are constants; `attempt` imports the model with other shapes, `convert` another model with those
    that are given.
    """
    inputs = {n: i for n, i in graph_inputs(model).items() if n not in shapes and n not in values}
    rankless = without_rank(model, {*shapes, *values})
    if rankless:
        model = with_ranks(model, {*shapes, *values}, convert, lambda d: None)
        inputs = {n: i for n, i in graph_inputs(model).items() if n in inputs}
    missing = {n: i for n, i in inputs.items() if any(is_unsaid(d, dims) for d in _written(i))}
    if not missing:
        return
    example = working_example(model, shapes, dims, attempt)
    raise IrError(
        Diagnostic(
            f"the model does not say the rank of the input {name}: its shape must be given here"
            if name in rankless
            else f"the input {name} has the shape ({_shape_text(i)}): every extent must be a number here",
            help=f"say, for example: {options_of([i], example, dims)}",
            filename=model.name,
            code=UnknownExtent,
        )
        for name, i in missing.items()
    )


def working_example(
    model: Model, shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int], attempt: Attempt
) -> dict[tuple[str, int], int]:
    """A number for each open extent, by input and axis, with which the model can be imported, as far as one is found."""
    inputs = {n: i for n, i in graph_inputs(model).items() if n not in shapes}
    first: dict[tuple[str, int], int] = {}
    for size in (*_TRIED, *_of_weights(model)):
        numbers = dict(_numbers(inputs, dims, size))
        first = first or numbers
        if len(model.graph.nodes) > _LONGEST:
            break
        tried = {
            n: tuple(numbers.get((n, a), d.dim_value) for a, d in enumerate(_written(i))) for n, i in inputs.items()
        }
        try:
            attempt({**shapes, **tried})
        except (IrError, ArithmeticError, LookupError, TypeError, ValueError):
            continue
        return numbers
    return first


def _of_weights(model: Model) -> list[int]:
    """The extents that weights have, the most frequent first: those of inputs are often among them."""
    counts = Counter(int(d) for p in model.graph.initializers.values() for d in getattr(p, "dims", ()))
    return [d for d, _ in counts.most_common() if d > 0 and d not in _TRIED][:_MOST_WEIGHTS]


def options_of(inputs: Iterable[Any], example: Mapping[tuple[str, int], int], dims: Mapping[str, int]) -> str:
    """The words of a command line that give open extents of these inputs the numbers of the example."""
    named: dict[str, int] = {}
    wholes, all_named = [], True
    for i in inputs:
        extents = [example.get((i.name, a), d.dim_value) for a, d in enumerate(_written(i))]
        wholes.append(f"--shape {i.name}={'x'.join(map(str, extents))}")
        for a, d in enumerate(_written(i)):
            if is_unsaid(d, dims):
                all_named &= bool(d.dim_param) and not any(c.isspace() for c in d.dim_param)
                named.setdefault(d.dim_param, extents[a])
    whole = " ".join(wholes)
    if not named or not all_named:
        return whole
    return f"{' '.join(f'--dim {n}={e}' for n, e in named.items())}, or {whole}"


def _numbers(
    inputs: Mapping[str, Any], dims: Mapping[str, int], size: int | None
) -> Iterator[tuple[tuple[str, int], int]]:
    """A number for each open extent; equal names have equal numbers, and those of `dims` their given numbers."""
    named: dict[str, int] = dict(dims)
    for name, i in inputs.items():
        rank = len(_written(i))
        for axis, d in enumerate(_written(i)):
            if not is_open_extent(d):
                continue
            number = size if size and axis else usual_extent(axis, rank)
            yield (name, axis), named.setdefault(d.dim_param, number) if d.dim_param else number


def _written(value: Any) -> Sequence[Any]:
    return value.type.tensor_type.shape.dim if value.type.WhichOneof("value") == "tensor_type" else ()


def _shape_text(value: Any) -> str:
    return ", ".join(
        "?" if is_open_extent(d) and not d.dim_param else d.dim_param or str(d.dim_value) for d in _written(value)
    )
