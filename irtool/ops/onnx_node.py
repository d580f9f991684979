"""Nodes of ONNX models that wait for extents: an imported module has them in place of operators that need numbers."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..diagnostics import IrError
from ..hooks import Hook
from ..ir import ANY, Call, Expr, Module, TensorType, TupleGetItem, TupleType, Type, post_order
from ..ir.dtypes import is_dtype
from .base import Operator, Pattern, RelationError, Reporter, is_call_to, operator

_settle: Hook[[Module, str, Mapping[str, Any]], Module] = Hook("ops.settle")
settle_call: Hook[[Call], Expr] = Hook("ops.settle_call")
"""The operators, not typed, that a typed call of `onnx.node` stands for; the call itself where extents are missing. Raises IrError."""

_EXTENT = r"(?:[0-9]{1,19}|\?)"
_TYPE = re.compile(rf"([a-z]+[a-z0-9]*)\[((?:{_EXTENT}(?:, {_EXTENT})*)?)\]")
_OPSET = re.compile(r"(.+)=(-?[0-9]{1,19})", re.DOTALL)
"""A domain and a version. What a model calls its domain may have an equals sign."""


def show_result(t: TensorType) -> str:
    """A type in the notation of `results`: `float32[?, 4]`."""
    return f"{t.dtype}[{', '.join(str(d) if isinstance(d, int) else '?' for d in t.shape)}]"


def read_result(text: str) -> TensorType:
    """The type that `show_result` wrote. Raises RelationError for other text."""
    match = _TYPE.fullmatch(text)
    extents = [ANY if d == "?" else int(d) for d in match[2].split(", ") if d] if match is not None else []
    if match is None or not is_dtype(match[1]) or any(isinstance(d, int) and d >= 1 << 63 for d in extents):
        raise RelationError(f"{text!r:.40} is no type of a result; one is float32[?, 4]")
    return TensorType(tuple(extents), match[1])


@lru_cache(maxsize=16)
def _decoded(text: str) -> bytes:
    """A serialized node; kept, since each inference of a call's type asks for it. Raises RelationError for text that is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise RelationError(f"node is no base64: {error}") from None


def _strings(attribute: str, value: object) -> list[str]:
    """The value of an attribute that is a list of strings. Raises RelationError for another."""
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise RelationError(f"{attribute} is a list of strings, not {value!r:.40}")
    return list(value)


def _result_type(results: object) -> Type:
    """The type of a call with this `results`; several types are a tuple."""
    types = [read_result(text) for text in _strings("results", results)]
    return types[0] if len(types) == 1 else TupleType(tuple(types))


@operator("onnx.node", pattern=Pattern.OPAQUE, level=99, variadic=True, vendor="ONNX")
@dataclass(frozen=True)
class OnnxNode(Operator):
    """A node of an ONNX model whose form in Relay depends on extents that are open.

    The front end writes it, and replaces it by operators as soon as the extents are known. `op_type` is the operator in
    ONNX, `node` the node as the bytes of its protobuf in base64, `opsets` the versions that hold for it
    (`["ai.onnx=17"]`), `inputs` the names that the arguments have in the node, and `results` the types of the results as far
    as they are known (`["float32[?, 4]"]`). `reason` says what is missing. `guessed` marks ranks in `results` that open
    extents decide, and that are those of one branch or of some extents.
    """

    op_type: str
    node: str
    opsets: tuple[str, ...]
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    reason: str = ""
    guessed: bool = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The types in `results`; several are a tuple. The other attributes have the form that is read back."""
        result = _result_type(self.results)
        names = self.input_names
        if len(names) != len(types):
            raise RelationError(f"inputs names {len(names)} arguments, and there are {len(types)}")
        _ = self.versions, self.node_bytes
        return result

    @property
    def input_names(self) -> list[str]:
        """The names that the arguments have in the node. Raises RelationError if `inputs` is no list of strings."""
        return _strings("inputs", self.inputs)

    @property
    def node_bytes(self) -> bytes:
        """The node as a serialized NodeProto. Raises RelationError for text that is not base64."""
        return _decoded(self.node)

    @property
    def versions(self) -> dict[str, int]:
        """The opset version by domain; ONNX's own domain is the empty string. Raises RelationError for entries of another form."""
        versions = {}
        for text in _strings("opsets", self.opsets):
            match = _OPSET.fullmatch(text)
            if match is None:
                raise RelationError(f"{text!r:.40} in opsets is no version of a domain; one is ai.onnx=17")
            versions["" if match[1] == "ai.onnx" else match[1]] = int(match[2])
        return versions

    @classmethod
    def _no_meaning(cls) -> str:
        return (
            "it stands for a node of an ONNX model that needs extents which are open: give them with --dim or --shape"
        )


@operator("onnx.impossible", pattern=Pattern.OPAQUE, level=99, stateful=True, vendor="ONNX")
@dataclass(frozen=True)
class OnnxImpossible(Operator):
    """Fails: it stands for a branch that cannot be computed with the shapes at hand, and may be taken only with others.

    `results` are the types of the results that the branch would have, `reason` says what is wrong. In C the run returns error 5.
    """

    results: tuple[str, ...]
    reason: str = ""

    noncomputational = True
    folds = False
    differentiable = False
    precision = "never"
    layout_rule = ""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The types in `results`; several are a tuple."""
        return _result_type(self.results)

    def evaluate(self) -> Any:
        raise IrError(f"a branch is taken that is impossible with these shapes: {self.reason}")


def is_waiting(e: Expr) -> bool:
    """True for a call of `onnx.node`."""
    return is_call_to(e, OnnxNode.name)


def is_guessed(e: Expr) -> bool:
    """True for a result of a call of `onnx.node` whose ranks are a guess."""
    call = e.tuple if isinstance(e, TupleGetItem) else e
    return isinstance(call, Call) and isinstance(call.attrs, OnnxNode) and call.attrs.guessed


def has_waiting_nodes(module: Module) -> bool:
    """True if an `onnx.node` is called anywhere."""
    return any(is_waiting(e) for f in module.relay_functions.values() for e in post_order(f))


def settle_waiting(module: Module, entry: str, weights: Mapping[str, Any] | None = None) -> Module:
    """The typed module with operators for calls of `onnx.node` as far as their extents are known by now.

    `weights` has values of parameters of `entry`, which may decide shapes. The module itself where nothing waits; else the importer
    is loaded. Raises IrError for a node that has no form in Relay with its shapes.
    """
    if not has_waiting_nodes(module):
        return module
    return _settle(module, entry, weights or {})
