"""Stages that only write what nobody reads are left out, with their memory."""

import numpy as np

import irtool

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 1, 1, 1), float32], %w: Tensor[(3, 3, 3, 1, 3), float32]) {
  %0 = nn.conv3d_transpose(%x, %w, channels=3, kernel_size=[3, 1, 3], strides=[1, 2, 2], padding=[1, 0, 1, 1, 0, 1]);
  clip(%0, a_min=-1f, a_max=6f) }"""


def test_phases_of_a_result_of_one_column() -> None:
    # Two phases of columns, of which the result has the first one only: the other's stage wrote to a buffer without memory.
    random = np.random.default_rng(1)
    x = random.standard_normal((1, 3, 1, 1, 1)).astype("float32")
    w = random.standard_normal((3, 3, 3, 1, 3)).astype("float32")
    module = irtool.parse(TEXT)
    expected = np.asarray(irtool.evaluate(module, {"x": x, "w": w}))
    artifact = irtool.build(module, {"w": w})
    np.testing.assert_allclose(np.asarray(artifact.run([x])), expected, rtol=1e-5, atol=1e-6)
    assert artifact.arena_bytes == 0
