"""`--dim` for Relay text: the attribute `input_dim_names` of `@main` has the names of extents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .mistakes import BadValue, ClashingOptions

if TYPE_CHECKING:
    from ..ir import Module


def with_extents(module: Module, dims: Mapping[str, int], name: str) -> Module:
    """The module in which the parameters of `@main` have these extents for the dimensions of those names.

    Raises UsageError for a name that none has.
    """
    from ..diagnostics import UsageError, nearest
    from ..infer.hints import annotate_params
    from ..ir import Function, TensorType
    from ..ir.tensor_names import input_dims

    main = module.functions.get("main")
    rows = input_dims(main) if isinstance(main, Function) else {}
    known = dict.fromkeys(d for row in rows.values() for d in row if d)
    for wanted in dims:
        if not known:
            raise UsageError(
                f"--dim {wanted}: no extent of {name} has a name",
                help="--shape NAME=1,3,224,224 gives a shape",
                code=ClashingOptions,
            )
        if wanted not in known:
            help = nearest(wanted, known) or f"its dimensions: {', '.join(known)}"
            raise UsageError(f"no dimension of a parameter of @main is called {wanted}", help=help, code=BadValue)
    types = {}
    for param, row in rows.items():
        t = param.type_annotation
        if isinstance(t, TensorType) and len(row) == len(t.shape):
            shape = [d if isinstance(d, int) else dims.get(n, d) for d, n in zip(t.shape, row, strict=True)]
            types[param] = TensorType(tuple(shape), t.dtype)
    return annotate_params(module, "main", types)
