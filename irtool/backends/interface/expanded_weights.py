"""Weights that are stored plain, and transformed when the library loads them (see `tir.expansion`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...tir.expansion import Expansion
from ...tir.program import CONSTANT, Derivation, Slot
from . import weights_file


@dataclass(frozen=True, eq=False)
class StoredWeights:
    """The constants of a weights file, and those that the library computes from some of them.

    Attributes:
        constants: those that the file has, in order.
        sources: for each constant that is computed, the one in the file that it is computed from.
    """

    constants: list[Slot]
    sources: dict[Slot, Slot]

    @classmethod
    def of(cls, constants: Sequence[Slot], expands: bool) -> StoredWeights:
        """The storage of a program's constants; `expands`: those with an expansion are stored plain."""
        stored: list[Slot] = []
        sources: dict[Slot, Slot] = {}
        for c in constants:
            if expands and _expansion(c) is not None:
                sources[c] = _plain(c)
                stored.append(sources[c])
            else:
                stored.append(c)
        return cls(stored, sources)

    @cached_property
    def offsets(self) -> dict[Slot, int]:
        """The offset in the file of each constant that it has."""
        return weights_file.offsets(self.constants)

    @cached_property
    def expanded_offsets(self) -> dict[Slot, int]:
        """The offset of each computed constant in the memory for them."""
        return weights_file.offsets(list(self.sources), begin=0)

    @cached_property
    def expanded_bytes(self) -> int:
        """The bytes of that memory."""
        return weights_file.padded_bytes(list(self.sources))

    @cached_property
    def factors(self) -> dict[tuple[tuple[float, ...], ...], int]:
        """The different matrices, each with the number of coefficients of those before it."""
        begins: dict[tuple[tuple[float, ...], ...], int] = {}
        count = 0
        for c in self.sources:
            x = expansion_of(c)
            if x.matrix not in begins:
                begins[x.matrix] = count
                count += x.rows * x.columns
        return begins

    @property
    def expansions(self) -> list[tuple[int, int, Expansion, int]]:
        """Each computation: the offsets of its operand in the file and of its result in memory, its expansion, and the index of its first
        coefficient among those of all matrices."""
        of = {c: expansion_of(c) for c in self.sources}
        return [
            (self.offsets[p], self.expanded_offsets[c], of[c], self.factors[of[c].matrix])
            for c, p in self.sources.items()
        ]


def expansion_of(c: Slot) -> Expansion:
    """The expansion of a constant that has one."""
    expansion = _expansion(c)
    assert expansion is not None
    return expansion


def _expansion(c: Slot) -> Expansion | None:
    return c.derivation.expansion if c.derivation is not None else None


def _plain(c: Slot) -> Slot:
    """The constant that is stored in place of one with an expansion."""
    assert c.derivation is not None
    expansion = expansion_of(c)
    derivation = Derivation(c.derivation.source, ("plain", c.derivation.how), expansion.plain)
    return Slot(f"{c.name}_plain", expansion.plain_shape, c.dtype, CONSTANT, derivation=derivation)
