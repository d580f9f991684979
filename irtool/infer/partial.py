"""Partial inference: it stops where nothing more can be known, and lists the unknown types.

In the manner of NNVM's `InferShape` and `InferType`: sweeps over the operators, forwards and backwards in turn, ask every
rule that is not decided for what it knows all the same, of shapes and of dtypes apart, until a sweep finds nothing new;
then for what is not certain but usual (floats are multiplied with floats of their kind).
Unknowns are no errors; contradictions are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..diagnostics import Diagnostic, IrError, Span
from ..ir import (
    ANY,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    IncompleteType,
    Module,
    Op,
    TensorType,
    Type,
    Var,
    type_leaves,
)
from ..ir.show import show_expr
from ..ops.base import RelationError
from ..ops.partial import is_settled, show_dtype, show_known
from ..symbolic_int import Undecided
from .attach import attach
from .constraints import Constraints
from .facts import Facts
from .hints import annotate_params, read_hints
from .infer import in_order, partly_declared
from .mistakes import OperatorRefuses
from .solver import Solver, TypeRelation

_NOT_COUNTED = (Op, GlobalVar, Constructor, Function)


@dataclass(frozen=True)
class UnknownNode:
    """An expression of which not all is known.

    Attributes:
        function: the global function that it is in.
        expr: the expression, as it was given.
        shape: the known extents of the shape, `(1, _, 3)`; `_` if even the rank is unknown. For a tuple, of each field.
        dtype: the dtype, or `_` if unknown.
        shape_unknown, dtype_unknown: which of both is not wholly known.
    """

    function: str
    expr: Expr
    shape: str
    dtype: str
    shape_unknown: bool
    dtype_unknown: bool

    @property
    def span(self) -> Span | None:
        """Its place in the text."""
        return self.expr.span

    @property
    def text(self) -> str:
        """Its name in messages: `%x`, `nn.conv2d(…)`."""
        return show_expr(self.expr)


@dataclass(frozen=True)
class PartialTypes:
    """The result of partial inference.

    Attributes:
        module: the module; expressions of unknown type have none (`checked_type` is None). It is for looking at: a pass
            wants a module that `infer_types` accepts.
        unknown: the expressions of which not all is known, function by function, in order of evaluation.
        sweeps: how many sweeps it took.
    """

    module: Module
    unknown: tuple[UnknownNode, ...]
    sweeps: int

    @property
    def shape_num_unknown_nodes(self) -> int:
        """Expressions of which some dimension is unknown (`?` included)."""
        return sum(n.shape_unknown for n in self.unknown)

    @property
    def dtype_num_unknown_nodes(self) -> int:
        """Expressions of which some element type is unknown."""
        return sum(n.dtype_unknown for n in self.unknown)


def infer_partial(
    module: Module,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dtypes: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    entry: str = "main",
) -> PartialTypes:
    """Types as far as they are known.

    Args:
        shapes, dtypes: of parameters of `entry`, by name (`t.0` for fields of tuples), each where it is known.
        params: arrays by the names of parameters of `entry`, which have their shapes and dtypes.

    Raises IrError, with every error found, if types contradict each other or a hint names no parameter.
    """
    shapes, dtypes = dict(shapes or {}), dict(dtypes or {})
    for name, array in (params or {}).items():
        shapes.setdefault(name, array.shape)
        dtypes.setdefault(name, str(array.dtype))
    if not shapes and not dtypes:
        return _infer(module, "", {}, {})
    function = module.functions.get(entry)
    if not isinstance(function, Function):
        raise IrError(f"there is no function @{entry}")
    hints = read_hints(function, entry, shapes, dtypes)
    return _infer(
        annotate_params(module, entry, hints.types),
        entry,
        {p.name: s for p, s in hints.shapes.items()},
        {p.name: d for p, d in hints.dtypes.items()},
    )


def _infer(module: Module, entry: str, shapes: Mapping[str, Sequence[int]], dtypes: Mapping[str, str]) -> PartialTypes:
    functions = module.relay_functions
    signatures = {n: partly_declared(f) for n, f in functions.items()}
    solver = Solver()
    facts = Facts(solver)
    constraints = Constraints(module, signatures.get, solver, fresh=True)
    parts: list[tuple[str, int]] = []
    for name, f in functions.items():
        t = constraints.visit(f)
        parts.append((name, len(constraints.order)))
        if not signatures[name].type_params:
            constraints.unify(signatures[name], t, f.span, f"@{name} is called as something else than it is")
    if entry:
        for p in functions[entry].params:
            _hint(facts, constraints, p, shapes.get(p.name), dtypes.get(p.name))
    sweeps = _sweep(facts)
    if solver.diagnostics:
        raise IrError(in_order(solver.diagnostics))
    typed = dict(zip(functions, attach(constraints, *functions.values(), keep_unknown=False), strict=True))
    result = module.with_functions({n: typed.get(n, f) for n, f in module.functions.items()})
    return PartialTypes(result, tuple(_unknown_nodes(facts, constraints, parts)), sweeps)


def _hint(facts: Facts, inferred: Constraints, p: Var, shape: Sequence[int] | None, dtype: str | None) -> None:
    try:
        facts.learn_shape(inferred.types[p], None if shape is None else tuple(shape))
        facts.learn_dtype(inferred.types[p], dtype)
    except RelationError as error:
        requested = " ".join(str(x) for x in (dtype, list(shape) if shape is not None else None) if x is not None)
        message = f"%{p.name} cannot be {requested}: {error}"
        facts.solver.diagnostics.append(Diagnostic(message, p.span, code=OperatorRefuses))


def _sweep(facts: Facts) -> int:
    """Asks every rule that is not decided, forwards and backwards, until nothing new becomes known."""
    solver = facts.solver
    sweeps, before = 0, -1
    while solver.pending and facts.changes != before:
        before = facts.changes
        rules = list(solver.pending)
        _each(facts, facts.ask, (*rules, *reversed(rules)))
        solver.retry([r for r in rules if not r.done])
        sweeps += 1
        if facts.changes == before:
            _each(facts, facts.presume, rules)
    return sweeps


def _each(facts: Facts, ask: Callable[[TypeRelation], None], rules: Sequence[TypeRelation]) -> None:
    for rule in rules:
        if not rule.done:
            try:
                ask(rule)
            except RelationError as error:
                facts.solver.refuse(rule, str(error))
            except Undecided:
                pass  # nothing is certain for all lengths


def _unknown_nodes(facts: Facts, inferred: Constraints, parts: Sequence[tuple[str, int]]) -> Iterator[UnknownNode]:
    start = 0
    for name, end in parts:
        for e in inferred.order[start:end]:
            if not isinstance(e, _NOT_COUNTED):
                t = facts.solver.resolve(inferred.types[e])
                shape_unknown, dtype_unknown = _unknown(facts, t)
                if shape_unknown or dtype_unknown:
                    shape, dtype = show_known(facts.shape(t)), show_dtype(facts.dtype(t))
                    yield UnknownNode(name, e, shape, dtype, shape_unknown, dtype_unknown)
        start = end


def _unknown(facts: Facts, t: Type) -> tuple[bool, bool]:
    """True if some dimension in a type is unknown, and true if some dtype is."""
    shape = dtype = False
    for leaf in type_leaves(t):
        if isinstance(leaf, IncompleteType):
            shape = shape or not is_settled(facts.shape(leaf))
            dtype = dtype or facts.dtype(leaf) is None
        elif isinstance(leaf, TensorType):
            shape = shape or any(d is ANY for d in leaf.shape)
            dtype = dtype or not leaf.dtype
    return shape, dtype


__all__ = ["PartialTypes", "UnknownNode", "infer_partial"]
