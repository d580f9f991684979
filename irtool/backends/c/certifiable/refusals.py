"""Programs that cannot keep the rules, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....diagnostics import Diagnostic, IrError
from ....tir.cycles import components
from ....tir.mistakes import NotCertifiable
from ....tir.program import Fail, HostFunction, Loop, Program, SetLengths, calls, kernels_in_use, runs_of, steps
from ....tir.region import RegionStep
from ....tir.stmt import While, pre_order
from ....tir.symbols import symbols_of_program

LONGEST_NAME = 22
"""The most characters of a program's name: with the ending of its longest function, `_run_with`, they are 31, those that C compares of an
external name (MISRA C:2012, rule 5.1)."""

_KINDS: Mapping[str, Callable[[HostFunction], bool]] = {
    "keeps states": lambda f: bool(f.states),
    "has a loop of the network, which nothing bounds": lambda f: any(isinstance(s, Loop) for s in steps(f.body)),
    "works on data, references or recursion, whose memory a run decides": lambda f: (
        f.values is not None or any(isinstance(s, RegionStep) for s in steps(f.body))
    ),
    "has extents that follow from values": lambda f: any(isinstance(s, SetLengths) for s in steps(f.body)),
    "has a step that ends the run with an error": lambda f: any(isinstance(s, Fail) for s in steps(f.body)),
}


def check_rules(program: Program, name: str, entries: Sequence[str]) -> None:
    """Raises IrError with all reasons why the C of a program cannot keep the rules."""
    reasons = [f"@{f.name} {what}" for f in program.functions.values() for what, is_so in _KINDS.items() if is_so(f)]
    reasons += [
        f"@{group[0]} calls itself"
        for group in components({n: calls(f) for n, f in program.functions.items()})
        if len(group) > 1 or group[0] in calls(program.functions[group[0]])
    ]
    if symbols_of_program(program):
        reasons.append("the run decides a length")
    runs = runs_of(program)
    for kernel in kernels_in_use(program):
        if any(isinstance(s, While) for s in pre_order(kernel.body)):
            places = [str(p) for use in runs.get(kernel, ()) for p in use.places if p.at]
            where = f" ({places[0]})" if places else ""
            reasons.append(
                f"data decides the iterations of a loop of {', '.join(kernel.operators) or kernel.name}{where}"
            )
    longest = max([f"{name}_run_with", *(f"{name}_run_{e}_with" for e in entries[1:])], key=len)
    if len(longest) > LONGEST_NAME + len("_run_with"):
        reasons.append(
            f"{longest} has {len(longest)} characters, and C compares the first 31 of external names: choose a shorter --name"
        )
    if reasons:
        raise IrError([Diagnostic(f"profile=certifiable: {r}", code=NotCertifiable) for r in reasons])
