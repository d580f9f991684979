"""Type inference: a type for every expression of a module, or errors that say why there is none."""

from .infer import infer_expr, infer_types

__all__ = ["infer_expr", "infer_types"]
