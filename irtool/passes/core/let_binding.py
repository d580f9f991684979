"""Binding of nodes with `let` in the scope of their evaluation: the common part of the two normal forms."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from ...ir import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    with_function,
)
from ...ir.expr import Constructor
from ...ir.scope import Scope, Scopes
from ...trampoline import trampoline
from .lexical_devices import LexicalDevices, fix_device, is_fixed, known
from .primitive_functions import separate_primitives

Binding = tuple[Var, Expr]


class Bindings:
    """The `let`s of a scope, in order. Another list can be appended in constant time."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Binding | Bindings] = []

    def __iter__(self) -> Iterator[Binding]:
        stack: list[Iterator[Binding | Bindings]] = [iter(self.items)]
        while stack:
            for item in stack[-1]:
                if isinstance(item, Bindings):
                    stack.append(iter(item.items))
                    break
                yield item
            else:
                stack.pop()


class LetBlock:
    """`let`s around a body that is no `let`; written out as nodes only where something needs the expression."""

    __slots__ = ("bindings", "body", "result")

    def __init__(self, bindings: Bindings, body: Expr) -> None:
        self.bindings = bindings
        self.body = body
        self.result: Expr | None = None

    def expr(self) -> Expr:
        """The nested `let`s."""
        if self.result is None:
            self.result = self.body
            for var, value in reversed(list(self.bindings)):
                self.result = Let(var, value, self.result)
        return self.result


class LetList:
    """`let`s in the order in which they are evaluated."""

    __slots__ = ("items", "names")

    def __init__(self, names: FreshVars) -> None:
        self.items: list[Binding] = []
        self.names = names

    def push(self, value: Expr, name: Var | None = None) -> Var:
        """Binds a value, to a fresh variable unless one is given."""
        name = name or self.names.fresh()
        self.items.append((name, value))
        return name

    def wrap(self, body: Expr) -> Expr:
        """The `let`s around `body`."""
        for var, value in reversed(self.items):
            body = Let(var, value, body)
        return body


class FreshVars:
    """Fresh variables `x_0`, `x_1`, …"""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self) -> Var:
        var = Var(f"x_{self.count}")
        self.count += 1
        return var


def bind(root: Function, names: FreshVars, every: bool) -> Function:
    """`root` with nodes bound by `let` in the scopes in which they are evaluated.

    Binds every node that is not atomic if `every`, otherwise only those whose scope is not that of their first use.
    Nodes that stay unbound and unchanged are the same objects as before.
    """
    root = separate_primitives(root)
    return _Binder(root, names, every).run(root)  # type: ignore[return-value]  # nothing is bound around a function that is the root


Steps = Generator[Any, Any, Any]


class _Binder:
    def __init__(self, root: Expr, names: FreshVars, every: bool) -> None:
        self.scopes = Scopes(root)
        self.names = names
        self.every = every
        self.lists: dict[Scope, Bindings] = {}
        self.memo: dict[Expr, Expr | LetBlock] = {}
        self.devices = LexicalDevices()
        self.depth = 0

    def run(self, root: Expr) -> Expr:
        if not self.every and not self.scopes.lifted and _is_settled(self.scopes):
            return root
        body = trampoline(self.visit(root))
        return self.close(self.scopes.of[root], body)

    def list(self, scope: Scope) -> Bindings:
        result = self.lists.get(scope)
        if result is None:
            result = self.lists[scope] = Bindings()
        return result

    def close(self, scope: Scope, body: Expr | LetBlock) -> Expr:
        """The bindings of a scope that is complete, around its body."""
        return LetBlock(self.list(scope), _expr(body)).expr()

    def block(self, scope: Scope, body: Expr | LetBlock) -> LetBlock:
        """The same, not written out yet; bindings of a body that is used nowhere else are taken over."""
        bindings = self.list(scope)
        if isinstance(body, LetBlock):
            bindings.items.append(body.bindings)
            body = body.body
        return LetBlock(bindings, body)

    def visit(self, e: Expr, var: Var | None = None) -> Steps:
        """The replacement of `e` at its uses; if `var` is given, that variable is bound to it as well."""
        done = self.memo.get(e)
        if done is not None:
            if var is not None:
                self.list(self.scopes.of[e]).items.append((var, _expr(done)))
            return done
        result = yield _VISIT[e.__class__](self, e, var)
        self.memo[e] = result
        return result

    def visit_expr(self, e: Expr) -> Steps:
        return _expr((yield self.visit(e)))

    def bound(self, e: Expr, now: Expr | LetBlock, var: Var | None) -> Expr | LetBlock:
        """`now`, which `e` has become: as it is, or the variable that it was bound to in the scope of `e`."""
        device = self.devices.of(e)
        if var is None and not self.every and e not in self.scopes.lifted:
            return now if device is None else fix_device(_expr(now), device)
        name = var or self.names.fresh()
        bindings = self.list(self.scopes.of[e])
        if isinstance(now, LetBlock):
            bindings.items.append(now.bindings)
            now = now.body
        bindings.items.append((name, fix_device(now, device)))
        return name

    def atom(self, e: Expr, var: Var | None) -> Steps:
        if var is not None:
            self.list(self.scopes.of[e]).items.append((var, e))
            return var
        return e
        yield

    def constant(self, e: Expr, var: Var | None) -> Steps:
        return self.bound(e, e, var)
        yield

    def call(self, e: Call, var: Var | None) -> Steps:
        if is_fixed(e):
            with self.devices.inside(e.attrs.virtual_device):
                inner = _expr((yield self.visit(e.args[0], var)))
            return e if inner is e.args[0] else Call(e.op, (inner,), e.attrs, e.type_args, e.span)
        args = []
        for a in e.args:
            args.append((yield self.visit_expr(a)))
        function = yield self.visit_expr(e.op)
        if function is e.op and all(a is b for a, b in zip(args, e.args)):
            return self.bound(e, e, var)
        return self.bound(e, Call(function, tuple(args), e.attrs, e.type_args, e.span), var)

    def tuple(self, e: Tuple, var: Var | None) -> Steps:
        fields = []
        for f in e.fields:
            fields.append((yield self.visit_expr(f)))
        same = all(a is b for a, b in zip(fields, e.fields))
        return self.bound(e, e if same else Tuple(tuple(fields), e.span), var)

    def tuple_get_item(self, e: TupleGetItem, var: Var | None) -> Steps:
        t = yield self.visit_expr(e.tuple)
        return self.bound(e, e if t is e.tuple else TupleGetItem(t, e.index, e.span), var)

    def ref_create(self, e: RefCreate, var: Var | None) -> Steps:
        value = yield self.visit_expr(e.value)
        return self.bound(e, e if value is e.value else RefCreate(value, e.span), var)

    def ref_read(self, e: RefRead, var: Var | None) -> Steps:
        ref = yield self.visit_expr(e.ref)
        return self.bound(e, e if ref is e.ref else RefRead(ref, e.span), var)

    def ref_write(self, e: RefWrite, var: Var | None) -> Steps:
        value = yield self.visit_expr(e.value)
        ref = yield self.visit_expr(e.ref)
        return self.bound(e, e if ref is e.ref and value is e.value else RefWrite(ref, value, e.span), var)

    def if_(self, e: If, var: Var | None) -> Steps:
        then_scope, else_scope = self.scopes.inner[e]
        false = self.close(else_scope, (yield self.visit(e.false_branch)))
        true = self.close(then_scope, (yield self.visit(e.true_branch)))
        cond = yield self.visit_expr(e.cond)
        same = cond is e.cond and true is e.true_branch and false is e.false_branch
        return self.bound(e, e if same else If(cond, true, false, e.span), var)

    def match(self, e: Match, var: Var | None) -> Steps:
        data = yield self.visit_expr(e.data)
        bodies = []
        for clause, scope in zip(e.clauses, self.scopes.inner[e], strict=True):
            bodies.append(self.close(scope, (yield self.visit(clause.body))))
        if data is e.data and all(b is c.body for b, c in zip(bodies, e.clauses)):
            return self.bound(e, e, var)
        clauses = tuple(Clause(c.pattern, b, c.span) for c, b in zip(e.clauses, bodies, strict=True))
        return self.bound(e, Match(data, clauses, e.complete, e.span), var)

    def function(self, e: Function, var: Var | None) -> Steps:
        now = e
        if not e.attrs.get("Primitive"):
            for p in e.params:
                self.devices.bind(p, p.virtual_device)
            self.depth += 1
            with self.devices.inside(e.virtual_device):
                body = self.close(self.scopes.inner[e][0], (yield self.visit(e.body)))
            self.depth -= 1
            now = e if body is e.body else with_function(e, body=body)
        return self.bound(e, now, var) if self.depth else now

    def let(self, e: Let, var: Var | None) -> Steps:
        self.devices.bind(e.var, self.devices.of(e.value))
        yield self.visit(e.value, e.var)
        body = yield self.visit(e.body)
        if isinstance(body, LetBlock) and self.scopes.uses[e.body] > 1:
            # Something else uses these `let`s as well: they must stay the same nodes.
            body = body.expr()
        return self.bound(e, self.block(self.scopes.inner[e][0], body), var)


def _expr(now: Expr | LetBlock) -> Expr:
    return now.expr() if isinstance(now, LetBlock) else now


def _is_settled(scopes: Scopes) -> bool:
    """True if binding anew would change nothing.

    So it is if what each `let` binds is used there only and is no `let` itself, and nothing tells of devices.
    """
    for e in scopes.of:
        if isinstance(e, Let):
            if scopes.uses[e.value] != 1 or isinstance(e.value, Let):
                return False
        elif is_fixed(e) or (isinstance(e, Function) and known(e.virtual_device) is not None):
            return False
    return True


_VISIT: dict[type, Any] = {
    Call: _Binder.call,
    Constant: _Binder.constant,
    Constructor: _Binder.atom,
    Function: _Binder.function,
    GlobalVar: _Binder.atom,
    If: _Binder.if_,
    Let: _Binder.let,
    Match: _Binder.match,
    Op: _Binder.atom,
    RefCreate: _Binder.ref_create,
    RefRead: _Binder.ref_read,
    RefWrite: _Binder.ref_write,
    Tuple: _Binder.tuple,
    TupleGetItem: _Binder.tuple_get_item,
    Var: _Binder.atom,
}
