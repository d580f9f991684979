"""TensorFlow Lite models written with the schema package: `model_bytes` of a few tensors and operators."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TYPES = {
    "float32": 0,
    "float16": 1,
    "int32": 2,
    "uint8": 3,
    "int64": 4,
    "string": 5,
    "bool": 6,
    "int16": 7,
    "complex64": 8,
    "int8": 9,
    "float64": 10,
    "uint64": 12,
    "resource": 13,
    "uint32": 15,
    "uint16": 16,
    "int4": 17,
}


@dataclass
class Tensor:
    """A tensor: its data make it a constant; `scale` and `zero` quantize it, along `axis` where there are several."""

    name: str
    shape: Sequence[int]
    dtype: str = "float32"
    data: Any = None
    scale: Any = None
    zero: Any = 0
    axis: int = 0
    is_variable: bool = False
    signature: Sequence[int] | None = None


@dataclass
class Op:
    """An operator: numbers of tensors, -1 for inputs that are left out; `options` by their names in the schema."""

    name: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str = ""
    version: int = 1
    custom: str = ""
    intermediates: Sequence[int] = ()


@dataclass
class Graph:
    """A subgraph."""

    tensors: Sequence[Tensor]
    operators: Sequence[Op]
    inputs: Sequence[int]
    outputs: Sequence[int]
    name: str = "main"


def model_bytes(*graphs: Graph) -> bytes:
    """The file of a model with these subgraphs."""
    return _Writer().model(graphs)


class _Writer:
    def __init__(self) -> None:
        import flatbuffers
        import tflite

        self.b, self.t = flatbuffers.Builder(1024), tflite
        self.buffers = [self._buffer(None)]
        self.codes: dict[tuple[str, int, str], int] = {}

    def model(self, graphs: Sequence[Graph]) -> bytes:
        b, t = self.b, self.t
        subgraphs = self._offsets([self._graph(g) for g in graphs])
        codes = self._offsets([self._code(*key) for key in self.codes])
        buffers = self._offsets(self.buffers)
        t.ModelStart(b)
        t.ModelAddVersion(b, 3)
        t.ModelAddOperatorCodes(b, codes)
        t.ModelAddSubgraphs(b, subgraphs)
        t.ModelAddBuffers(b, buffers)
        b.Finish(t.ModelEnd(b), file_identifier=b"TFL3")
        return bytes(b.Output())

    def _code(self, name: str, version: int, custom: str) -> int:
        b, t = self.b, self.t
        number = getattr(t.BuiltinOperator, name)
        text = b.CreateString(custom) if custom else 0
        t.OperatorCodeStart(b)
        t.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
        t.OperatorCodeAddBuiltinCode(b, number)
        t.OperatorCodeAddVersion(b, version)
        if custom:
            t.OperatorCodeAddCustomCode(b, text)
        return t.OperatorCodeEnd(b)

    def _graph(self, graph: Graph) -> int:
        b, t = self.b, self.t
        tensors = self._offsets([self._tensor(x) for x in graph.tensors])
        operators = self._offsets([self._operator(o) for o in graph.operators])
        inputs, outputs = b.CreateNumpyVector(_ints(graph.inputs)), b.CreateNumpyVector(_ints(graph.outputs))
        name = b.CreateString(graph.name)
        t.SubGraphStart(b)
        t.SubGraphAddTensors(b, tensors)
        t.SubGraphAddInputs(b, inputs)
        t.SubGraphAddOutputs(b, outputs)
        t.SubGraphAddOperators(b, operators)
        t.SubGraphAddName(b, name)
        return t.SubGraphEnd(b)

    def _tensor(self, x: Tensor) -> int:
        b, t = self.b, self.t
        buffer = 0
        if x.data is not None:
            raw = x.data if isinstance(x.data, bytes) else np.asarray(x.data, x.dtype).tobytes()
            self.buffers.append(self._buffer(raw))
            buffer = len(self.buffers) - 1
        name, shape = b.CreateString(x.name), b.CreateNumpyVector(_ints(x.shape))
        signature = b.CreateNumpyVector(_ints(x.signature)) if x.signature is not None else 0
        quantization = self._quantization(x) if x.scale is not None else 0
        t.TensorStart(b)
        t.TensorAddShape(b, shape)
        t.TensorAddType(b, TYPES[x.dtype])
        t.TensorAddBuffer(b, buffer)
        t.TensorAddName(b, name)
        if signature:
            t.TensorAddShapeSignature(b, signature)
        if quantization:
            t.TensorAddQuantization(b, quantization)
        t.TensorAddIsVariable(b, x.is_variable)
        t.TensorAddHasRank(b, True)
        return t.TensorEnd(b)

    def _quantization(self, x: Tensor) -> int:
        b, t = self.b, self.t
        scale = np.atleast_1d(np.asarray(x.scale, np.float32))
        zero = np.broadcast_to(np.asarray(x.zero, np.int64), scale.shape).copy()
        scales, zeros = b.CreateNumpyVector(scale), b.CreateNumpyVector(zero)
        t.QuantizationParametersStart(b)
        t.QuantizationParametersAddScale(b, scales)
        t.QuantizationParametersAddZeroPoint(b, zeros)
        t.QuantizationParametersAddQuantizedDimension(b, x.axis)
        return t.QuantizationParametersEnd(b)

    def _operator(self, o: Op) -> int:
        b, t = self.b, self.t
        code = self.codes.setdefault((o.name, o.version, o.custom), len(self.codes))
        inputs, outputs = b.CreateNumpyVector(_ints(o.inputs)), b.CreateNumpyVector(_ints(o.outputs))
        inner = b.CreateNumpyVector(_ints(o.intermediates)) if o.intermediates else 0
        options = self._options(o.kind, o.options) if o.kind else 0
        t.OperatorStart(b)
        t.OperatorAddOpcodeIndex(b, code)
        t.OperatorAddInputs(b, inputs)
        t.OperatorAddOutputs(b, outputs)
        if inner:
            t.OperatorAddIntermediates(b, inner)
        if o.kind:
            first = getattr(t.BuiltinOptions, o.kind, None)
            if first is not None:
                t.OperatorAddBuiltinOptionsType(b, first)
                t.OperatorAddBuiltinOptions(b, options)
            else:
                t.OperatorAddBuiltinOptions2Type(b, getattr(t.BuiltinOptions2, o.kind))
                t.OperatorAddBuiltinOptions2(b, options)
        return t.OperatorEnd(b)

    def _options(self, kind: str, values: Mapping[str, Any]) -> int:
        b, t = self.b, self.t
        offsets = {
            n: b.CreateString(v) if isinstance(v, str) else b.CreateNumpyVector(np.asarray(v))
            for n, v in values.items()
            if isinstance(v, str | list | tuple | np.ndarray)
        }
        getattr(t, f"{kind}Start")(b)
        for name, value in values.items():
            camel = "".join(w[:1].upper() + w[1:] for w in re.split("_", name))
            getattr(t, f"{kind}Add{camel}")(b, offsets.get(name, value))
        return getattr(t, f"{kind}End")(b)

    def _buffer(self, raw: bytes | None) -> int:
        b, t = self.b, self.t
        data = b.CreateNumpyVector(np.frombuffer(raw, np.uint8)) if raw else 0
        t.BufferStart(b)
        if data:
            t.BufferAddData(b, data)
        return t.BufferEnd(b)

    def _offsets(self, offsets: Sequence[int]) -> int:
        self.b.StartVector(4, len(offsets), 4)
        for o in reversed(offsets):
            self.b.PrependUOffsetTRelative(o)
        return self.b.EndVector()


def _ints(values: Sequence[int]) -> np.ndarray:
    return np.asarray(values, np.int32)
