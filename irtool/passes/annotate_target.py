"""AnnotateTarget: marks supported operators of a target as regions of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir import (
    Call,
    Expr,
    Function,
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
    Var,
    children,
    rebuild,
    rewrite,
)
from .core.base import FunctionPass, register_pass
from .core.context import PassContext
from .partition.annotations import DEFAULT, begin, compiler_of, end, is_begin, is_end
from .partition.targets import CONFIG, Targets, known_targets


@register_pass("AnnotateTarget", config=CONFIG)
@dataclass(frozen=True)
class AnnotateTarget(FunctionPass):
    """Annotates each operator with the first of `targets` that supports it.

    ::

        nn.relu(exp(%x))    where npu supports nn.relu
            ⇒  %0 = annotation.compiler_end(exp(annotation.compiler_begin(%x, compiler="default")), compiler="default");
               annotation.compiler_end(nn.relu(annotation.compiler_begin(%0, compiler="npu")), compiler="npu")

    The first of `targets` that supports an operator gets it; the default compiler gets operators without support. A composite
    function goes to the target that the first part of its name says: `npu.conv2d_relu` to `npu`. Tuples, projections and
    references go where all of their parts are, or else to the default compiler; they get no marks of their own where
    `include_non_call_ops` is False. Marks for other compilers than the default one stay when the pass runs again.

    What a target supports is written in a table of rules. The option `irtool.partition.targets` names a file that adds
    targets to those of irtool; a target of which no table knows has composite functions only.
    """

    targets: str | tuple[str, ...]
    include_non_call_ops: bool = True

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        known = known_targets(context)
        names = (self.targets,) if isinstance(self.targets, str) else self.targets
        annotator = _Annotator(names, known, self.include_non_call_ops)
        return rewrite(function, annotator.leave, enter=_skip_composite)


def _skip_composite(e: Expr) -> Expr | None:
    return e if isinstance(e, Function) and "Composite" in e.attrs else None


class _Annotator:
    """Rewrites bottom-up. `compiler` says of each new node which compiler it was given to."""

    def __init__(self, targets: Sequence[str], known: Targets, everything: bool) -> None:
        self.targets = targets
        self.known = known
        self.everything = everything
        self.compiler: dict[Expr, str] = {}

    def leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, Call):
            assert isinstance(old, Call)
            return self._call(old, new)
        if isinstance(new, Tuple | TupleGetItem | RefCreate | RefRead | RefWrite):
            if self.everything:
                return self._enclosed(new)
            return rebuild(new, [self._closed(c) for c in children(new)])
        if isinstance(new, If | Match):
            return rebuild(new, [self._closed(c) for c in children(new)])
        if isinstance(new, Let):
            value = new.value if isinstance(new.value, Function) else self._enter([new.value], "")[1][0]
            return rebuild(new, [value, self._closed(new.body)])
        if isinstance(new, Function):
            return rebuild(new, [self._closed(new.body)])
        return new

    def _call(self, old: Call, new: Call) -> Expr:
        if is_begin(old):
            return new
        if is_end(old):
            self.compiler.setdefault(new.args[0], compiler_of(new))
            return new
        first = old.args[0] if old.args else None
        if first is not None and is_begin(first) and compiler_of(first) != DEFAULT:
            return new
        if isinstance(old.op, Var) and not self.everything:
            return rebuild(new, [new.op, *map(self._closed, new.args)])
        compiler = self._choose(old)
        _, args = self._enter(new.args, compiler)
        result = rebuild(new, [new.op, *args])
        self.compiler[result] = compiler
        return result

    def _choose(self, call: Call) -> str:
        """The first target that supports the called operator."""
        if isinstance(call.op, Op):
            supporting = (t for t in self.targets if t in self.known and self.known[t].supports(call))
            return next(supporting, DEFAULT)
        if isinstance(call.op, Function):
            target, dot, _ = str(call.op.attrs.get("Composite", "")).partition(".")
            return target if dot and target in self.targets else DEFAULT
        return DEFAULT

    def _enclosed(self, new: Expr) -> Expr:
        """The node, given to the compiler that all of its parts are given to."""
        compiler, parts = self._enter(children(new), "")
        result = rebuild(new, parts)
        self.compiler[result] = compiler
        return result

    def _enter(self, parts: Sequence[Expr], compiler: str) -> tuple[str, list[Expr]]:
        """The parts, each led out of its own region and into one of `compiler`.

        Where that is empty, it is the compiler that all the parts have in common.
        """
        origins: list[str] = []
        led_out: list[Expr] = []
        for e in parts:
            origin = self.compiler.get(e, DEFAULT)
            if is_begin(e):
                origin = compiler_of(e.args[0]) if is_end(e.args[0]) else DEFAULT
                e = e.args[0] if compiler_of(e) == DEFAULT else e
            elif e in self.compiler and not _takes_nothing(e):
                e = end(e, origin)
            origins.append(origin)
            led_out.append(e)
        if not compiler:
            compiler = origins[0] if len(set(origins)) == 1 else DEFAULT
        return compiler, [e if is_begin(e) else begin(e, compiler) for e in led_out]

    def _closed(self, e: Expr) -> Expr:
        """`e` led out of its region; as it is if it is in none, or takes nothing from outside."""
        if e in self.compiler:
            if _takes_nothing(e):
                return e
            compiler = self.compiler[e]
            e = end(e, compiler)
            self.compiler[e] = compiler
            return e
        if is_end(e) and compiler_of(e) == DEFAULT:
            compiler = self.compiler[e.args[0]]
            e = end(e.args[0], compiler)
            self.compiler[e] = compiler
        return e


def _takes_nothing(e: Expr) -> bool:
    """True if nothing enters the node, so that no region begins there."""
    return (isinstance(e, Call) and not e.args) or (isinstance(e, Tuple) and not e.fields)
