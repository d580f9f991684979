"""The form in which functions are evaluated: blocks of instructions over numbered slots.

Every node of a function has a slot of the frame; parameters come first. An instruction reads slots, writes one, and
names the slots that are dead afterwards, so that values are let go as early as possible. A branch of `if` or a clause of
`match` is a block of its own within the same frame.

A node that is used in several branches, and nowhere before them, stands in each of their blocks behind a `SKIP`: it is
evaluated where it is first needed, and only there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ..ir import Expr, Pattern, Var


class Kind(IntEnum):
    """What an instruction does. `args` are slots, `extra` is named in brackets."""

    OPERATOR = 0
    """apply an operator [its bound `evaluate`]"""
    CALL = 1
    """call the function in the last of `args`"""
    TAIL_CALL = 2
    """the same, and the result is the result of the caller: its frame is given up"""
    TUPLE = 3
    FIELD = 4
    """take a field of a tuple [index]"""
    IF = 5
    """run one of two blocks [(block if true, block if false)]"""
    MATCH = 6
    """run the block of the first clause that fits [clauses]"""
    CLOSURE = 7
    """make a closure of `args` [(code, which of the captured is the closure itself, or None)]"""
    DATA = 8
    """apply a constructor [constructor]"""
    REF_CREATE = 9
    REF_READ = 10
    REF_WRITE = 11
    SKIP = 12
    """pass over the next instruction if `out` has been written"""


class _Unset:
    def __repr__(self) -> str:
        return "unset"


UNSET = _Unset()
"""What a slot holds before it is written."""


class Instruction:
    """One step of a block."""

    __slots__ = ("args", "extra", "frees", "kind", "node", "out")

    def __init__(self, kind: Kind, out: int, args: tuple[int, ...], extra: Any, node: Expr) -> None:
        self.kind = kind
        self.out = out
        self.args = args
        self.extra = extra
        self.node = node
        self.frees: tuple[int, ...] = ()


@dataclass(slots=True, eq=False)
class Block:
    """A straight run of instructions; `result` is the slot of its value. `entry_frees` are dead from its start."""

    depth: int
    parent: Block | None = None
    branch_of: Expr | None = None
    """The `if` or `match` that this is a branch of."""
    tail: Expr | None = None
    """The expression whose value is the function's result, if this block ends the function."""
    instructions: list[Instruction] = field(default_factory=list)
    steps: list[tuple[int, int, tuple[int, ...], tuple[int, ...], Any, Expr]] = field(default_factory=list)
    """The instructions as the machine reads them: (kind, out, args, frees, extra, node)."""
    result: int = -1
    entry_frees: tuple[int, ...] = ()
    gives_up_result: bool = False
    defines: set[int] = field(default_factory=set)
    inherits: set[int] = field(default_factory=set)
    """Slots of outer blocks that nothing needs after this block."""
    needs: set[int] = field(default_factory=set)
    """Slots of outer blocks that are read in this block or below."""


@dataclass(frozen=True, slots=True, eq=False)
class Clause:
    """A clause of `match`: the pattern, the slots of the variables it binds, the block."""

    pattern: Pattern
    slots: dict[Var, int]
    block: Block


@dataclass(slots=True, eq=False)
class Code:
    """A function ready to run. A frame is the arguments, then a copy of `rest`, then captured values put in place."""

    body: Block
    arity: int
    rest: list[Any]
    captured: Sequence[Expr]
    """What is taken from outside, in the order of a closure's values."""
    captured_slots: Sequence[int]
    name: str
