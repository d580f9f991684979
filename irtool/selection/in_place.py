"""Copies that are skipped if the caller passes the same memory for both buffers.

for i: y[i] = x[i]      ⇒      unless x and y are the same memory: for i: y[i] = x[i]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..tir.sharing import keeps_in_place
from ..tir.stmt import Buffer, Lowered, Seq, Stmt


@dataclass(frozen=True)
class UnlessSame:
    """A statement that runs unless two buffers are the same memory."""

    source: Buffer
    target: Buffer


def skip_copies(root: Stmt, updated: Sequence[tuple[Buffer, Buffer]], change: Callable[[Stmt], Stmt]) -> Stmt:
    """The nest after a change of each top-level statement; a condition skips those that copy in place.

    Args:
        updated: the pairs (input, output) whose output is a copy with some other elements.
    """
    stmts: list[Stmt] = []
    for top in root.stmts if isinstance(root, Seq) else (root,):
        pair = keeps_in_place(top, updated) if updated else None
        changed = change(top)
        stmts.append(changed if pair is None else Lowered(changed, UnlessSame(*pair)))
    return Seq(stmts) if isinstance(root, Seq) else stmts[0]
