"""Quantized forms of exports, made by ONNX Runtime's static quantizer."""

from __future__ import annotations

import contextlib
import io
import logging
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES = 4
"""Inputs for calibration: the one of the comparison, and others that are drawn like it."""


def quantized(path: Path) -> Path:
    """`NAME_int8.onnx` beside `NAME.onnx`, with its inputs; made where it is missing.

    QuantizeLinear and DequantizeLinear stand around each operator that the quantizer knows. Activations are uint8 with one scale,
    weights int8 with one for each output channel; ranges are the least and the largest values.
    """
    quantized_path = path.with_name(f"{path.stem}_int8.onnx")
    if quantized_path.exists() and quantized_path.with_suffix(".npz").exists():
        return quantized_path
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    inputs = dict(np.load(path.with_suffix(".npz")))
    with tempfile.TemporaryDirectory() as place, _silent():
        prepared, partial = Path(place) / "prepared.onnx", Path(place) / "quantized.onnx"
        quant_pre_process(path, prepared)
        quantization.quantize_static(
            prepared,
            partial,
            _reader(quantization.CalibrationDataReader, inputs),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=True,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
        )
        shutil.copyfile(path.with_suffix(".npz"), quantized_path.with_suffix(".npz"))
        shutil.move(partial, quantized_path)
    return quantized_path


def output_step(path: Path) -> float | None:
    """The difference of neighbouring values that the first output of a model has, if it is dequantized with one scale."""
    import onnx

    graph = onnx.load(path).graph
    scales = {i.name: i for i in graph.initializer}
    last = next((n for n in graph.node if n.output[0] == graph.output[0].name), None)
    if last is None or last.op_type != "DequantizeLinear" or last.input[1] not in scales:
        return None
    scale = onnx.numpy_helper.to_array(scales[last.input[1]])
    return float(scale.ravel()[0]) if scale.size == 1 else None


def samples(inputs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Inputs for calibration: these, and others with as many numbers of the same mean and deviation, or whole numbers up to the largest."""
    yield inputs
    drawn = np.random.default_rng(0)
    for _ in range(SAMPLES - 1):
        yield {
            n: drawn.normal(a.mean(), a.std(), a.shape).astype(a.dtype)
            if a.dtype.kind == "f"
            else drawn.integers(0, a.max() + 1, a.shape, a.dtype)
            for n, a in inputs.items()
        }


def _reader(base: Any, inputs: dict[str, Any]) -> Any:
    class Reader(base):  # type: ignore[misc]  # onnxruntime's class has no type
        def __init__(self) -> None:
            self.rest = samples(inputs)

        def get_next(self) -> dict[str, Any] | None:
            return next(self.rest, None)

    return Reader()


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Without the quantizer's prints and advice."""
    logging.disable(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(logging.NOTSET)
