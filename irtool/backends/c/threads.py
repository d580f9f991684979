"""The threads of one kernel, in C: loops that a team shares (see `team`), or loops that are parallel regions of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...schedule.graph.threads import shared_loops
from ...selection.nests import computes_in_floats
from ...selection.regions import Regions
from ...selection.teams import Barrier, EachThread, OneThread, Shared
from ...tir.kernel import Kernel
from ...tir.stmt import For, Stmt
from ..c_types import byte_count
from ..formulas.support import THREAD_NUMBER
from .code import CodeBuilder, Directive
from .denormals import BEGIN_REGION, BEGIN_THREAD, END_REGION, END_THREAD
from .expression import Writer
from .shares import SharePrinter
from .team import WORKER

Ends = list[Callable[[], None]]
"""The ends of statements that were begun, in reverse order."""


class Threads:
    """Prints the shared loops of one kernel.

    Args:
        strict: denormal numbers are kept.
        has_team: a team runs the program.
        in_team: all threads of the team run the kernel.
    """

    def __init__(self, kernel: Kernel, regions: Regions, strict: bool, in_team: bool) -> None:
        self.kernel = kernel
        self.regions = regions
        self.in_team = in_team
        self._flushes = not strict and computes_in_floats([kernel])
        """True if threads of its regions treat denormal numbers as zeros."""

    def begin(self, code: CodeBuilder, expressions: Writer) -> None:
        """Begins a nest, which is printed to `code`."""
        self._code = code
        self._expressions = expressions
        self._shared: set[For] = set()
        """Loops whose pragma is written."""
        self._tiled: For | None = None
        """The loop for whose blocks of sums registers of matrix tiles are configured."""

    def part(self, size: int) -> str:
        """The offset of the current thread's part of a buffer of `size` bytes from that of the first thread, as a term."""
        if self.regions.most_threads == 1 or not (self.in_team or self.regions.are_there):
            return ""
        number = f"{WORKER}->number" if self.in_team else self._expressions.helper(THREAD_NUMBER)
        return f" + (size_t){number} * " + byte_count(size)

    # -- in a team -----------------------------------------------------------------------------------------------------

    def enter(self, s: Stmt, part: Shared | OneThread | EachThread) -> tuple[Ends, Stmt]:
        """Begins a statement that a team shares, that one thread runs, or that each runs in full. Returns the functions that end
        it, and the statement inside."""
        if isinstance(part, Shared):
            x = self._expressions
            return SharePrinter(self._code, x.names, x.declare, x.index_type).open(part)
        self._code.open(f"if (!{WORKER}->number)" if isinstance(part, OneThread) else "")
        return [self._code.close], s

    def wait(self, barrier: Barrier) -> None:
        """Threads wait for each other."""
        self._code.line(f"irt_wait({WORKER}, {int(barrier.opens)});")

    # -- in regions ----------------------------------------------------------------------------------------------------

    def begin_region(self, s: For) -> Ends:
        """Begins the parallel region of a loop in which threads switch their mode first. Returns the functions that end it."""
        if not self._flushes or not self._is_shared(s) or s is self._tiled:
            return []
        self._code.line(BEGIN_REGION)
        self._parallel(s)
        self._code.open()
        self._code.line(BEGIN_THREAD)
        return [partial(self._end_region, self._code.close)]

    def begin_tiles(self, s: For, begin: Callable[[], None], end: Callable[[], None]) -> Ends:
        """Begins the region of a loop whose threads have registers of tiles, which `begin` configures in a block of their own."""
        self._tiled = s
        begins = self.regions.is_region(s)
        if begins and self._flushes:
            self._code.line(BEGIN_REGION)
        if begins:
            self._parallel(s)
        begin()
        if not begins or not self._flushes:
            return [end]
        self._code.line(BEGIN_THREAD)
        return [partial(self._end_region, end)]

    def pragma(self, s: For) -> list[Directive]:
        """The directives by which threads share the iterations of a loop, and of perfectly nested ones inside.

        Free threads take chunks: with equal shares, all would wait for the thread whose core has other work.
        """
        if not self._is_shared(s):
            return []
        loops = shared_loops(s)
        self._shared.update(loops)
        begun = self._flushes or s is self._tiled
        share = self.kernel.shares.get(s.var)
        collapse = f" collapse({len(loops)})" if len(loops) > 1 else ""
        schedule = f" schedule(dynamic{f', {share}' if share else ''})"
        return _if_openmp(f"{'' if begun else 'parallel '}for{collapse}{schedule}{'' if begun else self._limit(s)}")

    def _end_region(self, close: Callable[[], None]) -> None:
        self._code.line(END_THREAD)
        close()
        self._code.line(END_REGION)

    def _parallel(self, s: For) -> None:
        """Begins the parallel region of a loop."""
        self._code.lines(_if_openmp(f"parallel{self._limit(s)}"))

    def _limit(self, s: For) -> str:
        """The clause that limits the threads of a region to the parts of the workspace, if its loop uses these."""
        threads, most = self.regions.most_threads, "omp_get_max_threads()"
        return f" num_threads({most} < {threads} ? {most} : {threads})" if threads and self.regions.fills_own(s) else ""

    def _is_shared(self, s: For) -> bool:
        """True for the outermost of the loops that the threads of a region of their own share."""
        return s not in self._shared and self.regions.is_region(s)


def _if_openmp(pragma: str) -> list[Directive]:
    return [Directive("#ifdef _OPENMP"), Directive(f"#pragma omp {pragma}"), Directive("#endif")]
