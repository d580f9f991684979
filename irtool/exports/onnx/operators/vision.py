"""Regions, boxes and anchors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ....deferred import np
from ..form import Absent, Form, decomposed, form, row
from ..graph import Value
from ..site import OnnxSite


@form("vision.roi_align")
@dataclass(frozen=True)
class RoiAlign(Form):
    """`RoiAlign`, the number of the image and the corners sliced apart; NHWC: `Transpose` around it"""

    direct: ClassVar[bool] = True
    differs: ClassVar[str] = (
        '`mode="max"` has no form: `RoiAlign` takes the maximum of weighted pixels, TVM that of samples'
    )

    def emit(self, s: OnnxSite) -> Any:
        x, rois = s.inputs
        attrs, last = s.attrs, s.attrs.layout == "NHWC"
        mode = attrs.mode.decode() if isinstance(attrs.mode, bytes) else str(attrs.mode)
        if mode != "avg":
            s.refuse("RoiAlign takes the maximum of weighted pixels, TVM that of samples")
        index = s.squeeze(s.node("Clip", *_number(s, rois)), 1)
        index = s.cast(index, "int64")
        corners = s.slice(rois, [1], [5], [1])
        if attrs.exact:  # these coordinates let regions be what they are, but are half a pixel off
            half = s.scalar(0.5 / float(attrs.spatial_scale), rois)
        pooled = s.node(
            "RoiAlign",
            s.transpose(x, [0, 3, 1, 2] if last else [0, 1, 2, 3]),
            s.node("Add", corners, half) if attrs.exact else corners,
            index,
            mode="avg",
            output_height=int(attrs.pooled_size[0]),
            output_width=int(attrs.pooled_size[1]),
            sampling_ratio=max(int(attrs.sample_ratio), 0),
            spatial_scale=float(attrs.spatial_scale),
            coordinate_transformation_mode="half_pixel" if attrs.exact else "output_half_pixel",
        )
        return s.transpose(pooled, [0, 2, 3, 1] if last else [0, 1, 2, 3])


def _number(s: OnnxSite, rois: Value) -> tuple[Value, Value, Value]:
    """The numbers of the images that regions are of, and the first and the last one there are: operands of `Clip`."""
    images = s.tensor(0).shape[0]
    if isinstance(images, int):
        last = s.scalar(max(images - 1, 0), rois)
    else:
        last = s.cast(s.sub(s.squeeze(s.extent(0, 0), 0), s.constant(1, "int64")), rois.dtype)
    return s.slice(rois, [0], [1], [1]), s.scalar(0, rois), last


@form("vision.roi_pool")
@dataclass(frozen=True)
class RoiPool(Form):
    """`MaxRoiPool`; NHWC: `Transpose` around it"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        x, rois = s.inputs
        attrs, last = s.attrs, s.attrs.layout == "NHWC"
        pooled = s.node(
            "MaxRoiPool",
            s.transpose(x, [0, 3, 1, 2] if last else [0, 1, 2, 3]),
            s.concat([s.node("Clip", *_number(s, rois)), s.slice(rois, [1], [5], [1])], 1),
            pooled_shape=[int(v) for v in attrs.pooled_size],
            spatial_scale=float(attrs.spatial_scale),
        )
        return s.transpose(pooled, [0, 2, 3, 1] if last else [0, 1, 2, 3])


@decomposed("a constant: it depends on the shape alone", "vision.multibox_prior")
def multibox_prior(s: OnnxSite) -> Value:
    anchors = s.attrs.evaluate(np.zeros(s.dims(0), s.tensor(0).dtype))
    return s.constant(anchors, s.out.dtype, "anchors")


@form("vision.all_class_non_max_suppression")
@dataclass(frozen=True)
class AllClassNonMaxSuppression(Form):
    """`NonMaxSuppression`, `Pad` to the rows that Relay has"""

    direct: ClassVar[bool] = True
    differs: ClassVar[str] = '`output_format="tensorflow"` has no form: `NonMaxSuppression` gives no scores'

    def emit(self, s: OnnxSite) -> Any:
        boxes, scores, most, overlap, threshold = s.inputs
        if s.attrs.output_format != "onnx":
            s.refuse(f"ONNX has no such results as those of the format {s.attrs.output_format}")
        selected = s.node(
            "NonMaxSuppression",
            boxes,
            scores,
            s.reshape(s.cast(most, "int64"), [1]),
            s.reshape(overlap, [1]),
            s.reshape(threshold, [1]),
            dtype="int64",
        )
        rows = s.fields[0].shape[0]
        every = s.ints(rows) if isinstance(rows, int) else s.node("ReduceProd", s.shape(scores), keepdims=1)
        count = s.slice(s.shape(selected), [0], [1], [0])
        zero = s.ints(0)
        lacking = s.sub(every, count)
        padded = s.node("Pad", selected, s.concat([zero, zero, lacking, zero], 0), s.constant(0, "int64"))
        total = s.reshape(count, [1] * len(s.fields[1].shape))
        return s.cast(padded, s.fields[0].dtype), s.cast(total, s.fields[1].dtype)


row(
    Absent("ONNX's NonMaxSuppression gives no boxes back in place, which this operator does"),
    "vision.non_max_suppression",
    "vision.regular_non_max_suppression",
)
row(
    Absent("the rows that it moves to the front have no counterpart among ONNX's operators"),
    "vision.get_valid_counts",
    "vision.multibox_transform_loc",
    "vision.proposal",
)
