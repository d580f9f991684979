"""Buffers in several pools: inside of their pools, apart from each other, and in the first pool that has room."""

from hypothesis import given, settings
from hypothesis import strategies as st

from irtool.lower.placing import Interval
from irtool.lower.pools import place_in_pools
from irtool.tir.pools import Pool, locate

items_of = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 15), st.integers(0, 6)).map(
        lambda t: Interval(t[0] * 64, t[1], t[1] + t[2])
    ),
    max_size=8,
)
sizes_of = st.lists(st.integers(1, 3000), min_size=1, max_size=3)


def pools_of(sizes: list[int], is_open: bool) -> list[Pool]:
    return [Pool(f"p{n}", s) for n, s in enumerate(sizes)] + ([Pool("last")] if is_open else [])


@settings(max_examples=40, deadline=None)
@given(items_of, sizes_of, st.booleans())
def test_buffers_keep_to_their_pools(items: list[Interval], sizes: list[int], is_open: bool) -> None:
    pools = pools_of(sizes, is_open)
    used, homeless = place_in_pools(items, pools)
    assert len(used) == len(pools)
    for pool, taken in zip(pools, used, strict=True):
        assert taken % 64 == 0
        # At any address, the pool has that many bytes behind the first boundary of a cache line.
        assert pool.size is None or taken == 0 or taken + 64 <= pool.size
    if homeless is not None:
        assert homeless in items and not is_open
        return
    placed = [(i, *locate(i.offset, used)) for i in items if i.size]
    for n, (a, pool, offset) in enumerate(placed):
        assert offset >= 0 and offset + a.size <= used[pool], "no buffer lies across two pools"
        for b, other, other_offset in placed[:n]:
            apart = pool != other or offset + a.size <= other_offset or other_offset + b.size <= offset
            assert apart or a.last < b.first or b.last < a.first


@given(items_of)
@settings(max_examples=20, deadline=None)
def test_a_first_pool_with_room_for_all_has_all(items: list[Interval]) -> None:
    used, homeless = place_in_pools(items, [Pool("all"), Pool("none", 64)])
    assert homeless is None and used[1] == 0


def test_what_the_first_pool_has_no_room_for_goes_to_the_next() -> None:
    large, small = Interval(640, 0, 3), Interval(128, 0, 3)
    used, homeless = place_in_pools([large, small], [Pool("sram", 256), Pool("dram", 704)])
    assert homeless is None and used == [128, 640]
    assert (small.offset, large.offset) == (0, 128)


def test_the_largest_buffer_without_a_place_is_named() -> None:
    items = [Interval(640, 0, 3), Interval(1280, 2, 3)]
    used, homeless = place_in_pools(items, [Pool("sram", 256), Pool("dram", 704)])
    assert homeless is items[1] and used == [0, 640]


def test_buffers_that_follow_each_other_share_a_small_pool() -> None:
    chain = [Interval(64, n, n + 1) for n in range(20)]
    used, _ = place_in_pools([*chain, Interval(640, 0, 21)], [Pool("sram", 192), Pool("dram")])
    assert used == [128, 640]


def test_a_pool_smaller_than_a_cache_line_has_room_for_nothing() -> None:
    used, homeless = place_in_pools([Interval(64, 0, 0)], [Pool("tiny", 100), Pool("dram")])
    assert homeless is None and used == [0, 64]
