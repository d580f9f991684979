"""Orders of steps with the least memory, beside all orders of small graphs."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np

import irtool
from irtool.lower.least_peak import StepMemory, StepOrders


def drawn(seed: int) -> tuple[StepOrders, list[list[int]]]:
    """Up to seven steps with a value each, some of them with scratch memory and results in the place of an operand."""
    r = random.Random(seed)
    count = r.randint(2, 7)
    before = [sorted(r.sample(range(k), r.randint(0, min(k, 2)))) for k in range(count)]
    sizes = [64 * r.choice([1, 2, 3, 5, 8, 13]) for _ in range(count)]
    steps = [
        StepMemory(
            (*before[k], k),
            r.choice([0, 0, 64, 256]),
            tuple((b, k) for b in before[k][:1] if sizes[b] == sizes[k] and r.random() < 0.5),
        )
        for k in range(count)
    ]
    return StepOrders(steps, before, sizes), before


def test_no_order_has_a_lower_peak() -> None:
    for seed in range(150):
        orders, before = drawn(seed)
        count = len(before)
        peaks = [
            orders.peak(p)
            for p in permutations(range(count))
            if all(p.index(b) < p.index(k) for k in range(count) for b in before[k])
        ]
        present = orders.peak(range(count))
        best = orders.best(present)
        assert (present if best is None else orders.peak(best)) == min(peaks), seed
        assert orders.least() <= min(peaks), seed
        greedy = orders.greedy()
        assert sorted(greedy) == list(range(count)) and orders.peak(greedy) >= min(peaks), seed


def test_a_search_that_visits_too_many_sets_ends() -> None:
    # Sixteen chains of two steps that meet: 3^16 sets.
    before: list[list[int]] = []
    for _ in range(16):
        before += [[], [len(before)]]
    before.append(list(range(1, 32, 2)))
    steps = [StepMemory((*others, n)) for n, others in enumerate(before)]
    sizes = [64 * (n % 5 + 2 * (1 - n % 2) + 1) for n in range(33)]
    orders = StepOrders(steps, before, sizes)
    assert sorted(orders.greedy()) == list(range(33))
    assert orders.peak(orders.best(1 << 40) or range(33)) >= orders.least()


BRANCHES = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 4, 4), float32]) {
  %0 = nn.softmax(nn.upsampling(%x, scale_h=8f, scale_w=8f));
  %1 = nn.softmax(nn.upsampling(%x, scale_h=16f, scale_w=16f));
  nn.softmax(multiply(%0, nn.max_pool2d(%1, pool_size=[64, 64], strides=[64, 64])))
}
"""


def test_branches_with_large_values_run_first_and_give_the_same() -> None:
    module = irtool.parse(BRANCHES)
    x = np.random.default_rng(0).standard_normal((1, 4, 4, 4)).astype("float32")
    artifact = irtool.build(module)
    np.testing.assert_allclose(artifact.run([x]), irtool.evaluate(module, [x]), rtol=1e-5)
    # Two values of 4 x 64 x 64 elements; the one of 4 x 32 x 32 comes after them.
    assert artifact.arena_bytes < 4 * (2 * 4 * 64 * 64 + 4 * 32 * 32)
