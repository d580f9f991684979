"""Each feature of the language through the whole tool: read, printed, read back, typed, evaluated, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.interp.random_inputs import random_inputs
from irtool.passes.instruments.values import difference
from tests.language_features import FEATURES

V = '#[version = "0.0.5"]\n'


@pytest.mark.parametrize("feature", FEATURES)
def test_feature(feature: str, quick_compiles: None) -> None:
    text = V + FEATURES[feature]
    module = irtool.parse(text)
    printed = irtool.to_text(module)
    assert irtool.structural_equal(irtool.parse(printed), module)
    assert irtool.to_text(irtool.parse(printed)) == printed
    is_dynamic = "(?" in text
    inputs: list[Any] = [np.ones((2, 4), "float32")] if is_dynamic else list(random_inputs(module["main"], 0))
    want = irtool.evaluate(module, inputs)
    got = irtool.build(module).run(inputs)
    assert difference(want, got, 1e-5, 1e-5) is None
