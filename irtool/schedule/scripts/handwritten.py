"""A schedule written in Python, stage by stage, from primitives::

    s = irtool.create_schedule(lowered)
    s["T_relu"].split("ax0", [2, 2], ["outer", "inner"]).vectorize("ax1")
    print(s)                      # the loops, as they are now
    nest = s.lower()              # a loop nest, which irtool.to_text prints

A stage begins with a loop for each of its axes, and stays so unless it is scheduled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...diagnostics import UsageError, nearest
from ...te.tensor import Tensor
from ...tir.convert_ssa import convert_to_ssa
from ...tir.flatten import flatten
from ...tir.forms import AnyForm, Map, Reduction, nest_of, stores_of, with_workspace
from ...tir.kernel import Kernel
from ...tir.show import show_stmt
from ...tir.stmt import PrimFunc, Stmt, seq
from ...tir.vector_target import USUAL, VectorTarget
from .. import primitives
from ..core.block import Block
from ..core.nest import lower_all


class StageSchedule:
    """The schedule of one stage. Every primitive is a method of its name (`split`, `fuse`, `reorder`, `vectorize`, `cache_write`
    …) and returns the schedule; after `loop_partition`, `part(n)` is one of its parts.

    Attributes:
        name: the tensor that the stage computes.
        parts: the blocks of its parts; one, unless it was partitioned.
        trace: the calls of primitives, as a script has them.
    """

    def __init__(self, name: str, form: Map | Reduction) -> None:
        self.name = name
        self.parts: list[Block[Any]] = [Block.of(form)]
        self.trace: list[str] = []

    @property
    def loops(self) -> list[tuple[str, int]]:
        """Names and extents of the loops, outermost first, those of a reduction last."""
        return [(v.name, extent) for b in self.parts for v, extent in (*b.loops, *b.inner)]

    def part(self, number: int) -> Part:
        """The part of the stage with that number, from 0. Raises UsageError for an unknown number."""
        if not 0 <= number < len(self.parts):
            raise UsageError(f"{self.name} has {len(self.parts)} parts, and no part {number}")
        return Part(self, number)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _method(self, 0, name, self)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_by_hand()})


class Part:
    """A part of a stage; every primitive is a method."""

    def __init__(self, stage: StageSchedule, number: int) -> None:
        self.stage = stage
        self.number = number

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _method(self.stage, self.number, name, self)


def _by_hand() -> list[str]:
    """The names of primitives for one stage that do not split it into several: stages of a kernel begin as maps and
    reductions."""
    named = [(n, getattr(primitives, n)) for n in primitives.__all__]
    return [n for n, p in named if getattr(p, "by_hand", False) and not getattr(p, "makes_stages", False)]


def _method(stage: StageSchedule, number: int, name: str, again: Any) -> Callable[..., Any]:
    """The primitive `name` as a method."""
    known = _by_hand()
    if name not in known:
        help = nearest(name, known)
        raise AttributeError(f"unknown primitive {name}" + (f": {help}" if help else ""))

    def apply(*args: Any, **options: Any) -> Any:
        if again is stage and len(stage.parts) > 1:
            raise UsageError(f"{stage.name} has {len(stage.parts)} parts", help="part(0) is the first of them")
        block = stage.parts[number]
        if name == "loop_partition":
            _check_whole(block, *args, **options)
        with primitives.tracing() as lines:
            try:
                result = getattr(primitives, name)(block, *args, **options)
            except TypeError as error:
                raise UsageError(f"{name} of {stage.name}: {str(error).removeprefix(f'{name}() ')}") from None
        stage.trace += lines
        stage.parts[number : number + 1] = result if isinstance(result, list) else [result]
        return again

    return apply


def _check_whole(block: Block[Any], loop: Any, ranges: Sequence[tuple[int, int]]) -> None:
    """Raises UsageError if the ranges leave out steps of a loop."""
    v, extent = block.find(loop)
    reached = 0
    for begin, end in sorted(ranges):
        if begin > reached:
            break
        reached = max(reached, end)
    if reached != extent:
        raise UsageError(f"the ranges do not cover exactly the {extent} steps of {v.name}")


class Schedule:
    """A kernel that is scheduled by hand.

    Attributes:
        stages: the schedules of its maps and reductions, by the names of their tensors. Sorting and other stages that are no
            formula have none.
    """

    def __init__(self, kernel: Kernel, attrs: Mapping[str, Any] | None = None, target: VectorTarget = USUAL) -> None:
        self._kernel = kernel
        self._attrs = dict(attrs or {})
        self._target = target
        self._stages: list[tuple[AnyForm, StageSchedule | None]] = []
        self.stages: dict[str, StageSchedule] = {}
        for form in kernel.stages:
            schedule = None
            if isinstance(form, Map | Reduction):
                schedule = StageSchedule(self._free_name(stores_of(form)[0].buffer.name), form)
                self.stages[schedule.name] = schedule
            self._stages.append((form, schedule))

    def _free_name(self, base: str) -> str:
        name, n = base, 1
        while name in self.stages:
            name, n = f"{base}_{n}", n + 1
        return name

    def __getitem__(self, what: str | Tensor) -> StageSchedule:
        """The stage of that name, or of a tensor. Raises UsageError for an unknown name."""
        name = what.name if isinstance(what, Tensor) else what
        if name not in self.stages:
            known = ", ".join(self.stages) or "none"
            raise UsageError(f"no stage computes {name}", help=nearest(name, self.stages) or f"stages: {known}")
        return self.stages[name]

    def lower(self) -> PrimFunc:
        """The loop nest, over flat buffers, as `LowerTE` builds it. Raises UsageError for a schedule that cannot be lowered."""
        nests: list[Stmt] = []
        for form, stage in self._stages:
            nests.append(nest_of(form) if stage is None else lower_all(stage.parts, self._target))
        k = self._kernel
        body = with_workspace(k.temporaries, seq(nests))
        nest = PrimFunc(k.name, k.params, body, k.num_outputs, self._attrs, k.checked_type)
        return convert_to_ssa(flatten(nest))

    def __str__(self) -> str:
        return show_stmt(self.lower().body)
