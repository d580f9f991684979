"""What mutants showed: kept as JSON beside this file, and a section of `docs/robustness.md`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tests.mutants.sites import Mutant
from tests.mutants.trial import Result

HERE = Path(__file__).parent
REPORT = HERE / "report.json"
EQUIVALENT = HERE / "equivalent.json"
"""Mutants that were looked at and change nothing that can be seen, each with the reason."""
HEAD = """
## Mutants

One token of `irtool/` is changed at random — an operator, a condition, a constant, a result — and those tests run that run
the line, quick ones only, in a checkout without anything beside it. A test has to fail. `make mutants` does it
(`make mutants SEED=3 COUNT=20`); changes that make no difference are not counted: `tests/mutants/equivalent.json` says why
they do not.

"""


def equivalents() -> dict[tuple[str, str, str], str]:
    """For the file, line of text and change of each mutant that makes no difference, why it does not."""
    if not EQUIVALENT.exists():
        return {}
    return {(e["file"], e["line"], e["change"]): e["why"] for e in json.loads(EQUIVALENT.read_text(encoding="utf-8"))}


def makes_no_difference(mutant: Mutant) -> bool:
    """Whether somebody found that the mutant does what the program does."""
    return (mutant.path, mutant.text, mutant.change) in equivalents()


def drawn(seed: int, only: str = "irtool") -> str:
    """What a row of a report is called: the seed, and the room that the mutants were drawn from, if it is not the house."""
    return str(seed) if only == "irtool" else f"{seed}, {only}"


def write_report(path: Path, row: str, results: Iterable[Result]) -> None:
    """Writes the results of a row (see `drawn`) into a report, in the place of earlier ones."""
    report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    report[row] = [r.record() for r in results]
    in_order = sorted(report.items(), key=lambda r: (int(r[0].partition(",")[0]), r[0]))
    text = json.dumps(dict(in_order), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def score(records: Sequence[dict[str, Any]]) -> str:
    """How many mutants were noticed, in one sentence."""
    noticed = [r for r in records if r["outcome"] in ("killed", "timed out")]
    share = 100 * len(noticed) / max(1, len(records))
    usual = median(r["seconds"] for r in noticed) if noticed else 0.0
    return f"{len(noticed)} of {len(records)} noticed ({share:.0f} %), half of them within {usual:.0f} s"


def section(path: Path = REPORT) -> str:
    """The section of `docs/robustness.md`: a row for each seed and each room that was drawn from alone, then one for
    each room."""
    report = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    parts = [HEAD, "| seed | mutants | noticed | share | seconds, median |\n| --- | --- | --- | --- | --- |\n"]
    parts += [_row(seed, records) for seed, records in report.items()]
    rooms: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for records in report.values():
        for r in records:
            parts_of = Path(r["place"]).parts
            rooms[parts_of[1] if len(parts_of) > 2 else "the rest"].append(r)
    parts.append("\n| room | mutants | noticed | share | seconds, median |\n| --- | --- | --- | --- | --- |\n")
    parts += [_row(room, records) for room, records in sorted(rooms.items())]
    return "".join(parts)


def _row(title: str, records: Sequence[dict[str, Any]]) -> str:
    noticed = [r for r in records if r["outcome"] in ("killed", "timed out")]
    share = 100 * len(noticed) / max(1, len(records))
    usual = f"{median(r['seconds'] for r in noticed):.0f}" if noticed else ""
    return f"| {title} | {len(records)} | {len(noticed)} | {share:.0f} % | {usual} |\n"
