"""Channels that PadChannels adds change no element of a result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.infer.infer import infer_expr
from irtool.ir import Call, TensorType, Var, post_order
from irtool.ops.base import call
from irtool.passes.channel_padding.calls import adds_channels
from irtool.passes.channel_padding.channels import PaddedChannels, whole_channels
from irtool.passes.core.bind import bind_params
from irtool.passes.core.constants import scalar_constant
from irtool.symbolic_int import symbolic

V = '#[version = "0.0.5"]\n'
SAME = "padding=[1, 1, 1, 1], kernel_size=[3, 3]"

KEPT: dict[str, str] = {
    "functions": "sigmoid(clip(nn.leaky_relu(%0, alpha=0.1f), a_min=0.5f, a_max=3f))",
    "biases": "maximum(add(multiply(%s, %0), 0.5f), 0.1f)",
    "prelu": "nn.prelu(%0, reshape(%s, newshape=[-1]))",
    "depthwise": "nn.conv2d(%0, %d, groups={count}, channels={count}, padding=[1, 1, 1, 1], kernel_size=[3, 3])",
    "pools": "nn.avg_pool2d(nn.max_pool2d(%0, pool_size=[3, 3], padding=[1, 1, 1, 1]), pool_size=[2, 2])",
    "resized": 'image.resize2d(%0, size=[30, 30], roi=[0f, 0f, 0f, 0f], method="cubic")',
    "gates": "multiply(%0, sigmoid(nn.global_avg_pool2d(%0)))",
    "gates in other shapes": "multiply(reshape(exp(reshape(nn.global_max_pool2d(%0), newshape=[1, -1])), newshape=[{count}, 1, 1]), %0)",
    "sums": "add(nn.relu(%0), nn.conv2d(%x, %u, channels={count}, PAD))",
    "zeros": "nn.relu(add(%0, nn.pad(%x, 0f, pad_width=[[0, 0], [0, {missing}], [0, 0], [0, 0]])))",
    "concatenations": "concatenate((%x, nn.relu(%0), %0), axis=1)",
    "concatenations in concatenations": "concatenate((%x, nn.max_pool2d(concatenate((%0, %x), axis=1), pool_size=[3, 3], padding=[1, 1, 1, 1])), axis=1)",
}


def network(case: str, count: int, results: int = 16) -> irtool.Module:
    """A convolution with so many channels, what keeps them, and a convolution that reads them."""
    channels = {"concatenations": 2 * count + 10, "concatenations in concatenations": count + 20}.get(case, count)
    middle = KEPT[case].replace("PAD", SAME).format(count=count, missing=count - 10)
    text = f"""def @main(%x: Tensor[(1, 10, 20, 20), float32], %u: Tensor[({count}, 10, 3, 3), float32], %s: Tensor[({count}, 1, 1), float32],
  %d: Tensor[({count}, 1, 3, 3), float32], %w: Tensor[({results}, {channels}, 3, 3), float32]) {{
  %0 = nn.conv2d(%x, %u, channels={count}, {SAME});
  %1 = {middle};
  nn.conv2d(%1, %w, channels={results}, {SAME})
}}"""
    return irtool.infer_types(irtool.parse(V + text))


def values(module: irtool.Module) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {p.name: rng.normal(size=p.type_annotation.shape).astype("float32") for p in module["main"].params}


def padded(module: irtool.Module, inputs: dict[str, Any], lanes: int) -> tuple[irtool.Module, irtool.Module]:
    """The module with constants for weights, before and after."""
    weights = {n: a for n, a in inputs.items() if n != "x"}
    bound = irtool.run_passes(bind_params(module, weights), "InferType,FoldConstant,InferType", opt_level=3)
    return bound, irtool.infer_types(irtool.run_passes(bound, f"PadChannels{{lanes={lanes}}}", opt_level=3))


def most_channels(module: irtool.Module) -> set[int]:
    """Channels that convolutions make."""
    calls = [e for e in post_order(module["main"].body) if isinstance(e, Call)]
    return {e.attrs.channels for e in calls if getattr(e.attrs, "name", "") == "nn.conv2d"}


@pytest.mark.parametrize("case", KEPT)
def test_every_element_stays_the_same(case: str) -> None:
    module = network(case, 37)
    inputs = values(module)
    before, after = padded(module, inputs, 16)
    assert 37 in most_channels(before) and 37 not in most_channels(after)
    expected, actual = (np.asarray(irtool.evaluate(m, [inputs["x"]])) for m in (before, after))
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(sorted(KEPT)), st.integers(10, 50), st.sampled_from([4, 8, 16]), st.integers(3, 40))
def test_any_number_of_channels(case: str, count: int, lanes: int, results: int) -> None:
    module = network(case, count, results)
    inputs = values(module)
    before, after = padded(module, inputs, lanes)
    expected, actual = (np.asarray(irtool.evaluate(m, [inputs["x"]])) for m in (before, after))
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("case", ["gates", "concatenations", "depthwise", "zeros"])
@pytest.mark.parametrize("target", ["c{mcpu=x86-64-v3}", "c{mcpu=x86-64-v4}", "c{math=strict,mcpu=x86-64-v3}"])
def test_builds(case: str, target: str) -> None:
    module = network(case, 37)
    inputs = values(module)
    x = inputs.pop("x")
    expected = np.asarray(irtool.evaluate(module, [x, *inputs.values()]))
    actual = irtool.build(module, params=inputs, inputs=["x"], target=target).run([x])
    assert np.abs(actual - expected).max() < 1e-5 * np.abs(expected).max()


def test_numbers_that_are_not_finite_stay_where_they_are() -> None:
    """Added channels hold numbers whatever the data is, so that their weights make zeros of them."""
    module = network("gates", 37)
    inputs = values(module)
    inputs["x"][:, :, :4] = np.inf
    inputs["x"][:, :, 9:] = np.nan
    before, after = padded(module, inputs, 16)
    expected, actual = (np.asarray(irtool.evaluate(m, [inputs["x"]])) for m in (before, after))
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))


@pytest.mark.parametrize(
    ("lanes", "counts"),
    [
        (16, {3: 3, 8: 8, 12: 16, 20: 24, 24: 24, 33: 48, 37: 48, 66: 80, 97: 112, 149: 160, 333: 336}),
        (8, {3: 4, 12: 12, 18: 24, 21: 24, 37: 40}),
        (4, {3: 4, 5: 5, 6: 8, 37: 40}),
    ],
)
def test_whole_channels(lanes: int, counts: dict[int, int]) -> None:
    assert {n: whole_channels(n, lanes) for n in counts} == counts


def test_places() -> None:
    channels = PaddedChannels((0, 1, 4, 5), 8)
    np.testing.assert_array_equal(channels.spread(np.arange(1, 5), 0), [1, 2, 0, 0, 3, 4, 0, 0])
    np.testing.assert_array_equal(channels.spread(np.ones((2, 4)), 1)[1], [1, 1, 0, 0, 1, 1, 0, 0])


def test_borders_whose_widths_a_run_decides_are_no_channels() -> None:
    n = symbolic("n", 1, 9)
    x = Var("x", TensorType((1, 4, 5), "float32"))
    for width, expected in ((3, True), (n, False)):
        padded = call("nn.pad", x, scalar_constant(0, "float32"), pad_width=[[0, 0], [0, width], [0, 0]])
        assert adds_channels(infer_expr(padded)) == expected
    bordered = call("nn.pad", x, scalar_constant(0, "float32"), pad_width=[[0, 0], [0, 0], [n, n]])
    assert not adds_channels(infer_expr(bordered))


@pytest.mark.parametrize("middle", ["maximum(%0, %s)", "multiply(%0, sigmoid(nn.global_avg_pool2d(%0)))"])
def test_sizes_that_the_run_decides_are_compared_at_their_greatest(middle: str) -> None:
    """Any number of images, of any size from one element on: which tensor is larger depends on the run."""
    text = f"""def @main(%x: Tensor[(?, 10, ?, ?), float32], %s: Tensor[(?, 37, 1, 1), float32], %u: Tensor[(37, 10, 3, 3), float32],
      %w: Tensor[(24, 37, 3, 3), float32]) {{
      %0 = nn.conv2d(%x, %u, channels=37, {SAME});
      nn.conv2d({middle}, %w, channels=24, {SAME})
    }}"""
    rng = np.random.default_rng(4)
    weights = {n: rng.normal(size=s).astype("float32") for n, s in (("u", (37, 10, 3, 3)), ("w", (24, 37, 3, 3)))}
    module = irtool.parse(V + text)
    dims = {"x": ("n<=4", 10, "h<=40", "k<=40"), "s": ("n", 37, 1, 1)}
    artifact = irtool.build(module, weights, shapes=dims, cflags="-O1")
    for n, h, k in ((1, 1, 1), (4, 40, 33), (2, 3, 40)):
        x, s = (rng.normal(size=shape).astype("float32") for shape in ((n, 10, h, k), (n, 37, 1, 1)))
        actual = artifact.run({"x": x, "s": s})
        expected = irtool.evaluate(module, [x, s, weights["u"], weights["w"]])
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-3)
