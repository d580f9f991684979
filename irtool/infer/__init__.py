"""Type inference: a type for every expression of a module, or errors that say why there is none."""

from .infer import infer_expr, infer_known_types, infer_types
from .partial import PartialTypes, UnknownNode, infer_partial
from .specialize import param_types, require_types, specialize

__all__ = [
    "PartialTypes",
    "UnknownNode",
    "infer_expr",
    "infer_known_types",
    "infer_partial",
    "infer_types",
    "param_types",
    "require_types",
    "specialize",
]
