"""LabelOps: labels functions with a structural hash and the layouts of their operators, for profilers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ..ir import Call, Expr, Function, Module, post_order, rewrite, with_function
from ..ir.tvm_hash import tvm_hash
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.function_keys import DEEPEST, FunctionKeys, nesting


@register_pass("LabelOps", level=1)
@dataclass(frozen=True)
class LabelOps(FunctionPass):
    """Adds a structural hash and the layouts of its operators to each function's attributes.

    ::

        fn (%p0, Primitive=1) { layout_transform(%p0, src_layout="NCHW", dst_layout="NHWC") }
            ⇒  fn (%p0, Primitive=1, hash="08c0c0…", src_layout="NCHW", dst_layout="NHWC") { … }

    The hash equals TVM's wherever TVM's is reproducible, which excludes functions with free variables or global functions,
    and very deeply nested ones. The names of variables do not matter. If two operators of a function have an attribute of the
    same name, the last one counts. A function that already has a hash is left alone.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        depths = nesting(function)
        keys = FunctionKeys(function) if max(depths.values()) > DEEPEST else None

        def leave(old: Expr, new: Expr) -> Expr:
            if not isinstance(old, Function) or not isinstance(new, Function) or "hash" in new.attrs:
                return new
            number = tvm_hash(new) if keys is None or depths[old] <= DEEPEST else keys.digest[old]
            return with_function(new, attrs={**new.attrs, "hash": f"{number:016x}", **_layouts(new)})

        return rewrite(function, leave)


def _layouts(function: Function) -> dict[str, Any]:
    """Attributes with `layout` in their names of the calls in a function, those of functions inside it left out."""
    result: dict[str, Any] = {}
    for e in post_order(function.body, enter=lambda e: not isinstance(e, Function)):
        if isinstance(e, Call) and dataclasses.is_dataclass(e.attrs):
            for f in dataclasses.fields(e.attrs):
                if "layout" in f.name:
                    result[f.name] = getattr(e.attrs, f.name)
    return result
