"""Histograms and the ranges that follow from them, against definitions in float64."""

import math

import numpy as np
import pytest

from irtool.passes.qdq_insertion.quantities import quantity_of
from irtool.quantization.calibrators import calibrate, divergence, entropy_range, error_range, percentile_range
from irtool.quantization.histogram import BINS, Histogram

RNG = np.random.default_rng(0)
SETS = {
    "normal": RNG.normal(size=20_000).astype("float32"),
    "positive": np.maximum(RNG.normal(size=20_000), 0).astype("float32"),
    "outlier": np.append(RNG.uniform(-1, 1, 20_000), [300.0]).astype("float32"),
    "tiny": (RNG.normal(size=5_000) * 1e-30).astype("float32"),
    "large": (RNG.normal(size=5_000) * 1e30).astype("float32"),
    "negative": -RNG.exponential(size=9_000).astype("float32"),
    "constant": np.full(100, 3.5, "float32"),
}


def histogram(values: np.ndarray, parts: int = 1) -> Histogram:
    h = Histogram()
    for part in np.array_split(values, parts):
        h.add(part)
    return h


@pytest.mark.parametrize("name", SETS)
def test_bins_hold_what_a_histogram_of_their_edges_has(name: str) -> None:
    values = SETS[name]
    h = histogram(values, 7)
    edges = np.arange(-BINS, BINS + 1) * h.width
    np.testing.assert_array_equal(h.counts, np.histogram(values.astype("float64"), edges)[0])
    largest = np.abs(values.astype("float64")).max()
    assert BINS / 2 * h.width <= largest < BINS * h.width
    assert (h.low, h.high, h.total) == (values.min(), values.max(), values.size)


@pytest.mark.parametrize("name", SETS)
def test_the_order_of_data_makes_no_difference(name: str) -> None:
    values = SETS[name]
    a, b = histogram(values, 5), histogram(RNG.permutation(values), 3)
    assert a.exponent == b.exponent
    np.testing.assert_array_equal(a.counts, b.counts)


def test_zeros_before_other_values_are_counted() -> None:
    h = histogram(np.array([0, 0, 0, -100, 0.001], "float32"), 5)
    assert h.counts[BINS] == 4 and h.counts.sum() == 5


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("percent", [90.0, 99.0, 99.99, 100.0])
def test_percentiles_are_those_of_sorted_values_up_to_a_bin(name: str, percent: float) -> None:
    values = np.sort(SETS[name].astype("float64"))
    h = histogram(SETS[name])
    low, high = percentile_range(h, percent)
    outside = int(len(values) * (100 - percent) / 200 + 1e-9)
    assert low <= values[outside] < low + h.width * 1.001
    assert high - h.width * 1.001 < values[-1 - outside] < high


def plain_divergence(counts: list[int], bin_count: int, levels: int) -> float:
    """The definition in plain Python."""
    reference = [float(c) for c in counts[:bin_count]]
    reference[-1] += sum(counts[bin_count:])
    rounded = [0.0] * bin_count
    for level in range(levels):
        bins = [n for n in range(bin_count) if n * levels // bin_count == level]
        filled = [n for n in bins if counts[n]]
        for n in filled:
            rounded[n] = sum(counts[m] for m in bins) / len(filled)
    p_total, q_total = sum(reference), max(sum(rounded), 1.0)
    return sum(p / p_total * math.log(p / p_total / max(q / q_total, 1e-12)) for p, q in zip(reference, rounded) if p)


@pytest.mark.parametrize("bin_count", [128, 200, 400, 777])
def test_divergences_are_those_of_the_definition(bin_count: int) -> None:
    counts = RNG.poisson(np.exp(-np.arange(800) / 120) * 30)
    actual = divergence(counts, bin_count, 128)
    assert actual == pytest.approx(plain_divergence(counts.tolist(), bin_count, 128), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["normal", "positive", "outlier", "negative"])
def test_the_entropy_has_the_threshold_of_least_divergence(name: str) -> None:
    h = histogram(SETS[name])
    counts = (h.counts[BINS:] + h.counts[:BINS][::-1]).tolist()
    levels = 256 if SETS[name].min() >= 0 else 128
    used = max(n for n, c in enumerate(counts) if c) + 1
    candidates = [*range(levels, used, 512), used]
    best = round(entropy_range(h)[1] / h.width)
    least = min(plain_divergence(counts, n, levels) for n in candidates)
    assert plain_divergence(counts, best, levels) <= least + 1e-9


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_the_least_square_error_is_that_of_a_search(name: str, dtype: str) -> None:
    h = histogram(SETS[name])
    low, high = min(h.low, 0.0), max(h.high, 0.0)

    def error(part: float) -> float:
        q = quantity_of(low * part, high * part, dtype)
        least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
        total = 0.0
        for center, count in zip(h.centers, h.counts):
            if count:
                rounded = min(max(np.rint(center / q.scale) + q.zero_point, least), greatest)
                total += count * (center - (rounded - q.zero_point) * q.scale) ** 2
        return total

    bounds = error_range(h, dtype)
    part = (bounds[1] - bounds[0]) / (high - low)
    assert error(part) <= min(error(n / 100) for n in (100, 90, 75, 50, 30, 10, 3, 1)) * (1 + 1e-9)


@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy", "mse"])
@pytest.mark.parametrize("name", SETS)
def test_ranges_hold_zero_and_no_more_than_the_values(name: str, method: str) -> None:
    low, high = calibrate(histogram(SETS[name]), method, 99.9, "uint8")
    assert min(SETS[name].min(), 0) <= low <= 0 <= high <= max(SETS[name].max(), 0) and low < high


def test_a_tensor_of_zeros_has_scale_one() -> None:
    h = histogram(np.zeros(10, "float32"))
    for method in ("minmax", "percentile", "entropy", "mse"):
        assert calibrate(h, method, 99.9, "uint8") == (0.0, 0.0)
    assert quantity_of(0.0, 0.0, "uint8").scale == 1.0 and quantity_of(0.0, 0.0, "int8", symmetric=True).scale == 1.0


@pytest.mark.parametrize(
    "low, high", [(-1.0, 3.0), (0.0, 6.0), (-5.0, 0.0), (2.0, 3.0), (-1e-35, 1e-36), (-3e38, 3e38)]
)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_quantities_hold_the_range_and_zero_exactly(low: float, high: float, dtype: str) -> None:
    q = quantity_of(low, high, dtype)
    least, greatest = q.reach
    assert least <= 0 <= greatest and q.scale > 0 and np.isfinite(np.float32(q.scale))
    assert least * q.scale <= min(low, 0) + 0.51 * q.scale and greatest * q.scale >= max(high, 0) - 0.51 * q.scale
