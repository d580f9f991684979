"""The precisions of the comparison: which networks, which file each engine gets, and what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .quantized import quantized


def _as_exported(path: Path) -> Path:
    return path


@dataclass(frozen=True)
class Precision:
    """How networks are compared in one precision.

    Attributes:
        description: the input of the engines, as a sentence of the page.
        page: name of the page in docs, without its ending.
        networks: keys of `export.NETWORKS`; empty for all.
        model: the ONNX file that all engines get, from the one of the export.
        build: keywords of `irtool.build`.
        openvino: OpenVINO's settings.
        quantized: the model has QuantizeLinear, and values are compared in steps.
        difference: how far irtool's output may be from the reference's, relative to the largest; what is further is a failure.
    """

    description: str
    page: str
    networks: tuple[str, ...] = ()
    model: Callable[[Path], Path] = _as_exported
    build: Mapping[str, Any] = field(default_factory=dict)
    openvino: Mapping[str, Any] = field(default_factory=dict)
    quantized: bool = False
    difference: float = 0.1


PRECISIONS = {
    "float32": Precision(
        "The same ONNX file, exported from torch with random weights that keep all outputs at about one, goes to each engine, in float32.",
        "compare",
        openvino={"INFERENCE_PRECISION_HINT": "f32"},
        difference=2e-3,
    ),
    "bfloat16": Precision(
        "The same ONNX file as for float32 goes to each engine. irtool builds it with `--precision bfloat16`; OpenVINO computes as it comes, in bfloat16 "
        "where the processor has instructions for it; ONNX Runtime has float32 alone.",
        "compare_bfloat16",
        build={"precision": "bfloat16"},
    ),
    "int8": Precision(
        "ONNX Runtime's static quantizer (QDQ, uint8 activations, int8 weights with a scale for each channel, ranges from seeded "
        "random inputs) makes one file of each export, and that file goes to each engine.",
        "compare_int8",
        networks=("resnet50", "mobilenet_v2", "efficientnet_b0", "unet", "bert_base"),
        model=quantized,
        quantized=True,
        openvino={"INFERENCE_PRECISION_HINT": "f32"},
    ),
}
