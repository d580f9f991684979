"""TensorFlow Lite models as Relay: `from_tflite(model) -> (Module, params)`.

package      the packages `tflite` and `flatbuffers`, imported when they are needed
recognise    a model by its first bytes
read         the file as plain data (`model`), within bounds; `options`: the attributes of an operator
versions     the versions of operators that are known
support      operators without a form in Relay, all reported before conversion
importer     a model as a module
graph        the operators of a subgraph, in order; `states`: variables
operator     conversion of an operator; `operators`: one class each, found by name
quantities   scales and zero points, and arithmetic with them as the reference kernels do it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .importer import from_tflite as from_tflite


def __getattr__(name: str) -> Any:
    if name == "from_tflite":
        from .importer import from_tflite

        return from_tflite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
