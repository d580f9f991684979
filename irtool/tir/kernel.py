"""A loop nest that a program runs, with its facts: its forms, its schedule, the place of its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..symbolic_int import planned
from .expr import Var
from .forms import AnyForm, Steps, buffers_read, nest_of, stores_of, with_workspace
from .memory import CACHE_LINE
from .recognise import recognise
from .sharing import copied_input, in_place_pairs
from .stmt import Buffer, PrimFunc, Stmt, seq
from .work import count_macs


@dataclass(frozen=True)
class StageChoice:
    """The strategy of one stage: `number` is its place in the kernel, `primitives` are the calls that made its nest.

    `estimates` has the strategies that competed for it, cheapest first, with the processor cycles that each estimates for the stage.
    """

    number: int
    strategy: str
    reason: str
    primitives: tuple[str, ...]
    estimates: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Choice:
    """The strategy of a kernel's main stage, and why it has this one.

    `stages` tells the same of each stage that was scheduled, in order.
    """

    strategy: str = "loops"
    reason: str = ""
    stages: tuple[StageChoice, ...] = ()


@dataclass
class Placement:
    """The scratch memory of a kernel.

    Attributes:
        workspace: bytes of it; 1 if all its buffers are empty, as they have an address all the same; 0 if there are none.
        offsets: where each buffer of scope `GLOBAL` begins, in bytes from the beginning of the workspace.
        overlapping: pairs (input, output) that lie in the same memory in some call, one after the other.
        threads: how many parts a buffer of scope `THREAD` has, one behind the other, each of whole cache lines.
    """

    workspace: int
    offsets: dict[Buffer, int]
    overlapping: list[tuple[int, int]] = field(default_factory=list)
    threads: int = 1


def part_bytes(b: Buffer) -> int:
    """The bytes of a thread's part of a buffer in the workspace: full cache lines, so that no two threads write to one."""
    return -(-planned(b.nbytes) // CACHE_LINE) * CACHE_LINE


class Kernel(PrimFunc):
    """A loop nest of a `Program`: its stages, one after the other, inside of the buffers between them.

    Attributes:
        stages: its computation.
        temporaries: its buffers of scope `GLOBAL`, outermost first.
        nests: the loops of its stages: plain ones, until a schedule makes others, which stages may have in common. They and
            `temporaries` make the `body`.
        operators: names of the Relay operators that it computes.
        calls: their calls as text, with shapes and attributes.
        macs: products that it sums up.
        copies: the number of the parameter that it copies to its only output, if that is all it does.
        in_place: pairs (input, output), counted separately, that may lie in the same memory at the same time.
        choice: how it is scheduled.
        finished: whether it is compiled as it stands; a strategy makes the loops of its stages, if it has any.
        shares: steps of a parallel loop that a thread takes at a time, by the variable of the loop.
        halves: the loop of which threads take the first half of the steps first, of several that are shared as one, by the variable of
            the outermost of these.
        native_halves: whether vectors of float16 are computed with in 16 bits, which gives the same as float32 that is rounded.
        placement: its scratch memory, once that is planned.
    """

    __slots__ = (
        "calls",
        "choice",
        "copies",
        "finished",
        "halves",
        "in_place",
        "macs",
        "native_halves",
        "nests",
        "operators",
        "placement",
        "shares",
        "stages",
        "temporaries",
    )

    def __init__(
        self,
        name: str,
        params: Sequence[Buffer],
        stages: Sequence[AnyForm],
        num_outputs: int = 1,
        *,
        temporaries: Sequence[Buffer] = (),
        nests: Sequence[Stmt] | None = None,
        operators: Sequence[str] = (),
        calls: Sequence[str] = (),
        macs: int = 0,
        copies: int | None = None,
        in_place: Sequence[tuple[int, int]] = (),
        choice: Choice = Choice(),
        finished: bool = False,
        shares: Mapping[Var, int] | None = None,
        halves: Mapping[Var, Var] | None = None,
        native_halves: bool = False,
    ) -> None:
        self.stages = tuple(stages)
        self.temporaries = tuple(temporaries)
        self.nests = tuple(map(nest_of, stages)) if nests is None else tuple(nests)
        super().__init__(name, params, with_workspace(self.temporaries, seq(self.nests)), num_outputs)
        self.operators = tuple(operators)
        self.calls = tuple(calls)
        self.macs = macs
        self.copies = copies
        self.in_place = tuple(in_place)
        self.choice = choice
        self.finished = finished
        self.shares = dict(shares or {})
        self.halves = dict(halves or {})
        self.native_halves = native_halves
        self.placement: Placement | None = None

    @classmethod
    def of(cls, nest: PrimFunc, operators: Sequence[str] = (), calls: Sequence[str] = ()) -> Kernel:
        """The kernel of a nest that arrives as loops, not scheduled yet: its stages are recognised."""
        temporaries, stages = recognise(nest.body)
        return cls(
            nest.name, nest.params, stages, nest.num_outputs, temporaries=temporaries, operators=operators, calls=calls
        ).measured()

    def measured(self) -> Kernel:
        """The kernel with the facts of its plain loops: `macs`, `copies` and `in_place`."""
        return self.replace(macs=count_macs(self), copies=copied_input(self), in_place=in_place_pairs(self))

    def replace(self, **changed: Any) -> Kernel:
        """The same kernel but for some arguments of `__init__`; without a placement. Other stages have plain loops."""
        names = ("operators", "calls", "macs", "copies", "in_place", "choice", "finished", "shares", "halves")
        same = {n: getattr(self, n) for n in (*names, "native_halves")}
        same |= {n: getattr(self, n) for n in ("name", "params", "stages", "num_outputs", "temporaries")}
        if "stages" not in changed:
            same["nests"] = self.nests
        return Kernel(**{**same, **changed})

    def with_stages(self, stages: Sequence[AnyForm], **changed: Any) -> Kernel:
        """The kernel with other stages of the same results: without dead stages and unused temporaries, and with `in_place` found anew."""
        old_temporaries = changed.pop("temporaries", self.temporaries)
        stages = _stages_of_use(stages, set(old_temporaries))
        used = buffers_read(*stages).union(s.buffer for form in stages for s in stores_of(form))
        temporaries = [b for b in old_temporaries if b in used]
        kernel = self.replace(stages=stages, temporaries=temporaries, **changed)
        return kernel.replace(in_place=in_place_pairs(kernel))

    def with_body(self, body: Stmt, **attrs: Any) -> Kernel:
        assert not attrs, "a kernel's facts have names"
        return self if body is self.body else self.replace(nests=[body], temporaries=())

    @property
    def same_memory(self) -> list[tuple[Buffer, Buffer]]:
        """The buffers of `in_place`."""
        return [(self.inputs[i], self.outputs[o]) for i, o in self.in_place]

    @property
    def aliased(self) -> set[Buffer]:
        """The parameters that lie in the memory of another one in some call."""
        pairs = [*self.in_place, *(self.placement.overlapping if self.placement is not None else ())]
        return {self.inputs[i] for i, _ in pairs} | {self.outputs[o] for _, o in pairs}

    def offset(self, b: Buffer) -> int:
        """Bytes from the beginning of the workspace to a buffer of scope `GLOBAL` or `THREAD`."""
        return 0 if self.placement is None else self.placement.offsets.get(b, 0)

    @property
    def has_workspace(self) -> bool:
        """True if it is handed scratch memory."""
        return self.placement is not None and self.placement.workspace > 0

    @property
    def workspace(self) -> int:
        """Bytes of its scratch memory, once planned."""
        return 0 if self.placement is None else self.placement.workspace


def _stages_of_use(stages: Sequence[AnyForm], temporaries: set[Buffer]) -> list[AnyForm]:
    """The stages without those that write temporaries only, none of which a later one reads."""
    used_stages: list[AnyForm] = []
    read: set[Buffer] = set()
    for form in reversed(stages):
        written = {s.buffer for s in stores_of(form)}
        if isinstance(form, Steps) or not written or not written <= temporaries or written & read:
            used_stages.append(form)
            read |= buffers_read(form)
    return used_stages[::-1]
