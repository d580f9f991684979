"""Models that are damaged, or made to do harm: a diagnostic, soon, and nothing outside of the model's folder is read."""

from __future__ import annotations

import os
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.frontends.onnx.wire import split

onnx = pytest.importorskip("onnx")
helper, TensorProto = onnx.helper, onnx.TensorProto
pytestmark = pytest.mark.promise("hostile models")


def model(nodes=(), inits=(), inputs=(), outputs=("y",), functions=(), sparse=(), **fields):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    ys = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
    graph = helper.make_graph(list(nodes), "net", [x, *inputs], ys, list(inits), sparse_initializer=list(sparse))
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets, functions=list(functions), **fields)


def refusal(proto) -> str:
    with pytest.raises(IrError) as error:
        irtool.from_onnx(proto)
    return str(error.value)


def node(op="Relu", ins=("x",), outs=("y",), **attributes):
    return helper.make_node(op, list(ins), list(outs), **attributes)


def external(location: str, dims=(2, 3), **entries):
    t = TensorProto(name="w", data_type=1, dims=dims, data_location=1)
    for key, value in {"location": location, **entries}.items():
        entry = t.external_data.add()
        entry.key, entry.value = key, str(value)
    return t


@pytest.mark.parametrize(
    "location",
    ["../secret", "/etc/passwd", "a/../../secret", "link", "folder/inside", "..", ".", "", "..\\secret", "C:\\secret",
     "C:secret", "//server/share", "a\0b", "loop"],
)  # fmt: skip
def test_only_files_in_the_models_folder_are_read(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(24))
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path)
    (tmp_path / "inside").write_bytes(bytes(24))
    (folder / "loop").symlink_to(folder / "loop")
    path = folder / "m.onnx"
    path.write_bytes(model([node("Add", ("x", "w"))], [external(location)]).SerializeToString())
    message = refusal(path)
    assert "only files in the model's folder" in message or "cannot read" in message, message


@pytest.mark.parametrize(
    ("entries", "dims", "message"),
    [
        ({"offset": 8}, (2, 3), "needs 24 bytes at 8 of w.bin, which has 24"),
        ({"offset": -1}, (2, 3), "no number"),
        ({"offset": "9" * 5000}, (2, 3), "no number"),
        ({"offset": 2**63}, (2, 3), "which has 24"),
        ({"length": 23}, (2, 3), "needs 24 bytes, not 23"),
        ({"offset": "1e3"}, (2, 3), "no number"),
        ({}, (2**31, 2**31), "has the shape"),
        ({}, (2**20, 2**20), "which has 24"),
        ({}, (-2, -3), "has the shape"),
    ],
)
def test_external_data_that_does_not_fit_is_refused(entries, dims, message, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(24))
    path = tmp_path / "m.onnx"
    path.write_bytes(model([node("Add", ("x", "w"))], [external("w.bin", dims, **entries)]).SerializeToString())
    assert message in refusal(path)


def test_external_data_is_read_and_missing_data_is_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    np.arange(8, dtype="float32").tofile(tmp_path / "sub" / "w.bin")
    path = tmp_path / "m.onnx"
    proto = model([node("Add", ("x", "w"))], [external("sub/w.bin", offset=8, length=24)])
    path.write_bytes(proto.SerializeToString())
    weights = irtool.from_onnx(path)[1]
    assert weights["w"].tolist() == [[2, 3, 4], [5, 6, 7]]
    os.remove(tmp_path / "sub" / "w.bin")
    assert "cannot read sub/w.bin, which has the initializer w: No such file" in refusal(path)
    assert "has no folder" in refusal(proto.SerializeToString())


def test_big_tensors_stay_in_the_file_until_they_are_read(tmp_path: Path) -> None:
    arrays = {f"w{n}": np.random.default_rng(n).random((1 << 19, 2), "float32") for n in range(4)}
    nodes = [node("Relu", (f"w{n}",), (f"y{n}",)) for n in range(4)]
    proto = model(
        nodes, [onnx.numpy_helper.from_array(a, n) for n, a in arrays.items()], outputs=[f"y{n}" for n in range(4)]
    )
    data = proto.SerializeToString()
    small, places = split(data)
    assert len(small) < 2000 and list(places) == list(arrays)
    path = tmp_path / "m.onnx"
    path.write_bytes(data)
    size = sum(a.nbytes for a in arrays.values())
    del proto
    tracemalloc.start()
    weights = irtool.from_onnx(path)[1]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * size
    for params in (weights, irtool.from_onnx(data)[1]):
        assert all(np.array_equal(params[n], a) for n, a in arrays.items())
    path.write_bytes(data[: len(data) // 2])
    assert "no ONNX model" in refusal(path)


def test_what_is_too_large_to_parse_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with path.open("wb") as file:
        file.truncate(3 << 30)
    tracemalloc.start()
    message = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "the file has 3221225472 bytes, of which more than 2 GB are no data of initializers" in message
    assert peak < 1 << 24


def test_data_in_another_file_is_mapped(tmp_path: Path) -> None:
    """A file of 3 GB takes neither memory nor time until its elements are wanted."""
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(3 << 30)
        file.seek(1 << 30)
        file.write(np.array([1.5, -2], "<f4").tobytes())
    path = tmp_path / "m.onnx"
    proto = model([node("Relu", ("w",))], [external("w.bin", dims=(3 << 28,))])
    path.write_bytes(proto.SerializeToString())
    tracemalloc.start()
    weights = irtool.from_onnx(path)[1]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert weights["w"][1 << 28 : (1 << 28) + 2].tolist() == [1.5, -2]
    assert peak < 1 << 24


SPARSE = helper.make_sparse_tensor(
    helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0]),
    helper.make_tensor("i", TensorProto.INT64, [1], [5]),
    [2**40, 8],
)
FIELD = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
CASES = {
    "no opset": (lambda: _without_opset(), "opset"),
    "cycle": (lambda: model([node(ins=("z",)), node("Tanh", ("y",), ("z",))]), "the graph has a cycle"),
    "two makers": (lambda: model([node(), node("Tanh")]), "two nodes make y"),
    "two inputs": (lambda: model([node()], inputs=[FIELD]), "two inputs are called x"),
    "two initializers": (
        lambda: model([node("Add", ("x", "w"))], [helper.make_tensor("w", 1, [1], [1.0])] * 2), "two initializers are called w"
    ),
    "missing input": (lambda: model([node("Add", ("x", "w"))]), "is made by no node"),
    "missing output": (lambda: model([node()], outputs=("z",)), "is made by no node"),
    "no outputs": (lambda: model([node()], outputs=()), "has no outputs"),
    "too few inputs": (lambda: model([node("Add", ("x",))]), "needs its input"),
    "a gap among inputs": (lambda: model([node("Sum", ("x", "", "x"))]), "needs its input 1"),
    "too many inputs": (lambda: model([node("Relu", ("x", "x"))]), "1 inputs at most"),
    "attribute of another kind": (lambda: model([node("Softmax", axis="last")]), "axis of Softmax is of kind STRING"),
    "attribute of nobody": (lambda: model([node("Softmax", axi=1)]), "no attribute axi"),
    "huge tensor": (lambda: model([node("Add", ("x", "w"))], [TensorProto(name="w", data_type=1, dims=[2**62, 2**62])]), "shape"),
    "declared tensor": (lambda: model([node("Add", ("x", "w"))], [TensorProto(name="w", data_type=1, dims=[2**40])]), "elements"),
    "negative extent": (lambda: model([node("Add", ("x", "w"))], [TensorProto(name="w", data_type=1, dims=[-1])]), "shape (-1)"),
    "strings": (lambda: model([node("Add", ("x", "w"))], [helper.make_tensor("w", 8, [1], [b"a"])]), "string"),
    "sparse": (lambda: model([node("Add", ("x", "w"))], sparse=[SPARSE]), "sparse initializer w"),
    "calls itself": (lambda: model([node("F", domain="own")], functions=[_function("F", "F")]), "own.F calls itself"),
    "a billion laughs": (lambda: model([node("F0", domain="own")], functions=[*_laughs()]), "functions expanded"),
    "two types": (
        lambda: model([node("MatMul", ("x", "w"))], [helper.make_tensor("w", 7, [3], [1, 2, 3])]), "of float32 and int64"
    ),
    "a type that roots do not take": (
        lambda: model([node("Sqrt", ("w",))], [helper.make_tensor("w", 7, [1], [4])]), "X of Sqrt is of int64, which"
    ),
    "a condition of floats": (lambda: model([node("Where", ("x", "x", "x"))]), "condition of Where is of float32, which"),
}  # fmt: skip


def _without_opset():
    proto = model([node()])
    del proto.opset_import[:]
    return proto


def _function(name: str, callee: str, times: int = 1):
    names = ["a", *(f"t{n}" for n in range(times - 1)), "b"]
    calls = [node(callee, (i,), (o,), domain="own") for i, o in pairwise(names)]
    return helper.make_function("own", name, ["a"], ["b"], calls, [helper.make_opsetid("own", 1)])


def _laughs():
    for n in range(40):
        yield _function(f"F{n}", f"F{n + 1}", 2)
    relu = [node("Relu", ("a",), ("b",))]
    yield helper.make_function("own", "F40", ["a"], ["b"], relu, [helper.make_opsetid("", 17)])


@pytest.mark.parametrize("case", CASES)
def test_what_contradicts_itself_is_refused(case: str) -> None:
    make, message = CASES[case]
    start = time.monotonic()
    refused = refusal(make())
    assert message in refused, refused
    assert time.monotonic() - start < 5


def test_bytes_that_are_no_model_are_refused() -> None:
    data = model([node()]).SerializeToString()
    for damaged in (
        b"",
        b"\x08",
        b"\x08\x08\x3a\xff\xff\xff\xff\x7f",
        bytes(100),
        data[:-3],
        b"\xff" * 1000,
        b"<ir_version: 8",
    ):
        assert "E1001" in refusal(damaged)
    name = data.replace(b"Relu", b"\xff\xfe\xfd\xfc")
    assert "not UTF-8: " in refusal(name)


def test_every_unsupported_operator_is_named_at_once() -> None:
    nodes = [node("Frob", ("x",), (f"a{n}",), name=f"frob{n}") for n in range(12)] + [
        node("Twist", ("a3",), domain="acme")
    ]
    message = refusal(model(nodes))
    assert (
        "Frob, which 12 nodes have: frob0, " in message
        and "and 4 more" in message
        and "acme.Twist, which 1 node has" in message
    )


def test_many_nodes_take_time_in_proportion() -> None:
    seconds = []
    for count in (1_000, 4_000):
        nodes = [node("Relu", (f"v{n}" if n else "x",), (f"v{n + 1}",)) for n in range(count)]
        proto = model(nodes, outputs=(f"v{count}",))
        start = time.process_time()
        irtool.from_onnx(proto)
        seconds.append(time.process_time() - start)
    assert seconds[1] < 8 * seconds[0] + 1, seconds
