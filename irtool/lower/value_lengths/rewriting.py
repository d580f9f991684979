"""A module whose shapes follow from values, with lengths in the place of every `?`.

Functions are rewritten from operands to results: each call of an operator with a `?` takes its form with lengths, and what is computed
from it is typed again. Results of the entry have their extents as further results behind them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...infer.infer import infer_expr, infer_types
from ...ir import (
    Call,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    Module,
    Op,
    TensorType,
    Tuple,
    Var,
    post_order,
    rewrite,
)
from ...ir.types import has_static_shapes, type_leaves
from ...ir.untyped import untyped
from ...ops.base import call
from ...ops.onnx_node import is_waiting, settle_call
from ...passes import run_passes
from ...passes.core.beta_reduction import reduce_literals
from ...passes.core.let_inlining import rewrite_lets
from .equalities import typed
from .forms import Forms
from .fresh import Fresh, Unbounded
from .growth import Growth
from .parts import parts_of, whole_of
from .ranges import Range, RangeAnalysis
from .tails import ends_with_its_calls

EXTENTS = "ResultExtents"
"""The attribute of an entry whose last results are extents of others: for each of these, the number of the result that it is of."""


def with_value_lengths(module: Module, entry: str, fresh: Fresh) -> Module:
    """The typed module in which extents that follow from values are lengths, as far as there are forms with lengths.

    What has no form keeps its `?`. Lengths without a bound are among the problems of `fresh`.
    """
    module = _with_open_callees_inlined(module, entry)
    functions: dict[str, Any] = dict(module.functions)
    growth = Growth(module, fresh, lambda known: _Rewriting(module, fresh, growth, known).within)
    loops = {name for name, f in module.relay_functions.items() if _takes_open(f) and ends_with_its_calls(f, name)}
    for name, f in module.relay_functions.items():
        if not f.attrs.get("Primitive") and _is_open(f) and (name == entry or name not in loops):
            functions[name] = _Rewriting(module, fresh, growth).run(f)
    functions.update(growth.functions)
    changed = _without_unused(infer_types(module.with_functions(functions)), loops)
    main = changed[entry]
    if isinstance(main, Function) and fresh.symbols:
        changed = infer_types(changed.with_function(entry, _with_extents(main, fresh)))
    return changed


def _without_unused(module: Module, names: set[str]) -> Module:
    """The module without those of these functions that others do not call any more."""
    called = {
        e.op.name
        for name, f in module.relay_functions.items()
        if name not in names
        for e in post_order(f.body)
        if isinstance(e, Call) and isinstance(e.op, GlobalVar)
    }
    return module.with_functions({n: f for n, f in module.functions.items() if n not in names or n in called})


def _is_open(f: Function) -> bool:
    return any(e.checked_type is not None and not has_static_shapes(e.checked_type) for e in post_order(f.body))


def _takes_open(f: Function) -> bool:
    """True if a parameter or the result has a `?`."""
    t = f.checked_type
    types = (*t.arg_types, t.ret_type) if isinstance(t, FuncType) else ()
    return not all(map(has_static_shapes, types))


def _with_open_callees_inlined(module: Module, entry: str) -> Module:
    """The module without functions that take or give a `?`, but those that call themselves: their bodies are where they were called."""
    asked: dict[str, Any] = {}
    for name, f in module.relay_functions.items():
        if name != entry and _takes_open(f) and not f.attrs.get("Primitive"):
            asked[name] = f.with_attr("Inline", 1)
    return (
        run_passes(module.with_functions({**module.functions, **asked}), "Inline", opt_level=3, instruments=())
        if asked
        else module
    )


class _Rewriting:
    """The rewriting of one function."""

    def __init__(self, module: Module, fresh: Fresh, growth: Growth, known: Mapping[Expr, Any] | None = None) -> None:
        self.module = module
        self.fresh = fresh
        self.growth = growth
        self.forms = Forms(RangeAnalysis(), fresh)
        self.forms.ranges.known.update(known or {})
        self.frame: set[Expr] = set()

    def run(self, f: Function) -> Function:
        """The function; its result may have another type."""
        f = infer_expr(reduce_literals(f), self.module)
        body = self.rewritten(f.body)
        if body is f.body:
            return f
        return Function(f.params, body, None, f.type_params, f.attrs, f.span, None, f.virtual_device)

    def within(self, e: Expr, frame: set[Expr]) -> Expr:
        """The same, but for expressions of the frame: they stay without types."""
        self.frame = frame
        return self.rewritten(reduce_literals(e))

    def rewritten(self, e: Expr) -> Expr:
        """An expression, typed; values of `let`s with a `?` stand where their variables did."""
        return rewrite_lets(e, self._replaced, self.leave, _closed)

    def _replaced(self, var: Var, value: Expr) -> Expr | None:
        """The value in the place of a variable whose type has a `?`; of others, the range is that of the value."""
        if _has_unknown(var):
            return value
        if isinstance(value.checked_type, TensorType):
            self.forms.ranges.known[var] = self.forms.ranges.of(value)
        return None

    def leave(self, old: Expr, e: Expr) -> Expr:
        """The replacement of a node over rewritten operands."""
        if old in self.frame:
            return e
        if isinstance(e, If) and _differ(e):
            e = self.joined(e)
        if _has_unknown(e) and not isinstance(e, Var):
            e = untyped(e)  # it may have a `?` because something else has one that was to be of the same type
        if e.checked_type is None:
            e = typed(e, self.module, self.fresh)
        if isinstance(e, Call) and isinstance(e.op, GlobalVar):
            return self.called(e)
        if not isinstance(e, Call) or not isinstance(e.op, Op) or not _has_unknown(e):
            return e
        if not all(a.checked_type is not None and has_static_shapes(a.checked_type) for a in e.args):
            return e
        if is_waiting(e):
            settled = settle_call(e)
            if settled is e:
                return e
            inside: dict[Expr, Expr] = {a: a for a in e.args}
            return rewrite(infer_expr(settled, self.module), self.leave, _closed, inside)
        try:
            return self.forms.of(e) or e
        except Unbounded:
            return e

    def called(self, e: Call) -> Expr:
        """A call of a function: of one with lengths, if it calls itself and leaves extents open."""
        assert isinstance(e.op, GlobalVar)
        f = self.module.functions.get(e.op.name)
        if not isinstance(f, Function) or not _takes_open(f):
            return e
        try:
            return self.growth.of(e, self.forms.ranges) or e
        except Unbounded:
            return e

    def joined(self, e: If) -> Expr:
        """A branch whose arms have other extents, which are one length each behind it."""
        types = [arm.checked_type for arm in (e.true_branch, e.false_branch)]
        assert types[0] is not None and types[1] is not None
        try:
            arms = self._retyped([e.true_branch, e.false_branch], e)
        except Unbounded:
            return e
        return e if arms is None else If(e.cond, arms[0], arms[1], e.span)

    def _retyped(self, arms: list[Expr], e: Expr) -> list[Expr] | None:
        """The arms with one type: extents in which they differ are new lengths, which each arm sets. None for arms of other ranks."""
        parts = [parts_of(a) for a in arms]
        if any(p is None for p in parts) or len({len(p) for p in parts if p is not None}) != 1:
            return None
        columns: list[list[Expr]] = [[] for _ in arms]
        for row in zip(*(p for p in parts if p is not None), strict=True):
            same = self._as_one(list(row), e)
            if same is None:
                return None
            for column, x in zip(columns, same, strict=True):
                column.append(x)
        form = arms[0].checked_type
        return [whole_of(form, iter(c)) for c in columns]

    def _as_one(self, arms: list[Expr], e: Expr) -> list[Expr] | None:
        types = [a.checked_type for a in arms]
        tensors = [t for t in types if isinstance(t, TensorType)]
        if len(tensors) != len(arms) or len({(len(t.shape), t.dtype) for t in tensors}) != 1:
            return None
        shape: list[Any] = []
        lengths: list[int] = []
        places: list[int] = []
        for axis, extents in enumerate(zip(*(t.shape for t in tensors), strict=True)):
            if all(d == extents[0] for d in extents):
                shape.append(extents[0])
                continue
            if not all(isinstance(d, int) for d in extents):
                return None
            most = max(Range(0, d).most or 0 for d in extents if isinstance(d, int))
            shape.append(self.fresh.length(Range(0, most), e, f"the extent of axis {axis} of a branch"))
            lengths.append(shape[-1])
            places.append(axis)
        if not lengths:
            return arms
        result = []
        for a in arms:
            data = call("length.set", a, call("shape_of", a, dtype="int64"), lengths=lengths, places=places)
            result.append(infer_expr(call("length.cut", data, shape=shape, span=a.span)))
        return result


def _closed(e: Expr) -> Expr | None:
    """Functions inside of functions stay as they are."""
    return e if isinstance(e, Function) else None


def _has_unknown(e: Expr) -> bool:
    t = e.checked_type
    return t is not None and not has_static_shapes(t) and all(isinstance(x, TensorType) for x in type_leaves(t))


def _differ(e: If) -> bool:
    a, b = e.true_branch.checked_type, e.false_branch.checked_type
    return a is not None and b is not None and a != b


def _with_extents(f: Function, fresh: Fresh) -> Function:
    """The entry with the extents of its results as further results, where they follow from values."""
    parts = parts_of(f.body)
    if parts is None:
        return f
    own = [
        n
        for n, p in enumerate(parts)
        if isinstance(p.checked_type, TensorType)
        and fresh.has_any(d for d in p.checked_type.shape if isinstance(d, int))
    ]
    if not own:
        return f
    extents = tuple(call("shape_of", parts[n], dtype="int64") for n in own)
    body = Tuple((f.body, *extents))
    attrs = {**f.attrs, EXTENTS: own}
    return Function(f.params, body, None, f.type_params, attrs, f.span, None, f.virtual_device)


__all__: list[str] = ["EXTENTS", "with_value_lengths"]
