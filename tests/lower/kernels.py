"""Functions that become one loop nest each."""

from __future__ import annotations

KERNELS = {
    "elementwise": "def @main(%x: Tensor[(3, 4), float32]) { exp(add(%x, 1f)) }",
    "scalar": "def @main(%x: float32) { multiply(%x, 2f) }",
    "dense": """def @main(%x: Tensor[(2, 5), float32], %w: Tensor[(3, 5), float32]) {
        nn.relu(add(nn.dense(%x, %w, units=3), 0.5f)) }""",
    "softmax": "def @main(%x: Tensor[(2, 7), float32]) { nn.softmax(%x) }",
    "argmax": "def @main(%x: Tensor[(3, 5), float32]) { argmax(%x, axis=[1]) }",
    "sum of integers": 'def @main(%x: Tensor[(3, 5), int8]) { sum(cast(%x, dtype="int32"), axis=[0]) }',
    "split": "def @main(%x: Tensor[(4, 6), float32]) { split(%x, indices_or_sections=3, axis=1).0 }",
    "concatenate": """def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 2), float32]) {
        concatenate((%x, %y), axis=1) }""",
    "convolution": """def @main(%x: Tensor[(1, 2, 5, 5), float32], %w: Tensor[(3, 2, 3, 3), float32]) {
        nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 1, 1, 1], channels=3, kernel_size=[3, 3]) }""",
    "pooling": "def @main(%x: Tensor[(1, 2, 6, 6), float32]) { nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2]) }",
    "sort": "def @main(%x: Tensor[(3, 8), float32]) { sort(%x, axis=1) }",
    "cumsum": "def @main(%x: Tensor[(3, 8), float32]) { cumsum(%x, axis=1) }",
    "half precision": "def @main(%x: Tensor[(2, 9), float16]) { sum(%x, axis=[1]) }",
    "handed through": "def @main(%x: Tensor[(4), float32]) { (annotation.stop_fusion(%x), exp(%x)) }",
}
