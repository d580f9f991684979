"""The passes that take composite operators apart, for inference and for training (after Relax's DecomposeOps)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..ir import Call, Expr, Function, Module, Op, TensorType, Tuple, TupleGetItem, rewrite, without_return_type
from ..ops.base import call, is_call_to
from .apply_pass_to_function import ApplyPassToFunction
from .core.base import Composite, FunctionPass, Pass, PassList, register_pass
from .core.constants import scalar_constant
from .core.context import PassContext
from .core.rule_table import RuleTable
from .core.static_form import static_form

Decompose = Callable[[Call, TensorType], Expr]
"""`decompose(call, data_type)`: the replacement of a call whose first argument was of that type."""

_DECOMPOSED: RuleTable[str, Decompose] = RuleTable(__name__, "the decomposition of")


def decomposed(*operators: str) -> Callable[[Decompose], Decompose]:
    """Decorator: files the replacement of calls of operators."""
    return _DECOMPOSED.file(*operators)


def _full_rank(e: Expr, rank: int, axis: int) -> Expr:
    """A vector as a tensor of that rank which varies along `axis` only."""
    if axis > 0:
        e = call("expand_dims", e, axis=0, num_newaxis=axis)
    if axis < rank - 1:
        e = call("expand_dims", e, axis=axis + 1, num_newaxis=rank - 1 - axis)
    return e


def _tensor_type(old: Expr) -> TensorType | None:
    ty = old.checked_type
    return ty if isinstance(ty, TensorType) else None


def _scale_and_shift(out: Expr, attrs: Any, gamma: Expr, beta: Expr) -> Expr:
    if attrs.scale:
        out = call("multiply", out, gamma)
    if attrs.center:
        out = call("add", out, beta)
    return out


def _normalised(data: Expr, mean: Expr, variance: Expr, epsilon: float, dtype: str) -> Expr:
    deviation = call("sqrt", call("add", variance, scalar_constant(epsilon, dtype)))
    return call("divide", call("subtract", data, mean), deviation)


@decomposed("nn.batch_norm")
def decompose_batch_norm(new: Call, data_type: TensorType) -> Expr:
    """The three results of a batch_norm as a tuple of arithmetic."""
    data, gamma, beta, mean, variance = new.args
    rank, attrs = len(data_type.shape), new.attrs
    axis = attrs.axis % rank
    out = _normalised(
        data, _full_rank(mean, rank, axis), _full_rank(variance, rank, axis), attrs.epsilon, data_type.dtype
    )
    out = _scale_and_shift(out, attrs, _full_rank(gamma, rank, axis), _full_rank(beta, rank, axis))
    return Tuple((out, mean, variance))


@decomposed("nn.layer_norm")
def decompose_layer_norm(new: Call, data_type: TensorType) -> Expr:
    """A layer_norm as arithmetic on the mean and variance of its axis."""
    data, gamma, beta = new.args
    rank = len(data_type.shape)
    axis = new.attrs.axis % rank
    mean, variance = _moments(data, (axis,), keepdims=True)
    out = _normalised(data, mean, variance, new.attrs.epsilon, data_type.dtype)
    return _scale_and_shift(out, new.attrs, _full_rank(gamma, rank, axis), _full_rank(beta, rank, axis))


def _moments(data: Expr, axes: Sequence[int], keepdims: bool) -> tuple[Expr, Expr]:
    kept_mean = call("mean", data, axis=tuple(axes), keepdims=True)
    variance = call("variance", data, kept_mean, axis=tuple(axes), keepdims=keepdims)
    mean = kept_mean if keepdims else call("mean", data, axis=tuple(axes))
    return mean, variance


@register_pass("MutateOpsForTraining", level=0, required=("InferType",))
@dataclass(frozen=True)
class MutateOpsForTraining(FunctionPass):
    """Gives batch_norm the batch's own statistics and updates the moving ones; decomposes layer_norm.

    ::

        %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var)
            ⇒  %m = mean(%x, axes without the channel axis); %v = variance(%x, …)
               %0 = (nn.batch_norm(%x, %gamma, %beta, %m, %v).0,
                     (1 - momentum) * %mean + momentum * %m,
                     (1 - momentum) * %var + momentum * %v)

    `momentum` is the weight of the new batch.
    """

    changes: ClassVar[str] = "training"

    momentum: float = 0.1

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, self._leave)

    def _leave(self, old: Expr, new: Expr) -> Expr:
        if not isinstance(new, Call) or not isinstance(old, Call):
            return new
        data_type = _tensor_type(old.args[0]) if old.args else None
        if data_type is None:
            return new
        if is_call_to(new, "nn.layer_norm"):
            return decompose_layer_norm(new, data_type)
        return self._batch_norm(new, data_type) if is_call_to(new, "nn.batch_norm") else new

    def _batch_norm(self, new: Call, data_type: TensorType) -> Expr:
        data, gamma, beta, moving_mean, moving_variance = new.args
        rank, dtype = len(data_type.shape), data_type.dtype
        axes = [i for i in range(rank) if i != new.attrs.axis % rank]
        mean, variance = _moments(data, axes, keepdims=False)
        normalised = Call(new.op, (data, gamma, beta, mean, variance), new.attrs, (), new.span)

        def update(moving: Expr, batch: Expr) -> Expr:
            old_part = call("multiply", scalar_constant(1 - self.momentum, dtype), moving)
            return call("add", old_part, call("multiply", scalar_constant(self.momentum, dtype), batch))

        return Tuple(
            (TupleGetItem(normalised, 0), update(moving_mean, mean), update(moving_variance, variance)), new.span
        )


@register_pass("DecomposeOps", level=0, required=("InferType",))
@dataclass(frozen=True)
class DecomposeOps(FunctionPass):
    """Decomposes batch_norm and layer_norm into arithmetic, and turns constant shape arguments into attributes.

    ::

        %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var)
            ⇒  %0 = ((%x - %mean') / sqrt(%var' + epsilon) * %gamma' + %beta', %mean, %var)

        nn.layer_norm(%x, %gamma, %beta)
            ⇒  (%x - %m) / sqrt(%v + epsilon) * %gamma' + %beta'   with the mean and variance %m and %v of the axis

        dyn.reshape(%x, meta[relay.Constant][0])  ⇒  reshape(%x, newshape=[2, 3])

    where `'` stands for the vector expanded to the rank of `%x` along the channel axis; the factor is there only if
    `scale`, the last term only if `center`.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return rewrite(function, _Decomposer().leave)


class _Decomposer:
    froze_shapes = False

    def leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, Function) and self.froze_shapes:
            # The result may have become more static than the function says.
            return without_return_type(new)
        if not isinstance(new, Call) or not isinstance(old, Call):
            return new
        decompose = _DECOMPOSED.find(new.op.name) if isinstance(new.op, Op) else None
        if decompose is None:
            static = static_form(new)
            self.froze_shapes |= static is not new
            return static
        data_type = _tensor_type(old.args[0])
        return new if data_type is None else decompose(new, data_type)


class _ForSomeFunctions(Composite):
    """A sequence that a regular expression, `func_name`, limits to the functions that it matches."""

    func_name: str

    def apply(self, module: Module, context: PassContext) -> Module:
        if not self.func_name:
            return super().apply(module, context)
        return ApplyPassToFunction(PassList(tuple(self.passes())), self.func_name).apply(module, context)


@register_pass("DecomposeOpsForInference", level=0, required=("InferType",))
@dataclass(frozen=True)
class DecomposeOpsForInference(_ForSomeFunctions):
    """DecomposeOps, restricted by `func_name`, if given, to functions with names that match this regular expression.

    ::

        nn.batch_norm(%x, %gamma, %beta, %mean, %var).0  ⇒  (%x - %mean') / sqrt(%var' + epsilon) * %gamma' + %beta'
    """

    func_name: str = ""

    def passes(self) -> Sequence[Pass]:
        return (DecomposeOps(),)


@register_pass("DecomposeOpsForTraining", level=0, required=("InferType",))
@dataclass(frozen=True)
class DecomposeOpsForTraining(_ForSomeFunctions):
    """MutateOpsForTraining, then DecomposeOps; `func_name`, if given, is a regular expression for function names.

    ::

        %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var)
            ⇒  normalised by the batch's own mean and variance; the moving ones are updated with `momentum`
    """

    changes: ClassVar[str] = "training"

    func_name: str = ""
    momentum: float = 0.1

    def passes(self) -> Sequence[Pass]:
        return (MutateOpsForTraining(self.momentum), DecomposeOps())
