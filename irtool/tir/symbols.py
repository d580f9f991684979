"""The symbols in extents of kernels, functions and programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..symbolic_int import Symbol, SymbolicInt, symbol_of, symbols_of, value_at
from .expr import Const, post_order
from .kernel import Kernel
from .program import HostFunction, Program
from .stmt import Allocate, expressions, pre_order


def symbols_of_kernel(kernel: Kernel) -> list[Symbol]:
    """The symbols in the nest and the operands of a kernel, sorted by name."""
    return sorted(symbols_of(_extents(kernel)), key=lambda s: s.name)


def _extents(kernel: Kernel) -> Iterator[int]:
    for b in kernel.params:
        yield from b.shape
    for s in pre_order(kernel.body):
        for e in post_order(*expressions(s)):
            if isinstance(e, Const) and isinstance(e.value, SymbolicInt):
                yield e.value
        if isinstance(s, Allocate):
            yield from s.buffer.shape


def symbols_of_function(function: HostFunction) -> list[Symbol]:
    """The symbols in the shapes of its parameters, results and states that its caller gives, in the order in which they appear."""
    shapes = (*function.declared_shapes, *(s.shape for s in function.outer))
    own = {*function.lengths, *(x.symbol for x in function.positions)}
    symbols = dict.fromkeys((*symbols_of(d for shape in shapes for d in shape), *function.further_lengths))
    return [s for s in symbols if s not in own]


def symbols_of_step(function: HostFunction) -> list[Symbol]:
    """The symbols that its caller gives, and behind them those that an instance keeps."""
    return list(dict.fromkeys((*symbols_of_function(function), *(x.symbol for x in function.positions))))


def with_equal_lengths(function: HostFunction, values: Mapping[Symbol, int]) -> dict[Symbol, int]:
    """Lengths of the function; those that have to be equal to formulas of others are."""
    complete = dict(values)
    for declared, extent in function.demands:
        if (symbol := symbol_of(declared)) is not None:
            complete[symbol] = value_at(extent, complete)
    return complete


def symbols_of_program(program: Program) -> list[Symbol]:
    """The symbols of all entries, in the order in which they appear, and those that steps set."""
    return list(dict.fromkeys((*symbols_of_entries(program), *lengths_of_values(program))))


def symbols_of_entries(program: Program) -> list[Symbol]:
    """The symbols of all entries, in the order in which they appear."""
    symbols = [s for name in program.entries or [program.entry] for s in symbols_of_step(program.functions[name])]
    return list(dict.fromkeys(symbols))


def has_open_lengths(program: Program) -> bool:
    """True if nothing bounds some length: memory is not of a known size then."""
    return not all(s.is_bounded for s in symbols_of_entries(program))


def lengths_of_values(program: Program) -> list[Symbol]:
    """The symbols that steps set from values."""
    return list(dict.fromkeys(s for f in program.functions.values() for s in f.lengths))
