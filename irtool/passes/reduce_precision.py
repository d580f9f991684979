"""ReducePrecision: products in a 16-bit floating-point type, everything between them in float32."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import ClassVar

from ..deferred import np
from ..diagnostics import IrError, UsageError
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    Let,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    Type,
    Var,
    children,
    post_order,
    rewrite,
    with_function,
    without_return_type,
)
from ..ir.types import distinct_leaves
from ..ops.base import Pattern, call, called_operator
from ..ops.dtypes import dtype_of
from ..symbolic_int import bound
from ..tir.dtypes import largest
from .core.base import FunctionPass, register_pass
from .core.constants import has_data, to_array
from .core.context import PassContext
from .core.primitive_functions import without_wrong_mark
from .to_mixed_precision import PrecisionConverter, type_of

_LARGEST_LAST = 0.01
"""The part of a network's products that its last layer may be, and still stay in float32."""
_LEAST_USES = 4
"""The fewest products for which a number of a variable is rounded; below it, rounding takes as long as the products."""
_LEAST_USES_OF_DATA = 16
"""The fewest products with each number of the data for which a layer is rounded to read fewer bytes of weights: rounding one takes about as
long as eight products, and half of the bytes of a weight is what one saves."""


@register_pass("ReducePrecision", level=0)
@dataclass(frozen=True)
class ReducePrecision(FunctionPass):
    """Computes products in bfloat16 or float16, sums and everything between products in float32.

    ::

        nn.relu(add(nn.conv2d(%x, %w), %b))
            ⇒  cast(nn.relu(add(nn.conv2d(cast(%x, dtype="bfloat16"), cast(%w, dtype="bfloat16"), out_dtype="float32"), %b)),
                    dtype="bfloat16")

    Operators have the classes of ToMixedPrecision, with rules of exactness of their own. Products add up in float32. What is
    elementwise behind them is computed in float32, from constants in float32, and rounded where it ends: once, for all that read
    it. Operators that are never converted (softmax, means and variances of normalisations, exponentials) read and give
    float32. Products with a variable whose elements have fewer than four uses each stay in float32: the weights of a recurrence, which would
    be rounded in every step. The last layer, on which no other product depends, stays in float32; where it is more than a hundredth of the
    network's products (a vocabulary), its operands are rounded, its sums are not. Parameters and results keep their types. Weights
    that the type does not hold are refused.

    `most_uses`: only layers with constant weights are rounded of which each element has so many uses at most: those whose time is that
    of reading weights, which become half of the bytes, where a processor has no instructions for sums of such products. 0: all layers.
    """

    changes: ClassVar[str] = "approximation"
    tolerance: ClassVar[float] = 5e-2

    dtype: str = "bfloat16"
    most_uses: float = 0.0

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if self.dtype not in ("bfloat16", "float16"):
            raise UsageError(f"dtype {self.dtype} is neither bfloat16 nor float16")
        return _Reducer(self.dtype, function, module, self.most_uses).run()


class _Reducer(PrecisionConverter):
    """The conversion of one function.

    A value that is rounded exists twice: `wide` has the one in float32 behind each rounded one. Its only reader may take that,
    if it goes on in float32, and so may several readers that are elementwise, as those of x * sigmoid(x); others read what was
    rounded, so that one value is stored.
    """

    def __init__(self, dtype: str, function: Function, module: Module, most_uses: float) -> None:
        super().__init__(dtype, function, module, keep_output=False)
        self.wide: dict[Expr, Expr] = {}
        self.rounded: dict[Expr, Expr] = {}
        self.readers: Counter[Expr] = Counter()
        order = post_order(function)
        self.last, self.exact_layers = _last_layers(order)
        if most_uses:
            self.exact_layers.update(p for p in _products(order) if not _has_gain(p, most_uses))
        self.stored: set[Expr] = set()
        for e in order:
            self.readers.update(children(e))
            if not _is_elementwise(e) and e not in self.exact_layers:
                self.stored.update(children(e))

    def run(self) -> Function:
        result = rewrite(self.function, self.leave, memo=self.memo)
        assert isinstance(result, Function)
        return result if self.changed else self.function

    def convert(self, old: Expr, new: Expr) -> Expr:
        if isinstance(old, Function):
            assert isinstance(new, Function)
            body = self.result(old.body, new.body)
            whole = new if body is new.body else with_function(new, body=body)
            return self.typed(without_return_type(without_wrong_mark(whole)))
        return super().convert(old, new)

    def result(self, old: Expr, new: Expr) -> Expr:
        """The result of a function, in its original types: unrounded if nothing else reads it."""
        if isinstance(old, Tuple) and isinstance(new, Tuple):
            fields = tuple(
                self.exact(a, b) if dtype_of(a) == "float32" else b for a, b in zip(old.fields, new.fields, strict=True)
            )
            new = new if all(a is b for a, b in zip(fields, new.fields, strict=True)) else self.typed(Tuple(fields))
        return self.restored(old, self.wide[new] if new in self.wide and self.readers[old] == 1 else new)

    def category(self, e: Call) -> str:
        if not isinstance(e.op, Op):
            return "never"  # parameters and results of functions have the types that they had
        if e in self.exact_layers:
            return "never"
        return "always" if e.op.operator.sums_products() else super().category(e)

    def call(self, old: Call, new: Call) -> Expr:
        category = self.category(old)
        if not isinstance(old.op, Op):
            args = self.as_before(old.args, tuple(map(self.typed, new.args)))
            return self.typed(Call(new.op, args, new.attrs, new.type_args, new.span))
        if any(isinstance(a, Function) for a in new.args):
            new = Call(new.op, tuple(map(self.typed, new.args)), new.attrs, new.type_args, new.span)
        result = None
        if category == "always" and dtype_of(old) == "float32":
            result = self.product(old, new)
        elif category == "follow" and self.follows(new.args):
            result = self.following(old, new)
        if result is None:
            args = tuple(self.exact(a, b) for a, b in zip(old.args, new.args, strict=True))
            result = self.typed(Call(new.op, args, new.attrs, new.type_args, new.span))
        return result

    def product(self, old: Call, new: Call) -> Expr | None:
        """A call that multiplies and adds up: operands rounded, and the result too unless it is the network's."""
        if any(isinstance(a, Var) and _uses(old, n) < _LEAST_USES for n, a in enumerate(new.args)):
            return None
        args = tuple(self.narrow(a) for a in new.args)
        field = "" if new.attrs is None else new.attrs.sums_in or new.attrs.narrowed_attribute
        attrs = replace(new.attrs, **{field: "float32"}) if field else new.attrs
        try:
            product = self.typed(Call(new.op, args, attrs, (), new.span))
        except IrError:
            return None  # the operator is for other types only
        return self.round(product) if field and old not in self.last else product

    def follows(self, args: Iterable[Expr]) -> bool:
        """True if every number that a call reads is rounded, or known when the program is built."""
        some = False
        for a in args:
            floats = [t.dtype for t in _tensors(type_of(a)) if t.dtype.startswith(("float", "bfloat"))]
            if all(d == self.dtype for d in floats) or a in self.rounded:
                some |= bool(floats)
            elif not isinstance(a, Constant):
                return False
        return some

    def following(self, old: Call, new: Call) -> Expr | None:
        """A call on rounded values: in float32 if it computes, in the rounded type if it moves elements."""
        operator = old.op.operator  # type: ignore[attr-defined]  # an operator, as the caller has seen
        if operator.pattern in (Pattern.ELEMWISE, Pattern.BROADCAST) and dtype_of(old) == "float32":
            args = tuple(self.exact(a, b) for a, b in zip(old.args, new.args, strict=True))
            return self.round(self.typed(Call(new.op, args, new.attrs, (), new.span)))
        if operator.reshapes and new.args[0] in self.wide and self.readers[old.args[0]] == 1:
            args = (self.wide[new.args[0]], *new.args[1:])
            return self.round(self.typed(Call(new.op, args, new.attrs, (), new.span)))
        return self.narrowed(old, new, [type_of(a) for a in new.args])

    def arguments(self, call: Call, types: list[Type], dtype: str, widen: bool = False) -> tuple[Expr, ...]:
        return tuple(self.narrow(a) for a in call.args)

    def exact(self, old: Expr, new: Expr) -> Expr:
        """An argument as float32."""
        if new in self.wide and (self.readers[old] == 1 or old not in self.stored):
            return self.wide[new]
        return self.casting_all(new, "float32")

    def narrow(self, e: Expr) -> Expr:
        """An argument rounded."""
        if isinstance(e, Constant):
            self.require_range(e)
        t = type_of(e)
        if isinstance(t, TensorType) and t.dtype == "float32" and not isinstance(e, Var | Constant):
            return self.round(e)
        return self.casting_all(e, self.dtype)

    def round(self, wide: Expr) -> Expr:
        """A value in float32, rounded once for all."""
        result = self.rounded.get(wide)
        if result is None:
            result = self.rounded[wide] = self.typed(call("cast", wide, dtype=self.dtype))
            self.wide[result] = wide
            self.changed = True
        return result

    def casting_all(self, e: Expr, dtype: str) -> Expr:
        """The tensors of an expression in float32 or in the smaller type, whichever is wanted; others stay as they are."""
        t = type_of(e)
        if isinstance(t, TensorType):
            if t.dtype == dtype or t.dtype not in ("float32", self.dtype):
                return e
            result = self.casts.get((e, dtype))
            if result is None:
                result = self.casts[e, dtype] = self.typed(call("cast", e, dtype=dtype))
            self.changed = True
            return result
        if all(x.dtype == dtype for x in _tensors(t) if x.dtype in ("float32", self.dtype)):
            return e
        fields = e.fields if isinstance(e, Tuple) else [self.typed(TupleGetItem(e, i)) for i in range(len(t.fields))]  # type: ignore[attr-defined]  # what has tensors of several types inside is a tuple
        return self.typed(Tuple(tuple(self.casting_all(f, dtype) for f in fields)))

    def require_range(self, weight: Constant) -> None:
        t = type_of(weight)
        if self.dtype != "float16" or not has_data(weight) or not isinstance(t, TensorType) or t.dtype != "float32":
            return
        data = np.abs(to_array(weight))
        most = float(np.max(data, where=np.isfinite(data), initial=0.0))
        if most > largest(self.dtype):
            raise IrError(
                f"a weight of {most:g} is beyond float16, which ends at {largest(self.dtype):g}",
                weight.span,
                help="bfloat16 has the range of float32",
            )


def _last_layers(order: list[Expr]) -> tuple[set[Call], set[Call]]:
    """The products on which no other one depends, and those of them that are small enough to stay as they are."""
    products = _products(order)
    bound = {e.var: e.value for e in order if isinstance(e, Let)}
    seen: set[Expr] = set()
    stack = [a for p in products for a in p.args]
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        stack.extend([bound[e]] if isinstance(e, Var) and e in bound else children(e))
    last = {p for p in products if p not in seen}
    whole = sum(map(_work, products))
    return last, {p for p in last if _work(p) <= _LARGEST_LAST * whole}


def layers_without_gain(function: Function, most_uses: float) -> tuple[int, int]:
    """The number of layers that `most_uses` leaves in float32, and that of all layers. Layers are products in float32 but for the last ones, which
    stay by another rule."""
    order = post_order(function)
    _, last = _last_layers(order)
    layers = [p for p in _products(order) if dtype_of(p) == "float32" and p not in last]
    return sum(not _has_gain(p, most_uses) for p in layers) if most_uses else 0, len(layers)


def _products(order: Iterable[Expr]) -> list[Call]:
    return [e for e in order if isinstance(e, Call) and isinstance(e.op, Op) and e.op.operator.sums_products()]


def _has_gain(product: Call, most_uses: float) -> bool:
    """True if a layer reads constant weights seldom, so that rounding its data costs little of the bytes that it saves."""
    if len(product.args) < 2 or not isinstance(product.args[1], Constant):
        return False
    return round(_uses(product, 1), 6) <= most_uses and _uses(product, 0) >= _LEAST_USES_OF_DATA


def _work(product: Call) -> float:
    """About how many products are added up, from the sizes of operands and result: exact for matrices."""
    sizes = [_size(type_of(a)) for a in product.args[:2]]
    return sqrt(prod(sizes) * _size(type_of(product)))


def _uses(product: Call, number: int) -> float:
    """About how many products each element of an operand is in."""
    return _work(product) / max(1, _size(type_of(product.args[number])))


def _size(t: Type) -> int:
    return bound(sum(prod(d if isinstance(d, int) else 1 for d in x.shape) for x in _tensors(t)))


def _tensors(t: Type) -> list[TensorType]:
    return [x for x in distinct_leaves(t) if isinstance(x, TensorType)]


def _is_elementwise(e: Expr) -> bool:
    operator = called_operator(e)
    return operator is not None and operator.pattern in (Pattern.ELEMWISE, Pattern.BROADCAST)
