"""When slots die: after the last instruction of their block that reads them, or within the branches that do.

A slot that is last read by an `if` (or within its branches) is handed down to the branches: each lets go of it after its
own last use, or at its start. Slots of nodes that stand in several blocks are kept until the frame goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .code import Block, Instruction, Kind


def finish_blocks(blocks: Sequence[Block], lazy: set[int]) -> None:
    """Fills in what each instruction frees and puts the skips before `lazy` slots; outer blocks come first in `blocks`."""
    for block in reversed(blocks):
        _find_needs(block)
    for block in blocks:
        _place_frees(block, lazy)
        _write_steps(block, lazy)


def _branches(instruction: Instruction) -> Iterable[Block]:
    if instruction.kind is Kind.IF:
        return instruction.extra
    if instruction.kind is Kind.MATCH:
        return [c.block for c in instruction.extra]
    return ()


def _find_needs(block: Block) -> None:
    needs = {block.result}
    for instruction in block.instructions:
        needs.update(instruction.args)
        for branch in _branches(instruction):
            needs |= branch.needs
    block.needs = needs - block.defines


def _place_frees(block: Block, lazy: set[int]) -> None:
    dying = (block.defines | block.inherits) - lazy
    outermost = block.parent is None
    block.gives_up_result = not outermost and block.result in dying
    dying.discard(block.result)
    for instruction in reversed(block.instructions):
        branches = _branches(instruction)
        read = set(instruction.args)
        for branch in branches:
            read |= branch.needs
        last = read & dying
        if instruction.out in dying and instruction.out not in lazy and not branches:
            # Nothing after this reads what it writes, else it would have left `dying` already.
            last.add(instruction.out)
        if last:
            dying -= last
            if branches:
                for branch in branches:
                    branch.inherits |= last - {instruction.out}
            else:
                instruction.frees = tuple(sorted(last - {instruction.out}))
    block.entry_frees = tuple(sorted(dying & block.inherits))


def _write_steps(block: Block, lazy: set[int]) -> None:
    steps = block.steps
    for i in block.instructions:
        if i.out in lazy:
            steps.append((int(Kind.SKIP), i.out, (), (), None, i.node))
        steps.append((int(i.kind), i.out, i.args, i.frees, i.extra, i.node))
    block.instructions = []
