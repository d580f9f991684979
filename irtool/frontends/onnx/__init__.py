"""ONNX models as Relay: `from_onnx(model) -> (Module, params)`.

package      the `onnx` package, imported when it is needed
load         files, bytes and text as protos; `external`: data beside the model
read         protos as plain data (`model`), each node with a place in a listing
support      what has no form in Relay, all of it before anything is converted
importer     a model as a module; `inputs`, `initializers`, `names`
graph        the nodes of a graph, in `order`, as `value`s of Relay; `functions`
operator     what an operator becomes; `operators`: one class each, found by name
arithmetic   what operators share: `sliding` windows and `pools`, `normalize`, `resampling`, `dot_product`, `tuples`
groups       what exporters write out in parts, recognised in the whole function
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
