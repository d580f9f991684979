"""`train_step`: from a network for inference to the module of one step of training."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

from ..diagnostics import IrError, nearest
from ..infer import infer_types, require_types
from ..ir import Expr, Function, Module, TensorType, Tuple, TupleGetItem, Type, Var, substitute
from ..ir.expr import with_function
from ..ir.tensor_names import LOSS, OUTPUTS, RAM_LIMIT, STATES, output_names
from ..ops.threefry import first_state
from ..passes import run_passes
from ..passes.core.arithmetic import add
from ..passes.core.constants import scalar_constant
from ..passes.eliminate_common_subexpr import eliminate
from ..passes.first_order_gradient import differentiate
from ..tir.dtypes import itemsize
from . import batch_statistics, clips, dropouts, slices
from .losses import loss_of, target_type
from .mistakes import NoLoss, NothingToTrain
from .optimizers import COUNTING, rates_of, updated
from .optimizers import STATES as STATES_OF
from .options import INPUT, TrainOptions
from .report import Report
from .shared_layers import with_joined_products
from .shared_weights import separate
from .tidy import without_neutral_terms

_SCALAR = TensorType((), "float32")
_RULES = {
    batch_statistics.NAME: batch_statistics.gradient,
    clips.NAME: clips.gradient,
    "strided_slice": slices.strided_slice,
    "take": slices.take,
}
"""The rules of operators that are others in training."""


class TrainStep(NamedTuple):
    """The result of `train_step`.

    Attributes:
        module: `@main` takes the network's inputs, the target, the learning rate if it is an input, weights that are not trained, then
            states: trained weights, running statistics, states of the optimizer. It returns the loss, then the next values of the states.
        params: the weights that are not trained, and first values of states, by name of a parameter; other states begin with zeros.
        report: of the weights.
    """

    module: Module
    params: dict[str, Any]
    report: Report


def train_step(
    module: Module,
    params: Mapping[str, Any],
    options: TrainOptions | None = None,
    *,
    entry: str = "main",
    output: str | int = 0,
) -> TrainStep:
    """The module of one step: the network in training, the loss, gradients, and the updates of the weights.

    Batch normalizations take the statistics of the batch, and the running ones follow; dropouts leave out random elements. What
    a step changes are states, which a build keeps in the memory of an instance.

    Args:
        params: weights by name of a parameter; the other parameters are inputs.
        output: the name or the number of the output that the loss is of.

    Raises:
        IrError: no weights, an output that the loss is not defined for, an operator without a gradient, or an open shape.
        UsageError: a wrong option.
    """
    options = options or TrainOptions()
    options.check()
    typed = run_passes(require_types(module, [entry]), "ToGraphNormalForm", func=re.escape(entry))
    function = typed[entry]
    assert isinstance(function, Function)
    body, dropped = _output(function, output)
    body, rates = dropouts.with_factors(body)
    forward, values, origins = separate(Function(function.params, body, None, (), {}, function.span), params)
    forward = with_function(forward, params=(*forward.params, *rates))
    typed = infer_types(typed.with_function(entry, forward))
    return _Step(typed, entry, values, rates, options, Report(dropped_outputs=dropped, separated=origins)).build()


def _output(function: Function, output: str | int) -> tuple[Expr, tuple[str, ...]]:
    """The output that the loss is of, and the names of the others. Raises IrError for an output that is not there."""
    body = function.body
    fields = body.fields if isinstance(body, Tuple) else (body,)
    names = list(output_names(function)[: len(fields)])
    names += [f"out{n}" for n in range(len(names), len(fields))]
    number = names.index(output) if isinstance(output, str) and output in names else output
    if not isinstance(number, int) or not 0 <= number < len(fields):
        raise IrError(f"there is no output {output!r}", help=nearest(str(output), names), code=NoLoss)
    return fields[number], tuple(n for k, n in enumerate(names) if k != number)


@dataclass(frozen=True)
class _State:
    """A parameter that a step changes: its next value, and the first one, None for zeros."""

    variable: Var
    value: Expr
    first: Any = None


class _Step:
    def __init__(
        self,
        module: Module,
        entry: str,
        params: Mapping[str, Any],
        rates: Mapping[Var, float],
        options: TrainOptions,
        report: Report,
    ) -> None:
        forward = module[entry]
        assert isinstance(forward, Function)
        self.module = module
        self.entry = entry
        self.forward = forward
        self.values = params
        count = len(forward.params) - len(rates)
        self.rates = dict(zip(forward.params[count:], rates.values(), strict=True))
        self.options = options
        self.report = report
        self.names = {p.name for p in forward.params}
        self.inputs = [p for p in forward.params if p.name not in params and p not in self.rates]
        statistics = batch_statistics.running_statistics(forward, options.statistics_momentum)
        self.statistics = {p: value for p, value in statistics.items() if p.name in params}
        weights = [p for p in forward.params if p.name in params and p not in self.statistics]
        self.unchanged = {p: reason for p in weights if (reason := self._reason_to_keep(p))}
        self.trained = [p for p in weights if p not in self.unchanged]
        if not self.trained:
            notes = tuple(f"%{p.name}: {reason}" for p, reason in self.unchanged.items())
            raise IrError(f"@{entry} has no weight to train", forward.span, notes=notes, code=NothingToTrain)

    def build(self) -> TrainStep:
        """The step."""
        target = self._parameter("target", target_type(self.forward.body.known_type, self.options))
        rate = self._parameter("learning_rate", _SCALAR) if self.options.rate == INPUT else None
        loss, gradients = self._derivative(target)
        generator, factors = self._generator()
        states = [*self._states(gradients, rate), *generator]
        inputs = [*self.inputs, target, *([rate] if rate is not None else []), *self.unchanged]
        params = (*inputs, *(s.variable for s in states))
        attrs = {
            OUTPUTS: ["loss", *(f"next_{s.variable.name}" for s in states)],
            STATES: [-1] * len(inputs) + [1 + n for n in range(len(states))],
            LOSS: 0,
            **({} if self.options.ram_limit is None else {RAM_LIMIT: self.options.ram_limit}),
        }
        body = substitute(Tuple((loss, *(s.value for s in states))), factors)
        function = self._tidied(Function(params, body, None, (), attrs))
        module = infer_types(Module({"main": function}))
        values = {p.name: self.values[p.name] for p in self.unchanged}
        values |= {s.variable.name: s.first for s in states if s.first is not None}
        return TrainStep(module, values, self._report(states))

    def _reason_to_keep(self, p: Var) -> str:
        """The reason why a weight is not trained; empty for one that is."""
        t = p.type_annotation or p.checked_type
        if not isinstance(t, TensorType) or not t.dtype.startswith("float"):
            return "no floating-point numbers"
        if self.options.train_only is not None:
            return "" if re.fullmatch(self.options.train_only, p.name) else "not named by train_only"
        return "" if t.shape else "a scalar, such as the scale of an attention; train_only can name it"

    def _parameter(self, name: str, t: Type) -> Var:
        """A new parameter with a name that no other one has."""
        while name in self.names:
            name += "_"
        self.names.add(name)
        return Var(name, t)

    def _derivative(self, target: Var) -> tuple[Expr, dict[Var, Expr]]:
        """The loss, and its gradients by weight."""
        output = self.forward.body
        t = output.known_type
        assert isinstance(t, TensorType)
        params = (*self.forward.params, target)
        function = Function(params, loss_of(output, t, target, self.options), None, (), {}, self.forward.span)
        typed = infer_types(self.module.with_function(self.entry, function))[self.entry]
        assert isinstance(typed, Function)
        both = differentiate(typed, _RULES).body
        both = substitute(both, dict(zip(typed.params, params, strict=True)))
        gradients = {p: TupleGetItem(TupleGetItem(both, 1), n) for n, p in enumerate(params)}
        return TupleGetItem(both, 0), {p: gradients[p] for p in self.trained}

    def _states(self, gradients: Mapping[Var, Expr], rate: Var | None) -> list[_State]:
        """All states, with their values after the step."""
        options = self.options
        counter: list[_State] = []
        step: Expr | None = None
        if options.optimizer in COUNTING:
            count = self._parameter("steps", TensorType((), "int64"))
            after = add(count, scalar_constant(1, "int64"))
            counter, step = [_State(count, after)], after
        rates = rates_of(options, rate, step)
        weights: list[_State] = []
        of_optimizer: list[_State] = []
        for p in self.trained:
            own = tuple(self._parameter(f"{p.name}_{n}", p.known_type) for n in STATES_OF[options.optimizer])
            value, others = updated(p, gradients[p], own, rates, options)
            weights.append(_State(p, value, self.values[p.name]))
            of_optimizer += map(_State, own, others)
        statistics = [_State(p, value, self.values[p.name]) for p, value in self.statistics.items()]
        return [*weights, *statistics, *of_optimizer, *counter]

    def _generator(self) -> tuple[list[_State], dict[Var, Expr]]:
        """The generator of random numbers, if there are dropouts, and their factors in this step."""
        if not self.rates:
            return [], {}
        key = self._parameter("generator", dropouts.KEY)
        factors, following = dropouts.drawn_factors(self.rates, key)
        return [_State(key, following, first_state(self.options.seed))], factors

    def _tidied(self, function: Function) -> Function:
        """The function as a graph without terms that have no effect; equal calculations become one."""
        module = run_passes(Module({"main": function}), "ScatterTakenSlices,ToGraphNormalForm")
        for rewriting in (
            batch_statistics.normalized_by_batch,
            without_neutral_terms,
            eliminate,
            with_joined_products,
        ):
            typed = infer_types(module)["main"]
            assert isinstance(typed, Function)
            module = Module({"main": with_function(typed, body=rewriting(typed.body))})
        return module["main"]

    def _report(self, states: list[_State]) -> Report:
        sizes = {p.name: prod(_tensor_type(p).static_shape) for p in self.trained}
        return replace(
            self.report,
            trained=sizes,
            unchanged={p.name: reason for p, reason in self.unchanged.items()},
            statistics=tuple(p.name for p in self.statistics),
            state_bytes=sum(_size(s.variable) for s in states),
        )


def _tensor_type(p: Var) -> TensorType:
    t = p.type_annotation or p.known_type
    assert isinstance(t, TensorType)
    return t


def _size(p: Var) -> int:
    t = _tensor_type(p)
    return prod(t.static_shape) * itemsize(t.dtype)
