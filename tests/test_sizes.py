"""The table of bytes under `--opt`, and its place in docs/compare.md."""

from __future__ import annotations

from benchmarks.sizes.section import HEADING, OPTS, PEER, section, section_of, with_section

RUN = {"bytes": 2e6, "memory": 50e6, "build_memory": 90e6, "first_seconds": 0.1, "best": 0.01}
RESULTS = {
    "net": {"onnx_bytes": 2e6, **dict.fromkeys(OPTS, RUN), "balanced": {**RUN, "best": 0.011}, PEER: {"memory": 70e6}},
    "other": {"onnx_bytes": 4e6, **dict.fromkeys(OPTS, RUN), PEER: {"memory": 70e6}},
}
PAGE = "# Title\n\ntext\n\n## Speed\n\nfast\n\n## Failures\n\n- none\n"


def test_the_table_has_ratios_of_bytes_and_of_times() -> None:
    text = section(RESULTS, ("command", "machine"))
    head, *_ = (line for line in text.splitlines() if line.startswith("| network"))
    rows = [line for line in text.splitlines() if line.startswith(("| net |", "| other |", "| geometric"))]
    assert [row.count("|") for row in rows] == [head.count("|")] * 3
    assert "| 1.00 |" in rows[0] and rows[0].endswith("| 1.10 |")
    assert "| 0.50 |" in rows[1] and rows[2].endswith("| 1.05 |")
    assert "`command` wrote this section: machine." in text


def test_without_times_the_table_has_bytes_only() -> None:
    untimed = {k: v for k, v in RUN.items() if k not in ("best", "first_seconds")}
    text = section({"net": {"onnx_bytes": 2e6, **dict.fromkeys(OPTS, untimed), PEER: {"memory": 70e6}}}, ("a", "b"))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 3 and len({row.count("|") for row in rows}) == 1
    assert "geometric" not in text and "First" not in text


def test_the_section_is_replaced_or_put_last() -> None:
    text = section(RESULTS, ("command", "machine"))
    first = with_section(PAGE, text)
    assert first.startswith(PAGE.rstrip()) and section_of(first).rstrip() == text.rstrip()
    again = with_section(first, f"{HEADING}\n\nother\n")
    assert section_of(again) == f"{HEADING}\n\nother\n" and again.startswith(PAGE.rstrip())
    between = PAGE.replace("## Failures", f"{HEADING}\n\nold\n\n## Failures")
    assert with_section(between, f"{HEADING}\n\nnew\n") == between.replace("old", "new")
    assert with_section(between, "") == between


def test_a_page_without_a_section_has_none() -> None:
    assert section_of(PAGE) == "" and with_section(PAGE, section_of(PAGE)) == PAGE
