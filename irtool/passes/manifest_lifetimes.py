"""ManifestLifetimes: says of every variable when it is used for the last time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..diagnostics import IrError
from ..ir import (
    Call,
    Expr,
    Function,
    If,
    Let,
    Match,
    Module,
    PatternVar,
    Var,
    binders,
    bound_vars,
    children,
    free_variables_of_functions,
    let_chain,
    post_order,
    rewrite,
    substitute,
    use_counts,
)
from ..ops.base import call, is_call_to
from ..trampoline import trampoline
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .core.let_inlining import rewrite_lets
from .core.lexical_devices import without_device
from .core.primitive_functions import is_primitive
from .devices.configuration import UNKNOWN


@register_pass("ManifestLifetimes", level=0)
@dataclass(frozen=True)
class ManifestLifetimes(FunctionPass):
    """Frees each variable with `memory.kill` directly after the binding with its last use.

    ::

        let %y = add(%x, %x); let %z = exp(%y); %z
            ⇒  let %y = add(%x, %x); let %x_0 = memory.kill(%x); let %z = exp(%y); let %x_1 = memory.kill(%y); %z

    Last uses come from a liveness analysis over branches. Aliases of a variable (`let %y = %x`, also through `on_device` or
    a `device_copy` within one device) are first replaced by the original, since no value may be freed twice. A branch frees
    variables with their last use in it; variables without a last use in a binding are not freed: results, and variables that
    another branch needs.

    Takes programs in A-normal form (see ToANormalForm), where values and branches are bound by `let`. In a local function
    only its own variables are freed, since it may be called again.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if is_primitive(function):  # a kernel, in which nothing is allocated
            return function
        function = _without_second_names(function)
        for e, count in use_counts(function).items():
            if isinstance(e, Let) and count > 1:
                raise _not_normal(e)
        lifetimes = _Lifetimes(free_variables_of_functions(function))
        trampoline(lifetimes.function(function, None))
        return _with_kills(function, lifetimes.kills)


def _not_normal(e: Expr) -> IrError:
    return IrError(
        "ManifestLifetimes takes programs in A-normal form",
        e.span,
        help="run ToANormalForm first: --passes=ToANormalForm,ManifestLifetimes",
    )


def _without_second_names(function: Function) -> Function:
    def first_name(var: Var, value: Expr) -> Expr | None:
        value = without_device(value)
        if is_call_to(value, "device_copy"):
            assert isinstance(value, Call)
            ends = (value.attrs.src_virtual_device or UNKNOWN, value.attrs.dst_virtual_device or UNKNOWN)
            src, dst = ((d.device_type, d.virtual_device_id) for d in ends)
            if src == dst:
                value = value.args[0]
        return value if isinstance(value, Var) else None

    function = rewrite_lets(function, first_name)
    names: dict[Var, Expr] = {}
    for e in post_order(function):
        if isinstance(e, Match):
            data = without_device(e.data)
            if isinstance(data, Var):
                names.update({c.pattern.var: data for c in e.clauses if isinstance(c.pattern, PatternVar)})
    for var, first in names.items():
        while first in names:
            first = names[first]
        names[var] = first
    return substitute(function, names)


Steps = Generator[Any, Any, None]


class _Lifetimes:
    """Walks blocks of `let`s backwards.

    Attributes:
        free: the variables that each function uses from outside.
        kills: for each `let`, the variables that it uses last, in order of use.
    """

    def __init__(self, free: Mapping[Function, list[Var]]) -> None:
        self.free = free
        self.kills: dict[Let, list[Var]] = {}
        self._live: set[Var] = set()
        self._added: list[list[Var]] = [[]]
        self._own: set[Var] | None = None

    def function(self, f: Function, own: set[Var] | None) -> Steps:
        """Looks at a function's body; `own` are the variables that may be freed there (None: all)."""
        body = f.body
        if f.attrs.get("Closure") and isinstance(body, Function):
            body = body.body  # Called with its captured variables and its arguments at once.
        outside = self._live, self._added, self._own
        self._live, self._added, self._own = set(), [[]], own
        yield self._block(body)
        self._live, self._added, self._own = outside

    def _block(self, e: Expr) -> Steps:
        """Computes the live variables before a block from those after it."""
        lets, body = let_chain(e)
        if isinstance(without_device(body), If | Match):
            raise _not_normal(body)
        self._use(self._used(body))
        for let in reversed(lets):
            inner = without_device(let.value)
            if isinstance(inner, If):
                yield self._branches([(inner.true_branch, ()), (inner.false_branch, ())])
            elif isinstance(inner, Match):
                yield self._branches([(c.body, bound_vars(c.pattern)) for c in inner.clauses])
            elif isinstance(inner, Function) and not inner.attrs.get("Primitive"):
                inside = post_order(inner.body, enter=lambda e: not isinstance(e, Function))
                yield self.function(inner, {*inner.params, *(v for e in inside for v in _bound_here(e))})
            used = [v for v in self._used(let.value) if v is not let.var]
            if not is_call_to(inner, "memory.kill"):
                last = [v for v in used if v not in self._live and (self._own is None or v in self._own)]
                if last:
                    self.kills[let] = last
            self._live.discard(let.var)
            self._use(used)

    def _branches(self, branches: Sequence[tuple[Expr, Iterable[Var]]]) -> Steps:
        before: list[Var] = []
        for body, bound in branches:
            self._added.append([])
            yield self._block(body)
            self._live.difference_update(bound)
            added = [v for v in self._added.pop() if v in self._live]
            before += added
            self._live.difference_update(added)
        self._use(before)

    def _use(self, variables: Iterable[Var]) -> None:
        for v in variables:
            if v not in self._live:
                self._live.add(v)
                self._added[-1].append(v)

    def _used(self, value: Expr) -> list[Var]:
        """The variables that a binding itself needs: of a branch its condition only; of a function its captures."""
        inner = without_device(value)
        root = inner.cond if isinstance(inner, If) else inner.data if isinstance(inner, Match) else inner
        variables: dict[Var, None] = {}
        for e in post_order(root, enter=lambda e: not isinstance(e, Function)):
            if isinstance(e, Var):
                variables[e] = None
            elif isinstance(e, Function):
                variables.update(dict.fromkeys(self.free[e]))
            elif isinstance(e, Let | If | Match):
                raise _not_normal(e)
        return list(variables)


def _bound_here(e: Expr) -> tuple[Var, ...]:
    return () if isinstance(e, Function) else binders(e)


def _with_kills(function: Function, kills: dict[Let, list[Var]]) -> Function:
    names = _named(function, kills)

    def leave(old: Expr, new: Expr) -> Expr:
        if not isinstance(old, Let) or old not in names:
            return new
        assert isinstance(new, Let)
        body = new.body
        for name, var in reversed(names[old]):
            body = Let(name, call("memory.kill", var), body)
        return Let(new.var, new.value, body, new.span)

    return rewrite(function, leave) if names else function


def _named(function: Function, kills: dict[Let, list[Var]]) -> dict[Let, list[tuple[Var, Var]]]:
    """Each variable to free with a variable for the `()` that this gives, numbered in the order of the text."""
    names: dict[Let, list[tuple[Var, Var]]] = {}
    count = 0
    stack: list[Expr] = [function]
    entered: set[Let] = set()
    while stack:
        e = stack.pop()
        if isinstance(e, Let) and e not in entered:
            entered.add(e)
            stack += [e.body, e, e.value]
        elif isinstance(e, Let):
            for var in kills.get(e, ()):
                names.setdefault(e, []).append((Var(f"x_{count}"), var))
                count += 1
        else:
            stack.extend(reversed(children(e)))
    return names
