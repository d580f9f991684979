"""The states of an entry: tensors that an instance of the network keeps from one step to the next.

A parameter that `state_outputs` names, and the output that is its next value, are taken from the caller's. Once kernels are final, that output
is computed in the memory of the parameter where every read of the old value comes before; otherwise elsewhere, and copied at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..diagnostics import IrError
from ..infer.equal_lengths import replaced
from ..ir import Constant, Function, Var
from ..ir.tensor_names import WRITTEN_STATES, first_values, index_limits, state_lengths, state_outputs
from ..symbolic_int import symbol_of
from ..tir.dtypes import HANDLE
from ..tir.kernel import Kernel
from ..tir.program import (
    STATE,
    TEMP,
    CopySlot,
    Fail,
    Fork,
    HostFunction,
    Loop,
    RunKernel,
    SetLengths,
    Slot,
    State,
    StateLength,
    Step,
    steps,
)
from .mistakes import StateMismatch
from .sharing import may_lie_in
from .workspace import Stages


def keep_states(f: Function, host: HostFunction, constant: Callable[[Constant], Slot]) -> HostFunction:
    """The host function of `f` as an entry, with its states apart from its parameters and results; `constant` gives the slot of a constant.

    Raises IrError for a state that is no tensor, or whose next value is of another type.
    """
    outputs = state_outputs(f)
    if not outputs:
        return host
    by_name = {p.name: (p, n) for p, n in outputs.items()}
    slots = dict(zip(host.param_names, _first_slots(host.param_structures), strict=True))
    states: dict[int, State] = {}
    lengths = [StateLength(s, n, c) for d, n, c in state_lengths(f) if (s := symbol_of(d)) is not None]
    changed = {x.symbol: x.next for x in lengths}
    for name, structure in zip(host.param_names, host.param_structures, strict=True):
        if name not in by_name:
            continue
        param, n = by_name[name]
        _require_tensor(param, n, structure, host, slots[name])
        if n in states:
            raise IrError(
                f"output {n} is the next value of %{states[n].name} and of %{name}", param.span, code=StateMismatch
            )
        slot, after = host.params[slots[name]], host.results[n]
        if (tuple(replaced(d, changed) for d in slot.shape), slot.dtype) != (after.shape, after.dtype):
            raise IrError(
                f"the state %{name} is {_type(slot)}, and its next value, output {n}, is {_type(after)}",
                param.span,
                code=StateMismatch,
            )
        slot.kind = STATE
        first = first_values(f).get(name)
        states[n] = State(
            name,
            host.result_name(n),
            slot,
            after,
            None if first is None else constant(first),
            is_written=name in f.attrs.get(WRITTEN_STATES, ()),
        )
    stay = [n for n, name in enumerate(host.param_names) if name not in by_name]
    own = {s.slot for s in states.values()}
    host.structure = _without(host.structure, set(states))
    host.model_outputs = [name for n, name in enumerate(host.model_outputs) if n not in states]
    host.declared = [d for d, s in zip(host.declared, host.params) if s not in own]
    host.params = [s for s in host.params if s not in own]
    left = [n for n in range(len(host.results)) if n not in states]
    host.extents_of = [left.index(n) for n in host.extents_of]
    host.results = [host.results[n] for n in left]
    host.param_names = [host.param_names[n] for n in stay]
    host.param_structures = [host.param_structures[n] for n in stay]
    host.model_inputs = {m: name for m, name in host.model_inputs.items() if name not in by_name}
    host.states = [s for name in slots for s in states.values() if s.name == name]
    host.state_lengths = lengths
    host.index_limits = index_limits(f)
    return host


def _require_tensor(param: Var, n: int, structure: Any, host: HostFunction, place: int) -> None:
    """Raises IrError for a state that is no tensor, or without the output that is its next value."""
    problem = ""
    if structure is not None:
        problem = f"the state %{param.name} is a tuple; each tensor of a state is a parameter"
    elif n >= len(host.results):
        problem = f"the state %{param.name} is to become output {n}, and there are {len(host.results)}"
    elif host.params[place].dtype == HANDLE:
        problem = f"the state %{param.name} is data: a state is a tensor, which stays in its place"
    if problem:
        raise IrError(problem, param.span, code=StateMismatch)


def _type(slot: Slot) -> str:
    return f"{slot.dtype}[{', '.join(map(str, slot.shape))}]"


def _first_slots(structures: Sequence[Any]) -> list[int]:
    """The number of the first slot of each parameter."""
    numbers, total = [], 0
    for s in structures:
        numbers.append(total)
        stack = [s]
        while stack:
            part = stack.pop()
            if part is None:
                total += 1
            else:
                stack.extend(part)
    return numbers


def _without(structure: Any, numbers: set[int]) -> Any:
    """The structure of a result without some of its tensors, by number: of a flat tuple of which one tensor is left, that tensor."""
    if structure is None:
        return ()
    left: list[Any] = []
    n = 0
    for part in structure:
        stack, inside = [part], 0
        while stack:
            p = stack.pop()
            if p is None:
                inside += 1
            else:
                stack.extend(p)
        if part is not None and numbers & set(range(n, n + inside)):
            raise IrError("the next value of a state is inside of a tuple of results", code=StateMismatch)
        if part is not None or n not in numbers:
            left.append(part)
        n += inside
    return left[0] if len(left) == 1 and left[0] is None else tuple(left)


# ---------------------------------------------------------------------------------------------------------------------
# Memory


class _Use:
    """A step that reads or writes: its place in the order, and the arms of branches and the loops around it."""

    def __init__(self, step: Step, time: int, around: tuple[tuple[Step, int], ...]) -> None:
        self.step = step
        self.time = time
        self.around = around

    def never_after(self, other: _Use) -> bool:
        """True if no run comes to this step after the other one."""
        mine = dict(self.around)
        for step, arm in other.around:
            if step not in mine:
                continue
            if isinstance(step, Loop):
                return False
            if mine[step] != arm:
                return True
        return self.time < other.time


def settle_states(function: HostFunction, stages: Mapping[Kernel, Stages], may_end_early: bool) -> None:
    """Gives the next value of each state its memory: that of the state, or a temporary that is copied there at the end.

    Args:
        stages: when each kernel reads and writes.
        may_end_early: the run may end with an error: then all are copied at the end, so that states stay as they were.
    """
    if not function.states:
        return
    uses = _uses(function.body)
    ends_early = may_end_early or any(isinstance(s, Fail | SetLengths) for s in steps(function.body))
    for state in function.states:
        slot, after = state.slot, state.next.resolve()
        if after is slot:
            continue
        if (
            (state.is_written or not ends_early)
            and slot.shape == after.shape
            and _lies_there(slot, after, uses, stages)
        ):
            after.forward = slot
            continue
        other = Slot(f"{slot.name}_next", after.shape, slot.dtype, TEMP)
        target = Slot(
            slot.name, after.shape, slot.dtype, STATE
        )  # the same memory, in which the next value has other extents
        after.forward, target.forward = other, slot
        function.body.append(CopySlot(other, target))
        state.next = slot
        state.is_copied = True


def _uses(body: Sequence[Step]) -> list[_Use]:
    result: list[_Use] = []
    stack: list[tuple[Step, tuple[tuple[Step, int], ...]]] = [(s, ()) for s in reversed(body)]
    while stack:
        s, around = stack.pop()
        result.append(_Use(s, len(result), around))
        parts = s.arms if isinstance(s, Fork) else s.bodies if isinstance(s, Loop) else []
        for n, part in reversed(list(enumerate(parts))):
            stack += [(x, (*around, (s, n))) for x in reversed(part)]
    return result


def _lies_there(slot: Slot, after: Slot, uses: Sequence[_Use], stages: Mapping[Kernel, Stages]) -> bool:
    """True if `after` may be computed in the memory of `slot`: no step reads the old value once the new one is begun."""
    reads = [u for u in uses if any(x.resolve() is slot for x in u.step.reads)]
    # A branch names its results itself; its arms write them.
    writes = [u for u in uses if not isinstance(u.step, Fork) and any(x.resolve() is after for x in u.step.writes)]
    for w in writes:
        for r in reads:
            if r.step is w.step:
                if not _reads_first(w.step, slot, after, stages):
                    return False
            elif not r.never_after(w):
                return False
    return True


def _reads_first(s: Step, slot: Slot, after: Slot, stages: Mapping[Kernel, Stages]) -> bool:
    """True if a step reads each element of one slot before it writes it in the other."""
    if isinstance(s, CopySlot):
        return True
    if not isinstance(s, RunKernel):
        return False
    inputs = [n for n, x in enumerate(s.inputs) if x.resolve() is slot]
    outputs = [n for n, x in enumerate(s.outputs) if x.resolve() is after]
    in_turn = stages[s.kernel].in_turn
    return all(may_lie_in(s, slot, o) or all((i, o) in in_turn for i in inputs) for o in outputs)
