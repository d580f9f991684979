"""Group normalisations between convolutions: channels keep their blocks, and convolutions their fast algorithms."""

import numpy as np
import pytest

import irtool
from irtool.schedule.graph.canonical_views import reshaped
from irtool.tir.expr import Expr, Var, const
from irtool.tir.simplify import Simplifier
from tests.backends.instructions import require_processor

Weights = dict[str, np.ndarray]


def network(groups: int, channels: int = 32, batch: int = 1, edge: int = 20) -> tuple[str, Weights]:
    """Three convolutions with normalisations of groups of channels between."""
    c, n = channels, batch
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[({n}, {c}, {edge}, {edge}), float32], %v: Tensor[({c}, {c}, 3, 3), float32],
              %w: Tensor[({c}, {c}, 3, 3), float32], %u: Tensor[({c}, {c}, 3, 3), float32],
              %g: Tensor[({c}), float32], %b: Tensor[({c}), float32]) {{
      %0 = nn.conv2d(%x, %v, padding=[1, 1], channels={c}, kernel_size=[3, 3]);
      %1 = nn.group_norm(%0, %g, %b, num_groups={groups});
      %2 = nn.conv2d(nn.relu(%1), %w, padding=[1, 1], channels={c}, kernel_size=[3, 3]);
      %3 = nn.relu(nn.group_norm(add(%0, %2), %g, %b, num_groups={groups}));
      nn.conv2d(%3, %u, padding=[1, 1], channels={c}, kernel_size=[3, 3]) }}"""
    random = np.random.default_rng(groups)
    shapes = {"v": (c, c, 3, 3), "w": (c, c, 3, 3), "u": (c, c, 3, 3), "g": (c,), "b": (c,)}
    return text, {k: (random.standard_normal(s) / 4).astype("float32") for k, s in shapes.items()}


@pytest.mark.parametrize("groups", [1, 2, 8, 16, 32])
@pytest.mark.parametrize("target", ["c", "c{mcpu=x86-64-v3}", "c{vector=none}"])
def test_results_are_those_of_the_interpreter(groups: int, target: str) -> None:
    text, weights = network(groups)
    x = np.random.default_rng(1).standard_normal((1, 32, 20, 20)).astype("float32")
    module = irtool.parse(text)
    expected = np.asarray(irtool.evaluate(module, {"x": x, **weights}))
    actual = np.asarray(irtool.build(module, weights, target=target).run([x]))
    assert np.abs(actual - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("channels", [12, 24, 30])
def test_channels_that_fill_no_blocks(channels: int) -> None:
    text, weights = network(6, channels, batch=2, edge=9)
    x = np.random.default_rng(2).standard_normal((2, channels, 9, 9)).astype("float32")
    module = irtool.parse(text)
    expected = np.asarray(irtool.evaluate(module, {"x": x, **weights}))
    actual = np.asarray(irtool.build(module, weights).run([x]))
    assert np.abs(actual - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize("groups", [1, 4, 8, 32])
def test_convolutions_beside_it_are_transformed(groups: int) -> None:
    # They were not: the reshapes of the groups kept all of the network row-major.
    text, weights = network(groups)
    target = "c{mcpu=x86-64-v4, winograd=4}"
    report = irtool.build(irtool.parse(text), weights, target=target, emit="c").report
    strategies = [k["strategy"] for k in report["kernels"] if "conv2d" in str(k["name"])]
    assert "winograd" in strategies


def test_threads_change_nothing() -> None:
    text, weights = network(8)
    x = np.random.default_rng(3).standard_normal((1, 32, 20, 20)).astype("float32")
    module = irtool.parse(text)
    one, two = (np.asarray(irtool.build(module, weights, openmp=t).run([x])) for t in (False, True))
    np.testing.assert_array_equal(one, two)


def test_indices_in_another_shape() -> None:
    g, k, y, x = (Var(n) for n in "gkyx")
    simplify = Simplifier({g: (0, 7), k: (0, 3), y: (0, 8), x: (0, 8)})
    zero = const(0)

    def indices(i: list[Expr], old: tuple[int, ...], new: tuple[int, ...]) -> str:
        return str(reshaped(i, old, new, simplify))

    assert indices([zero, g, k, y, x], (1, 8, 4, 9, 9), (1, 32, 9, 9)) == "[0, ((g * 4) + k), y, x]"
    assert indices([zero, g * 4 + k, y, x], (1, 32, 9, 9), (1, 8, 4, 9, 9)) == "[0, g, k, y, x]"
    assert indices([zero, zero, k, y, x], (1, 1, 4, 9, 9), (4, 9, 9)) == "[k, y, x]"
    assert indices([k, y], (4, 9), (6, 6)) == "[floordiv(((k * 9) + y), 6), floormod(((k * 9) + y), 6)]"
    assert reshaped([k, y], (4, 9), (5, 7), simplify) is None


@pytest.mark.parametrize("target", ["c{mcpu=x86-64-v4, winograd=4}", "c{mcpu=x86-64-v3, winograd=4}"])
@pytest.mark.parametrize("shape", [(1, 8, 4, 20, 20), (1, 2, 2, 8, 20, 20)])
def test_casts_between_convolutions_and_groups_keep_the_shape_of_images(shape: tuple[int, ...], target: str) -> None:
    """Where a normalisation begins with a cast, a kernel writes the groups, and others read them."""
    require_processor(target.partition("mcpu=")[2].partition(",")[0])
    c, axes = 32, list(range(2, len(shape)))
    text = f"""#[version = "0.0.5"]
    def @main(%x: Tensor[(1, {c}, 20, 20), float32], %v: Tensor[({c}, {c}, 3, 3), float32],
              %w: Tensor[({c}, {c}, 3, 3), float32], %p: Tensor[({c}, 1, 1), float32]) {{
      %0 = cast(nn.relu(nn.conv2d(%x, %v, padding=[1, 1])), dtype="float16");
      %1 = cast(reshape(%0, newshape={list(shape)}), dtype="float32");
      %2 = mean(%1, axis={axes}, keepdims=True);
      %3 = variance(%1, %2, axis={axes}, keepdims=True);
      %4 = reshape(multiply(subtract(%1, %2), rsqrt(add(%3, 1e-5f))), newshape=[1, {c}, 20, 20]);
      %5 = nn.conv2d(nn.relu(multiply(%4, %p)), %w, padding=[1, 1]);
      nn.conv2d(nn.relu(%5), %v, padding=[1, 1]) }}"""
    random = np.random.default_rng(5)
    shapes = {"v": (c, c, 3, 3), "w": (c, c, 3, 3), "p": (c, 1, 1)}
    weights = {k: (random.standard_normal(s) / 17).astype("float32") for k, s in shapes.items()}
    x = random.standard_normal((1, c, 20, 20)).astype("float32")
    module = irtool.parse(text)
    expected = np.asarray(irtool.evaluate(module, {"x": x, **weights}))
    artifact = irtool.build(module, weights, target=target)
    actual = np.asarray(artifact.run([x]))
    assert np.abs(actual - expected).max() <= 2e-3 * np.abs(expected).max()
    assert "winograd" in [k["strategy"] for k in artifact.report["kernels"]] or len(shape) > 5


def test_groups_that_several_read_in_several_ways() -> None:
    """Pieces, transposed axes and other groups of the same image, some of which nothing can read in its own shape."""
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 32, 12, 12), float32], %v: Tensor[(32, 32, 3, 3), float32]) {
      %0 = nn.conv2d(%x, %v, padding=[1, 1]);
      %1 = reshape(nn.relu(%0), newshape=[1, 8, 4, 12, 12]);
      %2 = split(%1, indices_or_sections=2, axis=1);
      %3 = exp(reshape(negative(%0), newshape=[1, 4, 8, 12, 12]));
      %4 = sum(%3, axis=[2, 3, 4]);
      %5 = reshape(multiply(%3, %3), newshape=[1, 32, 12, 12]);
      %6 = nn.conv2d(nn.relu(%5), %v, padding=[1, 1]);
      (%2.0, %2.1, %4, %6, reshape(transpose(%1, axes=[0, 2, 1, 3, 4]), newshape=[1, 32, 12, 12])) }"""
    random = np.random.default_rng(6)
    weights = {"v": (random.standard_normal((32, 32, 3, 3)) / 17).astype("float32")}
    x = random.standard_normal((1, 32, 12, 12)).astype("float32")
    module = irtool.parse(text)
    results = irtool.evaluate(module, {"x": x, **weights})
    for expected, actual in zip(results, irtool.build(module, weights).run([x]), strict=True):
        largest = float(np.abs(np.asarray(expected)).max())
        np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=0, atol=1e-5 * largest)
