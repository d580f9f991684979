"""ManifestAlloc: memory for the results of kernels is allocated explicitly."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..deferred import np
from ..diagnostics import IrError, Span
from ..ir import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    If,
    Let,
    Match,
    Module,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeData,
    Var,
    children,
    post_order,
    rebuild,
    tuple_leaves,
)
from ..ir.meta import VirtualDevice
from ..ops.base import call, is_call_to
from ..ops.dtypes import bits
from ..trampoline import trampoline
from .core.base import ModulePass, is_optimizable, register_pass
from .core.context import PassContext
from .core.kernel_calls import KernelCall, kernel_call
from .core.lexical_devices import LexicalDevices, fix_device, is_fixed
from .core.primitive_functions import is_primitive
from .core.sharing import require_tree
from .devices.configuration import UNKNOWN, Configuration, read_device

ALIGNMENT = 64
"""Storage begins at a multiple of this many bytes, or of the size of an element if that is larger."""


@register_pass("ManifestAlloc", level=0, required=("InferType",))
@dataclass(frozen=True)
class ManifestAlloc(ModulePass):
    """Makes allocations explicit: kernels write into tensors that the program allocates.

    ::

        let %y = call_lowered(@kernel, (%x,)); …
            ⇒  let %storage_0 = memory.alloc_storage(24, 64, virtual_device=…);
               let %tensor_0 = memory.alloc_tensor(%storage_0, 0, [2, 3], assert_shape=[2, 3]);
               let %x_0 = vm.invoke_tvm_op(@kernel, (%x,), (%tensor_0,));
               let %y = %tensor_0; …

    Kernels are lowered functions (`call_lowered`) and primitive ones. Calls of any other function stay as they are. A
    kernel that only reshapes becomes `vm.reshape_tensor`, which copies nothing. Where the shape of a result is known only
    at run time, the kernel's shape function, which lowering names in the metadata of the call, is run first (on the host,
    from the shapes or values of the arguments that it needs), and storage is allocated by what it says.

    Takes programs in A-normal form (see ToANormalForm) without shared expressions. Storage is on the device that
    PlanDevices gave to the call; on the host, where it did not run. The module gets the type `Storage` that memory has.

    Options:
        host: the device that sizes and shapes are computed on: `cpu`, or a name and a number (`cpu:1`).
    """

    host: str = "cpu"

    def transform(self, module: Module, context: PassContext) -> Module:
        host = Configuration(read_device(self.host), UNKNOWN, module).host
        functions = dict(module.functions)
        for name, function in module.functions.items():
            if is_optimizable(function):
                require_tree(function, "ManifestAlloc")
                functions[name] = trampoline(_Allocator(module, host).function(function))
        after = module.with_functions(functions)
        if after is module or "Storage" in module.type_definitions:
            return after
        storage = TypeData(GlobalTypeVar("Storage"), (), ())
        return after.with_types({**module.type_definitions, "Storage": storage})


Steps = Generator[Any, Any, Expr]


class _Allocator:
    """Rewrites one function. `bindings` are the `let`s of the block that is being written, one list per open block."""

    def __init__(self, module: Module, host: VirtualDevice) -> None:
        self.module = module
        self.host = host
        self.devices = LexicalDevices()
        self.kernels: dict[Var, Expr] = {}
        self.bindings: list[list[tuple[Var, Expr]]] = []
        self.calls = 0

    def function(self, f: Function) -> Steps:
        if f.attrs.get("Primitive"):
            return f
        for p in f.params:
            self.devices.bind(p, p.virtual_device)
        with self.devices.inside(f.virtual_device):
            body = yield self.block(f.body)
        return rebuild(f, (body,))

    def block(self, e: Expr) -> Steps:
        """An expression that is evaluated on its own, with the `let`s that its kernels need around it."""
        self.bindings.append([])
        lets = []
        first = e
        while isinstance(e, Let):
            value = e.value
            device = self.devices.of(value)
            self.devices.bind(e.var, device)
            inner = value.args[0] if is_call_to(value, "on_device") else value
            if is_primitive(inner):
                self.kernels[e.var] = inner
            new = yield self.visit(value)
            lets.append(self.bind(e.var, new if new is value else fix_device(new, device)))
            e = e.body
        body = yield self.visit(e)
        bindings = self.bindings.pop()
        if body is e and len(lets) == len(bindings) and _is_chain(first, bindings):
            return first
        for var, value in reversed(bindings):
            body = Let(var, value, body)
        return body

    def bind(self, var: Var, value: Expr) -> Var:
        self.bindings[-1].append((var, value))
        return var

    def visit(self, e: Expr) -> Steps:
        if is_fixed(e):
            assert isinstance(e, Call)
            with self.devices.inside(e.attrs.virtual_device):
                inner = yield self.visit(e.args[0])
            return e if inner is e.args[0] else fix_device(inner, e.attrs.virtual_device)
        if isinstance(e, Let):
            return (yield self.block(e))
        if isinstance(e, Function):
            return (yield self.function(e))
        if isinstance(e, If):
            cond = yield self.visit(e.cond)
            true = yield self.block(e.true_branch)
            return rebuild(e, (cond, true, (yield self.block(e.false_branch))))
        if isinstance(e, Match):
            data = yield self.visit(e.data)
            clauses = []
            for c in e.clauses:
                clauses.append(Clause(c.pattern, (yield self.block(c.body)), c.span))
            if data is e.data and all(a.body is b.body for a, b in zip(clauses, e.clauses, strict=True)):
                return e
            return Match(data, tuple(clauses), e.complete, e.span)
        kernel = kernel_call(e, self.module, self.kernels)
        if kernel is not None:
            args = []
            for arg in kernel.args:
                args.append((yield self.visit(arg)))
            return self.run(e, kernel, args)
        parts = []
        for part in children(e):
            new = yield self.visit(part)
            if isinstance(e, Tuple) and isinstance(new, Constant) and not _is_immediate(new):
                device = self.devices.of(part)
                new = self.bind(Var("const"), fix_device(new, device))
            parts.append(new)
        return rebuild(e, parts)

    def run(self, e: Expr, kernel: KernelCall, args: list[Expr]) -> Expr:
        """Allocates the results of a kernel and runs it; gives the results."""
        type = e.checked_type
        assert type is not None
        device = self.devices.of(e)
        results = list(_tensors(type, e))
        is_static = all(isinstance(d, int) for t in results for d in t.shape)
        if kernel.only_reshapes:
            assert isinstance(type, TensorType)
            if is_static:
                shape = self.on_host(_integers(type.shape), device)
            else:
                shape = self.shapes(e, kernel, args, device)[0]
            return call("vm.reshape_tensor", args[0], shape, newshape=type.shape, span=e.span)
        if is_static:
            outs = [self.tensor(t, device, str(i)) for i, t in enumerate(results)]
        else:
            shapes = self.shapes(e, kernel, args, device)
            storages = [
                self.storage(self.on_host(_size(s, t), device), t, device, str(i))
                for i, (s, t) in enumerate(zip(shapes, results, strict=True))
            ]
            outs = [
                self.bind(Var(f"out_{i}"), fix_device(_at(storage, self.on_host(_int64(0), device), s, t), device))
                for i, (storage, s, t) in enumerate(zip(storages, shapes, results, strict=True))
            ]
        invoked = call("vm.invoke_tvm_op", kernel.function, Tuple(tuple(args)), Tuple(tuple(outs)), span=e.span)
        self.bind(self.unit(), fix_device(invoked, device))
        return _as_type(type, iter(outs))

    def unit(self) -> Var:
        var = Var(f"x_{self.calls}")
        self.calls += 1
        return var

    def on_host(self, e: Expr, device: VirtualDevice | None) -> Expr:
        """`e` annotated as being on the host; `device` is that of the kernel, None in a program without devices."""
        return e if device is None else fix_device(e, self.host)

    def tensor(self, type: TensorType, device: VirtualDevice | None, name: str) -> Var:
        """A new tensor of a shape that is known."""
        size = prod(type.static_shape) * _bytes(type)
        storage = self.storage(self.on_host(_int64(size), device), type, device, name)
        shape = self.on_host(_integers(type.shape), device)
        allocation = _at(storage, self.on_host(_int64(0), device), shape, type)
        return self.bind(Var(f"tensor_{name}"), fix_device(allocation, device))

    def storage(self, size: Expr, type: TensorType, device: VirtualDevice | None, name: str) -> Var:
        alignment = _int64(max(ALIGNMENT, _bytes(type)))
        where = device or self.host
        allocation = call("memory.alloc_storage", size, alignment, dtype=type.dtype, virtual_device=where)
        return self.bind(Var(f"storage_{name}"), fix_device(allocation, device))

    def shapes(self, e: Expr, kernel: KernelCall, args: list[Expr], device: VirtualDevice | None) -> list[Expr]:
        """Runs the kernel's shape function; gives the shapes of its results."""
        function = kernel.metadata.get("prim_shape_fn_var")
        states = kernel.metadata.get("prim_shape_fn_states")
        name = function.name if isinstance(function, GlobalVar) else function
        callee = self.module.functions.get(name) if isinstance(name, str) else None
        if (
            not isinstance(name, str)
            or callee is None
            or not isinstance(states, Sequence)
            or not isinstance(callee.checked_type, FuncType)
        ):
            raise IrError(
                f"the shape of this kernel's result, {e.checked_type}, is known only at run time, and the call names no "
                "shape function",
                e.span,
                help="DynamicToStatic may find the shape",
            )
        type = callee.checked_type
        host = None if device is None else self.host
        ins: list[Expr] = []
        for state, arg, original in zip(states, args, kernel.args, strict=True):
            if int(state) == _NEEDS_DATA:
                here = self.devices.of(original)
                if here is not None and here != self.host:
                    arg = fix_device(arg, here)
                    arg = call("device_copy", arg, src_virtual_device=here, dst_virtual_device=self.host)
                parts = [arg]
            elif int(state) == _NEEDS_SHAPE:
                assert original.checked_type is not None
                parts = [call("vm.shape_of", p, dtype="int64") for p in _parts(original.checked_type, arg)]
            else:
                raise IrError("a shape function takes the shape or the value of an argument, not both", e.span)
            for part in parts:
                ins.append(self.bind(Var(f"in_shape_{len(ins)}"), fix_device(part, host)))
        results = _tensors(type.ret_type, e)
        outs = [self.tensor(t, host, f"out_shape_{i}") for i, t in enumerate(results)]
        invoked = call("vm.invoke_tvm_op", GlobalVar(name), Tuple(tuple(ins)), Tuple(tuple(outs)), span=e.span)
        self.bind(Var("shape_func"), fix_device(invoked, host))
        return list(outs)


_NEEDS_DATA = 1
_NEEDS_SHAPE = 2
"""What a shape function takes of an argument, in TVM's numbers."""


def _is_chain(e: Expr, bindings: Sequence[tuple[Var, Expr]]) -> bool:
    for var, value in bindings:
        if not isinstance(e, Let) or e.var is not var or e.value is not value:
            return False
        e = e.body
    return True


def _is_immediate(c: Constant) -> bool:
    return c.is_scalar and c.dtype in ("int32", "int64", "float32", "float64", "bool")


def _int64(value: int) -> Constant:
    return Constant(np.array(value, np.int64))


def _integers(values: Sequence[Any]) -> Constant:
    return Constant(np.array(values, np.int64).reshape(len(values)))


def _bytes(type: TensorType) -> int:
    return (bits(type.dtype) + 7) // 8


def _at(storage: Expr, offset: Expr, shape: Expr, type: TensorType) -> Expr:
    attributes: dict[str, Any] = {"dtype": type.dtype, "const_shape": None, "assert_shape": type.shape}
    return call("memory.alloc_tensor", storage, offset, shape, **attributes)


def _size(shape: Expr, type: TensorType) -> Expr:
    """The bytes of a tensor whose shape is computed: elements times bytes of an element, rounded up from its bits."""
    elements = call("prod", shape)
    padded = call("add", _int64(bits(type.dtype)), _int64(7))
    return call("multiply", elements, call("divide", padded, _int64(8)))


def _place(e: Expr) -> Span | None:
    """The place of a call: its own, else that of an argument or of its callee, as passes make calls without one."""
    parts = (*e.args, *post_order(e.op)) if isinstance(e, Call) else ()
    return e.span or next((part.span for part in parts if part.span is not None), None)


def _tensors(type: Type, e: Expr) -> Iterator[TensorType]:
    """The tensor types of the value of `e`, tuples taken apart."""
    for t in tuple_leaves(type):
        if not isinstance(t, TensorType):
            raise IrError(f"a primitive function gives tensors, not {t}: nothing can be allocated for it", _place(e))
        yield t


def _parts(type: Type, e: Expr) -> Iterator[Expr]:
    """The tensors that `e` consists of."""
    stack = [(type, e)]
    while stack:
        t, part = stack.pop()
        if isinstance(t, TupleType):
            stack.extend((f, TupleGetItem(part, i)) for i, f in reversed(list(enumerate(t.fields))))
        else:
            yield part


def _as_type(type: Type, tensors: Iterator[Expr]) -> Expr:
    """The tensors in tuples as the type says."""

    def build(t: Type) -> Steps:
        if not isinstance(t, TupleType):
            return next(tensors)
        fields = []
        for f in t.fields:
            fields.append((yield build(f)))
        return Tuple(tuple(fields))

    return trampoline(build(type))
