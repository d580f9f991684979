"""irtool: `opt` and `llc` for Relay.

Everything public is here; each name is imported on first use, so that `import irtool` costs nothing::

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
    from .diagnostics import Diagnostic, IrError
    from .driver.build import build
    from .infer import infer_types
    from .interp.evaluate import evaluate
    from .ir import Module
    from .ir.structural import structural_equal, structural_hash
    from .parser import parse_expr
    from .passes import run_passes
    from .printer import to_text

_WHERE = {
    "parse_expr": ".parser",
    "to_text": ".printer",
    "infer_types": ".infer",
    "evaluate": ".interp",
    "run_passes": ".passes",
    "build": ".driver",
    "structural_equal": ".ir.structural",
    "structural_hash": ".ir.structural",
    "Module": ".ir",
    "IrError": ".diagnostics",
    "Diagnostic": ".diagnostics",
}

__all__ = [
    "Diagnostic",
    "IrError",
    "Module",
    "__version__",
    "build",
    "evaluate",
    "infer_types",
    "parse",
    "parse_expr",
    "run_passes",
    "structural_equal",
    "structural_hash",
    "to_text",
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


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(importlib.import_module(_WHERE[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'irtool' has no attribute {name!r}")
