"""What is computed where it is read: once for each place, at a cost that grows as the graph does."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool import te
from irtool.lower.stages import choose_stages
from irtool.tir.expr import post_order
from tests.work import steps


def residual(n):
    """Each tensor is the sum of the two before it."""
    a = te.placeholder((4,), "float32", name="a")
    b = te.compute((4,), lambda i: -a[i], name="b")
    for _ in range(n):
        a, b = b, te.compute((4,), lambda i, a=a, b=b: a[i] + b[i], name="c")
    return b


@pytest.mark.promise("growth")
def test_a_value_read_twice_is_one_expression():
    [stage] = choose_stages([residual(40)])
    assert len(post_order(*stage.bodies)) < 60


@pytest.mark.promise("growth")
def test_stages_are_chosen_at_a_cost_that_grows_as_the_graph_does():
    small, large = (steps(lambda n=n: choose_stages([t]) if (t := residual(n)) else None) for n in (40, 80))
    assert large < 2.3 * small


def test_equal_indices_are_the_same_place():
    x = te.placeholder((8, 4), "float32", name="x")
    y = te.compute((8, 4), lambda i, j: x[i, j] * x[i, j], name="y")
    z = te.compute((32,), lambda i: y[i // 4, i % 4] + y[i // 4, i % 4], name="z")
    [stage] = choose_stages([z])
    loads = [e for e in post_order(*stage.bodies) if type(e).__name__ == "Load"]
    assert len(loads) == 1


def test_places_that_are_data_are_opened_too():
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(5), float32], %i: Tensor[(3), int32]) {
  %0 = abs(%i);
  %1 = negative(%x);
  %2 = take(%1, %0, axis=0);
  add(%2, take(%1, %0, axis=0))
}
"""
    module = irtool.infer_types(irtool.parse(text))
    inputs = [np.arange(5, dtype="float32"), np.array([-1, 3, 2], dtype="int32")]
    want = irtool.evaluate(module, inputs)
    np.testing.assert_array_equal(irtool.build(module).run(inputs), want)


def test_what_gets_too_large_is_stored():
    x = te.placeholder((200,), "float32", name="x")
    for level in range(4):
        x = te.compute(
            (200,), lambda i, x=x: sum((x[(i * (7 + k)) % 200] for k in range(1, 12)), te.const(0.0)), name=f"l{level}"
        )
    stages = choose_stages([x])
    assert 1 < len(stages) < 5


def test_reads_that_folding_leaves_out_need_no_memory():
    text = "def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { where(False, {0}, {0}) }"
    for operand in ("%x", "add(%x, %y)", "tanh(%x)"):
        module = irtool.infer_types(irtool.parse(text.replace("{0}", operand)))
        values = [np.array([1, 2, 3], "float32"), np.array([4, 5, 6], "float32")]
        np.testing.assert_allclose(irtool.build(module).run(values), irtool.evaluate(module, values), rtol=1e-5)


@pytest.mark.parametrize(("reads", "stored"), [(2, False), (4, True)])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_numbers_that_many_results_read_are_rounded_once(dtype, reads, stored):
    """As the points of an enlarged image are; what widens them, or products read, is computed where it is read."""
    x = te.placeholder((16,), "float32", name="x")
    y = te.compute((16,), lambda i: x[i].astype(dtype), name="y")
    z = te.compute((16 * reads,), lambda i: y[i // reads].astype("float32") + 1.0, name="z")
    assert len(choose_stages([z])) == (2 if stored and dtype != "float64" else 1)
    k = te.reduce_axis(16, "k")
    assert len(choose_stages([te.compute((16 * reads,), lambda i: te.sum(y[k], axis=k), name="z")])) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_an_enlarged_image_of_rounded_numbers(dtype):
    text = f"""def @main(%x: Tensor[(1, 3, 5, 16), float32]) {{
  %0 = image.resize2d(cast(%x, dtype="{dtype}"), size=[12, 20], roi=[0f, 0f, 0f, 0f], layout="NHWC", rounding_method="");
  cast(%0, dtype="float32")
}}"""
    module = irtool.infer_types(irtool.parse(text))
    x = np.random.default_rng(0).standard_normal((1, 3, 5, 16)).astype("float32")
    want = np.asarray(irtool.evaluate(module, [x]))
    np.testing.assert_allclose(irtool.build(module).run([x]), want, rtol=2**-7, atol=2**-7)
