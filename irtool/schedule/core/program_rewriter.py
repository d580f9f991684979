"""Replacement of kernels and constants in a program.

Calls of a replaced kernel run the new one. The program's kernels are those that some step runs, in the order of their first use;
its constants are those that some step reads, derived ones last.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from ...steps import counted
from ...symbolic_int import Undecided
from ...tir.expansion import Expansion
from ...tir.kernel import Kernel
from ...tir.program import (
    CONSTANT,
    Derivation,
    OpenQuestion,
    Program,
    RunKernel,
    Slot,
    constants_in_use,
    kernels_in_use,
    runs_of,
)

_Calls = list[RunKernel]


class ProgramRewriter:
    """The calls of each kernel of a program, while a stage replaces some: `with ProgramRewriter(program) as rewriter: …`.

    At the end of the `with` block, the program has the kernels and constants that are in use.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.calls: dict[Kernel, _Calls] = runs_of(program)
        self._derived: dict[tuple[Slot, Hashable], Slot] = {}
        self._added: list[Slot] = []

    def __enter__(self) -> ProgramRewriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.program.kernels = kernels_in_use(self.program)
            if self._added:
                self.program.constants = [*self.program.constants, *self._added]
                self.program.constants = constants_in_use(self.program)

    def open_kernels(self) -> Iterator[tuple[Kernel, _Calls]]:
        """The kernels that are not finished, each with its calls."""
        return ((k, calls) for k, calls in self.calls.items() if not k.finished)

    def replace(self, calls: Iterable[RunKernel], kernel: Kernel) -> None:
        """Makes calls run another kernel."""
        for s in calls:
            s.kernel = kernel

    def derive(
        self,
        source: Slot,
        how: Hashable,
        compute: Callable[[Any], Any],
        shape: Sequence[int] | None = None,
        dtype: str = "",
        name: str = "",
        expansion: Expansion | None = None,
    ) -> Slot:
        """The constant that the build computes from another one; the same slot for the same source and `how`. Shape, dtype and
        name are those of the source unless they are given; `expansion` is another way to compute the same elements."""
        key = source, how
        if key not in self._derived:
            derivation = Derivation(source, how, compute, expansion=expansion)
            shape = source.shape if shape is None else shape
            constant = Slot(name or source.name, shape, dtype or source.dtype, CONSTANT, derivation=derivation)
            self._derived[key] = self.add(constant)
        return self._derived[key]

    def add(self, constant: Slot) -> Slot:
        """Adds a constant to the program, which some step reads from now on."""
        self._added.append(constant)
        return constant


def replace_kernels(program: Program, change: Callable[[Kernel], Kernel], finished: bool = False) -> None:
    """Replaces every kernel by `change(kernel)`, in its calls too; finished kernels only if `finished` is true.

    A kernel stays as it is if the change would need to know a length that only the run knows; the program notes the question.
    """
    runs = runs_of(program)
    for n, k in enumerate(counted("kernels", tuple(program.kernels))):
        if not k.finished or finished:
            try:
                changed = change(k)
            except Undecided as doubt:
                program.questions.append(OpenQuestion("", k.name, str(doubt)))
                continue
            program.kernels[n] = changed
            for s in runs.get(k, ()):
                s.kernel = changed
