"""ToMixedPrecision: computes in float16 or bfloat16 where that is safe and pays."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..diagnostics import IrError, Span, UsageError
from ..ir import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    Module,
    Op,
    RefCreate,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
    post_order,
    rewrite,
    with_binders,
    without_return_type,
)
from ..ir.spans import place_by_operands
from ..ir.types import distinct_leaves, require_few_leaves
from ..ops.base import call
from ..trampoline import trampoline
from .core.base import FunctionPass, register_pass
from .core.config_option import ConfigOption
from .core.context import PassContext
from .core.primitive_functions import without_wrong_mark


@register_pass(
    "ToMixedPrecision",
    level=0,
    config={
        "relay.ToMixedPrecision.keep_orig_output_dtype": ConfigOption(bool, False, "cast results back to their types")
    },
)
@dataclass(frozen=True)
class ToMixedPrecision(FunctionPass):
    """Converts operators to a 16-bit floating-point type.

    ::

        nn.relu(nn.conv2d(%x, %w))
            ⇒  nn.relu(nn.conv2d(cast(%x, dtype="float16"), cast(%w, dtype="float16"), out_dtype="float16"))
        nn.softmax(%y)   with %y in float16   ⇒  nn.softmax(cast(%y, dtype="float32"))

    Convolutions and matrix products are always converted, exponentials and sums never, other operators if their inputs are
    converted. `mixed_precision_type` is float16 or bfloat16 (as in TVM, bfloat16 is cast back only when it meets float32). Each
    operator states its precision class (see `irtool ops NAME`). Operators without one are treated like other operators;
    `missing_op_mode` selects an error (0), a warning (1) or silence (2) for them. With the pass option
    relay.ToMixedPrecision.keep_orig_output_dtype, results are cast back to their original types. Intermediate results are
    rounded to the smaller type, and the function's result may change its type. Operators for float32 only, such as quantized
    ones with their scales, stay in float32. What references hold, function literals take, and branches give that would come to
    differ, keeps its type.
    """

    changes: ClassVar[str] = "approximation"
    tolerance: ClassVar[float] = 5e-2

    mixed_precision_type: str = "float16"
    missing_op_mode: int = 1

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if self.mixed_precision_type not in ("float16", "bfloat16", "float32", "float64"):
            raise UsageError(f"mixed_precision_type {self.mixed_precision_type} is no floating-point type")
        if self.missing_op_mode not in (0, 1, 2):
            raise UsageError(f"missing_op_mode is 0, 1 or 2, not {self.missing_op_mode}")
        keep = context.option("relay.ToMixedPrecision.keep_orig_output_dtype", False)
        converter = PrecisionConverter(self.mixed_precision_type, function, module, keep)
        result = converter.run()
        for name, (first, count) in converter.missing.items():
            message = f"operator {name} has no precision class (it is called {count} times)"
            if self.missing_op_mode == 0:
                raise IrError(message, first.span)
            if self.missing_op_mode == 1:
                context.warn(message, first.span)
        return result


class PrecisionConverter:
    def __init__(self, dtype: str, function: Function, module: Module, keep_output: bool) -> None:
        self.dtype = dtype
        self.function = function
        self.module = module
        self.keep_output = keep_output
        self.casts: dict[tuple[Expr, str], Expr] = {}
        self.missing: dict[str, tuple[Call, int]] = {}
        self.memo: dict[Expr, Expr] = {}
        self.changed = False
        self.bound_to: dict[Expr, list[Var]] = {}
        for e in post_order(function):
            if isinstance(e, Let):
                self.bound_to.setdefault(e.value, []).append(e.var)

    def run(self) -> Function:
        result = rewrite(self.function, self.leave, memo=self.memo)
        assert isinstance(result, Function)
        return result if self.changed else self.function

    def leave(self, old: Expr, new: Expr) -> Expr:
        result = self.convert(old, new)
        for var in self.bound_to.get(old, ()):
            self.memo[var] = Var(var.name, result.checked_type, var.span, result.checked_type, var.virtual_device)
        return result

    def convert(self, old: Expr, new: Expr) -> Expr:
        if isinstance(old, Call):
            assert isinstance(new, Call)
            return self.call(old, new)
        if isinstance(new, Let):
            assert isinstance(old, Let)
            return self.typed(with_binders(new, {old.var: self.memo.get(old.var, old.var)}))  # type: ignore[dict-item]  # a variable becomes a variable
        if isinstance(new, Function):
            # typed here, once: each of several calls would otherwise infer a copy of its own
            return self.typed(without_return_type(without_wrong_mark(new)))
        if isinstance(old, RefCreate | RefWrite) and isinstance(new, RefCreate | RefWrite):
            value = self.restored(old.value, new.value)
            stored = RefCreate(value, new.span) if isinstance(new, RefCreate) else RefWrite(new.ref, value, new.span)
            return self.typed(new if value is new.value else stored)
        if isinstance(old, If) and isinstance(new, If):
            true, false = self.alike((old.true_branch, old.false_branch), (new.true_branch, new.false_branch))
            same = true is new.true_branch and false is new.false_branch
            return self.typed(new if same else If(new.cond, true, false, new.span))
        if isinstance(old, Match) and isinstance(new, Match):
            bodies = self.alike([c.body for c in old.clauses], [c.body for c in new.clauses])
            if all(b is c.body for b, c in zip(bodies, new.clauses, strict=True)):
                return self.typed(new)
            clauses = tuple(Clause(c.pattern, b, c.span) for c, b in zip(new.clauses, bodies, strict=True))
            return self.typed(Match(new.data, clauses, new.complete, new.span))
        if isinstance(new, Tuple) and old is self.function.body and self.keep_output:
            return self.original_tuple(old, self.typed(new))
        return self.typed(new)

    def typed(self, e: Expr) -> Expr:
        from ..infer import infer_expr

        place_by_operands(e)
        return e if e.checked_type is not None else infer_expr(e, self.module)

    def original_tuple(self, old: Expr, new: Expr) -> Expr:
        types, now = old.checked_type, new.checked_type
        assert isinstance(types, TupleType) and isinstance(now, TupleType)
        fields = []
        for i, (was, t) in enumerate(zip(types.fields, now.fields, strict=True)):
            part = self.typed(TupleGetItem(new, i))
            fields.append(self.cast(part, t, was.dtype) if isinstance(was, TensorType) else part)
        changed = any(was != t for was, t in zip(types.fields, now.fields, strict=True))
        return self.typed(Tuple(tuple(fields), new.span)) if changed else new

    def call(self, old: Call, new: Call) -> Expr:
        category = self.category(old)
        if any(isinstance(a, Function) for a in new.args):
            new = Call(new.op, tuple(map(self.typed, new.args)), new.attrs, new.type_args, new.span)
        types = [type_of(a) for a in new.args]
        if category == "follow":
            fits = all(
                self.is_converted(t, old.span) or isinstance(a, Var | Constant)
                for a, t in zip(new.args, types, strict=True)
            )
            category = "always" if fits else "never"
        if isinstance(old.op, Function):
            return self.typed(Call(new.op, self.as_before(old.args, new.args), new.attrs, (), new.span))
        result = None if category == "never" else self.narrowed(old, new, types)
        if result is None:
            floats = {dtype for t in types for dtype in _float_dtypes(t)}
            arguments = self.arguments(new, types, "float32", widen="bfloat16" in floats and len(floats) > 1)
            return self.typed(Call(new.op, arguments, new.attrs, (), new.span))
        was = old.checked_type
        if self.keep_output and old is self.function.body and isinstance(was, TensorType) and was.dtype != self.dtype:
            return self.cast(result, result.known_type, was.dtype)
        return result

    def narrowed(self, old: Call, new: Call, types: list[Type]) -> Expr | None:
        """The call in the wanted type; None if the operator refuses arguments of that type."""
        was = old.checked_type
        counts = isinstance(was, TensorType) and not was.dtype.startswith(("float", "bfloat"))
        attributes = new.attrs if counts else self.attributes(new.attrs)
        changed = self.changed
        arguments = self.arguments(new, types, self.dtype)
        self.changed |= attributes != new.attrs
        try:
            return self.typed(Call(new.op, arguments, attributes, (), new.span))
        except IrError:
            self.changed = changed
            return None

    def arguments(self, call: Call, types: list[Type], dtype: str, widen: bool = False) -> tuple[Expr, ...]:
        return tuple(self.cast(a, t, dtype, widen) for a, t in zip(call.args, types, strict=True))

    def as_before(self, old: Sequence[Expr], new: Sequence[Expr]) -> tuple[Expr, ...]:
        """Expressions in the types that they had."""
        return tuple(self.restored(a, b) for a, b in zip(old, new, strict=True))

    def alike(self, old: Sequence[Expr], new: Sequence[Expr]) -> tuple[Expr, ...]:
        """Branches of one type: in the types that they had where they came to differ."""
        same = all(type_of(e) == type_of(new[0]) for e in new)
        return tuple(new) if same else self.as_before(old, new)

    def restored(self, old: Expr, new: Expr) -> Expr:
        """`new` in the type that `old` has: a reference holds it, the signature of a function literal says it."""
        if isinstance(new, Function):
            return new  # the type of the reference determines its result
        was, now = type_of(old), type_of(new)
        if now == was:
            return new
        require_few_leaves(now)
        return trampoline(self.casting(new, now, was, True))

    def category(self, e: Call) -> str:
        if isinstance(e.op, Function):
            return "never"
        if not isinstance(e.op, Op):
            raise IrError(
                "ToMixedPrecision handles operators and function literals only", e.span, help="inline the call first"
            )
        stated = e.op.operator.precision
        if not stated:
            first, count = self.missing.get(e.op.name, (e, 0))
            self.missing[e.op.name] = (first, count + 1)
        return stated or "follow"

    def attributes(self, attrs: Any) -> Any:
        if attrs is None:
            return None
        field = attrs.narrowed_attribute
        if not field:
            return attrs
        now = getattr(attrs, field)
        return dataclasses.replace(attrs, **{field: self.dtype}) if now == "" or now.startswith("float") else attrs

    def is_converted(self, t: Type, span: Span | None) -> bool:
        """True if every floating-point tensor of the type is already of the wanted type."""
        for part in distinct_leaves(t):
            if not isinstance(part, TensorType):
                raise IrError(f"ToMixedPrecision handles tensors and tuples only, not {part!r}", span)
            if part.dtype != self.dtype and part.dtype.startswith(("float", "bfloat")):
                return False
        return True

    def cast(self, e: Expr, t: Type, dtype: str, widen: bool = False) -> Expr:
        """`e`, of type `t`, with its floating-point tensors cast. A cast is made once, and casting back undoes it.

        Values in bfloat16 are left, unless told to `widen` them too.
        """
        prefixes = ("float", "bfloat") if widen else ("float",)
        if not any(
            isinstance(x, TensorType) and x.dtype.startswith(prefixes) and x.dtype != dtype for x in distinct_leaves(t)
        ):
            return e
        require_few_leaves(t)
        return trampoline(self.casting(e, t, dtype, widen))

    def casting(self, e: Expr, t: Type, target: str | Type, widen: bool) -> Generator[Any, Any, Expr]:
        """`cast` without a look at all of the type first; `target` may be the type that `e` once had."""
        if isinstance(t, TupleType):
            each = target.fields if isinstance(target, TupleType) else (target,) * len(t.fields)
            parts = [self.typed(TupleGetItem(e, i)) for i in range(len(t.fields))]
            fields = []
            for part, field, kind in zip(parts, t.fields, each, strict=True):
                fields.append((yield self.casting(part, field, kind, widen)))
            same = all(a is b for a, b in zip(parts, fields, strict=True))
            return e if same else self.typed(Tuple(tuple(fields)))
        if not isinstance(t, TensorType):
            return e  # the contents of a reference or a function among the fields stay unchanged
        if isinstance(target, TensorType):
            target = target.dtype
        assert isinstance(target, str)
        if not t.dtype.startswith(("float", "bfloat") if widen else "float") or t.dtype == target:
            return e
        result = self.casts.get((e, target))
        self.changed = True
        if result is None:
            result = self.casts[e, target] = self.typed(call("cast", e, dtype=target))
            self.casts[result, t.dtype] = e
        return result


def type_of(e: Expr) -> Type:
    """The type of an expression: only variables have none that was inferred, and they have annotations."""
    result = e.checked_type or (e.type_annotation if isinstance(e, Var) else None)
    assert result is not None
    return result


def _float_dtypes(t: Type) -> list[str]:
    """The floating-point types in a tensor or tuple."""
    return [
        p.dtype for p in distinct_leaves(t) if isinstance(p, TensorType) and p.dtype.startswith(("float", "bfloat"))
    ]
