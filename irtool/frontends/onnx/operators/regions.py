"""Pools over regions of images that are inputs."""

from __future__ import annotations

from ....diagnostics import IrError
from ..arithmetic import cast, subtract
from ..counts import require_count, require_counts
from ..mistakes import DamagedModel, UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tuples import concatenate
from ..value import Value
from .region_samples import align


@onnx_operator("MaxRoiPool")
class MaxRoiPool(OnnxOperator):
    """The maximum of each part of each region `(image, x1, y1, x2, y2)`."""

    @since(1, 22)
    def pool(self, x: Value, rois: Value, *, pooled_shape: tuple[int, ...], spatial_scale: float = 1.0) -> Result:
        require_counts(pooled_shape, 2, "pooled_shape", 1)
        return x.call("vision.roi_pool", rois, pooled_size=pooled_shape, spatial_scale=spatial_scale, layout="NCHW")


@onnx_operator("RoiAlign")
class RoiAlign(OnnxOperator):
    """The mean or maximum of samples in each part of each region `(x1, y1, x2, y2)`.

    A maximum is that of all neighbours of the samples with their weights, as in ONNX. Where the number of samples follows
    from the regions, vision.roi_align takes them.
    """

    @since(10)
    def from_edges(
        self,
        x: Value,
        rois: Value,
        batch_indices: Value,
        *,
        mode: str = "avg",
        output_height: int = 1,
        output_width: int = 1,
        sampling_ratio: int = 0,
        spatial_scale: float = 1.0,
    ) -> Result:
        shape = (output_height, output_width)
        return self._align(x, rois, batch_indices, mode, shape, sampling_ratio, spatial_scale, 0.0)

    @since(16, 22)
    def from_centres(
        self,
        x: Value,
        rois: Value,
        batch_indices: Value,
        *,
        coordinate_transformation_mode: str = "half_pixel",
        mode: str = "avg",
        output_height: int = 1,
        output_width: int = 1,
        sampling_ratio: int = 0,
        spatial_scale: float = 1.0,
    ) -> Result:
        offsets = {"half_pixel": 0.5, "output_half_pixel": 0.0}
        if coordinate_transformation_mode not in offsets:
            raise IrError(f"ONNX has no coordinates {coordinate_transformation_mode}", code=DamagedModel)
        shape = (output_height, output_width)
        offset = offsets[coordinate_transformation_mode]
        return self._align(x, rois, batch_indices, mode, shape, sampling_ratio, spatial_scale, offset)

    def _align(
        self,
        x: Value,
        rois: Value,
        images: Value,
        mode: str,
        shape: tuple[int, int],
        samples: int,
        scale: float,
        offset: float,
    ) -> Value:
        if mode not in ("avg", "max"):
            raise IrError(f"mode is {mode}, which ONNX does not have", code=DamagedModel)
        for number, name in zip(shape, ("output_height", "output_width"), strict=True):
            require_count(number, name)
        rois.require_rank(2, "the regions")
        images.require_rank(1, "the images of the regions")
        if not scale:
            raise IrError("spatial_scale is 0", code=DamagedModel)
        if samples > 0:
            return align(x, rois, images, mode, shape, samples, scale, offset)
        if mode == "max":
            raise IrError(
                "a maximum of as many samples as regions have pixels has no form in Relay", code=UnsupportedNode
            )
        moved = subtract(rois, offset / scale) if offset else rois
        numbers = cast(images, rois.dtype).call("reshape", newshape=[-1, 1])
        return x.call(
            "vision.roi_align",
            cast(concatenate([numbers, moved], 1), x.dtype),
            pooled_size=shape,
            spatial_scale=scale,
            sample_ratio=-1,
            layout="NCHW",
            mode="avg",
            **({"exact": True} if offset else {}),
        )
