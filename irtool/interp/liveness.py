"""Ends of live ranges of slots: after the last instruction of their block that reads them, or within the branches that do.

A slot that is last read by an `if` (or within its branches) is handed down to the branches: each lets go of it after its
own last use, or at its start. Nodes with a block of their own, and what those blocks read, are kept until the frame goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .code import BasicBlock, Instruction, Kind


def finish_blocks(blocks: Sequence[BasicBlock], own_blocks: Mapping[int, BasicBlock]) -> None:
    """Fills in the slots that each instruction frees. Outer blocks come first in `blocks`; `own_blocks` are those of single nodes,
    by the node's slot."""
    for block in reversed(blocks):
        _find_needs(block)
    live_out = set(own_blocks)
    for block in own_blocks.values():
        live_out |= block.needs
    for block in blocks:
        _place_frees(block, live_out)
        block.steps = [(int(i.kind), i.out, i.args, i.frees, i.extra, i.node) for i in block.instructions]
        block.instructions = []


def _branches(instruction: Instruction) -> Iterable[BasicBlock]:
    if instruction.kind is Kind.IF:
        return instruction.extra
    if instruction.kind is Kind.MATCH:
        return [c.block for c in instruction.extra]
    return ()


def _find_needs(block: BasicBlock) -> None:
    needs = {block.result}
    for instruction in block.instructions:
        needs.update(instruction.args)
        for branch in _branches(instruction):
            needs |= branch.needs
    block.needs = needs - block.defines


def _place_frees(block: BasicBlock, live_out: set[int]) -> None:
    dying = (block.defines | block.inherits) - live_out
    block.gives_up_result = block.function is not block and block.result in dying
    dying.discard(block.result)
    for instruction in reversed(block.instructions):
        branches = _branches(instruction)
        last = dying.intersection(instruction.args)
        for branch in branches:
            last |= dying & branch.needs
        dying -= last
        dying.discard(instruction.out)
        for branch in branches:
            branch.inherits |= last
        if not branches:
            instruction.frees = tuple(sorted(last))
    block.entry_frees = tuple(sorted(dying & block.inherits))
