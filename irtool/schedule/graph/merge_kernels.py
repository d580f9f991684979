"""Merging of two kernels: the stages of both in one, with temporaries in place of the tensors between them.

    t = a(x)          (a kernel)
    y = b(t, x)       (a kernel)         ⇒         y = ab(x):  the stages of a, which write t', and those of b, which read it

A rule decides which calls are merged, and schedules their stages; calls of equal pairs share a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from ...tir.forms import AnyForm, with_buffers
from ...tir.kernel import Kernel
from ...tir.program import TEMP, Program, RunKernel, Slot
from ...tir.stmt import Buffer, Scope
from .step_lists import Mentions, fused_facts, rewrite_step_lists

View = tuple[Slot, tuple[int, ...]]
"""A slot in the shape under which a kernel reads or writes it."""


@dataclass(frozen=True)
class MergedStages:
    """The stages of two kernels over common buffers.

    Attributes:
        first, second: the stages of each.
        inputs, outputs: the parameters.
        between: the buffers that the first one writes for the second one only: the buffer that is written, and the one that is
            read. They are one buffer if both kernels see the same shape.
        temporaries: those of both kernels, the second one's first.
        kernels: the kernels.
    """

    first: list[AnyForm]
    second: list[AnyForm]
    inputs: list[Buffer]
    outputs: list[Buffer]
    between: list[tuple[Buffer, Buffer]]
    temporaries: list[Buffer]
    kernels: tuple[Kernel, Kernel]

    def kernel(self, stages: Sequence[AnyForm], temporaries: Sequence[Buffer]) -> Kernel:
        """The kernel with these stages."""
        return Kernel(
            params=[*self.inputs, *self.outputs],
            stages=stages,
            num_outputs=len(self.outputs),
            temporaries=temporaries,
            macs=sum(k.macs for k in self.kernels),
            **fused_facts(self.kernels),
        )


class Merger:
    """Merges calls by a rule that builds a kernel from the stages of two, or refuses. `facts` of a merge are the rule's other
    inputs, besides the kernels and their common slots."""

    def __init__(self, rule: Callable[[MergedStages, Hashable], Kernel | None]) -> None:
        self.rule = rule
        self._kernels: dict[Hashable, Kernel | None] = {}

    def merge(self, a: RunKernel, b: RunKernel, between: Sequence[Slot], facts: Hashable = None) -> RunKernel | None:
        """The call in place of two that run one after the other. `between`: results of the first that only the second one
        names."""
        first, second = (
            [(x.resolve(), p.shape) for x, p in zip((*s.inputs, *s.outputs), s.kernel.params)] for s in (a, b)
        )
        views = dict.fromkeys((*first, *second))
        outputs = [v for v in (*first[len(a.inputs) :], *second[len(b.inputs) :]) if v[0] not in between]
        inputs = [v for v in views if v[0] not in between and v not in outputs]
        if {x for x, _ in inputs} & {x for x, _ in outputs}:
            return None
        order = {v: n for n, v in enumerate((*inputs, *outputs, *views))}
        wiring = (tuple(order[v] for v in (*first, *second)), len(inputs), len(outputs))
        key = (a.kernel, b.kernel, wiring, facts)
        if key not in self._kernels:
            names = {v: f"p{n}" for n, v in enumerate(inputs)}
            stages = _merged((a.kernel, b.kernel), (first, second), names, between)
            self._kernels[key] = self.rule(stages, facts) if stages is not None else None
        kernel = self._kernels[key]
        if kernel is None:
            return None
        return RunKernel(kernel, [x for x, _ in inputs], [x for x, _ in outputs], places=a.places + b.places)


def _merged(
    kernels: tuple[Kernel, Kernel],
    views: tuple[Sequence[View], Sequence[View]],
    names: Mapping[View, str],
    between: Sequence[Slot],
) -> MergedStages | None:
    """The stages of two kernels. `names`: those of the inputs. None if the kernels expect different layouts of the same
    tensor."""
    buffers: dict[View, Buffer] = {}
    stages: list[list[AnyForm]] = []
    temporaries: list[Buffer] = []
    for k, own in zip(kernels, views):
        replaced = {t: t.replace() for t in k.temporaries}  # both may be one kernel
        temporaries += replaced.values()
        for v, old in zip(own, k.params):
            inner = v[0] in between
            name = _result(kernels[0]) if inner else names.get(v, old.name)
            new = old.replace(name=name, scope=Scope.GLOBAL if inner else old.scope)
            replaced[old] = buffers.setdefault(v, new)
            if replaced[old].layout != old.layout:
                return None
        stages.append([with_buffers(f, replaced) for f in k.stages])
    (first, second), (written, read) = stages, ({v[0]: v for v in own if v[0] in between} for own in views)
    return MergedStages(
        first=first,
        second=second,
        inputs=[buffers[v] for v in names],
        outputs=[b for v, b in buffers.items() if v[0] not in between and v not in names],
        between=[(buffers[v], buffers[read[x]]) for x, v in written.items()],
        temporaries=temporaries[::-1],
        kernels=kernels,
    )


def _result(kernel: Kernel) -> str:
    """A name for the kernel's result: that of its last operator."""
    return kernel.operators[-1].split(".")[-1] if kernel.operators else "value"


def merge_with_readers(
    program: Program,
    reader: Callable[[Sequence, int, Mentions], int | None],
    merge: Callable[[RunKernel, RunKernel, Mentions], RunKernel | None],
) -> None:
    """Merges calls with later ones in every function of the program. `reader`: the index of the later step that the call at an
    index may be merged with."""

    def change(body: list, mentions: Mentions) -> None:
        first = 0
        while first < len(body):
            n = reader(body, first, mentions) if isinstance(body[first], RunKernel) else None
            both = merge(body[first], body[n], mentions) if n is not None else None
            if n is None or both is None:
                first += 1
                continue
            mentions.fused((body[first], body[n]), both)
            # Fuse into the earlier position if all inputs are ready: shorter live ranges.
            written = {x.resolve() for s in body[first + 1 : n] for x in s.outputs}
            early = written.isdisjoint(x.resolve() for x in both.inputs)
            body[first if early else n] = both
            del body[n if early else first]

    rewrite_step_lists(program, change)


def only_reader(body: Sequence, step: int, mentions: Mentions) -> int | None:
    """For `merge_with_readers`: the index of the only step that reads the result of a call, once, if only calls are between the two steps."""
    first = body[step]
    if first.kernel.finished or len(first.outputs) != 1:
        return None
    slot = first.outputs[0].resolve()
    names = mentions.of(slot)
    if slot.kind != TEMP or len(names) != 2 or id(first) not in names:
        return None
    for n, s in enumerate(body[step + 1 :], step + 1):
        if not isinstance(s, RunKernel):
            return None
        if id(s) in names:
            once = sum(x.resolve() is slot for x in s.inputs) == 1
            return n if once and not s.kernel.finished and len(s.outputs) == 1 else None
    return None
