"""A row: an instruction for sums of products, by its meaning and by its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...tir import bf16_dot, int8_dot, int16_dot
from ...tir.build import cast, const
from ...tir.dot_meaning import dot_meaning
from ...tir.forms import Reduction
from ...tir.nodes import Binary, Var
from ...tir.stmt import Buffer, Scope, Store

ARCHITECTURES = ("x86_64", "aarch64", "arm", "wasm32")

Condition = tuple[tuple[str, ...], ...]
"""Alternatives of compilers' macros: all macros of one alternative are defined, and those behind `!` are not."""

_SIGNS = {name.split("_")[1]: pair for name, pair in int8_dot.LONG_DOTS.items()}

SUMS = {f"sum16_{signs}": pair for signs, pair in _SIGNS.items()}
"""The functions that add sixteen products of bytes to a single sum."""

TILES = {
    **{f"tiles_{signs}": pair for signs, pair in {**_SIGNS, "s8u8": ("int8", "uint8")}.items()},
    "tiles_bf16": (bf16_dot.DTYPE, bf16_dot.DTYPE),
}
"""The functions for products of matrix tiles."""


@dataclass(frozen=True)
class InstructionSet:
    """An instruction set of an architecture.

    Attributes:
        flag: its name in Linux's /proc/cpuinfo.
        option: its option of compilers, `-mOPTION`; LLVM's name for the feature too.
        macro: the macro of compilers that use it.
        title: its name in `irtool doctor`; empty if that does not list it.
    """

    flag: str
    architecture: str
    option: str
    macro: str
    title: str = ""


@dataclass(frozen=True)
class Form:
    """The computation of one function of vectors, `acc + dot(a, b)`, by an instruction.

    Attributes:
        function: the function (`dot4_u8s8`), by which `meaning` has its loop nest.
        cost: instructions for each sum, if one operand's preparation serves several sums.
        c: the lines of the function's body in C, with open words: `$t`, the vector of sums; `$u`, that of uint32; `$lanes`. For
            products of matrix tiles, a statement; `$acc`, `$a` and `$b` are numbers of registers.
        llvm: the same in LLVM IR: `$t`; `$pairs`, the vector of 16-bit numbers; `$bytes`, that of bytes; `$splat_N`, a vector of
            Ns. Empty: the row has no LLVM IR.
        moved_to: the dtype to which one operand is shifted, for its sign; empty if no operand is shifted.
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
        rows, columns: the size of its product of matrices; 0 columns: as many as a vector has lanes.
        depth: numbers of a word: the products of each sum.
        when: the macros that it needs, by the number of lanes of 32 bits; 1: it works on general registers.
        forms: the functions that it computes.
        words: words of the texts that depend on the number of lanes.
        declares: LLVM's declarations of the functions that its texts call.
    """

    instruction: str
    architecture: str
    rows: int
    depth: int
    when: Mapping[int, Condition]
    forms: tuple[Form, ...]
    words: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    declares: str = ""
    columns: int = 0

    def form(self, function: str) -> Form | None:
        """The form of a function; None if the row has none."""
        return next((f for f in self.forms if f.function == function), None)

    def holds(self, lanes: int, macros: str) -> bool:
        """True if a compiler with these macros, each between spaces, has the instruction for vectors of `lanes`."""
        alternatives = self.when.get(lanes, ())
        return any(all((f" {m.lstrip('!')} " in macros) == (m[0] != "!") for m in every) for every in alternatives)

    def condition(self, lanes: int) -> str:
        """The same for C's preprocessor."""
        alternatives = [" && ".join(map(_defined, every)) for every in self.when[lanes]]
        if len(alternatives) == 1:
            return alternatives[0]
        return " || ".join(f"({a})" if " && " in a else a for a in alternatives)


def _defined(macro: str) -> str:
    return f"!defined({macro[1:]})" if macro[0] == "!" else f"defined({macro})"


def meaning(function: str) -> Reduction:
    """The loop nest that a function adds to its accumulators, with loops for the rows and the columns of products of matrices."""
    if function == int16_dot.DOT_WIDE:
        return int16_dot.meaning()
    if function == bf16_dot.DOT_PAIR:
        return bf16_dot.meaning()
    if function in SUMS:
        return dot_meaning(int8_dot.TILE, *SUMS[function])
    if function in int8_dot.DOTS:
        return int8_dot.meaning(function)
    if function in int8_dot.MATRICES:
        return int8_dot.matrix_meaning(f"dot{int8_dot.LONG}_{function.split('_')[1]}")
    return _tile_meaning(*TILES[function])


def _tile_meaning(first: str, second: str) -> Reduction:
    """`out[i, j] = acc`, where `for w in 16, k in 4: acc += a[i, w, k] * b[w, j, k]` (`k in 2` for bfloat16): words of the second
    matrix are in columns."""
    numbers, dtype = (bf16_dot.NUMBERS, "float32") if first == bf16_dot.DTYPE else (int8_dot.STEPS, "int32")
    a, b = (
        Buffer(name, (int8_dot.TILE, int8_dot.TILE, numbers), d, Scope.PARAM)
        for name, d in (("a", first), ("b", second))
    )
    out, acc = Buffer("out", (int8_dot.TILE, int8_dot.TILE), dtype, Scope.PARAM), Buffer("acc", (), dtype, Scope.LOCAL)
    i, j, w, k = (Var(x) for x in "ijwk")
    product = Binary("*", cast(a[i, w, k], dtype), cast(b[w, j, k], dtype), dtype)
    loops, inner = ((i, int8_dot.TILE), (j, int8_dot.TILE)), ((w, int8_dot.TILE), (k, numbers))
    update = Binary("+", acc.element(), product, dtype)
    return Reduction(loops, acc, const(0, dtype), inner, update, (Store(out, (i, j), acc.element()),))
