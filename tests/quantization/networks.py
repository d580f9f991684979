"""Small networks for quantization, with their weights."""

import numpy as np

import irtool

RESIDUAL = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 12, 12), float32], %w: Tensor[(16, 3, 3, 3), float32], %g: Tensor[(16), float32], %h: Tensor[(16), float32],
          %m: Tensor[(16), float32], %v: Tensor[(16), float32], %d: Tensor[(16, 1, 3, 3), float32], %p: Tensor[(16, 16, 1, 1), float32],
          %b: Tensor[(16), float32], %f: Tensor[(10, 16), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %g, %h, %m, %v);
  %2 = nn.relu(%1.0);
  %3 = clip(nn.conv2d(%2, %d, padding=[1, 1, 1, 1], groups=16, channels=16, kernel_size=[3, 3]), a_min=0f, a_max=6f);
  %4 = nn.bias_add(nn.conv2d(%3, %p, padding=[0, 0, 0, 0], channels=16, kernel_size=[1, 1]), %b);
  %5 = nn.max_pool2d(add(%4, %2), pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %6 = concatenate((%5, multiply(%5, sigmoid(%5))), axis=2);
  %7 = nn.global_avg_pool2d(%6);
  nn.softmax(nn.dense(nn.batch_flatten(%7), %f, units=10))
}
"""

ATTENTION = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 16), float32], %q: Tensor[(16, 16), float32], %k: Tensor[(16, 16), float32], %v: Tensor[(16, 16), float32],
          %b: Tensor[(16), float32], %o: Tensor[(16, 16), float32]) {
  %0 = reshape(add(nn.dense(%x, %q, units=16), %b), newshape=[8, 2, 8]);
  %1 = transpose(%0, axes=[1, 0, 2]);
  %2 = transpose(reshape(nn.dense(%x, %k, units=16), newshape=[8, 2, 8]), axes=[1, 0, 2]);
  %3 = transpose(reshape(nn.dense(%x, %v, units=16), newshape=[8, 2, 8]), axes=[1, 2, 0]);
  %4 = nn.softmax(multiply(nn.batch_matmul(%1, %2, transpose_b=True), 0.35f));
  %5 = nn.batch_matmul(%4, %3, transpose_b=True);
  %6 = reshape(transpose(%5, axes=[1, 0, 2]), newshape=[1, 8, 16]);
  add(nn.dense(%6, %o, units=16), %x)
}
"""

UPWARDS = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32], %u: Tensor[(4, 8, 2, 2), float32], %b: Tensor[(4), float32],
          %y: Tensor[(4, 8, 1, 1), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]));
  %1 = nn.avg_pool2d(%0, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %2 = nn.conv2d_transpose(%1, %u, strides=[2, 2], padding=[0, 0, 0, 0], channels=4, kernel_size=[2, 2]);
  %3 = nn.leaky_relu(nn.bias_add(%2, %b), alpha=0.1f);
  %4 = split(concatenate((%3, nn.conv2d(%0, %y, padding=[0, 0, 0, 0], channels=4, kernel_size=[1, 1])), axis=1), indices_or_sections=2, axis=1);
  nn.conv2d(concatenate((%4.1, %4.0), axis=1), %y, padding=[0, 0, 0, 0], channels=4, kernel_size=[1, 1])
}
"""

NETWORKS = {"residual": RESIDUAL, "attention": ATTENTION, "upwards": UPWARDS}


def network(name: str) -> tuple[irtool.IRModule, dict[str, np.ndarray], np.ndarray]:
    """A module, its weights, and six inputs."""
    module = irtool.infer_types(irtool.parse(NETWORKS[name]))
    rng = np.random.default_rng(3)
    x, *rest = module["main"].params
    weights = {}
    for p in rest:
        shape = p.checked_type.static_shape
        values = rng.normal(size=shape) / max(np.sqrt(np.prod(shape[1:])), 1)
        weights[p.name] = (np.abs(values) + 0.5 if p.name in "gv" else values).astype("float32")
    return module, weights, rng.normal(size=(6, *x.checked_type.static_shape)).astype("float32")
