"""Inline: calls of functions that ask for it are replaced by their bodies."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Call, Expr, Function, GlobalVar, Module, children, global_names, post_order, rewrite
from .core.base import ModulePass, register_pass
from .core.beta_reduction import BetaReducer
from .core.context import PassContext


@register_pass("Inline", level=1, info_name="InlineGlobals")
@dataclass(frozen=True)
class Inline(ModulePass):
    """Inlines global functions with the attribute `Inline=1` into their callers.

    ::

        def @double(%x, Inline=1) { add(%x, %x) }  def @main(%y) { @double(nn.relu(%y)) }
            ⇒  def @main(%y) { %0 = nn.relu(%y); add(%0, %0) }

    A function is inlined if it is not recursive and all its own calls are inlined; afterwards it is removed, unless it had
    no callers. Functions for other compilers become function literals at the place of the call.
    """

    takes_open_types = True

    def transform(self, module: Module, context: PassContext) -> Module:
        functions = {n: f for n, f in module.functions.items() if isinstance(f, Function)}
        calls = {n: global_names(f) for n, f in functions.items()}
        if not any(_asks(f) for f in functions.values()):
            return module
        reducer = BetaReducer()
        inlinable: dict[str, Function] = {}
        for name in _callees_first(calls):
            if name not in functions:
                continue
            functions[name] = _inlined(functions[name], inlinable, reducer)
            if _asks(functions[name]) and not global_names(functions[name]):
                inlinable[name] = functions[name]
        called = {callee for callees in calls.values() for callee in callees}
        still_called = {callee for f in functions.values() for callee in global_names(f)}
        removed = {n for n in inlinable if n in called and n not in still_called and n not in context.exported}
        return module.with_functions({n: functions.get(n, f) for n, f in module.functions.items() if n not in removed})


def _asks(f: Function) -> bool:
    return bool(f.attrs.get("Inline"))


def _callees_first(calls: dict[str, list[str]]) -> list[str]:
    order: list[str] = []
    seen: set[str] = set()
    stack = [(n, False) for n in reversed(calls)]
    while stack:
        name, ready = stack.pop()
        if ready:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            stack.extend((c, False) for c in reversed(calls.get(name, ())))
    return order


def _inlined(function: Function, inlinable: dict[str, Function], reducer: BetaReducer) -> Function:
    called_only = _called_only(function)

    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(new, GlobalVar) and new.name in inlinable and new not in called_only:
            return reducer.copy(inlinable[new.name])
        if isinstance(old, Call) and isinstance(old.op, GlobalVar) and old.op.name in inlinable:
            target = inlinable[old.op.name]
            assert isinstance(new, Call)
            if "Compiler" in target.attrs or target.attrs.get("Extern"):
                return Call(reducer.copy(target), new.args, new.attrs, new.type_args)
            return reducer.body(target, new.args, old)
        return new

    return rewrite(function, leave)


def _called_only(root: Expr) -> set[GlobalVar]:
    """Global names that occur as callees and nowhere as values."""
    called: set[Expr] = set()
    values: set[Expr] = set()
    for e in post_order(root):
        if isinstance(e, Call):
            called.add(e.op)
            values.update(e.args)
        else:
            values.update(children(e))
    return {e for e in called if isinstance(e, GlobalVar) and e not in values}
