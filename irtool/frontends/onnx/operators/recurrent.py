"""LSTM, GRU and RNN: loops whose weights exist once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ....deferred import np
from ....diagnostics import IrError
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..recurrence import (
    Cell,
    RealWeights,
    Sequences,
    Step,
    check_cell,
    columns,
    directions_of,
    part,
    run_cells,
    split_directions,
)
from ..value import Value
from .recurrent_activations import Activation, activations


class Recurrent(OnnxOperator):
    """Base of the operators that run a cell over sequences."""

    folds: ClassVar[bool] = False
    gates: ClassVar[int]
    defaults: ClassVar[tuple[str, ...]]
    """The activations of a direction."""
    gates_last: ClassVar[bool] = False
    """True where the gates are the last axis of the weights, not the one behind the directions."""

    def run(
        self,
        inputs: tuple[Value, Value, Value, Value | None, Value | None],
        initial: Sequence[Value | None],
        peepholes: Value | None = None,
        *,
        direction: str,
        hidden_size: int | None,
        layout: int,
        names: Sequence[str] | None,
        alphas: Sequence[float],
        betas: Sequence[float],
        **options: Any,
    ) -> list[Value | None]:
        """The outputs: those of all steps, then the last states."""
        x, w, r, b, lengths = inputs
        backward = directions_of(direction)
        count = len(backward)
        what = self.node.op_type
        if x.rank != 3:
            raise IrError(f"the input X of {what} is {x.tensor}, not of rank 3", code=DamagedModel)
        hidden = check_cell(what, w, r, b, self.gates, hidden_size, count, self.gates_last)
        names = list(names or self.defaults * count)
        if len(names) != len(self.defaults) * count:
            raise IrError(f"{what} needs {len(self.defaults) * count} activations, not {len(names)}", code=DamagedModel)
        functions = activations(names, alphas, betas)
        if layout:
            x = x.call("transpose", axes=[1, 0, 2])
            initial = [v and v.call("transpose", axes=[1, 0, 2]) for v in initial]
        if lengths is not None and lengths.known is not None and (lengths.known == x.shape[0]).all():
            lengths = None
        by_direction = [split_directions(v, count) for v in (b, peepholes)]
        cells = []
        for k, flag in enumerate(backward):
            own = functions[k * len(self.defaults) : (k + 1) * len(self.defaults)]
            b_k, p_k = (v[k] for v in by_direction)
            of_inputs, of_state = self.weights(part(w, k), part(r, k), k)
            cells.append((self.cell(of_inputs, of_state, b_k, p_k, hidden, own, **options), flag))
        sequences = Sequences(x, lengths, initial, hidden)
        outputs, last = run_cells(self.graph.functions, cells, sequences, self.wants(0))
        if layout:
            outputs = outputs and outputs.call("transpose", axes=[2, 0, 1, 3])
            last = [v.call("transpose", axes=[1, 0, 2]) for v in last]
        return [outputs, *last]

    def weights(self, w: Value, r: Value, direction: int) -> tuple[Any, Any]:
        """The weights of inputs and states of one direction."""
        return RealWeights(w), RealWeights(r)

    def cell(
        self, w: Any, r: Any, b: Value | None, p: Value | None, hidden: int, f: Sequence[Activation], **options: Any
    ) -> Cell:
        """The cell of one direction, of weights as `weights` gives them."""
        raise NotImplementedError

    def whole_bias(self, b: Value | None, hidden: int) -> Value | None:
        """The sum of the biases of inputs and state."""
        if b is None:
            return None
        width = self.gates * hidden
        return columns(b, 0, width).call("add", columns(b, 1, width))


def _clipped(x: Value, clip: float | None) -> Value:
    return x if clip is None else x.call("clip", a_min=-clip, a_max=clip)


def _one(x: Value) -> Value:
    return Value.constant(np.array(1, x.dtype))


@onnx_operator("RNN")
class Rnn(Recurrent):
    """H = f(X W + H R + B)."""

    gates = 1
    defaults = ("Tanh",)

    @since(7, 14, 22)
    def rnn(
        self,
        x: Value,
        w: Value,
        r: Value,
        b: Value | None = None,
        sequence_lens: Value | None = None,
        initial_h: Value | None = None,
        *,
        activations: Sequence[str] | None = None,
        activation_alpha: Sequence[float] = (),
        activation_beta: Sequence[float] = (),
        clip: float | None = None,
        direction: str = "forward",
        hidden_size: int | None = None,
        layout: int = 0,
    ) -> Result:
        return self.run(
            (x, w, r, b, sequence_lens),
            [initial_h],
            direction=direction,
            hidden_size=hidden_size,
            layout=layout,
            names=activations,
            alphas=activation_alpha,
            betas=activation_beta,
            clip=clip,
        )

    def cell(
        self, w: Any, r: Any, b: Value | None, p: Value | None, hidden: int, f: Sequence[Activation], **options: Any
    ) -> Cell:
        clip = options["clip"]

        def step(x: Value, states: Sequence[Value]) -> Sequence[Value]:
            return [f[0](_clipped(x.call("add", r.product(states[0])), clip))]

        return Cell(w, self.whole_bias(b, hidden), step)


@onnx_operator("LSTM")
class Lstm(Recurrent):
    """Gates i, o, f and c; C = f ⊙ C + i ⊙ c, H = o ⊙ h(C). Peepholes let the gates see C."""

    gates = 4
    defaults = ("Sigmoid", "Tanh", "Tanh")

    @since(7, 14, 22)
    def lstm(
        self,
        x: Value,
        w: Value,
        r: Value,
        b: Value | None = None,
        sequence_lens: Value | None = None,
        initial_h: Value | None = None,
        initial_c: Value | None = None,
        p: Value | None = None,
        *,
        activations: Sequence[str] | None = None,
        activation_alpha: Sequence[float] = (),
        activation_beta: Sequence[float] = (),
        clip: float | None = None,
        direction: str = "forward",
        hidden_size: int | None = None,
        input_forget: int = 0,
        layout: int = 0,
    ) -> Result:
        return self.run(
            (x, w, r, b, sequence_lens),
            [initial_h, initial_c],
            p,
            direction=direction,
            hidden_size=hidden_size,
            layout=layout,
            names=activations,
            alphas=activation_alpha,
            betas=activation_beta,
            clip=clip,
            input_forget=input_forget,
        )

    def cell(
        self, w: Any, r: Any, b: Value | None, p: Value | None, hidden: int, f: Sequence[Activation], **options: Any
    ) -> Cell:
        clip, coupled = options["clip"], options["input_forget"]
        if p is not None and p.shape != (3 * hidden,):
            raise IrError(f"the peepholes of a direction of LSTM are {p.tensor}, not ({3 * hidden})", code=DamagedModel)
        to_i, to_o, to_f = (None, None, None) if p is None else (columns(p, k, hidden) for k in range(3))

        def seeing(gate: Value, state: Value, peephole: Value | None) -> Value:
            return gate if peephole is None else gate.call("add", state.call("multiply", peephole))

        def step(x: Value, states: Sequence[Value]) -> Sequence[Value]:
            h, c = states
            gates = x.call("add", r.product(h))
            i, o, forget, new = (columns(gates, k, hidden) for k in range(4))
            i = f[0](_clipped(seeing(i, c, to_i), clip))
            forget = _one(i).call("subtract", i) if coupled else f[0](_clipped(seeing(forget, c, to_f), clip))
            c = forget.call("multiply", c).call("add", i.call("multiply", f[1](_clipped(new, clip))))
            o = f[0](_clipped(seeing(o, c, to_o), clip))
            return [o.call("multiply", f[2](c)), c]

        return Cell(w, self.whole_bias(b, hidden), step)


@onnx_operator("GRU")
class Gru(Recurrent):
    """Gates z, r and h; H = (1 - z) ⊙ h + z ⊙ H, where h sees the old H through r."""

    gates = 3
    defaults = ("Sigmoid", "Tanh")

    @since(7, 14, 22)
    def gru(
        self,
        x: Value,
        w: Value,
        r: Value,
        b: Value | None = None,
        sequence_lens: Value | None = None,
        initial_h: Value | None = None,
        *,
        activations: Sequence[str] | None = None,
        activation_alpha: Sequence[float] = (),
        activation_beta: Sequence[float] = (),
        clip: float | None = None,
        direction: str = "forward",
        hidden_size: int | None = None,
        layout: int = 0,
        linear_before_reset: int = 0,
    ) -> Result:
        return self.run(
            (x, w, r, b, sequence_lens),
            [initial_h],
            direction=direction,
            hidden_size=hidden_size,
            layout=layout,
            names=activations,
            alphas=activation_alpha,
            betas=activation_beta,
            clip=clip,
            linear_before_reset=linear_before_reset,
        )

    def cell(
        self, w: Any, r: Any, b: Value | None, p: Value | None, hidden: int, f: Sequence[Activation], **options: Any
    ) -> Cell:
        step = self._linear_first if options["linear_before_reset"] else self._reset_first
        bias = self.whole_bias(b, hidden)
        if b is not None and options["linear_before_reset"]:
            bias = columns(b, 0, 3 * hidden)
        return Cell(w, bias, step(r, b, hidden, f, options["clip"]))

    def _reset_first(
        self, r: RealWeights, b: Value | None, hidden: int, f: Sequence[Activation], clip: float | None
    ) -> Step:
        """h = g(X W + (r ⊙ H) R + B)."""
        r_gates, r_new = r.rows(0, 2 * hidden), r.rows(2 * hidden, 3 * hidden)

        def step(x: Value, states: Sequence[Value]) -> Sequence[Value]:
            (h,) = states
            x_gates = x.call("strided_slice", begin=[0], end=[2 * hidden], strides=[1], axes=[1])
            gates = f[0](_clipped(x_gates.call("add", r_gates.product(h)), clip))
            update, reset = columns(gates, 0, hidden), columns(gates, 1, hidden)
            seen = r_new.product(reset.call("multiply", h))
            return [_mixed(update, f[1](_clipped(columns(x, 2, hidden).call("add", seen), clip)), h)]

        return step

    def _linear_first(
        self, r: RealWeights, b: Value | None, hidden: int, f: Sequence[Activation], clip: float | None
    ) -> Step:
        """h = g(X W + B + r ⊙ (H R + B'))."""
        state_bias = None if b is None else columns(b, 1, 3 * hidden)

        def step(x: Value, states: Sequence[Value]) -> Sequence[Value]:
            (h,) = states
            seen = r.product(h)
            if state_bias is not None:
                seen = seen.call("nn.bias_add", state_bias)
            update, reset = (
                f[0](_clipped(columns(x, k, hidden).call("add", columns(seen, k, hidden)), clip)) for k in range(2)
            )
            new = columns(x, 2, hidden).call("add", reset.call("multiply", columns(seen, 2, hidden)))
            return [_mixed(update, f[1](_clipped(new, clip)), h)]

        return step


def _mixed(update: Value, new: Value, old: Value) -> Value:
    """(1 - z) ⊙ new + z ⊙ old."""
    weighted = _one(update).call("subtract", update).call("multiply", new)
    return weighted.call("add", update.call("multiply", old))
