"""A build behind the interface of TVM's graph executor: `set_input`, `run`, `get_output`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....diagnostics import UsageError, nearest
from ..nd import NDArray, array, wrapped


def factory(artifact: Any) -> Callable[..., GraphModule]:
    """The value of `lib["default"]`: called with a device, it makes the module that runs."""

    def make(*devices: Any) -> GraphModule:
        return GraphModule(artifact)

    return make


class GraphModule:
    """Runs an artifact: inputs are set by name or index, `run` computes, outputs are read.

    `GraphModule(lib["default"](device))` and `GraphModule(lib)` are the same.
    """

    def __init__(self, module: Any) -> None:
        self.artifact: Any = module.artifact if isinstance(module, GraphModule) else module
        self._values: dict[str, Any] = {}
        self._outputs: tuple[Any, ...] | None = None

    def set_input(self, key: str | int | None = None, value: Any = None, **params: Any) -> None:
        """Sets an input, by name or index, or several by name. Of several, names that are no inputs are left out, as in TVM:
        weights that the build has taken in. Raises UsageError for a single unknown input."""
        names = self._names()
        if isinstance(key, int) and not 0 <= key < len(names):
            raise UsageError(f"there are {len(names)} inputs, none of index {key}")
        if key is not None:
            name = names[key] if isinstance(key, int) else key
            if name not in names:
                raise UsageError(f"there is no input {name}: there is {', '.join(names)}", help=nearest(name, names))
            self._values[name] = array(value)
        self._values.update({n: array(v) for n, v in params.items() if n in names})

    def run(self, **inputs: Any) -> None:
        """Computes the outputs. Raises IrError if an input was not set, or does not fit."""
        self.set_input(**inputs)
        result = self.artifact.run({n: v.numpy() for n, v in self._values.items()})
        self._outputs = _flat(wrapped(result))

    def get_output(self, index: int, out: Any = None) -> NDArray:
        """An output, or, written there, `out`. Raises UsageError before the first run."""
        if self._outputs is None:
            raise UsageError("there are no outputs yet: call run")
        if out is not None:
            out[...] = self._outputs[index]
            return out
        return self._outputs[index]

    def get_input(self, index: str | int) -> NDArray | None:
        """An input as it was set, or None."""
        return self._values.get(self._names()[index] if isinstance(index, int) else index)

    def get_num_outputs(self) -> int:
        """The number of outputs."""
        return len(self.artifact.outputs)

    def get_num_inputs(self) -> int:
        """The number of inputs."""
        return len(self._names())

    def _names(self) -> list[str]:
        return [t["name"] for t in self.artifact.inputs]


def create(graph_json_str: Any, libmod: Any, device: Any) -> GraphModule:
    """A module that runs a build; its graph is in it."""
    return GraphModule(libmod)


def _flat(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        return (value,)
    waiting, flat = list(reversed(value)), []
    while waiting:
        v = waiting.pop()
        if isinstance(v, tuple):
            waiting.extend(reversed(v))
        else:
            flat.append(v)
    return tuple(flat)
