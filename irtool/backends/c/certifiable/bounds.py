"""The static bounds of loops, as comments in C, from which the flow facts are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ....diagnostics import IrError
from ....tir.expr import Const
from ....tir.kernel import Kernel
from ....tir.mistakes import NotCertifiable
from ....tir.simplify import Simplifier
from ....tir.stmt import For

_COMMENT = re.compile(r"^ *for \(.* /\* loop bound: (\d+) \*/ \{$")
_FUNCTION = re.compile(r"^(?:static )?(?:inline )?[A-Za-z_]\w*(?: \*)?[ *]*([A-Za-z_]\w*)\(.*\) \{$")


class Loop(NamedTuple):
    """A loop of a source: its function, its line from 1 on, the most iterations each time that it is entered."""

    function: str
    line: int
    bound: int


def loop_bound(kernel: Kernel, s: For, simplify: Simplifier) -> str:
    """The comment with the most iterations of a loop. Raises IrError for a loop that nothing bounds."""
    high = s.extent.int_value if isinstance(s.extent, Const) else simplify.range(s.extent)[1]
    if not high < 1 << 31:
        name = kernel.name
        raise IrError(f"profile=certifiable: nothing bounds the loop over {s.var.name} of {name}", code=NotCertifiable)
    return f"/* loop bound: {max(0, int(high))} */"


def loops(source: str) -> Iterator[Loop]:
    """The loops of a source, in order."""
    function = ""
    for number, line in enumerate(source.split("\n"), 1):
        head = _FUNCTION.match(line)
        if head is not None:
            function = head[1]
        bound = _COMMENT.match(line)
        if bound is not None:
            yield Loop(function, number, int(bound[1]))
