"""Pooling, and images and volumes that are resized or sampled."""

from __future__ import annotations

from typing import Any

from ..single import Single
from .convolutions import FRAME, IMAGE

POOL = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]"
POOL3D = "pool_size=[3, 3, 3], strides=[2, 2, 2], padding=[1, 1, 1]"
VOLUME = (1, 16, 16, 28, 28)

POOLING = (
    Single("max_pool2d", (IMAGE,), f"nn.max_pool2d(%a, {POOL})", lambda t, f, a: f.max_pool2d(a, 3, 2, 1)),
    Single("max_pool2d dense", (FRAME,), "nn.max_pool2d(%a, pool_size=[5, 5], padding=[2, 2])", lambda t, f, a: f.max_pool2d(a, 5, 1, 2)),
    Single("max_pool2d NHWC", ((1, 56, 56, 64),), 'nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2], layout="NHWC")', lambda t, f, a: f.max_pool2d(a.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)),
    Single("max_pool1d", ((8, 64, 1000),), "nn.max_pool1d(%a, pool_size=[3], strides=[2], padding=[1, 1])", lambda t, f, a: f.max_pool1d(a, 3, 2, 1)),
    Single("max_pool3d", (VOLUME,), f"nn.max_pool3d(%a, {POOL3D})", lambda t, f, a: f.max_pool3d(a, 3, 2, 1)),
    Single("avg_pool2d", ((1, 64, 112, 112),), "nn.avg_pool2d(%a, pool_size=[2, 2], strides=[2, 2])", lambda t, f, a: f.avg_pool2d(a, 2)),
    Single("avg_pool2d padded", (FRAME,), "nn.avg_pool2d(%a, pool_size=[3, 3], padding=[1, 1])", lambda t, f, a: f.avg_pool2d(a, 3, 1, 1, count_include_pad=False)),
    Single("avg_pool1d", ((8, 64, 1000),), "nn.avg_pool1d(%a, pool_size=[4], strides=[4])", lambda t, f, a: f.avg_pool1d(a, 4)),
    Single("avg_pool3d", (VOLUME,), "nn.avg_pool3d(%a, pool_size=[2, 2, 2], strides=[2, 2, 2])", lambda t, f, a: f.avg_pool3d(a, 2)),
    Single("global_avg_pool2d", ((8, 256, 14, 14),), "nn.global_avg_pool2d(%a)", lambda t, f, a: f.adaptive_avg_pool2d(a, 1)),
    Single("adaptive_avg_pool2d", (FRAME,), "nn.adaptive_avg_pool2d(%a, output_size=[7, 7])", lambda t, f, a: f.adaptive_avg_pool2d(a, 7)),
    Single("adaptive_avg_pool2d uneven", (FRAME,), "nn.adaptive_avg_pool2d(%a, output_size=[6, 6])", lambda t, f, a: f.adaptive_avg_pool2d(a, 6)),
    Single("adaptive_max_pool2d", (FRAME,), "nn.adaptive_max_pool2d(%a, output_size=[7, 7])", lambda t, f, a: f.adaptive_max_pool2d(a, 7)),
)  # fmt: skip


def _resize(a: Any, f: Any, mode: str, *size: int) -> Any:
    return f.interpolate(a, size, mode=mode)


_ROI = "roi=[0f, 0f, 0f, 0f]"
_NEAREST = 'method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"'

SAMPLING = (
    Single("resize linear", ((4, 16, 32, 32),), f"image.resize2d(%a, size=[64, 64], {_ROI})", lambda t, f, a: _resize(a, f, "bilinear", 64, 64)),
    Single("resize linear uneven", ((1, 16, 50, 50),), f"image.resize2d(%a, size=[77, 77], {_ROI})", lambda t, f, a: _resize(a, f, "bilinear", 77, 77)),
    Single("resize linear smaller", ((1, 16, 128, 128),), f"image.resize2d(%a, size=[64, 64], {_ROI})", lambda t, f, a: _resize(a, f, "bilinear", 64, 64)),
    Single("resize cubic", ((1, 16, 32, 32),), f'image.resize2d(%a, size=[64, 64], {_ROI}, method="cubic", cubic_alpha=-0.75f)', lambda t, f, a: _resize(a, f, "bicubic", 64, 64)),
    Single("resize nearest", ((1, 64, 32, 32),), f"image.resize2d(%a, size=[64, 64], {_ROI}, {_NEAREST})", lambda t, f, a: _resize(a, f, "nearest", 64, 64)),
    Single("resize1d linear", ((1, 64, 500),), "image.resize1d(%a, size=[1000], roi=[0f, 0f])", lambda t, f, a: _resize(a, f, "linear", 1000)),
    Single("resize3d linear", ((1, 8, 8, 16, 16),), "image.resize3d(%a, size=[16, 32, 32], roi=[0f, 0f, 0f, 0f, 0f, 0f])", lambda t, f, a: _resize(a, f, "trilinear", 16, 32, 32)),
    Single("upsampling aligned", ((1, 16, 32, 32),), 'nn.upsampling(%a, scale_h=2f, scale_w=2f, method="bilinear", align_corners=True)', lambda t, f, a: f.interpolate(a, (64, 64), mode="bilinear", align_corners=True)),
    Single("grid_sample", ((4, 16, 32, 32), (4, 2, 32, 32)), "image.grid_sample(%a, %b)", lambda t, f, a, b: f.grid_sample(a, b.permute(0, 2, 3, 1), align_corners=True)),
    Single("grid_sample nearest", ((4, 16, 32, 32), (4, 2, 32, 32)), 'image.grid_sample(%a, %b, method="nearest", padding_mode="border")', lambda t, f, a, b: f.grid_sample(a, b.permute(0, 2, 3, 1), "nearest", "border", align_corners=True)),
    Single("affine_grid", ((4, 2, 3),), "image.affine_grid(%a, target_shape=[64, 64])", lambda t, f, a: f.affine_grid(a, (4, 1, 64, 64), align_corners=True).permute(0, 3, 1, 2)),
)  # fmt: skip
