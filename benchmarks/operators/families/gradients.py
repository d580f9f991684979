"""Operators with their gradients by all arguments."""

from __future__ import annotations

from ..single import POSITIVE, Single, below
from .convolutions import FRAME, IMAGE, WINDOW
from .windows import POOL, POOL3D, VOLUME

GRADIENTS = (
    Single("gradient of conv2d", (IMAGE, WINDOW), "nn.conv2d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv2d(a, b, padding=1), gradient=True),
    Single("gradient of strided conv2d", (IMAGE, WINDOW), "nn.relu(nn.conv2d(%a, %b, padding=[1, 1], strides=[2, 2]))", lambda t, f, a, b: f.relu(f.conv2d(a, b, padding=1, stride=2)), gradient=True),
    Single("gradient of conv2d groups", (IMAGE, (32, 8, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=4)", lambda t, f, a, b: f.conv2d(a, b, padding=1, groups=4), gradient=True),
    Single("gradient of conv2d depthwise", ((4, 64, 28, 28), (64, 1, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=64)", lambda t, f, a, b: f.conv2d(a, b, padding=1, groups=64), gradient=True),
    Single("gradient of conv2d 1x1", ((8, 64, 28, 28), (64, 64, 1, 1)), "nn.conv2d(%a, %b)", lambda t, f, a, b: f.conv2d(a, b), gradient=True),
    Single("gradient of conv1d", ((4, 32, 500), (32, 32, 3)), "nn.conv1d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv1d(a, b, padding=1), gradient=True),
    Single("gradient of conv3d", ((1, 16, 8, 16, 16), (16, 16, 3, 3, 3)), "nn.conv3d(%a, %b, padding=[1, 1, 1])", lambda t, f, a, b: f.conv3d(a, b, padding=1), gradient=True),
    Single("gradient of conv2d_transpose", ((4, 32, 16, 16), (32, 32, 4, 4)), 'nn.conv2d_transpose(%a, %b, channels=32, kernel_size=[4, 4], strides=[2, 2], padding=[1, 1], kernel_layout="IOHW")', lambda t, f, a, b: f.conv_transpose2d(a, b, stride=2, padding=1), gradient=True),
    Single("gradient of max_pool2d", (IMAGE,), f"nn.max_pool2d(%a, {POOL})", lambda t, f, a: f.max_pool2d(a, 3, 2, 1), gradient=True),
    Single("gradient of max_pool2d 2x2", (IMAGE,), "nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2])", lambda t, f, a: f.max_pool2d(a, 2), gradient=True),
    Single("gradient of max_pool1d", ((8, 64, 1000),), "nn.max_pool1d(%a, pool_size=[3], strides=[2], padding=[1, 1])", lambda t, f, a: f.max_pool1d(a, 3, 2, 1), gradient=True),
    Single("gradient of max_pool3d", (VOLUME,), f"nn.max_pool3d(%a, {POOL3D})", lambda t, f, a: f.max_pool3d(a, 3, 2, 1), gradient=True),
    Single("gradient of avg_pool2d", (IMAGE,), f"nn.avg_pool2d(%a, {POOL})", lambda t, f, a: f.avg_pool2d(a, 3, 2, 1, count_include_pad=False), gradient=True),
    Single("gradient of avg_pool3d", (VOLUME,), "nn.avg_pool3d(%a, pool_size=[2, 2, 2], strides=[2, 2, 2])", lambda t, f, a: f.avg_pool3d(a, 2), gradient=True),
    Single("gradient of adaptive_avg_pool2d", (FRAME,), "nn.adaptive_avg_pool2d(%a, output_size=[7, 7])", lambda t, f, a: f.adaptive_avg_pool2d(a, 7), gradient=True),
    Single("gradient of softmax", ((512, 1000), (512, 1000)), "multiply(nn.softmax(%a), %b)", lambda t, f, a, b: f.softmax(a, -1) * b, gradient=True),
    Single("gradient of log_softmax", ((512, 1000), (512, 1000)), "multiply(nn.log_softmax(%a), %b)", lambda t, f, a, b: f.log_softmax(a, -1) * b, gradient=True),
    Single("gradient of layer_norm", ((512, 768), (768,), (768,)), "multiply(nn.layer_norm(%a, %b, %c), %a)", lambda t, f, a, b, c: f.layer_norm(a, (768,), b, c) * a, gradient=True),
    Single("gradient of group_norm", (FRAME, (64,), (64,)), "multiply(nn.group_norm(%a, %b, %c, num_groups=8), %a)", lambda t, f, a, b, c: f.group_norm(a, 8, b, c) * a, gradient=True),
    Single("gradient of dense", ((64, 768), (768, 768)), "nn.dense(%a, %b, units=768)", lambda t, f, a, b: f.linear(a, b), gradient=True),
    Single("gradient of batch_matmul", ((12, 128, 64), (12, 128, 64)), "nn.batch_matmul(%a, %b, transpose_b=True)", lambda t, f, a, b: t.bmm(a, b.transpose(1, 2)), gradient=True),
    Single("gradient of gelu", ((512, 1024),), "multiply(multiply(%a, 0.5f), add(erf(multiply(%a, 0.70710678f)), 1f))", lambda t, f, a: f.gelu(a), gradient=True),
    Single("gradient of tanh", ((512, 1024),), "tanh(%a)", lambda t, f, a: a.tanh(), gradient=True),
    Single("gradient of prelu", (FRAME, (64,)), "nn.prelu(%a, %b)", lambda t, f, a, b: f.prelu(a, b), gradient=True),
    Single("gradient of embedding", ((5000, 128), (512,)), "take(%a, %b, axis=0)", lambda t, f, a, b: f.embedding(b, a), gradient=True, values={"b": below(5000)}),
    Single("gradient of a broadcast product", ((8, 128, 28, 28), (128, 1, 1)), "multiply(%a, %b)", lambda t, f, a, b: a * b, gradient=True),
    Single("gradient of max", ((512, 1000),), "max(%a, axis=[1])", lambda t, f, a: a.amax(1), gradient=True),
    Single("gradient of prod", ((4096, 64),), "prod(%a, axis=[1])", lambda t, f, a: a.prod(1), gradient=True, values={"a": POSITIVE}),
    Single("gradient of cumsum", ((512, 512),), "cumsum(%a, axis=1)", lambda t, f, a: a.cumsum(1), gradient=True),
    Single("gradient of resize linear", ((1, 16, 32, 32),), "image.resize2d(%a, size=[64, 64], roi=[0f, 0f, 0f, 0f])", lambda t, f, a: f.interpolate(a, (64, 64), mode="bilinear"), gradient=True),
)  # fmt: skip
