"""Polymorphic functions that are values, as data: a constructor for each function literal, which holds its captured values.

::

    type Box { Box(fn [A](A) -> (A, float32)) }
    Box(fn [A](%a: A) { (%a, %x) })             match (%b) { Box(%f) => { (%f(%y), %f(%n)) } }
        ⇒   type F { F_0(float32) }             type Box { Box(F) }
            Box(F_0(%x))                        match (%b) { Box(%f) => { (@apply_0(%f, %y), @apply_1(%f, %n)) } }
            def @apply_0(%f: F, %a: float32) { match (%f) { F_0(%x) => { (%a, %x) } } }
            def @apply_1(%f: F, %a: int32) { match (%f) { F_0(%x) => { (%a, %x) } } }

For each set of types that functions of a polymorphic type are called with there is a function that calls them, whose clauses are
instances of the literals. Polymorphic functions that are called by name are copied, as `monomorphic` does before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..diagnostics import IrError
from ..infer import infer_afresh, infer_types
from ..ir import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    Let,
    Match,
    Module,
    Op,
    PatternConstructor,
    PatternVar,
    Tuple,
    Type,
    TypeCall,
    TypeVar,
    Var,
    binders,
    children,
    free_variables_of_functions,
    post_order,
    rewrite,
    with_binders,
    with_function,
)
from ..ir.constructors import with_argument_types, with_constructors
from ..ir.expr import REBUILD_OF
from ..ir.types import data_name, type_children
from ..lower.mistakes import NoCounterpart
from ..ops.base import OperatorType
from ..passes.core.instantiation import settle_type_arguments
from .generic_values import types_of_values, with_types_at_values
from .polymorphic_types import PolymorphicType, PolymorphicTypes

DEEPEST = 8
"""Limit on instances of one function that need each other with new types: more than that come only from types that grow without end."""

Bindings = Mapping[TypeVar, Type]


def with_polymorphic_values(module: Module, entry: str = "main") -> Module:
    """The module, typed, without polymorphic functions: those that are values are data, all others are copied for the types that they are
    called with. Itself if there are none, and if the entry takes or gives some, which lowering refuses. Raises IrError for types that grow
    without end."""
    if not has_polymorphic_functions(module) or _are_given(module, entry):
        return module
    settled = infer_types(settle_type_arguments(infer_afresh(module)))
    typed = infer_types(settle_type_arguments(with_types_at_values(settled, polymorphic=True)))
    return infer_types(_Instances(typed).run(entry))


def has_polymorphic_functions(module: Module) -> bool:
    """True if there are polymorphic functions in the typed module, values of their types, or operators that are values."""
    definitions = module.type_definitions.values()
    if any(_is_quantified(t) for d in definitions for c in d.constructors for t in c.inputs):
        return True
    for f in module.relay_functions.values():
        if f.type_params:
            return True
        for e in post_order(f):
            if isinstance(e, Constructor | Op | GlobalVar):
                continue  # called, or values in the types of what is around them
            if _is_quantified(e.checked_type) or any(_is_quantified(v.checked_type) for v in binders(e)):
                return True
    return False


def _is_quantified(t: Type | None) -> bool:
    return t is not None and t.binds_variables


def _are_given(module: Module, entry: str) -> bool:
    """True if there are polymorphic functions in parameters or results of the entry, where callers give or read them."""
    f = module[entry]
    seen: set[str] = set()
    stack: list[Type] = [f.checked_type]
    while stack:
        t = stack.pop()
        if isinstance(t, FuncType) and t.type_params:
            return True
        stack += type_children(t)
        definition = module.type_definitions.get(data_name(t)) if isinstance(t, TypeCall) else None
        if definition is not None and definition.header.name not in seen:
            seen.add(definition.header.name)
            stack += [i for c in definition.constructors for i in c.inputs]
    return False


@dataclass(eq=False)
class _Literal:
    """A function literal that is a value, in an instance of the function around it.

    Attributes:
        types: of the variables of the functions around it.
        captured: the variables that it uses from around it.
        own: the variable that it is bound to, if it calls itself.
    """

    function: Function
    types: Bindings
    captured: list[Var]
    own: Var | None
    data: TypeCall
    constructor: Constructor


@dataclass(eq=False)
class _Application:
    """The function that calls the functions of a polymorphic type with one set of types."""

    name: str
    data: TypeCall
    type_args: tuple[Type, ...]
    callers: tuple[object, ...]
    params: list[Var]
    result: Type
    clauses: list[Clause] = field(default_factory=list)


class _Instances:
    """The instances of the functions of a typed module, as far as the entry needs them."""

    def __init__(self, module: Module) -> None:
        self.module = module
        names = {*module.type_definitions, *module.constructors}
        self.types = PolymorphicTypes(names)
        self.functions: dict[str, object] = {}
        self.names: dict[tuple[str, tuple[Type, ...]], str] = {}
        self.applications: dict[tuple[TypeCall, tuple[Type, ...]], _Application] = {}
        self.literals: dict[tuple[Function, tuple[Type, ...]], _Literal] = {}
        self.free: dict[Function, list[Var]] = {}
        self.own: dict[Expr, Var] = {}
        self.waiting: list[Callable[[], None]] = []
        self.definitions, self.constructors = with_argument_types(
            module.type_definitions, lambda t: self.types.convert(t, {})
        )

    def run(self, entry: str) -> Module:
        self.function(GlobalVar(entry), (), ())
        while self.waiting:
            self.waiting.pop()()
        for a in self.applications.values():
            handle = a.params[0]
            every = 0 < len(a.clauses) == len(self._data(a.data).constructors)
            self.functions[a.name] = Function(tuple(a.params), Match(handle, tuple(a.clauses), every), a.result)
        functions = {n: self.functions[n] for n in self.module.functions if n in self.functions}
        data = {n: p.definition() for n, p in self.types.by_name.items()}
        return self.module.with_functions({**functions, **self.functions}).with_types({**self.definitions, **data})

    def _data(self, t: TypeCall) -> PolymorphicType:
        return self.types.by_name[data_name(t)]

    # -- what is called ------------------------------------------------------------------------------------------------

    def function(self, callee: GlobalVar, type_args: tuple[Type, ...], callers: tuple[object, ...]) -> GlobalVar:
        """The instance of a function for types, which is made if it is missing."""
        f = self.module.functions.get(callee.name)
        if not isinstance(f, Function):
            self.functions[callee.name] = f
            return GlobalVar(callee.name, callee.span)
        key = callee.name, type_args
        name = self.names.get(key)
        if name is None:
            copies = sum(n == callee.name for n, _ in self.names)
            name = self._fresh_name(f"{callee.name}_{copies + 1}") if type_args else callee.name
            self.names[key] = name
            callers = self._called(callee.name, f"@{callee.name}", callers) if type_args else callers
            self.waiting.append(partial(self._add_function, name, f, type_args, callers))
        return GlobalVar(name, callee.span)

    def _add_function(self, name: str, f: Function, type_args: tuple[Type, ...], callers: tuple[object, ...]) -> None:
        bindings = dict(zip(f.type_params, type_args, strict=True))
        self._note(f)
        self.functions[name] = _Copy(self, bindings, callers).of_function(f)

    def application(self, data: TypeCall, type_args: tuple[Type, ...], callers: tuple[object, ...]) -> GlobalVar:
        """The function that calls functions of a polymorphic type, with these types."""
        key = data, type_args
        a = self.applications.get(key)
        if a is None:
            inputs, result = self._data(data).applied(data.args, type_args)
            params = [Var("f", data), *(Var(f"x{n}", t) for n, t in enumerate(inputs))]
            name = self._fresh_name(f"apply_{len(self.applications)}")
            a = self.applications[key] = _Application(name, data, type_args, callers, params, result)
            for literal in self.literals.values():
                self._clause_later(a, literal)
        return GlobalVar(a.name)

    def value(self, f: Function, bindings: Bindings, values: Mapping[Expr, Expr], callers: tuple[object, ...]) -> Call:
        """The data for a function literal, with the values that it captures."""
        key = f, tuple(bindings.values())
        literal = self.literals.get(key)
        if literal is None:
            own = self.own.get(f)
            captured = [v for v in self.free[f] if v is not own]
            data = self.types.convert(f.checked_type, bindings)  # type: ignore[arg-type]  # the module is typed
            assert isinstance(data, TypeCall)
            fields = [self.types.convert(v.checked_type, bindings) for v in captured]  # type: ignore[arg-type]  # the module is typed
            constructor = self._data(data).add_constructor(fields)
            literal = self.literals[key] = _Literal(f, bindings, captured, own, data, constructor)
            for a in self.applications.values():
                self._clause_later(a, literal)
        args = tuple(values[v] for v in literal.captured)
        return Call(literal.constructor, args, None, literal.data.args, f.span)

    def _clause_later(self, a: _Application, literal: _Literal) -> None:
        if literal.data == a.data:
            self.waiting.append(partial(self._add_clause, a, literal))

    def _add_clause(self, a: _Application, literal: _Literal) -> None:
        f = literal.function
        callers = self._called(f, "the function", a.callers, f)
        bindings = {**literal.types, **dict(zip(f.type_params, a.type_args, strict=True))}
        copy = _Copy(self, bindings, callers)
        fields = [Var(v.name, t) for v, t in zip(literal.captured, literal.constructor.inputs, strict=True)]
        copy.values.update(zip(literal.captured, fields, strict=True))
        copy.values.update(zip(f.params, a.params[1:], strict=True))
        if literal.own is not None:
            copy.values[literal.own] = a.params[0]
        pattern = PatternConstructor(literal.constructor, tuple(map(PatternVar, fields)))
        a.clauses.append(Clause(pattern, copy.of_body(f)))

    def _called(
        self, what: object, shown: str, callers: tuple[object, ...], place: Expr | None = None
    ) -> tuple[object, ...]:
        """The callers of an instance. Raises IrError if it is there too often."""
        if callers.count(what) >= DEEPEST:
            raise IrError(
                f"{shown} calls itself with a new type each time, so there is no end to its instances",
                place.span if place is not None else None,
                code=NoCounterpart,
            )
        return (*callers, what)

    def _note(self, f: Function) -> None:
        """Notes the captures of the literals in a function, and the variables that they are bound to."""
        if f not in self.free:
            self.free.update(free_variables_of_functions(f))
            self.own.update({e.value: e.var for e in post_order(f) if isinstance(e, Let)})

    def _fresh_name(self, name: str) -> str:
        names = {*self.module.functions, *self.names.values(), *(a.name for a in self.applications.values())}
        while name in names:
            name += "_"
        return name


class _Copy:
    """An instance of a function, with variables of its own.

    Attributes:
        bindings: the types of type variables.
        callers: the instances that need this one.
        values: variables of the copy, by those of the original.
    """

    def __init__(self, instances: _Instances, bindings: Bindings, callers: tuple[object, ...]) -> None:
        self.instances = instances
        self.bindings = bindings
        self.callers = callers
        self.values: dict[Expr, Expr] = {}
        self.renamed: dict[Var, Var] = {}

    def of_function(self, f: Function) -> Function:
        """The copy of a function, without type parameters."""
        self._rename(f, f)
        copy = rewrite(with_function(f, type_params=()), self._leave, self._enter, self.values)
        assert isinstance(copy, Function)
        return copy

    def of_body(self, f: Function) -> Expr:
        """The copy of a function's body."""
        self._rename(f, f.body)
        return rewrite(f.body, self._leave, self._enter, self.values)

    def _rename(self, f: Function, root: Expr) -> None:
        for e in post_order(root, enter=lambda e: e is f or not _is_value(e)):
            if e is f or not _is_value(e):
                for v in binders(e):
                    self.renamed[v] = Var(v.name, self._type(v.type_annotation), v.span, None, v.virtual_device)
        self.values.update(self.renamed.items())

    def _type(self, t: Type | None) -> Type | None:
        return None if t is None else self.instances.types.convert(t, self.bindings)

    def _types(self, types: Sequence[Type]) -> tuple[Type, ...]:
        return tuple(self.instances.types.convert(t, self.bindings) for t in types)

    def _enter(self, old: Expr) -> Expr | None:
        if not isinstance(old, Function) or not _is_value(old):
            return None
        return self.instances.value(old, self.bindings, self.values, self.callers)

    def _leave(self, old: Expr, new: Expr) -> Expr:
        instances = self.instances
        if isinstance(old, GlobalVar):
            return old  # what is called gets its types with the call
        if isinstance(old, Op):
            return old
        if isinstance(old, Constructor):
            return instances.constructors.get(old.name, old)
        if not children(old):
            return new
        kids = list(children(new))
        for n, (k, t) in enumerate(zip(children(old), types_of_values(old), strict=True)):
            if isinstance(k, Op) and isinstance(t, OperatorType):
                kids[n] = Tuple(())
            elif isinstance(k, GlobalVar) and t is not None:
                kids[n] = instances.function(k, (), self.callers)
        new = with_binders(REBUILD_OF[new.__class__](new, kids), self.renamed)
        if isinstance(new, Call):
            assert isinstance(old, Call)
            return self._call(old, new)
        if isinstance(new, Function):
            return with_function(new, ret_type=self._type(new.ret_type))
        if isinstance(new, Match):
            return with_constructors(new, instances.constructors)
        return new

    def _call(self, old: Call, new: Call) -> Call:
        op, t = old.op, old.op.checked_type
        type_args = self._types(new.type_args)
        if isinstance(op, Op):
            return new
        if isinstance(op, GlobalVar):
            return Call(self.instances.function(op, type_args, self.callers), new.args, new.attrs, (), new.span)
        if isinstance(op, Constructor):
            return Call(new.op, new.args, new.attrs, type_args, new.span)
        if isinstance(t, OperatorType):
            from ..ops.base import op as operator

            return Call(operator(t.operator.name), new.args, new.attrs, (), new.span)
        if isinstance(t, FuncType) and t.type_params:
            data = self._type(t)
            assert isinstance(data, TypeCall)
            apply = self.instances.application(data, type_args, self.callers)
            return Call(apply, (new.op, *new.args), None, (), new.span)
        return Call(new.op, new.args, new.attrs, type_args, new.span)


def _is_value(e: Expr) -> bool:
    """True for a polymorphic function literal."""
    return isinstance(e, Function) and bool(e.type_params)
