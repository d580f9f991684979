"""Models that say no shape of an input at all: a rank with which their nodes can be converted, every extent open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, product
from typing import Any

from ...diagnostics import Diagnostic, IrError
from .inputs import graph_inputs
from .model import Model

_RANKS = (4, 3, 2, 1, 5, 0, 6)
"""Ranks in the order in which they are tried: images first."""
_MOST_TRIED = 24
"""Imports of the model at most; one for each rank, and then some in which inputs differ in rank."""

Convert = Callable[[Model], Iterable[object]]
"""Imports a model and returns the nodes that wait for open extents; raises IrError if that fails."""


def without_rank(model: Model, known: Iterable[str]) -> list[str]:
    """The inputs of which the model says no shape, those aside whose shapes or values are `known`."""
    inputs = graph_inputs(model)
    known = set(known)
    return [
        n for n, i in inputs.items() if n not in known and _is_tensor(i) and not i.type.tensor_type.HasField("shape")
    ]


def with_ranks(model: Model, known: Iterable[str], convert: Convert, say: Callable[[Diagnostic], None]) -> Model:
    """The model in which each input has a rank, all its extents open; `say` is told of each that was taken.

    Of the ranks that convert, those are taken with which nothing waits for extents, if there are such. The model itself where
    nothing is missing. Raises IrError if no rank that is tried converts: what is wrong with the first.
    """
    names = without_rank(model, known)
    if not names:
        return model
    imported, failure = None, None
    for ranks in islice(_choices(len(names)), _MOST_TRIED):
        ranked = _ranked(model, dict(zip(names, ranks, strict=True)))
        try:
            waiting = list(convert(ranked))
        except IrError as error:
            failure = failure or error
            continue
        if imported is None or not waiting:
            imported = ranked, ranks
        if not waiting:
            break
    if imported is None:
        assert failure is not None
        raise failure
    for name, rank in zip(names, imported[1], strict=True):
        say(
            Diagnostic(
                f"the model does not say the rank of the input {name}: {rank} is taken, and its extents are open",
                level="note",
                help=f"--shape {name}=… says the shape",
                filename=model.name,
            )
        )
    return imported[0]


def _choices(count: int) -> Iterator[tuple[int, ...]]:
    """Ranks of that many inputs: the same for all, then others."""
    yield from ((rank,) * count for rank in _RANKS)
    if count > 1:
        yield from (ranks for ranks in product(_RANKS[:4], repeat=count) if len(set(ranks)) > 1)


def _ranked(model: Model, ranks: Mapping[str, int]) -> Model:
    inputs = tuple(_with_rank(i, ranks[i.name]) if i.name in ranks else i for i in model.graph.inputs)
    return replace(model, graph=replace(model.graph, inputs=inputs))


def _with_rank(value: Any, rank: int) -> Any:
    copy = type(value)()
    copy.CopyFrom(value)
    shape = copy.type.tensor_type.shape
    shape.SetInParent()
    for _ in range(rank):
        shape.dim.add()
    return copy


def _is_tensor(value: Any) -> bool:
    return value.type.WhichOneof("value") == "tensor_type"
