"""Comparison of the outputs of two ways of running, up to the precision of their number formats.

Results that differ by more than the tolerance are judged against a run of the interpreter in double precision: rounding errors
grow in deep networks and where large numbers cancel, and then neither way is right. The second way agrees with the first if its
largest error is no more than `_FACTOR` times that of the first, or within the tolerance. Where double precision is no help
(bfloat16, operators that are for other dtypes only), the difference itself decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from .run_steps import Rows, evaluate_rows

if TYPE_CHECKING:
    from ..ir import Module

_FACTOR = 8
"""Sums in another order, and functions to 4 units in the last place instead of half of one, are no worse than that."""


def report_comparison(
    results: Mapping[str, Any],
    tolerance: float,
    quiet: bool,
    in_double: Callable[[], Any | None],
    facts: Sequence[str] = (),
) -> None:
    """Says for each further result whether it agrees with the first one; exits with code 1 if one differs.

    `in_double` gives the result in double precision, or None if there is none. It is called only where it decides, and once.
    `facts` are said with the result, in the end.
    """
    import functools

    (one, a), *others = results.items()
    exact = functools.cache(in_double)
    agreements = [difference(one, a, two, b, tolerance, exact) for two, b in others]
    for (two, _), (agrees, detail, _) in zip(others, agreements, strict=True):
        if agrees:
            # The exact difference depends on the machine, so the short form, which goldens use, leaves it out.
            click.echo(f"{one} and {two} agree{'' if quiet else detail}")
        else:
            click.echo(f"{one} and {two} differ: {detail}")
    if not all(agrees for agrees, _, _ in agreements):
        raise click.exceptions.Exit(1)
    worst = max((w for _, _, w in agreements), default=0.0)
    if not quiet:
        limited = "agrees as far as its number format goes"
        click.echo(
            ", ".join(
                [*facts, limited if worst > tolerance else f"agrees to {worst:.2g}" if worst else "agrees exactly"]
            )
        )


_EXACTLY = " exactly"


def difference(
    one: str, a: Any, two: str, b: Any, tolerance: float, in_double: Callable[[], Any | None]
) -> tuple[bool, str, float]:
    """True if two results agree; the difference as text; and as a number relative to the largest output."""
    from ..ir.values import value_leaves

    left, right = value_leaves(a), value_leaves(b)
    problem = _mismatch(one, left, two, right)
    if problem:
        return False, problem, 0.0
    worst = max((_error(y, x, x) for x, y in zip(left, right)), default=0.0)
    limit = f"{tolerance:g} relative to the largest output"
    if worst <= tolerance:
        return True, f" (largest difference {worst:.2g}, allowed {limit})" if worst else _EXACTLY, worst
    problem = f"by {worst:.3g}, more than {limit}"
    exact = in_double()
    errors = _largest_errors(left, right, value_leaves(exact), tolerance) if exact is not None else None
    if errors is None:
        return False, problem, worst
    (first, second), fits = errors
    text = f"the errors are {first:.2g} by {one} and {second:.2g} by {two}, judged in double precision"
    return fits, f" ({text}; the difference is {worst:.2g})" if fits else f"{problem}: {text}", worst


def evaluate_in_double(module: Module, rows: Rows, entry: str) -> Any | None:
    """The interpreter's result with float32 and float16 computed as float64; None if that cannot be."""
    from ..diagnostics import IrError
    from ..passes.instruments.finite_differences import in_double, widen_floats

    try:
        return evaluate_rows(in_double(module), [list(widen_floats(row)) for row in rows], entry)
    except IrError:
        return None


def _mismatch(one: str, left: Sequence[Any], two: str, right: Sequence[Any]) -> str:
    import numpy as np

    if len(left) != len(right):
        return f"{one} returns {len(left)} tensors and {two} returns {len(right)}"
    for i, (x, y) in enumerate(zip(map(np.asarray, left), map(np.asarray, right))):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"out{i} is {x.dtype}{list(x.shape)} by {one} and {y.dtype}{list(y.shape)} by {two}"
    return ""


def _largest_errors(
    left: Sequence[Any], right: Sequence[Any], exact: Sequence[Any], tolerance: float
) -> tuple[tuple[float, float], bool] | None:
    """The largest errors of both, and whether each output's second is no worse than its first; None for other outputs."""
    import numpy as np

    if [np.shape(x) for x in left] != [np.shape(x) for x in exact]:
        return None
    errors = [(_error(x, r, r), _error(y, r, r, x)) for x, y, r in zip(left, right, exact)]
    fits = all(second <= max(_FACTOR * first, tolerance) for first, second in errors)
    return (max(e for e, _ in errors), max(e for _, e in errors)), fits


def _error(values: Any, exact: Any, scale: Any, excuse: Any = None) -> float:
    """The largest distance, relative to the largest finite number of `scale`: infinite where only one of both is a number,
    unless `excuse` is none there either."""
    import numpy as np

    p, q, s = (np.asarray(x).astype(np.float64) for x in (values, exact, scale))
    if p.size == 0:
        return 0.0
    with np.errstate(all="ignore"):
        same = (p == q) | (np.isnan(p) & np.isnan(q))
        gap = np.where(same, 0.0, np.abs(p - q))
        gap = np.where(np.isfinite(gap), gap, np.inf)
    if excuse is not None:
        gap = np.where(np.isfinite(gap) | np.isfinite(np.asarray(excuse).astype(np.float64)), gap, 0.0)
    largest = float(np.max(np.abs(s), initial=0.0, where=np.isfinite(s)))
    return float(gap.max()) / max(largest, 1e-30)
