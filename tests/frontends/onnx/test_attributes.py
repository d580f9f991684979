"""Attributes of nodes as Python values: the same number alone and among others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from irtool.frontends.onnx.attribute_kinds import is_of_kind

onnx = pytest.importorskip("onnx")

NUMBERS = [1e-5, 0.1, 0.0, -0.0, 0.1, 1e38, 1e-45, 16777216.0, 3e16, math.inf, -math.inf, math.nan, 1 / 3, -0.1]


@pytest.mark.parametrize("numbers", [[], [0.5], NUMBERS, NUMBERS[::-1] * 3])
def test_numbers_of_a_list_are_read_as_single_ones(numbers: list[float]) -> None:
    from irtool.frontends.onnx.attributes import attribute_value

    single = [attribute_value(onnx.helper.make_attribute("a", n)) for n in numbers]
    many = attribute_value(onnx.helper.make_attribute("a", numbers, attr_type=onnx.AttributeProto.FLOATS))
    assert list(map(repr, many)) == list(map(repr, single))
    assert all(type(n) is float for n in many)
    assert [np.float32(n).tobytes() for n in many] == [np.float32(n).tobytes() for n in numbers]


@pytest.mark.parametrize(
    ("value", "annotation", "fits"),
    [
        ((1, 2), "tuple[int, ...]", True),
        ((1, 2.0), "Sequence[int]", False),
        ((), "tuple[str, ...] | None", True),
        ((True, 1), "tuple[int, ...]", True),
        ([1], "tuple[int, ...]", False),
        (("a", b"a"), "tuple[str, ...]", False),
    ],
)
def test_every_element_is_of_the_kind_that_a_parameter_has(value: object, annotation: str, fits: bool) -> None:
    assert is_of_kind(value, annotation) is fits
