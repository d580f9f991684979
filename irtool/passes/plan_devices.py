"""PlanDevices: every expression gets a device."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Call, Expr, Function, Let, Module, Tuple, TupleGetItem, rebuild, rewrite
from ..ops.base import call, is_call_to
from .core.base import ModulePass, register_pass
from .core.config_option import ConfigOption
from .core.context import PassContext
from .core.primitive_functions import is_primitive
from .devices.capture import DeviceCapturer
from .devices.configuration import configure, mentioned_devices
from .devices.constraints import DeviceConstraints, is_planned


@register_pass(
    "PlanDevices",
    level=0,
    required=("InferType",),
    config={
        "relay.fallback_device_type": ConfigOption(int, 0, "device type of unconstrained expressions; 0: the target's")
    },
)
@dataclass(frozen=True)
class PlanDevices(ModulePass):
    """Assigns a device to every expression, by propagation from the annotated ones.

    ::

        def @main(%a, %b, %c) { subtract(on_device(add(%a, %b), virtual_device=CPU), %c) }
            ⇒  def @main(%a {CPU}, %b {CPU}, %c {GPU}, virtual_device=GPU) {
                 %0 = on_device(add(%a, %b), virtual_device=CPU, constrain_result=True);
                 subtract(device_copy(%0, src_virtual_device=CPU, dst_virtual_device=GPU), %c)
               }

    Devices are known from `on_device` (for its body), `device_copy`, `memory.alloc_storage`, annotations of parameters and
    functions, and operators with shapes on the host. They propagate by unification: all arguments and the result of an
    operator are on one device; so are a tuple and its fields, an `if` and its branches, and so on; a function has one
    device per parameter and one for its result. The rest goes to the default device: results of functions first, then
    parameters to the device of the result, and `let` variables to the device of the `let`.

    The result is fully annotated: parameters and functions carry their devices, `device_copy` marks each change of device
    (only where an `on_device` allowed it), and `on_device` with `constrain_result` marks each part on another device than
    its surroundings, and each value bound by `let`. The pass is idempotent.

    Options:
        host: the device for shapes and sizes: `cpu`, or a name and a number (`cpu:1`).
        default: the device of unconstrained expressions. If not given: the pass option `relay.fallback_device_type`, else
            the target, else `cpu`.
        mentioned_only: leave modules that name no device unchanged, unless there is a known target.

    A device without a target gets the target that other annotations of the module give to devices of its type, or else the
    target of the pass context.
    """

    host: str = "cpu"
    default: str = ""
    mentioned_only: bool = False

    def transform(self, module: Module, context: PassContext) -> Module:
        if self.mentioned_only and context.target is None and next(mentioned_devices(module), None) is None:
            return module
        configuration = configure(module, context, self.host, self.default)
        prepared = context.infer(module.with_functions({n: _prepared(f, module) for n, f in module.functions.items()}))
        constraints = DeviceConstraints(prepared, configuration)
        constraints.solve()
        capture = DeviceCapturer(constraints)
        planned = {n: capture.run(f) if is_planned(f) else module.functions[n] for n, f in prepared.functions.items()}
        return module.with_functions(planned)


def _prepared(function: object, module: Module) -> object:
    """A function with its annotations in the form that planning takes.

    What a `let` binds and what a function returns is where the annotation at its head says, not only its body; a field of
    an annotated tuple is annotated itself, so that the field is copied and not the tuple; and everything may be copied
    before and after the call of a lowered kernel.
    """
    if not isinstance(function, Function) or not is_planned(function) or is_primitive(function):
        return function

    def leave(old: Expr, new: Expr) -> Expr:
        if isinstance(new, TupleGetItem) and _is_open(new.tuple):
            annotation = new.tuple
            assert isinstance(annotation, Call)
            field = TupleGetItem(annotation.args[0], new.index, new.span)
            return Call(annotation.op, (field,), annotation.attrs, (), new.span)
        if isinstance(new, Let) and _is_open(new.value):
            return rebuild(new, (_fixed(new.value), new.body))
        if isinstance(new, Function) and not is_primitive(new) and _is_open(new.body):
            return rebuild(new, (_fixed(new.body),))
        if is_call_to(new, "call_lowered") and _is_lowered(new, module):
            inputs = new.args[1]
            assert isinstance(inputs, Tuple)
            fields = tuple(_may_be_copied(f) for f in inputs.fields)
            return _may_be_copied(rebuild(new, (new.op, new.args[0], Tuple(fields, inputs.span))))
        return new

    return rewrite(function, leave, lambda e: e if is_primitive(e) else None)


def _is_open(e: Expr) -> bool:
    """True if `e` is an `on_device` that leaves the device of its value open."""
    return is_call_to(e, "on_device") and e.attrs.constrain_body and not e.attrs.constrain_result


def _fixed(e: Expr) -> Expr:
    assert isinstance(e, Call)
    return call("on_device", e.args[0], virtual_device=e.attrs.virtual_device, constrain_result=True, span=e.span)


def _is_lowered(e: Call, module: Module) -> bool:
    """True if a lowered call is one of a kernel with its loops written out."""
    return isinstance(e.args[1], Tuple) and not isinstance(module.functions.get(e.args[0].name), Function)  # type: ignore[attr-defined]  # what is lowered has a global name


def _may_be_copied(e: Expr) -> Expr:
    return call("on_device", e, constrain_body=False, span=e.span)
