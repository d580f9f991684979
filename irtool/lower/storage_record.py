"""The storage of a module as plain data: values, storage tokens and function info, for listings and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..diagnostics import IrError
from ..ir import Call, Constant, Expr, Function, GlobalVar, Let, Module, Op, Var, post_order, tuple_leaves
from ..ir.meta import VirtualDevice
from ..ir.target import Target
from ..ops.base import is_call_to
from ..passes.core.base import is_optimizable
from ..passes.core.context import PassContext
from ..passes.core.primitive_functions import is_primitive
from ..passes.devices.configuration import show_device
from .compose import operator_calls
from .function_info import MAIN, FunctionInfo, nest_infos, plan_info
from .naming import kernel_name
from .passes.lower_te import LowerTE
from .storage import StoragePlan, plan, type_bytes
from .targets import per_target_modules, targets_of


def storage_record(module: Module, target: Target | None = None) -> dict[str, Any]:
    """Everything that is known of the memory of a module whose types are known, as it stands.

    `functions` has the plan of each Relay function (`values`, `tokens`, `total_bytes`), or the `reason` why it has none;
    `function_info` the bytes by target of each, and of each loop nest; `targets` the functions by what they are for.
    Kernels that are not lowered yet are lowered to see what they take; where one cannot be, `kernels` says why.
    Where the module names no target, they are for `target`.
    """
    targets = targets_of(module, target)
    functions: dict[str, Any] = {}
    infos: dict[str, dict[str, Any]] = {}
    for name, f in module.functions.items():
        if not is_optimizable(f) or is_primitive(f):
            continue
        try:
            functions[name] = _plan_record(module, plan(module, name))
            infos[_runner(name)] = info_record(plan_info(plan(module, name, lowered=False), targets))
        except IrError as error:
            functions[name] = {"reason": error.diagnostics[0].message}
    record: dict[str, Any] = {"functions": functions, "function_info": infos}
    lowered = module
    try:
        lowered = LowerTE()(module, PassContext(target=target))
    except IrError as error:
        record["kernels"] = {"reason": error.diagnostics[0].message}
    infos |= {n: info_record(i) for n, i in nest_infos(lowered).items()}
    record["targets"] = {str(t): list(m.functions) for t, m in per_target_modules(lowered, target).items()}
    return record


def info_record(info: FunctionInfo) -> dict[str, Any]:
    """The sizes by target, and for which targets there is a loop nest or a Relay function."""
    return {**info.as_dict(), "tir_primfuncs": list(info.tir_primfuncs), "relay_primfuncs": list(info.relay_primfuncs)}


def _runner(name: str) -> str:
    return MAIN if name == "main" else name


def _plan_record(module: Module, planned: StoragePlan) -> dict[str, Any]:
    return {
        "values": list(_values(module, planned)),
        "tokens": [{"id": t.id, "bytes": t.nbytes, "device": _device(t.device)} for t in planned.tokens],
        "total_bytes": planned.total_bytes,
    }


def _values(module: Module, planned: StoragePlan) -> Iterator[dict[str, Any]]:
    """A record for each tensor of each value that has memory of its own, in order of evaluation."""
    f = planned.function
    order = post_order(f.body, enter=lambda e: not isinstance(e, Function))
    names = {e.value: f"%{e.var.name}" for e in order if isinstance(e, Let)}
    names |= {e.args[0]: n for e, n in list(names.items()) if is_call_to(e, "on_device")}
    bound: dict[Expr, Expr] = {e.var: e.value for e in order if isinstance(e, Let)}
    for e in dict.fromkeys((*f.params, *order)):
        if e not in planned.storage or e in bound or not isinstance(e, Var | Constant | Call):
            continue
        storage = planned[e]
        leaves = list(tuple_leaves(e.known_type))
        tensors = zip(leaves, storage.ids, storage.devices, storage.references, strict=True)
        for n, (t, i, device, references) in enumerate(tensors):
            yield {
                "value": f"%{e.name}" if isinstance(e, Var) else names.get(e, ""),
                "field": n if len(leaves) > 1 else None,
                "made_by": _made_by(e, module, bound),
                "type": str(t),
                "storage_id": i,
                "bytes": type_bytes(t),
                "device": _device(device),
                "references": references,
            }


def _made_by(e: Expr, module: Module, bound: Mapping[Expr, Expr]) -> str:
    """The origin of a value: `parameter`, `constant`, an operator, the operators of a kernel, `@f` of a function, or `fn` for others."""
    if not isinstance(e, Call):
        return "parameter" if isinstance(e, Var) else "constant"
    if isinstance(e.op, Op):
        lowered = e.op.name == "call_lowered" and isinstance(e.args[0], GlobalVar)
        return f"@{e.args[0].name}" if lowered else e.op.name  # type: ignore[attr-defined]  # a GlobalVar, as was asked
    if isinstance(e.op, GlobalVar):
        return f"@{e.op.name}"
    callee = bound.get(e.op, e.op)
    if not isinstance(callee, Function) or not is_primitive(callee):
        return "fn"
    return kernel_name((c.op_name for c in operator_calls(callee)), "")


def _device(device: VirtualDevice | None) -> str | None:
    return None if device is None else show_device(device)
