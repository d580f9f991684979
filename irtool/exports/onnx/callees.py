"""Reachability between functions, to tell loops from calls that are inlined."""

from __future__ import annotations

from ...ir import Call, Expr, Function, GlobalVar, Let, Module, Var, post_order


class Callees:
    """The functions of a module, those bound by `let` and literals among them."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.bound: dict[Var, Function] = {}
        for f in module.relay_functions.values():
            for e in post_order(f):
                if isinstance(e, Let) and isinstance(e.value, Function):
                    self.bound[e.var] = e.value
        self._direct: dict[Function, list[Function]] = {}
        self._reached: dict[Function, frozenset[Function]] = {}

    def function(self, e: Expr) -> Function | None:
        """The function that an expression names, or None."""
        if isinstance(e, GlobalVar):
            function = self.module.functions.get(e.name)
            return function if isinstance(function, Function) else None
        if isinstance(e, Var):
            return self.bound.get(e)
        return e if isinstance(e, Function) else None

    def named_in(self, f: Function) -> list[Function]:
        """The functions that the body of one names, in order."""
        if f not in self._direct:
            named = (self.function(e) for e in post_order(f.body) if isinstance(e, GlobalVar | Var | Function))
            self._direct[f] = list(dict.fromkeys(g for g in named if g is not None))
        return self._direct[f]

    def reached(self, f: Function) -> frozenset[Function]:
        """Every function that calls in one lead to, itself only if it is recursive."""
        if f not in self._reached:
            seen: dict[Function, None] = {}
            stack = list(self.named_in(f))
            while stack:
                g = stack.pop()
                if g not in seen:
                    seen[g] = None
                    stack.extend(self.named_in(g))
            self._reached[f] = frozenset(seen)
        return self._reached[f]

    def is_recursive(self, f: Function) -> bool:
        return f in self.reached(f)

    def constant_params(self, f: Function) -> list[bool]:
        """For each parameter, whether every call by which a function reaches itself hands it on as it is."""
        constant = [True] * len(f.params)
        others = [g for g in self.reached(f) if g is not f and f in self.reached(g)]
        inside = {e for e in post_order(f.body) if isinstance(e, Function)}
        if any(g not in inside for g in others):
            return [False] * len(f.params)
        for e in post_order(f.body):
            if isinstance(e, Call) and self.function(e.op) is f:
                constant = [k and a is p for k, a, p in zip(constant, e.args, f.params, strict=True)]
        return constant
