"""The names of a function's tensors in the model that it was made from: those of its inputs and outputs outside of Relay.

    def @main(%image_0: …, %w: …, input_tensor_names=["image:0"], output_tensor_names=["scores:0"])

`output_tensor_names`, which TVM's importer of TFLite writes, has the outputs in order. `input_tensor_names` has the first parameters
in order, those behind them being weights; it is there where a name is not that of the parameter. Both are attributes as others
are: a text may have anything in their place, which then names nothing.

    def @main(%image: Tensor[(?, 3, ?, ?), float32], input_dim_names=[["batch", "", "height", "width"]], output_dim_names=[["batch", ""]])

`input_dim_names` has the names of extents that are open, for each of the first parameters; an extent without a name has the
empty string. `output_dim_names` has those of the outputs.

`input_shapes` has, for each of the first parameters, the shapes of its tensors as callers know them, where the function needs lengths
to be equal that have names of their own: `input_shapes=[[[a, 4]], [[b, 4]]]` of parameters that are both `Tensor[(a, 4), float32]`.

    def @main(%x: …, %h: …, state_outputs=[-1, 1])

`state_outputs` has, for each of the first parameters, the number of the output that is its value in the next call; -1 for others. A build
keeps such a parameter in the memory of an instance. `state_values`, which a binding of weights adds, has constants with which states begin,
by the names of their parameters. `state_lengths`, which a build adds, has a row for each length in shapes of states: the length, its value
in the next call, and its greatest value; `written_states` has the names of states in whose memory a step writes rows behind those of the
steps before. `index_limits` has the numbers of rows that inputs choose from, by the names of their parameters: of tokens, the size of the vocabulary.

    def @main(%images: …, %w: …, state_outputs=[-1, 1], loss_output=0)

`loss_output` is the number of the output of a training step that is the loss. What it is computed of is the forward pass. `ram_limit` is the
most bytes of workspace that a build may plan for the function; it computes values again to that end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .expr import Constant, Function, Var
from .types import TensorType, Type

INPUTS = "input_tensor_names"
OUTPUTS = "output_tensor_names"
INPUT_DIMS = "input_dim_names"
OUTPUT_DIMS = "output_dim_names"
STATES = "state_outputs"
INPUT_SHAPES = "input_shapes"
FIRST_VALUES = "state_values"
STATE_LENGTHS = "state_lengths"
WRITTEN_STATES = "written_states"
INDEX_LIMITS = "index_limits"
LOSS = "loss_output"
RAM_LIMIT = "ram_limit"


def output_names(f: Function) -> tuple[str, ...]:
    """The names of the outputs, tuples taken apart; fewer than these where not all are known."""
    return _names(f.attrs.get(OUTPUTS))


def input_names(f: Function) -> dict[Var, str]:
    """The names of the parameters that are inputs of the model, where they are known."""
    return dict(zip(f.params, _names(f.attrs.get(INPUTS)), strict=False))


def parameters_by_input(f: Function) -> dict[str, str]:
    """The names of parameters by those that they have in the model, where these are others and no parameter has them."""
    taken = {p.name for p in f.params}
    by_input = {name: p.name for p, name in input_names(f).items() if name not in taken}
    return by_input if len(by_input) == len(set(by_input.values())) else {}


def input_dims(f: Function) -> dict[Var, tuple[str, ...]]:
    """The names of the extents of parameters with known names; the empty string for an extent without one."""
    return dict(zip(f.params, _lists(f.attrs.get(INPUT_DIMS)), strict=False))


def output_dims(f: Function) -> list[tuple[str, ...]]:
    """The same for the outputs, in order; fewer than these where not all are known."""
    return _lists(f.attrs.get(OUTPUT_DIMS))


def state_outputs(f: Function) -> dict[Var, int]:
    """The parameters that are states, with the numbers of the outputs that are their next values."""
    return {p: n for p, n in zip(f.params, _numbers(f.attrs.get(STATES)), strict=False) if n >= 0}


def loss_output(f: Function) -> int | None:
    """The number of the output that is the loss of a training step; None for other functions."""
    return _number(f.attrs.get(LOSS))


def ram_limit(f: Function) -> int | None:
    """The most bytes of workspace for the function; None for no limit."""
    return _number(f.attrs.get(RAM_LIMIT))


def input_shapes(f: Function) -> dict[Var, list[tuple[int, ...]]]:
    """The shapes of the tensors of parameters as callers know them; empty where these are those of the types."""
    rows = f.attrs.get(INPUT_SHAPES)
    if not isinstance(rows, list | tuple) or len(rows) != len(f.params):
        return {}
    return {p: [tuple(shape) for shape in row] for p, row in zip(f.params, rows, strict=True)}


def state_lengths(f: Function) -> list[tuple[int, int, int]]:
    """The lengths in shapes of states, each with its value in the next call, and its greatest value."""
    return [(before, after, capacity) for before, after, capacity in f.attrs.get(STATE_LENGTHS, ())]


def index_limits(f: Function) -> dict[str, int]:
    """The numbers of rows that inputs choose from, by the names of their parameters."""
    limits = f.attrs.get(INDEX_LIMITS)
    return {str(n): int(size) for n, size in limits.items()} if isinstance(limits, Mapping) else {}


def first_values(f: Function) -> dict[str, Constant]:
    """The constants with which states begin, by the names of their parameters; others begin with zeros."""
    values = f.attrs.get(FIRST_VALUES)
    return {n: c for n, c in values.items() if isinstance(c, Constant)} if isinstance(values, Mapping) else {}


def show_named(t: Type | None, names: Sequence[str]) -> str:
    """A type as text, with names in the place of the `?` of open extents: `Tensor[(batch, 3), float32]`."""
    if not isinstance(t, TensorType) or t.is_static or not any(names):
        return repr(t)
    named_dims = zip(t.shape, [*names, *[""] * len(t.shape)], strict=False)
    return f"Tensor[({', '.join(n if n and not isinstance(d, int) else repr(d) for d, n in named_dims)}), {t.dtype}]"


def without_inputs(attrs: Mapping[str, Any], f: Function, is_gone: Callable[[Var], bool]) -> Mapping[str, Any]:
    """Attributes of `f` for the same function without some of its parameters."""
    remaining: dict[str, Any] = {}
    if names := _names(attrs.get(INPUTS)):
        remaining[INPUTS] = [n for p, n in zip(f.params, names, strict=False) if not is_gone(p)]
    if dims := _lists(attrs.get(INPUT_DIMS)):
        remaining[INPUT_DIMS] = [list(d) for p, d in zip(f.params, dims, strict=False) if not is_gone(p)]
    if outputs := _numbers(attrs.get(STATES)):
        remaining[STATES] = [n for p, n in zip(f.params, outputs, strict=False) if not is_gone(p)]
    if shapes := attrs.get(INPUT_SHAPES):
        remaining[INPUT_SHAPES] = [s for p, s in zip(f.params, shapes, strict=False) if not is_gone(p)]
    return {**attrs, **remaining} if remaining else attrs


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        return ()
    return tuple(map(str, value))


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _numbers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, int) for v in value):
        return ()
    return tuple(map(int, value))


def _lists(value: Any) -> list[tuple[str, ...]]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, list | tuple) for v in value):
        return []
    names = [_names(v) for v in value]
    return names if all(len(a) == len(b) for a, b in zip(names, value, strict=True)) else []
