"""A text as it stands in an editor, read and typed as far as that goes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..diagnostics import Diagnostic, IrError
from ..infer import infer_known_types
from ..ir import Function, Module, Type, post_order
from ..ir.verify import verify
from ..ir.walk import bound_variables
from ..parser.symbols import FUNCTION, Symbol, Symbols, read_symbols


@dataclass(frozen=True)
class Analysis:
    """The analysis of a text.

    Attributes:
        text: the text.
        module: the module; None if there are errors of syntax or names.
        typed: `module` with types; None if that has errors.
        diagnostics: everything that `irtool check` says of it.
        symbols: the referents of names.
        types: those of expressions, by where they begin and end.
    """

    text: str
    module: Module | None
    typed: Module | None
    diagnostics: tuple[Diagnostic, ...]
    symbols: Symbols
    types: dict[tuple[int, int], Type]

    def type_of(self, symbol: Symbol) -> Type | None:
        """The type of a name's value, if it is known."""
        if symbol.kind == FUNCTION:
            function = self.typed.functions.get(symbol.name[1:]) if self.typed is not None else None
            return function.checked_type if function is not None else None
        span = symbol.value.span if symbol.value is not None else None
        return self.types.get((span.start, span.end)) if span is not None else None


def analyse(text: str, name: str = "<text>") -> Analysis:
    """Reads a text, and infers its types where nothing is wrong with its syntax and names."""
    module, read_problems, symbols = read_symbols(text, name)
    diagnostics = list(read_problems)
    typed = None
    if module is not None:
        try:
            diagnostics += (problems := verify(module))
            if not problems:
                typed, open_types = infer_known_types(module)
                diagnostics += [replace(d, level="warning") for d in open_types.values()]
        except IrError as error:
            diagnostics += error.diagnostics
    types = _types(typed) if typed is not None else {}
    return Analysis(text, module, typed, tuple(diagnostics), symbols, types)


def _types(module: Module) -> dict[tuple[int, int], Type]:
    functions = [f for f in module.functions.values() if isinstance(f, Function)]
    result: dict[tuple[int, int], Type] = {}
    for e in (*post_order(*functions), *bound_variables(*functions)):
        if e.span is not None and e.checked_type is not None:
            result[e.span.start, e.span.end] = e.checked_type
    return result
