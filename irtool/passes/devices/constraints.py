"""Constraints that put expressions on the same device, and default devices for unconstrained ones."""

from __future__ import annotations

from ...diagnostics import IrError
from ...ir import (
    Call,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Type,
    bound_vars,
    children,
    post_order,
)
from ...ir.meta import VirtualDevice
from ...ops.base import is_call_to
from ..core.lexical_devices import known
from ..core.primitive_functions import is_primitive
from .configuration import Configuration, show_device
from .domains import Domain, Domains


def is_planned(function: object) -> bool:
    """True if a module's function takes part in planning."""
    return isinstance(function, Function) and not (
        "Compiler" in function.attrs or function.attrs.get("Extern") or function.attrs.get("SkipOptimization")
    )


def callee_and_arguments(call: Call) -> tuple[Expr, tuple[Expr, ...]]:
    """Callee and arguments of a call; a call of a lowered function is one of that function with the fields of the tuple."""
    if is_call_to(call, "call_lowered") and isinstance(call.args[1], Tuple):
        return call.args[0], call.args[1].fields
    return call.op, call.args


class DeviceConstraints:
    """The domain of every expression of a module.

    1. All arguments and the result of an operator are on one device, a different one at each call; shapes and sizes that
       operators take are on the host.
    2. A function has one device for each parameter and one for its result, the same at every call.
    3. Tuples, references, data, branches and matches are where their parts are. A function among these is there, too.
    4. `let` leaves the device of its value open; the device of the `let` is that of its body.
    5. `on_device` says where its body is and leaves open where its value is needed; `device_copy` fixes both.
    """

    def __init__(self, module: Module, configuration: Configuration) -> None:
        self.configuration = configuration
        self.domains = Domains(configuration)
        self.functions = {n: f for n, f in module.functions.items() if is_planned(f)}
        self._of: dict[Expr | str, Domain] = {}
        self._callees: dict[Call, Domain] = {}

    def solve(self) -> None:
        """Collects the constraints, then decides on a device for everything that is left open."""
        for name, function in self.functions.items():
            self._require(function, self._domain(name, function.checked_type), self.domain(function))
            for e in post_order(function, enter=lambda e: not is_primitive(e)):
                self._collect(e)
        for function in self.functions.values():
            self._close_copies(function)
        for function in self.functions.values():
            self._choose(function)

    def domain(self, e: Expr) -> Domain:
        """The domain of an expression. Operators and constructors have another one wherever they are used."""
        if isinstance(e, Op | Constructor):
            return self.domains.make(e.checked_type)
        return self._domain(e.name if isinstance(e, GlobalVar) else e, e.checked_type)

    def _domain(self, key: Expr | str, type: Type | None) -> Domain:
        result = self._of.get(key)
        if result is None:
            result = self._of[key] = self.domains.make(type)
        return result

    def device(self, e: Expr) -> VirtualDevice:
        """The device of an expression."""
        return self.domains.device(self.domain(e))

    def callee(self, call: Call) -> Domain:
        """The domain of the callee, as a function of the call's arguments."""
        callee, _ = callee_and_arguments(call)
        if not isinstance(callee, Op | Constructor):
            return self.domains.find(self.domain(callee))
        result = self._callees.get(call)
        if result is None:
            result = self._callees[call] = self._callee(call)
        return result

    def _callee(self, call: Call) -> Domain:
        make, canonical = self.domains.make, self.configuration.canonical
        if is_call_to(call, "on_device"):
            body = call.args[0].checked_type
            device = canonical(call.attrs.virtual_device)
            inside = make(body, device) if call.attrs.constrain_body else make(body)
            return Domain(parts=(inside, make(body, device) if call.attrs.constrain_result else make(body)))
        if is_call_to(call, "device_copy"):
            type = call.args[0].checked_type
            ends = (call.attrs.src_virtual_device, call.attrs.dst_virtual_device)
            return Domain(parts=[make(type, canonical(d)) for d in ends])
        if is_call_to(call, "call_lowered"):
            return self._lowered(call)
        here = Domain()
        if isinstance(call.op, Constructor):
            return Domain(parts=(*(here for _ in call.args), here))
        operator = call.op_class
        host = Domain(self.configuration.host)
        names = operator.names_of_arguments(len(call.args)) or ("",) * len(call.args)
        parts = [
            make(arg.checked_type)
            if isinstance(arg.checked_type, FuncType)
            else (host if name in operator.on_host else here)
            for name, arg in zip(names, call.args, strict=True)
        ]
        placed = known(getattr(call.attrs, "result_device", None))
        if placed is not None:
            return Domain(parts=(*parts, Domain(canonical(placed))))
        return Domain(parts=(*parts, host if "result" in operator.on_host else here))

    def _lowered(self, call: Call) -> Domain:
        """A lowered call whose arguments are a tuple that was made elsewhere: all parameters are where the tuple is."""
        function = self.domains.find(self.domain(call.args[0]))
        fields, result = Domain(), Domain()
        *params, returned = self.domains.parts(function)
        for part in params:
            self._require(call, part, fields)
        self._require(call, returned, result)
        return Domain(parts=(self.domains.make(call.args[0].checked_type), fields, result))

    def _require(self, e: Expr, a: Domain, b: Domain) -> None:
        before = [show_device(self.domains.device(d)) for d in (a, b)]
        if not self.domains.unify(a, b):
            where = f"{before[0]} and {before[1]}" if before[0] != before[1] else "two devices"
            raise IrError(
                f"this expression would have to be on {where} at the same time",
                e.span,
                help="write on_device around values that may be copied from one to the other",
            )

    def _collect(self, e: Expr) -> None:
        same = self._require
        of = self.domain
        if isinstance(e, Call):
            callee = self.callee(e)
            parts = self.domains.parts(callee)
            _, arguments = callee_and_arguments(e)
            if not parts:  # a function whose type is not known to be one
                parts = (callee,) * (len(arguments) + 1)
            for arg, part in zip(arguments, parts[:-1], strict=True):
                same(arg, part, of(arg))
            same(e, parts[-1], of(e))
        elif isinstance(e, Let):
            same(e.value, of(e.var), of(e.value))
            same(e.body, of(e), of(e.body))
        elif isinstance(e, Function):
            self._collect_function(e)
        elif isinstance(e, Tuple):
            for f in e.fields:
                same(f, of(e), of(f))
        elif isinstance(e, TupleGetItem):
            same(e, of(e.tuple), of(e))
        elif isinstance(e, If):
            for k in children(e):
                same(k, of(e), of(k))
        elif isinstance(e, Match):
            same(e.data, of(e.data), of(e))
            for clause in e.clauses:
                for v in bound_vars(clause.pattern):
                    same(e.data, of(e.data), of(v))
                same(clause.body, of(e), of(clause.body))
        elif isinstance(e, RefCreate):
            same(e.value, of(e), of(e.value))
        elif isinstance(e, RefRead):
            same(e, of(e.ref), of(e))
        elif isinstance(e, RefWrite):
            same(e.value, of(e.ref), of(e.value))
            same(e, of(e.ref), of(e))

    def _collect_function(self, f: Function) -> None:
        canonical, make = self.configuration.canonical, self.domains.make
        *params, result = self.domains.parts(self.domain(f))
        self._require(f.body, result, self.domain(f.body))
        if known(f.virtual_device) is not None:
            self._require(f.body, make(f.body.checked_type, canonical(f.virtual_device)), self.domain(f.body))
        for p, part in zip(f.params, params, strict=True):
            self._require(p, part, self.domain(p))
            if known(p.virtual_device) is not None:
                self._require(p, make(p.checked_type, canonical(p.virtual_device)), self.domain(p))

    def _close_copies(self, function: Function) -> None:
        """Puts both sides of an optional copy on one device, if that is possible."""
        for e in post_order(function, enter=lambda e: not is_primitive(e)):
            if is_call_to(e, "on_device") and not (e.attrs.constrain_body or e.attrs.constrain_result):
                self.domains.unify_if_possible(self.domain(e), self.domain(e.args[0]))

    def _choose(self, function: Function) -> None:
        """Results of functions and calls go to the default device, parameters where the result is, variables likewise."""
        default = self.configuration.default
        seen: set[Expr] = set()
        stack: list[Expr] = [function]
        while stack:
            e = stack.pop()
            if e in seen or is_primitive(e):
                continue
            seen.add(e)
            if isinstance(e, Function):
                self.domains.set_defaults(self.domain(e), default)
            elif isinstance(e, Call):
                self.domains.set_defaults(self.callee(e), default)
            elif isinstance(e, Let):
                self.domains.set_default(self.domain(e.var), self.device(e))
            stack.extend(reversed(children(e)))
