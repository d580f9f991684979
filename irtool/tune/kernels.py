"""The distinct kernels of a module, each as a program of its own, and the alternative schedules of its stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ..backends.base import Backend, TimingConditions, TimingJob, VectorTarget
from ..driver.options import Options
from ..driver.stages import run_rest, run_up_to, stages_from
from ..ir import Module
from ..schedule.graph.kernel import schedule_kernel
from ..schedule.scripts.tuned import noting, stage_key, tuned
from ..schedule.strategies.base import choose_strategy, label_of, stage_variants
from ..symbolic_int import bound
from ..tir.kernel import Kernel
from ..tir.program import CONSTANT, PARAM, RESULT, HostFunction, Program, RunKernel, Slot, node_names, steps
from ..tir.structure import structural_words
from ..tir.symbols import symbols_of_kernel
from .executions import count_executions

SCHEDULING = "ScheduleKernels"
"""The stage before which kernels are taken out of the program."""

_MOST = 24
"""Most offers that are considered for a stage."""

_SHARE = 0.05
"""The least part of a kernel's work that makes a stage worth measuring."""


@dataclass
class Offers:
    """The alternatives of a stage: labels, that of the choice without measurements first."""

    key: str
    labels: tuple[str, ...]


@dataclass
class Tunable:
    """A kernel of a network.

    Attributes:
        kernel: not scheduled yet.
        cold: numbers of its inputs that are weights.
        calls: how many steps of the network call it, or one that is equal; once they are counted, how often a run does.
        stages: those for which there is something to choose.
        strategy: that of its main stage, once a `job` has been made.
        nodes: names of the nodes of an imported model that it computes.
    """

    kernel: Kernel
    cold: tuple[int, ...]
    calls: int = 1
    stages: list[Offers] = field(default_factory=list)
    strategy: str = ""
    nodes: list[str] = field(default_factory=list)

    @property
    def work(self) -> int:
        """Multiply-adds of all calls; elements of the results for kernels without any."""
        return self.calls * (bound(self.kernel.macs) or sum(bound(b.nbytes) // 4 for b in self.kernel.outputs))

    def job(
        self, backend: Backend, target: VectorTarget, choices: Mapping[str, str], conditions: TimingConditions
    ) -> TimingJob:
        """A job that measures the kernel with some choices."""
        program = _alone(self.kernel)
        with tuned(choices):
            run_rest(program, target, stages_from(SCHEDULING))
        self.strategy = program.kernels[0].choice.strategy
        result = backend.timing(program, conditions)
        assert result is not None
        return result


@dataclass
class Network:
    """The kernels of a module.

    Attributes:
        kernels: those with stages, each once, in the order of their first use.
        sequence: their numbers, for each step that runs one.
        steps: those steps.
        weights: bytes of all weights.
        passing: of each kernel, bytes of the weights that go through the caches between two of its executions, once these are counted:
            those of all steps that are executed as often at least, as those of a loop are.
        left_out: steps that run a kernel without stages.
        program: the program of the steps, before scheduling.
    """

    kernels: list[Tunable]
    sequence: list[int]
    steps: list[RunKernel]
    weights: int
    left_out: int
    program: Program
    passing: list[int] = field(default_factory=list)

    def count(self, backend: Backend, target: VectorTarget, values: Sequence[Any]) -> list[int]:
        """The number of executions of each step in a run on these values; the `calls` of kernels are the sums from now on. Done once, as the
        program is used up. Raises as `count_executions`."""
        read = [_constants(s) for s in self.steps]
        counted = count_executions(self.program, backend, target, SCHEDULING, values)
        executions = [counted[s] for s in self.steps]
        most = [0] * len(self.kernels)
        for k in self.kernels:
            k.calls = 0
        for number, times in zip(self.sequence, executions, strict=True):
            self.kernels[number].calls += times
            most[number] = max(most[number], times)
        bytes_of = {n: _bytes(c for c, times in zip(read, executions) if times >= n) for n in set(most)}
        self.passing = [bytes_of[n] for n in most]
        return executions


def find_tunables(prepared: Module, options: Options, target: VectorTarget) -> tuple[list[Tunable], int]:
    """The kernels with something to choose, most work first, and the bytes of all weights.

    `prepared` is the result of `driver.prepare`. Raises IrError for expressions that cannot be lowered.
    """
    network = find_kernels(prepared, options, target)
    for t in network.kernels:
        t.stages = _offers(t.kernel, target)
    tunables = [t for t in network.kernels if t.stages]
    return sorted(tunables, key=lambda t: -t.work), network.weights


def find_kernels(prepared: Module, options: Options, target: VectorTarget) -> Network:
    """The kernels of a module as they are before they are scheduled. Arguments and errors as of `find_tunables`."""
    program = run_up_to(prepared, options.entries, target, SCHEDULING)
    tunables: dict[str, Tunable] = {}
    sequence: list[str] = []
    run: list[RunKernel] = []
    left_out = 0
    for function in program.functions.values():
        for step in steps(function.body):
            if not isinstance(step, RunKernel):
                continue
            if not step.kernel.stages:
                left_out += 1
                continue
            constants = [n for n, slot in enumerate(step.inputs) if slot.resolve().kind == CONSTANT]
            key = f"{structural_words(step.kernel)} {constants}"
            sequence.append(key)
            run.append(step)
            if key in tunables:
                tunables[key].calls += 1
            else:
                tunables[key] = Tunable(step.kernel, tuple(constants))
            tunables[key].nodes += [n for n in node_names([step]) if n not in tunables[key].nodes]
    numbers = {key: n for n, key in enumerate(tunables)}
    weights = _bytes(map(_constants, run))
    return Network(list(tunables.values()), [numbers[k] for k in sequence], run, weights, left_out, program)


def _constants(step: RunKernel) -> set[Slot]:
    return {slot for slot in map(Slot.resolve, step.inputs) if slot.kind == CONSTANT}


def _bytes(constants: Iterable[set[Slot]]) -> int:
    return sum(s.nbytes for s in set().union(*constants))


def _offers(kernel: Kernel, target: VectorTarget) -> list[Offers]:
    with noting() as stages:
        schedule_kernel(kernel, target)
    total = sum(s.work for s in stages)
    result = []
    for stage in stages:
        if stage.work < _SHARE * total:
            continue
        strategy, offer = choose_strategy(stage)
        first = label_of(strategy, offer)
        others = (label_of(*v) for v in stage_variants(stage))
        labels = tuple(dict.fromkeys((first, *islice(others, _MOST))))
        if len(labels) > 1:
            result.append(Offers(stage_key(stage.form), labels))
    return result


def _alone(kernel: Kernel) -> Program:
    """A program that runs one kernel."""
    inputs = [Slot(f"p{n}", b.shape, b.dtype, PARAM) for n, b in enumerate(kernel.inputs)]
    outputs = [Slot(f"out{n}", b.shape, b.dtype, RESULT) for n, b in enumerate(kernel.outputs)]
    structure = None if len(outputs) == 1 else (None,) * len(outputs)
    main = HostFunction(
        "main",
        inputs,
        outputs,
        [RunKernel(kernel, inputs, outputs)],
        structure,
        param_names=[s.name for s in inputs],
        param_structures=[None] * len(inputs),
        further_lengths=symbols_of_kernel(kernel),
    )
    return Program({"main": main}, [kernel], [])
