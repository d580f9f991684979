"""Windows that reach far beyond the data: what they hold beside padding is all that is summed."""

import numpy as np

import irtool


def test_an_average_over_far_more_than_there_is_takes_no_room_for_it() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 64, 7, 7), float32]) {
  nn.avg_pool2d(%x, pool_size=[100000, 100000], strides=[100000, 100000], padding=[0, 0, 99993, 99993])
}
"""
    x = np.random.default_rng(0).normal(size=(1, 64, 7, 7)).astype("float32")
    actual = irtool.evaluate(irtool.parse(text), [x])
    np.testing.assert_allclose(actual, x.mean(axis=(2, 3), keepdims=True), rtol=1e-5, atol=1e-6)
