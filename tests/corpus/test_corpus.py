"""What TVM printed, inferred, transformed and computed, where a corpus of that stands beside the checkout.

`known_failures.txt` lists the cases that disagree, each with the reason. A new disagreement fails, and so does a case
that is listed although it agrees: the list may only shrink.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pytest

import irtool
from tests.corpus.scorer import CORPUS, HERE, scorer

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus beside the checkout")


def known_failures() -> dict[str, str]:
    lines = (HERE / "known_failures.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(maxsplit=1) for line in lines if line.strip() and not line.startswith("#")]
    return {row[0]: row[1] for row in rows}


PARTS = sorted(str(p.relative_to(CORPUS)).removesuffix(".jsonl.gz") for p in CORPUS.rglob("*.jsonl.gz"))


@pytest.mark.parametrize("part", PARTS)
def test_part(part: str, record_property: Callable[[str, object], None]) -> None:
    score = scorer()
    agreed = cases = 0
    known = known_failures()
    new, cured = [], []
    with gzip.open(CORPUS / f"{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            try:
                agrees = score.check(irtool, part.split("/")[0], case, "interp") != "wrong"
                why = "a different result"
            except Exception as error:  # noqa: BLE001 - every failure is counted and named
                agrees, why = False, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            cases += 1
            agreed += agrees
            name = f"{part}:{case['id']}"
            if not agrees and name not in known:
                new.append(f"{name} {why}")
            elif agrees and name in known:
                cured.append(name)
    record_property("agreement", (agreed, cases))
    assert not new, "these disagree and are not listed:\n" + "\n".join(new)
    assert not cured, "these agree by now; take them off the list:\n" + "\n".join(cured)


def test_every_listed_case_has_a_reason() -> None:
    assert all(reason.strip() for reason in known_failures().values())
