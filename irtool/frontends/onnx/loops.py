"""Loops as functions that call themselves at their end.

A loop is a function of the module: its parameters are the number of the turn, what a turn hands to the next one, what the turns
have given so far, and what the body uses from outside. Results of turns are written into a tensor that is there before,
where their number and shape are known; else they are appended. A loop whose extents would be unknown is unrolled if it has
few turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...deferred import np
from ...diagnostics import IrError
from ...ir import (
    ANY,
    Call,
    Expr,
    If,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    post_order,
)
from ...ir.dims import is_number
from ...ir.types import has_static_shapes
from ...symbolic_int import signs
from .invariants import lift_invariants
from .lengths import extents_in
from .mistakes import DamagedModel, UnknownExtent, UnsupportedNode
from .names import RelayNames
from .program import Functions, call_function
from .value import Value, apply

_UNROLLED = 64
"""Turns up to which a loop is unrolled, if its types change from turn to turn."""
_UNROLLED_LISTS = 1 << 10
"""Turns up to which a loop is unrolled that hands on a sequence: there is no other way."""


@dataclass(frozen=True, eq=False)
class Turn:
    """The results of one turn: the values for the next one, results to keep, and the condition of a next one."""

    state: Sequence[Value]
    results: Sequence[Value] = ()
    condition: Value | None = None


Body = Callable[[Value, "Value | None", Sequence[Value]], Turn]
"""The turn of a number (int64), given the condition (None if there is none) and what it is handed."""


@dataclass(eq=False)
class LoopSpec:
    """A loop before it is made.

    Attributes:
        count: how many turns there are at most; None for any number.
        condition: if there is a first turn; None for a loop that its count ends.
        state: the loop-carried values of the first iteration.
        body: computes an iteration. It may be called several times.
        backward: of each kept result, whether the last turn's comes first.
        names: names of the loop-carried values.
        apart: the state of the first iteration as the build knows it, which simplifies that iteration: it is computed apart if the run
            decides how many there are. Empty: it is one like the others.
    """

    count: Value | None
    condition: Value | None
    state: Sequence[Value]
    body: Body
    backward: Sequence[bool] = ()
    names: Sequence[str] = field(default=())
    apart: Sequence[Value] = ()


def build_loop(functions: Functions, spec: LoopSpec) -> list[Value]:
    """The loop-carried values after the last turn, then the results of all turns, stacked along a new axis 0.

    Raises IrError for a loop without end, and one whose types are neither known nor the same in every turn.
    """
    return _Loop(functions, spec).build()


class _Loop:
    def __init__(self, functions: Functions, spec: LoopSpec) -> None:
        self.functions = functions
        self.spec = spec
        self.turns = _known_number(spec.count)
        """How many turns there are at most, if that is known: a number, or a formula of lengths."""
        begins = _known_number(spec.condition)
        if begins == 0:
            self.turns = 0
        self.condition = None if begins else spec.condition
        self.decided = False
        """True if turns say whether there is a next one."""

    def build(self) -> list[Value]:
        if self.spec.count is None and self.spec.condition is None:
            raise IrError("a loop has neither a trip count nor a condition: it has no end", code=DamagedModel)
        if self.turns == 0:
            return self._without_turns()
        if self.turns == 1 and self.condition is None:
            return self._unrolled()
        if any(v.items is not None for v in self.spec.state):
            return self._with_sequences()
        if self.functions.training and self.condition is None and self._may_be_written_out(_UNROLLED_LISTS):
            return self._unrolled()  # programs without loops have gradients
        try:
            return self._recursion()
        except IrError as error:
            codes = {d.code for d in error.diagnostics}
            if codes - {UnknownExtent} or not self._may_be_written_out(_UNROLLED) or self.decided:
                raise
            return self._unrolled()

    # -- types

    def _recursion(self) -> list[Value]:
        spec = self.spec
        types = [v.tensor for v in spec.state]
        fixed: set[int] = set()
        decided = self.condition is not None
        most = sum(len(t.shape) for t in types) + len(types) + 2
        for _ in range(most):
            names = RelayNames()
            number = _variable(names.of("i"), TensorType((), "int64"))
            handed = [
                spec.state[k] if k in fixed else _variable(names.of(self._name(k)), t) for k, t in enumerate(types)
            ]
            asked = _variable(names.of("go_on"), TensorType((), "bool")) if decided else _TRUE()
            turn = spec.body(number, asked, handed)
            if len(turn.state) != len(handed):
                raise IrError(f"a turn hands on {len(turn.state)} values, not {len(handed)}", code=DamagedModel)
            same = {k for k, (a, b) in enumerate(zip(handed, turn.state, strict=True)) if _is_same(a, b)} - fixed
            joined = [
                _joined(t, v.tensor, self._name(k)) for k, (t, v) in enumerate(zip(types, turn.state, strict=True))
            ]
            leads_on = turn.condition is None or turn.condition.expr is asked.expr or _known_number(turn.condition) == 1
            if same or joined != types or (not decided and not leads_on):
                fixed |= same
                types = [t if k in fixed else j for k, (t, j) in enumerate(zip(types, joined, strict=True))]
                decided = decided or not leads_on
                continue
            self.decided = decided
            if spec.count is None and not decided:
                raise IrError("a loop goes on whatever its turns say: it has no end", code=DamagedModel)
            return self._function(number, asked if decided else None, handed, turn, fixed)
        raise IrError("the types of loop-carried values do not settle", code=UnknownExtent)

    def _may_be_written_out(self, most: int) -> bool:
        """True for a known number of turns that is not above `most`."""
        return self.turns is not None and is_number(self.turns) and self.turns <= most

    def _name(self, k: int) -> str:
        return self.spec.names[k] if k < len(self.spec.names) and self.spec.names[k] else "state"

    # -- the function

    def _function(
        self, number: Value, asked: Value | None, handed: Sequence[Value], turn: Turn, fixed: set[int]
    ) -> list[Value]:
        spec = self.spec
        if self._may_be_written_out(_UNROLLED) and not self.decided:
            unknown = [v for k, v in enumerate(handed) if not _is_static(v.tensor) and _is_static(spec.state[k].tensor)]
            if unknown or any(not _is_static(v.tensor) for v in turn.results):
                return self._unrolled()
        changing = [k for k in range(len(handed)) if k not in fixed]
        whole = self.turns if asked is None else None
        stacks = [
            _Stack.of(v, whole, spec.count, k < len(spec.backward) and spec.backward[k], k)
            for k, v in enumerate(turn.results)
        ]
        params = [number, *([asked] if asked else []), *(handed[k] for k in changing), *(k.sofar for k in stacks)]
        tests = [number.call("less", spec.count)] if spec.count is not None else []
        tests += [asked] if asked else []
        test = tests[0] if len(tests) == 1 else tests[0].call("logical_and", tests[1])
        next_condition = [] if asked is None else [_scalar(turn.condition or asked)]
        after = [
            number.call("add", Value.constant(np.int64(1))),
            *next_condition,
            *(turn.state[k] for k in changing),
            *(k.appended(v, number) for k, v in zip(stacks, turn.results, strict=True)),
        ]
        results = params[1 + len(next_condition) :]
        variables = [v.expr for v in params if isinstance(v.expr, Var)]
        parts = Value.of(Tuple((test.expr, *(v.expr for v in after))))
        body, lifted, outside = lift_invariants(parts.expr, variables)
        # What is open around the loop would stay so in turns that are written out.
        if not _is_open([*variables, *lifted]) and _is_open([parts.expr], outside):
            written = self._with_static_turns(outside)
            if written is not None:
                return written
        assert isinstance(body, Tuple)
        result: Type = TupleType(tuple(v.type for v in results)) if len(results) != 1 else results[0].type
        own = [*variables, *lifted]
        name = self.functions.reserve([_type(v) for v in own], result)
        again = Call(name, (*body.fields[1:], *lifted))
        final = Tuple(tuple(v.expr for v in results)) if len(results) != 1 else results[0].expr
        self.functions.define(name, own, If(body.fields[0], again, final), result)
        first = self._first_arguments(asked is not None, changing, stacks)
        loop_results = _fields(call_function(name, [*(v.expr for v in first), *outside]), len(results))
        last = dict(zip(changing, loop_results, strict=False))
        final_values = [last[k] if k in last else spec.state[k] for k in range(len(handed))]
        return [*final_values, *loop_results[len(changing) :]]

    def _first_arguments(self, is_asked: bool, changing: Sequence[int], stacks: Sequence[_Stack]) -> list[Value]:
        """The arguments of the first call: those of iteration 0, or of iteration 1 after the first one, which is computed apart."""
        spec = self.spec
        if not spec.apart or is_asked or is_number(self.turns) or self.turns is None or signs(self.turns) != {1}:
            condition = [_scalar(spec.condition or _TRUE())] if is_asked else []
            states = [spec.state[k] for k in changing]
            return [Value.constant(np.int64(0)), *condition, *states, *(k.start for k in stacks)]
        turn = spec.body(Value.constant(np.int64(0)), _TRUE(), spec.apart)
        results = [k.beginning_with(v) for k, v in zip(stacks, turn.results, strict=True)]
        return [Value.constant(np.int64(1)), *(turn.state[k] for k in changing), *results]

    # -- without a function

    def _with_static_turns(self, outside: Sequence[Expr]) -> list[Value] | None:
        """Few turns, each written out, where their numbers decide all extents inside; None if they do not."""
        if not self._may_be_written_out(_UNROLLED) or self.decided:
            return None
        try:
            results = self._unrolled()
        except IrError:
            return None
        around = [*outside, *(v.expr for v in self.spec.state)]
        return None if _is_open([v.expr for v in results], around) else results

    def _with_sequences(self) -> list[Value]:
        """A loop that hands on sequences, whose lengths change: each turn is written out."""
        if (self.spec.count is not None and not is_number(self.turns)) or self.condition is not None:
            raise IrError("a loop hands on a sequence: the number of its turns must be known", code=UnknownExtent)
        if self.turns is not None and self.turns > _UNROLLED_LISTS:
            raise IrError(
                f"a loop hands on a sequence: it has {self.turns} turns, more than {_UNROLLED_LISTS}",
                code=UnsupportedNode,
            )
        return self._unrolled()

    def _without_turns(self) -> list[Value]:
        turn = self.spec.body(Value.constant(np.int64(0)), _TRUE(), self.spec.state)
        shapes = [(0, *(d if isinstance(d, int) else 0 for d in v.shape)) for v in turn.results]
        empty = [apply("zeros", shape=list(s), dtype=v.dtype) for s, v in zip(shapes, turn.results, strict=True)]
        return [*self.spec.state, *empty]

    def _unrolled(self) -> list[Value]:
        """Turn by turn, until the count or the condition ends the loop, which must be known."""
        state = list(self.spec.state)
        stacked_values: list[Sequence[Value]] = []
        while self.turns is None or len(stacked_values) < self.turns:
            turn = self.spec.body(Value.constant(np.int64(len(stacked_values))), _TRUE(), state)
            state = list(turn.state)
            stacked_values.append(turn.results)
            if len(stacked_values) != self.turns and not _goes_on(turn):
                break
            if self.turns is None and len(stacked_values) == _UNROLLED_LISTS:
                raise IrError(f"a loop has not ended after {_UNROLLED_LISTS} turns", code=UnsupportedNode)
        stacks = []
        for k, values in enumerate(zip(*stacked_values, strict=True)):
            backward = k < len(self.spec.backward) and self.spec.backward[k]
            parts = tuple(v.expr for v in (reversed(values) if backward else values))
            stacks.append(apply("stack", Tuple(parts), axis=0))
        return [*state, *stacks]


@dataclass(frozen=True, eq=False)
class _Stack:
    """The results of the turns so far.

    Attributes:
        sofar: the parameter that has them.
        start: its initial value.
        turns: how many there will be, and have their place already; None if that is not known.
        count: the same number as a value.
    """

    sofar: Value
    start: Value
    turns: int | None
    count: Value | None
    backward: bool

    @staticmethod
    def of(one: Value, turns: int | None, count: Value | None, backward: bool, number: int) -> _Stack:
        shape = one.extents("what a turn of a loop gives")
        start = apply("zeros", shape=[0 if turns is None else turns, *shape], dtype=one.dtype)
        t = TensorType((ANY if turns is None else turns, *shape), one.dtype)
        return _Stack(_variable(f"kept_{number}", t), start, turns, count, backward)

    def appended(self, one: Value, number: Value) -> Value:
        """The results with those of the turn of a number."""
        row = one.call("expand_dims", axis=0)
        if self.turns is None:
            both = (row, self.sofar) if self.backward else (self.sofar, row)
            return apply("concatenate", Tuple(tuple(v.expr for v in both)), axis=0)
        if self.backward:
            assert self.count is not None
            last = _scalar(self.count).call("subtract", Value.constant(np.int64(1)))
            number = last.call("subtract", number)
        place = number.call("reshape", newshape=[1, 1])
        return self.sofar.call("scatter_nd", place, row, mode="update")

    def beginning_with(self, one: Value) -> Value:
        """The results of turn 0, with places for the others."""
        assert self.turns is not None
        row = one.call("expand_dims", axis=0)
        others = apply("zeros", shape=[self.turns - 1, *one.shape], dtype=one.dtype)
        both = (others, row) if self.backward else (row, others)
        return apply("concatenate", Tuple(tuple(v.expr for v in both)), axis=0)


def widened(value: Value, t: TensorType, always: bool = False) -> Value:
    """The value with extents that are not known, as `t` has them; with `always`, whatever extents it is given later."""
    if value.tensor == t and not always:
        return value
    from ...ir import Function

    v = Var("x", t, None, t)
    return Value.of(Call(Function((v,), v, t), (value.expr,)))


def joined_type(a: TensorType, b: TensorType) -> TensorType | None:
    """The type of values of either type: `?` where extents differ; None if the types have nothing in common."""
    if a.dtype != b.dtype or len(a.shape) != len(b.shape):
        return None
    return TensorType(tuple(x if x == y else ANY for x, y in zip(a.shape, b.shape, strict=True)), a.dtype)


def _joined(a: TensorType, b: TensorType, name: str) -> TensorType:
    tensor_type = joined_type(a, b)
    if tensor_type is None:
        code = DamagedModel if a.dtype != b.dtype else UnknownExtent
        raise IrError(f"a loop is handed {a} as {name} and hands on {b}", code=code)
    return tensor_type


def _goes_on(turn: Turn) -> bool:
    """If there is a next turn. Raises IrError if the program computes that."""
    if turn.condition is None:
        return True
    known = _known_number(turn.condition)
    if known is None:
        raise IrError("the number of turns of a loop that is written out must be known", code=UnknownExtent)
    return bool(known)


def _TRUE() -> Value:
    return Value.constant(np.array(True))


def _variable(name: str, t: TensorType) -> Value:
    return Value(Var(name, t, None, t))


def _type(v: Var) -> Type:
    assert v.checked_type is not None
    return v.checked_type


def _is_open(roots: Sequence[Expr], around: Sequence[Expr] = ()) -> bool:
    """True if an expression between the roots and those around them has an extent that is not known."""
    outer = set(around)
    inside = (e for e in post_order(*roots, enter=lambda e: e not in outer) if e not in outer)
    return not all(e.checked_type is None or has_static_shapes(e.checked_type) for e in inside)


def _is_static(t: TensorType) -> bool:
    return all(isinstance(d, int) for d in t.shape)


def _is_same(handed: Value, on: Value) -> bool:
    """True if a turn hands a value on unchanged."""
    return on.expr is handed.expr


def _known_number(v: Value | None) -> int | None:
    if v is not None and v.lengths is not None and v.lengths.size == 1:
        return extents_in(v.lengths)[0]
    if v is None or v.known is None or v.parameter or v.known.size != 1:
        return None
    return int(v.known.reshape(-1)[0])


def _scalar(v: Value) -> Value:
    return v if not v.shape else v.call("reshape", newshape=[])


def _fields(e: Expr, count: int) -> list[Value]:
    return [Value.of(e)] if count == 1 else [Value.of(TupleGetItem(e, i)) for i in range(count)]
