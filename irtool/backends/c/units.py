"""Translation units: a program cut into sources that are compiled in parallel, while others are still being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .line_directives import numbered
from .variant import KernelSource, Variant, section

UNIT_LENGTH = 64_000
"""Characters of kernels in a unit: some tenths of a second for the compiler, many times its start."""

_HIDDEN = """\
#ifdef __GNUC__
#define IRT_HIDDEN __attribute__((visibility("hidden")))
#else
#define IRT_HIDDEN
#endif
"""

_HEADERS = ("#include <stddef.h>", "#include <stdint.h>", "#include <math.h>", "#include <string.h>", "")

Named = tuple[Variant, KernelSource]


class Units:
    """The units of a program.

    Kernels are added in the order in which they are written. When the remaining ones have `length` characters, they become a
    unit, and `done` gets its name and text. So the contents of units depend on the program alone.
    """

    def __init__(
        self,
        name: str,
        tools: Callable[[Sequence[Named]], Sequence[str]],
        length: int,
        done: Callable[[str, str], None],
    ) -> None:
        self.name = name
        self.tools = tools
        self.length = length
        self.done = done
        self.units: dict[str, str] = {}
        """The units so far, by file name."""
        self._waiting: list[Named] = []
        self._size = 0
        self._declared: list[str] = []

    def add(self, variant: Variant, kernel: KernelSource) -> None:
        """Adds a kernel."""
        self._waiting.append((variant, kernel))
        self._declared.append(f"{kernel.text.declare('IRT_HIDDEN')};")
        self._size += len(kernel.define())
        if self.length and self._size >= self.length:
            self._close()

    def close(self) -> None:
        """Ends the last unit of a program with several."""
        if self.units and self._waiting:
            self._close()

    def finish(self, whole: str, top: Sequence[str], body: Sequence[str]) -> dict[str, str]:
        """Every unit, by file name: first the one with the callers of the kernels, `body`, between `top` and their declarations.
        A program that is too small for several units is a single one, `whole`."""
        if not self.units:
            return {f"{self.name}.c": numbered(whole, f"{self.name}.c")}
        self.close()
        name = f"{self.name}_part0.c"
        host = "\n".join([*top, _HIDDEN, *self._declared, "", *body])
        return {name: numbered(host, name), **self.units}

    def _close(self) -> None:
        """Ends a unit."""
        group = self._waiting
        variants = dict.fromkeys(v for v, _ in group)
        texts = [line for v in variants for line in section(v, [k for x, k in group if x is v], "IRT_HIDDEN")]
        declared = self._declared[-len(group) :]
        name = f"{self.name}_part{len(self.units) + 1}.c"
        text = numbered("\n".join([*_HEADERS, _HIDDEN, *self.tools(group), *declared, *texts]), name)
        self.units[name] = text
        self._waiting, self._size = [], 0
        self.done(name, text)
