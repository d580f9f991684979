"""Type inference: a type for every expression of a module, or errors that say why there is none."""

from .infer import infer_expr, infer_known_types, infer_types
from .partial import PartialTypes, infer_partial

__all__ = ["PartialTypes", "infer_expr", "infer_known_types", "infer_partial", "infer_types"]
