"""Findings of cppcheck's addon for MISRA C:2012, with the category of each rule.

The texts of the rules belong to MISRA and are not here: the addon gets a file with the numbers and the categories, without which it shows one
finding a line only.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_LAST = (4, 7, 2, 2, 9, 15, 1, 14, 5, 8, 9, 5, 6, 4, 7, 7, 8, 8, 2, 14, 21, 10)
"""The number of the last rule of each chapter, from chapter 1 on."""
ADVISORY = frozenset(
    [
        "1.2",
        "2.3",
        "2.4",
        "2.5",
        "2.6",
        "2.7",
        "4.2",
        "5.9",
        "8.7",
        "8.9",
        "8.11",
        "8.13",
        "10.5",
        "11.4",
        "11.5",
        "12.1",
        "12.3",
        "12.4",
        "13.3",
        "13.4",
        "15.1",
        "15.4",
        "15.5",
        "17.5",
        "17.8",
        "18.4",
        "18.5",
        "19.2",
        "20.1",
        "20.5",
        "21.12",
    ]
)
MANDATORY = frozenset(
    [
        "9.1",
        "12.5",
        "13.6",
        "17.3",
        "17.4",
        "17.6",
        "19.1",
        "21.13",
        "21.17",
        "21.18",
        "21.19",
        "21.20",
        "22.2",
        "22.4",
        "22.5",
        "22.6",
    ]
)
_FINDING = re.compile(r"^(.*):(\d+): misra-c2012-([\d.]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """A finding: its rule, such as `10.8`, and its place."""

    rule: str
    file: str
    line: int

    @property
    def category(self) -> str:
        """`mandatory`, `required` or `advisory`."""
        return "advisory" if self.rule in ADVISORY else "mandatory" if self.rule in MANDATORY else "required"


def find(sources: Sequence[Path], folder: Path) -> list[Finding]:
    """The findings in some sources, which are in one folder. Files for the addon are written to `folder`. Raises RuntimeError if cppcheck fails."""
    rules = folder / "rules.txt"
    rules.write_text(_rule_file(), encoding="utf-8")
    addon = folder / "misra.json"
    addon.write_text(json.dumps({"script": "misra.py", "args": [f"--rule-texts={rules}"]}), encoding="utf-8")
    command = ["cppcheck", f"--addon={addon}", "--std=c99", "--enable=style", "--template={file}:{line}: {id}", "-q"]
    answer = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    if answer.returncode or "Bailing out" in answer.stderr or "internalError" in answer.stderr:
        raise RuntimeError(answer.stdout + answer.stderr)
    findings = [Finding(rule, Path(file).name, int(line)) for file, line, rule in _FINDING.findall(answer.stderr)]
    return sorted(set(findings), key=lambda f: ([int(x) for x in f.rule.split(".")], f.file, f.line))


def _rule_file() -> str:
    lines = ["Appendix A Summary of guidelines"]
    for chapter, last in enumerate(_LAST, 1):
        for number in range(1, last + 1):
            rule = f"{chapter}.{number}"
            category = Finding(rule, "", 0).category.capitalize()
            lines += [f"Rule {rule} {category}", f"Not kept: {rule}"]
    return "\n".join([*lines, ""])
