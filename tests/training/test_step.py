"""Steps of training: gradients, optimizers, batch statistics and dropouts, in the interpreter and in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.interp.steps import Steps
from irtool.ir import Module
from irtool.passes.core.bind import bind_params
from irtool.training import TrainOptions, TrainStep, train_step

from .networks import BOUNDED, DROPPING, IMAGES, PERCEPTRON, PLACES, WORDS, network

Outputs = Callable[[dict[str, Any], Sequence[Any]], Any]


def perceptron(w: dict[str, Any], inputs: Sequence[Any]) -> Any:
    return np.tanh(inputs[0] @ w["w"].T + w["b"]) @ w["v"].T


def images(w: dict[str, Any], inputs: Sequence[Any]) -> Any:
    x = np.pad(inputs[0], ((0, 0), (0, 0), (1, 1), (1, 1)))
    parts = np.stack([x[:, :, i : i + 8, j : j + 8] for i in range(3) for j in range(3)], -1)
    y = np.einsum("nchwk,ock->nohw", parts, w["w"].reshape(5, 3, 9))
    y = (y - y.mean((0, 2, 3), keepdims=True)) / np.sqrt(y.var((0, 2, 3), keepdims=True) + 1e-5)
    y = np.maximum(y * w["gamma"][:, None, None] + w["beta"][:, None, None], 0)
    return y.reshape(4, 5, 4, 2, 4, 2).max((3, 5)).mean((2, 3)) @ w["v"].T


def places(w: dict[str, Any], inputs: Sequence[Any]) -> Any:
    y = inputs[0] * w["w"]
    return np.concatenate([(y[:, 4] + y[:, 0])[:, 1:4] * w["v"], y[:, 4, 4:0:-2]], 1)


def words(w: dict[str, Any], inputs: Sequence[Any]) -> Any:
    return w["w"][inputs[0].astype("int64")].sum(1)


def cross_entropy(scores: Any, target: Any) -> float:
    shifted = scores - scores.max(1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return -float(np.mean(np.take_along_axis(logs, np.expand_dims(target, 1), 1)))


def squares(y: Any, target: Any) -> float:
    return float(np.mean((y - target) ** 2))


LOSSES = {"cross_entropy": cross_entropy, "mse": squares}


def in_doubles(values: dict[str, Any]) -> dict[str, Any]:
    return {n: a.astype("float64") for n, a in values.items()}


def slopes(outputs: Outputs, loss: str, weights: dict[str, Any], inputs: Sequence[Any], target: Any) -> dict[str, Any]:
    """The gradients by central differences, in float64."""
    gradients = {}
    for name, array in weights.items():
        slope = np.zeros(array.shape)
        for n in range(array.size):
            sides = []
            for change in (1e-5, -1e-5):
                moved = array.copy()
                moved.flat[n] += change
                sides.append(LOSSES[loss](outputs({**weights, name: moved}, inputs), target))
            slope.flat[n] = (sides[0] - sides[1]) / 2e-5
        gradients[name] = slope
    return gradients


def bound(step: TrainStep) -> Module:
    return bind_params(step.module, step.params)


def result_of(step: TrainStep, values: Sequence[Any]) -> list[Any]:
    """The loss and the next values of states, of the first step."""
    typed = irtool.infer_types(step.module)
    params = typed["main"].params
    inputs = [*values]
    for p in params[len(values) :]:
        shape = p.checked_type.static_shape  # type: ignore[union-attr]  # all are tensors
        inputs.append(step.params.get(p.name, np.zeros(shape, p.checked_type.dtype)))  # type: ignore[union-attr]  # likewise
    return list(irtool.evaluate(typed, inputs))


def next_values(step: TrainStep, values: Sequence[Any]) -> tuple[float, dict[str, Any]]:
    loss, *others = result_of(step, values)
    names = [p.name for p in step.module["main"].params][-len(others) :]
    return float(loss), dict(zip(names, others, strict=True))


@pytest.mark.parametrize("loss", ["cross_entropy", "mse"])
@pytest.mark.parametrize(
    ("text", "outputs"),
    [(PERCEPTRON, perceptron), (IMAGES, images), (PLACES, places), (WORDS, words)],
    ids=["dense", "images", "places", "words"],
)
def test_a_step_of_sgd_goes_down_the_gradient(text: str, outputs: Outputs, loss: str) -> None:
    module, weights, inputs = network(text)
    g = np.random.default_rng(1)
    if text is WORDS:
        inputs = [g.integers(0, 6, (4, 3))]
    trained = {n: a for n, a in weights.items() if n not in ("mean", "var")}
    expected = outputs(in_doubles(weights), [i.astype("float64") for i in inputs])
    target: Any = g.integers(0, expected.shape[1], expected.shape[0])
    if loss == "mse":
        target = g.standard_normal(expected.shape).astype("float32")
    step = train_step(module, weights, TrainOptions(loss=loss, learning_rate=0.5))
    value, after = next_values(step, [*inputs, target])
    assert value == pytest.approx(LOSSES[loss](expected, target), rel=1e-5)
    for name, slope in slopes(outputs, loss, in_doubles(trained), inputs, target).items():
        np.testing.assert_allclose((weights[name] - after[name]) / 0.5, slope, atol=2e-4 * max(1, np.abs(slope).max()))


def test_running_statistics_follow_with_unbiased_variances() -> None:
    module, weights, (x,) = network(IMAGES)
    step = train_step(module, weights, TrainOptions(statistics_momentum=0.3))
    assert step.report.statistics == ("mean", "var")
    _, after = next_values(step, [x, np.zeros(4, "int64")])
    w = {**in_doubles(weights), "gamma": np.ones(5), "beta": np.zeros(5)}
    padded = np.pad(x.astype("float64"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    parts = np.stack([padded[:, :, i : i + 8, j : j + 8] for i in range(3) for j in range(3)], -1)
    y = np.einsum("nchwk,ock->nohw", parts, w["w"].reshape(5, 3, 9))
    np.testing.assert_allclose(after["mean"], 0.7 * weights["mean"] + 0.3 * y.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(after["var"], 0.7 * weights["var"] + 0.3 * y.var((0, 2, 3), ddof=1), rtol=1e-4)


def test_running_statistics_without_values_stay_inputs() -> None:
    module, weights, (x,) = network(IMAGES)
    step = train_step(module, {"v": weights["v"]}, TrainOptions())
    names = [p.name for p in step.module["main"].params]
    assert not step.report.statistics and names[-1] == "v" and {"mean", "var"} <= set(names[: names.index("target")])
    others = [weights[n] for n in ("w", "gamma", "beta", "mean", "var")]
    loss, _ = next_values(step, [x, *others, np.zeros(4, "int64")])
    scores = images(in_doubles(weights), [x.astype("float64")])
    assert loss == pytest.approx(cross_entropy(scores, np.zeros(4, "int64")), rel=1e-5)


class Adam:
    """Adam and AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019), in float64."""

    def __init__(self, options: TrainOptions) -> None:
        self.options, self.mean, self.square, self.count = options, 0.0, 0.0, 0

    def update(self, w: Any, gradient: Any) -> Any:
        o, (first, second) = self.options, self.options.betas
        rate = o.rate
        assert isinstance(rate, float)
        if o.optimizer == "adamw":
            w = w - rate * o.decay * w
        else:
            gradient = gradient + o.decay * w
        self.count += 1
        self.mean = first * self.mean + (1 - first) * gradient
        self.square = second * self.square + (1 - second) * gradient**2
        mean, square = self.mean / (1 - first**self.count), self.square / (1 - second**self.count)
        return w - rate * mean / (np.sqrt(square) + o.epsilon)


class Momentum:
    """Descent with momentum (Polyak 1964), and without."""

    def __init__(self, options: TrainOptions) -> None:
        self.options, self.velocity = options, 0.0

    def update(self, w: Any, gradient: Any) -> Any:
        share = self.options.momentum if self.options.optimizer == "momentum" else 0.0
        self.velocity = share * self.velocity + gradient + self.options.decay * w
        return w - self.options.rate * self.velocity  # type: ignore[operator]  # the rate is a number


LINE = """#[version = "0.0.5"]
def @main(%x: Tensor[(6, 5), float32], %w: Tensor[(2, 5), float32]) { nn.dense(%x, %w, units=2) }
"""


@pytest.mark.parametrize("decay", [None, 0.05])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adamw"])
def test_optimizers_follow_their_formulas_in_the_interpreter_and_in_c(optimizer: str, decay: float | None) -> None:
    module, weights, (x,) = network(LINE)
    target = np.random.default_rng(2).standard_normal((6, 2)).astype("float32")
    options = TrainOptions(loss="mse", optimizer=optimizer, learning_rate=0.1, weight_decay=decay)
    step = bound(train_step(module, weights, options))
    w = weights["w"].astype("float64")
    reference = (Adam if optimizer.startswith("adam") else Momentum)(options)
    interpreted, compiled = Steps(step), irtool.build(step, name="step").instance()
    for _ in range(5):
        difference = x @ w.T - target
        expected = np.mean(difference**2)
        w = reference.update(w, difference.T @ x * 2 / difference.size)
        for loss in (interpreted.step([x, target]), compiled.step([x, target])):
            assert float(np.asarray(loss)) == pytest.approx(expected, rel=1e-5)


def test_a_learning_rate_may_be_an_input_of_each_step() -> None:
    module, weights, (x,) = network(LINE)
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate="input"))
    assert [p.name for p in step.module["main"].params][:3] == ["x", "target", "learning_rate"]
    target, before = np.zeros((6, 2), "float32"), weights["w"]
    changes = [before - next_values(step, [x, target, np.float32(r)])[1]["w"] for r in (0.0, 0.1, 0.2)]
    assert not changes[0].any()
    np.testing.assert_allclose(2 * changes[1], changes[2], rtol=1e-4, atol=1e-6)


def test_dropouts_leave_out_other_elements_in_each_step() -> None:
    module, weights, (x,) = network(DROPPING)
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate=0.0, seed=7))
    again = train_step(module, weights, TrainOptions(loss="mse", learning_rate=0.0, seed=8))
    target = np.zeros((8, 3), "float32")
    losses = []
    for one in (step, again):
        interpreted, compiled = Steps(bound(one)), irtool.build(bound(one), name="step").instance()
        rows = [(interpreted.step([x, target]), compiled.step([x, target])) for _ in range(3)]
        for interpreted_loss, compiled_loss in rows:
            np.testing.assert_allclose(interpreted_loss, compiled_loss, rtol=1e-5)
        losses += [float(np.asarray(loss)) for loss, _ in rows]
    assert len(set(losses)) == 6


def test_the_gradient_of_a_dropout_has_its_factors() -> None:
    module, weights, (x,) = network(DROPPING)
    x = np.ones_like(x)
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate=1.0))
    target = np.full((8, 3), 100.0, "float32")
    _, after = next_values(step, [x, target])
    change = (weights["w"] - after["w"]) / (weights["w"] - after["w"]).min()  # columns without an element stay
    assert change.shape == (3, 50) and np.isfinite(change).all()
    np.testing.assert_allclose(change[0], change[1], rtol=0.2)


def test_nothing_passes_at_the_bounds_of_a_clip() -> None:
    module, weights, _ = network(BOUNDED)
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate=1.0))
    x, w = np.array([[0, 1, 2, 3], [0, 6, 6, 1]], "float32"), np.ones(4, "float32")
    _, after = next_values(TrainStep(step.module, {"w": w}, step.report), [x, np.zeros((2, 4), "float32")])
    np.testing.assert_allclose(w - after["w"], [0, 0.25, 1, 2.5])


def test_labels_that_are_no_classes_have_no_part_in_the_loss() -> None:
    module, weights, (x,) = network(PERCEPTRON)
    step = train_step(module, weights, TrainOptions())
    target = np.array([0, -100, 3, 4, 1, -1])
    loss, _ = next_values(step, [x, target])
    rows = [0, 2, 4]
    scores = perceptron(in_doubles(weights), [x.astype("float64")])
    assert loss == pytest.approx(cross_entropy(scores[rows], target[rows]), rel=1e-5)


@pytest.mark.parametrize("axis", [1, -1, 2])
def test_classes_may_lie_along_any_axis(axis: int) -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3, 4), float32], %w: Tensor[(4), float32]) { multiply(%x, %w) }
"""
    module, weights, (x,) = network(text)
    step = train_step(module, weights, TrainOptions(class_axis=axis))
    scores = np.moveaxis((x * weights["w"]).astype("float64"), axis, 1)
    target = np.random.default_rng(0).integers(0, scores.shape[1], (2, *scores.shape[2:]))
    loss, _ = next_values(step, [x, target])
    assert loss == pytest.approx(cross_entropy(scores, target), rel=1e-5)


def test_weights_of_equal_elements_are_trained_apart() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %ones: Tensor[(3), float32], %w: Tensor[(3), float32]) {
  multiply(multiply(tanh(multiply(%x, %ones)), %ones), multiply(%w, %w))
}
"""
    module, weights, (x,) = network(text)
    weights["ones"] = np.ones(3, "float32")
    step = train_step(module, weights, TrainOptions(loss="mse", learning_rate=1.0))
    assert step.report.separated == {"ones_1": "ones"} and set(step.report.trained) == {"ones", "ones_1", "w"}
    _, after = next_values(step, [x, np.zeros((2, 3), "float32")])
    assert np.abs(after["ones"] - after["ones_1"]).max() > 1e-3


def test_weights_that_the_expression_does_not_name_stay() -> None:
    module, weights, _ = network(PERCEPTRON)
    step = train_step(module, weights, TrainOptions(train_only="v|b"))
    assert set(step.report.trained) == {"v", "b"} and set(step.report.unchanged) == {"w"}
    names = [p.name for p in step.module["main"].params]
    assert names == ["x", "target", "w", "b", "v"]
    np.testing.assert_array_equal(step.params["w"], weights["w"])


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"loss": "hinge"}, "loss"),
        ({"optimizer": "rmsprop"}, "optimizer"),
        ({"learning_rate": -1.0}, "learning rate"),
        ({"learning_rate": float("nan")}, "learning rate"),
        ({"momentum": 1.0}, "momentum"),
        ({"betas": (0.9, 1.0)}, "second beta"),
        ({"train_only": "("}, "regular expression"),
        ({"weight_decay": -0.1}, "weight decay"),
    ],
)
def test_wrong_options_are_refused(changes: dict[str, Any], part: str) -> None:
    module, weights, _ = network(LINE)
    with pytest.raises(UsageError, match=part):
        train_step(module, weights, TrainOptions(**changes))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }", "no weight to train"),
        ("def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(3), float32]) { argmax(%x + %w, axis=[1]) }", "the loss"),
        ("def @main(%x: Tensor[(3), float32], %w: Tensor[(3), float32]) { %x + %w }", "classes along axis 1"),
        ("def @main(%x: Tensor[(?, 3), float32], %w: Tensor[(3), float32]) { %x + %w }", "static shape"),
    ],
)
def test_networks_without_a_step_are_refused(text: str, part: str) -> None:
    module = irtool.parse(f'#[version = "0.0.5"]\n{text}')
    weights = {"w": np.ones(3, "float32")} if "%w" in text else {}
    with pytest.raises(irtool.IrError, match=part):
        train_step(module, weights)


def test_an_instance_gives_its_trained_weights() -> None:
    module, weights, (x,) = network(PERCEPTRON)
    step = train_step(module, weights, TrainOptions(optimizer="adam"))
    instance = irtool.build(step.module, step.params, name="step").instance()
    before = instance.values()
    for name, array in weights.items():
        np.testing.assert_array_equal(before[name], array)
    target = np.zeros(6, "int64")
    instance.step([x, target])
    after = instance.values()
    _, expected = next_values(step, [x, target])
    assert after.keys() == expected.keys() and after["steps"] == 1
    for name, array in after.items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-5, atol=1e-7)
        assert name == "steps" or np.abs(array - before[name]).max() > 0
