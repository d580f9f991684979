"""The lengths in shapes of states: those that steps change, of which an instance keeps the present value, and those that all steps share.

    def @main(%past: Tensor[(past, 8), float32], %x: Tensor[(n, 8), float32], state_outputs=[0, -1]) { concatenate((%past, %x)) }

Here `past` is a position: an instance begins with 0 rows, and a step adds `n` to it. Its bound is the capacity of the states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..diagnostics import IrError
from ..infer import infer_types
from ..infer.equal_lengths import replaced
from ..infer.lengths import symbols_of_module, symbols_of_params, with_extents
from ..interp.value_hints import Uses
from ..ir import Function, Module, TensorType, Var, tuple_leaves
from ..ir.dims import is_number
from ..ir.expr import with_function
from ..ir.tensor_names import INDEX_LIMITS, INPUT_SHAPES, STATE_LENGTHS, first_values, state_outputs
from ..lower.mistakes import DynamicShape, StateMismatch
from ..ops.typical import Below
from ..symbolic_int import Symbol, extent_of, interval, symbol_of, symbols_of


def with_state_lengths(module: Module, entry: str) -> Module:
    """The typed module whose entry says which lengths its states have; itself if their shapes have none.

    Positions count from 0 in it, and leave room for what a step adds at least.
    Raises IrError for a state whose next value cannot take its place, and for lengths that no instance can keep.
    """
    function = module.functions.get(entry)
    if not isinstance(function, Function) or STATE_LENGTHS in function.attrs or not (pairs := _pairs(function)):
        return module
    for p, (t, _) in pairs.items():
        if not all(map(is_number, t.shape)):
            _require_lengths(function, p, t)
    symbols = symbols_of(d for t, _ in pairs.values() for d in t.shape if isinstance(d, int))
    if not symbols:
        return module
    after = next_lengths(function, pairs)
    capacity = {s: s.high for s in symbols}
    from_zero = {s: extent_of(_from_zero(function, s, d)) for s, d in after.items()}
    if from_zero:
        shapes = function.attrs.get(INPUT_SHAPES)
        module = infer_types(with_extents(module, _all_lengths(module, from_zero)))
        function = module[entry]
        assert isinstance(function, Function)
        if shapes:
            changed = [[[replaced(d, from_zero) for d in shape] for shape in row] for row in shapes]
            function = with_function(function, attrs={**function.attrs, INPUT_SHAPES: changed})
        after = next_lengths(function, _pairs(function))
    rows = []
    for s in symbols:
        extent = from_zero.get(s, extent_of(s))
        symbol = symbol_of(extent)
        assert symbol is not None
        rows.append([extent, after.get(symbol, extent), capacity[s]])
    about = {STATE_LENGTHS: rows, INDEX_LIMITS: _index_limits(function, module)}
    return module.with_function(entry, with_function(function, attrs={**function.attrs, **about}))


def _index_limits(function: Function, module: Module) -> dict[str, int]:
    """The numbers of rows that inputs choose from, by the names of their parameters."""
    uses, limits = Uses(function, module), {}
    for p in function.params:
        t, typical = p.checked_type or p.type_annotation, uses.of(p)
        if isinstance(t, TensorType) and isinstance(typical, Below) and "int" in t.dtype and is_number(typical.size):
            limits[p.name] = int(typical.size)
    return limits


Pairs = Mapping[Var, tuple[TensorType, TensorType]]
"""The states, each with its type and that of its next value."""


def _pairs(function: Function) -> Pairs:
    results = list(tuple_leaves(function.body.known_type))
    pairs = {}
    for p, n in state_outputs(function).items():
        t = p.checked_type or p.type_annotation
        after = results[n] if n < len(results) else None
        if isinstance(t, TensorType) and isinstance(after, TensorType):
            pairs[p] = (t, after)
    return pairs


def next_lengths(function: Function, pairs: Pairs) -> dict[Symbol, int]:
    """The lengths that a step changes, with their next values. Raises IrError for shapes that no values of lengths make equal."""
    after: dict[Symbol, int] = {}
    for p, (t, then) in pairs.items():
        if len(t.shape) != len(then.shape):
            raise _refuse(p, t, then)
        for d, e in zip(t.shape, then.shape, strict=True):
            if isinstance(d, int) and isinstance(e, int) and d != e:
                symbol = symbol_of(d)
                if symbol is None or after.get(symbol, e) != e:
                    raise _refuse(p, t, then)
                after[symbol] = e
    own = symbols_of_params(function)
    for p, (t, then) in pairs.items():
        shape = [replaced(d, after) for d in t.shape]
        # What passes find out about other extents is compared when the program is lowered.
        if t.dtype != then.dtype or any(isinstance(e, int) and d != e for d, e in zip(shape, then.shape, strict=True)):
            raise _refuse(p, t, then)
        if foreign := [s.name for s in symbols_of(d for d in then.shape if isinstance(d, int)) if s not in own]:
            raise IrError(
                f"the next value of the state %{p.name} has an extent that follows from values: {foreign[0]}",
                p.span,
                code=StateMismatch,
            )
    return after


def _require_lengths(function: Function, p: Var, t: TensorType) -> None:
    """Raises IrError for a state with an extent that nothing bounds, and for first values of a state with a length."""
    if not all(isinstance(d, int) for d in t.shape):
        raise IrError(
            f"the state %{p.name} is {t.dtype}[{', '.join(map(str, t.shape))}]: its memory needs a bound for each extent",
            p.span,
            help="--dim 'past<=512', --shape 'h=?<=8,64'",
            code=DynamicShape,
        )
    if p.name in first_values(function):
        raise IrError(
            f"the state %{p.name} has a length that a run decides: it begins without values", p.span, code=StateMismatch
        )


def _refuse(p: Var, t: TensorType, then: TensorType) -> IrError:
    return IrError(
        f"the state %{p.name} is {_type(t)}, and its next value is {_type(then)}", p.span, code=StateMismatch
    )


def _type(t: TensorType) -> str:
    return f"{t.dtype}[{', '.join(map(str, t.shape))}]"


def _from_zero(function: Function, s: Symbol, after: int) -> Symbol:
    """The position from 0 to the greatest with which a step can begin. Raises IrError for one that has to be larger."""
    span = next((p.span for p in state_outputs(function)), None)
    if s.low > s.step or s.choices:
        raise IrError(
            f"a state begins without rows, and {s.name} is {s.low} at least",
            span,
            help="leave out the least length",
            code=StateMismatch,
        )
    least = max(0, math.floor(interval(after - extent_of(s))[0]))
    return Symbol(s.name, 0, max(0, s.high - least), s.step)


def _all_lengths(module: Module, changed: Mapping[Symbol, int]) -> dict[Symbol, int]:
    symbols = symbols_of_module(module)
    return {s: changed.get(s, extent_of(s)) for s in symbols | changed.keys()}
