"""`irtool ops --check`: the cases of operators, interpreted and compiled."""

from __future__ import annotations

import sys

import click

from ..diagnostics import IrError
from ..driver.operator_cases import compiled_problem_of, problem_of
from ..ops import operators
from ..ops.base import Operator
from ..ops.cases import Case, cases_of


def check_cases(name: str | None) -> None:
    """Prints a line for each case that does not hold, and how many do. Ends with exit code 1 if one does not. Operators that have
    no form in C are interpreted only.

    Raises IrError if the operator has no case.
    """
    chosen = [operators.get(name)] if name else list(operators)
    cases = [(case, cls.compute is not Operator.compute) for cls in chosen for case in cases_of(cls)]
    if not cases:
        raise IrError(
            f"{name} has no cases",
            help='state some in its class: cases = "%x: Tensor[(2), float32] | NAME(%x) -> Tensor[(2), float32]"',
        )
    failed = 0
    for case, is_compiled in cases:
        problem = _problem(case, is_compiled)
        if problem:
            failed += 1
            click.echo(f"{case.place}: {problem}\n  {case.line}")
    click.echo(f"{len(cases) - failed} of {len(cases)} cases hold")
    if failed:
        sys.exit(1)


def _problem(case: Case, is_compiled: bool) -> str:
    try:
        return problem_of(case) or (compiled_problem_of(case) if is_compiled else "")
    except IrError as error:
        return f"it cannot be run: {error.diagnostics[0].message}"
