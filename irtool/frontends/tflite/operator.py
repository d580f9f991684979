"""Conversions of TensorFlow Lite's operators: one class each, or one row of a family, found by name.

    @tflite_operator("SOFTMAX")
    class Softmax(TfliteOperator):
        '''Softmax along the last axis.'''

        def convert(self, x: Operand, *, beta: float = 0.0) -> Result:
            return x.call("nn.softmax", axis=-1)

The signature of `convert` is what is checked: parameters in order are inputs (`None` by default where they may be absent,
`Operand | None` without a default where others behind them may not, `*rest` for any number), those behind `*` are attributes, by their
names in the schema. Nothing that an operator says is dropped in silence: an input or an output that `convert` does not have is refused, and
so is an attribute that the file sets. `types` are the element types of the first input that it takes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Protocol

from ...diagnostics import IrError, nearest
from ...ir import Expr
from ...plugin import Plugin, Registry
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from ..onnx.program import Functions
from ..onnx.value import Value, output_values
from .model import Operator, Quantization, Tensor
from .versions import last_version

FLOATS = ("float32", "float16", "float64", "bfloat16")
EIGHT_BITS = ("int8", "uint8")
NUMBERS = (*FLOATS, "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@dataclass(frozen=True, eq=False)
class Operand:
    """An input of an operator: its value, and its tensor in the file.

    Attributes:
        value: the typed expression, with its elements where they are known.
        tensor: the name and the quantization.
    """

    value: Value
    tensor: Tensor

    @property
    def q(self) -> Quantization | None:
        """The quantization, of tensors of integers that have one."""
        return self.tensor.quantization if self.value.dtype in QUANTIZED else None

    @property
    def dtype(self) -> str:
        """The type of the elements."""
        return self.value.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents. Raises IrError for one that only the run knows."""
        return self.value.extents(f"the tensor {self.tensor.name}")

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.value.rank

    def call(self, name: str, *args: Any, **attributes: Any) -> Value:
        """The call of an operator of Relay on this value and others."""
        return self.value.call(name, *args, **attributes)

    def array(self, what: str) -> Any:
        """The elements, which must be known; `what` names the input in the message."""
        return self.value.array(what)

    def ints(self, what: str) -> tuple[int, ...]:
        """The elements of a vector of integers, which must be known."""
        return self.value.ints(what)


QUANTIZED = ("int8", "uint8", "int16", "int32", "int64")

Result = Expr | Value | Sequence["Expr | Value"]
"""The outputs of a conversion: the one, or all in order (an expression that is a tuple stands for its fields)."""


class GraphConverter(Protocol):
    """The converter of the graph around an operator."""

    functions: Functions
    states: Any

    def converted(self, number: int, bound: Sequence[Value], place: Any) -> list[Value]: ...


@dataclass(eq=False)
class Site:
    """An operator of a subgraph during its conversion, with its outputs and the converter of the subgraph."""

    operator: Operator
    outputs: Sequence[Tensor]
    intermediates: Sequence[Tensor | None]
    graph: GraphConverter
    initial: Sequence[Value] = field(default=())


class TfliteOperator(Plugin):
    """Base of conversions. One object converts one operator.

    Attributes:
        node: the operator: its name, version, options.
        graph: the converter of the graph around it; other subgraphs are converted through it.
        outputs: the tensors of its outputs.
        types: element types of the first input that are taken; empty for any.
        refusal: the reason why an operator has no form in Relay, for any use.
    """

    types: ClassVar[tuple[str, ...]] = ()
    refusal: ClassVar[str] = ""
    folds: ClassVar[bool] = True

    def __init__(self, site: Site) -> None:
        self.site = site
        self.node = site.operator
        self.graph = site.graph
        self.outputs = site.outputs

    def convert(self, *inputs: Any, **attributes: Any) -> Result:
        """The outputs for inputs and attributes that fit the signature."""
        raise NotImplementedError

    def results(self, inputs: Sequence[Operand | None]) -> list[Value]:
        """The outputs. Raises IrError if the operator has no form in Relay, or breaks the signature."""
        self._check(inputs)
        attributes = {**self.node.defaults, **self.node.options}
        names = _named(type(self).convert)
        result = self.convert(*inputs, **{n: v for n, v in attributes.items() if n in names})
        return self._outputs(result)

    @property
    def out_q(self) -> Quantization:
        """The quantization of the first output. Raises IrError if it has none."""
        return require_quantization(self.outputs[0])

    @property
    def is_quantized(self) -> bool:
        """True if the first output is of integers with a quantization."""
        return self.outputs[0].quantization is not None and self.outputs[0].dtype in QUANTIZED

    def refuse(self, what: str) -> IrError:
        """The error that the operator has no form for `what`."""
        return IrError(f"{self.node.op_type} with {what} has no form in Relay", code=UnsupportedNode)

    def damaged(self, message: str) -> IrError:
        """The error that the operator contradicts itself."""
        return IrError(f"{self.node.op_type}: {message}", code=DamagedModel)

    def _check(self, inputs: Sequence[Operand | None]) -> None:
        node = self.node
        last = last_version(node.op_type)
        if not 1 <= node.version <= last:
            raise IrError(
                f"{node.op_type} of version {node.version} is unknown: version {last} is the last one",
                code=UnsupportedNode,
            )
        parameters = _parameters(type(self).convert)
        positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if len(inputs) > len(positional) and not variadic:
            raise self.damaged(f"it has {len(positional)} inputs at most, not {len(inputs)}")
        for i, p in enumerate(positional):
            absent = i >= len(inputs) or (inputs[i] is None and not str(p.annotation).endswith("| None"))
            if p.default is p.empty and absent:
                raise self.damaged(f"it needs its input {p.name}")
        for i in range(len(positional), len(inputs)):
            if inputs[i] is None:
                raise self.damaged(f"it needs its input {i}")
        for name, value in node.options.items():
            if name not in _named(type(self).convert):
                help = nearest(name, _named(type(self).convert))
                raise IrError(f"{node.op_type} has no form for {name}={value}", help=help, code=UnsupportedNode)
        first = inputs[0] if inputs else None
        if first is not None and self.types and first.dtype not in self.types:
            raise self.refuse(f"elements of {first.dtype}")

    def _outputs(self, result: Any) -> list[Value]:
        values = output_values(result)
        if len(values) < len(self.outputs):
            raise self.damaged(f"it has {len(values)} outputs, not {len(self.outputs)}")
        return values[: len(self.outputs)]


LEAST_SCALE = 2.0**-60
"""Scales are larger, so that their products and quotients are numbers of float32; and less than its reciprocal."""


def require_quantization(tensor: Tensor) -> Quantization:
    """The one scale and zero point of a tensor. Raises IrError if it has none, or several."""
    q = tensor.quantization
    if q is None:
        raise IrError(f"the tensor {tensor.name} of {tensor.dtype} has no scale", code=DamagedModel)
    if not LEAST_SCALE < q.scales[0] < 1 / LEAST_SCALE:
        raise IrError(f"the tensor {tensor.name} has the scale {q.scales[0]}", code=DamagedModel)
    if not q.is_scalar:
        raise IrError(f"the tensor {tensor.name} has {len(q.scales)} scales, not one", code=UnsupportedNode)
    return q


@cache
def _parameters(convert: Any) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(convert).parameters.values())


@cache
def _named(convert: Any) -> frozenset[str]:
    return frozenset(p.name for p in _parameters(convert) if p.kind is p.KEYWORD_ONLY)


tflite_operators: Registry[type[TfliteOperator]] = Registry(
    "TensorFlow Lite operator", "irtool.frontends.tflite.operators"
)
"""The operators by name: `CONV_2D`."""


def tflite_operator(name: str, *others: str) -> Callable[[type], type]:
    """Class decorator: files an operator under its name, and under those of the rest of its family."""
    return tflite_operators.register(name, *others)
