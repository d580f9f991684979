"""The common part of LSTM, GRU and RNN: a cell that runs over a sequence, in one direction or both.

The product of all inputs with the weights is one matrix product before the loop; the loop has the product with the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...deferred import np
from ...diagnostics import IrError
from ...ir import Tuple, TupleGetItem
from ...ir.dims import is_number
from .length_values import extent_of_axis
from .loops import LoopSpec, Turn, build_loop
from .memory_limit import filled
from .mistakes import DamagedModel, UnknownExtent, UnsupportedNode
from .program import Functions
from .value import Value, apply

Step = Callable[[Value, Sequence[Value]], Sequence[Value]]
"""New states, the output first among them, of what the inputs contribute to the gates (batch x gates) and the old states."""

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""For each direction of the attribute, if it runs backwards."""


class Weights:
    """The weights of the gates, by which rows of inputs or states are multiplied."""

    def product(self, x: Value) -> Value:
        """`x` of rows x depth, times the weights: rows x gates."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RealWeights(Weights):
    """Weights in floating point: gates x depth."""

    matrix: Value

    def product(self, x: Value) -> Value:
        return x.call("nn.dense", self.matrix, units=None)

    def rows(self, begin: int, end: int) -> RealWeights:
        """The weights of some of the gates."""
        return RealWeights(self.matrix.call("strided_slice", begin=[begin], end=[end], strides=[1], axes=[0]))


@dataclass(frozen=True, eq=False)
class Cell:
    """A cell with its weights.

    Attributes:
        weights: of the inputs.
        bias: added to their product: gates; None without one.
        step: one step.
    """

    weights: Weights
    bias: Value | None
    step: Step


@dataclass(frozen=True, eq=False)
class Sequences:
    """The inputs of a recurrent operator, steps first: steps x batch x input.

    Attributes:
        lengths: of each sequence, int32; None if all are as long as the tensor.
        initial: of each state, direction x batch x hidden; None for zeros.
    """

    inputs: Value
    lengths: Value | None
    initial: Sequence[Value | None]
    hidden: int


def split_directions(value: Value | None, count: int) -> list[Value | None]:
    """A tensor for each direction, of one whose first axis they are."""
    if value is None:
        return [None] * count
    if value.rank == 0 or value.shape[0] != count:
        raise IrError(f"a tensor for each of {count} directions is {value.tensor}", code=DamagedModel)
    return [part(value, k) for k in range(count)]


def part(value: Value, k: int) -> Value:
    """The part of a tensor at a place of axis 0."""
    if value.known is not None and not value.parameter:
        return Value.constant(value.known[k], value.dtype)
    rest = value.extents("a tensor of a recurrent operator")[1:]
    if value.shape[0] != 1:
        value = value.call("strided_slice", begin=[k], end=[k + 1], strides=[1], axes=[0])
    return value.call("reshape", newshape=list(rest))


def columns(value: Value, group: int, width: int) -> Value:
    """So many columns of a matrix (or elements of a vector), from that `group` of them on."""
    axis = value.rank - 1
    return value.call("strided_slice", begin=[group * width], end=[(group + 1) * width], strides=[1], axes=[axis])


def run_cells(
    functions: Functions, cells: Sequence[tuple[Cell, bool]], sequences: Sequences, with_outputs: bool
) -> tuple[Value | None, list[Value]]:
    """The outputs of all steps (steps x direction x batch x hidden; None if they are not wanted), and the last states
    (direction x batch x hidden).
    """
    outputs, lasts = [], []
    for k, (cell, backward) in enumerate(cells):
        results = _run(functions, cell, backward, sequences, k, with_outputs)
        count = len(sequences.initial)
        lasts.append(results[:count])
        outputs += results[count:]
    last = [_stacked([states[s] for states in lasts], 0) for s in range(len(sequences.initial))]
    return (_stacked(outputs, 1) if with_outputs else None), last


def _stacked(values: Sequence[Value], axis: int) -> Value:
    if len(values) == 1:
        return values[0].call("expand_dims", axis=axis)
    return apply("stack", Tuple(tuple(v.expr for v in values)), axis=axis)


def _run(
    functions: Functions, cell: Cell, backward: bool, sequences: Sequences, direction: int, with_outputs: bool
) -> list[Value]:
    x = sequences.inputs
    steps, batch, width = x.shape
    if not isinstance(batch, int) or not isinstance(width, int):
        raise IrError(f"the input is {x.tensor}: batch and width must be known", code=UnknownExtent)
    product = cell.weights.product(x.call("reshape", newshape=[-1, width]))
    gates = product.shape[1]
    if cell.bias is not None:
        product = product.call("nn.bias_add", cell.bias)
    product = product.call("reshape", newshape=[steps if isinstance(steps, int) else -1, batch, gates])
    count = extent_of_axis(x, 0)
    zeros = apply("zeros", shape=[batch, sequences.hidden], dtype=x.dtype)
    initial = [zeros if v is None else part(v, direction) for v in sequences.initial]
    lengths = sequences.lengths
    if lengths is not None:
        lengths = lengths.call("reshape", newshape=[batch, 1]).call("cast", dtype="int64")

    parts = _parts_of_steps(product, steps) if functions.training and isinstance(steps, int) and steps > 1 else ()

    def turn(number: Value, _: Value | None, states: Sequence[Value]) -> Turn:
        if backward:
            number = count.call("subtract", Value.constant(np.int64(1))).call("subtract", number)
        own = parts[int(number.known)] if parts and number.known is not None else product.call("take", number, axis=0)
        new = list(cell.step(own, states))
        output = new[0]
        if lengths is not None:
            within = number.call("less", lengths)
            output = within.call("where", output, zeros)
            new = [within.call("where", n, s) for n, s in zip(new, states, strict=True)]
        return Turn(new, [output] if with_outputs else [])

    apart: list[Value] = []  # a product with a state that the build knows is a constant
    if is_number(batch) and all(v is None or v.known is not None for v in sequences.initial):
        constant = Value.constant(filled((batch, sequences.hidden), 0, "the first state", x.dtype))
        apart = [constant if v is None else s for v, s in zip(sequences.initial, initial, strict=True)]
    spec = LoopSpec(count, None, initial, turn, [backward] * with_outputs, names=("h", "c"), apart=apart)
    return build_loop(functions, spec)


def _parts_of_steps(product: Value, steps: int) -> list[Value]:
    """The parts of all steps at once: the gradient by the whole is then one concatenation, not a sum of so many tensors of its size."""
    parts = product.call("split", indices_or_sections=steps, axis=0).expr
    return [Value.of(TupleGetItem(parts, n)).call("squeeze", axis=[0]) for n in range(steps)]


def check_cell(
    op_type: str,
    w: Value,
    r: Value,
    b: Value | None,
    gates: int,
    hidden: int | None,
    count: int,
    gates_last: bool = False,
) -> int:
    """The number of hidden elements. Raises IrError if the shapes of the weights do not fit.

    The gates are the axis 1 of the weights, or with `gates_last` their axis 2.
    """
    for name, v, rank in (("W", w, 3), ("R", r, 3), ("B", b, 2)):
        if v is not None and v.rank != rank:
            raise IrError(f"the input {name} of {op_type} is {v.tensor}, not of rank {rank}", code=DamagedModel)
    size = r.extents(f"the input R of {op_type}")[1 if gates_last else 2]
    whole = (count, size, gates * size) if gates_last else (count, gates * size, size)
    expected = {"R": whole, "B": (count, 2 * gates * size)}
    if hidden not in (None, size):
        raise IrError(f"hidden_size is {hidden}, and the input R of {op_type} is {r.tensor}", code=DamagedModel)
    for name, v in (("R", r), ("B", b)):
        if v is not None and v.shape != expected[name]:
            raise IrError(f"the input {name} of {op_type} is {v.tensor}, not {expected[name]}", code=DamagedModel)
    extents = w.extents(f"the input W of {op_type}")
    if (extents[0], extents[2 if gates_last else 1]) != (count, gates * size):
        rest = f"…, {gates * size}" if gates_last else f"{gates * size}, …"
        raise IrError(f"the input W of {op_type} is {w.tensor}, not ({count}, {rest})", code=DamagedModel)
    return size


def directions_of(direction: str) -> tuple[bool, ...]:
    """For each direction, true if it runs backwards. Raises IrError for an unknown word."""
    if direction not in DIRECTIONS:
        raise IrError(f"the direction {direction} is not known", code=UnsupportedNode)
    return DIRECTIONS[direction]
