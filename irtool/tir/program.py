"""A compiled module as data: functions of kernel calls, branches, loops and calls, over named slots of memory.

Tuples are gone: every value is a list of tensors, every tensor lives in a `Slot`. What a backend prints.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, NamedTuple

from ..array_blocks import blocks
from ..symbolic_int import Symbol, bound, extent_of, symbol_of, symbols_of, value_at
from . import dtypes
from .conditions import LengthCondition
from .dtypes import HANDLE
from .errors import BRANCH_ERROR, REGION_ERROR, VALUE_ERROR
from .expansion import Expansion
from .kernel import Kernel
from .pools import Pool
from .region import Collect, Invocation, Layout, MakeObject, Push, RegionStep, WriteObject, frame_bytes
from .stmt import Buffer
from .values import EntryValues

PARAM, RESULT, STATE, TEMP, CONSTANT = "param", "result", "state", "temp", "constant"


@dataclass(frozen=True, eq=False)
class Derivation:
    """The derivation of a constant's data from those of another one.

    Attributes:
        source: the other constant.
        how: two constants with the same `how` and equal sources are equal.
        compute: from the data of the source.
        begin: the first `equal_data.BEGINNING` elements of that, as bytes, where they can be had without the others.
        expansion: the way in which the library can compute them from fewer elements when it loads its weights, if there is one.
        blocks: the same elements as contiguous arrays, one after the other, where they can be had without an array of them all.
    """

    source: Slot
    how: Hashable
    compute: Callable[[Any], Any]
    begin: Callable[[Any], bytes] | None = None
    expansion: Expansion | None = None
    blocks: Callable[[Any], Iterator[Any]] | None = None


class Slot:
    """Memory for one tensor, row-major.

    `kind`: `param` and `result` belong to the caller, `state` to an instance of the network, `constant` is read-only data, `temp` has an `offset` in the
    function's frame once memory is planned. `forward` is the slot that took this one's place, if any. The data of a constant
    are an array, or a `derivation` of those of another one: packed weights are made when they are stored, and not kept.
    """

    __slots__ = ("_data", "derivation", "dtype", "forward", "kind", "name", "offset", "shape")

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        kind: str = TEMP,
        data: Any = None,
        derivation: Derivation | None = None,
    ) -> None:
        self.name = name
        self.shape = tuple(shape)
        self.dtype = dtype
        self.kind = kind
        self._data = data
        self.derivation = derivation
        self.offset: int | None = None
        self.forward: Slot | None = None

    @property
    def data(self) -> Any:
        """The elements of a constant; derived ones are computed each time."""
        d = self.derivation
        return self._data if d is None else d.compute(d.source.data)

    def data_blocks(self) -> Iterator[Any]:
        """The elements of a constant as contiguous arrays, one after the other. A large array that is packed is never whole in memory."""
        d = self.derivation
        return blocks(self.data) if d is None or d.blocks is None else d.blocks(d.source.data)

    def replace_data(self, data: Any) -> None:
        """Gives a constant that is not derived other elements, in an array of its shape and dtype."""
        assert self.derivation is None
        self._data = data

    def read(self) -> Any:
        """The elements, as `data` has them."""
        return self.data

    @property
    def origin(self) -> Slot:
        """The constant that its data are derived from in the end."""
        s = self
        while s.derivation is not None:
            s = s.derivation.source
        return s

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.size * dtypes.itemsize(self.dtype)

    def resolve(self) -> Slot:
        """The slot that stands for this one now."""
        s = self
        while s.forward is not None:
            s = s.forward
        return s

    def __repr__(self) -> str:
        return f"{self.name}: {self.kind} {self.dtype}{list(self.shape)}"


class Place(NamedTuple):
    """The place of an operator in its source.

    Attributes:
        at: `net.relay:3:8`; empty where that is not known.
        node: the name of the node in the model that it was imported from, if any.
    """

    at: str
    node: str = ""

    def __str__(self) -> str:
        return f"{self.at} ({self.node})" if self.node else self.at


@dataclass(eq=False)
class RunKernel(Invocation):
    """A call of a loop nest. `workspace` is the offset of its scratch memory in the frame, once planned; `places` says of each
    operator of the kernel where this use of it stands in the source."""

    kernel: Kernel
    inputs: list[Slot]
    outputs: list[Slot]
    workspace: int = 0
    places: tuple[Place, ...] = ()


@dataclass(eq=False)
class CallFunction(Invocation):
    """A call of another function (or of this one). `frame` is the offset of the callee's frame in this one's."""

    function: str
    inputs: list[Slot]
    outputs: list[Slot]
    frame: int = 0


@dataclass(eq=False)
class Fail(Invocation):
    """Ends the run with an error, in place of a step that computes the outputs."""

    inputs: list[Slot]
    outputs: list[Slot]
    code: int = BRANCH_ERROR


@dataclass(eq=False)
class SetLengths:
    """Gives lengths of the run the elements of an integer slot: `symbols[n]` the one at `places[n]`, in row-major order. A value outside of
    the bounds of its symbol ends the run with error `VALUE_ERROR`, and leaves a note: see `tir.value_notes`.

    `origin` is the place in the source: `net.relay:3:8`, or empty.
    """

    values: Slot
    symbols: tuple[Symbol, ...]
    places: tuple[int, ...]
    origin: str = ""

    @property
    def reads(self) -> Sequence[Slot]:
        return (self.values,)

    @property
    def writes(self) -> Sequence[Slot]:
        return ()


@dataclass(eq=False)
class Branch:
    """`then` where the bool in `cond` is true, or the condition holds, else `other`. Either arm writes the `results`."""

    cond: Slot | LengthCondition
    then: list[Any]
    other: list[Any]
    results: list[Slot] = field(default_factory=list)

    @property
    def reads(self) -> Sequence[Slot]:
        return (self.cond,) if isinstance(self.cond, Slot) else ()

    def condition(self, place: Callable[[Slot], Slot]) -> Slot | LengthCondition:
        """The condition, read from another slot."""
        return place(self.cond) if isinstance(self.cond, Slot) else self.cond

    @property
    def writes(self) -> Sequence[Slot]:
        """The slots that its arms write for it."""
        return self.results

    @property
    def arms(self) -> list[list[Any]]:
        """`then` and `other`."""
        return [self.then, self.other]

    def elsewhere(self, place: Callable[[Slot], Slot], arms: Sequence[list[Any]]) -> Branch:
        """The same on other slots, with other arms."""
        return Branch(self.condition(place), arms[0], arms[1], [place(x) for x in self.results])


@dataclass(eq=False)
class Switch:
    """The arm whose number is in `number`, an int32. Each arm writes the `results`."""

    number: Slot
    arms: list[list[Any]]
    results: list[Slot] = field(default_factory=list)

    @property
    def reads(self) -> Sequence[Slot]:
        return (self.number,)

    @property
    def writes(self) -> Sequence[Slot]:
        """The slots that its arms write for it."""
        return self.results

    def elsewhere(self, place: Callable[[Slot], Slot], arms: Sequence[list[Any]]) -> Switch:
        """The same on other slots, with other arms."""
        return Switch(place(self.number), list(arms), [place(x) for x in self.results])


@dataclass(eq=False)
class CopySlot:
    """Copies the bytes of one slot to another of the same size."""

    source: Slot
    target: Slot

    @property
    def reads(self) -> Sequence[Slot]:
        return (self.source,)

    @property
    def writes(self) -> Sequence[Slot]:
        return (self.target,)

    @property
    def is_in_place(self) -> bool:
        """True for a copy of a slot onto itself, or of no bytes."""
        source, target = self.source.resolve(), self.target.resolve()
        same_offset = source.kind == target.kind == TEMP and source.offset == target.offset
        return source is target or same_offset or not self.target.nbytes


@dataclass(eq=False)
class Loop:
    """Iterations of bodies, the first iteration of `bodies[0]`. An iteration that ends in `Again` has another one after it; one that ends
    otherwise is the last. `state` are the slots that hold values from one iteration to the next."""

    bodies: list[list[Any]]
    state: list[Slot]

    @property
    def reads(self) -> Sequence[Slot]:
        """The loop-carried slots: each iteration reads the last one's values there."""
        return self.state

    @property
    def writes(self) -> Sequence[Slot]:
        """Nothing by itself: the steps in its bodies write."""
        return ()


@dataclass(eq=False)
class Again:
    """`continue` with `bodies[body]` of the enclosing loop. `unchanged` are the carried slots that this body reads and whose values
    did not change; the others were assigned just before."""

    body: int = 0
    unchanged: list[Slot] = field(default_factory=list)

    @property
    def reads(self) -> Sequence[Slot]:
        """The slots that the next iteration finds unchanged."""
        return self.unchanged

    @property
    def writes(self) -> Sequence[Slot]:
        return ()


class Recomputed(NamedTuple):
    """A value that is computed again for its later readers, in place of waiting for them in memory.

    Attributes:
        value: the name of its slot.
        size: in bytes.
        kernel: the kernel that computes it.
        operands: the names of values that are computed again for it.
        macs: the multiply-adds of the steps that run again.
        work: these, and the elements that the steps read and write.
    """

    value: str
    size: int
    kernel: Kernel
    operands: tuple[str, ...]
    macs: int
    work: int


Fork = Branch | Switch
"""A step with arms, one of which is run."""

Step = RunKernel | CallFunction | Fail | SetLengths | Branch | Switch | CopySlot | Loop | Again | RegionStep
"""What a function does. `reads` and `writes` are the slots that a step itself names; steps in its arms or bodies have theirs."""


@dataclass(eq=False)
class State:
    """A tensor that an instance keeps from one step of an entry to the next.

    Attributes:
        name: of the parameter whose value it is when a step begins.
        output: of the result whose value it is when a step ends.
        slot: its memory.
        next: the slot of the value when a step ends: another name of `slot` once memory is planned.
        first: a constant with the value when an instance begins; None for zeros.
        is_copied: whether a step computes the next value elsewhere, and copies it at its end.
        is_written: a step writes rows behind those that count: they are no part of the value before the step ends.
    """

    name: str
    output: str
    slot: Slot
    next: Slot
    first: Slot | None = None
    is_copied: bool = False
    is_written: bool = False


@dataclass(frozen=True)
class StateLength:
    """A length in the shapes of states, which an instance keeps with them.

    Attributes:
        symbol: the length when a step begins.
        next: the length when a step ends.
        capacity: the greatest length.
    """

    symbol: Symbol
    next: int
    capacity: int

    @property
    def is_position(self) -> bool:
        """True for a length that steps change: only the instance knows it. Otherwise callers pass it, the same in all steps."""
        return symbol_of(self.next) != self.symbol


@dataclass(eq=False)
class HostFunction:
    """One first-order function.

    Attributes:
        structure: the result's shape: `None` for a tensor, a tuple of structures; the tuple is a value of an algebraic data
            type (it has a `constructor`) where the result is.
        frame_bytes: memory of its temporaries and of what it calls, once planned; `live_bytes` of them at one time.
        releases: what it and its callees put into the region is not needed after it.
        pool_bytes: of an entry, where memory is in pools: bytes of each pool that a run takes.
        in_pools: its frame lies in all the pools, one behind the other; otherwise it lies whole in one of them.
        declared: the shapes of the parameters as callers know them; empty where these are those of the slots. Where an extent differs, a
            run needs both to be equal.
        model_inputs: names of parameters by those that they have in the model that the function was made from, where these differ.
        model_outputs: the names of the results in that model, in order; fewer, or none, where they are not known.
        states: of an entry, what instances keep between steps; `params` and `results` are those of the caller alone.
        state_lengths: the lengths in shapes of its states.
        index_limits: of an entry with states, the numbers of rows that inputs choose from, by the names of parameters.
        lengths: the lengths of the run that its steps set.
        further_lengths: lengths that its caller gives, whether or not shapes have them.
        extents_of: the last results are extents of others: for each of these, the number of the result that it is of.
        values: of an entry, the types of parameters and results that are handles; None if all are tensors.
        ram_limit: of an entry, the most bytes that its frame may have; None for no limit.
        trains: true of an entry that is a training step, which computes values again where that takes little time.
        recomputed: values that are computed again, for the limit or as they take little time.
    """

    name: str
    params: list[Slot]
    results: list[Slot]
    body: list[Step]
    structure: Any = None
    _: KW_ONLY
    param_names: list[str] = field(default_factory=list)
    param_structures: list[Any] = field(default_factory=list)
    frame_bytes: int = 0
    live_bytes: int = 0
    pool_bytes: tuple[int, ...] = ()
    in_pools: bool = False
    releases: bool = False
    declared: Sequence[tuple[int, ...]] = ()
    model_inputs: dict[str, str] = field(default_factory=dict)
    model_outputs: Sequence[str] = ()
    states: list[State] = field(default_factory=list)
    state_lengths: Sequence[StateLength] = ()
    index_limits: Mapping[str, int] = field(default_factory=dict)
    lengths: Sequence[Symbol] = ()
    further_lengths: Sequence[Symbol] = ()
    extents_of: Sequence[int] = ()
    values: EntryValues | None = None
    ram_limit: int | None = None
    trains: bool = False
    recomputed: Sequence[Recomputed] = ()

    @property
    def outer(self) -> list[Slot]:
        """The slots outside of its frame: parameters, results and states."""
        ends = (slot for s in self.states for slot in (s.slot, s.next, s.first) if slot is not None)
        return [*self.params, *self.results, *ends]

    @property
    def arguments(self) -> list[Slot]:
        """The slots that it is handed: parameters, results, and the memory of states."""
        return [*self.params, *self.results, *(s.slot for s in self.states)]

    @property
    def positions(self) -> list[StateLength]:
        """The lengths that its steps read from an instance, and change."""
        return [x for x in self.state_lengths if x.is_position]

    @property
    def position(self) -> StateLength | None:
        """The number of rows that count in all of its states; None unless the states are such rows, and nothing else."""
        is_only = len(self.state_lengths) == 1 and all(s.is_written for s in self.states)
        return self.state_lengths[0] if is_only and self.positions else None

    def elements_of(self, state: State) -> int:
        """The elements for which the memory of a state has room: those at the capacity of its lengths."""
        lengths = {x.symbol: extent_of(replace(x.symbol, high=x.capacity)) for x in self.state_lengths}
        size = state.slot.size
        return bound(value_at(size, {s: lengths.get(s, extent_of(s)) for s in symbols_of([size])}))

    @property
    def declared_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the parameters as callers know them."""
        return [*self.declared] if self.declared else [tuple(s.shape) for s in self.params]

    @property
    def demands(self) -> list[tuple[int, int]]:
        """Pairs of extents, as declared and as computed with, that are equal in each run."""
        pairs = [
            (d, x)
            for shape, s in zip(self.declared, self.params)
            for d, x in zip(shape, s.shape, strict=True)
            if d != x
        ]
        return [p for n, p in enumerate(pairs) if all(p[0] - p[1] != q[0] - q[1] for q in pairs[:n])]

    def result_name(self, n: int, other: str = "out") -> str:
        """The public name of a result: its name in the model, or else `out`, or `out0`, `out1`, … of several."""
        count = len(self.results) - len(self.extents_of)
        if n >= count:
            return f"{self.result_name(self.extents_of[n - count], other)}_shape"
        return self.model_result(n) or (other if count == 1 else f"{other}{n}")

    def model_result(self, n: int) -> str:
        """The name that a result has in the model; empty if it has none."""
        return self.model_outputs[n] if n < len(self.model_outputs) else ""

    @property
    def takes_values(self) -> bool:
        """True if the caller of the entry hands values over."""
        return self.values is not None and any(s.dtype == HANDLE for s in self.params)

    @property
    def gives_values(self) -> bool:
        """True if a run adds values to the caller's, or writes into them."""
        if self.values is None:
            return False
        return any(s.resolve().dtype == HANDLE for s in self.results) or (
            self.takes_values and self.values.may_be_written
        )

    @property
    def gives_data(self) -> bool:
        """True if there is a value of an algebraic data type in the result."""
        stack = [self.structure]
        while stack:
            s = stack.pop()
            if s is not None:
                if hasattr(s, "constructor"):
                    return True
                stack.extend(s)
        return False


@dataclass(frozen=True)
class OpenQuestion:
    """A question about lengths that only the run answers: a stage leaves a kernel, or all of them, as they are for want of the answer.

    Attributes:
        stage: the name of the stage.
        kernel: the name of the kernel; empty for all.
        question: the comparison, in formulas of the lengths.
    """

    stage: str
    kernel: str
    question: str


@dataclass(eq=False)
class Program:
    """Everything a backend needs. `functions` has callees before callers where there is such an order.

    `entry` is the function that is run, `entries` all that can be (`entry` first; empty: it alone). `lesser` are the same
    for processors with less, highest first: their steps read the same constants, their memory is planned on its own. `call_bytes`
    is the stack that a compiler may take for a kernel beside its arrays, `spare_bytes` what any other function may take. `pools` are the
    parts of memory that temporaries lie in; empty: one arena. `layouts` are the objects in the region, by number. `questions` are those about lengths for which stages left kernels unchanged.
    """

    functions: dict[str, HostFunction]
    kernels: list[Kernel]
    constants: list[Slot]
    entry: str = "main"
    entries: list[str] = field(default_factory=list)
    lesser: list[Program] = field(default_factory=list)
    call_bytes: int = 0
    spare_bytes: int = 0
    pools: tuple[Pool, ...] = ()
    questions: list[OpenQuestion] = field(default_factory=list)
    layouts: list[Layout] = field(default_factory=list)

    @property
    def arena_bytes(self) -> int:
        """Bytes of workspace that one run of the entry needs, without a region."""
        return self.functions[self.entry].frame_bytes

    @property
    def failures(self) -> set[int]:
        """The errors with which steps end a run."""
        every = [s for f in self.functions.values() for s in steps(f.body)]
        own = {VALUE_ERROR} if any(isinstance(s, SetLengths) for s in every) else set()
        own |= {REGION_ERROR} if any(isinstance(s, MakeObject | Push) for s in every) else set()
        return own | {s.code for s in every if isinstance(s, Fail)}

    @property
    def uses_region(self) -> bool:
        """True if its functions work on a region, or callers hand values over."""
        return any(
            f.values is not None or any(isinstance(s, RegionStep) for s in steps(f.body))
            for f in self.functions.values()
        )

    @property
    def collects(self) -> bool:
        """True if its loops take objects back."""
        return any(isinstance(s, Collect) for f in self.functions.values() for s in steps(f.body))

    @property
    def writes_handles(self) -> bool:
        """True if older objects may come to lead to newer ones."""
        every = (s for f in self.functions.values() for s in steps(f.body))
        return any(isinstance(s, WriteObject) and any(x.dtype == HANDLE for x in s.fields) for s in every)

    @property
    def largest_item(self) -> int:
        """Bytes of the largest object or frame in the region."""
        every = [s for f in self.functions.values() for s in steps(f.body)]
        objects = [s.layout.size for s in every if isinstance(s, MakeObject)]
        return max([*objects, *(frame_bytes(s.inputs) for s in every if isinstance(s, Push))], default=0)

    @property
    def live_bytes(self) -> int:
        """Bytes that are alive at one time in a run of any entry, a lower bound of its workspace."""
        return max(self.functions[n].live_bytes for n in self.entry_names)

    @property
    def entry_names(self) -> list[str]:
        """The functions that can be run, `entry` first."""
        return self.entries or [self.entry]

    def checks_frame(self, function: HostFunction) -> bool:
        """True if the function checks that its frame fits in the workspace: of others, the caller's check covers it."""
        return function.name in self.entry_names


def steps(body: Sequence[Step]) -> list[Step]:
    """Every step in order of execution, those in branches and loops included (after the branch or loop itself)."""
    result: list[Step] = []
    stack = list(reversed(body))
    while stack:
        s = stack.pop()
        result.append(s)
        if isinstance(s, Fork):
            for body in reversed(s.arms):
                stack.extend(reversed(body))
        elif isinstance(s, Loop):
            for body in reversed(s.bodies):
                stack.extend(reversed(body))
    return result


def runs_of(program: Program) -> dict[Kernel, list[RunKernel]]:
    """The steps that run each kernel, in order; kernels in the order of their first use."""
    runs: dict[Kernel, list[RunKernel]] = {}
    for f in program.functions.values():
        for s in steps(f.body):
            if isinstance(s, RunKernel):
                runs.setdefault(s.kernel, []).append(s)
    return runs


def node_names(runs: Iterable[RunKernel]) -> list[str]:
    """The names of the model's nodes that these steps compute, each once."""
    return list(dict.fromkeys(p.node for r in runs for p in r.places if p.node))


def kernels_in_use(program: Program) -> list[Kernel]:
    """The kernels that some step runs, each once, in the order of their first use."""
    return list(runs_of(program))


def constant_inputs(runs: Sequence[RunKernel]) -> list[Buffer]:
    """The inputs of a kernel that are constants of just their shape in all the steps that run it, of which there is one at least."""

    def is_constant(slot: Slot, b: Buffer) -> bool:
        return slot.kind == CONSTANT and slot.shape == b.shape

    inputs = runs[0].kernel.inputs
    return [b for n, b in enumerate(inputs) if all(is_constant(s.inputs[n].resolve(), b) for s in runs)]


def constants_in_use(program: Program) -> list[Slot]:
    """The constants that some step reads, in the order that the program has them in."""
    read: set[Slot] = set()
    for f in program.functions.values():
        read.update(slot.resolve() for slot in f.outer)
        for s in steps(f.body):
            read.update(slot.resolve() for slot in s.reads)
    return [c for c in program.constants if c in read]


def calls(function: HostFunction) -> list[str]:
    """The functions that this one calls, each once."""
    return list(dict.fromkeys(s.function for s in steps(function.body) if isinstance(s, CallFunction)))
