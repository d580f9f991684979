"""The form in which functions are evaluated: blocks of instructions over numbered slots.

Every node of a function has a slot of the frame; parameters come first. An instruction reads slots, writes one, and
names the slots that are dead afterwards, so that values are let go as early as possible. A branch of `if` or a clause of
`match` is a block of its own within the same frame.

A node that only several branches use has a block of its own, which a `NEED` runs where the node is first needed: it is
evaluated at most once, and only if it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from ..ir import Expr, Pattern, Var


class Kind(IntEnum):
    """The kind of an instruction. `args` are slots, `extra` is named in brackets."""

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
    NEED = 12
    """run a block unless `out` has been written [block]"""


class _Unset:
    def __repr__(self) -> str:
        return "unset"


UNSET = _Unset()
"""What a slot holds before it is written."""


Step = tuple[int, int, tuple[int, ...], tuple[int, ...], Any, Expr]
"""An instruction as the machine reads it: (kind, out, args, frees, extra, node)."""


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


class BasicBlock:
    """A straight run of instructions; `result` is the slot of its value.

    Blocks form a tree: a branch is below the block of its `if`, the body of a function literal below the block of the
    literal. `jump` leads to an ancestor further up, chosen so that `common` takes logarithmic time.
    """

    __slots__ = (
        "defines",
        "depth",
        "entry_frees",
        "function",
        "gives_up_result",
        "inherits",
        "instructions",
        "jump",
        "needed",
        "needs",
        "parent",
        "result",
        "steps",
        "tail",
    )

    def __init__(self, parent: BasicBlock | None, starts_function: bool = False) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        if parent is None:
            self.jump: BasicBlock = self
        else:
            hop = parent.jump
            self.jump = hop.jump if parent.depth - hop.depth == hop.depth - hop.jump.depth else parent
        self.function: BasicBlock = self if starts_function or parent is None else parent.function
        """The body block of the function that this block belongs to."""
        self.tail: Expr | None = None
        """The expression whose value is the function's result, if this block ends the function."""
        self.instructions: list[Instruction] = []
        self.steps: list[Step] = []
        self.result = -1
        self.entry_frees: tuple[int, ...] = ()
        """Slots that are dead from the start of this block."""
        self.gives_up_result = False
        self.needed: set[Expr] = set()
        """Nodes with a block of their own that this block has made sure of."""
        self.defines: set[int] = set()
        self.inherits: set[int] = set()
        """Slots of outer blocks that nothing reads after this block."""
        self.needs: set[int] = set()
        """Slots of outer blocks that are read in this block or below."""


@dataclass(frozen=True, slots=True, eq=False)
class Clause:
    """A clause of `match`: the pattern, the slots of the variables it binds, the block."""

    pattern: Pattern
    slots: dict[Var, int]
    block: BasicBlock


@dataclass(slots=True, eq=False)
class CompiledFunction:
    """A function ready to run. A frame is the arguments, then a copy of `rest`, then captured values put in place."""

    body: BasicBlock
    arity: int
    rest: list[Any]
    captured: Sequence[Expr]
    """What is taken from outside, in the order of a closure's values."""
    captured_slots: Sequence[int]
    name: str
