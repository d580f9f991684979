"""Offsets in the arena: no two live intervals overlap, and little is wasted."""

from hypothesis import given, settings
from hypothesis import strategies as st

from irtool.lower.memory import Interval, place
from irtool.lower.naming import kernel_name

intervals = st.lists(
    st.tuples(st.integers(1, 20), st.integers(0, 15), st.integers(0, 6)).map(
        lambda t: Interval(t[0] * 64, t[1], t[1] + t[2])
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(intervals)
def test_live_intervals_do_not_overlap(items: list[Interval]) -> None:
    total, lower = place(items)
    assert lower <= total <= sum(i.size for i in items)
    for n, a in enumerate(items):
        assert a.offset >= 0 and a.offset + a.size <= total
        for b in items[:n]:
            apart = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
            assert apart or a.last < b.first or b.last < a.first


def test_a_chain_needs_two_places() -> None:
    total, lower = place([Interval(64, n, n + 1) for n in range(50)])
    assert total == lower == 128


def test_many_intervals_are_placed_quickly() -> None:
    total, _ = place([Interval(64, n, n + 1) for n in range(20_000)])
    assert total == 128


def test_kernel_names() -> None:
    assert kernel_name(["nn.dense", "add", "nn.relu"]) == "tvmgen_default_fused_nn_dense_add_nn_relu"
    long = kernel_name(["nn.conv2d"] * 20)
    assert long != kernel_name(["nn.conv2d"] * 21), "names that are cut stay different"
    assert len(long) < 130


def test_very_many_intervals_do_not_overlap_either() -> None:
    items = [Interval(64 * (1 + n * 7 % 5), n // 2, n // 2 + n * 11 % 6) for n in range(2000)]
    total, lower = place(items)
    assert lower <= total <= 3 * lower
    for n, a in enumerate(items):
        for b in items[max(0, n - 40) : n]:
            apart = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
            assert apart or a.last < b.first or b.last < a.first
