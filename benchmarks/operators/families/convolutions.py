"""Convolutions in one to three dimensions: strided, dilated, in groups, for each channel, transposed, and their gradients by weights."""

from __future__ import annotations

from ..single import Single

IMAGE, WINDOW = (8, 32, 32, 32), (64, 32, 3, 3)
FRAME = (1, 64, 56, 56)
_BACKWARD = 'nn.conv2d_backward_weight(%a, %b, kernel_size=[{0}, {0}], padding=[{1}, {1}], kernel_layout="NCHW", out_layout="OIHW")'
_TRANSPOSED = "channels={}, kernel_size={}, strides={}, padding={}"

CONVOLUTIONS = (
    Single("conv2d", (IMAGE, WINDOW), "nn.conv2d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv2d(a, b, padding=1)),
    Single("conv2d 3x3 64 56", (FRAME, (64, 64, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv2d(a, b, padding=1)),
    Single("conv2d 3x3 256 14", ((1, 256, 14, 14), (256, 256, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv2d(a, b, padding=1)),
    Single("conv2d 5x5", ((1, 32, 28, 28), (48, 32, 5, 5)), "nn.conv2d(%a, %b, padding=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, padding=2)),
    Single("conv2d 7x7 strided", ((1, 3, 224, 224), (64, 3, 7, 7)), "nn.conv2d(%a, %b, padding=[3, 3], strides=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, padding=3, stride=2)),
    Single("conv2d 16x16 of patches", ((1, 3, 224, 224), (384, 3, 16, 16)), "nn.conv2d(%a, %b, strides=[16, 16])", lambda t, f, a, b: f.conv2d(a, b, stride=16)),
    Single("conv2d 1x1", ((8, 64, 28, 28), (64, 64, 1, 1)), "nn.conv2d(%a, %b)", lambda t, f, a, b: f.conv2d(a, b)),
    Single("conv2d 1x1 256 28", ((1, 256, 28, 28), (64, 256, 1, 1)), "nn.conv2d(%a, %b)", lambda t, f, a, b: f.conv2d(a, b)),
    Single("conv2d 1x1 512 7", ((1, 512, 7, 7), (512, 512, 1, 1)), "nn.conv2d(%a, %b)", lambda t, f, a, b: f.conv2d(a, b)),
    Single("conv2d 1x1 strided", ((1, 128, 56, 56), (128, 128, 1, 1)), "nn.conv2d(%a, %b, strides=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, stride=2)),
    Single("conv2d strided", (IMAGE, WINDOW), "nn.conv2d(%a, %b, padding=[1, 1], strides=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, padding=1, stride=2)),
    Single("conv2d dilated", ((1, 32, 56, 56), (32, 32, 3, 3)), "nn.conv2d(%a, %b, padding=[2, 2], dilation=[2, 2])", lambda t, f, a, b: f.conv2d(a, b, padding=2, dilation=2)),
    Single("conv2d groups", (IMAGE, (32, 8, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=4)", lambda t, f, a, b: f.conv2d(a, b, padding=1, groups=4)),
    Single("conv2d depthwise", ((1, 128, 56, 56), (128, 1, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], groups=128)", lambda t, f, a, b: f.conv2d(a, b, padding=1, groups=128)),
    Single("conv2d depthwise strided", ((1, 96, 56, 56), (96, 1, 3, 3)), "nn.conv2d(%a, %b, padding=[1, 1], strides=[2, 2], groups=96)", lambda t, f, a, b: f.conv2d(a, b, padding=1, stride=2, groups=96)),
    Single("conv2d depthwise 7x7", ((1, 96, 28, 28), (96, 1, 7, 7)), "nn.conv2d(%a, %b, padding=[3, 3], groups=96)", lambda t, f, a, b: f.conv2d(a, b, padding=3, groups=96)),
    Single("conv2d NHWC", ((1, 56, 56, 32), (3, 3, 32, 32)), 'nn.conv2d(%a, %b, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO")', lambda t, f, a, b: f.conv2d(a.permute(0, 3, 1, 2), b.permute(3, 2, 0, 1), padding=1).permute(0, 2, 3, 1)),
    Single("conv1d", ((1, 64, 1000), (64, 64, 3)), "nn.conv1d(%a, %b, padding=[1, 1])", lambda t, f, a, b: f.conv1d(a, b, padding=1)),
    Single("conv1d dilated", ((1, 64, 1000), (64, 64, 3)), "nn.conv1d(%a, %b, padding=[4, 4], dilation=[4])", lambda t, f, a, b: f.conv1d(a, b, padding=4, dilation=4)),
    Single("conv1d strided", ((1, 80, 1000), (128, 80, 3)), "nn.conv1d(%a, %b, padding=[1, 1], strides=[2])", lambda t, f, a, b: f.conv1d(a, b, padding=1, stride=2)),
    Single("conv1d depthwise", ((1, 256, 500), (256, 1, 15)), "nn.conv1d(%a, %b, padding=[7, 7], groups=256)", lambda t, f, a, b: f.conv1d(a, b, padding=7, groups=256)),
    Single("conv3d", ((1, 16, 16, 32, 32), (16, 16, 3, 3, 3)), "nn.conv3d(%a, %b, padding=[1, 1, 1])", lambda t, f, a, b: f.conv3d(a, b, padding=1)),
    Single("conv3d strided", ((1, 16, 16, 32, 32), (32, 16, 3, 3, 3)), "nn.conv3d(%a, %b, padding=[1, 1, 1], strides=[2, 2, 2])", lambda t, f, a, b: f.conv3d(a, b, padding=1, stride=2)),
    Single("conv3d depthwise", ((1, 32, 8, 28, 28), (32, 1, 3, 3, 3)), "nn.conv3d(%a, %b, padding=[1, 1, 1], groups=32)", lambda t, f, a, b: f.conv3d(a, b, padding=1, groups=32)),
    Single("conv1d_transpose", ((1, 32, 128), (32, 16, 4)), f"nn.conv1d_transpose(%a, %b, {_TRANSPOSED.format(16, [4], [2], [1, 1])})", lambda t, f, a, b: f.conv_transpose1d(a, b, padding=1, stride=2)),
    Single("conv2d_transpose", (IMAGE, (32, 64, 3, 3)), f'nn.conv2d_transpose(%a, %b, {_TRANSPOSED.format(64, [3, 3], [2, 2], [1, 1])}, output_padding=[1, 1], kernel_layout="IOHW")', lambda t, f, a, b: f.conv_transpose2d(a, b, padding=1, stride=2, output_padding=1)),
    Single("conv2d_transpose dense", ((1, 32, 56, 56), (32, 32, 3, 3)), f'nn.conv2d_transpose(%a, %b, {_TRANSPOSED.format(32, [3, 3], [1, 1], [1, 1])}, kernel_layout="IOHW")', lambda t, f, a, b: f.conv_transpose2d(a, b, padding=1)),
    Single("conv2d_transpose groups", ((1, 64, 28, 28), (64, 16, 4, 4)), f'nn.conv2d_transpose(%a, %b, {_TRANSPOSED.format(64, [4, 4], [2, 2], [1, 1])}, groups=4, kernel_layout="IOHW")', lambda t, f, a, b: f.conv_transpose2d(a, b, padding=1, stride=2, groups=4)),
    Single("conv3d_transpose", ((1, 8, 8, 8, 8), (8, 8, 2, 2, 2)), f"nn.conv3d_transpose(%a, %b, {_TRANSPOSED.format(8, [2, 2, 2], [2, 2, 2], [0, 0, 0])})", lambda t, f, a, b: f.conv_transpose3d(a, b, stride=2)),
    Single("conv2d_backward_weight", ((8, 64, 32, 32), IMAGE), _BACKWARD.format(3, 1), lambda t, f, a, b: t.nn.grad.conv2d_weight(b, WINDOW, a, padding=1)),
    Single("conv2d_backward_weight 1x1", ((8, 64, 28, 28), (8, 64, 28, 28)), _BACKWARD.format(1, 0), lambda t, f, a, b: t.nn.grad.conv2d_weight(b, (64, 64, 1, 1), a)),
)  # fmt: skip
