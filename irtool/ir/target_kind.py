"""Kinds of targets from outside: additions to TVM's kinds by a compiler of its own, for a board of its own.

A kind is a frozen dataclass whose fields are the options of its targets, with their defaults::

    @target_kind("npu")
    @dataclass(frozen=True)
    class Npu(TargetKind):
        '''The NPU of the board.'''

        cores: int = 4

        def relay_to_tir(self, module, context):
            return module.with_function("npu_0", …)

`--target='npu -cores=2'` then names such a target. `relay_to_tir` is what TVM calls the attribute `RelayToTIR` of a target
kind: the pass RelayToTIRTargetHook calls it for modules with functions whose attribute `Compiler` is the name of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from ..diagnostics import UsageError, nearest
from ..plugin import Plugin, Registry, type_hints
from ..plugin.mistakes import adopt, check_dataclass, refuse
from ..plugin.origin import is_outside
from .module import Module, describe
from .tvm_target_kinds import KINDS


def _no_module(kind: Any, arguments: Any, result: Any) -> str:
    return "" if isinstance(result, Module) else f"returned {describe(result)}, not a Module"


class TargetKind(Plugin):
    """Base of the kinds of targets that come from outside; of an instance, the fields are the options of one target.

    Class attributes:
        keys: what operators and strategies look such targets up by, as `cpu` and `gpu` of TVM's kinds.
        device_type: TVM's number of the device that its code runs on; 12 is `ext_dev`.
    """

    _kind = "target kind"
    _checks = MappingProxyType({"relay_to_tir": _no_module})
    keys: ClassVar[tuple[str, ...]] = ()
    device_type: ClassVar[int] = 12

    def relay_to_tir(self, module: Module, context: Any) -> Module:
        """The module with functions for this kind lowered, or otherwise done with.

        What is done is free: a function may be replaced by a `PrimFunc` of the same name, marked `Extern=1` once something
        else has compiled it, or left for lowering as any other. Calls of it become `call_lowered` afterwards.

        Args:
            module: the module, typed; it is not changed.
            context: the `PassContext` of lowering; its target is one of this kind if the module or the context names one.
        """
        return module

    @classmethod
    def with_options(cls, options: Mapping[str, str]) -> TargetKind:
        """The kind with options as a target's text has them. Raises UsageError for one that it does not have, and for a value
        of another type than the field's."""
        known = {f.name: f for f in cls.fields()}
        hints = type_hints(cls)
        for name in options:
            if name not in known:
                have = f"it has {', '.join(known)}" if known else "it has none"
                raise UsageError(f"the target kind {cls.name} has no option {name} ({have})", help=nearest(name, known))
        return cls(**{n: _value(f"option {n} of the target {cls.name}", hints[n], v) for n, v in options.items()})

    @classmethod
    def defaults(cls) -> dict[str, str | int]:
        """The options that a target has where it does not say them, as TVM's record of it shows them."""
        defaults = {f.name: f.default for f in cls.fields() if f.default is not MISSING}
        return {n: int(v) if isinstance(v, bool) else v for n, v in defaults.items()}

    @classmethod
    def has_hook(cls) -> bool:
        """True if the kind lowers its functions itself."""
        return cls.relay_to_tir is not TargetKind.relay_to_tir


def _value(what: str, hint: Any, text: str) -> Any:
    if hint is bool and text in ("0", "1", "true", "false"):
        return text in ("1", "true")
    if hint in (int, float):
        try:
            return hint(text)
        except ValueError:
            pass
    elif hint is not bool:
        return text
    raise UsageError(f"{what}: {text!r} is not of type {getattr(hint, '__name__', hint)}")


target_kinds: Registry[type[TargetKind]] = Registry("target kind")
"""The kinds from outside by name; those of TVM are in `tvm_target_kinds`."""

K = TypeVar("K", bound=type[TargetKind])


def target_kind(name: str, *, override: bool = False) -> Callable[[K], K]:
    """Class decorator that registers a kind of target under the name that `--target` says. See `plugin.Registry.register`.

    Raises PluginError for a name that TVM's kinds have, and for a class that is no frozen dataclass.
    """

    def register(cls: K) -> K:
        if is_outside(cls):
            adopt(cls, target_kinds.kind, name)
        check_dataclass(cls, f'@target_kind("{name}")')
        if name in KINDS:
            raise refuse(cls, f"the name {name} is taken by a kind of target that TVM has", help="choose another name")
        target_kinds.register(name, override=override)(cls)
        return cls

    return register
