"""Inference that stops where nothing more can be known, and counts what is unknown.

In the manner of NNVM's `InferShape` and `InferType`: sweeps over the operators, forwards and backwards in turn, try
every rule that is not decided, until a sweep leaves as many unknowns as the one before. Unknowns are no errors;
contradictions are.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import IrError
from ..ir import (
    ANY,
    Constructor,
    Function,
    GlobalVar,
    IncompleteType,
    Module,
    Op,
    TensorType,
    Type,
    type_leaves,
)
from .attach import attach
from .constraints import Constraints
from .infer import in_order, partly_declared
from .solver import Solver

_NOT_COUNTED = (Op, GlobalVar, Constructor, Function)


@dataclass(frozen=True)
class PartialTypes:
    """What partial inference found.

    Attributes:
        module: the module; expressions of unknown type have none (`checked_type` is None). It is for looking at: a pass
            wants a module that `infer_types` accepts.
        shape_num_unknown_nodes: expressions of which some dimension is unknown (`?` included).
        dtype_num_unknown_nodes: expressions of which some element type is unknown.
        sweeps: how many sweeps it took.
    """

    module: Module
    shape_num_unknown_nodes: int
    dtype_num_unknown_nodes: int
    sweeps: int


def infer_partial(module: Module) -> PartialTypes:
    """Types as far as they are known. Raises IrError, with every error found, where types contradict each other."""
    functions = module.relay_functions
    signatures = {n: partly_declared(f) for n, f in functions.items()}
    solver = Solver()
    found = Constraints(module, signatures.get, solver, fresh=True)
    for name, f in functions.items():
        t = found.visit(f)
        if not signatures[name].type_params:
            found.unify(signatures[name], t, f.span, f"@{name} is called as something else than it is")
    sweeps, unknown = 0, len(found.order) + 1
    while solver.pending:
        shapes, _ = _count(found)
        if shapes >= unknown:
            break
        unknown = shapes
        rules = list(solver.pending)
        solver.retry(rules)
        solver.retry([r for r in reversed(rules) if not r.done])
        sweeps += 1
    if solver.diagnostics:
        raise IrError(in_order(solver.diagnostics))
    shapes, dtypes = _count(found)
    typed = dict(zip(functions, attach(found, *functions.values(), keep_unknown=False), strict=True))
    result = module.with_functions({n: typed.get(n, f) for n, f in module.functions.items()})
    return PartialTypes(result, shapes, dtypes, sweeps)


def _count(found: Constraints) -> tuple[int, int]:
    shapes = dtypes = 0
    for e in found.order:
        if not isinstance(e, _NOT_COUNTED):
            shape_unknown, dtype_unknown = _unknown(found.solver.resolve(found.types[e]))
            shapes += shape_unknown
            dtypes += dtype_unknown
    return shapes, dtypes


def _unknown(t: Type) -> tuple[bool, bool]:
    shape = dtype = False
    for leaf in type_leaves(t):
        if isinstance(leaf, IncompleteType):
            return True, True
        if isinstance(leaf, TensorType) and any(d is ANY for d in leaf.shape):
            shape = True
        if isinstance(leaf, TensorType) and not leaf.dtype:
            dtype = True
    return shape, dtype


__all__ = ["PartialTypes", "infer_partial"]
