"""FirstOrderGradient: reverse-mode differentiation of programs without control flow."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ..diagnostics import IrError, placing
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    FuncType,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
)
from ..ir.types import require_few_leaves
from ..ops.base import call
from ..trampoline import trampoline
from .core.base import ModulePass, register_pass
from .core.context import PassContext
from .core.let_binding import FreshVars, LetList
from .core.mistakes import NoGradient
from .gradients.rule import GradientRule, GradientSite, no_gradient, rule_of

Steps = Generator[Any, Any, Any]


@register_pass("FirstOrderGradient", level=0)
@dataclass(frozen=True)
class FirstOrderGradient(ModulePass):
    """Makes each function return its result and the gradients with respect to its parameters.

    ::

        def @main(%x: T) -> T { exp(%x) }
            ⇒  def @main(%x: T) -> (T, (T,)) {
                 let %x_0 = %x; let %x_1 = zeros_like(%x_0);      a value and its gradient so far
                 let %x_2 = exp(%x_0); let %x_3 = zeros_like(%x_2);
                 (%x_2, (let %x_4 = add(%x_1, multiply(ones_like(%x_2), exp(%x_0))); (%x_4,)))
               }

    Handles operators, tuples, constants and directly called function literals; anything else (`let`, `if`, calls of
    other functions) needs `Gradient`. Every operator needs a gradient.
    """

    changes: ClassVar[str] = "derivative"
    adds_up_results: ClassVar[bool] = True
    """Whether it is the sum over all tensors of the result that is differentiated, or that over the first."""

    def transform(self, module: Module, context: PassContext) -> Module:
        functions = dict(module.functions)
        for name, f in module.functions.items():
            if isinstance(f, Function):
                with placing(f.span):
                    functions[name] = differentiate(f)
        return module.with_functions(functions)


def gradient_type(f: Function) -> Type | None:
    """`(result, (parameters…))`, or None if an annotation is missing."""
    types = [t for p in f.params if (t := p.type_annotation) is not None]
    if f.ret_type is None or len(types) < len(f.params):
        return None
    return TupleType((f.ret_type, TupleType(tuple(types))))


def differentiate(f: Function, rules: Mapping[str, GradientRule] = MappingProxyType({})) -> Function:
    """The function that returns `f`'s result and the gradients with respect to its parameters.

    Args:
        rules: rules for operators, by name, in the place of the registered ones.
    """
    if f.type_params:
        raise IrError("gradients of polymorphic functions are not defined", f.span, code=NoGradient)
    body = _ReverseMode(rules).run(f)
    return Function(f.params, body, gradient_type(f), (), f.attrs, f.span, None, f.virtual_device)


class _Value:
    """A value of the program: the variable that holds it, and its gradient so far.

    A tensor and a tuple of tensors have one expression for their gradient. A tuple that holds tuples has none: its fields
    have theirs, for a sum over all the tensors of a deep tuple at each of its levels would take quadratic work.

    Attributes:
        forward: the variable.
        type: its type.
        reverse: the gradient, of that type; an empty tuple where the fields have it.
        fields: the fields of a tuple that holds tuples, as far as they have been asked for; empty for any other value.
    """

    __slots__ = ("fields", "forward", "reverse", "type")

    def __init__(self, forward: Expr, type: Type, reverse: Expr, fields: list[_Value | None]) -> None:
        self.forward = forward
        self.type = type
        self.reverse = reverse
        self.fields = fields


class _ReverseMode:
    def __init__(self, rules: Mapping[str, GradientRule]) -> None:
        self.rules = rules
        self.names = FreshVars()
        self.lets = LetList(self.names)
        self.backward: list[Callable[[], None]] = []
        self.memo: dict[Expr, _Value] = {}

    def run(self, f: Function) -> Expr:
        arguments = [self.value(p, _type(p)) for p in f.params]
        for p, a in zip(f.params, arguments, strict=True):
            self.memo[p] = a
        result: _Value = trampoline(self.visit(f.body))
        forward, self.lets = self.lets, LetList(self.names)
        if result.fields:
            self.add(result, _filled(result.forward, result.type, "ones"))
        else:
            result.reverse = _filled(result.forward, result.type, "ones")
        for action in reversed(self.backward):
            action()
        gradients = self.lets.wrap(Tuple(tuple(map(self.gradient, arguments))))
        return forward.wrap(Tuple((result.forward, gradients)))

    def push(self, e: Expr) -> Var:
        return self.lets.push(e)

    def value(self, e: Expr, t: Type) -> _Value:
        forward = self.push(e)
        if isinstance(t, TupleType) and any(isinstance(f, TupleType) for f in t.fields):
            return _Value(forward, t, Tuple(()), [None] * len(t.fields))
        return _Value(forward, t, self.push(_filled(forward, t, "zeros")), [])

    def field(self, value: _Value, index: int) -> _Value:
        """A field of a tuple that holds tuples."""
        result = value.fields[index]
        if result is None:
            assert isinstance(value.type, TupleType)
            result = self.value(TupleGetItem(value.forward, index), value.type.fields[index])
            value.fields[index] = result
        return result

    def gradient(self, value: _Value) -> Expr:
        """The gradient of a value as one expression; zero for a value that the result does not depend on."""

        def gather(value: _Value) -> Steps:
            if not value.fields:
                return value.reverse
            assert isinstance(value.type, TupleType)
            fields = []
            for field, t in zip(value.fields, value.type.fields, strict=True):
                fields.append((yield gather(field) if field is not None else _filled_by_type(t, "zeros")))
            return Tuple(tuple(fields))

        return trampoline(gather(value))

    def add(self, value: _Value, grad: Expr) -> None:
        """Adds `grad` to the gradient of a value."""
        waiting = [(value, grad)]
        while waiting:
            value, grad = waiting.pop()
            if not value.fields:
                value.reverse = self.lifted_add(value.type, value.reverse, grad)
                continue
            parts = [(self.field(value, i), TupleGetItem(grad, i)) for i in range(len(value.fields))]
            waiting.extend(reversed([(field, self.push(part)) for field, part in parts]))

    def lifted_add(self, t: Type, a: Expr, b: Expr) -> Expr:
        """The sum of two values of type `t`, tensor by tensor; it and its parts are named."""

        def lift(t: Type, a: Expr, b: Expr) -> Steps:
            if not isinstance(t, TupleType):
                return self.push(call("add", a, b))
            fields = []
            for i, field in enumerate(t.fields):
                right, left = self.push(TupleGetItem(b, i)), self.push(TupleGetItem(a, i))
                fields.append((yield lift(field, left, right)))
            return self.push(Tuple(tuple(fields)))

        require_few_leaves(t)
        return trampoline(lift(t, a, b))

    def visit(self, e: Expr) -> Steps:
        done = self.memo.get(e)
        if done is None:
            done = self.memo[e] = yield self.dispatch(e)
        return done

    def dispatch(self, e: Expr) -> Steps:
        if isinstance(e, Call) and isinstance(e.op, Op):
            return self.operator(e)
        if isinstance(e, Call) and isinstance(e.op, Function):
            return self.inlined(e, e.op)
        if isinstance(e, Tuple):
            return self.tuple(e)
        if isinstance(e, TupleGetItem):
            return self.projection(e)
        if isinstance(e, Constant):
            return self.constant(e)
        raise IrError(
            f"FirstOrderGradient handles operators and tuples only, not {type(e).__name__} ({e!r})",
            e.span,
            help="Gradient handles control flow and closures",
            code=NoGradient,
        )

    def constant(self, e: Constant) -> Steps:
        return self.value(e, _type(e))
        yield

    def operator(self, e: Call) -> Steps:
        op = e.op
        assert isinstance(op, Op)
        rule = self.rules.get(op.name) or rule_of(e)
        if rule is None:
            raise no_gradient(e)
        arguments: list[_Value] = []
        for a in e.args:
            arguments.append((yield self.visit(a)))
        forward: tuple[Expr, ...] = tuple(a.forward for a in arguments)
        out = Call(op, forward, e.attrs, e.type_args, e.span)
        result = self.value(out, _type(e))

        def backward() -> None:
            site = GradientSite(
                forward, tuple(a.type for a in arguments), e.attrs, out, result.type, self.gradient(result), e.args
            )
            for a, g in zip(arguments, rule(site), strict=True):
                self.add(a, g)

        self.backward.append(backward)
        return result

    def inlined(self, e: Call, f: Function) -> Steps:
        arguments = []
        for a in e.args:
            arguments.append((yield self.visit(a)))
        for p, a in zip(f.params, arguments, strict=True):
            self.memo[p] = a
        return (yield self.visit(f.body))

    def tuple(self, e: Tuple) -> Steps:
        fields: list[_Value] = []
        for f in e.fields:
            fields.append((yield self.visit(f)))
        result = self.value(Tuple(tuple(f.forward for f in fields), e.span), _type(e))
        if result.fields:  # an addition to a field's gradient is an addition to the gradient of the field's value
            result.fields[:] = fields
            return result

        def backward() -> None:
            for i, f in enumerate(fields):
                self.add(f, TupleGetItem(result.reverse, i))

        self.backward.append(backward)
        return result

    def projection(self, e: TupleGetItem) -> Steps:
        whole: _Value = yield self.visit(e.tuple)
        if whole.fields:
            return self.field(whole, e.index)
        result = self.value(TupleGetItem(whole.forward, e.index, e.span), _type(e))
        types = whole.type
        assert isinstance(types, TupleType)

        def backward() -> None:
            parts: list[Expr] = []
            for i, t in enumerate(types.fields):
                part: Expr = TupleGetItem(whole.reverse, i)
                parts.append(part if i != e.index else self.lifted_add(t, part, result.reverse))
            whole.reverse = self.push(Tuple(tuple(parts)))

        self.backward.append(backward)
        return result


def _type(e: Expr) -> Type:
    t = e.checked_type or (e.type_annotation if isinstance(e, Var) else None)
    if t is None or isinstance(t, FuncType):
        raise IrError(f"gradients are defined for tensors, and {e!r} is of type {t!r}", e.span, code=NoGradient)
    return t


def _filled(e: Expr, t: Type, what: str) -> Expr:
    """Ones or zeros of the type of `e`: by `_like` for a tensor, by shape for each tensor of a tuple."""
    if isinstance(t, TensorType):
        return call(f"{what}_like", e)
    require_few_leaves(t)
    return trampoline(_filled_by_type(t, what))


def _filled_by_type(t: Type, what: str) -> Steps:
    if isinstance(t, TupleType):
        fields = []
        for f in t.fields:
            fields.append((yield _filled_by_type(f, what)))
        return Tuple(tuple(fields))
    if not isinstance(t, TensorType) or not t.is_static:
        raise IrError(f"gradients are defined for tensors of static shape, not {t!r}", code=NoGradient)
    return call(what, shape=t.shape, dtype=t.dtype)
