"""irtool: `opt` and `llc` for Relay.

What is public is here, the rooms of the project (`irtool.passes`, `irtool.relay`, `irtool.ir` …) among it; each name is
imported on first use, so that `import irtool` costs nothing::

    import irtool

    module = irtool.parse(open("net.relay").read(), filename="net.relay")
    module = irtool.run_passes(module, "SimplifyInference,FuseOps")
    print(irtool.to_text(module))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .diagnostics import ConversionWarning, Diagnostic, IrError
    from .driver.artifact import Artifact
    from .driver.build import build
    from .driver.create_schedule import create_schedule
    from .driver.loading import load
    from .frontends.gguf import from_gguf
    from .frontends.onnx import from_onnx
    from .frontends.tflite import from_tflite
    from .infer import infer_types
    from .interp.evaluate import evaluate
    from .ir import Module
    from .ir import Module as IRModule
    from .ir.structural import structural_equal, structural_hash
    from .ir.target import Target
    from .lower.lower_call import lower_call
    from .parser import parse_expr
    from .passes import PassContext, run_passes
    from .plugin import load_plugins
    from .printer import to_text
    from .quantization import QuantizeOptions, quantize
    from .training import TrainOptions, TrainStep, train_step

_WHERE = {
    "parse_expr": ".parser",
    "to_text": ".printer",
    "infer_types": ".infer",
    "evaluate": ".interp.evaluate",
    "run_passes": ".passes",
    "build": ".driver.build",
    "from_gguf": ".frontends.gguf",
    "from_onnx": ".frontends.onnx",
    "from_tflite": ".frontends.tflite",
    "load": ".driver.loading",
    "Artifact": ".driver.artifact",
    "lower_call": ".lower.lower_call",
    "create_schedule": ".driver.create_schedule",
    "structural_equal": ".ir.structural",
    "structural_hash": ".ir.structural",
    "Module": ".ir",
    "IRModule": ".ir",
    "Target": ".ir.target",
    "PassContext": ".passes",
    "load_plugins": ".plugin",
    "quantize": ".quantization.quantizing",
    "QuantizeOptions": ".quantization.options",
    "TrainOptions": ".training.options",
    "TrainStep": ".training.step",
    "train_step": ".training.step",
    "ConversionWarning": ".diagnostics",
    "IrError": ".diagnostics",
    "Diagnostic": ".diagnostics",
}

__all__ = [
    "Artifact",
    "ConversionWarning",
    "Diagnostic",
    "IRModule",
    "IrError",
    "Module",
    "PassContext",
    "QuantizeOptions",
    "Target",
    "TrainOptions",
    "TrainStep",
    "__version__",
    "build",
    "create_schedule",
    "evaluate",
    "from_gguf",
    "from_onnx",
    "from_tflite",
    "infer_types",
    "load",
    "load_plugins",
    "lower_call",
    "parse",
    "parse_expr",
    "quantize",
    "run_passes",
    "structural_equal",
    "structural_hash",
    "to_text",
    "train_step",
]


def parse(text: str, filename: str = "<text>") -> Module:
    """The module a text describes, with the type of every expression that the text decides.

    `filename` is what messages call the text. Raises IrError, with one diagnostic per mistake, where the text is not
    Relay or its types contradict each other. Where nothing decides a type, it stays open: `infer_types`, and every pass
    that needs types, says then what to annotate. `irtool.parser.parse` reads without looking at types.
    """
    from .infer import infer_known_types
    from .parser import parse as read

    return infer_known_types(read(text, filename))[0]


_OTHER_NAME = {"IRModule": "Module"}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name], __name__), _OTHER_NAME.get(name, name))
        globals()[name] = value
        return value
    if name.startswith("_"):  # as inspect and pytest ask of every module that they see: no advice is looked for
        raise AttributeError(f"module 'irtool' has no attribute {name!r}")
    if name in _submodules():
        return importlib.import_module(f".{name}", __name__)
    from .diagnostics import nearest
    from .ir.tvm_names import counterpart

    help = counterpart("irtool", name) or nearest(name, __dir__())
    raise AttributeError(f"module 'irtool' has no attribute {name!r}" + (f": {help}" if help else ""))


def __dir__() -> list[str]:
    return sorted({*__all__, *_submodules(), *(n for n in globals() if n.startswith("__"))})


def _submodules() -> list[str]:
    import pkgutil

    return [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
