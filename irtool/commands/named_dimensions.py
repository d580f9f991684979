"""`--dim` for Relay text, and the batch of one where the command line gives no extent.

The attribute `input_dim_names` of `@main` has the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .mistakes import BadValue, ClashingOptions

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Module, Type, Var
    from .param_facts import ParamFacts


def with_extents(module: Module, dims: Mapping[str, int], name: str) -> Module:
    """The module in which the parameters of `@main` have these extents for the dimensions of those names.

    Raises UsageError for a name that none has.
    """
    from ..diagnostics import UsageError, nearest
    from ..infer.named_extents import dim_names, with_named_extents, with_value_bounds

    module, dims = with_value_bounds(module, "main", dims)
    known = dim_names(module, "main")
    for dim_name in dims:
        if not known:
            raise UsageError(
                f"--dim {dim_name}: no extent of {name} has a name",
                help="--shape NAME=1,3,224,224 gives a shape",
                code=ClashingOptions,
            )
        if dim_name not in known:
            help = nearest(dim_name, known) or f"its dimensions: {', '.join(known)}"
            raise UsageError(f"no dimension of a parameter of @main is called {dim_name}", help=help, code=BadValue)
    return with_named_extents(module, "main", dims)


def batch_of_one(module: Module, param_facts: ParamFacts, name: str) -> tuple[Module, list[Diagnostic]]:
    """The module whose open first extents are 1, and a note, where these are named and nothing else of `@main` is open.

    The rule is that of ONNX models (`frontends.onnx.batches`). Parameters with a shape or a value on the command line do not count.
    """
    from ..diagnostics import Diagnostic
    from ..infer.hints import annotate_params
    from ..ir import Function, TensorType
    from ..ir.tensor_names import input_dims
    from ..ir.types import has_static_shapes

    main = module.functions.get("main")
    if not isinstance(main, Function):
        return module, []
    rows = input_dims(main)
    known = {*param_facts.shapes, *param_facts.weights, *param_facts.values}
    open_types = {
        p: t
        for p in main.params
        if p.name not in known and isinstance(t := p.type_annotation, TensorType) and not t.is_static
    }
    if not open_types or any(len(rows.get(p, ())) != len(t.shape) for p, t in open_types.items()):
        return module, []
    names = sorted({rows[p][0] for p in open_types})
    types: dict[Var, Type] = {}
    for p, t in open_types.items():
        extents = zip(t.shape, rows[p], strict=True)
        shape = tuple(d if isinstance(d, int) else 1 if n and n in names else d for d, n in extents)
        types[p] = TensorType(shape, t.dtype)
    if any(isinstance(t.shape[0], int) or not has_static_shapes(types[p]) for p, t in open_types.items()):
        return module, []
    message = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} open: 1 is taken"
    options = " ".join(f"--dim {n}=…" for n in names)
    bounds = " ".join(f"--dim '{n}<=…'" for n in names)
    note = Diagnostic(
        message, level="note", help=f"{options} says another, {bounds} bounds what a run decides", filename=name
    )
    return annotate_params(module, "main", types), [note]
