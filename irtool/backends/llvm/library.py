"""The functions that generated code calls: compiled from the texts that the C backend prints, each once."""

from __future__ import annotations

from ..formulas import vector_math
from ..formulas.support import Helper, calls, define
from ..instructions.listing import choose
from ..interface.objects import object_functions, with_callees
from .instructions import define_by_instruction
from .small_c import compile_function, declare
from .small_c.signatures import signature

_ALONE = "irt_vproduct_"
"""The beginning of the names of functions whose products are rounded before they are added."""


class Library:
    """Collects functions by name; `lines` gives their definitions, and `declarations` those of external functions.

    Args:
        contract: products and sums may be rounded once.
        macros: the macros of a C compiler for the processor, each between spaces, from which its instructions follow.
    """

    def __init__(self, contract: bool, macros: str = "") -> None:
        self.contract = contract
        self.macros = macros
        self._texts: dict[str, str] = {}
        self._by_instructions: dict[str, list[str]] = {}
        self._declared: dict[str, None] = {}

    def scalar(self, helper: Helper) -> str:
        """The symbol of a support function, with its callees."""
        for h in (helper, *calls(helper)):
            text = define(h)
            declare(text)
            self._texts[h.name] = text
        return f"@{helper.name}"

    def vector(self, name: str, dtype: str, lanes: int) -> str:
        """The symbol of a function of vectors, with its callees."""
        symbol = ""
        for (function, _, width), text in vector_math.define(name, dtype, lanes):
            symbol = declare(text)
            chosen = choose(function, width, self.macros)
            if chosen is not None:
                result, (_, operand, _) = signature(symbol)
                lines, declared = define_by_instruction(symbol, *chosen, width, result, operand)
                self._by_instructions[symbol] = lines
                self._declared.update(dict.fromkeys(declared))
            self._texts.setdefault(symbol, text)
        return f"@{symbol}"

    def objects(self, name: str) -> str:
        """The symbol of a function that moves objects, with its callees."""
        functions = object_functions()
        for f in with_callees(name):
            declare(functions[f])
            self._texts[f] = functions[f]
        return f"@{name}"

    def outside(self, declaration: str) -> None:
        """Adds a function of libm, or one of LLVM's own."""
        self._declared[declaration] = None

    def lines(self) -> list[str]:
        """The definitions, in alphabetical order."""
        done: dict[str, list[str]] = {}
        waiting = list(self._texts)
        while waiting:
            name = waiting.pop()
            if name in done:
                continue
            if name in self._by_instructions:
                done[name] = self._by_instructions[name]
                continue
            compiled = compile_function(self._texts[name], self.contract and not name.startswith(_ALONE))
            done[name] = compiled.lines
            self._declared.update(compiled.declares)
            waiting += [c for c in compiled.calls if c not in done]
        return [line for name in sorted(done) for line in (*done[name], "")]

    def declarations(self) -> list[str]:
        """The declarations of external functions, each once, sorted."""
        return sorted(self._declared)
