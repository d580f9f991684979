"""The interface of `onnx.backend`: `irtool.onnx_backend.prepare(model).run(inputs)`.

Programs that take any backend of ONNX, as ONNX's own suite does, take this module. Models are compiled to C; `engine="interp"` evaluates them in
the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx.backend.base import Backend, BackendRep

from .diagnostics import IrError, UsageError

ENGINES = ("c", "llvm", "interp")


class Representation(BackendRep):
    """A model that is ready to run."""

    def __init__(self, run: Any, outputs: int) -> None:
        self._run = run
        self._outputs = outputs

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, for inputs in order, by name, or a single one. Raises IrError for inputs that do not fit."""
        values = inputs if isinstance(inputs, list | tuple | dict) else [inputs]
        result = self._run(values)
        return (result,) if self._outputs == 1 else tuple(result)


class IrtoolBackend(Backend):
    """irtool as a backend of ONNX."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """True if every node of the model has a form in Relay."""
        from .frontends.onnx import from_onnx

        if not cls.supports_device(device):
            return False
        try:
            from_onnx(model, constants=True)
        except IrError:
            return False
        return True

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", engine: str = "c", **kwargs: Any) -> Representation:
        """Compiles a model; further arguments are those of `irtool.build`.

        Raises IrError for a model that cannot be compiled, UsageError for another device than `CPU` and for an unknown engine.
        """
        from .driver.build import build
        from .frontends.onnx import from_onnx
        from .interp.evaluate import evaluate

        if not cls.supports_device(device):
            raise UsageError(f"models run on the device CPU, not on {device}")
        if engine not in ENGINES:
            raise UsageError(f"engine={engine!r} is not one of {', '.join(ENGINES)}")
        module, _ = from_onnx(model, constants=True)
        count = len(model.graph.output)
        if engine == "interp":
            return Representation(lambda inputs: evaluate(module, inputs), count)
        return Representation(build(module, target=engine, **kwargs).run, count)

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model. Raises as `prepare` and `run` do."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Sequence[Any], device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of a single node on arrays. Raises as `prepare` and `run` do."""
        import numpy as np
        from onnx import TensorProto, helper

        arrays = [np.asarray(x) for x in inputs]
        names = [n for n in node.input if n]
        values = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in zip(names, arrays, strict=True)
        ]
        results = [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in node.output]
        graph = helper.make_graph([node], "node", values, results)
        return cls.run_model(helper.make_model(graph), arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True for `CPU`."""
        return device.split(":")[0] == "CPU"


is_compatible = IrtoolBackend.is_compatible
prepare = IrtoolBackend.prepare
run_model = IrtoolBackend.run_model
run_node = IrtoolBackend.run_node
supports_device = IrtoolBackend.supports_device
