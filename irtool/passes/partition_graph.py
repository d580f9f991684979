"""PartitionGraph: each region becomes a global function for its compiler."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import IrError
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Module,
    Tuple,
    TupleGetItem,
    Var,
    children,
    rebuild,
    rewrite,
    substitute,
    with_function,
)
from .core.base import ModulePass, register_pass
from .core.context import PassContext
from .partition.annotations import DEFAULT, compiler_of, end, is_begin, is_end, is_mark
from .partition.regions import Region, Regions, is_empty, unclosed_edge
from .partition.targets import CONFIG, known_targets


@register_pass("PartitionGraph", info_name="sequential", config=CONFIG)
@dataclass(frozen=True)
class PartitionGraph(ModulePass):
    """Moves each region annotated for a compiler into a function of its own, and calls it in its place.

    ::

        nn.relu(annotation.compiler_end(exp(annotation.compiler_begin(%x, compiler="npu")), compiler="npu"))
            ⇒  def @tvmgen_default_npu_main_0(%npu_0_i0, Primitive=1, Compiler="npu", …) { exp(%npu_0_i0) }
               nn.relu(@tvmgen_default_npu_main_0(%x))

    The functions are named `tvmgen_{mod_name}_{compiler}_{function}_{number of the region}`; existing functions for a
    compiler get the prefix, too. A region with several outputs returns a tuple. Constant inputs and tuples of constants are
    moved into the function if `bind_constants` is set. Then the passes of the target table for this compiler (`optimize`) run
    on the function. Regions of the default compiler return to their place.
    """

    mod_name: str = "default"
    bind_constants: bool = True

    def transform(self, module: Module, context: PassContext) -> Module:
        functions = dict(module.functions)
        for name, function in module.relay_functions.items():
            functions[name] = rewrite(rewrite(function, _flatten_tuple), _drop_default)
        prepared = module.with_functions(functions)
        if prepared is not module:
            prepared = context.infer(prepared)
        functions = dict(prepared.functions)
        partitions: dict[str, Function] = {}
        for name, function in prepared.relay_functions.items():
            partitioner = _Partitioner(name, function, {*functions, *partitions}, self.bind_constants)
            functions[name] = partitioner.run()
            partitions.update(partitioner.partitions)
        partitioned = prepared.with_functions({**functions, **partitions})
        if partitions:
            partitioned = _optimized(partitioned, partitions, context)
        return _renamed(partitioned, f"tvmgen_{self.mod_name}" if self.mod_name else "tvmgen")


def _flatten_tuple(old: Expr, new: Expr) -> Expr:
    """The end of a tuple becomes a tuple of ends: a function of several results returns one tuple, not tuples in tuples."""
    if is_end(old) and isinstance(new, Call) and isinstance(new.args[0], Tuple):
        fields = new.args[0]
        return rebuild(fields, [end(f, compiler_of(old)) for f in fields.fields])
    return new


def _drop_default(old: Expr, new: Expr) -> Expr:
    if is_mark(old) and compiler_of(old) == DEFAULT:
        assert isinstance(new, Call)
        return new.args[0]
    return new


@dataclass
class _Outline:
    """The function of a region during the rewriting of that region.

    Attributes:
        params: the parameters with the arguments of the call, in the order in which the inputs are met.
        by_source: the parameter for each expression that comes in, so that none comes in twice.
        results: the replacement of each of the region's outputs after the call.
    """

    params: dict[Var, Expr] = field(default_factory=dict)
    by_source: dict[Expr, Var] = field(default_factory=dict)
    results: dict[Expr, Expr] = field(default_factory=dict)


class _Partitioner:
    """Rewrites one function. `partitions` is the functions of its regions by name."""

    def __init__(self, name: str, function: Function, taken: set[str], bind_constants: bool) -> None:
        self.name = name
        self.function = function
        self.taken = taken
        self.bind_constants = bind_constants
        self.partitions: dict[str, Function] = {}
        self.regions = Regions(function)
        self.outlines = {r: _Outline() for r in self.regions.all}
        whole = [r for r in self.regions.all if r.merged_into is None]
        self.positions = {b: i for r in whole for i, b in enumerate(r.inputs)}
        self.done: dict[Expr, Expr] = {}

    def run(self) -> Function:
        if not self.regions.all:
            return self.function
        open_edge = unclosed_edge(self.regions)
        if open_edge is not None:
            user, region = open_edge
            message = f"this uses a value inside a region of {region.compiler}"
            raise IrError(message, user.span, help="mark the edge with annotation.compiler_end")
        self._rewrite()
        return self.done[self.function]  # type: ignore[return-value]  # a function becomes a function

    def _rewrite(self) -> None:
        """Rewrites bottom-up; the first end of a region waits for all of the region's outputs."""
        waiting: set[Expr] = set()
        stack: list[tuple[Expr, bool]] = [(self.function, False)]
        while stack:
            e, ready = stack.pop()
            if ready:
                waiting.discard(e)
                self.done[e] = self._leave(e)
            elif e not in self.done:
                if e in waiting:
                    raise IrError("a region has an input that depends on its own output", e.span)
                waiting.add(e)
                stack.append((e, True))
                below = children(e)
                if is_end(e):
                    below = (*below, *(o.args[0] for o in self.regions.at(e).outputs))
                stack.extend((c, False) for c in reversed(below) if c not in self.done)

    def _leave(self, e: Expr) -> Expr:
        if is_begin(e):
            return self._input(e)
        if is_end(e):
            outline = self.outlines[self.regions.at(e)]
            if not outline.results:
                self._outline(self.regions.at(e), outline)
            return outline.results[e.args[0]]
        return rebuild(e, [self.done[c] for c in children(e)])

    def _input(self, begin: Call) -> Expr:
        region = self.regions.at(begin)
        if is_empty(region, begin):
            return self.done[begin.args[0]]
        outline = self.outlines[region]
        source: Expr = begin
        while is_mark(source):
            source = source.args[0]
        param = outline.by_source.get(source)
        if param is None:
            name = f"{region.compiler}_{region.id}_i{self.positions.get(begin, len(outline.params))}"
            param = outline.by_source[source] = Var(name, begin.checked_type, begin.span)
            outline.params[param] = self.done[begin.args[0]]
        return param

    def _outline(self, region: Region, outline: _Outline) -> None:
        """Makes the region's function and the call of it."""
        outputs = list(dict.fromkeys(e.args[0] for e in region.outputs))
        bodies = [self.done[e] for e in outputs]
        body, result_type = (bodies[0], outputs[0].checked_type) if len(bodies) == 1 else (Tuple(tuple(bodies)), None)
        bound = {p: a for p, a in outline.params.items() if self.bind_constants and _is_constant(a)}
        params = tuple(p for p in outline.params if p not in bound)
        preferred = f"{region.compiler}_{self.name}_{region.id}"
        marks = {"global_symbol": preferred, "Primitive": 1, "Compiler": region.compiler, "Inline": 1}
        name = self._fresh(preferred)
        self.partitions[name] = Function(params, substitute(body, bound), result_type, (), marks)
        call = Call(GlobalVar(name), tuple(outline.params[p] for p in params))
        if len(outputs) == 1:
            outline.results = {outputs[0]: call}
        else:
            outline.results = {e: TupleGetItem(call, i) for i, e in enumerate(outputs)}

    def _fresh(self, preferred: str) -> str:
        name, number = preferred, 1
        while name in self.taken:
            name, number = f"{preferred}_{number}", number + 1
        self.taken.add(name)
        return name


def _is_constant(e: Expr) -> bool:
    return isinstance(e, Constant) or (isinstance(e, Tuple) and all(isinstance(f, Constant) for f in e.fields))


def _optimized(module: Module, partitions: Mapping[str, Function], context: PassContext) -> Module:
    """The new functions after the passes that their targets want for them."""
    from .core.run import run_passes

    targets = known_targets(context)
    for name, function in partitions.items():
        target = targets.get(function.attrs["Compiler"])
        if target is None or not target.optimize:
            continue
        plain = module.with_function(name, with_function(function, attrs={}))
        after = run_passes(plain, target.optimize, f"{re.escape(name)}$", context.opt_level, target=context.target)
        optimized = after.relay_functions[name]
        module = module.with_function(name, with_function(optimized, attrs=function.attrs))
    return module


def _renamed(module: Module, prefix: str) -> Module:
    """The functions for compilers under names that are names in C, too."""
    ours = [n for n, f in module.relay_functions.items() if "Compiler" in f.attrs]
    if not ours:
        return module
    taken = set(module.functions) - set(ours)
    names: dict[str, str] = {}
    for old in ours:
        name = preferred = re.sub("[^0-9A-Za-z]", "_", f"{prefix}_{old}")
        number = 1
        while name in taken:
            name, number = f"{preferred}_{number}", number + 1
        taken.add(name)
        names[old] = name

    def leave(old: Expr, new: Expr) -> Expr:
        return GlobalVar(names[old.name], old.span) if isinstance(old, GlobalVar) and old.name in names else new

    functions = {}
    for name, function in module.functions.items():
        if isinstance(function, Function):
            renamed = rewrite(function, leave)
            assert isinstance(renamed, Function)
            if name in names:
                marks = {**renamed.attrs, "global_symbol": names[name]}
                renamed = with_function(renamed, attrs=_in_printing_order(marks))
            functions[names.get(name, name)] = renamed
        else:
            functions[name] = function
    return module.with_functions(functions)


def _in_printing_order(marks: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes in the order in which TVM prints them: it hashes maps of four entries and more."""
    if len(marks) < 4:
        return marks
    return {k: marks[k] for k in sorted(marks, key=lambda k: _FIRST.index(k) if k in _FIRST else len(_FIRST))}


_FIRST = ("Inline", "Compiler")
