"""Arrays in blocks: all elements, in their order, views where the array is contiguous."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irtool.array_blocks import blocks


@given(st.lists(st.integers(0, 5), max_size=4), st.randoms(), st.integers(1, 30))
def test_blocks_are_the_elements_in_order(shape: list[int], random, elements: int) -> None:
    axes = list(range(len(shape)))
    random.shuffle(axes)
    array = np.arange(int(np.prod(shape))).reshape(shape).transpose(axes)
    parts = list(blocks(array, elements))
    assert all(p.flags.c_contiguous and p.size <= elements for p in parts)
    np.testing.assert_array_equal(
        np.concatenate([np.empty(0, int), *(p.reshape(-1) for p in parts)]), array.reshape(-1)
    )


def test_blocks_of_contiguous_arrays_are_views() -> None:
    array = np.zeros((300, 7, 11), "float32")
    assert all(np.shares_memory(p, array) for p in blocks(array, 100))


@pytest.mark.parametrize("value", [np.float32(3), np.zeros((0, 4))])
def test_blocks_of_one_element_and_of_none(value: np.ndarray) -> None:
    assert sum(p.size for p in blocks(value)) == np.size(value)
