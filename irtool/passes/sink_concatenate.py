"""SinkConcatenate: elementwise operators move from a concatenation to its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from ..infer import infer_expr
from ..ir import Call, Constant, Expr, Function, MissingData, Module, TensorType, Tuple, post_order, rewrite
from ..ir.scope import users_of
from ..ops.base import Pattern, call, called_operator, is_call_to
from ..ops.binary import Binary
from .core.base import FunctionPass, register_pass
from .core.constants import has_data
from .core.context import PassContext
from .core.extents import extents_of
from .fold_constant import fold_constants
from .scale_axis.backward import fold_backward

_FUSED = (Pattern.ELEMWISE, Pattern.BROADCAST, Pattern.OUT_ELEMWISE_FUSABLE)
"""Patterns of a layer and its fused operators."""


@register_pass("SinkConcatenate", level=3, required=("InferType",))
@dataclass(frozen=True)
class SinkConcatenate(FunctionPass):
    """Moves element-by-element operators behind a concatenation of layers in front of it, where they fuse with the layers.

    ::

        nn.relu(multiply(concatenate((nn.conv2d(%x, %v), nn.conv2d(%y, %w)), axis=1), meta[relay.Constant][0]))
                    ⇒  concatenate((nn.relu(multiply(nn.conv2d(%x, %v), meta[relay.Constant][1])),
                                    nn.relu(multiply(nn.conv2d(%y, %w), meta[relay.Constant][2]))), axis=1)

    The parts must have no other user, and be calls, of which one at least is a layer: a convolution, a dense layer, a pool. Other
    operands must be constants, which are cut as the concatenation is, or made of the same concatenation. Scales that are next to a layer
    then go into its weights, as BackwardFoldScaleAxis has it.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if not any(is_call_to(e, "concatenate") for e in post_order(function.body)):
            return function
        sunk = _Sinker(function).run()
        return sunk if sunk is function else fold_constants(fold_backward(infer_expr(sunk, module)), module)


@dataclass(frozen=True)
class _Cuts:
    """A concatenation, the axis along which it is one, and where its parts begin, and the last one ends."""

    concatenation: Call
    axis: int
    places: tuple[int, ...]


class _Sinker:
    """Rewrites one function: nodes to cut are chosen among the nodes of the original."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.users = {e: [user for user, _ in sites] for e, sites in users_of(function).items()}
        nodes = list(post_order(function))
        self.cuts: dict[Expr, _Cuts] = {}
        for e in nodes:
            cuts = self._of_layers(e) or self._of_parts(e)
            if cuts is not None:
                self.cuts[e] = cuts
        self._leave_what_is_read_whole(nodes)
        self.parts: dict[Expr, list[Expr]] = {}

    def run(self) -> Function:
        return rewrite(self.function, self._leave) if self.cuts else self.function

    def _of_layers(self, e: Expr) -> _Cuts | None:
        """The cuts of a concatenation of layers."""
        if not is_call_to(e, "concatenate") or not isinstance(e.args[0], Tuple) or len(self.users[e.args[0]]) != 1:
            return None
        shape, fields = extents_of(e), e.args[0].fields
        parts = [extents_of(f) for f in fields]
        if shape is None or not all(isinstance(f, Call) and len(self.users[f]) == 1 for f in fields):
            return None
        if not any(self._is_layer(f) for f in fields):
            return None
        axis = e.attrs.axis % len(shape)
        sizes = [p[axis] for p in parts if p is not None]
        return _Cuts(e, axis, tuple(accumulate(sizes, initial=0))) if len(sizes) == len(fields) else None

    def _is_layer(self, e: Expr) -> bool:
        """True for a layer, and for an elementwise function of a single one."""
        while isinstance(e, Call) and e.args and len(self.users[e]) == 1:
            operator = called_operator(e)
            if operator is None or operator.pattern not in _FUSED:
                return False
            if operator.pattern == Pattern.OUT_ELEMWISE_FUSABLE:
                return True
            e = e.args[0]
        return False

    def _of_parts(self, e: Expr) -> _Cuts | None:
        """The cuts of an elementwise function of one concatenation and constants."""
        operator = called_operator(e)
        if operator is None or not isinstance(e, Call):
            return None
        is_unary = operator.pattern == Pattern.ELEMWISE and len(e.args) == 1
        if not is_unary and not issubclass(operator, Binary):
            return None
        distinct_cuts = {self.cuts[x] for x in e.args if x in self.cuts}
        if len(distinct_cuts) != 1:
            return None
        (cuts,) = distinct_cuts
        shape = extents_of(cuts.concatenation)
        others = [x for x in e.args if x not in self.cuts]
        return cuts if extents_of(e) == shape and all(_can_be_cut(x, shape) for x in others) else None

    def _leave_what_is_read_whole(self, nodes: Sequence[Expr]) -> None:
        """Forgets cuts behind a value that something else reads as well: it would be put together beside its parts. What is computed of
        those has no parts either."""
        changed = True
        while changed:
            changed = False
            for e in nodes:
                if e in self.cuts and self.cuts[e].concatenation is not e and not self._has_parts(e):
                    changed = True
                    del self.cuts[e]
                elif e in self.cuts:
                    within = [u for u in self.users.get(e, ()) if u in self.cuts]
                    if within and len(within) < len(self.users[e]):
                        changed = True
                        for u in within:
                            self.cuts.pop(u, None)
        for e in nodes:
            is_alone = e in self.cuts and not any(u in self.cuts for u in self.users.get(e, ()))
            if is_alone and self.cuts[e].concatenation is e:
                del self.cuts[e]

    def _has_parts(self, e: Expr) -> bool:
        return isinstance(e, Call) and any(x in self.cuts for x in e.args)

    def _leave(self, old: Expr, new: Expr) -> Expr:
        cuts = self.cuts.get(old)
        if cuts is None or not isinstance(new, Call) or not isinstance(old, Call):
            return new
        if cuts.concatenation is old:
            assert isinstance(new.args[0], Tuple)
            self.parts[old] = list(new.args[0].fields)
            return new
        operands = [self.parts.get(x) or _cut(x, cuts) for x in old.args]
        self.parts[old] = [
            Call(old.op, args, old.attrs, old.type_args, old.span) for args in zip(*operands, strict=True)
        ]
        if any(u in self.cuts for u in self.users.get(old, ())):
            return new
        span = cuts.concatenation.span
        return call("concatenate", Tuple(tuple(self.parts[old]), span=span), axis=cuts.axis, span=span)


def _can_be_cut(e: Expr, shape: tuple[int, ...] | None) -> bool:
    """True for a constant of such a shape, or of one that is broadcast to it."""
    return shape is not None and isinstance(e, Constant) and has_data(e) and len(extents_of(e) or ()) <= len(shape)


def _cut(e: Expr, cuts: _Cuts) -> list[Expr]:
    """A constant for each of the parts; the same one where it is broadcast along the axis."""
    assert isinstance(e, Constant) and not isinstance(e.data, MissingData)
    whole = cuts.concatenation.checked_type
    assert isinstance(whole, TensorType)
    axis = cuts.axis - len(whole.shape) + e.data.ndim
    if axis < 0 or e.data.shape[axis] == 1 != cuts.places[-1]:
        return [e] * (len(cuts.places) - 1)
    before = (slice(None),) * axis
    return [Constant(e.data[(*before, slice(a, b))].copy(), e.dtype, span=e.span) for a, b in pairwise(cuts.places)]
