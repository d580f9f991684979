"""Defunctionalization: programs that pass functions around become first-order ones."""

from __future__ import annotations

import re
from collections.abc import Container, Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from ..diagnostics import IrError
from ..ir import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    Match,
    Module,
    PatternConstructor,
    PatternVar,
    Type,
    TypeCall,
    TypeData,
    Var,
    children,
    free_variables,
    rebuild,
    substitute,
    with_function,
)
from ..ir.types import rewrite_type, type_children
from ..trampoline import trampoline
from .core.base import ModulePass, register_pass
from .core.beta_reduction import reduce_literals
from .core.context import PassContext
from .core.instantiation import types_of_call
from .partial.copying import Identities

Steps = Generator[Any, Any, Any]


@register_pass("Defunctionalization", level=0, required=("InferType",))
@dataclass(frozen=True)
class Defunctionalization(ModulePass):
    """Encodes function arguments as data and their application as a `match` (Reynolds, 1972).

    ::

        def @main(%l: List[float32]) { @map(fn (%x) { add(%x, %a) }, %l) }
            ⇒  type Defunc_… { Fn1(float32) }
               def @apply_…(%f: Defunc_…, %x: float32) { match (%f) { Fn1(%a) => (fn (%x) { add(%x, %a) })(%x) } }
               def @map_…(%f: Defunc_…, %l: List[float32]) { … @apply_…(%f, %head) … }
               def @main(%l: List[float32]) { @map_…(Fn1(%a), %l) }

    Starts from @main. Higher-order functions are cloned for the types that they are called with; a function literal that is
    applied where it stands is inlined. A function argument must be a variable, a global function or a function literal;
    functions must not be returned, bound by `let` or stored in data.
    """

    def transform(self, module: Module, context: PassContext) -> Module:
        main = module.functions.get("main")
        if not isinstance(main, Function):
            raise IrError("Defunctionalization starts from @main, which the module does not have")
        if main.type_params:
            raise IrError("@main must not have type parameters", main.span)
        for p in main.params:
            if _holds_function(p.checked_type):
                raise IrError(f"parameter %{p.name} of @main must not hold a function", p.span)
        if _holds_function(main.ret_type):
            raise IrError("@main must not return a function", main.span)
        return _Defunctionalizer(module).run(main)


def _holds_function(t: Type | None) -> bool:
    stack = [] if t is None else [t]
    seen: set[int] = set()
    while stack:
        t = stack.pop()
        if isinstance(t, FuncType):
            return True
        if id(t) not in seen:
            seen.add(id(t))
            stack.extend(type_children(t))
    return False


def _identifier(t: Type) -> str:
    return re.sub(r"\W+", "_", repr(t)).strip("_")


def _fresh(hint: str, taken: Container[str]) -> str:
    """The name, with a number where something else has it."""
    numbered = (f"{hint}_{n}" for n in count(2))
    return hint if hint not in taken else next(n for n in numbered if n not in taken)


def _instantiate(t: FuncType, arguments: Sequence[Type]) -> FuncType:
    bindings: Mapping[Type, Type] = dict(zip(t.type_params, arguments, strict=True))
    function_type = rewrite_type(FuncType(t.arg_types, t.ret_type), lambda leaf: bindings.get(leaf, leaf))
    assert isinstance(function_type, FuncType)
    return function_type


class _Defunctionalizer:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions = dict(module.functions)
        self.clauses: dict[str, list[Clause]] = {}
        self.constructors: dict[str, list[Constructor]] = {}
        self.headers: dict[str, tuple[GlobalTypeVar, FuncType]] = {}
        self.encoded: dict[tuple[str, str], Constructor] = {}
        self.memo: dict[Expr, Expr] = {}
        self.keys: dict[FuncType, str] = {}
        """The suffix of the names of the type and of its function, by encoded function type."""
        self.clones: dict[tuple[str, FuncType], str] = {}
        types = module.type_definitions.values()
        self.taken = {c.name for t in types for c in t.constructors}
        self.count = 0

    def run(self, main: Function) -> Module:
        converted = trampoline(self.visit(reduce_literals(main)))
        if converted is main:
            return self.module
        self.functions["main"] = converted
        types = dict(self.module.type_definitions)
        for key, (header, signature) in self.headers.items():
            constructors = tuple(self.constructors.get(key, ()))
            types[header.name] = TypeData(header, (), constructors)
            x = Var("x", TypeCall(header, ()))
            rest = tuple(Var("y", t) for t in signature.arg_types)
            clauses = tuple(_call_clause(c, rest) for c in self.clauses.get(key, ()))
            self.functions[f"apply_{key}"] = Function((x, *rest), Match(x, clauses), signature.ret_type)
        return self.module.with_types(types).with_functions(self.functions)

    def visit(self, e: Expr) -> Steps:
        done = self.memo.get(e)
        if done is None:
            done = self.memo[e] = yield self.dispatch(e)
        return done

    def dispatch(self, e: Expr) -> Steps:
        if isinstance(e, Call):
            if isinstance(e.op, GlobalVar):
                return self.global_call(e, e.op)
            if isinstance(e.op, Function):
                return self.inlined(e, e.op)
            if isinstance(e.op, Var):
                return self.application(e, e.op)
        return self.structure(e)

    def structure(self, e: Expr) -> Steps:
        kids = []
        for k in children(e):
            kids.append((yield self.visit(k)))
        return rebuild(e, kids)

    def inlined(self, e: Call, f: Function) -> Steps:
        if f.type_params:
            f = Identities().copy(with_function(f, type_params=()), types_of_call(f, e))
        return self.visit(substitute(f.body, dict(zip(f.params, e.args, strict=True))))

    def application(self, e: Call, v: Var) -> Steps:
        key = self.key(v, e)
        arguments: list[Expr] = [v]
        for a in e.args:
            arguments.append((yield self.visit(a)))
        return Call(GlobalVar(f"apply_{key}"), tuple(arguments), None, (), e.span)

    def key(self, v: Var, use: Expr) -> str:
        """Of the type that encodes the functions which a parameter stands for. Refuses any other variable that holds a function."""
        t = v.type_annotation
        header = t.func if isinstance(t, TypeCall) else None
        key = header.name.removeprefix("Defunc_") if isinstance(header, GlobalTypeVar) else ""
        if key not in self.headers:
            raise IrError(
                f"%{v.name} is a function that was bound by `let`", use.span, help="run PartialEvaluate or Inline first"
            )
        return key

    def global_call(self, e: Call, op: GlobalVar) -> Steps:
        callee = self.module.functions.get(op.name)
        signature = callee.checked_type if isinstance(callee, Function) else None
        if not isinstance(signature, FuncType) or not isinstance(callee, Function):
            return (yield self.structure(e))
        if len(e.type_args) != len(signature.type_params):
            raise IrError(f"the type arguments of this call of @{op.name} are not known", e.span)
        t = _instantiate(signature, e.type_args)
        if _holds_function(t.ret_type):
            raise IrError(f"@{op.name} returns a function", e.span)
        if not any(map(_holds_function, t.arg_types)):
            return (yield self.structure(e))
        arguments = []
        for a, arg_type in zip(e.args, t.arg_types, strict=True):
            encode = _holds_function(arg_type)
            arguments.append((yield self.encode(a, arg_type) if encode else self.visit(a)))
        name = self.clones.get((op.name, t))
        if name is None:
            name = self.clones[op.name, t] = _fresh(f"{op.name}_{_identifier(t)}", self.functions)
            self.functions[name] = callee
            self.functions[name] = yield self.specialized(callee, e.type_args)
        return Call(GlobalVar(name), tuple(arguments), None, (), e.span)

    def specialized(self, f: Function, type_args: Sequence[Type]) -> Steps:
        """A clone for these type arguments whose function parameters are data."""
        bindings = dict(zip(f.type_params, type_args, strict=True))
        clone = Identities().copy(with_function(f, type_params=()), bindings)
        params, values = [], {}
        for p in clone.params:
            t = p.type_annotation
            if isinstance(t, FuncType):
                p, old = Var(p.name, TypeCall(self.header(t), ()), p.span), p  # the new one, the old one
                values[old] = p
            elif _holds_function(t):
                raise IrError(f"parameter %{p.name} holds a function inside its type", p.span)
            params.append(p)
        body = yield self.visit(substitute(clone.body, values))
        return Function(tuple(params), body, clone.ret_type, (), clone.attrs, clone.span)

    def header(self, t: FuncType) -> GlobalTypeVar:
        """The type whose values encode functions of type `t`."""
        key = self.key_of(t)
        if key not in self.headers:
            self.headers[key] = (GlobalTypeVar(f"Defunc_{key}"), t)
        return self.headers[key][0]

    def key_of(self, t: FuncType) -> str:
        """The name of the type: its text as an identifier, with a number if that is taken."""
        if t not in self.keys:
            taken = {n.removeprefix("Defunc_") for n in self.module.type_definitions}
            taken |= {n.removeprefix("apply_") for n in self.module.functions}
            self.keys[t] = _fresh(_identifier(t), {*taken, *self.keys.values()})
        return self.keys[t]

    def constructor(self, t: FuncType, inputs: tuple[Type, ...]) -> Constructor:
        header = self.header(t)
        constructors = self.constructors.setdefault(self.key_of(t), [])
        self.count += 1
        while f"Fn{self.count}" in self.taken:
            self.count += 1
        constructors.append(Constructor(f"Fn{self.count}", inputs, header, len(constructors)))
        return constructors[-1]

    def encode(self, e: Expr, t: Type) -> Steps:
        """A function argument as data."""
        if not isinstance(t, FuncType):
            raise IrError("functions inside of other types cannot be encoded", e.span)
        if isinstance(e, Var):
            self.key(e, e)
            return e
        key = self.key_of(t)
        if isinstance(e, GlobalVar):
            known = (e.name, key)
            if known not in self.encoded:
                constructor = self.encoded[known] = self.constructor(t, ())
                self.clauses.setdefault(key, []).append(Clause(PatternConstructor(constructor, ()), e))
            return Call(self.encoded[known], ())
        if not isinstance(e, Function):
            raise IrError("a function argument must be a variable, a global function or a function literal", e.span)
        captured = free_variables(e)
        inputs = tuple(v.type_annotation or v.checked_type for v in captured)
        constructor = self.constructor(t, inputs)  # type: ignore[arg-type]  # types have been inferred
        fields = {v: Var(v.name, v.type_annotation or v.checked_type) for v in captured}
        body = yield self.visit(substitute(e.body, fields))
        pattern = PatternConstructor(constructor, tuple(PatternVar(fields[v]) for v in captured))
        self.clauses.setdefault(key, []).append(Clause(pattern, with_function(e, body=body)))
        return Call(constructor, tuple(captured))


def _call_clause(c: Clause, arguments: tuple[Var, ...]) -> Clause:
    """The clause that applies the function which `c` holds."""
    return Clause(c.pattern, Call(c.body, arguments), c.span)
