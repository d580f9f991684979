"""Recurrent layers: loops over the steps of a sequence whose weights exist once. Their states are variables of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....deferred import np
from ....ir import Tuple
from ...onnx.arithmetic import cast
from ...onnx.loops import LoopSpec, Turn, build_loop
from ...onnx.value import Value, apply
from ..activations import activated
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..quantities import limited, require_scalar, rescaled, scale_of, stored
from .convolution import real_weights
from .products import centred

Cell = Callable[[Value, Sequence[Value]], tuple[Value, Sequence[Value]]]
"""One step: the output and the next states, for the input of the step and the states."""


class _Recurrent(TfliteOperator):
    folds: ClassVar[bool] = False
    types: ClassVar[tuple[str, ...]] = ("float32",)

    def keep(self, state: Operand, value: Value) -> None:
        """Makes a value the next one of a variable."""
        if state.tensor.is_variable:
            self.graph.states.assign(state.tensor.name, value)

    def step(self, x: Operand, states: Sequence[Operand], cell: Cell) -> Value:
        """The output of one step, which hands on its states."""
        y, after = cell(x.value, [s.value for s in states])
        for state, value in zip(states, after, strict=True):
            self.keep(state, value)
        return y

    def sequence(
        self, x: Operand, states: Sequence[Operand], cell: Cell, is_time_major: bool, backward: bool = False
    ) -> Value:
        """The outputs of all steps in the order of the input. The last step hands on its states."""
        steps = x.value if is_time_major else x.call("transpose", axes=[1, 0, 2])
        count = steps.extent(0, "the sequence")

        def turn(number: Value, go_on: Value | None, handed: Sequence[Value]) -> Turn:
            place = apply("subtract", Value.constant(np.int64(count - 1)), number) if backward else number
            output, after = cell(steps.call("take", place, axis=0, mode="clip"), handed)
            return Turn(after, (output,), None)

        limit, begin = Value.constant(np.int64(count)), [s.value for s in states]
        *after, outputs = build_loop(self.graph.functions, LoopSpec(limit, None, begin, turn, (backward,)))
        for state, value in zip(states, after, strict=True):
            self.keep(state, value)
        return outputs if is_time_major else outputs.call("transpose", axes=[1, 0, 2])


def product(x: Value, weights: Operand) -> Value:
    """The product of rows with the rows of a matrix."""
    return x.call("nn.dense", real_weights(weights), units=weights.shape[0])


def rnn_cell(w: Operand, r: Operand, bias: Operand, activation: int) -> Cell:
    """A layer of the input, the state and a bias, which is output and next state."""

    def step(x: Value, states: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        total = apply("add", apply("add", product(x, w), product(states[0], r)), bias.value)
        y = activated(total, activation)
        return y, (y,)

    return step


def both_directions(outputs: Sequence[Value], merged: bool) -> Result:
    """The outputs of the forward and of the backward layer: side by side if they are `merged`, or both."""
    return apply("concatenate", Tuple(tuple(y.expr for y in outputs)), axis=2) if merged else list(outputs)


@tflite_operator("RNN")
class Rnn(_Recurrent):
    """One step of a recurrent layer."""

    def convert(
        self,
        x: Operand,
        w: Operand,
        r: Operand,
        bias: Operand,
        state: Operand,
        *,
        fused_activation_function: int = 0,
        asymmetric_quantize_inputs: bool = False,
    ) -> Result:
        return self.step(x, [state], rnn_cell(w, r, bias, fused_activation_function))


@tflite_operator("UNIDIRECTIONAL_SEQUENCE_RNN")
class SequenceRnn(_Recurrent):
    """A recurrent layer over a sequence."""

    def convert(
        self,
        x: Operand,
        w: Operand,
        r: Operand,
        bias: Operand,
        state: Operand,
        *,
        time_major: bool = False,
        fused_activation_function: int = 0,
        asymmetric_quantize_inputs: bool = False,
    ) -> Result:
        cell = rnn_cell(w, r, bias, fused_activation_function)
        return self.sequence(x, [state], cell, time_major)


@tflite_operator("BIDIRECTIONAL_SEQUENCE_RNN")
class BidirectionalRnn(_Recurrent):
    """Recurrent layers over a sequence in both directions."""

    def convert(
        self,
        x: Operand,
        w: Operand,
        r: Operand,
        bias: Operand,
        state: Operand,
        back_w: Operand,
        back_r: Operand,
        back_bias: Operand,
        back_state: Operand,
        other: Operand | None = None,
        other_w: Operand | None = None,
        other_back_w: Operand | None = None,
        *,
        time_major: bool = False,
        fused_activation_function: int = 0,
        merge_outputs: bool = False,
        asymmetric_quantize_inputs: bool = False,
    ) -> Result:
        if other is not None:
            raise self.refuse("an auxiliary input")
        forward = rnn_cell(w, r, bias, fused_activation_function)
        backward = rnn_cell(back_w, back_r, back_bias, fused_activation_function)
        y = self.sequence(x, [state], forward, time_major)
        z = self.sequence(x, [back_state], backward, time_major, backward=True)
        return both_directions([y, z], merge_outputs)


@dataclass(frozen=True)
class Lstm:
    """The weights of an LSTM: of the gates input, forget, cell and output, in this order; None where the input gate is the rest of the
    forget gate, or where peepholes, projection or norms are left out.
    """

    w: Sequence[Operand | None]
    r: Sequence[Operand | None]
    peepholes: Sequence[Operand | None]
    biases: Sequence[Operand | None]
    projection: Operand | None
    projection_bias: Operand | None
    norms: Sequence[Operand | None]
    activation: int
    cell_clip: float
    projection_clip: float

    def step(self, x: Value, states: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        """One step; the states are output and cell."""
        hidden, cell = states
        forget = self._gate(1, x, hidden, cell, self.peepholes[1]).call("sigmoid")
        if self.w[0] is None:
            enter = apply("subtract", Value.constant(np.float32(1)), forget)
        else:
            enter = self._gate(0, x, hidden, cell, self.peepholes[0]).call("sigmoid")
        update = activated(self._gate(2, x, hidden, cell, None), self.activation)
        cell = apply("add", apply("multiply", forget, cell), apply("multiply", enter, update))
        cell = clipped(cell, self.cell_clip)
        leave = self._gate(3, x, hidden, cell, self.peepholes[2]).call("sigmoid")
        y = apply("multiply", leave, activated(cell, self.activation))
        if self.projection is not None:
            y = product(y, self.projection)
            y = y if self.projection_bias is None else apply("add", y, self.projection_bias.value)
            y = clipped(y, self.projection_clip)
        return y, (y, cell)

    def _gate(self, k: int, x: Value, hidden: Value, cell: Value, peephole: Operand | None) -> Value:
        """The sum of a gate before its function."""
        w, r, bias, norm = self.w[k], self.r[k], self.biases[k], self.norms[k]
        assert w is not None and r is not None
        total = apply("add", product(x, w), product(hidden, r))
        if peephole is not None:
            total = apply("add", total, apply("multiply", cell, real_weights(peephole)))
        if norm is not None:
            total = apply("multiply", normalized(total), real_weights(norm))
        return total if bias is None else apply("add", total, real_weights(bias))


def clipped(x: Value, limit: float) -> Value:
    """Numbers limited to both sides of zero; a limit of 0 stands for none."""
    return x.call("clip", a_min=-limit, a_max=limit) if limit > 0 else x


def normalized(x: Value) -> Value:
    """Rows less their mean, divided by their standard deviation."""
    centre = apply("subtract", x, x.call("mean", axis=[-1], keepdims=True))
    variance = apply("multiply", centre, centre).call("mean", axis=[-1], keepdims=True)
    return apply("divide", centre, apply("add", variance, Value.constant(np.float32(1e-8))).call("sqrt"))


class _LstmOperator(_Recurrent):
    def cell(self, inputs: Sequence[Operand | None], activation: int, cell_clip: float, projection_clip: float) -> Lstm:
        """The weights among the inputs behind the data: of four gates, four recurrent, three peepholes, four biases, two of a
        projection, then, behind the states, four norms."""
        row = [*inputs, *(None,) * (23 - len(inputs))]
        if any(row[i] is None for i in (1, 2, 3, 5, 6, 7)):
            raise self.damaged("the weights of a gate are missing")
        return Lstm(
            row[0:4],
            row[4:8],
            row[8:11],
            row[11:15],
            row[15],
            row[16],
            row[19:23],
            activation,
            cell_clip,
            projection_clip,
        )

    def states_of(self, inputs: Sequence[Operand | None]) -> tuple[Operand, Operand]:
        """The states among the inputs behind the data."""
        hidden, cell = inputs[17:19] if len(inputs) >= 19 else (None, None)
        if hidden is None or cell is None:
            raise self.damaged("its states are missing")
        if hidden.dtype != "float32":
            raise self.refuse(f"states of {hidden.dtype}")
        return hidden, cell

    def _check(self, inputs: Sequence[Operand | None]) -> None:
        super()._check([inputs[0]] if inputs else [])


@tflite_operator("UNIDIRECTIONAL_SEQUENCE_LSTM")
class SequenceLstm(_LstmOperator):
    """An LSTM over a sequence."""

    def convert(
        self,
        x: Operand,
        *inputs: Operand,
        fused_activation_function: int = 0,
        cell_clip: float = 0.0,
        proj_clip: float = 0.0,
        time_major: bool = False,
        asymmetric_quantize_inputs: bool = False,
        diagonal_recurrent_tensors: bool = False,
    ) -> Result:
        if diagonal_recurrent_tensors:
            raise self.refuse("diagonal_recurrent_tensors")
        states = self.states_of(inputs)
        lstm = self.cell(inputs, fused_activation_function, cell_clip, proj_clip)
        return self.sequence(x, states, lstm.step, time_major)


@tflite_operator("BIDIRECTIONAL_SEQUENCE_LSTM")
class BidirectionalLstm(_LstmOperator):
    """LSTMs over a sequence in both directions."""

    def convert(
        self,
        x: Operand,
        *inputs: Operand,
        fused_activation_function: int = 0,
        cell_clip: float = 0.0,
        proj_clip: float = 0.0,
        merge_outputs: bool = False,
        time_major: bool = True,
        asymmetric_quantize_inputs: bool = False,
    ) -> Result:
        if len(inputs) < 38 or any(i is not None for i in inputs[38:]):
            raise self.refuse("an auxiliary input")
        results: list[Value] = []
        for direction in (0, 1):
            weights = [*inputs[17 * direction : 17 * direction + 17], *inputs[34 + 2 * direction : 36 + 2 * direction]]
            states = self.states_of(weights)
            lstm = self.cell(weights, fused_activation_function, cell_clip, proj_clip)
            results.append(self.sequence(x, states, lstm.step, time_major, backward=bool(direction)))
        return both_directions(results, merge_outputs)


@tflite_operator("LSTM")
class LstmStep(_LstmOperator):
    """One step of an LSTM; of kernel type 1 (BASIC) with the weights of all gates in one matrix."""

    def convert(
        self,
        x: Operand,
        *inputs: Operand,
        fused_activation_function: int = 0,
        cell_clip: float = 0.0,
        proj_clip: float = 0.0,
        kernel_type: int = 0,
        asymmetric_quantize_inputs: bool = False,
    ) -> Result:
        if kernel_type == 1:
            return self._basic(x, *inputs)
        states = self.states_of(inputs)
        lstm = self.cell(inputs, fused_activation_function, cell_clip, proj_clip)
        return self.step(x, states, lstm.step)

    def _basic(self, x: Operand, hidden: Operand, w: Operand, bias: Operand, cell: Operand) -> list[Value]:
        """Output, cell, the input beside the last output, and the sums of all gates."""
        if x.dtype != "float32":
            raise self.refuse(f"elements of {x.dtype}")
        both = apply("concatenate", Tuple((x.value.expr, hidden.value.expr)), axis=1)
        total = apply("add", product(both, w), bias.value)
        n = cell.shape[1]
        enter, update, forget, leave = (
            total.call("strided_slice", begin=[k * n], end=[(k + 1) * n], strides=[1], axes=[1]) for k in range(4)
        )
        fresh = apply("multiply", enter.call("sigmoid"), update.call("tanh"))
        state = apply("add", fresh, apply("multiply", forget.call("sigmoid"), cell.value))
        y = apply("multiply", leave.call("sigmoid"), state.call("tanh"))
        return [y, state, both, total]


@tflite_operator("SVDF")
class Svdf(_Recurrent):
    """Filters of rank one or more over the last inputs, which the state has."""

    types: ClassVar[tuple[str, ...]] = ("float32", "int8")

    def convert(
        self,
        x: Operand,
        features: Operand,
        times: Operand,
        bias: Operand | None,
        state: Operand,
        *,
        rank: int = 0,
        fused_activation_function: int = 0,
        asymmetric_quantize_inputs: bool = False,
    ) -> Result:
        filters, memory = times.shape
        batch = x.shape[0]
        if rank < 1 or filters % rank or features.shape[0] != filters:
            raise self.damaged(f"{filters} filters of rank {rank}")
        is_integer = x.dtype == "int8"
        old = state.call("reshape", newshape=[batch, filters, memory])
        rest = old.call("strided_slice", begin=[1], end=[memory], strides=[1], axes=[2])
        latest = self._latest(x, features, state) if is_integer else product(x.value, features)
        parts = [rest.expr, latest.call("reshape", newshape=[batch, filters, 1]).expr]
        after = apply("concatenate", Tuple(tuple(parts)), axis=2)
        flat = after.call("reshape", newshape=[batch, filters * memory])
        self.keep(state, flat)
        wide = (cast(after, "int32"), cast(times.value, "int32")) if is_integer else (after, real_weights(times))
        sums = apply("multiply", *wide).call("sum", axis=[2])
        sums = sums.call("reshape", newshape=[batch, filters // rank, rank]).call("sum", axis=[2])
        if bias is not None:
            sums = apply("add", sums, cast(bias.value, sums.dtype))
        if not is_integer:
            return activated(sums, fused_activation_function)
        factor = scale_of(require_scalar(state)) * scale_of(require_scalar(times)) / scale_of(self.out_q)
        return stored(rescaled(sums, factor), self.out_q, "int8")  # the kernel asks for RELU, and applies none

    def _latest(self, x: Operand, features: Operand, state: Operand) -> Value:
        """The products of the newest input, in steps of the state."""
        sums = centred(x, features)
        factor = scale_of(require_scalar(x)) * scale_of(require_scalar(features)) / scale_of(require_scalar(state))
        return cast(limited(rescaled(sums, factor), -32768, 32767), "int16")
