"""The first half of inference: the constraints that each expression puts on the types around it.

One walk gives every expression a type, which may be an unknown, and hands what must be equal, and which operator's rule
must hold, to the solver. The walk keeps its own stack. The rules of the language:

- a variable has the type of its annotation, or an unknown; a binder is visited before what it scopes over;
- a `let` whose value is a function literal may be used inside it (recursion) and keeps its type parameters afterwards;
- a call of a function with type parameters instantiates them; a call of an unknown makes it a function;
- the branches of `if`, and the clauses of `match`, have one type;
- a node that is typed already is taken as it is, with all below it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..diagnostics import Diagnostic, IrError, Span, nearest
from ..ir import (
    UNIT,
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    If,
    IncompleteType,
    Let,
    Match,
    MissingData,
    Module,
    Op,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    Var,
)
from ..ir.mistakes import BrokenModule, WrongPattern
from ..ir.show import show_expr
from ..ops.base import Operator, OperatorType, RelationError
from ..symbolic_int import uncertain_equalities
from .advice import wrong_count
from .exhaustive import show_pattern, unmatched_cases
from .mistakes import MatchNotExhaustive, NoSuchField, NotCallable, TypesDiffer, WrongArgumentCount
from .own_types import own_type
from .solver import Solver, TypeRelation, substitute_type
from .well_formed_types import check_type


class Constraints:
    """Walks expressions and fills `types` (a type for every node seen) and `order` (untyped nodes, children first)."""

    def __init__(
        self,
        module: Module | None,
        signature: Callable[[str], Type | None],
        solver: Solver,
        fresh: bool = False,
    ) -> None:
        self.module = module
        self.signature = signature
        self.solver = solver
        self.fresh = fresh
        """True: types that nodes carry already are not believed."""
        self.typed_by_callers: frozenset[str] = frozenset()
        """Functions without annotations whose types come from the calls of them."""
        self.types: dict[Expr, Type] = {}
        self.type_args: dict[Call, tuple[Type, ...]] = {}
        self.order: list[Expr] = []
        self._bound: set[Var] = set()
        self._checked: dict[int, Type] = {}
        self._stack: list[Any] = []

    def visit(self, root: Expr) -> Type:
        """The type of `root`, as far as it is known after one walk."""
        stack, types, fresh = self._stack, self.types, self.fresh
        stack.append(root)
        while stack:
            item = stack.pop()
            if item.__class__ is tuple:
                item[0](self, *item[1:])
                continue
            if item in types:
                continue
            known = item.checked_type
            if known is not None and not fresh:
                types[item] = known
                continue
            _ENTER[item.__class__](self, item)
        return types[root]

    # What the rules are made of

    def _value(self, e: Expr) -> Type:
        """The type of a value at this place: constructors and functions, each one object for all places, may be of another type at each."""
        t = self.types[e]
        return own_type(t) if e.__class__ in (Constructor, GlobalVar) else t

    def _set(self, e: Expr, t: Type) -> None:
        self.types[e] = t
        self.order.append(e)

    def _error(self, message: str, span: Span | None, **extra: Any) -> None:
        self.solver.diagnostics.append(Diagnostic(message, span, **extra))

    def _poison(self) -> Type:
        t = IncompleteType()
        self.solver.poisoned.add(t)
        return t

    def unify(self, a: Type, b: Type, span: Span | None, what: str, keep_b: bool = False) -> Type:
        """Unifies, or reports that `what` does not hold and goes on with `a`."""
        try:
            joined = self.solver.unify(a, b, keep_b=keep_b)
        except RelationError as error:
            self._error(f"{what}: {error}", span, code=TypesDiffer, lengths=uncertain_equalities())
            return a
        self.solver.run()
        return joined

    def _annotation(self, t: Type, span: Span | None) -> Type:
        if id(t) not in self._checked:
            try:
                check_type(t, self.module, span, self._checked)
            except IrError as error:
                self.solver.diagnostics.extend(error.diagnostics)
        return own_type(t)

    def _bind(self, v: Var) -> None:
        """Gives a binder its type and checks that nothing else binds it."""
        if v in self._bound:
            self._error(f"the variable %{v.name} is bound more than once", v.span, code=BrokenModule)
        self._bound.add(v)
        if v not in self.types:
            self._variable(v)

    # Leaves

    def _variable(self, v: Var) -> None:
        if v.checked_type is not None and not self.fresh:
            self.types[v] = v.checked_type
        elif v.type_annotation is None:
            self._set(v, IncompleteType())
        else:
            self._set(v, self._annotation(v.type_annotation, v.span))

    def _global(self, e: GlobalVar) -> None:
        known = self.signature(e.name)
        if known is None:
            known = e.checked_type
        if known is None:
            functions = self.module.functions if self.module is not None else {}
            if e.name not in functions:
                self._error(
                    f"the function @{e.name} is not defined", e.span, help=nearest(e.name, functions), code=BrokenModule
                )
            known = self._poison() if e.name not in functions else IncompleteType()
        self._set(e, known)

    def _constant(self, e: Constant) -> None:
        if isinstance(e.data, MissingData):
            self._set(e, e.type_annotation or IncompleteType())
        else:
            self._set(e, TensorType(e.data.shape, e.dtype))

    def _operator(self, e: Op) -> None:
        self._set(e, e.checked_type or OperatorType(e.operator))

    def _constructor(self, e: Constructor) -> None:
        data = self._definition(e)
        if data is None:
            self._error(f"the type {e.belong_to.name} of {e.name} is not defined", e.span, code=BrokenModule)
            self._set(e, self._poison())
        else:
            self._set(e, FuncType(e.inputs, TypeCall(e.belong_to, data.type_vars), data.type_vars))

    def _definition(self, c: Constructor) -> TypeData | None:
        return self.module.type_definitions.get(c.belong_to.name) if self.module is not None else None

    # Tuples and references

    def _tuple(self, e: Tuple) -> None:
        self._stack.append((Constraints._leave_tuple, e))
        self._stack.extend(e.fields[::-1])

    def _leave_tuple(self, e: Tuple) -> None:
        self._set(e, TupleType(tuple([self._value(f) for f in e.fields])))

    def _get_item(self, e: TupleGetItem) -> None:
        self._stack += [(Constraints._leave_get_item, e), e.tuple]

    def _leave_get_item(self, e: TupleGetItem) -> None:
        t = self.solver.find(self.types[e.tuple])
        if isinstance(t, TupleType):
            if 0 <= e.index < len(t.fields):
                self._set(e, t.fields[e.index])
                return
            self._error(
                f"the tuple has {len(t.fields)} fields: there is no field {e.index} in {t}", e.span, code=NoSuchField
            )
        elif isinstance(t, IncompleteType):
            rule = TypeRelation(e, _Projection, _Projection(e.index), (t,), (e.tuple,))
            self._set(e, self.solver.add(rule))
            return
        else:
            self._error(
                f"only a tuple has fields, and {_name(e.tuple)} is {self.solver.resolve(t)}", e.span, code=NoSuchField
            )
        self._set(e, self._poison())

    def _ref_create(self, e: RefCreate) -> None:
        self._stack += [(Constraints._leave_ref_create, e), e.value]

    def _leave_ref_create(self, e: RefCreate) -> None:
        self._set(e, RefType(self._value(e.value)))

    def _ref_read(self, e: RefRead) -> None:
        self._stack += [(Constraints._leave_ref_read, e), e.ref]

    def _leave_ref_read(self, e: RefRead) -> None:
        self._set(e, self._referent(self.types[e.ref], e.span))

    def _referent(self, ref: Type, span: Span | None) -> Type:
        value = IncompleteType()
        self.unify(ref, RefType(value), span, "only a reference can be read or written")
        return self.solver.find(value)

    def _ref_write(self, e: RefWrite) -> None:
        self._stack += [(Constraints._leave_ref_write, e), e.value, e.ref]

    def _leave_ref_write(self, e: RefWrite) -> None:
        value = self._referent(self.types[e.ref], e.span)
        self.unify(self._value(e.value), value, e.span, "the reference holds another type")
        self._set(e, UNIT)

    # Control

    def _let(self, e: Let) -> None:
        recursive = e.value.__class__ is Function
        if recursive:
            self._bind(e.var)
        self._stack += [(Constraints._leave_let_value, e), e.value]

    def _leave_let_value(self, e: Let) -> None:
        value = self._value(e.value)
        v = e.var
        if e.value.__class__ is Function:
            joined = self.unify(self.types[v], value, v.span or e.span, f"the value of %{v.name}")
        else:
            if v in self.types and v not in self._bound and (v.checked_type is None or self.fresh):
                self._error(f"the variable %{v.name} is used before it is bound", v.span or e.span, code=BrokenModule)
            self._bind(v)
            joined = self.unify(self.types[v], value, v.span or e.span, f"the value of %{v.name}")
        self.types[v] = joined
        self._stack += [(Constraints._leave_let, e), e.body]

    def _leave_let(self, e: Let) -> None:
        self._set(e, self._value(e.body))

    def _if(self, e: If) -> None:
        self._stack += [
            (Constraints._leave_if, e),
            e.false_branch,
            e.true_branch,
            (Constraints._leave_condition, e),
            e.cond,
        ]

    def _leave_condition(self, e: If) -> None:
        self.unify(
            self.types[e.cond], TensorType((), "bool"), _place(e.cond, e), "the condition of an if is a bool scalar"
        )

    def _leave_if(self, e: If) -> None:
        a, b = self._value(e.true_branch), self._value(e.false_branch)
        self._set(e, self.unify(a, b, e.span, "the branches of an if have one type"))

    def _match(self, e: Match) -> None:
        self._stack.append((Constraints._leave_match, e))
        self._stack.extend(c.body for c in reversed(e.clauses))
        self._stack += [(Constraints._patterns, e), e.data]

    def _patterns(self, e: Match) -> None:
        for clause in e.clauses:
            stack: list[tuple[Pattern, Type]] = [(clause.pattern, self.types[e.data])]
            while stack:
                pattern, t = stack.pop()
                if isinstance(pattern, PatternVar):
                    self._bind(pattern.var)
                    what = f"the pattern %{pattern.var.name}"
                    self.types[pattern.var] = self.unify(self.types[pattern.var], t, pattern.span, what)
                elif isinstance(pattern, PatternTuple):
                    fields: tuple[Type, ...] = tuple(IncompleteType() for _ in pattern.patterns)
                    unified = self.unify(t, TupleType(fields), pattern.span, "the pattern is a tuple")
                    if isinstance(unified, TupleType) and len(unified.fields) == len(fields):
                        fields = unified.fields
                    stack.extend(zip(pattern.patterns[::-1], fields[::-1], strict=True))
                elif isinstance(pattern, PatternConstructor):
                    inputs = self._constructor_pattern(pattern, t)
                    stack.extend(zip(pattern.patterns[::-1], inputs[::-1], strict=False))

    def _constructor_pattern(self, pattern: PatternConstructor, t: Type) -> tuple[Type, ...]:
        c = pattern.constructor
        data = self._definition(c)
        if data is None:
            self._error(f"the type {c.belong_to.name} of {c.name} is not defined", pattern.span, code=BrokenModule)
            return tuple(self._poison() for _ in pattern.patterns)
        if len(c.inputs) != len(pattern.patterns):
            count = len(pattern.patterns)
            self._error(
                f"{c.name} holds {len(c.inputs)} values, and the pattern has {count}", pattern.span, code=WrongPattern
            )
            return tuple(self._poison() for _ in pattern.patterns)
        args = tuple(IncompleteType() for _ in data.type_vars)
        self.unify(t, TypeCall(c.belong_to, args), pattern.span, f"the pattern {c.name}")
        values: dict[Type, Type] = dict(zip(data.type_vars, args, strict=True))
        return tuple(substitute_type(i, values) for i in c.inputs)

    def _leave_match(self, e: Match) -> None:
        t: Type = IncompleteType()
        for clause in e.clauses:
            t = self.unify(t, self._value(clause.body), clause.span or e.span, "the clauses of a match have one type")
        if e.complete and self.module is not None and not self.solver.diagnostics:
            missed = unmatched_cases(e, self.module, most=5)
            if missed:
                notes = tuple(f"not matched: {show_pattern(p)}" for p in missed)
                self._error(
                    "the match does not cover every case (write match? if it need not)",
                    e.span,
                    notes=notes,
                    code=MatchNotExhaustive,
                )
        self._set(e, t)

    # Functions and calls

    def _function(self, e: Function) -> None:
        for p in e.params:
            self._bind(p)
        self._stack += [(Constraints._leave_function, e), e.body]

    def _leave_function(self, e: Function) -> None:
        result = self.solver.find(self._value(e.body))
        if e.ret_type is not None:
            declared = self._annotation(e.ret_type, e.span)
            if isinstance(result, FuncType) and result.type_params and not isinstance(result, OperatorType):
                # Declared to be of one type, it is used as that; where nothing is declared it stays generic.
                if not (isinstance(declared, FuncType) and declared.type_params):
                    result, _ = self._instantiate(result)
            what = "the function returns another type than it declares"
            result = self.unify(declared, result, e.ret_type.span or _place(e.body, e), what)
        params = tuple([self.types[p] for p in e.params])
        self._set(e, self.solver.resolve(FuncType(params, result, e.type_params)))

    def _instantiate(self, t: FuncType, type_args: tuple[Type, ...] = ()) -> tuple[FuncType, tuple[Type, ...]]:
        args = (*type_args, *[IncompleteType() for _ in t.type_params[len(type_args) :]])
        values: dict[Type, Type] = dict(zip(t.type_params, args, strict=True))
        instance = substitute_type(FuncType(t.arg_types, t.ret_type), values)
        assert isinstance(instance, FuncType)
        return instance, args

    def _call(self, e: Call) -> None:
        stack = self._stack
        if e.op.__class__ is Op:
            self.types[e.op] = e.op.checked_type or OperatorType(e.op.operator)
            stack.append((Constraints._leave_operator_call, e))
        else:
            stack += [(Constraints._leave_call, e), e.op]
        stack.extend(e.args[::-1])

    def _leave_operator_call(self, e: Call) -> None:
        self._apply_rule(e, e.op.operator)  # type: ignore[attr-defined]  # the callee is an operator

    def _apply_rule(self, e: Call, operator: type[Operator]) -> None:
        if not operator.takes(len(e.args)):
            names = ", ".join(operator.arguments[: operator.arity])
            expected = f"{operator.arity} argument{'s' * (operator.arity != 1)} ({names})" if names else "no argument"
            expected += "".join(f" or {len(others)} ({', '.join(others)})" for others in operator.later_arguments)
            message = f"{operator.name} takes {expected}, {len(e.args)} given"
            self._error(message, e.span, help=wrong_count(operator, e.args), code=WrongArgumentCount)
            self._set(e, self._poison())
            return
        attrs = e.attrs
        if not isinstance(attrs, operator):
            try:
                attrs = operator.make(attrs, e.span)
            except IrError as error:
                self.solver.diagnostics.extend(error.diagnostics)
                self._set(e, self._poison())
                return
        if operator.named_types and not self._defines(e, operator.named_types):
            self._set(e, self._poison())
            return
        types = self.types
        rule = TypeRelation(e, operator, attrs, [types[a] for a in e.args], e.args)
        self._set(e, self.solver.add(rule))

    def _defines(self, e: Call, names: tuple[str, ...]) -> bool:
        """True if the module has these types; reports those that it lacks."""
        known = len(self.solver.diagnostics)
        for name in names:
            try:
                check_type(TypeCall(GlobalTypeVar(name), ()), self.module, e.span, self._checked)
            except IrError as error:
                help = f"the module has to have it: type {name} {{ }}"
                self.solver.diagnostics.extend(replace(d, help=d.help or help) for d in error.diagnostics)
        return len(self.solver.diagnostics) == known

    def _leave_call(self, e: Call) -> None:
        t = self.solver.find(self.types[e.op])
        if isinstance(t, OperatorType):
            self._apply_rule(e, t.operator)
            return
        args = [self._value(a) for a in e.args]
        if isinstance(t, IncompleteType):
            poisoned = t in self.solver.poisoned
            result: Type = self._poison() if poisoned else IncompleteType()
            self.unify(t, FuncType(tuple(args), result), e.span, "the call")
            self._set(e, self.solver.find(result))
            return
        if not isinstance(t, FuncType):
            self._error(
                f"only a function can be called, and {_name(e.op)} is {self.solver.resolve(t)}",
                e.span,
                code=NotCallable,
            )
            self._set(e, self._poison())
            return
        if len(e.type_args) > len(t.type_params):
            self._error(
                f"{_name(e.op)} has {len(t.type_params)} type parameters, {len(e.type_args)} given",
                e.span,
                code=WrongArgumentCount,
            )
            self._set(e, self._poison())
            return
        if len(args) != len(t.arg_types):
            self._error(
                f"{_name(e.op)} takes {len(t.arg_types)} arguments, {len(args)} given", e.span, code=WrongArgumentCount
            )
            self._set(e, self._poison())
            return
        if t.type_params:
            t, self.type_args[e] = self._instantiate(t, e.type_args)
        for i, (parameter, argument) in enumerate(zip(t.arg_types, args, strict=True)):
            seen = len(self.solver.diagnostics)
            self.unify(parameter, argument, _place(e.args[i], e), f"argument {i} of {_name(e.op)}", keep_b=True)
            if len(self.solver.diagnostics) > seen and isinstance(e.op, GlobalVar):
                self._note_callers(e.op.name, seen)
        self._set(e, self.solver.find(t.ret_type))

    def _note_callers(self, callee: str, first: int) -> None:
        """Says, in the diagnostics from `first` on, that other calls have decided the types of the callee."""
        if callee in self.typed_by_callers:
            note = f"@{callee} has no annotations: its types come from the calls of it, which must agree"
            diagnostics = self.solver.diagnostics
            diagnostics[first:] = [replace(d, notes=(*d.notes, note)) for d in diagnostics[first:]]


def _name(e: Expr) -> str:
    """The name of an expression in a message."""
    return show_expr(e) if isinstance(e, Var | GlobalVar | Constructor | Op | Call) else "the expression"


def _place(e: Expr, around: Expr) -> Span | None:
    """The place of an expression. The span of a variable is that of its binder: the span around its use is nearer."""
    return around.span if isinstance(e, Var) or e.span is None else e.span


class _Projection(Operator):
    """The rule of `tuple.index`, for a tuple whose type is not known yet."""

    name = "tuple field"
    arguments = ("tuple",)
    arity = 1

    def __init__(self, index: int) -> None:
        self.index = index

    def relate(self, types: Any, reporter: Any) -> Type | None:
        (t,) = types
        if isinstance(t, IncompleteType):
            return None
        if not isinstance(t, TupleType):
            raise RelationError(f"only a tuple has fields, not {t}")
        if not 0 <= self.index < len(t.fields):
            raise RelationError(f"the tuple has {len(t.fields)} fields: there is no field {self.index} in {t}")
        return t.fields[self.index]


_ENTER: dict[type, Callable[[Constraints, Any], None]] = {
    Var: Constraints._variable,
    GlobalVar: Constraints._global,
    Constant: Constraints._constant,
    Op: Constraints._operator,
    Constructor: Constraints._constructor,
    Tuple: Constraints._tuple,
    TupleGetItem: Constraints._get_item,
    Call: Constraints._call,
    Function: Constraints._function,
    Let: Constraints._let,
    If: Constraints._if,
    Match: Constraints._match,
    RefCreate: Constraints._ref_create,
    RefRead: Constraints._ref_read,
    RefWrite: Constraints._ref_write,
}
