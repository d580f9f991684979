"""Random networks with extents that values decide: C gives what the interpreter gives, or ends with the error of such an extent."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from irtool.diagnostics import IrError
from tests.driver.programs import parse
from tests.fuzz import extents
from tests.fuzz.extents import draw, inputs_of, run_extents
from tests.pages import Recorder

NETWORKS = 18
"""In a minute of the processor; `make fuzz` draws any number."""

pytestmark = pytest.mark.promise("compiled")


@pytest.mark.robustness("compiled extents")
@pytest.mark.parametrize("part", range(3))
def test_random_extents(part: int, record_property: Recorder) -> None:
    size = NETWORKS // 3
    record_property("inputs", size)
    outcomes = [*run_extents(range(part * size, (part + 1) * size))]
    assert [(draw(o.seed), o) for o in outcomes if o.kind == "failed"] == []
    assert Counter(o.kind for o in outcomes)["agreed"] > size // 2, "too few are compared to show anything"


def test_networks_choose_nothing_and_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of many extents are among the results, empty ones too; and a difference is seen."""
    sizes: Counter[int] = Counter()
    for seed in range(NETWORKS):
        module = parse(draw(seed))
        for inputs in inputs_of(seed):
            try:
                result = extents.irtool.evaluate(module, inputs)
            except IrError:
                continue
            sizes.update(np.asarray(v).size for v in result)
    assert sizes[0] > 10 and len(sizes) > 10

    class Wrong:
        def run(self, inputs: list[np.ndarray]) -> tuple[np.ndarray, ...]:
            return tuple(np.asarray(v) + 1 for v in extents.irtool.evaluate(parse(draw(0)), inputs))

    monkeypatch.setattr(extents, "_build", lambda module, seed: type("A", (Wrong,), {"report": {"kernels": [1]}})())
    (outcome,) = run_extents([0])
    assert outcome.kind == "failed"
