"""LowerTE: kernels become loop nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...diagnostics import Diagnostic, IrError
from ...ir import (
    Call,
    Constant,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    Let,
    Module,
    Op,
    TensorType,
    Tuple,
    Type,
    Var,
    post_order,
    rewrite,
)
from ...ir.meta import MetaNode
from ...ir.structural import structural_equal, structural_hash
from ...ir.target import Target
from ...ops.base import call, is_call_to
from ...passes.base import ModulePass, register_pass
from ...passes.context import PassContext
from ...tir.stmt import PrimFunc
from ..compose import compose
from ..mistakes import DynamicShape
from ..naming import kernel_name
from ..plain import lower_plainly


@register_pass("LowerTE", level=0, required=("InferType",))
@dataclass(frozen=True)
class LowerTE(ModulePass):
    """Replaces each call of a primitive function by a call of a loop nest, which becomes a function of the module.

    ::

        %0 = fn (%p0: Tensor[(4), float32], Primitive=1) { add(%p0, %p0) };
        %0(%x)
            ⇒
        @tvmgen_default_fused_add = primfn(p0_1: handle, T_add_1: handle) -> () … {
          for (ax0: int32, 0, 4) {
            T_add[ax0] = (p0[ax0] + p0[ax0])
          }
        }
        call_lowered(@tvmgen_default_fused_add, (%x,), metadata={"relay_attrs"=…, "all_prim_fn_vars"=[…]})

    Equal primitive functions share a loop nest. The loop nests are plain: no schedule has been applied (compiling to C
    schedules kernels of its own making). Constants of several elements in a primitive function become arguments.
    Functions for other compilers, and operators outside of primitive functions, stay as they are; FuseOps comes first.

    An operator that has no loop nest, and a shape that is not static, is an error.

    Options:
        module_name: what the names of the loop nests start with.
    """

    module_name: str = "tvmgen_default"

    def transform(self, module: Module, context: PassContext) -> Module:
        nests = _LoopNests(module, f"{self.module_name}_" if self.module_name else "", context.target)
        functions: dict[str, Any] = {}
        for name, f in module.functions.items():
            if isinstance(f, Function) and not _is_kernel(f) and not f.attrs.get("Compiler"):
                f = _Lowering(module, nests).run(f)
            functions[name] = f
        if nests.problems:
            raise IrError(list(dict.fromkeys(_dynamic_parameters(module) or nests.problems)))
        return module.with_functions({**functions, **nests.made})


def _dynamic_parameters(module: Module) -> list[Diagnostic]:
    """What to say of parameters whose shapes are not static: they are where the shapes of kernels come from."""
    problems: list[Diagnostic] = []
    for f in module.relay_functions.values():
        for p in f.params if not _is_kernel(f) else ():
            t = p.checked_type
            if isinstance(t, TensorType) and not t.is_static:
                problems.append(
                    Diagnostic(
                        f"the shape of %{p.name}, {t}, is not static: a loop nest needs every dimension",
                        p.span,
                        code=DynamicShape,
                    )
                )
    return problems


def _is_kernel(e: Any) -> bool:
    return isinstance(e, Function) and bool(e.attrs.get("Primitive")) and not e.attrs.get("Compiler")


class _LoopNests:
    """The loop nests made so far, by name."""

    def __init__(self, module: Module, prefix: str, target: Target | None) -> None:
        self.prefix = prefix
        self.target = (target or Target.parse("c")).record()
        self.made: dict[str, PrimFunc] = {}
        self.problems: list[Diagnostic] = []
        self._taken = set(module.functions)
        self._known: dict[int, list[tuple[Function, str, tuple[Constant, ...]]]] = {}

    def get(self, function: Function) -> tuple[str, tuple[Constant, ...]] | None:
        """The name of the loop nest of a primitive function, and the constants that it takes behind its arguments; None,
        with the problems noted, where there is none."""
        known = self._known.setdefault(structural_hash(function), [])
        for other, name, constants in known:
            if other is function or structural_equal(other, function):
                return name, constants
        try:
            graph = compose(function)
            name = self._fresh(kernel_name((c.op.name for c in graph.operators), self.prefix))  # type: ignore[attr-defined]  # the callee is an operator
            nest = lower_plainly(graph, name)
        except IrError as error:
            self.problems += error.diagnostics
            return None
        nest.attrs.update(
            {
                "from_legacy_te_schedule": True,
                "global_symbol": name,
                "tir.noalias": True,
                "target": _target_of(function) or self.target,
            }
        )
        types: list[Type | None] = [p.checked_type or p.type_annotation for p in function.params]
        types += [TensorType(c.data.shape, c.dtype) for c in graph.constants]  # type: ignore[union-attr]  # the data of the constant is there
        nest.checked_type = FuncType(tuple(types), function.body.checked_type)  # type: ignore[arg-type]  # types have been inferred
        self.made[name] = nest
        known.append((function, name, graph.constants))
        return name, graph.constants

    def _fresh(self, name: str) -> str:
        taken = name
        number = 0
        while taken in self._taken:
            number += 1
            taken = f"{name}_{number}"
        self._taken.add(taken)
        return taken


def _target_of(f: Function) -> MetaNode | None:
    """The target that devices of the function name, if any."""
    for device in (f.virtual_device, *(p.virtual_device for p in f.params)):
        if device is not None and device.target is not None:
            return device.target
    return None


class _Lowering:
    """The lowering of one function."""

    def __init__(self, module: Module, nests: _LoopNests) -> None:
        self.module = module
        self.nests = nests
        self.bound: dict[Var, Function] = {}
        """Variables that a `let` binds to primitive functions."""

    def run(self, f: Function) -> Function:
        """The function with its kernel calls lowered."""
        for e in post_order(f, enter=lambda e: not _is_kernel(e)):
            if isinstance(e, Let):
                callee = self._kernel(e.value)
                if callee is not None:
                    self.bound[e.var] = callee
        return rewrite(f, self._leave, lambda e: e if _is_kernel(e) else None)

    def _kernel(self, e: Expr) -> Function | None:
        if isinstance(e, GlobalVar):
            found = self.module.functions.get(e.name)
            return found if _is_kernel(found) else None
        if isinstance(e, Var):
            return self.bound.get(e)
        return e if _is_kernel(e) else None  # type: ignore[return-value]

    def _leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(old, Let) and old.var in self.bound:
            return new.body  # type: ignore[attr-defined]
        if not isinstance(new, Call) or isinstance(new.op, Op):
            return new
        kernel = self._kernel(new.op)
        if kernel is None:
            return new
        if is_call_to(kernel.body, "device_copy"):
            assert isinstance(kernel.body, Call)
            return Call(kernel.body.op, new.args, kernel.body.attrs, (), new.span)
        made = self.nests.get(kernel)
        if made is None:
            return new
        return _lowered_call(*made, new.args, kernel, new)


def _lowered_call(
    name: str, constants: Sequence[Constant], args: Sequence[Expr], kernel: Function, instead_of: Call
) -> Call:
    metadata: dict[str, Any] = {}
    if kernel.attrs.get("relay.reshape_only"):
        metadata["relay.reshape_only"] = 1
    metadata["relay_attrs"] = {"__dict__": dict(kernel.attrs)}
    metadata["all_prim_fn_vars"] = (GlobalVar(name),)
    arguments = Tuple((*args, *constants), instead_of.span)
    return call("call_lowered", GlobalVar(name), arguments, metadata=metadata, span=instead_of.span)
