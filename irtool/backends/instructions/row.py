"""A row: an instruction for sums of products, by its meaning and by its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...tir import wide_pairs, words
from ...tir.forms import Reduction

ARCHITECTURES = ("x86_64", "aarch64")

Condition = tuple[tuple[str, ...], ...]
"""Macros of compilers: all of those of one alternative are defined."""


MATRICES = tuple(f"mmla_{name.split('_')[1]}" for name in words.LONG_DOTS)
"""The functions for products of matrices, one for each pair of signs."""


@dataclass(frozen=True)
class InstructionSet:
    """An instruction set of an architecture.

    Attributes:
        flag: what Linux calls it in /proc/cpuinfo.
        option: what compilers take for it, `-mOPTION`; LLVM's name for the feature too.
        macro: what compilers define where they use it.
        title: what `irtool doctor` calls it; empty for one that it does not list.
    """

    flag: str
    architecture: str
    option: str
    macro: str
    title: str = ""


@dataclass(frozen=True)
class Form:
    """How an instruction computes one function of vectors, `acc + dot(a, b)`.

    Attributes:
        function: the function (`dot4_u8s8`), by which `meaning` has its loop nest.
        cost: vector instructions for each sum, where one operand's preparation serves several sums.
        c: the lines of the function's body in C, with words left open: `$t`, the vector of int32; `$u`, that of uint32; `$lanes`.
        llvm: the same in LLVM IR: `$t`; `$pairs`, the vector of 16-bit numbers; `$bytes`, that of bytes; `$splat_N`, a vector of Ns.
            Empty: there is none.
        moved_to: the dtype of numbers that one operand is moved to, for its sign; empty where operands are taken as they are.
    """

    function: str
    cost: int
    c: str
    llvm: str = ""
    moved_to: str = ""


@dataclass(frozen=True)
class Row:
    """An instruction, or several that differ by the signs of their operands.

    Attributes:
        instruction: a regular expression for its name in assembly.
        rows: rows of the product that it makes; lanes of a vector divided by them are its columns.
        depth: numbers of a word: the products of each sum.
        when: the macros that it needs, by the number of lanes of 32 bits.
        forms: the functions that it computes.
        words: words of the texts that depend on the number of lanes.
        declares: LLVM's declarations of what its texts call.
    """

    instruction: str
    architecture: str
    rows: int
    depth: int
    when: Mapping[int, Condition]
    forms: tuple[Form, ...]
    words: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    declares: str = ""

    def form(self, function: str) -> Form | None:
        """How it computes a function; None if it does not."""
        return next((f for f in self.forms if f.function == function), None)

    def holds(self, lanes: int, macros: str) -> bool:
        """True if a compiler that defines these macros, each between spaces, has it for vectors of so many lanes."""
        return any(all(f" {m} " in macros for m in every) for every in self.when.get(lanes, ()))

    def condition(self, lanes: int) -> str:
        """The same for C's preprocessor."""
        alternatives = [" && ".join(f"defined({m})" for m in every) for every in self.when[lanes]]
        if len(alternatives) == 1:
            return alternatives[0]
        return " || ".join(f"({a})" if " && " in a else a for a in alternatives)


def meaning(function: str) -> Reduction:
    """The loop nest that a function adds to its accumulators. A product of matrices, `mmla_u8s8`, has one of two rows and columns."""
    if function == wide_pairs.DOT_WIDE:
        return wide_pairs.meaning()
    if function in words.DOTS:
        return words.meaning(function)
    return words.matrix_meaning(list(words.LONG_DOTS)[MATRICES.index(function)])
