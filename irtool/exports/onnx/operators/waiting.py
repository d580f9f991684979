"""Nodes of an ONNX model that wait for extents: they go out as they came in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ....ir import TensorType
from ..form import Form, NoForm, form
from ..graph import Node, Value
from ..site import OnnxSite, element_type
from ..values import tensor_leaves


@form("onnx.node")
@dataclass(frozen=True)
class Waiting(Form):
    """the node that it stands for, converted to the opset of the model"""

    direct: ClassVar[bool] = True

    def emit(self, s: OnnxSite) -> Any:
        proto, opset = _node(s.attrs)
        types = tensor_leaves(s.call.checked_type)
        results = [Value(s.names.fresh(s.hint or proto.op_type), t.dtype) for t in types]
        renamed = dict(zip(s.attrs.input_names, (v.name for v in s.inputs), strict=True))
        left = iter(results)
        renamed |= {o: next(left).name for o in proto.output if o}
        nodes = [proto] if _is_same(proto, opset, s.opset) else _converted(s, proto, opset)
        inner = _Inner(s, renamed)
        renamed |= {o: s.names.fresh(o) for n in nodes for o in n.output if o and o not in renamed}
        s.graph.nodes += [inner.node(n, renamed) for n in nodes]
        s.graph.defined.update(v.name for v in results)
        return results[0] if len(results) == 1 else tuple(results)


def _node(attrs: Any) -> tuple[Any, int]:
    """The NodeProto, and the version of its opset. Raises NoForm if the attributes hold none."""
    import onnx
    from google.protobuf.message import DecodeError

    proto = onnx.NodeProto()
    try:
        proto.ParseFromString(attrs.node_bytes)
        return proto, attrs.versions.get("", 1)
    except (DecodeError, ValueError) as error:
        raise NoForm(f"its attributes hold no node: {error}") from None


def _is_same(proto: Any, opset: int, target_opset: int) -> bool:
    """True if all operators of the node mean the same in the opset that is wanted."""
    import onnx

    nodes = [proto]
    while nodes:
        n = nodes.pop()
        nodes += [m for a in n.attribute for m in a.g.node]
        if n.domain not in ("", "ai.onnx") or not onnx.defs.has(n.op_type, target_opset, ""):
            continue
        old, new = (onnx.defs.get_schema(n.op_type, v, "").since_version for v in (opset, target_opset))
        if old != new and not (_SAME.get(n.op_type, new + 1) <= old < new):
            return False
    return True


def _converted(s: OnnxSite, proto: Any, opset: int) -> list[Any]:
    """Nodes of the opset that is wanted which compute the same, as ONNX converts versions. Raises NoForm if it cannot."""
    import onnx
    from onnx import helper, version_converter

    arguments = [tensor_leaves(a.checked_type)[0] for a in s.call.args]
    inputs = _value_infos(s.attrs.input_names, arguments)
    outputs = _value_infos(filter(None, proto.output), tensor_leaves(s.call.checked_type))
    model = helper.make_model(
        helper.make_graph([proto], "g", inputs, outputs), opset_imports=[helper.make_opsetid("", opset)]
    )
    try:
        graph = version_converter.convert_version(model, s.opset).graph
    except Exception as error:  # noqa: BLE001 - its errors have no common class
        raise NoForm(
            f"{proto.op_type} of opset {opset} is another one than that of opset {s.opset}: {str(error).strip()[:80]}"
        ) from None
    constants = [onnx.helper.make_node("Constant", [], [t.name], value=t) for t in graph.initializer]
    return [*constants, *graph.node]


def _value_infos(names: Iterable[str], types: Iterable[TensorType]) -> list[Any]:
    """A ValueInfoProto for each name; extents that are not known are left out."""
    from onnx import helper

    return [
        helper.make_tensor_value_info(n, element_type(t.dtype), [d if isinstance(d, int) else None for d in t.shape])
        for n, t in zip(names, types, strict=True)
    ]


_SAME: Mapping[str, int] = {
    **dict.fromkeys(("LSTM", "GRU", "RNN"), 7),
    **dict.fromkeys(("If", "Loop", "Scan", "Identity", "Shape", "Concat", "Gather", "Cast", "Reshape", "Transpose"), 9),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater", "MatMul", "Gemm", "Relu", "Sigmoid"), 7),
    **dict.fromkeys(
        ("Tanh", "Constant", "ConstantOfShape", "Expand", "Where", "NonZero", "Size", "Flatten", "Slice"), 10
    ),
    **dict.fromkeys(("Squeeze", "Unsqueeze", "Pad", "TopK", "OneHot", "Resize"), 13),
}
"""From which version on an operator's newer versions have only more element types, or more attributes and inputs, which may be absent."""


class _Inner:
    """Writes nodes with names of the model that is written."""

    def __init__(self, s: OnnxSite, outer: Mapping[str, str]) -> None:
        self.s = s
        self.outer = outer

    def node(self, proto: Any, names: Mapping[str, str]) -> Node:
        """A node whose values are called so; those of graphs inside it get names that nothing else has."""
        attributes = {a.name: self._attribute(a, names) for a in proto.attribute}
        return Node(
            proto.op_type,
            [names.get(i, i) for i in proto.input],
            [names.get(o, o) for o in proto.output],
            attributes,
            self.s.names.fresh(proto.name or self.s.label or proto.op_type),
            "" if proto.domain == "ai.onnx" else proto.domain,
        )

    def _attribute(self, a: Any, names: Mapping[str, str]) -> Any:
        import onnx

        copied = onnx.AttributeProto()
        copied.CopyFrom(a)
        if copied.HasField("g"):
            self._rename(copied.g, dict(names))
        return copied

    def _rename(self, graph: Any, names: dict[str, str]) -> None:
        """Renames the values of a graph and of those inside it; protobuf limits the depth."""
        own = [v.name for v in (*graph.input, *graph.initializer)] + [o for n in graph.node for o in n.output if o]
        names.update((o, self.s.names.fresh(o)) for o in dict.fromkeys(own))
        for v in (*graph.input, *graph.initializer, *graph.output, *graph.value_info):
            v.name = names.get(v.name, v.name)
        for n in graph.node:
            for field in (n.input, n.output):
                field[:] = [names.get(x, x) for x in field]
            for a in n.attribute:
                if a.HasField("g"):
                    self._rename(a.g, dict(names))
