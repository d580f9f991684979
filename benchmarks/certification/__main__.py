"""Writes the tables of docs/certification.md: `python -m benchmarks.certification [--eva] [--write]`.

The four networks of MLPerf Tiny, in float32 and in 8 bits, and samples/mlp.relay are built with `--profile=certifiable`, and examined by cppcheck's
addon for MISRA C:2012 and by Frama-C's EVA (Debian's packages `cppcheck` and `frama-c-base`). Without `--eva`, its column stays as it is.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..networks.mlperf_tiny import NETWORKS, float_network, int8_network
from .eva import alarms, harness
from .misra import Finding, find

_ROOT = Path(__file__).parents[2]
_PAGE = _ROOT / "docs" / "certification.md"
_BEGIN, _END = "| network | required findings |", "\ncppcheck without a file of the rules' texts"
"""The beginning of the page's tables, and of what follows them."""
_SHORT = {
    "keyword_spotting": "kws",
    "visual_wake_words": "vww",
    "image_classification": "ic",
    "anomaly_detection": "ad",
}
REASONS = {
    "2.5": "the sizes and shapes of tensors in the header are for callers",
    "8.7": "`NAME_run_with` is for callers",
    "8.9": "the workspace and each constant have one user, and stand apart so that a linker script can place them",
    "11.4": "`NAME_run_with` checks the alignment of the caller's workspace",
    "11.5": "temporaries lie in one workspace, at offsets that are multiples of 64",
    "19.2": "the workspace is a union with the widest elements, which align it; bits of floats are read through a union",
}
"""The reasons for advisory rules that the code does not keep."""


@dataclass(frozen=True)
class Row:
    """A network: findings of both kinds, alarms (None if they were not counted, -1 if the time was over) and seconds of the analysis."""

    network: str
    findings: list[Finding]
    alarms: int | None = None
    seconds: float = 0.0

    def cells(self, before: str) -> list[str]:
        """The cells of its row; `before` has the analysis of the last page."""
        required = sum(f.category != "advisory" for f in self.findings)
        analysis = (
            before
            if self.alarms is None
            else f"{self.alarms} in {self.seconds:.0f} s"
            if self.alarms >= 0
            else "out of time"
        )
        return [self.network, str(required), str(len(self.findings) - required), analysis]


def modules() -> Iterator[tuple[str, str, Any]]:
    """The networks: what each is called, the prefix of its C, and the module with its weights."""
    import irtool
    from irtool.passes.core.bind import bind_params

    yield "samples/mlp.relay", "mlp", irtool.parse((_ROOT / "samples" / "mlp.relay").read_text(), filename="mlp.relay")
    for network in NETWORKS:
        yield network.replace("_", " "), _SHORT[network], irtool.infer_types(bind_params(*float_network(network)))
        of_bytes = irtool.infer_types(bind_params(*int8_network(network)))
        yield f"{network.replace('_', ' ')}, int8", f"{_SHORT[network]}_int8", of_bytes


def examine(called: str, name: str, module: Any, with_eva: bool, time_limit: float) -> Row:
    """A network's row."""
    import irtool

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        artifact = irtool.build(module, profile="certifiable", emit="c", name=name, out_dir=folder)
        findings = find([folder / f"{name}.c"], folder)
        if not with_eva:
            return Row(called, findings)
        elements = [
            {t["name"]: t["elements"] for t in tensors}
            for tensors in (_tensors(artifact.report["inputs"]), _tensors(artifact.report["outputs"]))
        ]
        (folder / "harness.c").write_text(harness(name, *elements), encoding="utf-8")
        start = time.perf_counter()
        try:
            count = len(alarms(folder, name, time_limit))
        except subprocess.TimeoutExpired:
            count = -1
        return Row(called, findings, count, time.perf_counter() - start)


def _tensors(records: Any) -> list[dict[str, Any]]:
    import math

    return [{"name": re.sub(r"\W", "_", r["name"]), "elements": math.prod(r["shape"])} for r in records]


def tables(rows: list[Row], before: str) -> str:
    """Both tables; `before` is the page that has them now."""
    old = dict(re.findall(r"^\| ([^|]+) \| \d+ \| \d+ \| ([^|]*) \|$", before, re.MULTILINE))
    lines = ["| network | required findings | advisory findings | alarms of EVA |", "| --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(r.cells(old.get(r.network, 'not run')))} |" for r in rows]
    count = Counter(f.rule for r in rows for f in r.findings if f.category == "advisory")
    lines += ["", "| advisory rule | findings | reason |", "| --- | --- | --- |"]
    order = sorted(count, key=lambda rule: [int(x) for x in rule.split(".")])
    lines += [f"| {rule} | {count[rule]} | {REASONS.get(rule, '**none**')} |" for rule in order]
    return "\n".join([*lines, ""])


def main() -> None:
    """Prints the tables, or writes them. Exit code 1 for a required finding, an alarm, or an advisory rule without a reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--eva", action="store_true", help="analyse with Frama-C too, which takes minutes")
    parser.add_argument("--time-limit", type=float, default=900, help="seconds for one network (default: 900)")
    parser.add_argument("--write", action="store_true", help="write docs/certification.md")
    arguments = parser.parse_args()
    rows = []
    for called, name, module in modules():
        rows.append(examine(called, name, module, arguments.eva, arguments.time_limit))
        print(" | ".join(rows[-1].cells("")), file=sys.stderr, flush=True)
    page = _PAGE.read_text(encoding="utf-8")
    text = tables(rows, page)
    if arguments.write:
        head, rest = page[: page.index(_BEGIN)], page[page.index(_END) :]
        _PAGE.write_text(f"{head}{text}{rest}", encoding="utf-8")
    else:
        print(text)
    wrong = any(f.category != "advisory" or f.rule not in REASONS for r in rows for f in r.findings)
    sys.exit(wrong or any(r.alarms for r in rows))


if __name__ == "__main__":
    main()
