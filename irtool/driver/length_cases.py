"""Functions of their own for the few values of lengths: `--dim 'batch=1|4|8'`.

The module is prepared once for each value, so that its kernels are those of a build for this number; lowering joins them (see
`lower.length_cases`), and constants that are equal are one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from ..diagnostics import UsageError
from ..infer.lengths import symbols_of_module, symbols_of_params, with_lengths
from ..ir import Function, Module
from ..ir.tensor_names import state_outputs
from ..lower.length_cases import CASES
from ..lower.value_lengths.fresh import Fresh
from ..symbolic_int import Symbol, extent_of
from .entry import rename_functions

MOST = 16
"""Combinations of values: each has kernels of its own."""


def with_cases(
    module: Module, entry: str, prepared: Module, fresh: Fresh, prepare: Callable[[Module], Module]
) -> Module:
    """The prepared module with a function for each combination of the few values of the entry's lengths, which the entry lists.

    Itself if no length has few values, and where extents follow from values or states are kept: one function is for all lengths then.

    Args:
        module: the module before its preparation.
        fresh: has made the lengths of the prepared module that follow from values.
        prepare: prepares a module for the entry, which is `main` in it.

    Raises UsageError for too many combinations.
    """
    function, own = module[entry], prepared[entry]
    assert isinstance(function, Function) and isinstance(own, Function)
    symbols = [s for s in symbols_of_params(function) if s.choices]
    if not symbols or fresh.symbols or state_outputs(own):
        return prepared
    every = {s: extent_of(s) for s in symbols_of_module(module)}
    names: list[str] = []
    functions = dict(prepared.functions)
    for values in _combinations(symbols):
        suffix = "".join(f"_{s.name}_{n}" for s, n in values.items())
        name = prepared.with_functions(functions).fresh_name(f"{entry}{suffix}")
        case = prepare(with_lengths(module, {**every, **values}))
        renamed = {n: name if n == "main" else f"{name}.{n}" for n in case.functions}
        functions.update(rename_functions(case, renamed).functions)
        names.append(name)
    functions[entry] = own.with_attr(CASES, names)
    return prepared.with_functions(functions)


def _combinations(symbols: list[Symbol]) -> Iterator[dict[Symbol, int]]:
    rows = list(itertools.islice(itertools.product(*(s.choices for s in symbols)), MOST + 1))
    if len(rows) > MOST:
        raise UsageError(
            f"{' and '.join(s.bounds for s in symbols)} are more than {MOST} combinations, each with kernels of its own",
            help=f"give bounds instead: --dim '{symbols[-1].low}<={symbols[-1].name}<={symbols[-1].high}'",
        )
    return (dict(zip(symbols, row, strict=True)) for row in rows)
