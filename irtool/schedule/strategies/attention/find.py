"""Attention in a program: a product, kernels that work on its rows, and a product of their results.

    s = q · kᵀ          (a kernel)
    s' = s / 8 + mask   (a kernel)         ⇒      for tiles of rows: s' = …; p' = …; out = p' · v
    p = softmax(s')     (a kernel)
    out = p · v         (a kernel)

The intermediate results have all queries times all keys as elements. If nothing else reads them, a tile of their rows in the
cache is enough (Dao et al. 2022, FlashAttention).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....tir.forms import Map, Reduction
from ....tir.kernel import Kernel
from ....tir.program import CONSTANT, TEMP, Program, RunKernel, Slot
from ....tir.vector_target import VectorTarget
from ...core.affine import operands
from ...cost.machine import LOOKED_AT
from ...graph.step_lists import Mentions, fused_facts, rewrite_step_lists
from .chain import Chain
from .form import Attention
from .tiled import NotRows, is_product
from .transpose_results import transpose_results

FusedChains = dict[tuple, list[Kernel]]
"""The kernels that replace a chain, by the kernels of the chain."""


def fuse_attention(program: Program, target: VectorTarget) -> None:
    """Merges the kernels of each attention in the program into one."""
    fused_chains: FusedChains = {}
    names = {k.name for k in program.kernels}
    rewrite_step_lists(program, lambda body, mentions: _fuse_in(body, mentions, target, fused_chains, names))


def _fuse_in(
    body: list,
    mentions: Mentions,
    target: VectorTarget,
    fused_chains: FusedChains,
    names: set[str],
) -> None:
    writers: dict[Slot, tuple[int, RunKernel]] = {}
    for step, s in enumerate(body):
        if isinstance(s, RunKernel) and len(s.outputs) == 1:
            writers[s.outputs[0].resolve()] = (step, s)
    instead: dict[int, list[RunKernel]] = {}
    for step, s in enumerate(body):
        chain = _chain(s, writers, mentions) if isinstance(s, RunKernel) else None
        if chain is None or not _is_undisturbed(body, writers[chain[0].outputs[0].resolve()][0], step, chain):
            continue
        fused = _fused(chain, target, fused_chains, names)
        if fused:
            instead.update({id(x): [] for x in chain[:-1]} | {id(s): fused})
    body[:] = [x for s in body for x in instead.get(id(s), [s])]


def _chain(
    last: RunKernel, writers: Mapping[Slot, tuple[int, RunKernel]], mentions: Mentions
) -> list[RunKernel] | None:
    """The kernels from one product to another, `last`, each of whose results the next one alone reads; None for other kernels."""
    if last.kernel.finished or len(last.kernel.stages) != 1 or not _is_of_values(last):
        return None
    waiting: list[list[RunKernel]] = [[last]]
    while waiting:
        chain = waiting.pop()
        for slot in reversed(chain[0].inputs):
            slot = slot.resolve()
            _, writer = writers.get(slot, (0, None))
            if writer is None or slot.kind != TEMP or not mentions.are_all(slot, (writer, chain[0])):
                continue
            stages = writer.kernel.stages
            if writer.kernel.finished or not all(isinstance(x, Map | Reduction) for x in stages):
                continue
            if any(map(is_product, stages)):
                sums = any(isinstance(x, Reduction) for s in chain[:-1] for x in s.kernel.stages)
                if sums and _is_of_values(writer) and sum(not isinstance(x, Map) for x in stages) == 1:
                    return [writer, *chain]
            elif len(chain) <= LOOKED_AT:
                waiting.append([writer, *chain])
    return None


def _is_of_values(s: RunKernel) -> bool:
    """True if a kernel has a product without weights: the build packs weights."""
    product = next((x for x in s.kernel.stages if isinstance(x, Reduction) and is_product(x)), None)
    if product is None:
        return False
    weights = {b for slot, b in zip(s.inputs, s.kernel.inputs) if slot.resolve().kind == CONSTANT}
    return not any(e.source in weights for e in operands(product))


def _is_undisturbed(body: Sequence, first: int, last: int, chain: Sequence[RunKernel]) -> bool:
    """True if no step inside of the chain writes an input of the chain."""
    read = {x.resolve() for s in chain for x in s.inputs}
    between = [
        s for s in body[first:last] if not isinstance(s, RunKernel)
    ]  # kernels write no input of the chain: each result is written once
    return not any(x.resolve() in read for s in between for x in s.writes)


def _fused(
    chain: Sequence[RunKernel], target: VectorTarget, fused_chains: FusedChains, names: set[str]
) -> list[RunKernel]:
    """The calls that replace a chain; an empty list if the chain stays."""
    inner = {s.outputs[0].resolve(): n for n, s in enumerate(chain[:-1])}
    inputs: list[Slot] = []
    wiring: list[tuple[int, ...]] = []
    for s in chain:
        wires = []
        for slot in s.inputs:
            slot = slot.resolve()
            if slot in inner:
                wires.append(-1 - inner[slot])
                continue
            inputs.append(slot)
            wires.append(len(inputs) - 1)
        wiring.append(tuple(wires))
    key = (*(s.kernel for s in chain), *wiring)
    if key not in fused_chains:
        fused_chains[key] = [_named(k, names) for k in _kernels([s.kernel for s in chain], wiring, target)]
    places = tuple(p for s in chain for p in s.places)
    out = chain[-1].outputs[0].resolve()
    match fused_chains[key]:
        case [kernel]:
            return [RunKernel(kernel, inputs, [out], places=places)]
        case [kernel, turn_back]:
            rows = Slot(f"{out.name}_rows", kernel.outputs[0].shape, out.dtype, TEMP)
            steps = [RunKernel(kernel, inputs, [rows], places=places)]
            return [*steps, RunKernel(turn_back, [rows], [out], places=chain[-1].places)]
    return []


def _named(k: Kernel, names: set[str]) -> Kernel:
    """The kernel under a unique name."""
    name, n = k.name, 1
    while name in names:
        name = f"{k.name}_{n}"
        n += 1
    names.add(name)
    return k.replace(name=name)


def _kernels(kernels: Sequence[Kernel], wiring: Sequence[Sequence[int]], target: VectorTarget) -> list[Kernel]:
    """The kernel of a chain, and the one that transposes its results if values come first; an empty list if the chain stays."""
    transposed = transpose_results(kernels, wiring)
    kernel = _kernel(transposed.kernels if transposed is not None else kernels, wiring, target)
    if kernel is None:
        return []
    return [kernel] if transposed is None else [kernel, transposed.transposition]


def _kernel(kernels: Sequence[Kernel], wiring: Sequence[Sequence[int]], target: VectorTarget) -> Kernel | None:
    """The kernel of a chain; None if its rows cannot be tiled, or are too few, or short."""
    chain = Chain(kernels, wiring)
    try:
        form = Attention.of(chain, target)
    except NotRows:
        return None
    return Kernel(
        params=[*chain.params, chain.out],
        stages=[form],
        **fused_facts(kernels),
        macs=sum(k.macs for k in kernels),
        finished=True,
    )
