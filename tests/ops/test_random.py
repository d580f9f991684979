"""The random number generator: the published hash, independence of splits, what happens when a counter is used up."""

import numpy as np
import pytest

import irtool
from irtool.ops import operators
from irtool.ops.threefry import ALL_ONES, generate, hash_words, split

ZERO = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1 << 63, 0], "uint64")


def evaluate(name, *inputs, **attributes):
    return operators.get(name).make(attributes).evaluate(*inputs)


def test_the_hash_is_threefry_before_the_last_key_injection():
    # Known answer of threefry4x64-20 for a zero key and counter; its last injection adds 5 to the last word here.
    published = [0x09218EBDE6C85537, 0x55941F5266D86105, 0x4BD25E16282434DC, 0xEE29EC846BD2E40B]
    words = hash_words([np.uint64(0)] * 4, [np.zeros(1, "uint64")] * 4, np.uint64)
    assert [int(w[0]) for w in words] == [*published[:3], published[3] - 5]


def test_numbers_differ_from_call_to_call_and_between_splits():
    state, first = generate(ZERO, 7)
    left, right = split(state)  # each generator is used once only
    left, second = generate(left, 7)
    drawn = [first, second, generate(left, 7)[1], generate(right, 7)[1]]
    assert len({int(w) for numbers in drawn for w in numbers}) == 28


@pytest.mark.parametrize("marker", [(1 << 63, 0), (1, 0), (0, 1 << 63), (0, 1), (0, 0)])
def test_a_used_up_counter_moves_on_in_the_path_or_the_key(marker):
    used = ZERO.copy()
    used[7] = ALL_ONES - 3
    used[8:] = marker
    state, numbers = generate(used, 4)
    assert state[7] == 4 and len(set(numbers.tolist())) == 4
    assert state[:6].tolist() != used[:6].tolist()


def test_uniform_numbers_fill_the_interval():
    _, drawn = evaluate("random.uniform", ZERO, np.float32(-1), np.float32(3), out_shape=[10000], out_dtype="float32")
    assert drawn.min() >= -1 and drawn.max() < 3 and abs(drawn.mean() - 1) < 0.05


def test_normal_numbers_have_the_moments_asked_for():
    _, drawn = evaluate("random.normal", ZERO, np.float64(2), np.float64(3), out_shape=[20000], out_dtype="float64")
    assert abs(drawn.mean() - 2) < 0.1 and abs(drawn.std() - 3) < 0.1


def test_multinomial_draws_in_proportion_and_never_what_cannot_be():
    weights = np.array([0, 1, 3, -2], "float32")
    _, drawn = evaluate("random.multinomial", ZERO, weights, num_samples=4000)
    counts = np.bincount(drawn, minlength=4)
    assert counts[0] == counts[3] == 0 and abs(counts[2] / 4000 - 0.75) < 0.03


def test_no_number_is_drawn_by_a_weight_that_is_none() -> None:
    """A NaN among the weights counts as 0, as a negative number does."""
    text = "def @main(%k: Tensor[(10), uint64], %p: Tensor[(3), float32]) { random.multinomial(%k, %p, num_samples=8) }"
    module = irtool.parse(text)
    key = np.arange(10, dtype="uint64")
    _, actual = irtool.evaluate(module, [key, np.array([np.nan, 1, 2], "float32")])
    _, expected = irtool.evaluate(module, [key, np.array([0, 1, 2], "float32")])
    np.testing.assert_array_equal(actual, expected)
    assert set(actual.tolist()) <= {1, 2}
