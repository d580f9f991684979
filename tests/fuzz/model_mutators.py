"""Changes of ONNX models: of their bytes, and of their structure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from irtool.frontends.onnx.operator import onnx_operators

INTS = (0, 1, -1, 2, 3, 7, 64, 65536, 2**20, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -1.0, 0.5, 2.0, 1e38, -1e38, float("inf"), float("-inf"), float("nan"), 1e-45)
STRINGS = (b"", b"\xff\xfe", b"constant", b"SAME_LOWER", b"reverse", b"linear", b"x" * 1000, b"*/ }\n", b"\0", b'"')
SHAPES = (
    *((), (0,), (1,), (3,), (2, 3), (0, 3), (3, 0), (2, 3, 4), (1, 0, 3), (1, 2, 3, 4), (1, 2, 0, 4), (1, 2, 3, 4, 5)),
    *((1,) * 7, (2**31, 2), (2**62, 1, 1), (0, 2**62), (2**32, 2**32), (1, 2, 2**31, 2), (1, 2**16, 2**16, 1)),
)
"""Shapes of any rank, empty ones, and those of tensors that are larger than any machine."""

Mutator = Callable[[Any, random.Random], None]
MUTATORS: list[Mutator] = []


def _mutator(change: Mutator) -> Mutator:
    MUTATORS.append(change)
    return change


def mutate_model(data: bytes, draw: random.Random) -> bytes:
    """The model with a few changes; of four one has changes of its bytes only."""
    if draw.random() < 0.25:
        return _bytes(data, draw)
    import onnx

    model = onnx.ModelProto.FromString(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        draw.choice(MUTATORS)(model, draw)
    return model.SerializeToString()


def _bytes(data: bytes, draw: random.Random) -> bytes:
    mutated = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        offset = draw.randrange(len(mutated) + 1)
        how = draw.randrange(5)
        if how == 0 and mutated:
            mutated[offset % len(mutated)] = draw.randrange(256)
        elif how == 1 and mutated:
            mutated[offset % len(mutated)] ^= 1 << draw.randrange(8)
        elif how == 2:
            mutated[offset:offset] = draw.randbytes(draw.randrange(1, 9))
        elif how == 3:
            del mutated[offset : offset + draw.randrange(1, 9)]
        else:
            del mutated[offset:]
    return bytes(mutated)


def _graphs(model: Any) -> Iterator[Any]:
    """The graph and those in it, and functions, which have nodes as well."""
    stack = [model.graph, *model.functions]
    while stack:
        graph = stack.pop()
        yield graph
        stack += [a.g for n in graph.node for a in n.attribute if a.HasField("g")]


def _nodes(model: Any) -> list[Any]:
    return [n for g in _graphs(model) for n in g.node]


def _tensors(model: Any) -> list[Any]:
    tensors = [a.t for n in _nodes(model) for a in n.attribute if a.HasField("t")]
    return tensors + [t for g in _graphs(model) if hasattr(g, "initializer") for t in g.initializer]


def _values(model: Any) -> list[Any]:
    return [v for g in _graphs(model) if hasattr(g, "initializer") for v in (*g.input, *g.output)]


def _names(model: Any) -> list[str]:
    return [name for n in _nodes(model) for name in (*n.input, *n.output)] or [""]


@_mutator
def _rename(model: Any, draw: random.Random) -> None:
    nodes = _nodes(model)
    if nodes:
        node = draw.choice(nodes)
        slots = draw.choice((node.input, node.output))
        if slots:
            slots[draw.randrange(len(slots))] = draw.choice((*_names(model), "", "nowhere", "a b\n*/", "é"))


@_mutator
def _drop_or_add_input(model: Any, draw: random.Random) -> None:
    nodes = [n for n in _nodes(model) if n.input]
    if nodes:
        node = draw.choice(nodes)
        if draw.random() < 0.6:
            del node.input[draw.randrange(len(node.input))]
        else:
            node.input.append(draw.choice(_names(model)))


@_mutator
def _drop_output(model: Any, draw: random.Random) -> None:
    nodes = [n for n in _nodes(model) if n.output]
    if nodes:
        node = draw.choice(nodes)
        del node.output[draw.randrange(len(node.output))]


@_mutator
def _drop_or_copy_node(model: Any, draw: random.Random) -> None:
    graphs = [g for g in _graphs(model) if g.node]
    if graphs:
        graph = draw.choice(graphs)
        node_index = draw.randrange(len(graph.node))
        if draw.random() < 0.5:
            del graph.node[node_index]
        else:
            graph.node.append(graph.node[node_index])


@_mutator
def _change_operator(model: Any, draw: random.Random) -> None:
    nodes = _nodes(model)
    if nodes:
        node = draw.choice(nodes)
        others = [n.op_type for n in nodes]
        node.op_type = draw.choice((*others, *OPERATORS, "Nothing", ""))
        if draw.random() < 0.5:
            node.domain, _, node.op_type = draw.choice(_known_operators()).rpartition(".")
        elif draw.random() < 0.1:
            node.domain = draw.choice(("own", "com.microsoft", "\n", "ai.onnx"))


@cache
def _known_operators() -> tuple[str, ...]:
    return tuple(sorted(onnx_operators.names()))


@_mutator
def _order_inputs(model: Any, draw: random.Random) -> None:
    """Inputs of a node in another order, one left out in between, or one in place of all."""
    nodes = [n for n in _nodes(model) if n.input]
    if nodes:
        node = draw.choice(nodes)
        names, how = list(node.input), draw.randrange(3)
        if how == 0:
            draw.shuffle(names)
        elif how == 1:
            names[draw.randrange(len(names))] = ""
        else:
            names = [draw.choice(names)] * len(names)
        node.input[:] = names


@_mutator
def _double(model: Any, draw: random.Random) -> None:
    """A thing with a name twice: an input, an output, an initializer, an opset, a function."""
    lists = [model.opset_import, model.functions]
    for g in _graphs(model):
        lists += [g.input, g.output, *([g.initializer] if hasattr(g, "initializer") else [])]
    chosen = draw.choice([values for values in lists if len(values)] or [None])
    if chosen is not None:
        chosen.append(draw.choice(list(chosen)))


@_mutator
def _add_attribute(model: Any, draw: random.Random) -> None:
    """One that the operator has, and the node does not say: of its kind, with any value; or of another kind."""
    import onnx

    nodes = [n for n in _nodes(model) if n.op_type]
    node = draw.choice(nodes) if nodes else None
    if node is None or not onnx.defs.has(node.op_type, node.domain):
        return
    names = sorted(onnx.defs.get_schema(node.op_type, node.domain).attributes.items())
    if not names:
        return
    name, known = draw.choice(names)
    a = node.attribute.add(name=name, type=int(known.type.value) if draw.random() < 0.8 else draw.randrange(1, 9))
    for _ in range(draw.choice((1, 1, 2, 4))):
        if a.type == a.FLOATS:
            a.floats.append(draw.choice(FLOATS))
        elif a.type == a.STRINGS:
            a.strings.append(draw.choice(STRINGS))
        else:
            _change_value(a, draw)


@_mutator
def _change_attribute(model: Any, draw: random.Random) -> None:
    nodes = [n for n in _nodes(model) if n.attribute]
    if nodes:
        node = draw.choice(nodes)
        a = draw.choice(list(node.attribute))
        how = draw.randrange(8)
        if how == 0:
            node.attribute.remove(a)
        elif how == 1:
            a.name = draw.choice(("axis", "axes", "perm", "to", "kernel_shape", "mode", "nothing", ""))
        elif how == 2:
            a.type = draw.randrange(15)
        elif how == 3:
            node.attribute.append(a)
        elif how == 4:
            a.ref_attr_name = draw.choice(("axis", "nothing"))
        else:
            _change_value(a, draw)


def _change_value(a: Any, draw: random.Random) -> None:
    if a.type == a.INT:
        a.i = draw.choice(INTS)
    elif a.type == a.FLOAT:
        a.f = draw.choice(FLOATS)
    elif a.type == a.STRING:
        a.s = draw.choice(STRINGS)
    elif a.type == a.INTS:
        if a.ints and draw.random() < 0.6:
            a.ints[draw.randrange(len(a.ints))] = draw.choice(INTS)
        elif a.ints and draw.random() < 0.5:
            a.ints.pop()
        else:
            a.ints.append(draw.choice(INTS))
    elif a.type == a.FLOATS:
        if a.floats and draw.random() < 0.6:
            a.floats[draw.randrange(len(a.floats))] = draw.choice(FLOATS)
        elif a.floats and draw.random() < 0.5:
            a.floats.pop()
        else:
            a.floats.append(draw.choice(FLOATS))
    elif a.type == a.STRINGS:
        if a.strings and draw.random() < 0.6:
            a.strings[draw.randrange(len(a.strings))] = draw.choice(STRINGS)
        else:
            a.strings.append(draw.choice(STRINGS))
    elif a.type == a.TENSOR:
        _change_tensor(a.t, draw)


@_mutator
def _change_some_tensor(model: Any, draw: random.Random) -> None:
    tensors = _tensors(model)
    if tensors:
        _change_tensor(draw.choice(tensors), draw)


def _change_tensor(t: Any, draw: random.Random) -> None:
    how = draw.randrange(8)
    if how == 7:
        _change_number(t, draw)
    elif how == 0:
        t.data_type = draw.randrange(27)
    elif how == 1 and t.dims:
        t.dims[draw.randrange(len(t.dims))] = draw.choice(INTS)
    elif how == 2:
        t.dims.append(draw.choice(INTS))
    elif how == 3 and t.dims:
        t.dims.pop()
    elif how == 4 and t.HasField("raw_data"):
        t.raw_data = t.raw_data[: draw.randrange(len(t.raw_data) + 1)]
    elif how == 5:
        for field in (t.int64_data, t.int32_data):
            if field:
                field[draw.randrange(len(field))] = draw.choice([i for i in INTS if abs(i) < 2**31])
        if t.HasField("raw_data") and t.raw_data:
            t.raw_data = draw.randbytes(len(t.raw_data))
    else:
        t.data_location = 1
        entry = t.external_data.add()
        entry.key, entry.value = "location", draw.choice(("../x", "/etc/passwd", "", "x", "a\0b", "C:\\x", "a/../../b"))


def _change_number(t: Any, draw: random.Random) -> None:
    """An element of a vector of integers, as shapes, axes and counts are, by any number."""
    if t.data_type == 7 and len(t.raw_data) >= 8:
        offset = 8 * draw.randrange(len(t.raw_data) // 8)
        t.raw_data = (
            t.raw_data[:offset] + draw.choice(INTS).to_bytes(8, "little", signed=True) + t.raw_data[offset + 8 :]
        )
    elif t.int64_data:
        t.int64_data[draw.randrange(len(t.int64_data))] = draw.choice(INTS)
    elif t.float_data:
        t.float_data[draw.randrange(len(t.float_data))] = draw.choice(FLOATS)


@_mutator
def _change_shape(model: Any, draw: random.Random) -> None:
    """Another rank, for one input or for all that have the same one."""
    typed_inputs = [i for i in model.graph.input if i.type.HasField("tensor_type")]
    if typed_inputs:
        chosen, shape = draw.choice(typed_inputs), draw.choice(SHAPES)
        before = chosen.type.tensor_type.shape.SerializeToString()
        for i in typed_inputs if draw.random() < 0.3 else [chosen]:
            if i.type.tensor_type.shape.SerializeToString() == before:
                _set_shape(i, shape)


def _set_shape(value: Any, shape: tuple[int, ...]) -> None:
    tensor = value.type.tensor_type
    tensor.ClearField("shape")
    tensor.shape.SetInParent()
    for d in shape:
        tensor.shape.dim.add().dim_value = d


@_mutator
def _change_type(model: Any, draw: random.Random) -> None:
    values = _values(model)
    if values:
        v = draw.choice(values)
        tensor = v.type.tensor_type
        how = draw.randrange(6)
        if how == 0:
            tensor.elem_type = draw.randrange(27)
        elif how == 1 and tensor.shape.dim:
            draw.choice(list(tensor.shape.dim)).dim_value = draw.choice(INTS)
        elif how == 2 and tensor.shape.dim:
            draw.choice(list(tensor.shape.dim)).dim_param = draw.choice(("N", "M", "", "é"))
        elif how == 3:
            tensor.shape.dim.add().dim_value = draw.choice((1, 2, 3))
        elif how == 4:
            v.name = draw.choice((*_names(model), "", "other"))
        else:
            v.ClearField("type")


@_mutator
def _change_opset(model: Any, draw: random.Random) -> None:
    if model.opset_import:
        chosen = draw.choice(list(model.opset_import))
        if draw.random() < 0.2:
            model.opset_import.remove(chosen)
        else:
            chosen.version = draw.choice((0, 1, 6, 7, 9, 11, 13, 18, 21, 99, -5))


@_mutator
def _change_function(model: Any, draw: random.Random) -> None:
    if model.functions:
        f = draw.choice(list(model.functions))
        how = draw.randrange(4)
        if how == 0:
            f.name = draw.choice(("twice", "four", "Relu", ""))
        elif how == 1:
            f.input.append(draw.choice(("x", "extra", "")))
        elif how == 2 and f.output:
            f.output.pop()
        else:
            f.domain = draw.choice(("", "own", "ai.onnx"))


OPERATORS = (
    "Add",
    "Relu",
    "Reshape",
    "Concat",
    "Softmax",
    "MatMul",
    "Cast",
    "Slice",
    "Squeeze",
    "Loop",
    "If",
    "Conv",
    "Clip",
)
