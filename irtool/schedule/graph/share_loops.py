"""Loops shared among threads, kernel by kernel in the order of execution, so that a thread reads the results that it wrote."""

from __future__ import annotations

from ...tir.kernel import Kernel
from ...tir.program import Program, RunKernel, constant_inputs, runs_of
from ...tir.stmt import Stmt
from ...tir.vector_target import VectorTarget
from ..core.data_affinity import Owners
from .thread_split import Halves
from .threads import separate_variables, share_loops, shared_sizes, with_deeper


def shared_kernels(program: Program, target: VectorTarget) -> dict[Kernel, Kernel]:
    """For each kernel, the kernel with enough iterations of its parallel loops for all threads, and an order of them."""
    runs, owners = runs_of(program), Owners()
    return {k: _shared(k, runs.get(k, []), owners, target) for k in dict.fromkeys([*runs, *program.kernels])}


def _shared(k: Kernel, runs: list[RunKernel], owners: Owners, target: VectorTarget) -> Kernel:
    """The kernel with its loops shared; `owners` records the shares of its results."""
    nests: list[Stmt] = list(k.nests) if k.finished else separate_variables([share_loops(n, target) for n in k.nests])
    halves = Halves(set(constant_inputs(runs)) if runs else set(), target, owners.of_inputs(runs))
    if not k.finished:
        for n in nests:
            halves.take(n)
        nests = [with_deeper(n, halves.deeper) for n in nests]
    owners.note(runs, halves.written)
    shares = {v: n for s in nests for v, n in shared_sizes(s, target).items()}
    return k.replace(nests=nests, shares=shares, halves=halves.loops)
