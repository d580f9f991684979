"""The partial evaluator: an interpreter on values that may be unknown, which writes code for everything undecided."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from ...diagnostics import IrError
from ...ir import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
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
    RefWrite,
    Tuple,
    TupleGetItem,
    Type,
    Var,
    bound_vars,
    free_variables_of_functions,
    substitute,
    with_function,
)
from ...trampoline import trampoline
from ..core.let_binding import FreshVars, LetList
from .constants import computes_tensors, evaluated, known_tensors
from .copying import Identities
from .fuel import Allowance, Fuel, SpentError, fuel_of, meet
from .store import ReferenceStore
from .summaries import Summaries, Summary, moved, variables
from .values import Partial, Static, StaticData, StaticFunction, StaticRef, StaticTensor, StaticTuple

Steps = Generator[Any, Any, Any]


class Evaluator:
    """Evaluates the functions of a module, each with unknown arguments; `functions` becomes the residual program."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions = dict(module.functions)
        self.names = FreshVars()
        self.identities = Identities()
        self.fuel: dict[int, Fuel] = {}
        self.allowance = Allowance(module)
        self.summaries = Summaries()
        self.store = ReferenceStore()
        self.frames: list[dict[Var, Partial]] = [{}]
        self.globals: dict[str, Partial] = {}
        self.clock = 0
        self._free: dict[Function, list[Var]] = {}
        self._evaluated: set[Function] = set()
        """Functions whose own bodies have been evaluated: what they bind may stand in the result, and must not do so twice."""

    def run(self) -> None:
        """Evaluates every function."""
        for name in self.module.functions:
            trampoline(self.global_function(name))

    def partial(self, known: Static | None, dynamic: Expr) -> Partial:
        self.clock += 1
        return Partial(known, dynamic, self.clock)

    def lookup(self, v: Var) -> Partial:
        for frame in reversed(self.frames):
            if v in frame:
                return frame[v]
        raise IrError(f"variable %{v.name} is not bound", v.span)

    def lets(self) -> LetList:
        return LetList(self.names)

    def global_function(self, name: str) -> Steps:
        result = self.globals.get(name)
        if result is not None:
            return result
        function = self.module.functions[name]
        reference = GlobalVar(name)
        if not isinstance(function, Function) or function.attrs.get("Primitive"):
            self.globals[name] = self.partial(None, reference)
            return self.globals[name]
        self.identities.register(function)
        apply = self.static_function(function, reference)
        result = self.globals[name] = self.partial(StaticFunction(apply), reference)
        summary, before = None, self.allowance.steps
        self.summaries.begin()
        try:
            summary = yield self.own_code(function, apply, reference)
        except SpentError:  # by an application around it: its own code is still to be made
            del self.globals[name]
            raise
        finally:
            self.summaries.end(self.identities.of(function), summary, self.allowance.steps - before)
        self.functions[name] = self.identities.copy(summary.residual)
        return result

    def visit(self, e: Expr, lets: LetList, name: Var | None = None) -> Steps:
        self.allowance.work(1)
        return _VISIT[e.__class__](self, e, lets) if name is None else self.named(e, lets, name)

    def named(self, e: Expr, lets: LetList, name: Var) -> Steps:
        """Evaluates the value of a `let`: a function keeps the name, by which it may call itself."""
        if isinstance(e, Function):
            return self.bind_function(e, lets, name)
        return self.visit(e, lets)

    def visit_all(self, items: tuple[Expr, ...], lets: LetList) -> Steps:
        values = []
        for e in items:
            values.append((yield self.visit(e, lets)))
        return values

    def constant(self, e: Constant, lets: LetList) -> Steps:
        known = None if isinstance(e.data, MissingData) else StaticTensor(e)
        return self.partial(known, lets.push(e))
        yield

    def var(self, e: Var, lets: LetList) -> Steps:
        return self.lookup(e)
        yield

    def global_var(self, e: GlobalVar, lets: LetList) -> Steps:
        return self.global_function(e.name)

    def tuple(self, e: Tuple, lets: LetList) -> Steps:
        fields = yield self.visit_all(e.fields, lets)
        return self.partial(StaticTuple(tuple(fields)), lets.push(Tuple(tuple(f.dynamic for f in fields), e.span)))

    def projection(self, e: TupleGetItem, lets: LetList) -> Steps:
        whole = yield self.visit(e.tuple, lets)
        if isinstance(whole.known, StaticTuple):
            return whole.known.fields[e.index]
        return self.partial(None, lets.push(TupleGetItem(whole.dynamic, e.index, e.span)))

    def let(self, e: Expr, lets: LetList) -> Steps:
        while isinstance(e, Let):
            self.frames[-1][e.var] = yield self.visit(e.value, lets, e.var)
            e = e.body
        return (yield self.visit(e, lets))

    def branch(self, e: Expr) -> Steps:
        """The code of an expression that may not be evaluated at all."""
        lets = self.lets()
        with self.store.extended():
            value = yield self.visit(e, lets)
        return lets.wrap(value.dynamic)

    def if_(self, e: If, lets: LetList) -> Steps:
        cond = yield self.visit(e.cond, lets)
        if isinstance(cond.known, StaticTensor):
            chosen = e.true_branch if bool(cond.known.constant.data) else e.false_branch
            return (yield self.visit(chosen, lets))
        true = yield self.branch(e.true_branch)
        false = yield self.branch(e.false_branch)
        self.store.invalidate()
        return self.partial(None, lets.push(If(cond.dynamic, true, false, e.span)))

    def ref_create(self, e: RefCreate, lets: LetList) -> Steps:
        value = yield self.visit(e.value, lets)
        ref = StaticRef()
        self.store.insert(ref, value)
        return self.partial(ref, lets.push(RefCreate(value.dynamic, e.span)))

    def ref_read(self, e: RefRead, lets: LetList) -> Steps:
        ref = yield self.visit(e.ref, lets)
        if isinstance(ref.known, StaticRef):
            value = self.store.lookup(ref.known)
            if value is not None:
                return value
        return self.partial(None, lets.push(RefRead(ref.dynamic, e.span)))

    def ref_write(self, e: RefWrite, lets: LetList) -> Steps:
        ref = yield self.visit(e.ref, lets)
        value = yield self.visit(e.value, lets)
        if isinstance(ref.known, StaticRef):
            self.store.insert(ref.known, value)
        else:
            self.store.invalidate()
        return self.partial(StaticTuple(()), lets.push(RefWrite(ref.dynamic, value.dynamic, e.span)))

    def call(self, e: Call, lets: LetList) -> Steps:
        function = yield self.visit(e.op, lets)
        arguments = yield self.visit_all(e.args, lets)
        if isinstance(function.known, StaticFunction):
            return (yield function.known.apply(function, arguments, e.attrs, e.type_args, lets))
        self.store.invalidate()
        dynamic = tuple(a.dynamic for a in arguments)
        return self.partial(None, lets.push(Call(function.dynamic, dynamic, e.attrs, e.type_args, e.span)))

    def function(self, e: Function, lets: LetList) -> Steps:
        return self.bind_function(e, lets, self.names.fresh())

    def bind_function(self, e: Function, lets: LetList, name: Var) -> Steps:
        apply = self.static_function(e, name)
        params = tuple(Var(p.name, p.type_annotation, p.span, None, p.virtual_device) for p in e.params)
        code = yield self.own_code(with_function(e, params=params), apply, name)
        return self.partial(StaticFunction(apply), lets.push(code.residual, name))

    def free_variables(self, function: Function) -> list[Var]:
        """The free variables of `function`. Functions in one another are searched together, once."""
        if function not in self._free:
            self._free.update(free_variables_of_functions(function))
        return self._free[function]

    def own_or_copy(self, function: Function, types: dict[Any, Type]) -> Function:
        """The function, for its body to be evaluated: itself the first time, since copies of all functions in one another
        would be a copy for each around it; then copies."""
        if function in self._evaluated or types:
            return self.identities.copy(function, types)
        self._evaluated.add(function)
        return function

    def static_function(self, function: Function, name: Expr) -> Callable[..., Steps]:
        """Application of a function now: its body is evaluated, unless that would never end."""
        captured = {v: self.lookup(v) for v in self.free_variables(function) if v is not name}
        if function.attrs.get("Primitive"):
            atoms = {v: p.dynamic for v, p in captured.items()}
            return self.constant_function(substitute(function, atoms))

        def apply(
            itself: Partial, arguments: list[Partial], attrs: Any, type_args: Any, lets: LetList, inside: bool = False
        ) -> Steps:
            number = self.identities.of(function)
            before = self.fuel.get(number)
            lower, progress = meet(before, tuple(map(fuel_of, arguments)))
            if before is not None:
                self.summaries.note_recursion()
            if not (inside or (progress and self.allowance.lasts)):
                return self.residual_call(name, arguments, attrs, type_args, lets)
            bindings = dict(zip(function.type_params, type_args, strict=False))
            types: dict[Any, Type] = {p: bindings.get(p) or IncompleteType() for p in function.type_params}
            summary = None if inside else self.summaries.fitting(number, arguments)
            if summary is not None:
                return self.by_summary(summary, arguments, types, lets)
            copy = self.own_or_copy(function, types)
            frame = dict(captured)
            if isinstance(name, Var):
                frame[name] = itself
            frame.update(zip(copy.params, arguments, strict=True))
            start, outermost = len(lets.items), not inside and self.allowance.begin()
            self.fuel[number] = lower
            self.frames.append(frame)
            try:
                return (yield self.visit(copy.body, lets))
            except SpentError:
                if not outermost:
                    raise
                del lets.items[start:]
            finally:
                self.frames.pop()
                self.fuel[number] = before
                if outermost:
                    self.allowance.end()
            return self.residual_call(name, arguments, attrs, type_args, lets)

        return apply

    def residual_call(self, name: Expr, arguments: list[Partial], attrs: Any, type_args: Any, lets: LetList) -> Partial:
        """A call that is left to the program."""
        self.store.invalidate()
        return self.partial(None, lets.push(Call(name, tuple(a.dynamic for a in arguments), attrs, type_args)))

    def own_code(self, function: Function, apply: Callable[..., Steps], name: Expr) -> Steps:
        """The function's own code: its body evaluated with unknown arguments.

        The body is evaluated whether or not that is progress: a call of the function by its name can stand for what is
        called, never for the body that it is to get. This ends all the same, for what is evaluated is a part of the code
        around it, and a call from there must be progress again.
        """
        lets = self.lets()
        with self.store.extended():
            self.store.invalidate()
            clean = self.store.depth
            arguments = [self.partial(None, p) for p in function.params]
            itself = self.partial(StaticFunction(apply), name)
            known = {} if function.attrs.get("Primitive") else {"inside": True}
            value = yield apply(itself, arguments, None, function.type_params, lets, **known)
            has_effects = self.store.depth > clean
        residual = with_function(function, body=lets.wrap(value.dynamic))
        return Summary(residual, len(lets.items), value, has_effects)

    def by_summary(self, summary: Summary, arguments: list[Partial], types: dict[Any, Type], lets: LetList) -> Partial:
        """A call of a function whose code with unknown arguments is known: a copy of that code."""
        self.allowance.work(summary.size)
        copy = self.identities.copy(summary.residual, types)
        atoms: dict[Expr, Expr] = dict(zip(variables(summary.residual), variables(copy), strict=True))
        body = substitute(copy.body, {p: a.dynamic for p, a in zip(copy.params, arguments, strict=True)})
        while isinstance(body, Let):
            lets.push(body.value, body.var)
            body = body.body
        if summary.has_effects:
            self.store.invalidate()
        self.clock += 1
        bindings: dict[Expr, Partial] = dict(zip(summary.residual.params, arguments, strict=True))
        return moved(summary.result, bindings, atoms, self.clock)

    def constant_function(self, callee: Expr) -> Callable[..., Steps]:
        """An operator or primitive function: evaluated if all arguments are known, called otherwise."""
        plain = computes_tensors(callee)

        def apply(itself: Partial, arguments: list[Partial], attrs: Any, type_args: Any, lets: LetList) -> Steps:
            known = known_tensors(arguments) if plain else None
            value = None if known is None else evaluated(Call(callee, known, attrs, type_args))
            if value is not None:
                return self.reify(value, lets)
            if not plain:
                self.store.invalidate()
            dynamic = tuple(a.dynamic for a in arguments)
            return self.partial(None, lets.push(Call(callee, dynamic, attrs, type_args)))
            yield

        return apply

    def reify(self, value: Expr, lets: LetList) -> Partial:
        """An expression of constants as a known value."""
        done: list[Partial] = []
        stack = [(value, False)]
        while stack:
            e, ready = stack.pop()
            if isinstance(e, Constant):
                done.append(self.partial(StaticTensor(e), lets.push(e)))
                continue
            assert isinstance(e, Tuple)
            if not ready:
                stack.append((e, True))
                stack.extend((f, False) for f in reversed(e.fields))
                continue
            first = len(done) - len(e.fields)
            fields = tuple(done[first:])
            done[first:] = [self.partial(StaticTuple(fields), lets.push(Tuple(tuple(f.dynamic for f in fields))))]
        return done[0]

    def op(self, e: Op, lets: LetList) -> Steps:
        return self.partial(StaticFunction(self.constant_function(e)), e)
        yield

    def constructor(self, e: Constructor, lets: LetList) -> Steps:
        def apply(itself: Partial, arguments: list[Partial], attrs: Any, type_args: Any, lets: LetList) -> Steps:
            dynamic = lets.push(Call(e, tuple(a.dynamic for a in arguments), attrs, type_args))
            return self.partial(StaticData(e, tuple(arguments)), dynamic)
            yield

        return self.partial(StaticFunction(apply), e)
        yield

    def match(self, e: Match, lets: LetList) -> Steps:
        data = yield self.visit(e.data, lets)
        self.frames.append({})
        try:
            for clause in e.clauses:
                fits = self.fits(clause.pattern, data)
                if fits is None:
                    return (yield self.unknown_match(e, data, lets))
                if fits:
                    return (yield self.visit(clause.body, lets))
        finally:
            self.frames.pop()
        raise IrError("no clause of this match can match its data", e.span)

    def unknown_match(self, e: Match, data: Partial, lets: LetList) -> Steps:
        clauses = []
        for clause in e.clauses:
            for v in bound_vars(clause.pattern):
                self.frames[-1][v] = self.partial(None, v)
            clauses.append(Clause(clause.pattern, (yield self.branch(clause.body)), clause.span))
        self.store.invalidate()
        return self.partial(None, lets.push(Match(data.dynamic, tuple(clauses), e.complete, e.span)))

    def fits(self, pattern: Pattern, value: Partial) -> bool | None:
        """True if a value matches a pattern (None: unknown); the pattern's variables are bound on the way."""
        status: bool | None = True
        stack = [(pattern, value)]
        while stack:
            p, v = stack.pop()
            if isinstance(p, PatternVar):
                self.frames[-1][p.var] = v
            elif isinstance(p, PatternConstructor):
                if not isinstance(v.known, StaticData):
                    status = None
                elif v.known.constructor.name != p.constructor.name:
                    return False
                else:
                    stack += reversed(list(zip(p.patterns, v.known.fields, strict=True)))
            elif isinstance(p, PatternTuple):
                if not isinstance(v.known, StaticTuple):
                    status = None
                else:
                    stack += reversed(list(zip(p.patterns, v.known.fields, strict=True)))
        return status


_VISIT: dict[type, Any] = {
    Call: Evaluator.call,
    Constant: Evaluator.constant,
    Constructor: Evaluator.constructor,
    Function: Evaluator.function,
    GlobalVar: Evaluator.global_var,
    If: Evaluator.if_,
    Let: Evaluator.let,
    Match: Evaluator.match,
    Op: Evaluator.op,
    RefCreate: Evaluator.ref_create,
    RefRead: Evaluator.ref_read,
    RefWrite: Evaluator.ref_write,
    Tuple: Evaluator.tuple,
    TupleGetItem: Evaluator.projection,
    Var: Evaluator.var,
}
