"""The decomposing passes against numpy: normalisations in inference and training, shapes given as constants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irtool
from irtool.ir import Call, Constant, Function, Module, Op, TensorType, Var, post_order
from irtool.ops.base import call

EPSILON = 1e-3


def operators(module: Module, name: str = "main") -> set[str]:
    return {e.op.name for e in post_order(module[name]) if isinstance(e, Call) and isinstance(e.op, Op)}


def batch_norm(shape: tuple[int, ...], axis: int, **flags: bool) -> Module:
    channels = shape[axis]
    x = Var("x", TensorType(shape, "float64"))
    vectors = tuple(Var(n, TensorType((channels,), "float64")) for n in ("gamma", "beta", "mean", "var"))
    body = call("nn.batch_norm", x, *vectors, axis=axis, epsilon=EPSILON, **flags)
    return irtool.infer_types(Module({"main": Function((x, *vectors), body)}))


def inputs(module: Module, seed: int) -> list[np.ndarray]:
    rng = np.random.RandomState(seed)
    return [rng.uniform(0.5, 2.0, p.type_annotation.shape) for p in module["main"].params]


def expected(
    arrays: list[np.ndarray], axis: int, scale: bool, center: bool, momentum: float | None
) -> list[np.ndarray]:
    x, gamma, beta, mean, var = arrays
    along = [1] * x.ndim
    along[axis] = -1
    used_mean, used_var = mean, var
    if momentum is not None:
        others = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
        used_mean, used_var = x.mean(axis=others), x.var(axis=others)
        mean, var = ((1 - momentum) * old + momentum * new for old, new in ((mean, used_mean), (var, used_var)))
    out = (x - used_mean.reshape(along)) / np.sqrt(used_var.reshape(along) + EPSILON)
    out = out * gamma.reshape(along) if scale else out
    return [out + beta.reshape(along) if center else out, mean, var]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_batch_norm(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=4)))
    axis = data.draw(st.integers(-1, len(shape) - 1))
    scale, center = data.draw(st.booleans()), data.draw(st.booleans())
    momentum = data.draw(st.sampled_from([None, 0.1, 0.25, 0.9]))
    module = batch_norm(shape, axis, scale=scale, center=center)
    if momentum is None:
        after = irtool.run_passes(module, "DecomposeOpsForInference")
    else:
        after = irtool.run_passes(module, [("DecomposeOpsForTraining", {"momentum": momentum})])
    assert not operators(after) & {"nn.batch_norm", "nn.layer_norm"}
    arrays = inputs(module, 3)
    for got, want in zip(irtool.evaluate(after, arrays), expected(arrays, axis, scale, center, momentum), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_momentum_is_a_tenth_where_none_is_given() -> None:
    module = batch_norm((4, 3), 1)
    arrays = inputs(module, 0)
    got = irtool.evaluate(irtool.run_passes(module, "DecomposeOpsForTraining"), arrays)
    for g, w in zip(got, expected(arrays, 1, True, True, 0.1), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6)


@pytest.mark.parametrize("passes", ["DecomposeOpsForInference", "DecomposeOpsForTraining", "MutateOpsForTraining"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_layer_norm(passes: str, axis: int) -> None:
    shape = (2, 3, 4)
    x = Var("x", TensorType(shape, "float64"))
    vectors = tuple(Var(n, TensorType((shape[axis],), "float64")) for n in ("gamma", "beta"))
    module = irtool.infer_types(
        Module({"main": Function((x, *vectors), call("nn.layer_norm", x, *vectors, axis=axis, epsilon=EPSILON))})
    )
    after = irtool.run_passes(module, passes)
    assert "nn.layer_norm" not in operators(after)
    a, gamma, beta = arrays = inputs(module, 1)
    along = [1] * 3
    along[axis] = -1
    want = (a - a.mean(axis=axis, keepdims=True)) / np.sqrt(a.var(axis=axis, keepdims=True) + EPSILON)
    np.testing.assert_allclose(
        irtool.evaluate(after, arrays), want * gamma.reshape(along) + beta.reshape(along), rtol=1e-9
    )


def test_shape_in_a_constant_becomes_an_attribute() -> None:
    x, s = Var("x", TensorType((2, 6), "float32")), Var("s", TensorType((2,), "int64"))
    known = call("dyn.reshape", x, Constant(np.array([3, -1], "int64")), newshape=())
    module = irtool.infer_types(Module({"main": Function((x, s), call("dyn.reshape", known, s, newshape=()))}))
    after = irtool.run_passes(module, "DecomposeOps")
    assert operators(after) == {"reshape", "dyn.reshape"}  # the second shape is not known
    arrays = [np.arange(12, dtype="float32").reshape(2, 6), np.array([4, 3])]
    np.testing.assert_array_equal(irtool.evaluate(after, arrays), arrays[0].reshape(4, 3))


def test_results_are_as_static_as_their_shapes() -> None:
    x = Var("x", TensorType((2, 6), "float32"))
    body = call("dyn.reshape", x, Constant(np.array([3, 4], "int64")), newshape=())
    module = irtool.infer_types(Module({"main": Function((x,), body)}))
    after = irtool.run_passes(module, "DecomposeOpsForInference")
    assert after["main"].checked_type.ret_type == TensorType((3, 4), "float32")


@pytest.mark.parametrize("passes", ["DecomposeOpsForInference", "DecomposeOpsForTraining"])
def test_one_function_only(passes: str) -> None:
    f = batch_norm((2, 3), 1)["main"]
    module = irtool.infer_types(Module({"main": f, "main_2": f, "other": f}))
    after = irtool.run_passes(module, [(passes, {"func_name": "main$"})])
    assert "nn.batch_norm" not in operators(after)
    assert after["main_2"] is module["main_2"] and after["other"] is module["other"]
    assert irtool.run_passes(module, [(passes, {"func_name": "nain"})]) is module
