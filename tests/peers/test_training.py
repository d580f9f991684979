"""Steps of training follow torch's: losses of many steps, and each gradient, from the same weights and batch.

Rounding errors grow from step to step where a network amplifies them, in torch as here. So both are compared with torch in float64, too: where torch in
float32 itself is further than the bound from that, irtool may be a few times as far.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irtool
from benchmarks.training.networks import NETWORKS
from irtool.training import TrainOptions, train_step

torch = pytest.importorskip("torch")

STEPS = 100
RATE = 0.01
LOSS, GRADIENT = 1e-4, 1e-3
"""Bounds of differences: of a loss, relative to the loss; of a gradient, relative to its largest element."""
FACTOR = 4
"""The bound as a multiple of torch's own error, where that is larger."""


def exported(network: Any, x: Any) -> bytes:
    buffer = io.BytesIO()
    torch.onnx.export(
        network,
        (x,),
        buffer,
        dynamo=False,
        training=torch.onnx.TrainingMode.TRAINING,
        do_constant_folding=False,
        input_names=["x"],
        output_names=["scores"],
    )
    return buffer.getvalue()


def built(model: bytes, rate: float) -> Any:
    module, weights = irtool.from_onnx(model, training=True)
    step = train_step(module, weights, TrainOptions(learning_rate=rate))
    return irtool.build(step.module, step.params, name="net").instance()


def descent(network: Any, x: Any, y: Any) -> Callable[[], float]:
    """A step of torch."""
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)

    def step() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def in_doubles(network: Any, x: Any) -> tuple[Any, Any]:
    return copy.deepcopy(network).double(), x.double() if x.dtype == torch.float32 else x


def gradients(network: Any, x: Any, y: Any) -> dict[str, Any]:
    network = copy.deepcopy(network)
    torch.nn.functional.cross_entropy(network(x), y).backward()
    return {n: p.grad.numpy() for n, p in network.named_parameters()}


@pytest.fixture(scope="module", params=["resnet18", "bert", "lstm"])
def example(request: pytest.FixtureRequest) -> tuple[Any, Any, Any, bytes]:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network, x, y = NETWORKS[request.param].make()
    network.train()
    return network, x, y, exported(copy.deepcopy(network), x)


def test_losses_of_a_hundred_steps(example: tuple[Any, Any, Any, bytes]) -> None:
    network, x, y, model = example
    wide, wide_x = in_doubles(network, x)
    peer, exact, instance = descent(copy.deepcopy(network), x, y), descent(wide, wide_x, y), built(model, RATE)
    error = 0.0
    for n in range(STEPS):
        ours, other, reference = float(np.asarray(instance.step([x.numpy(), y.numpy()]))), peer(), exact()
        error = max(error, abs(other - reference) / reference)
        assert abs(ours - reference) / reference <= max(LOSS, FACTOR * error), n
        if error <= LOSS / 4:
            assert abs(ours - other) / other <= LOSS, n


def test_gradients(example: tuple[Any, Any, Any, bytes]) -> None:
    network, x, y, model = example
    wide, wide_x = in_doubles(network, x)
    peer, exact = gradients(network, x, y), gradients(wide, wide_x, y)
    instance = built(model, 1.0)
    before = instance.values()
    instance.step([x.numpy(), y.numpy()])
    after = instance.values()
    compared = 0
    for name, reference in exact.items():
        largest = np.abs(reference).max()
        own = name if name in before else f"v{name}"  # names of Relay begin with a letter
        ours = before.get(own)
        if ours is None or largest < 1e-7 or ours.shape != reference.shape:
            continue  # transposed in the model, or no gradient but for rounding errors
        gradient = ours.astype("float64") - after[own]
        # The difference of weights has the rounding errors of the weights.
        rounding = np.abs(ours).max() * 2.0**-23 / largest
        error = np.abs(peer[name] - reference).max() / largest
        assert np.abs(gradient - reference).max() / largest <= max(GRADIENT, FACTOR * error) + rounding, name
        compared += 1
    assert compared >= len(exact) // 2
