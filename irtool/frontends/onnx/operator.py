"""Conversions of ONNX's operators: one class each, or one row of a family, found by name.

    @onnx_operator("Softmax")
    class Softmax(OnnxOperator):
        '''Softmax along an axis; before opset 13 over all axes from `axis` on, taken as one.'''

        @since(1)
        def over_all(self, x: Value, *, axis: int = 1) -> Result: ...

        @since(13)
        def along_axis(self, x: Value, *, axis: int = -1) -> Result:
            return x.call("nn.softmax", axis=axis)

A version holds from its opset until the next one. Its signature is what is checked: parameters in order are inputs (`None` by
default where they may be absent, `Value | None` without a default where others behind them may not, `*rest` for any number), those
behind `*` are attributes. Nothing that a node says is dropped
in silence: an input, an attribute or an output that the version does not have is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeVar

from ...diagnostics import IrError, nearest
from ...ir import Expr
from ...plugin import Plugin, Registry
from .attribute_kinds import is_of_kind
from .mistakes import DamagedModel, UnsupportedNode
from .model import Node
from .subgraphs import GraphConverter
from .value import Value, output_values

Result = Expr | Value | Sequence["Expr | Value | None"]
"""What a version gives: the one output, or the outputs in order (an expression that is a tuple stands for its fields)."""

M = TypeVar("M", bound=Callable[..., Any])
_SINCE = "_onnx_since"
_ADDED = "_onnx_added"


def since(*opsets: int, added: Mapping[str, int] | None = None) -> Callable[[M], M]:
    """Marks a method as the meaning of the operator from an opset on; further numbers are opsets that changed no more than
    the element types, or added attributes: `added` has those with the opset from which each is there.
    """

    def mark(method: M) -> M:
        setattr(method, _SINCE, min(opsets))
        setattr(method, _ADDED, dict(added or {}))
        return method

    return mark


class OnnxOperator(Plugin):
    """Base of conversions. One object converts one node.

    Attributes:
        node: the node: its name, `op_type`, inputs, outputs.
        graph: the converter of the graph around it; subgraphs are converted through it.
        opset: the version of the operator's domain that the model asks for.
        folds: True where a call on known values is evaluated while importing.
        refusal: the reason why an operator has no form in Relay, for any node.
    """

    folds: ClassVar[bool] = True
    refusal: ClassVar[str] = ""

    def __init__(self, node: Node, graph: GraphConverter, opset: int) -> None:
        self.node = node
        self.graph = graph
        self.opset = opset

    @classmethod
    def converts(cls, node: Node, inputs: Sequence[Value | None]) -> bool:
        """False for a node that is left to ONNX's definition of the operator in simpler ones."""
        return True

    @classmethod
    def versions(cls) -> dict[int, Callable[..., Any]]:
        """The methods by the opset from which each holds, ascending."""
        by_version = {
            getattr(m, _SINCE): m
            for base in reversed(cls.__mro__)
            for m in vars(base).values()
            if getattr(m, _SINCE, None)
        }
        return dict(sorted(by_version.items()))

    def convert(self, inputs: Sequence[Value | None], attributes: dict[str, Any]) -> list[Value | None]:
        """The node's outputs. Raises IrError if it has no form in Relay, or breaks the operator's signature."""
        meant = self.meant()
        method = meant._version()
        meant._check(method, inputs, attributes)
        return meant._outputs(meant.apply(method, inputs, attributes))

    def meant(self) -> OnnxOperator:
        """The operator whose signature the node has: this one, unless it is no more than a name of another."""
        return self

    def apply(self, method: Callable[..., Result], inputs: Sequence[Any], attributes: dict[str, Any]) -> Result:
        """The result of the version `method` for inputs and attributes that fit its signature; checks and steps before all versions
        of an operator go here, where the inputs that a version needs are given.
        """
        return method(self, *inputs, **attributes)

    def _version(self) -> Callable[..., Any]:
        cls = type(self)
        versions = _VERSIONS.get(cls) or _VERSIONS.setdefault(cls, cls.versions())
        holds = [m for opset, m in versions.items() if opset <= self.opset]
        if not holds:
            first = min(self.versions())
            raise IrError(f"{self.node.op_type} is there since opset {first}, and the model is of opset {self.opset}")
        return holds[-1]

    def _check(self, method: Any, inputs: Sequence[Any], attributes: dict[str, Any]) -> None:
        """Raises IrError unless inputs and attributes fit the signature."""
        what = f"{self.node.op_type} of opset {self.opset}"
        positional = [p for p in _parameters(method) if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in _parameters(method))
        later = {name for name, opset in getattr(method, _ADDED).items() if opset > self.opset}
        named = {p.name: p for p in _parameters(method) if p.kind is p.KEYWORD_ONLY and p.name not in later}
        if len(inputs) > len(positional) and not variadic:
            raise IrError(f"{what} has {len(positional)} inputs at most, not {len(inputs)}", code=DamagedModel)
        for i, p in enumerate(positional):
            absent = i >= len(inputs) or (inputs[i] is None and not p.annotation.endswith("| None"))
            if p.default is p.empty and absent:
                raise IrError(f"{what} needs its input {p.name}", code=DamagedModel)
        for i in range(len(positional), len(inputs)):
            if inputs[i] is None:
                raise IrError(f"{what} needs its input {i}", code=DamagedModel)
        for name in attributes:
            if name not in named:
                raise IrError(f"{what} has no attribute {name}", help=nearest(name, named), code=UnsupportedNode)
            if not is_of_kind(attributes[name], named[name].annotation):
                kind = named[name].annotation
                raise IrError(
                    f"the attribute {name} of {what} is {attributes[name]!r:.40}, not {kind}", code=DamagedModel
                )
        for name, p in named.items():
            if p.default is p.empty and name not in attributes:
                raise IrError(f"{what} needs its attribute {name}", code=DamagedModel)

    def _outputs(self, result: Any) -> list[Value | None]:
        values = output_values(result)
        positions = [i for i, name in enumerate(self.node.outputs) if name]
        for i in positions:
            if i >= len(values) or values[i] is None:
                raise IrError(
                    f"output {i} of {self.node.op_type} ({self.node.outputs[i]}) has no form in Relay",
                    code=UnsupportedNode,
                )
        return values

    def wants(self, output: int) -> bool:
        """True if the node names that output."""
        return output < len(self.node.outputs) and bool(self.node.outputs[output])


_VERSIONS: dict[type, dict[int, Callable[..., Any]]] = {}
"""The versions of operators that have been asked for: models have many nodes of one operator."""


@cache
def _parameters(method: Any) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(method).parameters.values())


onnx_operators: Registry[type[OnnxOperator]] = Registry("ONNX operator", "irtool.frontends.onnx.operators")
"""The operators by name: `Softmax`, and `com.microsoft.Gelu` for those of other domains."""


def onnx_operator(name: str, *others: str) -> Callable[[type], type]:
    """Class decorator: files an operator under its name, and under those of the rest of its family."""
    return onnx_operators.register(name, *others)
