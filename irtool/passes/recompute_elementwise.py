"""RecomputeElementwise: the backward pass of a training step computes element-by-element values again."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from math import prod

from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    Var,
    children,
    post_order,
    rewrite,
    with_type,
)
from ..ir.tensor_names import loss_output
from ..ir.types import has_static_shapes
from ..ops.base import Pattern
from ..tir.dtypes import itemsize
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .fuse_ops import MOST_FUSED
from .fusion.graph import dataflow_graph, pattern_of
from .fusion.groups import Groups
from .recomputation.min_cut import UNLIMITED, FlowNetwork

_STORED, _EXTRA = 2, 3
"""The costs of a byte in memory: of a value that a kernel of the forward pass stores anyway, and of one that it would store for
the backward pass only."""
_MOST_OPERATORS = 12
"""The largest number of operators that compute an element again: the chains of recurrent layers are as long as their sequences."""


@register_pass("RecomputeElementwise", level=2, required=("InferType",))
@dataclass(frozen=True)
class RecomputeElementwise(FunctionPass):
    """Computes values of the forward pass again in the kernels of the backward pass that read them, in place of storing them.

    ::

        %0 = nn.dense(%x, %w); %1 = exp(%0); (sum(%1), multiply(%g, %1))
            ⇒  %0 = nn.dense(%x, %w); (sum(exp(%0)), multiply(%g, exp(%0)))

    The attribute `loss_output` of a function is the number of its output that is a loss: the forward pass computes it, the
    backward pass computes the others. Operators that compute element by element, and changes of shapes, are computed again; which
    values are stored for that is a minimum cut of their bytes (Jain et al., Checkmate, 2020, has the general problem; He and Yu, Transcending
    runtime-memory tradeoffs in checkpointing by being fusion aware, 2023, the cut). Values that operators of the backward pass read
    other than element by element are stored, since their kernels would not compute them.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        number = loss_output(function)
        body = function.body
        if number is None or not isinstance(body, Tuple) or not 0 <= number < len(body.fields):
            return function
        order = list(post_order(body))
        if not all(isinstance(e, _NODES) and _is_static(e) for e in order):
            return function
        return _Recomputation(function, body, body.fields[number], order).run()


_NODES = (Call, Constant, Op, Tuple, TupleGetItem, Var)


def _is_static(e: Expr) -> bool:
    return isinstance(e, Op) or (e.checked_type is not None and has_static_shapes(e.checked_type))


def _bytes(e: Expr) -> int:
    t = e.checked_type
    assert isinstance(t, TensorType)
    return prod(t.static_shape) * itemsize(t.dtype)


def _is_cheap(e: Expr) -> bool:
    """True for a value that a kernel can compute as it reads the operands: element by element, or in another shape."""
    if (
        not isinstance(e, Call)
        or not isinstance(e.op, Op)
        or e.op.operator.stateful
        or not isinstance(e.checked_type, TensorType)
    ):
        return False
    return pattern_of(e) <= Pattern.BROADCAST or (e.op.operator.reshapes and pattern_of(e) == Pattern.INJECTIVE)


def _reads_elements(e: Expr) -> bool:
    """True for an operator whose kernel computes operands as it reads them."""
    return isinstance(e, Call) and isinstance(e.op, Op) and pattern_of(e) <= Pattern.COMM_REDUCE


class _Recomputation:
    def __init__(self, function: Function, body: Tuple, loss: Expr, order: Iterable[Expr]) -> None:
        self.function = function
        self.forward = [e for e in post_order(loss) if not isinstance(e, Op)]
        inside = set(self.forward)
        self.backward = [e for e in order if e not in inside and not isinstance(e, Op)]
        free: set[Expr] = {e for e in self.forward if isinstance(e, Var | Constant | Tuple)}
        free |= {e for e in body.fields if e in inside}
        read: dict[Expr, None] = {}
        for user in self.backward:
            for e in children(user):
                if e in inside and user is not body:
                    read[e] = None
                    if not _reads_elements(user):
                        free.add(e)
        self.recomputed = self._recomputed(loss, [e for e in read if e not in free], free)
        self.origins: dict[Expr, Expr] = {}
        """The value of the forward pass that a new node computes again."""

    def _recomputed(self, loss: Expr, read: Iterable[Expr], free: Set[Expr]) -> set[Expr]:
        """The values that the backward pass computes again. `free` are those that are in memory in any case."""
        stored = self._results_of_kernels(loss)
        numbers = {e: n for n, e in enumerate(e for e in self.forward if e not in free)}
        source, sink = 2 * len(numbers), 2 * len(numbers) + 1
        network = FlowNetwork(sink + 1)
        cheap = self._cheap(numbers)
        for e, n in numbers.items():
            is_tensor = isinstance(e.checked_type, TensorType)
            cost = _bytes(e) * (_STORED if e in stored else _EXTRA) if is_tensor else UNLIMITED
            network.connect(2 * n, 2 * n + 1, cost)
            if e not in cheap:
                network.connect(source, 2 * n, UNLIMITED)
                continue
            for operand in children(e):
                if operand in numbers:
                    network.connect(2 * numbers[operand] + 1, 2 * n, UNLIMITED)
        for e in read:
            network.connect(2 * numbers[e] + 1, sink, UNLIMITED)
        behind = network.sink_side(source, sink)
        return {e for e, n in numbers.items() if behind[2 * n]}

    def _cheap(self, values: Iterable[Expr]) -> set[Expr]:
        """The values that few operators compute from others that are not among them. Smaller operands, such as vectors of channels, do not count."""
        operators: dict[Expr, int] = {}
        for e in values:
            if _is_cheap(e):
                least = _bytes(e) // 4
                count = 1 + sum(n for a in children(e) if (n := operators.get(a, 0)) and _bytes(a) >= least)
                if count <= _MOST_OPERATORS:
                    operators[e] = count
        return set(operators)

    def _results_of_kernels(self, loss: Expr) -> set[Expr]:
        """The values that kernels of the forward pass alone would store."""
        graph = dataflow_graph(Function(self.function.params, loss, None, (), {}))
        groups = Groups(graph, True, MOST_FUSED)
        return {e for e, n in graph.index.items() if groups.find(n) == n}

    def run(self) -> Function:
        """The function, typed; the same one if nothing is computed again."""
        if not self.recomputed:
            return self.function
        of_backward = {e for e in self.backward if _reads_elements(e)}

        def leave(old: Expr, new: Expr) -> Expr:
            if old in of_backward and isinstance(new, Call) and isinstance(old, Call):
                computed: dict[Expr, Expr] = {}
                args = tuple(
                    self._again(was, computed) if was in self.recomputed else now
                    for was, now in zip(old.args, new.args, strict=True)
                )
                new = Call(new.op, args, new.attrs, new.type_args, new.span, old.checked_type)
            return with_type(old, new)

        rewritten = rewrite(self.function, leave)
        return self._merged(rewritten)

    def _again(self, root: Expr, computed: dict[Expr, Expr]) -> Expr:
        """The nodes that compute a value again, from those that are stored."""
        for e in post_order(root, enter=lambda e: e in self.recomputed):
            if e in self.recomputed and e not in computed:
                assert isinstance(e, Call)
                args = tuple(computed.get(a, a) for a in e.args)
                computed[e] = Call(e.op, args, e.attrs, e.type_args, e.span, e.checked_type)
                self.origins[computed[e]] = e
        return computed[root]

    def _merged(self, function: Function) -> Function:
        """The function, where each kernel computes a value again once, however many of its operators read it."""
        graph = dataflow_graph(function)
        groups = Groups(graph, True, MOST_FUSED)
        first: dict[tuple[int, Expr], Expr] = {}

        def leave(old: Expr, new: Expr) -> Expr:
            origin = self.origins.get(old)
            if origin is None:
                return with_type(old, new)
            return first.setdefault((groups.find(graph.index[old]), origin), with_type(old, new))

        return rewrite(function, leave)
