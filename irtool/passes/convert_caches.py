"""ConvertCaches: the caches of a network take another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..deferred import np
from ..diagnostics import Diagnostic, IrError, UsageError, nearest
from ..infer import infer_expr
from ..interp.evaluate import evaluate_expr
from ..ir import Call, Constant, Expr, Function, Module, Tuple, Var, rewrite, with_function, without_return_type
from ..ir.tensor_names import (
    FIRST_VALUES,
    INPUT_DIMS,
    INPUT_SHAPES,
    INPUTS,
    OUTPUT_DIMS,
    OUTPUTS,
    STATES,
    first_values,
    state_outputs,
)
from .caches.forms import DTYPES, Form, form_of, rows_of, updated_part
from .caches.updates import Cache, caches_of, results_of, updated
from .core.base import ModulePass, register_pass
from .core.constants import array_constant
from .core.context import PassContext
from .core.mistakes import CannotTransform, WrongPassOption


@register_pass("ConvertCaches", level=1)
@dataclass(frozen=True)
class ConvertCaches(ModulePass):
    """Keeps the caches of a network, states to which steps add rows, in another dtype; `int8`: with a scale for each row.

    ::

        def @main(%past: Tensor[(1, 8, past, 64), float32], %k: …, state_outputs=[1, -1]) {
          %0 = concatenate((%past, %k), axis=2); (f(%0), %0) }          with dtype="bfloat16"
            ⇒  def @main(%past: Tensor[(1, 8, past, 64), bfloat16], %k: …, state_outputs=[1, -1]) {
                 %0 = concatenate((%past, cast(%k, dtype="bfloat16")), axis=2); (f(cast(%0, dtype="float32")), %0) }

    A cache is a state of floats whose next value is the state with rows behind it, or with rows written into it. Its rows are rounded once,
    when a step adds them; all that reads the cache, the step itself included, reads the rounded rows. With `int8`, rows are
    quantized along the last axis, which has the elements of a head: the state `past` has the scales in a further one, `past_scale`.

    Options:
        dtype: `float16`, `bfloat16`, `float32` or `int8`.
    """

    changes: ClassVar[str] = "interface"

    dtype: str

    def transform(self, module: Module, context: PassContext) -> Module:
        if self.dtype not in DTYPES:
            message = f"dtype of ConvertCaches is {', '.join(DTYPES[:-1])} or {DTYPES[-1]}, not {self.dtype}"
            raise UsageError(message, help=nearest(self.dtype, DTYPES), code=WrongPassOption)
        caches = {name: list(caches_of(f)) for name, f in module.relay_functions.items()}
        if not any(caches.values()):
            stateful = next((f for f in module.relay_functions.values() if state_outputs(f)), None)
            message = "no state is a cache, to which steps add rows" if stateful else "there are no states"
            span = stateful.span if stateful is not None else None
            raise IrError(
                message, span, help="--state auto keeps the inputs that look like states", code=CannotTransform
            )
        changed = {}
        for name, f in module.relay_functions.items():
            others = [c for c in caches[name] if c.type.dtype != self.dtype]
            if others:
                changed[name] = _Conversion(f, others, self.dtype).function()
        return module.with_functions({**module.functions, **changed}) if changed else module


class _Conversion:
    """The conversion of the caches of a typed function."""

    def __init__(self, function: Function, caches: Sequence[Cache], dtype: str) -> None:
        self.old, self.caches = function, {c.param: c for c in caches}
        self.forms: dict[Var, Form] = {c.param: form_of(dtype, c.type) for c in caches}
        self.owners = {u: c.param for c in caches for u in c.updates}
        problems = [(c.param, reason) for c in caches if (reason := self.forms[c.param].obstacle(c))]
        if problems:
            raise IrError(
                Diagnostic(f"the cache %{p.name} cannot be in {dtype}: {reason}", p.span, code=CannotTransform)
                for p, reason in problems
            )
        self.parts: dict[Expr, tuple[Expr, ...]] = {}

    def function(self) -> Function:
        """The function with converted caches; its types are to be inferred."""
        old = self.old
        names = {p.name for p in old.params}
        params: list[Var] = []
        memo: dict[Expr, Expr] = {}
        for p in old.params:
            if p not in self.caches:
                params.append(p)
                continue
            parts = []
            for suffix, t in self.forms[p].types(self.caches[p].type).items():
                name = _own_name(p.name + suffix, names) if suffix else p.name
                parts.append(Var(name, t, p.span))
            params += parts
            self.parts[p] = tuple(parts)
            memo[p] = self._real(p, p)
        fields = [rewrite(e, self._leave, memo=memo) for e in results_of(old)]
        scales: list[Expr] = []
        for c in self.caches.values():
            fields[c.output], *others = self.parts[c.updates[-1]]
            scales += others
        is_tuple = isinstance(old.body, Tuple) or bool(scales)
        body = Tuple((*fields, *scales), old.body.span) if is_tuple else fields[0]
        return with_function(without_return_type(old), params=tuple(params), body=body, attrs=self._attrs(len(fields)))

    def _real(self, e: Expr, p: Var) -> Expr:
        """The numbers of the cache `p`, or of the update `e` of it."""
        return self.forms[p].real(self.parts[e], self.caches[p].type)

    def _leave(self, old: Expr, new: Expr) -> Expr:
        before = updated(old) if old in self.owners else None
        if before is None or not isinstance(old, Call) or not isinstance(new, Call):
            return new
        p = self.owners[old]
        form = self.forms[p]
        rows = [form.rows(r, self.caches[p].type.dtype) for r in rows_of(new)]
        parts = (updated_part(form, n, old, new, part, rows) for n, part in enumerate(self.parts[before]))
        self.parts[old] = tuple(parts)
        return self._real(old, p)

    def _attrs(self, outputs: int) -> dict[str, Any]:
        """The attributes of the function: those that have an entry for each parameter or output have one for each scale, too."""
        old = self.old
        attrs: dict[str, Any] = dict(old.attrs)
        states = state_outputs(old)
        numbers, names, dims, shapes = [], [], [], []
        own = dict(zip(old.params, attrs.get(INPUTS, ()), strict=False))
        model_dims = dict(zip(old.params, attrs.get(INPUT_DIMS, ()), strict=False))
        model_shapes = dict(zip(old.params, attrs.get(INPUT_SHAPES, ()), strict=False))
        next_names, next_dims = list(attrs.get(OUTPUTS, ())), list(attrs.get(OUTPUT_DIMS, ()))
        next_output = outputs
        for p in old.params:
            suffixes = [s for s in self._suffixes(p) if s]
            numbers += [states.get(p, -1), *range(next_output, next_output + len(suffixes))]
            names += [own[p], *(own[p] + s for s in suffixes)] if p in own else []
            dims += [model_dims[p], *([*model_dims[p][:-1], ""] for _ in suffixes)] if p in model_dims else []
            shapes += (
                [model_shapes[p], *([[*x[:-1], 1] for x in model_shapes[p]] for _ in suffixes)]
                if p in model_shapes
                else []
            )
            if len(next_names) == next_output:
                next_names += [next_names[states[p]] + s for s in suffixes]
            if len(next_dims) == next_output:
                next_dims += [[*next_dims[states[p]][:-1], ""] for _ in suffixes]
            next_output += len(suffixes)
        changed: dict[str, Any] = {STATES: numbers, INPUTS: names, INPUT_DIMS: dims, INPUT_SHAPES: shapes}
        changed |= {OUTPUTS: next_names, OUTPUT_DIMS: next_dims, FIRST_VALUES: self._first_values()}
        return {**attrs, **{n: v for n, v in changed.items() if n in attrs}}

    def _suffixes(self, p: Var) -> Sequence[str]:
        return [*self.forms[p].types(self.caches[p].type)] if p in self.caches else []

    def _first_values(self) -> dict[str, Constant]:
        """The constants with which states begin, converted."""
        values = first_values(self.old)
        for p, c in self.caches.items():
            begin = values.pop(p.name, None)
            if begin is None:
                continue
            for e, part in zip(self.forms[p].rows(begin, c.type.dtype), self.parts[p], strict=True):
                assert isinstance(part, Var)
                t = part.type_annotation
                values[part.name] = array_constant(np.asarray(evaluate_expr(infer_expr(e))), t.dtype)  # type: ignore[union-attr]  # a tensor's
        return values


def _own_name(name: str, names: set[str]) -> str:
    """A name that no parameter has; `names` gets it."""
    while name in names:
        name += "_"
    names.add(name)
    return name
