"""SplitArgs: concatenations of too many tensors are done in stages."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import UsageError
from ..ir import Call, Expr, Function, Module, Tuple, TupleType, rewrite, with_function
from ..ir.meta import MetaNode
from ..ir.target import Target
from ..ops.base import call, is_call_to
from .core.base import FunctionPass, register_pass
from .core.context import PassContext


@register_pass("SplitArgs", level=1, required=("InferType",))
@dataclass(frozen=True)
class SplitArgs(FunctionPass):
    """Splits a `concatenate` whose kernel would have more arguments than the target allows.

    ::

        concatenate((%a, %b, %c))     ⇒     concatenate((annotation.stop_fusion(concatenate((%a, %b))),
                                                         annotation.stop_fusion(concatenate((%c,)))))
                                            with max_function_args=3: two inputs and one output

    Options:
        max_function_args: maximum number of inputs and outputs together; negative: no limit. Default: the option
            `-max_function_args` of the target (31 for Metal).
    """

    max_function_args: int | None = None

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        limit = _limit_of(context.target) if self.max_function_args is None else self.max_function_args
        if limit < 0:
            return function
        split = rewrite(function, lambda old, new: _split(old, new, limit))
        assert isinstance(split, Function)
        # As TVM does; what lowering notes on a module (its loop nests, their constants) is nothing that a function can say.
        attrs = {k: v for k, v in module.attrs.items() if isinstance(v, MetaNode | str | int | float)}
        if all(split.attrs.get(k) is v for k, v in attrs.items()):
            return split
        return with_function(split, attrs={**split.attrs, **attrs})


def _limit_of(target: Target | None) -> int:
    limit = target.attributes.get("max_function_args", -1) if target is not None else -1
    if not isinstance(limit, int):
        raise UsageError(f"the target option max_function_args is no integer: {limit}")
    return limit


def _split(old: Expr, new: Expr, arguments: int) -> Expr:
    if not is_call_to(old, "concatenate"):
        return new
    assert isinstance(old, Call)
    inputs, result = old.args[0], old.checked_type
    if not isinstance(inputs, Tuple):
        return new
    limit = arguments - (len(result.fields) if isinstance(result, TupleType) else 1)
    fields = inputs.fields
    if len(fields) < limit or limit <= 0:
        return new
    axis = old.attrs.axis
    parts = [
        call("annotation.stop_fusion", call("concatenate", Tuple(fields[i : i + limit]), axis=axis))
        for i in range(0, len(fields), limit)
    ]
    return call("concatenate", Tuple(tuple(parts)), axis=axis)
