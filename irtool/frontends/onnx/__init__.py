"""ONNX models as Relay: `from_onnx(model) -> (Module, params)`.

package      the `onnx` package, imported when it is needed
load         files, bytes and text as protos; `external`: data beside the model
read         protos as plain data (`model`), each node with a place in a listing
support      operators without a form in Relay, all reported before conversion
importer     a model as a module; `inputs`, `initializers`, `names`
graph        the nodes of a graph, in `order`, as `value`s of Relay; `functions`
operator     conversion of an operator; `operators`: one class each, found by name
arithmetic   shared parts of operators: `sliding` windows and `pools`, `normalize`, `resampling`, `dot_product`, `tuples`
groups       operators that exporters write in parts, recognised in the whole function
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .importer import from_onnx as from_onnx


def __getattr__(name: str) -> Any:
    if name == "from_onnx":
        from .importer import from_onnx

        return from_onnx
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
