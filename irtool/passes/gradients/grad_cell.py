"""The module that LazyGradientInit builds on: a gradient that may be known to be all ones or all zeros.

`One` and `Zero` hold a function that makes the tensor, so that none exists until its elements are asked for.
"""

from __future__ import annotations

from functools import cache

from ...diagnostics import IrError
from ...ir import Module
from ...ir.structural import structural_equal

_TEXT = """#[version = "0.0.5"]
type GradCell[T] {
  Raw(T),
  One(fn () -> T),
  Zero(fn () -> T),
}

def @FromGradCell[T](%g: GradCell[T]) -> T {
  match (%g) {
    Raw(%x) => { %x },
    One(%x) => { %x() },
    Zero(%x) => { %x() },
  }
}

def @MultiplyGradCell[T](%multiply: fn (T, T) -> T, %l: GradCell[T], %r: GradCell[T]) -> GradCell[T] {
  match ((%l, %r)) {
    (Zero(_), _) => { %l },
    (_, Zero(_)) => { %r },
    (One(_), _) => { %r },
    (_, One(_)) => { %l },
    _ => { Raw(%multiply(@FromGradCell(%l), @FromGradCell(%r))) },
  }
}

def @AddGradCell[T](%add: fn (T, T) -> T, %l: GradCell[T], %r: GradCell[T]) -> GradCell[T] {
  match ((%l, %r)) {
    (Zero(_), _) => { %r },
    (_, Zero(_)) => { %l },
    _ => { Raw(%add(@FromGradCell(%l), @FromGradCell(%r))) },
  }
}
"""


@cache
def grad_cell_module() -> Module:
    """The definitions, typed."""
    from ...infer import infer_types
    from ...parser import parse

    return infer_types(parse(_TEXT, "<GradCell>"))


def with_grad_cell(module: Module) -> Module:
    """`module` with the definitions that it does not have yet."""
    library = grad_cell_module()
    _require_own_names(module, library)
    if "GradCell" in module.type_definitions and all(n in module.functions for n in library.functions):
        return module
    typed = module.with_types({**library.type_definitions, **module.type_definitions})
    return typed.with_functions({**library.functions, **module.functions})


def _require_own_names(module: Module, library: Module) -> None:
    """Refuses a module that calls something else by the names of the definitions."""
    for name, definition in library.type_definitions.items():
        own = module.type_definitions.get(name)
        if own is not None and not structural_equal(own, definition):
            raise IrError(f"LazyGradientInit defines the type {name}, and the module has another one", own.span)
    for name, f in library.functions.items():
        own = module.functions.get(name)
        if own is not None and not structural_equal(own.checked_type, f.checked_type):
            raise IrError(f"LazyGradientInit defines @{name}, and the module has another one", own.span)
