"""Help for a value that is no module but stands for a network."""

from __future__ import annotations

import os
from typing import Any

_FILES = {
    ".onnx": "module, params = irtool.from_onnx({0!r})",
    ".onnxtxt": "module, params = irtool.from_onnx({0!r})",
    ".relay": "module = irtool.parse(open({0!r}).read(), filename={0!r})",
    ".irtool.json": "irtool.load({0!r}) opens the files of a build",
    ".pt": "load it in PyTorch, export it with torch.onnx.export, and read the file with irtool.from_onnx",
    ".pth": "load it in PyTorch, export it with torch.onnx.export, and read the file with irtool.from_onnx",
    ".tflite": "TensorFlow Lite models are not read; convert it to ONNX (tf2onnx), and read that with irtool.from_onnx",
}
_CLASSES = {
    "torch.nn.modules.module.Module": 'torch.onnx.export(model, (example,), "model.onnx"); irtool.from_onnx("model.onnx") gives module and params',
    "torch.export.exported_program.ExportedProgram": 'torch.onnx.export(program, f="model.onnx"); irtool.from_onnx("model.onnx") gives module and params',
    "onnx.onnx_ml_pb2.ModelProto": "module, params = irtool.from_onnx(model)",
    "torch.onnx._internal.exporter._onnx_program.ONNXProgram": "module, params = irtool.from_onnx(program)",
    "keras.src.models.model.Model": 'model.export("model.onnx", format="onnx"); irtool.from_onnx("model.onnx") gives module and params',
}
"""By the class that a value's class is made from, so that nothing of others is imported."""


def next_step(what: Any) -> str:
    """The call that makes a module of it; empty for values that are no networks."""
    if isinstance(what, tuple) and len(what) == 2:
        return "irtool.from_onnx and irtool.quantize give a module and its weights: irtool.build(module, params)"
    if isinstance(what, (str, os.PathLike)):
        path = os.fsdecode(what)
        for ending, call in _FILES.items():
            if path.lower().endswith(ending) and "\n" not in path:
                return call.format(path)
        return "irtool.parse makes a module of text"
    if isinstance(what, (bytes, bytearray)):
        return "module, params = irtool.from_onnx(data) takes the bytes of an ONNX model"
    for base in type(what).__mro__:
        step = _CLASSES.get(f"{base.__module__}.{base.__qualname__}")
        if step is not None:
            return step
    return ""
