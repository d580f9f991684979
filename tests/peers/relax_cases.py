"""The cases of every operator, written as Relax and run by TVM: `python -m tests.peers.relax_cases` writes the list of those
that do not come through, with the reasons, to `relax_operators.txt` beside this file. The list may only get shorter.

TVM may end the process on a case (a division that traps): each operator runs in a process that the next ones share until then.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from irtool.diagnostics import IrError
from irtool.driver.operator_cases import inputs_of, module_of
from irtool.interp.evaluate import evaluate
from irtool.ir.values import value_leaves
from irtool.ops import operators
from irtool.ops.cases import Case, cases_of

PLACE = Path(__file__).with_name("relax_operators.txt")
ROOT = PLACE.parent.parent.parent
OK = "ok"
UNDEFINED = ("length.keep", "length.positions")
"""Operators whose results have undefined elements behind those that they count: in TVM whatever the memory holds."""


def compared() -> list[str]:
    """The operators whose results are compared."""
    return [n for n in operators.names() if n not in operators.outside() and n not in UNDEFINED]


def outcome_of(case: Case, folder: Path) -> str:
    """`direct` or `nest` if TVM gives irtool's values, else the step that fails, and why."""
    from .relax import build, difference, export, load, run

    module = module_of(case)
    inputs = inputs_of(case, module)
    expected = value_leaves(evaluate(module, inputs))
    weights = {}
    if case.operator.startswith("qnn."):  # scales and zero points are known while compiling
        names = [p.name for p in module["main"].params]
        weights = dict(zip(names[1:], inputs[1:], strict=True))
        inputs = inputs[:1]
    step = "export"
    try:
        path = export(module, folder, weights)
        step = "parse"
        parsed = load(path)
        step = "build"
        machine = build(parsed)
        step = "run"
        actual = run(machine, inputs)
    except IrError as error:
        return f"{step}: {'; '.join(d.message.partition(': ')[2] or d.message for d in error.diagnostics)}"
    except Exception as error:  # noqa: BLE001 - whatever TVM raises
        return f"{step}: {type(error).__name__}: {_short(str(error))}"
    if differs := difference(actual, expected):
        return f"compare: {differs}"
    return "nest" if "R.call_tir(" in path.read_text() else "direct"


def _short(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()[:160]


def check(names: Sequence[str]) -> None:
    """Prints a line for each case of these operators: name, number, outcome."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for number, case in enumerate(c for c in cases_of(operators.get(name)) if not c.refusal):
                print(f"{name}\t{number}\t{outcome_of(case, Path(folder))}", flush=True)
            print(f"{name}\tdone\t", flush=True)


def outcomes(names: Sequence[str]) -> dict[tuple[str, int], str]:
    """The outcome of each case; where a process ends, that of the case that ended it."""
    by_case: dict[tuple[str, int], str] = {}
    waiting = list(names)
    while waiting:
        command = [sys.executable, "-m", "tests.peers.relax_cases", *waiting]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            name, number, outcome = line.split("\t")
            if number == "done":
                waiting.remove(name)
            else:
                by_case[name, int(number)] = outcome
        if waiting:
            assert done.returncode, done.stderr
            stuck = waiting.pop(0)
            by_case[stuck, sum(n == stuck for n, _ in by_case)] = f"run: TVM ends the process ({done.returncode})"
    return by_case


def listing(by_case: dict[tuple[str, int], str]) -> str:
    """The text of the list: counts, then the operators with a case that does not come through."""
    good = {key: outcome for key, outcome in by_case.items() if outcome in ("direct", "nest")}
    bad = {key: outcome for key, outcome in by_case.items() if key not in good}
    whole = {name for name, _ in by_case} - {name for name, _ in bad}
    counts = Counter(
        "nest" if any(o == "nest" for (n, _), o in good.items() if n == name) else "direct" for name in whole
    )
    lines = [
        f"{len(whole)} operators of {len({n for n, _ in by_case})} give irtool's values through TVM in every case: "
        f"{counts['direct']} by operators of Relax, {counts['nest']} by loop nests, at least in part.",
        f"{len(good)} cases of {len(by_case)} do.",
        "",
        *(f"{name} {number}: {outcome}" for (name, number), outcome in sorted(bad.items())),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        check(sys.argv[1:])
    else:
        PLACE.write_text(listing(outcomes(compared())))
